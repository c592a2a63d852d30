import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope.errors import VocabularyError
from capscope.logic import Atom, Literal, Predicate, Vocabulary

NAMES = st.from_regex(r"[a-z][a-z0-9_-]{0,5}", fullmatch=True).filter(lambda n: n != "not")
ATOMS = st.builds(Atom, NAMES, st.lists(NAMES, max_size=3).map(tuple))

PREDICATES = [Predicate("at", ("vehicle", "place")), Predicate("done")]
OBJECTS = {"t1": "truck", "home": "place", "p1": "plane", "away": "place", "x": "thing"}
PARENTS = {"truck": "vehicle", "plane": "vehicle", "vehicle": "object"}


def vocabulary_of(predicates=PREDICATES, objects=OBJECTS, parents=PARENTS):
    return Vocabulary(predicates, objects, parents)


def test_groundings_follow_the_order_of_declaration_and_the_last_argument_runs_fastest():
    assert [str(atom) for atom in vocabulary_of().atoms] == [
        "at(t1,home)",
        "at(t1,away)",
        "at(p1,home)",
        "at(p1,away)",
        "done()",
    ]


def test_an_object_belongs_to_all_supertypes_of_its_type_and_to_no_subtype():
    assert vocabulary_of().objects_of("vehicle") == ("t1", "p1")
    assert vocabulary_of().objects_of("truck") == ("t1",)
    assert vocabulary_of().objects_of("object") == tuple(OBJECTS)


def test_an_object_may_have_several_types():
    predicates = [Predicate("next-to", ("obstacle",)), Predicate("can-build", ("structure",))]
    objects = {"tree": "obstacle", "table": ("obstacle", "structure"), "gate": ("structure",)}
    vocabulary = Vocabulary(predicates, objects, {"structure": "made"})
    assert vocabulary.objects_of("obstacle") == ("tree", "table")
    assert vocabulary.objects_of("structure") == vocabulary.objects_of("made") == ("table", "gate")
    assert vocabulary.objects_of("object") == ("tree", "table", "gate")
    written = json.loads(json.dumps(vocabulary.as_dict()))
    assert written["objects"] == {
        "tree": "obstacle", "table": ["obstacle", "structure"], "gate": "structure"
    }  # fmt: skip
    assert Vocabulary.from_dict(written) == vocabulary
    assert Vocabulary.from_dict(written).atoms == vocabulary.atoms


def test_another_type_of_an_object_changes_the_fingerprint():
    predicates = [Predicate("next-to", ("obstacle",))]
    one = Vocabulary(predicates, {"table": "obstacle"})
    two = Vocabulary(predicates, {"table": ("obstacle", "structure")})
    assert one.atoms == two.atoms
    assert one != two


def test_a_type_without_a_parent_is_below_the_root():
    vocabulary = Vocabulary([Predicate("is", ("object",))], {"x": "thing"})
    assert [str(atom) for atom in vocabulary.atoms] == ["is(x)"]


def test_a_predicate_over_a_type_without_objects_has_no_atoms():
    vocabulary = vocabulary_of([Predicate("sinks", ("boat",))], parents={"boat": "vehicle"})
    assert vocabulary.atoms == ()
    assert vocabulary.groundings("sinks") == ()


@pytest.mark.parametrize(
    "parents", [{"a": "b", "b": "a"}, {"a": "a"}, {"truck": "a", "a": "b", "b": "c", "c": "a"}]
)
def test_a_type_that_is_its_own_ancestor_is_refused(parents):
    with pytest.raises(VocabularyError, match="is its own ancestor; remove"):
        vocabulary_of(parents=PARENTS | parents)


def test_a_predicate_over_an_unknown_type_is_refused_by_name():
    with pytest.raises(VocabularyError, match=r"predicate at takes a 'plcae'.*fix the spelling"):
        vocabulary_of([Predicate("at", ("plcae",))])


def test_a_predicate_declared_twice_is_refused_by_name():
    with pytest.raises(VocabularyError, match="declared twice: done"):
        vocabulary_of([Predicate("done"), Predicate("done", ("place",))])


def test_an_unknown_atom_is_named_with_examples_and_what_to_do():
    with pytest.raises(VocabularyError, match=r"at\(t1,mars\).*5 atoms.*at\(t1,home\).*declare it"):
        vocabulary_of().state([Atom("at", ("t1", "mars"))])


def test_an_unknown_predicate_is_named_with_the_known_ones():
    with pytest.raises(VocabularyError, match="no predicate 'on'; the vocabulary has at, done"):
        vocabulary_of().groundings("on")


def test_what_is_not_an_atom_is_quoted_with_an_example():
    for text in ("", "on(a", "on a b", "on(a,b))", "(a)"):
        with pytest.raises(VocabularyError, match=r"is not an atom; write it like on\(a,b\)"):
            Atom.parse(text)


