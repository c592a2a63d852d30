import pytest

from capscope.errors import VocabularyError
from capscope.logic import Effect, ExactlyOne, ExpectedEffects, Intent, Predicate, Vocabulary

VOCABULARY = Vocabulary(
    [Predicate("deleted", ("mail",)), Predicate("archived", ("mail",))],
    {"ann": "mail", "bob": "mail"},
)  # bits: deleted(ann), deleted(bob), archived(ann), archived(bob)


def expected(*texts):
    return ExpectedEffects(texts, VOCABULARY)


def test_wildcards_stand_for_any_intent_and_any_atom():
    found = expected("deleted(*): not archived(*) and deleted(bob)")
    assert found.of(Intent.parse("deleted(ann)")) == Effect(adds=0b10, deletes=0b1100)
    assert found.of(Intent.parse("archived(ann)")) == Effect(0, 0)


def test_what_is_expected_is_not_beyond_the_intent():
    groups = ExactlyOne((), expected("deleted(ann): not archived(ann)"))
    effect = Effect(adds=0b11, deletes=0b1100)
    beyond = groups.beyond(effect, Intent.parse("deleted(ann)"), VOCABULARY)
    assert beyond == Effect(adds=0b10, deletes=0b1000)


@pytest.mark.parametrize("text", ["deleted(ann)", "deleted(ann): gone(ann)", "deleted(ann):"])
def test_a_mistake_is_explained(text):
    with pytest.raises(VocabularyError, match=r"what is expected|matches no atom"):
        expected(text)
