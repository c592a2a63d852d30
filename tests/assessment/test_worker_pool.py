import pytest

from capscope import Budget, assess, resume
from capscope.errors import RunError
from capscope.journal.journal import Journal
from capscope.journal.settings import Settings
from capscope.strategy.registry import STRATEGIES
from support.toy_worlds import board_problem

BOARD = "tests/support/toy_worlds.py:slippery_board"
SETTINGS = Settings(draws=4, batch=4, depth=4, random_length=5, iterations=30)


def recorded(path):
    """Return everything that a journal says about a run except times."""
    journal = Journal.open(path / "journal.sqlite", read_only=True)
    queries = []
    while (record := journal.query(len(queries))) is not None:
        draws = journal.draws(len(queries))
        queries.append((record.start, record.policy, [d.executions for d in draws]))
    journal.close()
    return queries


@pytest.mark.parametrize("strategy", STRATEGIES.all)
@pytest.mark.parametrize("limit", [Budget(executions=150), Budget(simulator_steps=90)])
def test_the_number_of_workers_changes_nothing_in_the_journal(strategy, limit, tmp_path, request):
    source = f"{request.config.rootpath}/{BOARD}"
    for workers in (1, 2, 3, 4):
        assess(
            source, strategy=strategy, settings=SETTINGS, budget=limit,
            run=tmp_path / str(workers), workers=workers,
        )  # fmt: skip
    runs = [recorded(tmp_path / str(workers)) for workers in (1, 2, 3, 4)]
    assert runs[0] == runs[1] == runs[2] == runs[3]


def test_a_run_continues_with_another_number_of_workers(tmp_path, request):
    source = f"{request.config.rootpath}/{BOARD}"
    whole = tmp_path / "whole"
    assess(source, strategy="exhaustive", settings=SETTINGS, budget=Budget(queries=30), run=whole)
    parts = tmp_path / "parts"
    assess(
        source, strategy="exhaustive", settings=SETTINGS, budget=Budget(queries=7), run=parts,
        workers=3,
    )  # fmt: skip
    resume(parts, trust=True, budget=Budget(queries=19), workers=2)
    resume(parts, trust=True, budget=Budget(queries=30))
    assert recorded(whole) == recorded(parts)


def test_workers_without_draws_to_share_are_refused(request):
    with pytest.raises(RunError, match="4 workers need --set batch=4 or more, not 2"):
        assess(
            f"{request.config.rootpath}/{BOARD}", strategy="exhaustive",
            settings=Settings(batch=2), workers=4,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("strategy", "workers", "batch"),
    [("adaptive", 1, 1), ("adaptive", 3, 24), ("exhaustive", 2, 16), ("mcqs-s", 2, 1)],
)
def test_a_batch_that_was_not_given_is_chosen_for_the_workers_and_kept(
    strategy, workers, batch, tmp_path, request
):
    source = f"{request.config.rootpath}/{BOARD}"
    settings = Settings(draws=4, iterations=10)
    given = {"strategy": strategy, "settings": settings, "run": tmp_path / "run"}
    begun = assess(source, **given, budget=Budget(queries=3), workers=workers)
    assert begun.identity.settings.batch == batch
    resumed = resume(tmp_path / "run", budget=Budget(queries=5), trust=True)
    assert resumed.identity.settings.batch == batch
    assert ("batch" in resumed.identity.settings.changed()) == (batch > 1)


def test_a_problem_object_serves_one_worker():
    with pytest.raises(RunError, match=r"name it as file\.py:factory"):
        assess(board_problem(), settings=SETTINGS, budget=Budget(executions=5), workers=2)


def test_a_function_that_makes_a_problem_serves_several_workers():
    given = {"settings": SETTINGS, "budget": Budget(executions=40)}
    alone, together = (assess(board_problem, **given, workers=n) for n in (1, 3))
    assert alone.executions.transitions() == together.executions.transitions()
