"""The chance to get there by asking on, against following every way."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope.data.dataset import Transition
from capscope.model import Models
from capscope.report.digest.persistence import chances_of_getting_there
from small_runs import LAMPS, WISHES

TRANSITIONS = st.dictionaries(
    st.builds(Transition, st.integers(0, 3), st.integers(0, 1), st.integers(0, 3)),
    st.integers(1, 3),
)


def after_asking(models, capability, state, times, memory):
    """Work out the chance after so many executions, by every outcome of each."""
    if models.capabilities[capability].holds(state, LAMPS):
        return Fraction(1)
    pair = models.pair(state, capability)
    if pair is None or not times:
        return Fraction(0)
    key = state, times
    if key not in memory:
        memory[key] = sum(
            Fraction(count, pair.total)
            * after_asking(models, capability, effect.apply(state), times - 1, memory)
            for effect, count in pair.counts.items()
        )
    return memory[key]


@given(TRANSITIONS)
def test_the_chance_is_that_of_asking_very_often(transitions):
    models = Models(LAMPS, WISHES[:2])
    models.update(transitions)
    for capability, found in enumerate(chances_of_getting_there(models)):
        memory = {}
        expected = [
            float(after_asking(models, capability, state, 120, memory))
            for state, place in models.places.items()
            if place.pairs[capability] is not None
            and not models.capabilities[capability].holds(state, LAMPS)
        ]
        assert found == pytest.approx(expected, abs=1e-3)


def test_what_was_never_tried_is_no_way():
    models = Models(LAMPS, WISHES[:1])
    models.update({Transition(0, 0, 2): 1, Transition(2, 0, 4): 1})
    assert chances_of_getting_there(models) == [[0.0, 0.0]]
    models.update({Transition(4, 0, 5): 1, Transition(4, 0, 4): 9})
    assert chances_of_getting_there(models) == [pytest.approx([1, 1, 1], abs=1e-4)]
    assert chances_of_getting_there(Models(LAMPS)) == []
