import time
from contextlib import closing

import pytest

from capscope import Budget, CapscopeError, Settings, Usage, Vocabulary, assess, resume
from capscope.assessment import RunSpec, run_assessment
from capscope.assessment.loop import discover, recall
from capscope.journal.draws import Draw, Execution, QueryRecord
from capscope.journal.execution_table import ExecutionTable
from capscope.journal.journal import Journal
from capscope.journal.run_directory import RunDirectory
from capscope.journal.run_meta import StopKind, StopReason
from capscope.problem import Attempt, Ending
from capscope.strategy.registry import STRATEGIES
from support.journal_rows import dump
from support.small_journals import change
from support.toy_worlds import Board, Presser, Scripted, Seen, board_problem, slippery_board

SMALL = Settings(draws=3, random_length=4, walks=2, walk_steps=6, patience=5)
WALKED = 12  # simulator steps that discovery takes with these settings


def board():
    return board_problem(Board(slip=0.3), horizon=4)


def run_board(run, budget, problem=None):
    given = {"strategy": "random", "settings": SMALL, "seed": 1}
    return assess(problem or board(), budget=budget, run=run, **given)


def recorded(run):
    """Read the queries and draws of a run."""
    queries, draws = [], []
    with closing(Journal.open(run / "journal.sqlite", read_only=True)) as journal:
        while (query := journal.query(len(queries))) is not None:
            draws.append(journal.draws(len(queries)))
            queries.append(query)
    return queries, draws


def spent(run):
    _, draws = recorded(run)
    every = [draw for of_query in draws for draw in of_query]
    return Usage(
        queries=len(draws),
        executions=sum(len(draw.executions) for draw in every),
        simulator_steps=WALKED + sum(draw.simulator_steps for draw in every),
    )


@pytest.mark.parametrize("currency", ["queries", "executions", "simulator_steps"])
@pytest.mark.parametrize("allowed", [3, 4, 5, 8, 12, 13, 14, 17, 23, 36, 37])
def test_a_budget_is_never_exceeded_and_is_spent_to_the_last(currency, allowed, tmp_path):
    result = run_board(tmp_path / "run", Budget(**{currency: allowed}))
    assert getattr(result.usage, currency) <= allowed
    if result.stop_reason.kind is not StopKind.NO_NEWS:
        assert result.stop_reason == StopReason.budget(currency)
        assert getattr(result.usage, currency) == allowed
    if allowed >= WALKED or currency != "simulator_steps":
        counted = spent(tmp_path / "run")
        assert getattr(counted, currency) == getattr(result.usage, currency)


@pytest.mark.parametrize("executions", [1, 4, 5, 11, 13])
def test_the_current_query_is_cut_and_recorded_as_cut(executions, tmp_path):
    run_board(tmp_path / "run", Budget(executions=executions))
    queries, draws = recorded(tmp_path / "run")
    *whole, last = queries
    assert all(query.finished for query in whole)
    assert last.finished is (len(draws[-1]) == SMALL.draws and not draws[-1][-1].cut)
    # A query is 3 draws of 4 executions: what is left over makes the last draw a part of one.
    assert [len(draw.executions) for draw in draws[-1]][-1] == (executions % 4 or 4)
    assert draws[-1][-1].cut is bool(executions % 4)
    assert not any(draw.cut for of_query in draws for draw in of_query[:-1])


def test_an_attempt_cut_by_the_step_budget_is_recorded_but_is_not_an_outcome(tmp_path):
    problem = board_problem(Board(), Scripted(forever="wait"), horizon=50)
    result = run_board(tmp_path / "run", Budget(simulator_steps=WALKED + 60), problem)
    _, draws = recorded(tmp_path / "run")
    attempts = [execution.attempt for draw in draws[0] for execution in draw.executions]
    assert [(a.ending, a.simulator_steps) for a in attempts] == [
        (Ending.HORIZON, 50),
        (Ending.CUT, 10),
    ]
    assert result.graph.pairs_tried == 1
    assert result.usage.executions == 2


