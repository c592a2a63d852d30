"""Where each query of a run starts, read back from its journal."""

from contextlib import closing
from itertools import pairwise

import pytest
from capscope.assessment.inquiry import promising_start

from capscope import Settings, Usage, assess
from capscope.assessment.run_state import RunState
from capscope.errors import JournalError
from capscope.model import Learned, StateGraph
from capscope.record.journal import Draw, Execution, Journal, QueryRecord
from capscope.strategy import STRATEGIES
from capscope.strategy.policy import QueryPlan, SequencePolicy
from capscope.symbolic import Intent
from capscope.world import Attempt, Ending
from support.toy_worlds import Board, board_problem

SMALL = Settings(
    draws=3, depth=4, iterations=30, random_length=4, walks=2, walk_steps=10, patience=4
)


def queries(run):
    """Read every query of a run with its draws; ends are rebuilt from the trajectories."""
    with closing(Journal.open(run / "journal.sqlite", read_only=True)) as journal:
        found = []
        while (record := journal.query(len(found))) is not None:
            found.append((record, journal.draws(len(found))))
        return found


def end_states(record, draws):
    return {
        draw.executions[-1].attempt.trajectory[-1] if draw.executions else record.start
        for draw in draws
    }


@pytest.mark.parametrize("strategy", [*STRATEGIES])
def test_the_first_query_starts_at_the_initial_state(strategy, tmp_path):
    class StartsLit(Board):
        def reset(self, seed):
            super().reset(seed)
            self.lit = 0b101
            return self.lit

    problem = board_problem(StartsLit(slip=0.1))
    assess(problem, strategy=strategy, settings=SMALL, run=tmp_path / "run")
    record, _ = queries(tmp_path / "run")[0]
    assert (record.start, record.start_snapshot, record.distance) == (0b101, bytes([0b101]), 0)


@pytest.mark.parametrize("seed", range(3))
def test_a_query_goes_on_at_an_end_of_a_telling_one_and_counts_the_way(seed, tmp_path):
    problem = board_problem(Board(slip=0.2))
    assess(problem, strategy="mcqs-s", settings=SMALL, seed=seed, run=tmp_path / "run")
    went_on = 0
    for (before, draws), (after, _) in pairwise(queries(tmp_path / "run")):
        if before.informative:
            went_on += 1
            assert after.start in end_states(before, draws)
            ways = {
                sum(len(attempt.trajectory) - 1 for _, attempt in draw.executions)
                for draw in draws
                if end_states(before, [draw]) == {after.start}
            }
            assert after.distance - before.distance in ways
        else:
            assert after.distance == 0
    assert went_on


def test_a_walk_that_has_gone_on_for_too_long_begins_elsewhere(tmp_path):
    settings = Settings(
        draws=3, depth=4, iterations=30, walks=2, walk_steps=10, patience=4, reuse_changes=2
    )
    problem = board_problem(Board(slip=0.2))
    assess(problem, strategy="mcqs-s", settings=settings, run=tmp_path / "run")
    assert {record.distance for record, _ in queries(tmp_path / "run")} <= {0, 1}


def test_after_a_random_query_the_next_starts_at_a_state_seen_before(tmp_path):
    assess(board_problem(Board()), strategy="random", settings=SMALL, run=tmp_path / "run")
    seen = {0}
    for record, draws in queries(tmp_path / "run"):
        assert record.start in seen
        assert record.distance == 0
        assert not record.informative
        for draw in draws:
            for _, attempt in draw.executions:
                seen.update(attempt.trajectory)


@pytest.mark.parametrize("strategy", ["random", "mcqs-s"])
def test_a_world_that_is_reset_starts_only_at_ends_of_the_last_query_or_anew(strategy, tmp_path):
    problem = board_problem(Board(slip=0.2), reset_every=10)
    assess(problem, strategy=strategy, settings=SMALL, run=tmp_path / "run")
    found = queries(tmp_path / "run")
    resets = 0
    for (before, draws), (after, _) in pairwise(found):
        if after.distance == 0:
            resets += 1
            assert after.start == 0
        else:
            assert after.start in end_states(before, draws)
            assert before.distance < after.distance < 10
    assert resets
    assert resets < len(found) - 1


