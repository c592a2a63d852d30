"""Behaviors: equal forms for equal changes, and conditions between two extremes."""

import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capscope.logic import Atom, Effect, Predicate, Vocabulary
from capscope.model.behaviors import Extreme, lift
from capscope.model.outcome_types import NO_CHANGE
from capscope.model.state_graph import PairStats
from support.seen_agents import Seen

BLOCKS = "abcd"
WORDS = Vocabulary(
    [Predicate("on", ("block", "block")), Predicate("clear", ("block",)), Predicate("free")],
    dict.fromkeys(BLOCKS, "block"),
)
CHANGES = st.lists(
    st.tuples(st.booleans(), st.sampled_from(WORDS.atoms)), max_size=4, unique_by=lambda c: c[1]
)
EFFECTS = st.lists(CHANGES, min_size=1, max_size=2)


def effects_of(changes, names=None):
    """Return effects of signed atoms, with other names for their objects."""
    made = []
    for one in changes:
        bits = {True: 0, False: 0}
        for positive, atom in one:
            objects = tuple((names or {}).get(o, o) for o in atom.arguments)
            bits[positive] |= WORDS.bit[Atom(atom.predicate, objects)]
        made.append(Effect(bits[True], bits[False]))
    return frozenset(made)


def naive_form(effects):
    """Return the least of all texts that effects have under some names of the blocks."""
    literals = [[(x.positive, x.atom) for x in e.literals(WORDS)] for e in effects]
    texts = []
    for names in itertools.permutations(BLOCKS):
        name = dict(zip(BLOCKS, names, strict=True))
        texts.append(
            sorted(
                sorted((s, a.predicate, [name[o] for o in a.arguments]) for s, a in one)
                for one in literals
            )
        )
    return min(texts)


@given(EFFECTS, st.permutations(BLOCKS))
def test_a_behavior_has_the_same_form_with_other_objects(changes, names):
    effects = effects_of(changes)
    renamed = effects_of(changes, dict(zip(BLOCKS, names, strict=True)))
    assert lift(effects, WORDS)[0] == lift(renamed, WORDS)[0]


@settings(max_examples=300)
@given(EFFECTS, EFFECTS)
def test_forms_are_equal_exactly_if_some_renaming_makes_the_effects_equal(one, other):
    one, other = effects_of(one), effects_of(other)
    same = lift(one, WORDS)[0] == lift(other, WORDS)[0]
    assert same == (naive_form(one) == naive_form(other))


@given(EFFECTS)
def test_a_form_with_its_objects_is_the_effects_again(changes):
    effects = effects_of(changes)
    form, binding = lift(effects, WORDS)
    assert len(set(binding)) == len(binding)
    atoms = [[(s, Atom(p, tuple(binding[v] for v in args))) for s, p, args in c] for c in form]
    assert effects_of(atoms) == effects


@pytest.mark.parametrize("number", [2, 3, 4])
def test_objects_that_change_alike_are_interchangeable(number):
    cleared = [(True, Atom("clear", (block,))) for block in BLOCKS[:number]]
    ring = [(True, Atom("on", (BLOCKS[i], BLOCKS[(i + 1) % number]))) for i in range(number)]
    for changes in (cleared, ring):
        forms = {
            lift(effects_of([changes], dict(zip(BLOCKS, names, strict=True))), WORDS)[0]
            for names in itertools.permutations(BLOCKS)
        }
        assert len(forms) == 1


# Several outcomes.

ROOMS = "abcd"
TRIPS = Vocabulary(
    [Predicate("at", ("room",)), Predicate("flat"), Predicate("rough", ("room",))],
    dict.fromkeys(ROOMS, "room"),
)


def trip(room, *more):
    return TRIPS.state([f"at({room})", *more, "rough(b)", "rough(d)"])


def drive(here, there, *more):
    return Effect.between(trip(here), trip(there, *more))


DROVE = [(trip("a"), "at(b)", trip("b"), trip("b", "flat")), (trip("c"), "at(d)", trip("d"))]


def test_a_drive_between_other_places_has_shown_that_a_tire_may_go_flat():
    world = Seen(TRIPS, ["at(b)", "at(d)"], *DROVE)
    wide = frozenset([drive("c", "d"), drive("c", "d", "flat")])
    assert list(world.behaviors.wider(frozenset([drive("c", "d")]))) == [wide]
    stats = PairStats()
    stats.counts[drive("c", "d")] = 1
    assert world.types.effects[world.types.of(stats)] == wide
    assert list(world.behaviors.wider(wide)) == []


def test_a_type_is_wider_only_where_what_never_changes_is_alike():
    # The tire went flat on the road to a rough room; a is not rough.
    world = Seen(TRIPS, ["at(b)", "at(d)"], *DROVE)
    assert list(world.behaviors.wider(frozenset([drive("c", "a")]))) == []


