import math
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope.logic import Effect, Predicate, Vocabulary
from capscope.model import PairStats
from capscope.model.outcome_types import (
    _PEERS,
    NO_CHANGE,
    NOTHING,
    OutcomeTypes,
    _likeliest_strength,
    conditional_odds,
)

WORDS = Vocabulary.of_atoms(["drive", "flat", "lost", "other"])
DRIVE, FLAT, LOST, OTHER = (Effect(1 << i, 0) for i in range(4))


def pair(*effects):
    stats = PairStats()
    stats.counts = dict(Counter(effects))
    return stats


def types_after(*shown):
    types = OutcomeTypes(WORDS)
    for effects in shown:
        types.learn(effects)
    return types


def test_a_pair_that_showed_nothing_is_of_the_type_nothing():
    types = OutcomeTypes(WORDS)
    assert types.of(pair(NO_CHANGE)) == NOTHING
    assert types.odds[NOTHING] == {NO_CHANGE: 1.0}
    assert types.main_effect(NOTHING) == NO_CHANGE


def test_effects_that_one_pair_has_shown_are_one_type_for_all_pairs():
    types = types_after([DRIVE, FLAT])
    numbers = {types.of(pair(*seen)) for seen in ([DRIVE], [FLAT], [FLAT, DRIVE], [DRIVE, DRIVE])}
    assert len(numbers) == 1
    assert types.effects[numbers.pop()] == {DRIVE, FLAT}
    assert types.effects[types.of(pair(LOST))] == {LOST}


def test_that_nothing_happened_links_no_effects():
    types = types_after([DRIVE, NO_CHANGE], [FLAT, NO_CHANGE])
    assert types.of(pair(DRIVE, NO_CHANGE)) == types.of(pair(DRIVE))
    assert types.of(pair(DRIVE)) != types.of(pair(FLAT))


def test_a_smaller_set_of_effects_becomes_part_of_a_larger_one():
    types = types_after([DRIVE, FLAT], [DRIVE, FLAT, LOST])
    assert types.effects[types.of(pair(DRIVE, FLAT))] == {DRIVE, FLAT, LOST}
    assert types.of(pair(LOST)) == types.of(pair(FLAT))


def test_learning_says_whether_pairs_may_have_changed_their_types():
    types = OutcomeTypes(WORDS)
    assert not types.learn([DRIVE])
    assert not types.learn([DRIVE, NO_CHANGE])
    assert types.learn([DRIVE, FLAT])
    assert not types.learn([FLAT, DRIVE, NO_CHANGE])
    assert types.learn([DRIVE, FLAT, LOST])
    assert not types.learn([DRIVE, LOST])


def test_an_effect_of_two_types_is_taken_for_the_expected_one():
    types = types_after([DRIVE, FLAT], [DRIVE, LOST])
    flat, lost = types.of(pair(FLAT)), types.of(pair(LOST))
    assert types.of(pair(DRIVE), expected=flat) == flat
    assert types.of(pair(DRIVE), expected=lost) == lost
    assert types.of(pair(DRIVE), expected=NOTHING) == flat
    # An expectation that does not fit is ignored.
    assert types.of(pair(FLAT), expected=lost) == flat


def test_what_two_types_never_showed_together_is_a_type_of_its_own():
    types = types_after([DRIVE, FLAT], [DRIVE, LOST])
    assert types.effects[types.of(pair(FLAT, LOST))] == {FLAT, LOST}


def test_the_type_of_a_pair_does_not_depend_on_the_order_of_its_effects():
    types = types_after([FLAT, DRIVE, LOST])
    assert types.number(frozenset([DRIVE, FLAT, LOST])) == types.of(pair(LOST, DRIVE, FLAT))


def test_a_number_is_never_given_twice():
    types = types_after([DRIVE, FLAT])
    numbers = [types.of(pair(effect)) for effect in (LOST, DRIVE, OTHER, FLAT, LOST)]
    assert numbers == [1, 2, 3, 2, 1]
    assert len(types) == 4


def test_a_new_type_holds_its_effects_equally_likely():
    types = types_after([DRIVE, FLAT])
    number = types.of(pair(DRIVE))
    assert types.odds[number] == {DRIVE: 0.5, FLAT: 0.5}
    assert types.draws[number] == 0


def test_odds_are_how_often_effects_were_drawn():
    types = types_after([DRIVE, FLAT])
    number = types.of(pair(DRIVE))
    types.estimate_odds({number: Counter({FLAT: 1, DRIVE: 6, NO_CHANGE: 3})})
    assert types.odds[number] == pytest.approx({DRIVE: 0.6, FLAT: 0.1, NO_CHANGE: 0.3})
    assert types.draws[number] == 10
    assert types.main_effect(number) == DRIVE


