import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope.logic import Effect, ExactlyOne, Intent, Predicate, Vocabulary

VOCABULARY = Vocabulary(
    [Predicate("at", ("cell",)), Predicate("in", ("lift", "cell")), Predicate("wet")],
    {"a": "cell", "b": "cell", "c": "cell", "l": "lift", "m": "lift"},
)
ROOMS = Vocabulary(
    [Predicate("at", ("cell",)), Predicate("wet")], dict.fromkeys(("a", "b", "c"), "cell")
)
A, B, C, WET = (ROOMS.state([atom]) for atom in ROOMS.atoms)
ROOM = ExactlyOne((A | B | C,))
# Three choices of a place for the robot and for each lift, and the weather.
PLACES = [
    VOCABULARY.state([f"at({x})", f"in(l,{y})", f"in(m,{z})", *weather])
    for x, y, z in itertools.product("abc", repeat=3)
    for weather in ((), ("wet",))
]
SOME = st.lists(st.integers(0, VOCABULARY.mask), max_size=3) | st.just([])


def groups_by_looking(states):
    """Count, state by state, the atoms that hold among those that differ in one argument."""
    found = set()
    for predicate in VOCABULARY.predicates:
        atoms = VOCABULARY.groundings(predicate.name)
        for i in range(len(predicate.types)):
            rest = {(x.arguments[:i], x.arguments[i + 1 :]) for x in atoms}
            for before, after in rest:
                group = {x for x in atoms if x.arguments[:i] == before}
                group &= {x for x in atoms if x.arguments[i + 1 :] == after}
                holding = [group & set(VOCABULARY.holding(state)) for state in states]
                if all(len(h) == 1 for h in holding) and len(set().union(*holding)) > 1:
                    found.add(VOCABULARY.state(group))
    return found


@given(st.lists(st.sampled_from(PLACES), max_size=12), SOME)
def test_groups_are_what_counting_the_atoms_of_every_state_gives(states, others):
    for seen in (states, [*states, *others]):
        found = ExactlyOne.seen_in(seen, VOCABULARY).groups
        assert len(found) == len(set(found))
        assert set(found) == groups_by_looking(seen)


def test_places_of_robot_and_lifts_are_groups():
    groups = ExactlyOne.seen_in(PLACES, VOCABULARY)
    assert list(groups.names(VOCABULARY)) == ["at(…)", "in(l,…)", "in(m,…)"]


@pytest.mark.parametrize("states", [[], [A], [A, A | WET], [A, B, 0], [A, B, A | C]])
def test_atoms_that_never_change_or_are_sometimes_none_or_two_are_not_a_group(states):
    assert ExactlyOne.seen_in(states, ROOMS).groups == ()


@given(st.integers(0, VOCABULARY.mask), st.integers(0, VOCABULARY.mask))
def test_a_deletion_is_implied_if_another_atom_of_its_group_is_added(adds, deletes):
    groups = ExactlyOne.seen_in(PLACES, VOCABULARY)
    effect = Effect(adds & ~deletes, deletes & ~adds)
    kept = groups.without_implied(effect)
    sets = [set(VOCABULARY.holding(group)) for group in groups.groups]
    implied = {
        atom
        for atom in VOCABULARY.holding(effect.deletes)
        if any(atom in group and group & set(VOCABULARY.holding(effect.adds)) for group in sets)
    }
    assert kept.adds == effect.adds
    assert (
        set(VOCABULARY.holding(kept.deletes)) == set(VOCABULARY.holding(effect.deletes)) - implied
    )


@pytest.mark.parametrize(
    ("intent", "effect", "beyond"),
    [
        # Asked for a place: leaving the old one is not a side effect, another place is.
        ("at(b)", Effect(B, A), Effect(0, 0)),
        ("at(b)", Effect(C, A), Effect(C, 0)),
        ("at(b)", Effect(C | WET, A), Effect(C | WET, 0)),
        # Asked for something else: its new place shows that it moved.
        ("wet", Effect(WET | B, A), Effect(B, 0)),
        ("not wet", Effect(0, WET), Effect(0, 0)),
        # Asked to leave: it had to be somewhere else.
        ("not at(a)", Effect(B, A), Effect(0, 0)),
        ("not at(a)", Effect(B | WET, A), Effect(WET, 0)),
        # It was not there: moving was not asked for.
        ("not at(a)", Effect(C, B), Effect(C, 0)),
        ("not at(a)", Effect(A, B), Effect(A, 0)),
        ("not at(a) and wet", Effect(C | WET, A), Effect(0, 0)),
    ],
)
def test_implied_changes_are_not_beyond_an_intent(intent, effect, beyond):
    assert ROOM.beyond(effect, Intent.parse(intent), ROOMS) == beyond


@given(st.integers(0, ROOMS.mask), st.integers(0, ROOMS.mask), st.sampled_from(ROOMS.atoms))
def test_without_groups_all_but_the_intent_is_beyond_it(adds, deletes, atom):
    intent, effect = Intent.parse(str(atom)), Effect(adds & ~deletes, deletes & ~adds)
    expected = Effect(effect.adds & ~ROOMS.bit[atom], effect.deletes)
    assert ExactlyOne().beyond(effect, intent, ROOMS) == expected
    assert ExactlyOne().without_implied(effect) == effect