def test_another_change_is_no_part_of_a_wider_type():
    world = Seen(TRIPS, ["at(b)", "at(d)"], *DROVE)
    flat = Effect.between(trip("a"), trip("a", "flat"))
    assert list(world.behaviors.wider(frozenset([flat]))) == []


# Conditions, on small random worlds: lamps that an agent lights if a condition holds.

LAMPS = "xy"
FEATURES = "pqr"
ROOM = Vocabulary(
    [Predicate("lit", ("lamp",)), *(Predicate(name, ("lamp",)) for name in FEATURES)],
    dict.fromkeys(LAMPS, "lamp"),
)
STATES = range(2 ** len(ROOM.atoms))
LIGHT = {x: Effect(ROOM.bit_of(f"lit({x})"), 0) for x in LAMPS}
LITERALS = st.tuples(st.sampled_from(FEATURES), st.sampled_from(["own", "other"]), st.booleans())


def meets(condition, lamp, state):
    """Return whether a condition about a lamp and about the other one holds."""
    other = LAMPS[1 - LAMPS.index(lamp)]
    return all(
        bool(state & ROOM.bit_of(f"{name}({lamp if whose == 'own' else other})")) == positive
        for name, whose, positive in condition
    )


def answer(condition, state, lamp):
    return LIGHT[lamp].apply(state) if meets(condition, lamp, state) else state


def asked(answers):
    """Return what is known after some answers."""
    done = [(state, f"lit({lamp})", after) for (state, lamp), after in answers.items()]
    return Seen(ROOM, [f"lit({x})" for x in LAMPS], *done).fit()


def possible(world, extreme):
    """Return the states and lamps in which lighting is held possible."""
    rows = np.array(world.matrix.rows(STATES))
    found = set()
    for lamp in LAMPS:
        number = world.types.number(frozenset([LIGHT[lamp]]))
        if number in world.behaviors.instances:
            held = world.behaviors.possible(number, rows, extreme)
            found |= {(state, lamp) for state, sure in zip(STATES, held, strict=True) if sure}
    return found


def in_itself(behavior, binding, values, extreme):
    """Return whether an instance meets the conditions of its behavior, term by term."""

    def met(literals):
        return all(values[max(t, ~t)] == (t >= 0) for t in literals)

    required = {Extreme.PESSIMIST: behavior.always, Extreme.OPTIMIST: behavior.proven}
    within = not behavior.within or extreme is Extreme.OPTIMIST
    counts = behavior.tree and behavior.tree.counts[behavior.tree.leaves(values[None])][0]
    return (
        met(behavior.needed)
        and met(required.get(extreme, behavior.required))
        and (within or any(map(met, behavior.contexts)))
        and (behavior.tree is None or counts[1] > counts[0])
    )


def truth(condition):
    """Return where lighting changes anything and the agent does it."""
    return {
        (state, lamp)
        for state in STATES
        for lamp in LAMPS
        if LIGHT[lamp].apply(state) != state and meets(condition, lamp, state)
    }


CONDITIONS = st.lists(LITERALS, max_size=3, unique_by=lambda literal: literal[:2])


def drawn_answers(condition, number, seed):
    draw = random.Random(seed)
    pairs = [(draw.choice(STATES), draw.choice(LAMPS)) for _ in range(number)]
    return {pair: answer(condition, *pair) for pair in pairs}


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 40), st.integers(0, 10**6))
def test_instances_asked_together_are_possible_where_each_is_by_itself(number, seed):
    draw = random.Random(seed)
    pairs = [(draw.choice(STATES), draw.choice(LAMPS)) for _ in range(number)]
    world = asked({(s, x): draw.choice([s, LIGHT[x].apply(s)]) for s, x in pairs})
    rows = np.array(world.matrix.rows(STATES))
    for extreme in (None, *Extreme):
        numbers, places = world.behaviors.where_possible(rows, extreme)
        found = set(zip(numbers.tolist(), places.tolist(), strict=True))
        expected = set()
        for type_number, (index, binding) in world.behaviors.instances.items():
            behavior = world.behaviors.all[index]
            values = behavior.space.values(world.matrix, binding, rows).astype(np.uint8)
            expected |= {
                (type_number, place)
                for place, row in enumerate(rows.tolist())
                if row in behavior.seen.get(binding, ())
                or in_itself(behavior, binding, values[place], extreme)
            }
        assert found == expected


