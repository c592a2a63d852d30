"""Plans carried out by the agent that was assessed, and by one that has changed since."""

import random
from collections import Counter
from math import comb

import pytest

from capscope import Budget, assess, plan, try_plan
from capscope.analysis.planning import Effort, Goal, Trial, Try, plan_for
from capscope.analysis.planning.trial import Move, TryEnd, Verdict, _at_most, try_out
from capscope.errors import ProblemError, RunError
from capscope.record.execution_table import Transition
from capscope.symbolic import Intent
from capscope.world import Allowance, Ending
from support.plan_worlds import ALL_LIT, brittle_board, hasty_board
from support.tiny_models import WORDS, learned
from support.toy_worlds import Board, Presser, Pressing, board_problem


@pytest.fixture(scope="module")
def brittle(tmp_path_factory):
    """A run on the board while it was whole."""
    path = tmp_path_factory.mktemp("brittle") / "run"
    assess(brittle_board(), budget=Budget(executions=300), run=path)
    return path


@pytest.fixture(scope="module")
def hasty(tmp_path_factory):
    path = tmp_path_factory.mktemp("hasty") / "run"
    assess(hasty_board(), budget=Budget(executions=1500), run=path)
    return path


def test_a_plan_that_the_agent_carries_out_as_it_was_assessed_agrees(hasty):
    made = plan(hasty, "lit(a) and lit(b)")
    trial = try_plan(hasty, made, Effort(200), problem=hasty_board())
    assert trial.successes == 200
    assert trial.verdict is Verdict.AS_PREDICTED
    assert trial.executions / 200 == pytest.approx(made.executions, rel=0.1)
    assert made.executions == pytest.approx(2 / 0.7, rel=0.1)
    assert not trial.unforeseen


def test_tries_that_may_not_take_long_are_beside_a_prediction_for_such(hasty):
    made = plan(hasty, "lit(a) and lit(b)")
    trial = try_plan(hasty, made, Effort(300, longest=2), problem=hasty_board())
    assert made.success == 1.0
    assert trial.predicted == pytest.approx(0.49, abs=0.06)
    assert trial.verdict is Verdict.AS_PREDICTED
    ends = Counter(one.end for one in trial.tries)
    assert ends == {TryEnd.REACHED: trial.successes, TryEnd.TOO_LONG: 300 - trial.successes}
    assert max(len(one.moves) for one in trial.tries) == 2


def test_an_agent_that_has_changed_is_found_out(brittle):
    made = plan(brittle, "lit(a) and not lit(b)")
    assert made.success == 1.0
    trial = try_plan(brittle, made, Effort(60), problem=brittle_board(0.4))
    assert trial.verdict is Verdict.LOWER
    assert trial.tail < 0.001
    assert 20 < trial.successes < 50
    ((move, count),) = trial.unforeseen.items()
    assert move == Move(0, Intent.parse("lit(a)"), ALL_LIT, Ending.CHANGED)
    assert count == 60 - trial.successes
    assert trial.lost_in == {ALL_LIT: count}


def test_after_something_unforeseen_the_plan_goes_on_if_a_way_is_known(brittle):
    made = plan(brittle, "lit(a) and lit(b)")
    slipping = board_problem(Board(slip=0.5), horizon=1)
    trial = try_plan(brittle, made, Effort(50), problem=slipping)
    assert trial.successes == 50
    assert sum(trial.unforeseen.values()) > 50
    assert all(move.before == move.after for move in trial.unforeseen)


def test_nothing_of_the_tries_is_recorded(hasty):
    before = {file.name: file.read_bytes() for file in hasty.iterdir()}
    made = plan(hasty, "lit(c)")
    try_plan(hasty, made, Effort(5), problem=hasty_board())
    assert {file.name: file.read_bytes() for file in hasty.iterdir()} == before


def test_one_seed_one_result_and_more_tries_begin_with_those_of_fewer(hasty):
    made = plan(hasty, "lit(a) and lit(c)")

    def tries(number, seed):
        return try_plan(hasty, made, Effort(number, seed=seed), problem=hasty_board()).tries

    assert tries(20, 1) == tries(20, 1) != tries(20, 2)
    assert tries(20, 1)[:5] == tries(5, 1)


def test_each_try_is_told_as_it_is_made(hasty):
    made, told = plan(hasty, "lit(a)"), []
    trial = try_plan(hasty, made, Effort(4), problem=hasty_board(), heard=told.append)
    assert tuple(told) == trial.tries


