import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope.symbolic import Effect, ExactlyOne, Intent, Predicate, Vocabulary

WORDS = Vocabulary(
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
    WORDS.state([f"at({x})", f"in(l,{y})", f"in(m,{z})", *weather])
    for x, y, z in itertools.product("abc", repeat=3)
    for weather in ((), ("wet",))
]
SOME = st.lists(st.integers(0, WORDS.mask), max_size=3) | st.just([])


def groups_by_looking(states):
    """Count, state by state, the atoms that hold among those that differ in one argument."""
    found = set()
    for predicate in WORDS.predicates:
        atoms = WORDS.groundings(predicate.name)
        for i in range(len(predicate.types)):
            rest = {(x.arguments[:i], x.arguments[i + 1 :]) for x in atoms}
            for before, after in rest:
                group = {x for x in atoms if x.arguments[:i] == before}
                group &= {x for x in atoms if x.arguments[i + 1 :] == after}
                holding = [group & set(WORDS.holding(state)) for state in states]
                if all(len(h) == 1 for h in holding) and len(set().union(*holding)) > 1:
                    found.add(WORDS.state(group))
    return found


@given(st.lists(st.sampled_from(PLACES), max_size=12), SOME)
def test_groups_are_what_counting_the_atoms_of_every_state_gives(states, others):
    for seen in (states, [*states, *others]):
        found = ExactlyOne.seen_in(seen, WORDS).groups
        assert len(found) == len(set(found))
        assert set(found) == groups_by_looking(seen)


def test_all_places_show_where_the_robot_and_the_lifts_are():
    groups = ExactlyOne.seen_in(PLACES, WORDS)
    assert list(groups.names(WORDS)) == ["at(…)", "in(l,…)", "in(m,…)"]


@pytest.mark.parametrize("states", [[], [A], [A, A | WET], [A, B, 0], [A, B, A | C]])
def test_what_never_changes_or_is_sometimes_none_or_two_is_no_group(states):
    assert ExactlyOne.seen_in(states, ROOMS).groups == ()


@given(st.integers(0, WORDS.mask), st.integers(0, WORDS.mask))
def test_a_deletion_is_left_out_if_another_atom_of_its_group_is_added(adds, deletes):
    groups = ExactlyOne.seen_in(PLACES, WORDS)
    effect = Effect(adds & ~deletes, deletes & ~adds)
    told = groups.told(effect)
    sets = [set(WORDS.holding(group)) for group in groups.groups]
    implied = {
        atom
        for atom in WORDS.holding(effect.deletes)
        if any(atom in group and group & set(WORDS.holding(effect.adds)) for group in sets)
    }
    assert told.adds == effect.adds
    assert set(WORDS.holding(told.deletes)) == set(WORDS.holding(effect.deletes)) - implied


@pytest.mark.parametrize(
    ("intent", "effect", "beyond"),
    [
        # Asked for a place: that it left the old one is no side effect, another place is.
        ("at(b)", Effect(B, A), Effect(0, 0)),
        ("at(b)", Effect(C, A), Effect(C, 0)),
        ("at(b)", Effect(C | WET, A), Effect(C | WET, 0)),
        # Asked for something else: that it moved is told by where it is now.
        ("wet", Effect(WET | B, A), Effect(B, 0)),
        ("not wet", Effect(0, WET), Effect(0, 0)),
        # Asked to leave: it had to be somewhere else.
        ("not at(a)", Effect(B, A), Effect(0, 0)),
        ("not at(a)", Effect(B | WET, A), Effect(WET, 0)),
        # It was not there: nobody asked it to move.
        ("not at(a)", Effect(C, B), Effect(C, 0)),
        ("not at(a)", Effect(A, B), Effect(A, 0)),
        ("not at(a) and wet", Effect(C | WET, A), Effect(0, 0)),
    ],
)
def test_what_is_beyond_an_intent_leaves_out_what_the_words_imply(intent, effect, beyond):
    assert ROOM.beyond(effect, Intent.parse(intent), ROOMS) == beyond


@given(st.integers(0, ROOMS.mask), st.integers(0, ROOMS.mask), st.sampled_from(ROOMS.atoms))
def test_without_groups_all_but_the_intent_is_beyond_it(adds, deletes, atom):
    intent, effect = Intent.parse(str(atom)), Effect(adds & ~deletes, deletes & ~adds)
    expected = Effect(effect.adds & ~ROOMS.bit[atom], effect.deletes)
    assert ExactlyOne().beyond(effect, intent, ROOMS) == expected
    assert ExactlyOne().told(effect) == effect