@settings(max_examples=40, deadline=None)
@given(CONDITIONS, st.integers(1, 40), st.integers(0, 10**6))
def test_the_truth_lies_between_pessimist_and_optimist(condition, number, seed):
    answers = drawn_answers(condition, number, seed)
    world = asked(answers)
    if all(state == after for (state, _), after in answers.items()):
        return  # nothing was seen of the behavior
    low, middle, high = (possible(world, e) for e in (Extreme.PESSIMIST, None, Extreme.OPTIMIST))
    assert low <= middle <= high
    assert low <= truth(condition) <= high


@settings(max_examples=15, deadline=None)
@given(CONDITIONS, st.integers(0, 10**6))
def test_once_the_extremes_meet_no_answer_changes_the_prediction(condition, seed):
    answers = {}
    draw = random.Random(seed)
    pairs = [(state, lamp) for state in STATES for lamp in LAMPS]
    draw.shuffle(pairs)
    met = None
    for number, pair in enumerate(pairs):
        answers[pair] = answer(condition, *pair)
        if number % 40 == 20 or number == len(pairs) - 1:
            world = asked(answers)
            low, high = (possible(world, extreme) for extreme in Extreme)
            if low and low == high:
                met = met or low
            if met:
                assert met == low == high == possible(world, None) == truth(condition)
    assert met or not truth(condition)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 60), st.integers(0, 10**6))
def test_the_extremes_enclose_what_is_believed_of_any_agent(number, seed):
    # This one does as it likes, so no condition explains it.
    draw = random.Random(seed)
    pairs = {(draw.choice(STATES), draw.choice(LAMPS)) for _ in range(number)}
    world = asked({(s, x): draw.choice([s, LIGHT[x].apply(s)]) for s, x in sorted(pairs)})
    low, middle, high = (possible(world, e) for e in (Extreme.PESSIMIST, None, Extreme.OPTIMIST))
    assert low <= middle <= high


# Refusals.


def room(*atoms):
    return ROOM.state(atoms)


def lit(*atoms):
    return (room(*atoms), "lit(x)", room(*atoms, "lit(x)"))


def refused(*atoms):
    return (room(*atoms), "lit(x)", room(*atoms))


def required(*done):
    return Seen(ROOM, ["lit(x)", "lit(y)", "r(y)"], *done).fit().required(LIGHT["x"])


def test_what_held_once_is_not_required_without_a_refusal():
    assert required(lit("p(x)")) == set()


def test_what_alone_explains_a_refusal_is_required():
    assert required(lit("p(x)", "q(x)"), lit("p(x)"), refused("q(x)")) == {"p(X)"}


def test_what_no_refusal_speaks_for_is_not_required():
    assert "q(X)" not in required(lit("p(x)", "q(x)"), refused("q(x)", "r(x)"))


def test_what_would_hardly_have_held_each_time_by_chance_is_required():
    # Other requests, in states of which half have p of either lamp.
    more = [["q(x)"], ["r(x)"], ["q(x)", "r(x)"], ["q(y)"]]
    other = [
        (room(*p, *one), "r(y)", room(*p, *one)) for p in ([], ["p(x)", "p(y)"]) for one in more
    ]
    often = [lit("p(x)", *one) for one in more]
    assert "p(X)" in required(*often, *other)
    assert "p(X)" not in required(often[0], *other)


def test_a_refusal_that_nothing_explains_excludes_that_instance_and_no_other():
    # A map that no atom shows: a to b and b to c are roads, a to c is none.
    plain = Vocabulary([Predicate("at", ("room",))], dict.fromkeys(ROOMS, "room"))
    at = {room: plain.state([f"at({room})"]) for room in ROOMS}
    done = [(at["a"], "at(b)", at["b"]), (at["b"], "at(c)", at["c"])]
    world = Seen(plain, ["at(b)", "at(c)", "at(d)"], *done, (at["a"], "at(c)", at["b"])).fit()
    expected = {
        here + there
        for here, there in itertools.permutations(ROOMS, 2)
        if world.possible(Effect.between(at[here], at[there]), at[here])
    }
    assert "ac" not in expected
    assert {"ab", "bc", "cd", "ad"} <= expected


def test_that_another_step_served_as_well_is_no_refusal():
    # Lit or not, the request is met by what it did instead.
    words = Vocabulary.of_atoms(["in", "out", "door"])
    start = words.state([])
    world = Seen(
        words,
        ["in", "in or out"],
        (start, "in", words.state(["in"])),
        (start, "in or out", words.state(["out"])),
    ).fit()
    assert world.possible(Effect(words.bit_of("in"), 0), words.state(["door"]))


def test_nothing_is_known_of_a_behavior_that_was_never_seen():
    world = asked({(0, "x"): 0})
    assert world.behaviors.instances == {}
    assert possible(world, None) == set()
    assert NO_CHANGE in world.types.effects[0]
