"""An agent's failure is data; a broken simulator stops the run and keeps what was observed."""

import re
from contextlib import closing

import pytest

from capscope import Budget, Settings, assess, resume
from capscope.errors import JournalError, ProblemError
from capscope.record.journal import Journal
from capscope.record.stop_reason import StopKind
from capscope.world import Ending
from support.toy_worlds import (
    RAISES_HERE,
    Board,
    BoardThatForgetsASwitch,
    BoardThatStaysWhereItIs,
    Presser,
    Pressing,
    RaisesAtOnce,
    Scripted,
    board_problem,
)

SMALL = Settings(draws=2, random_length=5, walks=2, walk_steps=8, patience=3)
GIVEN = {"strategy": "random", "settings": SMALL, "seed": 2}


def attempts(run):
    with closing(Journal.open(run / "journal.sqlite", read_only=True)) as journal:
        number, found = 0, []
        while journal.query(number) is not None:
            found += [e.attempt for draw in journal.draws(number) for e in draw.executions]
            number += 1
        return found


class RaisesNowAndThen(Presser):
    """Raises halfway, after pressing, on one of its intents."""

    def begin(self, intent, seed):
        if str(intent) == "lit(b)":
            return Scripted("a", ValueError("Ich weiß\nnicht weiter"), forever="c").begin(intent, 0)
        return Pressing(intent)


def test_an_agent_that_raises_is_recorded_with_its_message_and_the_run_continues(tmp_path):
    problem = board_problem(agent=RaisesNowAndThen(), temporal_length=None)
    result = assess(problem, run=tmp_path / "run", **GIVEN)
    assert result.stop_reason.kind is StopKind.NO_NEWS
    raised = [a for a in attempts(tmp_path / "run") if a.ending is Ending.AGENT_RAISED]
    assert raised
    (words,) = {a.detail for a in raised}
    assert re.fullmatch(r"ValueError \(toy_worlds.py, line \d+\): Ich weiß\nnicht weiter", words)
    assert {a.simulator_steps for a in raised} == {1}
    # Where it left the world is an outcome like any other.
    intent = next(i for i in result.graph.capabilities if str(i) == "lit(b)")
    assert result.graph.rules(intent)
    assert sum(rule.executions for rule in result.graph.rules(intent)) == len(raised)


def test_an_agent_that_raises_at_once_fails_everywhere_and_changes_nothing(tmp_path):
    result = assess(board_problem(agent=RaisesAtOnce()), run=tmp_path / "run", **GIVEN)
    assert result.stop_reason.kind is StopKind.NO_NEWS
    assert len(result.graph.nodes) == 1
    assert {a.detail for a in attempts(tmp_path / "run")} == {
        f"RuntimeError ({RAISES_HERE}): no idea"
    }


def test_an_agent_that_loops_forever_ends_at_the_horizon(tmp_path):
    problem = board_problem(agent=Scripted(forever="wait"), horizon=7)
    result = assess(problem, run=tmp_path / "run", **GIVEN)
    assert result.stop_reason.kind is StopKind.NO_NEWS
    seen = {(a.ending, a.simulator_steps) for a in attempts(tmp_path / "run")}
    assert seen == {(Ending.HORIZON, 7)}


def test_an_invalid_action_ends_the_attempt_with_the_message_of_the_simulator(tmp_path):
    problem = board_problem(agent=Scripted("zzz"))
    assess(problem, run=tmp_path / "run", **GIVEN)
    found = attempts(tmp_path / "run")
    assert {a.ending for a in found} == {Ending.INVALID_ACTION}
    assert {a.detail for a in found} == {"there is no switch zzz"}


@pytest.mark.parametrize("lying", [BoardThatStaysWhereItIs, BoardThatForgetsASwitch])
def test_a_simulator_whose_restore_lies_stops_the_run_and_the_atoms_are_named(lying, tmp_path):
    problem = board_problem(lying())
    with pytest.raises(ProblemError) as stopped:
        assess(problem, run=tmp_path / "run", **GIVEN)
    message = str(stopped.value)
    assert "restoring a snapshot of board gave another state than before" in message
    assert "lit(" in message
    assert "capscope check" in message


