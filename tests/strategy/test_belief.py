"""What is believed of pairs whose odds are known."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import binomtest

from capscope.strategy.belief import UNKNOWN, Belief, Group

BELIEFS = [UNKNOWN, Belief(0.3, 0.5, 0.5), Belief(0.05, 2.0, 5.0), Belief(0.9, 4.0, 18.0)]
beliefs = pytest.mark.parametrize("belief", BELIEFS, ids=str)
after_draws = pytest.mark.parametrize("draws", [0, 1, 4, 25])
ANY_BELIEF = st.builds(Belief, st.floats(0.01, 0.99), st.floats(0.1, 30.0), st.floats(0.1, 30.0))


# Beliefs, against integrals.


def expected(belief, value):
    """Integrate value(q) over Beta(a, b), whose ends may be infinite."""
    powers = {"weight": "alg", "wvar": (belief.a - 1, belief.b - 1)}
    return quad(value, 0, 1, **powers)[0] / quad(lambda q: 1.0, 0, 1, **powers)[0]


def alike(belief, draws):
    """Return how likely a pair is to answer so often alike, whether it hides something or not."""
    return 1 - belief.share + belief.share * expected(belief, lambda q: (1 - q) ** draws)


@beliefs
@after_draws
def test_what_stays_hidden_is_the_integral_over_its_probability(belief, draws):
    assert belief.unseen(draws) == pytest.approx(expected(belief, lambda q: (1 - q) ** draws))


@beliefs
@after_draws
def test_a_pair_hides_something_by_the_rule_of_bayes(belief, draws):
    hidden = belief.share * expected(belief, lambda q: (1 - q) ** draws)
    assert belief.hiding(draws) == pytest.approx(hidden / alike(belief, draws))


@beliefs
@after_draws
def test_the_gain_is_the_probability_of_what_the_next_draw_shows_times_that_it_does(belief, draws):
    shown = belief.share * expected(belief, lambda q: q * q * (1 - q) ** draws)
    assert belief.gain(draws) == pytest.approx(shown / alike(belief, draws))


@pytest.mark.parametrize("q", [0.03, 0.3, 0.5])
def test_a_coin_whose_odds_are_certain_is_judged_by_them(q):
    coin = Belief(0.4, q * 1e6, (1 - q) * 1e6)
    for draws in (0, 1, 5, 20):
        missed = (1 - q) ** draws
        hiding = 0.4 * missed / (0.6 + 0.4 * missed)
        assert coin.unseen(draws) == pytest.approx(missed, rel=1e-3)
        assert coin.hiding(draws) == pytest.approx(hiding, rel=1e-3)
        assert coin.gain(draws) == pytest.approx(hiding * q * q, rel=1e-3)


@given(ANY_BELIEF, st.integers(0, 200))
def test_the_more_draws_were_alike_the_less_is_hidden(belief, draws):
    before, after = (
        (belief.unseen(k), belief.hiding(k), belief.gain(k)) for k in (draws, draws + 1)
    )
    for soon, late in zip(before, after, strict=True):
        assert 0.0 <= late <= soon + 1e-9
    assert belief.gain(draws) <= belief.hiding(draws) <= belief.share + 1e-9


# Beliefs, against pairs that were drawn from them.


def simulated(belief, draws, pairs=60_000):
    """Draw pairs; return what each hides (0 for nothing) of those that answered alike."""
    rng = np.random.default_rng(draws)
    hides = rng.random(pairs) < belief.share
    q = np.where(hides, rng.beta(belief.a, belief.b, pairs), 0.0)
    return q[rng.binomial(draws, q) == 0], rng


def assert_frequency(successes, probability):
    """Refuse what chance brings about once in ten thousand times."""
    test = binomtest(int(np.sum(successes)), len(successes), probability)
    assert test.pvalue > 1e-4, (np.mean(successes), probability)


@beliefs
@after_draws
def test_of_simulated_pairs_that_answered_alike_as_many_hide_something_as_believed(belief, draws):
    q, _ = simulated(belief, draws)
    assert_frequency(q > 0, belief.hiding(draws))


@beliefs
@after_draws
def test_the_next_draw_of_simulated_pairs_removes_as_much_error_as_believed(belief, draws):
    q, rng = simulated(belief, draws)
    removed = np.where(rng.random(len(q)) < q, q, 0.0)
    chance = 4 * removed.std() / math.sqrt(len(q))
    assert removed.mean() == pytest.approx(belief.gain(draws), abs=chance + 1e-9)


# Groups of pairs.


def simulated_group(share, a, b, draws, pairs=5000):
    """Let each of many pairs answer so often, where just this share hides something."""
    rng = np.random.default_rng([draws, pairs])
    group = Group()
    q = np.where(np.arange(pairs) < share * pairs, rng.beta(a, b, pairs), 0.0)
    for shown in rng.binomial(draws, q):
        if shown:
            group.count_revealed(shown / draws, +1)
        else:
            group.identical[draws] += 1
    return group


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3, 0.7])
@pytest.mark.parametrize(("a", "b"), [(6.0, 14.0), (10.0, 10.0), (8.0, 2.0)])
@pytest.mark.parametrize("draws", [10, 40])
def test_a_group_finds_out_how_many_of_its_pairs_hide_something_and_how_much(share, a, b, draws):
    belief = simulated_group(share, a, b, draws).believe(UNKNOWN)
    # Hidden outcomes are taken to differ more from pair to pair than they do here, so some that
    # gave nothing away count as untested: the share is rather over- than underestimated.
    assert 0.85 * share <= belief.share <= 1.35 * share
    assert belief.a / (belief.a + belief.b) == pytest.approx(a / (a + b), rel=0.15)


def test_a_group_without_pairs_believes_what_it_was_told():
    assert Group().believe(UNKNOWN) == UNKNOWN
    told = Belief(0.2, 3.0, 9.0)
    belief = Group().believe(told)
    assert belief.share == told.share
    assert belief.a / (belief.a + belief.b) == pytest.approx(0.25)
    assert Group().believe_within(told) == told


@pytest.mark.parametrize("draws", [1, 5, 30])
def test_the_more_pairs_answered_alike_the_smaller_the_share_believed(draws):
    group = Group()
    shares = []
    for _ in range(50):
        shares.append(group.believe(UNKNOWN).share)
        group.identical[draws] += 1
    assert shares == sorted(set(shares), reverse=True)


def test_draws_that_would_have_shown_nothing_are_no_evidence():
    group = Group()
    group.identical[0] = 1000
    assert group.believe(UNKNOWN) == UNKNOWN


GROUPS = st.builds(
    lambda alike, away: filled(Group(), alike, away),
    st.dictionaries(st.integers(0, 40), st.integers(1, 30), max_size=4),
    st.lists(st.floats(0.01, 0.99), max_size=6),
)


def filled(group, alike, away):
    group.identical.update(alike)
    for share in away:
        group.count_revealed(share, +1)
    return group


def content(group):
    """Return what a group holds, without traces of what left it."""
    return +group.identical, group.revealed, pytest.approx(group.shares, abs=1e-9)


@given(GROUPS, ANY_BELIEF)
def test_pairs_that_gave_nothing_away_are_not_less_reliable_than_their_larger_group(group, parent):
    belief = group.believe_within(parent)
    assert 0.0 < belief.share < 1.0
    if not group.revealed:
        assert belief.share <= parent.share
        assert (belief.a, belief.b) == (parent.a, parent.b)


@given(GROUPS, GROUPS, st.floats(0.01, 0.99))
def test_a_group_that_includes_another_has_the_pairs_of_both(one, other, share):
    both = Group()
    both.include(one)
    both.include(other)
    assert content(both) == (one.identical + other.identical, one.revealed + other.revealed,
                             pytest.approx(one.shares + other.shares))  # fmt: skip
    both.count_revealed(share, +1)
    both.count_revealed(share, -1)
    assert both.revealed == one.revealed + other.revealed


@beliefs
@after_draws
def test_what_is_hidden_is_shown_next_by_the_rule_of_bayes(belief, draws):
    # Of what stayed hidden so far, all but what would stay so once more.
    stays = belief.unseen(draws + 1) / belief.unseen(draws)
    assert belief.showing(draws) == pytest.approx(belief.hiding(draws) * (1 - stays))