# The rules one by one, on knowledge made by hand.


def knowing(reset_every=None, informative=False, end=0b010):
    problem = board_problem(reset_every=reset_every)
    run_state = RunState(problem, SMALL, 0, fixed_intents=True)
    run_state.graph.extend([Intent.parse("lit(b)")])
    attempt = Attempt((0, end) if end else (0,), 1, Ending.CHANGED)
    draw = Draw((Execution(0, attempt),), 1, 0, 0.0, False, bytes([end]))
    learned = run_state.absorb(QueryRecord(0, b"\0", 0, 0.0, 1.0, informative), [draw], 0.0)
    assert isinstance(learned, Learned)
    return run_state


class Shelf:
    """Stands in for the journal: a snapshot for each state that is on it."""

    path = "shelf"

    def __init__(self, *states):
        self.states = states

    def snapshots(self, state):
        return [bytes([state])] if state in self.states else []


def next_start(run_state, number, shelf):
    """Return the preferred start of a query."""
    run_state.usage = Usage(queries=number)
    return next(run_state.possible_starts(shelf))


def test_the_end_of_a_telling_query_is_gone_on_from():
    start = next_start(knowing(informative=True), 1, Shelf(0, 2))
    assert (start.state, start.snapshot, start.distance) == (2, b"\2", 1)


def test_an_untelling_query_leads_to_any_state_seen():
    run_state = knowing()
    starts = {next_start(run_state, number, Shelf(0, 2)).state for number in range(1, 30)}
    assert starts == {0, 2}


def test_a_world_that_is_reset_goes_on_whether_the_query_was_telling_or_not():
    for informative in (True, False):
        run_state = knowing(reset_every=100, informative=informative)
        assert {next_start(run_state, n, Shelf()).state for n in range(1, 20)} == {2}


def test_a_world_that_is_reset_begins_anew_once_enough_was_executed():
    run_state = knowing(reset_every=1, informative=True)
    assert next_start(run_state, 1, Shelf()).state == 0


def test_a_world_that_only_holds_sinks_begins_anew():
    assert next_start(knowing(end=0), 1, Shelf()).state == 0


def test_further_starts_are_states_seen_before():
    run_state = knowing(informative=True)
    first, *others = run_state.possible_starts(Shelf(0, 2))
    assert first.state == 2
    assert len(others) == run_state.settings.starts - 1
    assert {start.state for start in others} <= {0, 2}


def test_a_world_that_is_reset_offers_its_beginning_beside_the_end_of_the_last_query():
    starts = knowing(reset_every=100).possible_starts(Shelf())
    assert [start.state for start in starts] == [2, 0]


def plan_that_tells_from(*states):
    return lambda start: QueryPlan(SequencePolicy(()), informative=start.state in states)


def test_the_first_start_that_promises_something_is_taken():
    run_state = knowing(reset_every=100)
    assert promising_start(run_state, Shelf(), plan_that_tells_from(0))[0].state == 0
    assert promising_start(run_state, Shelf(), plan_that_tells_from(0, 2))[0].state == 2


def test_where_no_start_promises_anything_the_preferred_one_is_taken():
    start, plan = promising_start(knowing(reset_every=100), Shelf(), plan_that_tells_from())
    assert (start.state, plan.informative) == (2, False)


def test_a_missing_snapshot_is_an_error_of_the_journal():
    with pytest.raises(JournalError, match="holds no snapshot of state 0x"):
        next_start(knowing(), 1, Shelf())


def test_an_attempt_cut_by_a_budget_teaches_nothing():
    run_state = RunState(board_problem(), SMALL, 0, fixed_intents=True)
    run_state.graph.extend([Intent.parse("lit(b)")])
    cut = Draw((Execution(0, Attempt((0, 2), 1, Ending.CUT)),), 1, 0, 0.0, True, b"\2")
    run_state.absorb(QueryRecord(0, b"\0", 0, 0.0, 1.0, True), [cut], 0.0)
    assert run_state.dataset.size == 0
    assert isinstance(run_state.graph, StateGraph)
    assert run_state.graph.pairs_tried == 0
    assert run_state.usage.executions == 1
    assert run_state.quiet_queries == 1
