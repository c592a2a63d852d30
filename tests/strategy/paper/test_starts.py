import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from capscope.journal.draws import Start
from capscope.journal.execution_table import Transition
from capscope.logic import Intent, Vocabulary
from capscope.model import StateGraph
from capscope.strategy.paper.repeated import (
    StartCandidate,
    end_to_continue,
    state_to_start_from,
    weighted_choice,
)
from support.small_journals import at

WORDS = Vocabulary.of_atoms("abcde")


def seen(departures):
    graph = StateGraph(WORDS, [Intent.parse("a")])
    graph.update({Transition(state, 0, state): n for state, n in departures.items() if n})
    return graph


def ended(state, position, distance):
    return StartCandidate(Start(state, position), distance)


class Recorder(random.Random):
    """Notes the weights it is asked to choose by."""

    def choices(self, population, weights=None, **rest):
        self.asked = dict(zip(population, weights, strict=True))
        return super().choices(population, weights, **rest)


@given(st.dictionaries(st.integers(0, 20), st.integers(0, 9), min_size=1))
def test_a_state_weighs_the_more_the_less_often_it_was_left(departures):
    rng = Recorder(0)
    chosen = weighted_choice(list(departures), seen(departures), rng)
    most = max(departures.values())
    assert chosen in departures
    assert rng.asked == {state: most + 1 - n for state, n in departures.items()}


def test_choices_follow_the_weights():
    rng = random.Random(0)
    graph = seen({0: 9, 1: 6, 2: 0})
    drawn = Counter(weighted_choice([0, 1, 2], graph, rng) for _ in range(15_000))
    expected = [15_000 * weight / 15 for weight in (1, 4, 10)]
    assert chisquare([drawn[state] for state in range(3)], expected).pvalue > 0.001


def test_the_weights_count_states_that_are_not_among_the_choices():
    rng = Recorder(0)
    weighted_choice([0, 1], seen({0: 2, 1: 5, 7: 30}), rng)
    assert rng.asked == {0: 29, 1: 26}


def test_a_walk_that_has_gone_on_for_too_long_ends():
    ends = [ended(0, at(b"far"), 100), ended(1, at(b"near"), 99)]
    for seed in range(20):
        end = end_to_continue(ends, seen({0: 1}), 100, random.Random(seed))
        assert end == ends[1]
    assert end_to_continue(ends[:1], seen({0: 1}), 100, random.Random(0)) is None
    assert end_to_continue([], seen({0: 1}), 100, random.Random(0)) is None


def test_an_end_is_chosen_by_its_state_first_and_not_by_how_many_draws_ended_there():
    ends = [ended(0, at(b"%d" % i), 0) for i in range(9)] + [ended(1, at(b"other"), 0)]
    rng = random.Random(0)
    drawn = Counter(end_to_continue(ends, seen({}), 100, rng) for _ in range(5000))
    assert 2300 < drawn[ends[-1]] < 2700
    assert all(drawn[end] > 0 for end in ends)


def test_no_query_starts_in_a_sink():
    words = Vocabulary.of_atoms("pq")
    transitions = {Transition(0, 0, 1): 1, Transition(1, 0, 1): 1}
    graph = StateGraph(words, [Intent.parse("p")])
    graph.update(transitions)
    drawn = {state_to_start_from(graph, random.Random(seed)) for seed in range(50)}
    assert drawn == {0}


def test_there_is_no_start_while_there_is_no_state_that_can_be_left():
    words = Vocabulary.of_atoms("p")
    graph = StateGraph(words, [Intent.parse("p")])
    assert state_to_start_from(graph, random.Random(0)) is None
    graph.update({Transition(0, 0, 0): 1})
    assert state_to_start_from(graph, random.Random(0)) is None


def test_a_new_capability_may_leave_what_was_a_sink():
    words = Vocabulary.of_atoms("pq")
    graph = StateGraph(words, [Intent.parse("p")])
    graph.update({Transition(0, 0, 0): 1})
    graph.extend([Intent.parse("q")])
    assert state_to_start_from(graph, random.Random(0)) == 0
