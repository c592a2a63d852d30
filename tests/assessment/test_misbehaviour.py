"""An agent's failure is data; a broken simulator stops the run and keeps what was observed."""

import re
from contextlib import closing
from dataclasses import replace

import pytest

from capscope import Budget, Settings, assess, load, resume
from capscope.errors import JournalError, ProblemError
from capscope.journal.journal import Journal
from capscope.journal.run_meta import StopKind
from capscope.problem import Ending
from support.toy_worlds import (
    RAISES_HERE,
    Board,
    BoardThatForgetsASwitch,
    BoardThatStaysWhereItIs,
    Presser,
    Pressing,
    RaisesAtOnce,
    Scripted,
    Seen,
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
    place = result.graph.index[intent]
    tried = [pair for node in result.graph.nodes.values() if (pair := node.pairs[place])]
    assert sum(pair.total for pair in tried) == len(raised)


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


class OffTheBoard(Seen):
    """An abstraction that reports something else than a state of its vocabulary."""

    def __init__(self, state):
        super().__init__()
        self.state = state

    def __call__(self, observation):
        return self.state


@pytest.mark.parametrize("state", [-1, 1 << 40, 1.0, None, "lit(a)", True, frozenset()])
def test_what_is_no_state_over_the_vocabulary_is_an_error_in_one_line(tmp_path, state):
    problem = replace(board_problem(), abstraction=OffTheBoard(state))
    with pytest.raises(ProblemError, match="which is not a state over the"):
        assess(problem, run=tmp_path / "run", budget=Budget(queries=1))
    assert not (tmp_path / "run").exists()


class BoardWithSnapshots(Board):
    def __init__(self, made, name=None):
        super().__init__()
        self.made, self.name = made, name

    def snapshot(self):
        return self.made

    def position_name(self):
        return self.name


@pytest.mark.parametrize(
    ("made", "name", "said"),
    [
        ("text", None, r"snapshot\(\) returned str, not bytes"),
        (None, None, r"snapshot\(\) returned NoneType, not bytes"),
        (bytes(70 * 1024**2), None, "returned 73,400,320 bytes, more than 67,108,864"),
        (b"fine", "name", r"position_name\(\) returned str, not bytes or None"),
    ],
)
def test_snapshots_that_cannot_be_stored_are_an_error_in_one_line(tmp_path, made, name, said):
    with pytest.raises(ProblemError, match=said):
        assess(board_problem(BoardWithSnapshots(made, name)), run=tmp_path / "run")


class Ballast(Board):
    """A board whose snapshots have ten megabytes."""

    def snapshot(self):
        return super().snapshot().ljust(10_000_000, b".")

    def restore(self, snapshot, seed):
        return super().restore(snapshot.rstrip(b"."), seed)


def test_snapshots_of_ten_megabytes_do_not_fill_the_journal(tmp_path):
    problem = board_problem(Ballast())
    run = assess(
        problem,
        run=tmp_path / "run",
        strategy="exhaustive",
        settings=Settings(walks=1, walk_steps=20),
        budget=Budget(executions=40),
    )
    states = len(run.executions.states)
    # Each position once, and one that a draw ended in.
    assert (run.path / "journal.sqlite").stat().st_size < 10_100_000 * (states + 2)
    again = load(run.path)
    assert again.executions.position_names == run.executions.position_names


class LyingAttempt:
    transcript, llm_tokens = "", 0

    def __init__(self, **told):
        vars(self).update(told)

    def act(self, observation):
        return None


@pytest.mark.parametrize(
    "told", [{"llm_tokens": "many"}, {"llm_tokens": -1}, {"llm_tokens": 1 << 70},
             {"transcript": b"bytes"}]
)  # fmt: skip
def test_what_an_agent_says_of_itself_must_be_a_count_and_a_text(tmp_path, told):
    class Liar:
        def begin(self, intent, seed):
            return LyingAttempt(**told)

    with pytest.raises(ProblemError, match=next(iter(told))):
        assess(replace(board_problem(), agent=Liar()), run=tmp_path / "run")
