"""Where each query of a run starts, read back from its journal."""

from contextlib import closing
from itertools import pairwise

import pytest

from capscope import Settings, assess
from capscope.journal.draws import Start
from capscope.journal.journal import Journal
from capscope.problem.positions import SavedPosition
from capscope.strategy.registry import STRATEGIES
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
        draw.executions[-1].attempt.trajectory[-1] if draw.executions else record.start.state
        for draw in draws
    }


@pytest.mark.parametrize("strategy", STRATEGIES.all)
def test_the_first_query_starts_at_the_initial_state(strategy, tmp_path):
    class StartsLit(Board):
        def reset(self, seed):
            super().reset(seed)
            self.lit = 0b101
            return self.lit

    problem = board_problem(StartsLit(slip=0.1))
    assess(problem, strategy=strategy, settings=SMALL, run=tmp_path / "run")
    record, _ = queries(tmp_path / "run")[0]
    assert record.start == Start(0b101, SavedPosition.unnamed(bytes([0b101])))
    assert record.distance == 0


@pytest.mark.parametrize("seed", range(3))
def test_a_query_continues_at_an_end_of_an_informative_one_and_counts_the_distance(seed, tmp_path):
    problem = board_problem(Board(slip=0.2))
    assess(problem, strategy="mcqs-s", settings=SMALL, seed=seed, run=tmp_path / "run")
    continued = 0
    for (before, draws), (after, _) in pairwise(queries(tmp_path / "run")):
        if before.informative:
            continued += 1
            assert after.start.state in end_states(before, draws)
            ways = {
                sum(len(attempt.trajectory) - 1 for _, attempt in draw.executions)
                for draw in draws
                if end_states(before, [draw]) == {after.start.state}
            }
            assert after.distance - before.distance in ways
        else:
            assert after.distance == 0
    assert continued


def test_a_walk_that_is_too_long_is_not_continued(tmp_path):
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
        assert record.start.state in seen
        assert record.distance == 0
        assert not record.informative
        for draw in draws:
            for _, attempt in draw.executions:
                seen.update(attempt.trajectory)


@pytest.mark.parametrize("strategy", ["random", "mcqs-s"])
def test_a_problem_that_is_reset_starts_only_at_ends_of_the_last_query_or_initially(
    strategy, tmp_path
):
    problem = board_problem(Board(slip=0.2), reset_every=10)
    assess(problem, strategy=strategy, settings=SMALL, run=tmp_path / "run")
    found = queries(tmp_path / "run")
    resets = 0
    for (before, draws), (after, _) in pairwise(found):
        if after.distance == 0:
            resets += 1
            assert after.start.state == 0
        else:
            assert after.start.state in end_states(before, draws)
            assert before.distance < after.distance < 10
    assert resets
    assert resets < len(found) - 1
