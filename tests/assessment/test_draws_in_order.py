"""Draws that depend on those before them: one order, however they are made and interrupted."""

import pytest

from capscope import Budget, assess, resume
from capscope.assessment.ask import retrace
from capscope.errors import RunError
from capscope.journal.draws import Draw, Execution, Start
from capscope.journal.journal import Journal
from capscope.journal.settings import Settings
from capscope.problem import Ending
from capscope.problem.attempt import Attempt
from capscope.strategy.base import SequencePolicy, Task
from support.small_journals import at

BOARD = "tests/support/toy_worlds.py:slippery_board"
SETTINGS = Settings(draws=6, depth=4, iterations=30)


@pytest.fixture
def board(request):
    return f"{request.config.rootpath}/{BOARD}"


def questions(path):
    """Return what each draw of each query asked for, and how each query is described."""
    journal, queries = Journal.open(path / "journal.sqlite", read_only=True), []
    while (record := journal.query(len(queries))) is not None:
        draws = journal.draws(len(queries))
        asked = [[capability for capability, _ in draw.executions] for draw in draws]
        queries.append((asked, record.policy))
    journal.close()
    return queries


@pytest.mark.parametrize("recorded", [7, 9, 16, 23])
def test_a_query_that_was_interrupted_between_draws_goes_on_as_if_it_had_not_been(
    recorded, board, tmp_path, monkeypatch
):
    def started(name):
        assess(
            board, strategy="mcqs-e", settings=SETTINGS, budget=Budget(queries=5),
            run=tmp_path / name,
        )  # fmt: skip

    started("whole")
    add_draw, added = Journal.add_draw, []

    def interrupted(journal, place, *given):
        if len(added) == recorded:
            raise KeyboardInterrupt
        added.append(place)
        add_draw(journal, place, *given)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Journal, "add_draw", interrupted)
        started("torn")
    assert questions(tmp_path / "torn") != questions(tmp_path / "whole")
    resume(tmp_path / "torn", trust=True, budget=Budget(queries=5), workers=3)
    assert questions(tmp_path / "torn") == questions(tmp_path / "whole")


def draw_of(*asked, ending=Ending.CHANGED):
    executions = tuple(Execution(c, Attempt((c, c + 1), 1, ending)) for c in asked)
    return Draw(executions, len(asked), 0, 0.0, False, at(b"end"))


def test_a_recorded_draw_that_the_policy_would_not_make_is_refused():
    task = Task(Start(0, at(b"start")), SequencePolicy((0, 1)))
    retrace(task, draw_of(0, 1))
    with pytest.raises(RunError, match="begun by another version"):
        retrace(task, draw_of(0, 2))
