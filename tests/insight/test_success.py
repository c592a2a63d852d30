"""Success after a reset: what counts, how it is weighted, and how often its interval is right."""

import random

import numpy as np
import pytest

from capscope import Budget, Intent, Settings, assess, load
from capscope.export.tables import run_tables
from capscope.insight.rates import success_from_resets
from capscope.journal.run_meta import InitialPosition, InitialPositions, position_digest
from capscope.logic import to_json
from capscope.report.overview import model_lines, run_document
from capscope.report.text import success_text
from capscope.stats.rate import Rate
from support.tiny_models import INTENTS, WORDS
from support.tiny_run_data import execution_table, tried
from support.toy_worlds import Board, Presser, board_problem

HERE, THERE = b"here", b"there"
SETTINGS = Settings(resets=12, intents=("lit(a)", "lit(b)"))


def initial(*positions):
    """Describe initial positions of ⟨name, state, resets⟩."""
    each = tuple(
        InitialPosition(position_digest(n), state, resets) for n, state, resets in positions
    )
    return InitialPositions(len(each), states=tuple({one.state for one in each}), each=each)


def success_of(rows, began, **given):
    """Return the success of p(), which is bit 0, after resets."""
    table = execution_table(rows, **given)
    return success_from_resets(table, INTENTS, WORDS, began).get(INTENTS[0])


def test_positions_are_weighted_by_their_resets_and_not_by_their_draws():
    rows = [*tried(0, 0, [1] * 30, HERE), *tried(0, 0, [2] * 3, THERE)]
    found = success_of(rows, initial((HERE, 0, 1), (THERE, 0, 3)))
    assert found.estimate == pytest.approx(0.25, abs=0.02)
    assert (found.executions, found.tried, found.states) == (33, 4, 4)
    assert found.low < 0.25 < found.high


def test_only_executions_that_began_in_an_initial_position_count():
    # The second execution of a draw begins elsewhere; the other position is no initial one.
    rows = [(0, 0, 1, HERE), (0, 0, 2, HERE), (0, 0, 2, b"elsewhere")]
    found = success_of(rows, initial((HERE, 0, 1)), draws=[0, 0, 1])
    assert (found.estimate, found.executions) == (1.0, 1)
    # An execution without a step leaves the simulator where it is.
    stayed = success_of(rows, initial((HERE, 0, 1)), draws=[0, 0, 1], moved=[False, True, True])
    assert (stayed.estimate, stayed.executions) == (0.5, 2)


def test_a_position_that_was_never_tried_may_have_any_rate():
    rows = tried(0, 0, [1] * 500, HERE)
    found = success_of(rows, initial((HERE, 0, 1), (THERE, 2, 3)))
    assert (found.estimate, found.tried, found.states) == (1.0, 1, 4)
    assert 0.2 < found.low < 0.25
    assert found.high == 1
    never = success_of([], initial((THERE, 2, 3)))
    assert never == Rate(None, 0.0, 1.0, 0, executions=0, states=3, tried=0)


def test_resets_after_which_the_intent_holds_are_not_counted():
    rows = [*tried(0, 1, [1] * 9, HERE), *tried(0, 0, [2] * 9, THERE)]
    found = success_of(rows, initial((HERE, 1, 5), (THERE, 0, 2)))
    assert (found.estimate, found.executions, found.states) == (0.0, 9, 2)
    assert success_of(rows, initial((HERE, 1, 5))) is None


def test_without_a_record_of_where_resets_led_there_is_no_answer():
    table = execution_table(tried(0, 0, [1] * 9, HERE))
    assert success_from_resets(table, INTENTS, WORDS, InitialPositions(states=(0,))) == {}


class VariedBoard(Board):
    """Each reset lights some of the switches."""

    def reset(self, seed):
        super().reset(seed)
        self.lit = random.Random(seed).choice([0, 0, 0, 1, 2, 4, 5, 6])
        return self.lit


class Unsteady(Presser):
    """Begins to act with a probability that depends on the switches that are lit."""

    def __init__(self, chances):
        self.chances = chances

    def begin(self, intent, seed):
        return Undecided(super().begin(intent, seed), self.chances, random.Random(seed).random())


class Undecided:
    def __init__(self, attempting, chances, drawn):
        self.attempting = attempting
        self.chances = chances
        self.drawn = drawn

    def act(self, lit):
        return self.attempting.act(lit) if self.drawn < self.chances[lit] else None


def run_of(seed, executions=60, **kept):
    rng = random.Random(seed)
    chances = [rng.random() for _ in range(8)]
    problem = board_problem(VariedBoard(), Unsteady(chances))
    strategy = ("exhaustive", "random")[seed % 2]
    given = {"strategy": strategy, "settings": SETTINGS, "seed": seed, **kept}
    return assess(problem, budget=Budget(executions=executions), **given), chances


def truth(run, intent, chances):
    """Return the success after the resets of the run, where the intent does not hold already."""
    counting = [
        one
        for one in run.initial_positions.each
        if not intent.holds(one.state, run.graph.vocabulary)
    ]
    return np.average([chances[o.state] for o in counting], weights=[o.resets for o in counting])


def test_the_interval_contains_the_truth():
    outside = sum(
        not found.low <= truth(run, intent, chances) <= found.high
        for run, chances in map(run_of, range(30))
        for intent, found in run.success.items()
    )
    assert outside <= 1


def test_the_resets_of_a_run_are_recorded_and_read_back(tmp_path):
    run, _ = run_of(0, run=tmp_path / "run")
    began = run.initial_positions
    assert sum(one.resets for one in began.each) == 12
    assert len(began.each) == began.positions
    again = load(tmp_path / "run")
    assert again.initial_positions == began
    assert again.success == run.success


def test_success_is_shown_wherever_the_rules_are(tmp_path):
    run, _ = run_of(1, run=tmp_path / "run")
    intent = Intent.parse("lit(a)")
    found = run.success[intent]
    text = f"{found.estimate:.2f} [{found.low:.2f}, {found.high:.2f}]"
    line = f"  asked after a reset: {text}  [{found.executions} executions, "
    assert any(shown.startswith(line) for shown in model_lines(run, [intent], None))
    assert line in run.show("lit(a)")
    assert {"intent": "lit(a)", **to_json(found)} in run_document(run)["success"]
    report = run.report_path.read_text(encoding="utf-8")
    assert f'title="{text}  [{found.executions} executions, ' in report
    *_, table = run_tables(run)
    assert [row[0] for row in table.rows] == ["lit(a)", "lit(b)"]


def test_a_capability_that_was_never_tried_after_a_reset_is_unknown():
    never = Rate(None, 0.0, 1.0, 0, executions=0, states=12, tried=0)
    assert success_text(never) == "unknown, never tried after any of 12 resets"
