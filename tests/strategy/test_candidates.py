"""Which pairs are drawn, on the delivery world of the tests."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope.logic import Effect, Intent
from capscope.model import LearnedModel, StateGraph
from capscope.model.transitions import DistancesFromStart
from capscope.strategy import candidates as module
from capscope.strategy.candidates import Candidates, new_pairs, where_equal
from support.chance_worlds import ASKED, DONE
from support.chance_worlds import WORDS as CHANCES
from support.pursuing_agents import (
    DELIVERY,
    INTENTS,
    PURSUED,
    STATES,
    WORDS,
    graph_of,
    transitions,
)


class Asking:
    """A graph, a model and candidates that follow it, as in a run."""

    def __init__(self, pairs=(), scope=0):
        self.graph = graph_of(transitions(PURSUED, pairs))
        self.distances = DistancesFromStart(self.graph, [DELIVERY.start])
        self.distances.observe([(state, 0) for state in self.graph.nodes])
        self.model = LearnedModel.fitted(self.graph)
        self.candidates = Candidates(self.model, self.distances, scope, seed=0)

    def answer(self, pairs):
        """Try some pairs for the first time."""
        seen = transitions(PURSUED, pairs)
        self.graph.update(seen)
        asked = [(state, capability) for state, capability, _ in seen]
        self.distances.observe(asked)
        observed = self.model.observe(asked)
        self.candidates.observe(asked, asked, observed.changed)

    def untried(self):
        return {
            (state, capability)
            for state, node in self.graph.nodes.items()
            for capability, pair in enumerate(node.pairs)
            if pair is None
        }


def reached(number, seed=0):
    """Draw pairs of the states that are found one after the other from the start."""
    rng, states, pairs = np.random.default_rng(seed), [DELIVERY.start], {}
    while len(pairs) < number:
        pair = states[rng.integers(len(states))], INTENTS[rng.integers(len(INTENTS))]
        pairs[pair] = None
        if PURSUED[pair] not in states:
            states.append(PURSUED[pair])
    return list(pairs)


def drawn(candidates):
    return [(one.state, one.capability) for one in candidates]


def rng(seed=0):
    return np.random.default_rng(seed)


# Exploring.


@pytest.mark.parametrize("most", [1, 4, 50])
def test_different_untried_pairs_of_the_states_seen_are_explored(most):
    asking = Asking(reached(120))
    for seed in range(10):
        pairs = drawn(asking.candidates.explore(most, rng(seed)))
        assert len(pairs) == len(set(pairs)) == most
        assert set(pairs) <= asking.untried()


def test_of_few_untried_pairs_all_are_explored_and_then_none():
    everything = sorted(PURSUED, key=str)
    asking = Asking(everything[:-3])
    last = {(state, INTENTS.index(intent)) for state, intent in everything[-3:]}
    assert set(drawn(asking.candidates.explore(10, rng()))) == last
    asking.answer(everything[-3:])
    assert asking.candidates.explore(10, rng()) == []


def test_pairs_are_drawn_in_proportion_to_the_square_of_their_score():
    asking = Asking(reached(150))
    scores = {
        (one.state, one.capability): one.score for one in asking.candidates.explore(10_000, rng())
    }
    assert scores.keys() == asking.untried()
    assert all(score > 0 for score in scores.values())
    random, number = rng(), 4000
    times = Counter(drawn(asking.candidates.explore(1, random)[0] for _ in range(number)))
    whole = sum(score**2 for score in scores.values())
    expected = {pair: number * score**2 / whole for pair, score in scores.items()}
    likely = sorted(expected, key=expected.get)[-10:]
    for pair in likely:
        assert abs(times[pair] - expected[pair]) < 5 * np.sqrt(expected[pair])
    # The best is not all that is asked.
    assert max(times.values()) < number / 10


def test_pairs_in_doubt_are_drawn_more_often_than_those_that_are_clear():
    asking = Asking(reached(90))
    random = rng()
    doubts = {
        (state, capability): asking.model.predict(state, INTENTS[capability]).doubt
        for state, capability in asking.untried()
    }
    asked = [doubts[drawn(asking.candidates.explore(1, random))[0]] for _ in range(600)]
    assert np.mean(asked) > 1.2 * np.mean(list(doubts.values()))


def test_where_a_run_begins_is_visited_most():
    asking = Asking(reached(60))
    visits = dict(zip(asking.candidates._place, asking.candidates._visits, strict=True))
    assert max(visits, key=visits.get) == DELIVERY.start
    assert sum(visits.values()) <= 1 + 1e-9


# Novelty.


def naive_novelty(tried, state):
    """Look for the rarest literal, and for pairs of atoms that never held together."""
    width = len(WORDS.atoms)
    held = [i for i in range(width) if state >> i & 1]
    alike = [sum((one >> i ^ state >> i) & 1 == 0 for one in tried) for i in range(width)]
    rarest = 1 / (1 + min(alike))
    new = sum(not any(one >> i & 1 and one >> j & 1 for one in tried) for i in held for j in held)
    return 0.5 * rarest + 0.5 * min(new / 4, 1.0)


def novelties(candidates):
    return {
        (state, capability): candidates._novelty[capability, place]
        for state, place in candidates._place.items()
        for capability in range(len(INTENTS))
    }


def test_novelty_is_that_of_the_rarest_literal_and_of_new_pairs_of_atoms():
    pairs = reached(150)
    asking = Asking(pairs)
    for (state, capability), novelty in novelties(asking.candidates).items():
        tried = [one for one, intent in pairs if INTENTS.index(intent) == capability]
        assert novelty == pytest.approx(naive_novelty(tried, state)), (state, capability)


@pytest.mark.parametrize("atoms", [3, 64, 70, 130])
def test_pairs_of_atoms_that_never_held_together_are_those_of_a_product_of_matrices(atoms):
    random = np.random.default_rng(atoms)
    bits = (random.random((20, atoms)) < 0.3).astype(np.uint8)
    together = random.random((atoms, atoms)) < 0.9
    counted = np.diag(bits.astype(int) @ ~together @ bits.T.astype(int))
    assert new_pairs(bits, together).tolist() == counted.tolist()


def test_novelty_and_doubt_follow_the_answers_as_if_computed_anew():
    pairs = reached(200)
    asking = Asking(pairs[:100])
    for first in range(100, 200, 4):
        asking.answer(pairs[first : first + 4])
    asking.candidates.refresh()
    anew = Candidates(asking.model, asking.distances, 0, seed=0)
    assert novelties(asking.candidates) == novelties(anew)
    assert asking.candidates.expected().surprises == anew.expected().surprises
    assert drawn(asking.candidates.explore(9, rng())) == drawn(anew.explore(9, rng()))


def test_pairs_that_an_audit_tried_are_no_longer_novel_once_they_are_counted():
    pairs = reached(200)
    asking = Asking(pairs[:100])
    asking.graph.update(transitions(PURSUED, pairs[100:]))
    asking.model.refresh()
    asking.candidates.recount()
    asking.candidates.refresh()
    anew = Candidates(asking.model, asking.distances, 0, seed=0)
    assert novelties(asking.candidates) == novelties(anew)


# Near the beginning.


@pytest.mark.parametrize("farthest", [0, 1, 2])
def test_near_pairs_are_the_untried_ones_of_the_nearest_states(farthest):
    asking = Asking(reached(80))
    distance = asking.distances.of
    expected = {p for p in asking.untried() if distance.get(p[0], 99) <= farthest}
    found = drawn(asking.candidates.near(10_000, farthest))
    assert set(found) == expected
    assert len(found) == len(expected)
    assert [distance[state] for state, _ in found] == sorted(distance[s] for s, _ in found)
    assert drawn(asking.candidates.near(3, farthest)) == found[:3]


def test_nothing_near_is_left_when_all_was_tried():
    asking = Asking(sorted(PURSUED, key=str))
    assert asking.candidates.near(5, 2) == []


@pytest.mark.parametrize("scope", [1, 2, 3])
def test_a_scope_leaves_out_what_is_farther(scope):
    asking = Asking(reached(120), scope=scope)
    inside = {state for state, steps in asking.distances.of.items() if steps < scope}
    assert inside < set(asking.graph.nodes)
    every = drawn(asking.candidates.explore(10_000, rng()))
    assert {state for state, _ in every} <= inside
    assert set(every) == {pair for pair in asking.untried() if pair[0] in inside}
    assert {s for s, _ in drawn(asking.candidates.near(10_000, 9))} <= inside
    assert {s for s, _ in drawn(asking.candidates.uncertain_odds(10_000, rng()))} <= inside


def test_states_found_on_the_way_become_candidates_if_they_are_in_scope():
    for scope in (0, 2):
        asking = Asking(scope=scope)
        pairs = reached(60)
        for pair in pairs:
            asking.answer([pair])
        every = {state for state, _ in drawn(asking.candidates.explore(10_000, rng()))}
        assert every == {
            state
            for state, _ in asking.untried()
            if not scope or asking.distances.of[state] < scope
        }


# Odds.


def chance_candidates(done, nothing):
    """Return the candidates of one state, after some draws of one capability."""
    graph = StateGraph(CHANCES, [ASKED])
    graph.update({(0, 0, DONE.apply(0)): done, (0, 0, 0): nothing})
    return Candidates(LearnedModel.fitted(graph), DistancesFromStart(graph, [0]), 0, seed=0)


def test_the_expected_error_of_odds_falls_with_the_draws():
    errors = [chance_candidates(7 * n, 3 * n).expected_errors()[1] for n in (1, 5, 50)]
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] > 0


def test_pairs_of_uncertain_odds_are_asked_again_when_all_was_tried(monkeypatch):
    monkeypatch.setattr(module, "_OWN_DRAWS", 0.0)
    asking = Asking(sorted(PURSUED, key=str))
    found = asking.candidates.uncertain_odds(3, rng())
    assert len(set(drawn(found))) == 3
    kinds = {
        asking.model.predict(state, INTENTS[capability]).support.rule
        for state, capability in drawn(found)
    }
    # All of one type: the one that was drawn least for how much it matters.
    assert len(kinds) == 1
    assert all(effect.adds or effect.deletes for effect in kinds.pop())


def test_when_all_was_tried_pairs_with_few_draws_of_their_own_are_asked_again(monkeypatch):
    monkeypatch.setattr(module, "_OWN_DRAWS", 1.0)
    done = DONE.apply(0)
    graph = StateGraph(CHANCES, [ASKED])
    graph.update({(0, 0, done): 900, (0, 0, 0): 100, (done, 0, 0): 3, (done, 0, done): 1})
    candidates = Candidates(LearnedModel.fitted(graph), DistancesFromStart(graph, [0]), 0, seed=0)
    asked = Counter(candidates.uncertain_odds(1, rng(seed))[0].state for seed in range(100))
    assert asked[done] > 90


# Before an audit.


def test_surprises_are_expected_until_all_was_tried():
    shares = []
    for number in (5, 300, len(PURSUED)):
        pairs = sorted(PURSUED, key=str) if number == len(PURSUED) else reached(number)
        shares.append(Asking(pairs).candidates.expected().surprises)
    assert 1 >= shares[0] > shares[1] > shares[2]
    assert shares[2] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("number", [60, 200])
def test_a_fitted_model_is_expected_to_surprise_as_far_as_it_doubts_what_is_asked_in_use(number):
    asking = Asking(reached(number))
    fitted = LearnedModel.fitted(asking.graph.copy())
    expected = asking.candidates.expected(fitted)
    visits = dict(zip(asking.candidates.states, asking.candidates._visits.tolist(), strict=True))
    doubts = dict.fromkeys(visits, 0.0)
    for state, capability in asking.untried():
        doubts[state] += fitted.predict(state, INTENTS[capability]).doubt / len(INTENTS)
    newest = list(doubts.values())[-max(len(doubts) // 10, 10) :]
    lost = (1.0 - sum(visits.values())) * sum(newest) / len(newest)
    surprises = sum(share * doubts[state] for state, share in visits.items()) + lost
    assert expected.surprises == pytest.approx(surprises)
    assert expected.doubt == pytest.approx(sum(doubts.values()) / len(doubts))


def test_before_anything_was_tried_no_pair_is_clear():
    asking = Asking()
    assert asking.candidates.expected().surprises > 0.2
    # That nothing will happen is believed a little, as of an agent without behaviors.
    assert 0.5 * len(INTENTS) < asking.candidates.expected_errors()[0] <= len(INTENTS)
    assert len(asking.candidates.explore(100, rng())) == len(INTENTS)


def test_new_capabilities_make_the_candidates_outdated_until_they_are_refreshed():
    asking = Asking(reached(20))
    assert not asking.candidates.outdated
    asking.graph.extend([Intent.parse("not loaded()")])
    assert asking.candidates.outdated
    asking.model.refresh()
    asking.candidates.refresh()
    assert not asking.candidates.outdated
    assert len(INTENTS) in {c for _, c in drawn(asking.candidates.explore(10_000, rng()))}


# More pairs than can be scored.


def test_of_too_many_states_a_sample_is_scored_and_the_relevant_ones_are_in_it(monkeypatch):
    monkeypatch.setattr(module, "_MOST_PAIRS", 20 * len(INTENTS))
    asking = Asking(reached(250))
    assert len(asking.graph.nodes) > 40
    samples = []
    for _ in range(10):
        asking.candidates.refresh()
        states = set(asking.candidates._place)
        assert len(states) == 20
        samples.append(states)
    assert len(set(map(frozenset, samples))) > 1
    times = Counter(state for states in samples for state in states)
    assert times[DELIVERY.start] > np.mean([times[state] for state in STATES])
    for pair in reached(300)[250:]:
        asking.answer([pair])
    assert len(asking.candidates._place) <= 25


EFFECTS = st.builds(Effect, st.integers(0, 15), st.integers(0, 15))


@given(EFFECTS, EFFECTS, st.integers(0, 15))
def test_effects_are_equal_where_they_lead_to_the_same_state(one, other, state):
    same = where_equal(one, other)
    holds = same is not None and state & same[0] == same[0] and not state & same[1]
    assert holds == (one.apply(state) == other.apply(state))
