"""Trials of plans, with the assessed agent and with one that has changed since."""

import itertools
import random
from collections import Counter
from math import comb

import pytest

from capscope import Budget, assess, load
from capscope.errors import ProblemError, RunError
from capscope.insight.planning import plan_for
from capscope.insight.planning.trial import (
    PlanAttempt,
    PlanAttemptEnd,
    PlanExecution,
    Trial,
    TrialSettings,
    TrialVerdict,
    _at_most,
    attempt_plan,
)
from capscope.journal.execution_table import Transition
from capscope.logic import Condition, Intent
from capscope.model import LearnedModel
from capscope.problem import Allowance, Ending
from capscope.problem.positions import SavedPosition
from support.plan_worlds import ALL_LIT, brittle_board, hasty_board
from support.tiny_models import WORDS, learned
from support.toy_worlds import Board, Presser, Pressing, board_problem


@pytest.fixture(scope="module")
def brittle(tmp_path_factory):
    """A run on the board before it broke."""
    run = tmp_path_factory.mktemp("brittle") / "run"
    return assess(brittle_board(), budget=Budget(executions=300), run=run)


@pytest.fixture(scope="module")
def hasty(tmp_path_factory):
    """A run that is loaded from its directory."""
    run = tmp_path_factory.mktemp("hasty") / "run"
    assess(hasty_board(), budget=Budget(executions=1500), run=run)
    return load(run)


def test_an_unchanged_agent_does_as_predicted(hasty):
    made = hasty.plan("lit(a) and lit(b)")
    trial = hasty.try_plan(made, TrialSettings(200), problem=hasty_board())
    assert trial.successes == 200
    assert trial.verdict is TrialVerdict.AS_PREDICTED
    assert trial.executions / 200 == pytest.approx(made.executions, rel=0.1)
    assert made.executions == pytest.approx(2 / 0.7, rel=0.1)
    assert not trial.unforeseen


def test_a_prediction_from_few_executions_that_is_wrong_does_not_agree():
    """One press of twenty breaks the board, which none of the few executions showed."""
    made = assess(brittle_board(0.05), budget=Budget(executions=60))
    plan = made.plan("lit(a) and not lit(b)")
    trial = made.try_plan(plan, TrialSettings(300), problem=brittle_board(0.05))
    assert trial.predicted == 1.0 > trial.interval[1]
    assert trial.verdict is not TrialVerdict.AS_PREDICTED
    right = made.try_plan(plan, TrialSettings(300), problem=brittle_board())
    assert right.successes == 300
    assert right.verdict is TrialVerdict.AS_PREDICTED


def test_short_attempts_are_compared_with_a_prediction_for_short_attempts(hasty):
    made = hasty.plan("lit(a) and lit(b)")
    trial = hasty.try_plan(made, TrialSettings(300, longest=2), problem=hasty_board())
    assert made.success == 1.0
    assert trial.predicted == pytest.approx(0.49, abs=0.06)
    assert trial.verdict is TrialVerdict.AS_PREDICTED
    ends = Counter(one.end for one in trial.tries)
    assert ends == {
        PlanAttemptEnd.REACHED: trial.successes,
        PlanAttemptEnd.TOO_LONG: 300 - trial.successes,
    }
    assert max(len(one.executions) for one in trial.tries) == 2


def test_a_changed_agent_is_detected(brittle):
    made = brittle.plan("lit(a) and not lit(b)")
    assert made.success == 1.0
    trial = brittle.try_plan(made, TrialSettings(60), problem=brittle_board(0.4))
    assert trial.verdict is TrialVerdict.LOWER
    assert trial.tail < 0.001
    assert 20 < trial.successes < 50
    ((execution, count),) = trial.unforeseen.items()
    assert execution == PlanExecution(0, Intent.parse("lit(a)"), ALL_LIT, Ending.CHANGED)
    assert count == 60 - trial.successes
    assert trial.lost_in == {ALL_LIT: count}