@given(ATOMS)
def test_an_atom_is_read_as_it_is_written(atom):
    assert Atom.parse(str(atom)) == atom
    assert Atom.parse(f" {str(atom).replace(',', ' , ')} ") == atom


@given(ATOMS, st.booleans())
def test_a_literal_is_read_as_it_is_written(atom, positive):
    literal = Literal(atom, positive)
    assert Literal.parse(str(literal)) == literal


def test_a_proposition_may_omit_its_brackets():
    assert Atom.parse("done") == Atom.parse("done()") == Atom("done")


@given(st.integers(0, 2**5 - 1))
def test_a_state_is_the_set_of_atoms_that_hold(state):
    vocabulary = vocabulary_of()
    holding = vocabulary.holding(state)
    assert vocabulary.state(holding) == state
    assert {atom for i, atom in enumerate(vocabulary.atoms) if state >> i & 1} == set(holding)


@given(st.sets(st.integers(0, 4)), st.sets(st.integers(0, 4)), st.integers(0, 2**5 - 1))
def test_a_literal_test_returns_whether_all_literals_hold(positive, negative, state):
    vocabulary = vocabulary_of()
    literals = [Literal(vocabulary.atoms[i]) for i in positive]
    literals += [Literal(vocabulary.atoms[i], positive=False) for i in negative]
    expected = all(
        (literal.atom in vocabulary.holding(state)) is literal.positive for literal in literals
    )
    assert vocabulary.test(literals)(state) is expected


def test_the_mask_has_a_bit_for_each_atom():
    assert vocabulary_of().mask == 0b11111
    assert Vocabulary([], {}).mask == 0


def test_equal_vocabularies_have_equal_fingerprints():
    assert vocabulary_of().fingerprint == vocabulary_of().fingerprint
    assert (
        Vocabulary.from_dict(vocabulary_of().as_dict()).fingerprint == vocabulary_of().fingerprint
    )


@pytest.mark.parametrize(
    "other",
    [
        vocabulary_of([*PREDICATES, Predicate("late")]),
        vocabulary_of(PREDICATES[::-1]),
        vocabulary_of([Predicate("at", ("place", "vehicle")), Predicate("done")]),
        vocabulary_of([Predicate("at", ("vehicle", "object")), Predicate("done")]),
        vocabulary_of(objects=dict(reversed(OBJECTS.items()))),
        vocabulary_of(objects=OBJECTS | {"t2": "truck"}),
        vocabulary_of(objects=OBJECTS | {"t1": "plane"}),
        vocabulary_of(parents=PARENTS | {"thing": "vehicle"}),
    ],
)
def test_the_fingerprint_changes_with_the_meaning_of_the_bits(other):
    assert other.fingerprint != vocabulary_of().fingerprint


def test_atoms_may_be_given_by_their_texts_or_with_whether_they_hold():
    vocabulary = Vocabulary([Predicate("on", ("block", "block"))], {"a": "block", "b": "block"})
    expected = vocabulary.state([Atom("on", ("a", "b"))])
    assert vocabulary.state(["on(a,b)"]) == vocabulary.state({"on( a, b )"}) == expected
    assert (
        vocabulary.state({"on(a,b)": True, "on(b,a)": False, Atom("on", ("a", "a")): 0}) == expected
    )
    assert vocabulary.state([]) == vocabulary.state({}) == 0


def test_a_text_that_is_not_an_atom_is_named_each_time():
    vocabulary = Vocabulary.of_atoms(["lit"])
    for _ in range(2):
        with pytest.raises(VocabularyError, match="atom dark is not in the vocabulary"):
            vocabulary.state(["dark"])
    with pytest.raises(VocabularyError, match="'lit' is a single atom"):
        vocabulary.state("lit")
    with pytest.raises(VocabularyError, match="is not an atom"):
        vocabulary.state(["lit)"])


def test_types_whose_objects_are_not_interchangeable_are_marked_and_kept():
    plain = Vocabulary([Predicate("at", ("floor",))], {"f1": "floor", "f2": "floor"})
    marked = Vocabulary(plain.predicates, plain.objects, distinct_types=["floor"])
    assert marked.distinct_types == {"floor"}
    assert Vocabulary.from_dict(marked.as_dict()).distinct_types == {"floor"}
    assert "distinct_types" not in plain.as_dict()
    # The bits mean the same, so a run can be resumed after a type was marked.
    assert marked.fingerprint == plain.fingerprint


def test_a_mark_on_an_unknown_type_is_refused():
    with pytest.raises(VocabularyError, match="'flor' is marked as distinct"):
        Vocabulary([Predicate("at", ("floor",))], {"f1": "floor"}, distinct_types=["flor"])