def test_an_attempt_cut_by_a_budget_teaches_nothing(tmp_path):
    settings = Settings(intents=("lit(b)",), patience=4)
    spec = RunSpec(board_problem(), "board", "random", 0, settings)
    with closing(Journal.create(tmp_path / "journal.sqlite", spec.meta())) as journal:
        discover(journal, spec)
        state, _ = recall(journal, spec)
        (start,) = state.positions.initial
        record = QueryRecord(start, 0, 0.0, 1.0, True)
        cut = Draw((Execution(0, Attempt((0, 2), 1, Ending.CUT)),), 1, 0, 0.0, True)
        journal.begin_query(0, record)
        journal.add_draw((0, 0), start, cut, {})
        state.absorb(record, [cut], 0.0)
        table = ExecutionTable.read(journal)
    assert (len(table), len(table.complete)) == (1, 0)
    assert state.graph.pairs_tried == 0
    assert state.usage.executions == 1
    assert state.strategy.status(record)["queries without news"] == "1 of 4"


@pytest.mark.parametrize("currency", ["queries", "executions", "simulator_steps"])
def test_a_raised_budget_continues_and_keeps_what_was_recorded(currency, tmp_path):
    run = tmp_path / "run"
    before = ([], [])
    for allowed in (17, 18, 29, 40):
        budget = Budget(**{currency: allowed})
        result = resume(run, problem=board(), budget=budget) if run.exists() else None
        result = result or run_board(run, budget)
        after = recorded(run)
        if result.stop_reason.kind is not StopKind.NO_NEWS:
            assert getattr(result.usage, currency) == allowed
        for old, new in zip(before[0], after[0], strict=False):
            assert (old.start, old.xi) == (new.start, new.xi)
        for old, new in zip(before[1], after[1], strict=False):
            # Ends are kept of the latest query only, and a draw that was cut is made again.
            seen = [(draw.executions, draw.seconds, draw.cut) for draw in old if not draw.cut]
            assert [(draw.executions, draw.seconds, draw.cut) for draw in new[: len(seen)]] == seen
        assert len(after[1]) >= len(before[1])
        before = after


@pytest.mark.parametrize("budget", [Budget(executions=17), Budget(simulator_steps=30)], ids=str)
def test_resuming_with_the_same_budget_does_nothing_more(budget, tmp_path):
    run = tmp_path / "run"
    first = run_board(run, budget)
    before = recorded(run), (run / "model.json").read_bytes()
    for given in (None, budget):
        again = resume(run, problem=board(), budget=given)
        assert (recorded(run), (run / "model.json").read_bytes()) == before
        assert again.stop_reason == first.stop_reason
        for currency in ("queries", "executions", "simulator_steps"):
            assert getattr(again.usage, currency) == getattr(first.usage, currency)


def test_raising_a_budget_query_by_query_ends_like_a_run_without_one(tmp_path):
    whole, patched = tmp_path / "whole", tmp_path / "patched"
    run_board(whole, None)
    result = run_board(patched, Budget(queries=1))
    while result.stop_reason.kind is not StopKind.NO_NEWS:
        budget = Budget(queries=result.usage.queries + 3)
        result = resume(patched, problem=board(), budget=budget)
    assert (patched / "model.json").read_bytes() == (whole / "model.json").read_bytes()


def test_the_time_that_draws_took_before_an_interruption_counts(tmp_path):
    """Otherwise a slow agent's query would be left unfinished, and the next one begun."""
    run = tmp_path / "run"
    run_board(run, Budget(executions=17))  # one query, and a draw and a bit of the next
    change(run / "journal.sqlite", "UPDATE draws SET seconds = 100 WHERE query = 1 AND draw = 0")
    before = recorded(run)[1]
    result = resume(run, problem=board(), budget=Budget(seconds=90.0))
    assert result.stop_reason == StopReason.budget("seconds")
    assert recorded(run)[1] == before
    result = resume(run, problem=board(), budget=Budget(executions=24))
    queries, _ = recorded(run)
    assert queries[1].finished
    assert queries[1].seconds >= 100
    assert result.usage.seconds >= 100


