"""How precisely the probabilities of a rule are known, and what one more draw of it promises."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from capscope.journal.settings import Settings
from capscope.strategy.evidence import Evidence
from capscope.strategy.verdict import half_width
from support.tiny_evidence import coin, counted, gains_of, sure_of
from support.tiny_models import INTENTS, learned


@pytest.mark.parametrize("p", [0.03, 0.2, 0.5])
@pytest.mark.parametrize("draws", [200, 2000])
@pytest.mark.parametrize("miss", [0.01, 0.1])
def test_a_frequency_strays_farther_than_it_may_no_oftener_than_allowed(p, draws, miss):
    heads = np.random.default_rng(draws).binomial(draws, p, 20_000)
    width = norm.isf(miss / 2)
    claimed = {int(k): half_width(coin(int(k), draws - int(k)), width) for k in set(heads)}
    strayed = np.abs(heads / draws - p) > np.array([claimed[int(k)] for k in heads])
    assert np.mean(strayed) <= 1.2 * miss
    # Nor is more claimed than is needed by far.
    assert np.mean(list(claimed.values())) <= 2 * width * math.sqrt(p * (1 - p) / draws)


@given(st.lists(st.integers(1, 500), min_size=2, max_size=3), st.floats(1.0, 5.0))
def test_no_probability_of_a_rule_is_farther_off_than_the_largest(counts, width):
    total = sum(counts)
    off = half_width(coin(*counts), width)
    for count in counts:
        share = (count + 0.5) / (total + 1)
        assert off >= width * (math.sqrt(share * (1 - share) / total) - 0.5 / total)
    assert half_width(coin(*(4 * count for count in counts)), width) < off


def test_a_rule_that_answered_always_alike_is_not_certain_yet():
    assert half_width(coin(1), 2) > half_width(coin(5), 2) > half_width(coin(500), 2) > 0.0


# Enough draws that nothing of note is hidden; how precise the rule is depends on what is asked.
TRIED = [(state, c, state, 3000) for state in (0, 1) for c in range(3) if (state, c) != (0, 0)]
TOSSED = learned(counted(*TRIED, (0, 0, 0, 1000), (0, 0, 1, 1000)))
OFF = half_width(coin(1000, 1000), sure_of(1))


def test_a_rule_that_is_precise_enough_promises_nothing():
    evidence = Evidence.of(TOSSED, Settings(precision=OFF * 1.001))
    assert evidence.verdict().reached
    assert evidence.settled()
    assert evidence.targets(100) == []
    assert set(gains_of(evidence, TOSSED).values()) == {0.0}


def test_a_rule_that_is_not_precise_enough_promises_the_fall_of_its_error():
    evidence = Evidence.of(TOSSED, Settings(precision=OFF * 0.999))
    assert not evidence.settled()
    assert evidence.verdict().imprecise == 1
    (target,) = evidence.targets(100)
    assert (target.state, target.capability, target.draws) == (0, 0, 2000)
    fall = math.sqrt(0.25 / 2000) - math.sqrt(0.25 / 2001)
    assert target.gain == pytest.approx(math.sqrt(2 / math.pi) * fall, rel=1e-3)


def test_a_rule_that_holds_in_more_states_promises_more():
    one = [(0, 0, 0, 30), (0, 0, 1, 30)]
    many = [(state, 0, state ^ flip, 10) for state in (0, 2, 4) for flip in (0, 1)]
    gains = []
    for tosses in (one, many):
        graph = learned(counted(*tosses), INTENTS[:1])
        gains.append(Evidence.of(graph, Settings(epsilon=1.0)).gain_of(graph.pair(0, 0)))
    assert gains[1] == pytest.approx(3 * gains[0])


def test_while_something_may_be_hidden_a_precise_rule_promises_what_it_may_hide():
    evidence = Evidence.of(TOSSED, Settings(precision=1.0, epsilon=0.0, delta=1e-6))
    assert evidence.verdict().imprecise == 0
    assert 0.0 < evidence.gain_of(TOSSED.pair(0, 0)) < 1e-6
