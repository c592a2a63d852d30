import random

import pytest

from capscope import Vocabulary
from capscope.analysis.findings.choice import LEAST_DRAWS, choices, separable
from capscope.analysis.findings.context import FindingContext
from capscope.analysis.findings.preferences import find_preferences
from capscope.model import StateGraph
from capscope.record.execution_table import Transition
from capscope.symbolic import Atom, Intent, Predicate
from support.error_shares import share

WORDS = Vocabulary(
    [Predicate("hurt"), Predicate("on", ("block", "block")), Predicate("clear", ("block",))],
    {"a": "block", "b": "block", "c": "block"},
)


def state(*atoms):
    return WORDS.state(map(Atom.parse, atoms))


def context(intents, *transitions):
    graph = StateGraph(WORDS, [Intent.parse(text) for text in intents])
    graph.update({Transition(s, c, t): n for s, c, t, n in transitions})
    return FindingContext(graph)


HURT = state("hurt", "clear(b)", "clear(c)")
ON_B = state("on(a,b)", "clear(c)")
ON_C = state("on(a,c)", "clear(b)")


def test_alternatives_are_named_by_what_sets_them_apart():
    (choice,) = choices(context(["not hurt", "hurt"], (HURT, 0, ON_B, 9), (HURT, 0, ON_C, 1)))
    names = {str(name[0]): end for name, end in choice.options.items()}
    assert names == {"on(a,b)": ON_B, "on(a,c)": ON_C}
    assert {str(name[0]): n for name, n in choice.taken.items()} == {"on(a,b)": 9, "on(a,c)": 1}


def test_an_outcome_that_changes_more_than_another_is_no_choice():
    more = state("on(a,b)", "on(a,c)")
    assert choices(context(["not hurt"], (HURT, 0, ON_B, 9), (HURT, 0, more, 9))) == []


def test_a_random_outcome_is_not_a_choice():
    """A treatment that ends either way, whatever was asked for, tells nothing of the agent."""
    both = [(HURT, c, end, n) for c in (0, 1, 2) for end, n in ((ON_B, 90), (ON_C, 10))]
    random_outcome = context(["not hurt", "on(a,b)", "on(a,c)"], *both)
    assert not separable(random_outcome, {HURT: ([ON_B], [ON_C])})
    assert find_preferences(random_outcome, share()) == []


@pytest.mark.parametrize("seed", range(20))
def test_two_ends_are_separable_if_some_capability_led_to_the_one_only_and_another_likewise(seed):
    rng = random.Random(seed)
    intents = ["not hurt", "on(a,b)", "on(a,c)"]
    counts = {(c, end): rng.choice((0, 0, 3, 9)) for c in range(3) for end in (ON_B, ON_C)}
    drawn = context(intents, *((HURT, c, end, n) for (c, end), n in counts.items() if n))
    ways = {end for (_, end), n in counts.items() if n}
    if ways == {ON_B, ON_C}:
        alone = {
            end: any(counts[c, end] >= LEAST_DRAWS and not counts[c, other] for c in range(3))
            for end, other in ((ON_B, ON_C), (ON_C, ON_B))
        }
        assert separable(drawn, {HURT: ([ON_B], [ON_C])}) == all(alone.values())


def test_outcomes_that_can_be_had_separately_are_a_choice():
    chosen = context(
        ["not hurt", "on(a,b)", "on(a,c)"],
        (HURT, 0, ON_B, 90),
        (HURT, 0, ON_C, 10),
        (HURT, 1, ON_B, 10),
        (HURT, 2, ON_C, 10),
    )
    assert separable(chosen, {HURT: ([ON_B], [ON_C])})
    (finding,) = find_preferences(chosen, share())
    assert [str(literal) for literal in finding.literals] == ["on(a,b)", "on(a,c)"]
    assert (finding.rate.hits, finding.rate.draws) == (90, 100)


def test_an_even_choice_is_no_preference():
    even = context(
        ["not hurt", "on(a,b)", "on(a,c)"],
        (HURT, 0, ON_B, 260),
        (HURT, 0, ON_C, 240),
        (HURT, 1, ON_B, 10),
        (HURT, 2, ON_C, 10),
    )
    assert find_preferences(even, share()) == []