def test_the_plan_continues_after_an_unforeseen_outcome(brittle):
    made = brittle.plan("lit(a) and lit(b)")
    slipping = board_problem(Board(slip=0.5), horizon=1)
    trial = brittle.try_plan(made, TrialSettings(50), problem=slipping)
    assert trial.successes == 50
    assert sum(trial.unforeseen.values()) > 50
    assert all(execution.before == execution.after for execution in trial.unforeseen)


def test_a_trial_is_not_recorded(hasty):
    before = {file.name: file.read_bytes() for file in hasty.path.iterdir()}
    made = hasty.plan("lit(c)")
    hasty.try_plan(made, TrialSettings(5), problem=hasty_board())
    assert {file.name: file.read_bytes() for file in hasty.path.iterdir()} == before


def test_the_seed_determines_the_attempts_and_more_attempts_extend_fewer(hasty):
    made = hasty.plan("lit(a) and lit(c)")

    def tries(number, seed):
        return hasty.try_plan(made, TrialSettings(number, seed=seed), problem=hasty_board()).tries

    assert tries(20, 1) == tries(20, 1) != tries(20, 2)
    assert tries(20, 1)[:5] == tries(5, 1)


def test_each_attempt_is_reported_as_it_is_made(hasty):
    made, reported = hasty.plan("lit(a)"), []
    trial = hasty.try_plan(made, TrialSettings(4), problem=hasty_board(), listener=reported.append)
    assert tuple(reported) == trial.tries


def test_attempts_start_at_all_positions_of_the_start(hasty):
    restored = []

    class RestoresRecorded(Board):
        def restore(self, snapshot, seed):
            restored.append(snapshot)
            return super().restore(snapshot[:1], seed)

    made = hasty.plan("lit(a)")
    positions = [SavedPosition.unnamed(snapshot) for snapshot in (b"\0one", b"\0two")]
    list(attempt_plan(board_problem(RestoresRecorded()), made, positions, TrialSettings(30)))
    assert set(restored) == {b"\0one", b"\0two"}
    assert len(restored) == 30


def test_a_different_problem_is_rejected(hasty):
    made = hasty.plan("lit(a)")
    with pytest.raises(RunError, match="was started differently: horizon was 1, now 100"):
        hasty.try_plan(made, TrialSettings(1), problem=board_problem())


def test_a_problem_that_is_not_given_must_be_found(hasty):
    with pytest.raises(ProblemError, match="no problem 'board'"):
        hasty.try_plan(hasty.plan("lit(a)"), TrialSettings(1))


def test_a_trial_needs_a_plan_and_a_position(hasty, brittle):
    nothing = plan_for(
        LearnedModel.fitted(learned({Transition(0, 0, 1): 3})), Condition.parse("r", WORDS), [0]
    )
    with pytest.raises(RunError, match="no path to the goal is known"):
        hasty.try_plan(nothing, TrialSettings(1), problem=hasty_board())
    elsewhere = plan_for(
        LearnedModel.fitted(learned({Transition(8, 0, 9): 3})), Condition.parse("p", WORDS), [8]
    )
    with pytest.raises(RunError, match="no position of the start is known"):
        hasty.try_plan(elsewhere, TrialSettings(1), problem=hasty_board())


class Paying(Presser):
    """Spends a token on each action."""

    def begin(self, intent, seed):
        return Spender(intent)


class Spender(Pressing):
    def spend_from(self, allowance):
        self.allowance = allowance

    def act(self, observation):
        self.allowance.check_tokens()
        self.allowance.pay(1, 0.0)
        return super().act(observation)


def test_a_trial_ends_when_the_allowance_is_spent_and_drops_the_last_attempt(brittle):
    made = brittle.plan("lit(a) and lit(b)")
    paying = board_problem(Board(), Paying(), horizon=1)
    settings = TrialSettings(50, allowance=Allowance(tokens=13))
    trial = brittle.try_plan(made, settings, problem=paying)
    assert 0 < len(trial.tries) < 13
    assert trial.successes == len(trial.tries)


