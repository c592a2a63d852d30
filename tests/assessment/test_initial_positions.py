"""A world whose reset draws where it leads is assessed from several initial positions."""

import random
from contextlib import closing

import pytest

from capscope import Budget, Settings, assess, load, resume
from capscope.journal.journal import Journal
from capscope.journal.run_meta import InitialPositions, RunMeta
from capscope.logic import to_json
from capscope.strategy.registry import STRATEGIES
from support.small_runs import meta
from support.toy_worlds import Board, Scripted, board_problem

SMALL = {"draws": 2, "depth": 3, "iterations": 20, "random_length": 3, "patience": 3}
ASKED = {"intents": ("lit(a)", "not lit(b)")}


class BoardLitByChance(Board):
    """Honest; each reset lights some of the switches."""

    def reset(self, seed):
        super().reset(seed)
        self.lit = random.Random(seed).randrange(8)
        return self.lit


class BoardThatWritesAStory(BoardLitByChance):
    """Honest; a snapshot also says which reset it came from; the name of a position does not."""

    def reset(self, seed):
        self.story = seed.to_bytes(16, "big")
        return super().reset(seed)

    def snapshot(self):
        return bytes([self.lit]) + self.story

    def position_name(self):
        return bytes([self.lit])

    def restore(self, snapshot, seed):
        self.story = snapshot[1:]
        return super().restore(snapshot, seed)


def problem(board=BoardLitByChance):
    return board_problem(board(slip=0.2))


def starts(run):
    """List the states that the queries of a run started in."""
    table = load(run).executions
    return [table.states[start] for start in table.queries.start]


def rows(run):
    """List everything that was observed in a run."""
    draws = "SELECT query, draw, position, attempts, simulator_steps, cut FROM draws"
    tables = ("states", "intents", "snapshots", "positions")
    with closing(Journal.open(run / "journal.sqlite", read_only=True)) as journal:
        selected = (draws, *(f"SELECT * FROM {table}" for table in tables))
        return [journal._db.execute(query).fetchall() for query in selected], starts(run)


@pytest.mark.parametrize("board", [BoardLitByChance, BoardThatWritesAStory])
@pytest.mark.parametrize("strategy", STRATEGIES.all)
def test_a_run_begins_from_each_of_the_positions_that_its_resets_lead_to(strategy, board, tmp_path):
    settings = Settings(resets=40, **SMALL, **ASKED)
    result = assess(problem(board), strategy=strategy, settings=settings, run=tmp_path / "run")
    # Forty draws among eight miss one of them with a probability of 4 %; this seed misses none.
    began = result.initial_positions
    assert (began.positions, began.others, sorted(began.states)) == (8, False, [*range(8)])
    begun = starts(tmp_path / "run")
    if STRATEGIES.find(strategy).repeats_policy:
        assert len(set(begun[:8])) == 8
    else:
        assert set(begun) == set(range(8))
    # Nobody asks for what leads back: without these resets most states would never be met.
    assert len(result.graph.nodes) == 8


def test_one_reset_is_the_default_and_others_are_reported(capscope, tmp_path):
    result = assess(problem(), settings=Settings(**ASKED), run=tmp_path / "run")
    (only,) = result.initial_positions.each
    assert (only.state, only.resets) == (3, 1)
    assert result.initial_positions == InitialPositions(1, others=True, states=(3,), each=(only,))
    assert "the run started from 1 position " in result._repr_html_()
    note = "resets lead to further positions: the run started from 1 position"
    assert note in capscope("show", tmp_path / "run").out
    assert note in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")


def test_a_world_that_always_resets_to_one_position_has_one_however_often_it_is_reset(tmp_path):
    once, often = (
        assess(
            board_problem(Board(slip=0.2)),
            settings=Settings(resets=resets, **ASKED),
            run=tmp_path / str(resets),
        )
        for resets in (1, 20)
    )
    assert [(one.state, one.resets) for one in once.initial_positions.each] == [(0, 1)]
    assert [(one.state, one.resets) for one in often.initial_positions.each] == [(0, 20)]
    assert rows(tmp_path / "1") == rows(tmp_path / "20")


@pytest.mark.parametrize("strategy", STRATEGIES.all)
@pytest.mark.parametrize("spent", [1, 2, 3, 5, 8])
def test_a_resumed_run_begins_from_the_same_positions(strategy, spent, tmp_path):
    settings = Settings(resets=12, **SMALL, **ASKED)
    whole = assess(problem(), strategy=strategy, settings=settings, run=tmp_path / "whole")
    assess(
        problem(),
        strategy=strategy,
        settings=settings,
        budget=Budget(queries=spent),
        run=tmp_path / "parts",
    )
    parts = resume(tmp_path / "parts", problem=problem(), budget=Budget())
    assert rows(tmp_path / "parts") == rows(tmp_path / "whole")
    assert parts.initial_positions == whole.initial_positions


def test_a_run_that_does_not_say_where_it_began_started_from_one_position():
    stored = RunMeta.from_stored(to_json(meta().as_stored()))
    assert stored.initial_positions == InitialPositions(1, others=False)


def test_a_position_that_was_never_asked_in_is_open_in_all_capabilities(tmp_path):
    idle = board_problem(BoardLitByChance(), Scripted())
    settings = Settings(resets=40, **ASKED)
    assess(idle, settings=settings, budget=Budget(executions=3), run=tmp_path / "run")
    run = load(tmp_path / "run")
    assert len({*run.executions.before, *run.executions.after}) <= 3
    assert run.verdict.untried == 8 * 2 - run.graph.pairs_tried
    assert not run.verdict.reached
