"""A world whose reset draws where it leads is assessed from several of its beginnings."""

import random
from contextlib import closing

import pytest
from capscope.assessment.reading import read_run
from capscope.record.initial_positions import InitialPositions

from capscope import Budget, Settings, assess, resume
from capscope.record.journal import Journal
from capscope.strategy import STRATEGIES
from capscope.world.positions import named, without_name
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
    """Honest; a snapshot also tells which reset it came from, and its name does not."""

    def reset(self, seed):
        self.story = seed.to_bytes(16, "big")
        return super().reset(seed)

    def snapshot(self):
        return named(bytes([self.lit]) + self.story, bytes([self.lit]))

    def restore(self, snapshot, seed):
        self.story = without_name(snapshot)[1:]
        return super().restore(without_name(snapshot), seed)


def problem(board=BoardLitByChance):
    return board_problem(board(slip=0.2))


def told(run, *queries):
    """Ask the journal of a run."""
    with closing(Journal.open(run / "journal.sqlite", read_only=True)) as journal:
        return [list(journal.select(query)) for query in queries]


def starts(run):
    """List the states that the queries of a run started in."""
    with closing(Journal.open(run / "journal.sqlite", read_only=True)) as journal:
        return [journal.states[start] for (start,) in journal.select("SELECT start FROM queries")]


def rows(run):
    """List everything that was seen in a run."""
    draws = "SELECT query, draw, attempts, simulator_steps, cut FROM draws"
    tables = (f"SELECT * FROM {table}" for table in ("states", "intents", "snapshots"))
    return told(run, draws, *tables), starts(run)


@pytest.mark.parametrize("board", [BoardLitByChance, BoardThatWritesAStory])
@pytest.mark.parametrize("strategy", [*STRATEGIES])
def test_a_run_begins_from_each_of_the_positions_that_its_resets_lead_to(strategy, board, tmp_path):
    settings = Settings(resets=40, **SMALL, **ASKED)
    result = assess(problem(board), strategy=strategy, settings=settings, run=tmp_path / "run")
    # Forty draws among eight miss one of them with a probability of 4 %; this seed misses none.
    assert result.initial_positions == InitialPositions(8, others=False)
    begun = starts(tmp_path / "run")
    if strategy == "adaptive":
        assert set(begun) == set(range(8))
    else:
        assert len(set(begun[:8])) == 8
    # Nobody asks for what leads back: without these resets most states would never be met.
    assert result.states == 8


def test_one_reset_is_the_default_and_others_are_told_of(capscope, tmp_path):
    result = assess(problem(), settings=Settings(**ASKED), run=tmp_path / "run")
    assert result.initial_positions == InitialPositions(1, others=True)
    assert "the run started from 1 position " in result._repr_html_()
    note = "resets lead to further positions: the run started from 1 position"
    assert note in capscope("show", tmp_path / "run").out
    assert f"R{note[1:]}" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")


def test_a_world_that_always_begins_alike_has_one_beginning_however_often_it_is_reset(tmp_path):
    once, often = (
        assess(
            board_problem(Board(slip=0.2)),
            settings=Settings(resets=resets, **ASKED),
            run=tmp_path / str(resets),
        )
        for resets in (1, 20)
    )
    assert once.initial_positions == often.initial_positions == InitialPositions(1, others=False)
    assert rows(tmp_path / "1") == rows(tmp_path / "20")


@pytest.mark.parametrize("strategy", [*STRATEGIES])
@pytest.mark.parametrize("spent", [1, 2, 3, 5, 8])
def test_a_run_that_goes_on_begins_from_the_same_positions(strategy, spent, tmp_path):
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


def test_a_run_of_before_began_at_one_position():
    assert InitialPositions.of({}) == InitialPositions(1, others=False)


def test_a_position_that_was_never_asked_in_is_no_state_seen(tmp_path):
    idle = board_problem(BoardLitByChance(), Scripted())
    settings = Settings(resets=40, **ASKED)
    assess(idle, settings=settings, budget=Budget(executions=3), run=tmp_path / "run")
    reading = read_run(tmp_path / "run")
    assert len(reading.dataset.states) <= 3
    assert not reading.verdict.reached
