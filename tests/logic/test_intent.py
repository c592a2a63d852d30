import copy
import json
import os
import pickle
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope.errors import VocabularyError
from capscope.logic import Atom, Intent, Literal, Vocabulary
from capscope.logic.condition import is_pattern, matching
from support.intents import achieved_from
from support.processes import SECONDS

VOCABULARY = Vocabulary.of_atoms(["p", "q", "r", "s"])
STATES = st.integers(0, VOCABULARY.mask)


@st.composite
def intents(draw):
    signs = draw(st.dictionaries(st.sampled_from(VOCABULARY.atoms), st.booleans(), min_size=1))
    return Intent.of(Literal(atom, sign) for atom, sign in signs.items())


@given(intents())
def test_an_intent_is_read_as_it_is_written(intent):
    assert Intent.parse(str(intent)) == intent
    assert Intent.parse(str(intent).replace(" and ", "&")) == intent


@given(intents(), st.randoms(use_true_random=False))
def test_the_order_of_literals_does_not_matter_to_an_intent(intent, rng):
    literals = list(intent.literals) * 2
    rng.shuffle(literals)
    assert Intent.of(literals) == intent
    assert hash(Intent.of(literals)) == hash(intent)


@given(intents(), STATES)
def test_an_intent_holds_when_each_of_its_literals_does(intent, state):
    holding = set(VOCABULARY.holding(state))
    expected = all((literal.atom in holding) is literal.positive for literal in intent.literals)
    assert intent.holds(state, VOCABULARY) is expected


@given(intents(), STATES)
def test_achieving_an_intent_changes_nothing_but_its_own_literals(intent, state):
    after = achieved_from(intent, state, VOCABULARY)
    assert intent.holds(after, VOCABULARY)
    own = {literal.atom for literal in intent.literals}
    assert set(VOCABULARY.holding(state ^ after)) <= own
    assert (after == state) is intent.holds(state, VOCABULARY)


def test_an_empty_intent_is_refused():
    with pytest.raises(VocabularyError, match="at least one literal"):
        Intent(())


def test_an_intent_that_contradicts_itself_is_refused_by_name():
    with pytest.raises(VocabularyError, match=r"not p\(\) and p\(\).*twice; name each"):
        Intent.of([Literal(Atom("p")), Literal(Atom("p"), positive=False)])


def test_an_intent_over_an_unknown_atom_names_it():
    with pytest.raises(VocabularyError, match=r"atom z\(\) is not in the vocabulary"):
        Intent.parse("p and not z").holds(0, VOCABULARY)


@given(intents())
def test_a_copy_of_an_intent_is_the_same_intent(intent):
    for twin in (pickle.loads(pickle.dumps(intent)), copy.deepcopy(intent)):
        assert twin == intent
        assert {twin: 1}[intent] == 1


def test_an_intent_from_another_process_is_found_in_a_dictionary():
    # Hashes of strings differ between processes; a pickled hash would be wrong.
    source = (
        "import pickle, sys; from capscope.logic import Intent; "
        "sys.stdout.buffer.write(pickle.dumps(Intent.parse('not p and q')))"
    )
    environment = os.environ | {"PYTHONHASHSEED": "1234"}
    answer = subprocess.run(
        [sys.executable, "-c", source],
        capture_output=True,
        check=True,
        env=environment,
        timeout=SECONDS,
    )
    assert pickle.loads(answer.stdout) in {Intent.parse("q and not p")}


@pytest.mark.parametrize("text", ["on(a,b),p", "p, on(a,b)", "p,q", "on(a,b) , not p and q"])
def test_a_comma_between_atoms_is_refused_with_a_remedy(text):
    with pytest.raises(VocabularyError, match="a comma between atoms; join atoms with `and`"):
        Intent.parse(text)


@pytest.mark.parametrize("text", ["on(a,b", "on(a,b))", "on((a,b)"])
def test_a_comma_between_arguments_is_accepted(text):
    with pytest.raises(VocabularyError, match="is not an atom"):
        Intent.parse(text)