def test_tries_begin_at_all_the_positions_that_look_like_the_start(hasty):
    restored = []

    class Noting(Board):
        def restore(self, snapshot, seed):
            restored.append(snapshot)
            return super().restore(snapshot[:1], seed)

    made = plan(hasty, "lit(a)")
    list(try_out(board_problem(Noting()), made, [b"\0one", b"\0two"], Effort(30)))
    assert set(restored) == {b"\0one", b"\0two"}
    assert len(restored) == 30


def test_another_problem_than_the_run_was_started_with_is_refused(hasty):
    made = plan(hasty, "lit(a)")
    with pytest.raises(RunError, match="was started differently: horizon was 1, now 100"):
        try_plan(hasty, made, Effort(1), problem=board_problem())


def test_a_problem_that_is_not_given_must_be_found(hasty):
    with pytest.raises(ProblemError, match="no problem 'board'"):
        try_plan(hasty, plan(hasty, "lit(a)"), Effort(1))


def test_without_a_plan_or_a_position_there_is_nothing_to_try(hasty, brittle):
    nothing = plan_for(learned({Transition(0, 0, 1): 3}), Goal.parse("r", WORDS), [0])
    with pytest.raises(RunError, match="no way to the goal is known"):
        try_plan(hasty, nothing, Effort(1), problem=hasty_board())
    elsewhere = plan_for(learned({Transition(8, 0, 9): 3}), Goal.parse("p", WORDS), [8])
    with pytest.raises(RunError, match="no position of the start is known"):
        try_plan(hasty, elsewhere, Effort(1), problem=hasty_board())


class Paying(Presser):
    """Pays a token for each attempt."""

    def begin(self, intent, seed):
        return Spender(intent)


class Spender(Pressing):
    def spend_from(self, allowance):
        self.allowance = allowance

    def act(self, observation):
        self.allowance.check_tokens()
        self.allowance.pay(1, 0.0)
        return super().act(observation)


def test_tries_end_when_the_allowance_does_and_the_last_one_does_not_count(brittle):
    made = plan(brittle, "lit(a) and lit(b)")
    paying = board_problem(Board(), Paying(), horizon=1)
    effort = Effort(50, allowance=Allowance(tokens=13))
    trial = try_plan(brittle, made, effort, problem=paying)
    assert 0 < len(trial.tries) < 13
    assert trial.successes == len(trial.tries)


# The comparison.


def trial_of(draws, tries, successes, longest=100):
    """Pair a plan of one step with tries that came out so."""
    seen = {Transition(0, 0, after): count for after, count in draws.items()}
    made = plan_for(learned(seen), Goal.parse("p and not r", WORDS), [0])
    good = Try((Move(0, Intent.parse("p"), 1, Ending.CHANGED),), TryEnd.REACHED)
    bad = Try((Move(0, Intent.parse("p"), 5, Ending.CHANGED),), TryEnd.LOST)
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
        ({1: 800, 5: 200}, 100, 80, Verdict.AS_PREDICTED),
        ({1: 800, 5: 200}, 100, 75, Verdict.AS_PREDICTED),
        ({1: 800, 5: 200}, 100, 60, Verdict.LOWER),
        ({1: 800, 5: 200}, 100, 97, Verdict.HIGHER),
        # One failure of what never failed in five draws is no refutation; of 5000 it is.
        ({1: 5}, 20, 19, Verdict.AS_PREDICTED),
        ({1: 5000}, 20, 19, Verdict.LOWER),
        # All well is as predicted however few draws there were: nothing better was possible.
        ({1: 2}, 10_000, 10_000, Verdict.AS_PREDICTED),
        # Four draws say little: a share that would be far off after a thousand is within reach.
        ({1: 2, 5: 2}, 100, 80, Verdict.AS_PREDICTED),
        ({1: 500, 5: 500}, 100, 80, Verdict.HIGHER),
    ],
)
def test_the_verdict_weighs_the_draws_behind_the_plan_and_the_tries(
    draws, tries, successes, verdict
):
    assert trial_of(draws, tries, successes).verdict is verdict


def test_an_agent_as_assessed_is_seldom_said_to_differ():
    # Draws and tries from the same coin: the error rate is at most about one in twenty.
    rng, wrong = random.Random(0), 0
    for _ in range(80):
        p = rng.uniform(0.2, 0.95)
        good = sum(rng.random() < p for _ in range(60))
        successes = sum(rng.random() < p for _ in range(40))
        wrong += trial_of({1: good, 5: 60 - good}, 40, successes).verdict is not (
            Verdict.AS_PREDICTED
        )
    assert wrong <= 8


def test_a_trial_knows_how_it_went():
    trial = trial_of({1: 8, 5: 2}, 10, 7)
    assert (trial.successes, trial.executions) == (7, 10)
    assert trial.interval == pytest.approx((0.40, 0.90), abs=0.02)
    assert trial.lost_in == {5: 3}
    assert not trial.unforeseen