def test_what_a_cut_query_discovered_keeps_its_number_when_the_query_is_completed(tmp_path):
    """The predicates of the vocabulary come in one order, and are discovered in another."""
    words = Vocabulary.of_atoms(["first", "second", "third"])

    class Proposed(Seen):
        vocabulary = words

    class Backwards:
        """Lights the last switch that is out, whatever it is asked for."""

        def begin(self, intent, seed):
            return self

        def act(self, observation):
            return next(
                (s for i, s in reversed([*enumerate("abc")]) if not observation >> i & 1), None
            )

    class OnlyTheLastAtRandom(Board):
        def actions(self):
            return ("c",)

        def step(self, action):
            self.lit |= 1 << "abc".index(action)
            return self.lit

    def problem():
        return board_problem(OnlyTheLastAtRandom(), Backwards(), Proposed())

    given = {"strategy": "random", "settings": SMALL}
    result = assess(problem(), budget=Budget(executions=2), run=tmp_path / "run", **given)
    # A draw that was cut stays as it is: the next one goes further.
    for executions in (5, 9, 20):
        budget = Budget(executions=executions)
        result = resume(tmp_path / "run", problem=problem(), budget=budget)
        with closing(Journal.open(tmp_path / "run" / "journal.sqlite")) as journal:
            assert journal.intents() == result.graph.capabilities
    names = [str(intent) for intent in result.graph.capabilities]
    assert names == ["third()", "second()", "first()"]


def test_llm_tokens_are_counted_and_end_a_run(tmp_path):
    problem = board_problem(Board(), Scripted("a", tokens=10))
    result = run_board(tmp_path / "run", Budget(llm_tokens=35), problem)
    assert result.stop_reason == StopReason.budget("llm_tokens")
    # What an attempt will use is not known before: the one under way may go beyond.
    assert result.usage.llm_tokens == 40


class Slow(Presser):
    def begin(self, intent, seed):
        time.sleep(0.05)
        return super().begin(intent, seed)


def test_a_draw_stops_when_its_time_is_over(tmp_path):
    result = run_board(tmp_path / "run", Budget(seconds=1.0), board_problem(agent=Slow()))
    assert result.stop_reason == StopReason.budget("seconds")
    assert recorded(tmp_path / "run")[1][-1][-1].cut


@pytest.mark.parametrize("allowed", [-1, -0.5, float("nan")])
def test_an_invalid_budget_is_refused(allowed):
    with pytest.raises(CapscopeError, match="cannot be spent"):
        Budget(executions=allowed)


def test_a_run_without_patience_left_says_no_news(tmp_path):
    spec = RunSpec(board_problem(Board()), "board", "random", 0, SMALL)
    with RunDirectory.create(tmp_path / "run", spec.meta()) as run:
        heard = []
        state = run_assessment(run.journal, spec, heard.append)
    assert state.stop_reason() == StopReason(StopKind.NO_NEWS)
    assert [event.usage.queries for event in heard] == list(range(1, len(heard) + 1))
    assert heard[-1].status["queries without news"] == f"{SMALL.patience} of {SMALL.patience}"


@pytest.mark.parametrize("strategy", sorted(STRATEGIES.built_in))
@pytest.mark.parametrize(
    ("first", "then"),
    [
        (Budget(executions=23), Budget(executions=70)),
        (Budget(simulator_steps=60), Budget(simulator_steps=140)),
        (Budget(simulator_steps=15), Budget(simulator_steps=90)),  # ends within discovery
    ],
)
def test_a_budget_that_is_raised_ends_where_it_would_have_from_the_beginning(
    tmp_path, strategy, first, then
):
    settings = Settings(draws=4, depth=5, iterations=20, walks=2, walk_steps=15)
    given = {"strategy": strategy, "settings": settings, "seed": 2}
    for name, budgets in (("whole", (then,)), ("parts", (first, then))):
        assess(slippery_board(), run=tmp_path / name, budget=budgets[0], **given)
        for more in budgets[1:]:
            resume(tmp_path / name, problem=slippery_board(), budget=more)
    assert dump(tmp_path / "parts") == dump(tmp_path / "whole")