KNOWN = [
    Intent.parse(text)
    for text in (
        "on(a,b)",
        "on(b,a)",
        "not on(a,b)",
        "clear(a)",
        "clear(a) and on(a,b)",
        "notice()",
    )
]


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [
        ("on(*)", ["on(a,b)", "on(b,a)"]),
        ("on(*,b)", ["on(a,b)"]),
        ("on( a , ? )", ["on(a,b)"]),
        ("  not   *", ["not on(a,b)"]),
        ("not*", ["not on(a,b)", "notice()"]),
        ("*on(a,b)", ["on(a,b)", "not on(a,b)", "clear(a) and on(a,b)"]),
        ("clear(*) and *", ["clear(a) and on(a,b)"]),
        ("o?(b,a)", ["on(b,a)"]),
        ("on(a.b)*", []),
        ("[on]*", []),
        ("ON(*)", []),
    ],
)
def test_a_pattern_matches_the_whole_text_of_an_intent(pattern, matched):
    assert is_pattern(pattern)
    assert [str(intent) for intent in matching(pattern, KNOWN)] == matched


@given(st.lists(intents()), st.data())
def test_the_text_of_an_intent_with_some_of_it_replaced_by_a_star_matches_it(known, data):
    for intent in known:
        text = str(intent)
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, len(text)))
        found = matching(f"{text[:start].rstrip()}*{text[end:].lstrip()}", known)
        assert intent in found


@st.composite
def choices(draw):
    """Draw intents that may have alternatives; not those that hold everywhere."""
    parts = [one.alternatives[0] for one in draw(st.lists(intents(), min_size=1, max_size=3))]
    try:
        return Intent.of(*parts)
    except VocabularyError as error:
        assert "holds in every state" in str(error)
        return Intent.of(parts[0])


@given(choices(), STATES)
def test_an_intent_holds_when_one_of_its_alternatives_does(intent, state):
    parts = [Intent.of(one) for one in intent.alternatives]
    assert intent.holds(state, VOCABULARY) is any(p.holds(state, VOCABULARY) for p in parts)
    assert intent.test(VOCABULARY)(state) is intent.holds(state, VOCABULARY)


@given(choices())
def test_an_intent_with_alternatives_is_read_as_it_is_written_and_stored(intent):
    assert Intent.parse(str(intent)) == intent
    assert Intent.parse(str(intent).replace(" or ", " | ")) == intent
    assert Intent.from_lists(json.loads(json.dumps(intent.as_lists()))) == intent
    assert pickle.loads(pickle.dumps(intent)) == intent


@given(choices(), st.randoms(use_true_random=False))
def test_the_order_of_alternatives_does_not_matter(intent, rng):
    shuffled = list(intent.alternatives) * 2
    rng.shuffle(shuffled)
    assert Intent.of(*shuffled) == intent


def test_an_alternative_that_contains_another_is_left_out():
    assert Intent.parse("p and q or p or r") == Intent.parse("r or p")


def test_an_intent_that_holds_everywhere_is_refused():
    with pytest.raises(VocabularyError, match=r"not p\(\) or p\(\) holds in every state"):
        Intent.parse("p or not p")


def test_an_intent_with_alternatives_is_not_read_as_a_conjunction():
    intent = Intent.parse("p or q and not r")
    with pytest.raises(VocabularyError, match="has 2 alternatives; read"):
        _ = intent.literals
    assert [str(literal) for literal in intent.mentioned] == ["p()", "q()", "not r()"]


def test_the_first_alternative_that_an_agent_can_pursue_is_chosen():
    intent = Intent.parse("p and q or r or s")
    chosen = intent.pursuable(lambda literal: literal.atom.predicate in "rs")
    assert list(map(str, chosen)) == ["r()"]
    assert intent.pursuable(lambda _: False) == intent.alternatives[0]