def test_the_main_effect_changes_something_even_if_nothing_is_likelier():
    types = types_after([DRIVE, FLAT])
    number = types.of(pair(DRIVE))
    types.estimate_odds({number: Counter({NO_CHANGE: 9, FLAT: 1})})
    assert types.main_effect(number) == FLAT


def test_a_type_allows_its_effects_and_nothing_only_if_that_was_drawn():
    types = types_after([DRIVE, FLAT])
    number = types.of(pair(DRIVE))
    types.estimate_odds({number: Counter({DRIVE: 4})})
    assert types.allows(number, DRIVE)
    assert types.allows(number, FLAT)
    assert not types.allows(number, LOST)
    assert not types.allows(number, NO_CHANGE)
    types.estimate_odds({number: Counter({DRIVE: 4, NO_CHANGE: 1})})
    assert types.allows(number, NO_CHANGE)
    assert types.allows(NOTHING, NO_CHANGE)
    assert not types.allows(NOTHING, DRIVE)


# Two roads: each drive may end with a flat tire, and both change the same predicates.
ROADS = Vocabulary(
    [Predicate("at", ("place",)), Predicate("flat")], dict.fromkeys(["p1", "p2"], "place")
)


def odds_of_roads(*counts):
    """Return the probability of a flat tire on each road, after (intact, flat) on each."""
    types = OutcomeTypes(ROADS)
    drawn = {}
    for place, (intact, flat) in zip(("p1", "p2"), counts, strict=True):
        arrived = ROADS.bit_of(f"at({place})")
        effects = Effect(arrived, 0), Effect(arrived | ROADS.bit_of("flat()"), 0)
        drawn[types.number(frozenset(effects))] = Counter(
            dict(zip(effects, (intact, flat), strict=True))
        )
    types.estimate_odds(drawn, weigh=True)
    return [types.odds[number][max(drawn[number])] for number in drawn]


def test_a_type_with_few_draws_has_the_probabilities_of_peers_that_are_like_it():
    assert odds_of_roads((20, 80), (1, 3)) == pytest.approx([0.8, 0.8], abs=0.02)


def test_types_that_differ_keep_their_own_probabilities():
    assert odds_of_roads((90, 10), (10, 90)) == pytest.approx([0.1, 0.9], abs=0.02)


KINDS = ((("at", True),), (("at", True), ("flat", True)))


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=4))
def test_the_strength_of_peers_is_the_one_that_predicts_each_type_from_the_others(counts):
    types = [Counter(dict(zip(KINDS, pair, strict=True))) for pair in counts]
    together = sum(types, Counter())

    def naive(strength):
        """Multiply the predicted probabilities of the draws of each type, one after the other."""
        total = 0.0
        for own in types:
            others = {kind: together[kind] - own[kind] + 0.5 for kind in KINDS}
            seen = {kind: strength * others[kind] / sum(others.values()) for kind in KINDS}
            for kind in own.elements():
                total += math.log(seen[kind] / sum(seen.values()))
                seen[kind] += 1
        return total

    chosen = _likeliest_strength(types, together)
    if len(together) < 2:
        assert chosen == _PEERS[0]
    else:
        assert naive(chosen) == pytest.approx(max(map(naive, _PEERS)), abs=1e-6)


WET = Vocabulary.of_atoms(["wet", "lit", "cold", "there", "dirty"])
CLEAN, DIRTY = (
    Effect(WET.bit_of("there()"), 0),
    Effect(WET.bit_of("there()") | WET.bit_of("dirty()"), 0),
)


def odds_by_state(rng, dirty, draws=40):
    """Draw in eight states, wet or dry and so on; return the odds of dirt found in each."""
    types = OutcomeTypes(WET)
    number = types.number(frozenset([CLEAN, DIRTY]))
    shown = []
    for state in range(8):
        hits = sum(rng.random() < dirty(state) for _ in range(draws))
        shown.append((number, state, {CLEAN: draws - hits, DIRTY: hits}))
    types.estimate_odds({number: sum((Counter(counts) for *_, counts in shown), Counter())})
    odds_in = conditional_odds(types, shown, len(WET.atoms))
    return [odds_in(number, state).odds[DIRTY] for state in range(8)]


def test_probabilities_that_depend_on_an_atom_are_told_apart():
    found = odds_by_state(random.Random(0), lambda state: 0.4 if state & 1 else 0.1)
    assert found == pytest.approx([0.1, 0.4] * 4, abs=0.1)
    assert len(set(found)) == 2


def test_probabilities_that_depend_on_nothing_are_rarely_told_apart():
    found = [odds_by_state(random.Random(seed), lambda state: 0.25) for seed in range(100)]
    assert sum(len(set(odds)) > 1 for odds in found) <= 5


def test_an_outcome_not_seen_under_a_condition_is_possible_there():
    found = odds_by_state(random.Random(0), lambda state: 0.5 if state & 1 else 0.0)
    assert 0 < found[0] < 0.02