# The comparison.


def trial_of(draws, tries, successes, longest=100):
    """Return a trial of a plan with one step and these results."""
    seen = {Transition(0, 0, after): count for after, count in draws.items()}
    made = plan_for(LearnedModel.fitted(learned(seen)), Condition.parse("p and not r", WORDS), [0])
    good = PlanAttempt(
        (PlanExecution(0, Intent.parse("p"), 1, Ending.CHANGED),), PlanAttemptEnd.REACHED
    )
    bad = PlanAttempt(
        (PlanExecution(0, Intent.parse("p"), 5, Ending.CHANGED),), PlanAttemptEnd.LOST
    )
    return Trial(made, (good,) * successes + (bad,) * (tries - successes), longest)


def test_the_binomial_tail_is_that_of_the_sum():
    for number, p in ((1, 0.3), (7, 0.5), (20, 0.9)):
        for most in range(-1, number + 1):
            naive = sum(comb(number, k) * p**k * (1 - p) ** (number - k) for k in range(most + 1))
            assert _at_most(most, number, p) == pytest.approx(naive, abs=1e-12)
    assert _at_most(3, 5, 1.0) == 0.0
    assert _at_most(5, 5, 1.0) == 1.0
    assert _at_most(0, 5, 0.0) == 1.0


@pytest.mark.parametrize(
    ("draws", "tries", "successes", "verdict"),
    [
        ({1: 800, 5: 200}, 100, 80, TrialVerdict.AS_PREDICTED),
        ({1: 800, 5: 200}, 100, 75, TrialVerdict.AS_PREDICTED),
        ({1: 800, 5: 200}, 100, 60, TrialVerdict.LOWER),
        ({1: 800, 5: 200}, 100, 97, TrialVerdict.HIGHER),
        # One failure refutes a plan that never failed in 5000 draws, not one after five.
        ({1: 5}, 20, 19, TrialVerdict.POSSIBLE),
        ({1: 5000}, 20, 19, TrialVerdict.LOWER),
        # With only successes, the result is as predicted however few draws there were.
        ({1: 2}, 10_000, 10_000, TrialVerdict.AS_PREDICTED),
        # After four draws almost any rate is possible; after a thousand it is not.
        ({1: 2, 5: 2}, 100, 80, TrialVerdict.POSSIBLE),
        ({1: 500, 5: 500}, 100, 80, TrialVerdict.HIGHER),
    ],
)
def test_the_verdict_depends_on_the_draws_behind_the_plan_and_the_attempts(
    draws, tries, successes, verdict
):
    assert trial_of(draws, tries, successes).verdict is verdict


def test_an_unchanged_agent_is_rarely_reported_as_changed():
    # Draws and attempts have the same success rate: at most about 5 % false positives.
    rng, wrong = random.Random(0), 0
    for _ in range(80):
        p = rng.uniform(0.2, 0.95)
        good = sum(rng.random() < p for _ in range(60))
        successes = sum(rng.random() < p for _ in range(40))
        wrong += trial_of({1: good, 5: 60 - good}, 40, successes).verdict in (
            TrialVerdict.LOWER,
            TrialVerdict.HIGHER,
        )
    assert wrong <= 8


def test_a_result_is_as_predicted_only_if_its_interval_contains_the_prediction():
    for good, bad, successes in itertools.product((3, 20, 100), (0, 3, 20), range(0, 301, 15)):
        trial = trial_of({1: good, 5: bad} if bad else {1: good}, 300, successes)
        low, high = trial.interval
        if not low <= trial.predicted <= high:
            assert trial.verdict is not TrialVerdict.AS_PREDICTED, (good, bad, successes)


def test_a_trial_summarizes_its_attempts():
    trial = trial_of({1: 8, 5: 2}, 10, 7)
    assert (trial.successes, trial.executions) == (7, 10)
    assert trial.interval == pytest.approx((0.40, 0.90), abs=0.02)
    assert trial.lost_in == {5: 3}
    assert not trial.unforeseen
