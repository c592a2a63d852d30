import math
import random

import numpy as np
import pytest

from capscope.errors import CapscopeError
from capscope.stats.betting import evidence_of_difference, log_likelihood, log_mixture
from capscope.stats.error_budget import ERROR_RATE, ErrorBudget
from capscope.stats.stratified_test import log_evidence


def test_the_threshold_is_that_of_bonferroni_over_shares_and_questions():
    budget = ErrorBudget(0.05, 6)
    share = budget.share("one")
    assert share.threshold(7) == math.log(6 * 7 / 0.05)
    halves = budget.share("other")
    assert halves.threshold(10, 0.5) == math.log(6 * 2 * 10 / 0.05)
    assert halves.threshold(4, 0.5) == math.log(6 * 2 * 4 / 0.05)
    assert halves.thresholds == [math.log(2400), math.log(960)]


def test_each_question_that_is_answered_leaves_its_part_to_the_others():
    at = [math.log(number / 0.05) + 0.01 for number in (3, 2, 1)]

    def reached(*scores):
        return ErrorBudget(0.05, 1).share("one").reached(scores)

    assert reached(at[2], at[0], at[1]) == [True, True, True]
    assert reached(at[1], at[1], at[1]) == [False, False, False]
    assert reached(at[2], at[0], at[2]) == [False, True, False]
    assert reached() == []


def test_no_question_still_has_a_threshold():
    assert ErrorBudget(0.05, 1).share("nothing").threshold(0) == math.log(20)


def test_a_budget_that_is_used_up_is_spent_exactly():
    budget = ErrorBudget(0.05, 6)
    for name in "abcdef":
        assert budget.spent <= budget.rate
        budget.share(name).threshold(3)
    assert budget.spent == budget.rate


def test_a_budget_adds_up_what_its_shares_spent():
    budget = ErrorBudget(0.06, 3)
    budget.share("all").threshold(5)
    budget.share("part").threshold(5, 0.25)
    budget.share("none")
    assert budget.spent == pytest.approx(0.02 + 0.005)


def test_asking_for_more_than_the_whole_share_raises():
    share = ErrorBudget(0.05, 2).share("greedy")
    share.threshold(1, 0.75)
    with pytest.raises(CapscopeError, match=r"'greedy' asks for 0\.5 .* 0\.25 is left"):
        share.threshold(1, 0.5)
    share.threshold(1, 0.25)
    with pytest.raises(CapscopeError, match="0 is left"):
        share.threshold(1)


def test_thirds_add_up_to_a_whole_share():
    share = ErrorBudget(0.05, 2).share("thirds")
    for _ in range(3):
        share.threshold(1, 1 / 3)


@pytest.mark.parametrize("fraction", [0, -0.5, 1.5, math.nan])
def test_a_fraction_that_is_none_is_refused(fraction):
    with pytest.raises(CapscopeError, match="of its share"):
        ErrorBudget(0.05, 2).share("odd").threshold(1, fraction)


def test_more_shares_than_the_budget_was_divided_into_are_refused():
    budget = ErrorBudget(0.05, 2)
    budget.share("a"), budget.share("b")
    with pytest.raises(CapscopeError, match=r"no share .* left for 'c': .* into 2, taken by a, b"):
        budget.share("c")


def test_a_name_has_one_share():
    budget = ErrorBudget(0.05, 2)
    budget.share("a")
    with pytest.raises(CapscopeError, match="share to 'a' already"):
        budget.share("a")


@pytest.mark.parametrize("rate", [0, 1, -0.1, math.nan])
def test_an_error_rate_that_is_none_is_refused(rate):
    with pytest.raises(CapscopeError, match="between 0 and 1"):
        ErrorBudget(rate, 2)


# Three kinds of questions whose null hypotheses are true, each looked at after every draw.


def most_for_wins(rng, draws):
    """A fair coin: neither side wins more often."""
    wins, most = 0, -math.inf
    for n in range(1, draws + 1):
        wins += rng.random() < 0.5
        most = max(most, log_evidence(wins, n - wins))
    return most


def most_for_difference(rng, draws):
    """Two groups with the same probability; the next draw goes where the last ones were worse."""
    hits, drawn, rows = [0, 0], [0, 0], []
    for _ in range(draws):
        i = min((0, 1), key=lambda j: (hits[j] + 0.5) / (drawn[j] + 1))
        drawn[i] += 1
        hits[i] += rng.random() < 0.8
        rows.append((hits[0], drawn[0], hits[1], drawn[1]))
    return evidence_of_difference(*np.array(rows).T).max()


def most_for_rate(rng, draws):
    """A probability at the bound that it is claimed to exceed."""
    hits = np.cumsum([rng.random() < 0.02 for _ in range(draws)])
    drawn = np.arange(1, draws + 1)
    return (
        log_mixture(hits, drawn) - log_likelihood(hits, drawn, np.minimum(0.02, hits / drawn))
    ).max()


KINDS = {
    "wins": (most_for_wins, 4),
    "more wins": (most_for_wins, 2),
    "difference": (most_for_difference, 3),
    "more difference": (most_for_difference, 2),
    "rate": (most_for_rate, 3),
    "more rate": (most_for_rate, 1),
}


def test_any_false_alarm_over_all_kinds_is_as_rare_as_promised_whenever_one_looks():
    rng = random.Random(11)
    runs, alarms, naive = 400, 0, 0
    for _ in range(runs):
        budget = ErrorBudget(ERROR_RATE, len(KINDS))
        alarm = careless = False
        for name, (most, questions) in KINDS.items():
            threshold = budget.share(name).threshold(questions)
            scores = [most(rng, 60) for _ in range(questions)]
            alarm |= max(scores) >= threshold
            careless |= max(scores) >= math.log(1 / ERROR_RATE)
        assert budget.spent <= budget.rate
        alarms += alarm
        naive += careless
    assert alarms <= ERROR_RATE * runs
    # The questions are many enough for the division to matter.
    assert naive > 2 * ERROR_RATE * runs