class BreaksAfter(Board):
    def __init__(self, steps, where="step"):
        super().__init__(slip=0.2)
        self.left = steps
        self.where = where

    def count(self, where):
        if where == self.where:
            self.left -= 1
            if self.left < 0:
                raise OSError("the robot's battery is empty")

    def step(self, action):
        self.count("step")
        return super().step(action)

    def actions(self):
        self.count("actions")
        return super().actions()


@pytest.mark.parametrize("where", ["step", "actions"])
def test_a_simulator_that_raises_stops_the_run_which_resumes_once_it_is_fixed(where, tmp_path):
    whole, patched = tmp_path / "whole", tmp_path / "patched"
    assess(board_problem(Board(slip=0.2)), run=whole, **GIVEN)
    with pytest.raises(ProblemError) as stopped:
        assess(board_problem(BreaksAfter(40, where)), run=patched, **GIVEN)
    message = str(stopped.value)
    assert "OSError: the robot's battery is empty" in message
    assert "what was observed so far is kept" in message
    kept = attempts(patched)
    assert kept
    resume(patched, problem=board_problem(Board(slip=0.2)))
    assert attempts(patched)[: len(kept)] == kept
    assert attempts(patched) == attempts(whole)
    assert (patched / "model.json").read_bytes() == (whole / "model.json").read_bytes()


@pytest.mark.parametrize("broken", ["reset", "restore", "snapshot"])
def test_a_simulator_that_raises_elsewhere_is_an_error_of_the_problem_too(broken, tmp_path):
    class Broken(Board):
        calls = 0

    def breaking(self, *given):
        Broken.calls += 1
        if Broken.calls > 2:
            raise OSError("the robot's battery is empty")
        return getattr(Board, broken)(self, *given)

    setattr(Broken, broken, breaking)
    with pytest.raises(ProblemError, match="battery is empty"):
        assess(board_problem(Broken()), run=tmp_path / "run", **GIVEN)


def test_a_simulator_that_raises_during_discovery_is_an_error_of_the_problem():
    with pytest.raises(ProblemError, match="battery is empty"):
        assess(board_problem(BreaksAfter(3)), **GIVEN)


class BoardThatBegins(Board):
    """Lie: one and the same reset leads elsewhere in another process."""

    def __init__(self, begin):
        super().__init__(slip=0.5)
        self.begin = begin

    def reset(self, seed):
        super().reset(seed)
        self.lit = self.begin
        return self.lit


LIGHT_A = Settings(intents=("lit(a)",))


def test_a_reset_that_leads_elsewhere_on_resume_is_reported(tmp_path):
    """Nobody changed the journal, so the message blames the simulator first."""
    given = {"run": tmp_path / "run", "settings": LIGHT_A, "budget": Budget(executions=3)}
    assess(board_problem(BoardThatBegins(0)), **given)
    elsewhere = board_problem(BoardThatBegins(6))
    with pytest.raises(JournalError, match=r"led elsewhere this time.*capscope check") as told:
        resume(tmp_path / "run", problem=elsewhere, budget=Budget(executions=500))
    assert "no position of state 0x6 (lit(b), lit(c))" in str(told.value)


class BoardThatBreaks(BoardThatBegins):
    """Lie: a step breaks the world down."""

    def step(self, action):
        raise OSError("no power")


def test_a_query_that_was_begun_elsewhere_says_what_is_likely(tmp_path):
    with pytest.raises(ProblemError, match="no power"):
        assess(board_problem(BoardThatBreaks(0)), run=tmp_path / "run", settings=LIGHT_A)
    with pytest.raises(JournalError, match=r"begun elsewhere.*led elsewhere this time"):
        resume(tmp_path / "run", problem=board_problem(BoardThatBegins(6)))
