import pytest

from capscope.errors import VocabularyError
from capscope.logic import Phrasing, Predicate, Vocabulary

MAIL = Vocabulary(
    [
        Predicate("in", ("mail", "folder"), "{0} is in the {1}"),
        Predicate("full", ("folder",), "the {0} has no room", "the {0} has room"),
        Predicate("read", ("mail",)),
    ],
    {"lunch": "mail", "archive": "folder"},
)
SAID = Phrasing.of(MAIL)


@pytest.mark.parametrize(
    ("literal", "said"),
    [
        ("in(lunch,archive)", "lunch is in the archive"),
        ("not in(lunch,archive)", "lunch is not in the archive"),
        ("full(archive)", "the archive has no room"),
        ("not full(archive)", "the archive has room"),
        ("read(lunch)", "read(lunch)"),
        ("not read(lunch)", "not read(lunch)"),
        ("full(archive) and read(lunch)", "the archive has no room and read(lunch)"),
        ("no atom at all", "no atom at all"),
        ("in(lunch)", "in(lunch)"),
    ],
)
def test_a_literal_is_said_in_words_if_its_predicate_has_a_phrase(literal, said):
    assert SAID.literal(literal) == said


def test_a_sentence_quotes_the_literals_that_it_says_in_words():
    sentence = "Asked for in(lunch,archive) when not full(archive), read(lunch) follows (0.30)."
    assert SAID.sentence(sentence) == (
        "Asked for “lunch is in the archive” when “the archive has room”, read(lunch) follows "
        "(0.30)."
    )


def test_a_name_that_only_ends_like_a_predicate_is_left_alone():
    assert SAID.sentence("plug-in(lunch,archive) and begin(lunch,archive)") == (
        "plug-in(lunch,archive) and begin(lunch,archive)"
    )


def test_a_pattern_is_no_atom():
    assert SAID.sentence("in(*,archive)") == "in(*,archive)"


def test_without_phrases_nothing_changes():
    assert Phrasing({}).sentence("in(lunch,archive)") == "in(lunch,archive)"


def test_braces_in_names_are_not_places():
    odd = Phrasing({"at": ("{0} is at {1}", "")})
    assert odd.literal("at({1},{0.__class__})") == "{1} is at {0.__class__}"


def test_a_phrase_that_mentions_a_missing_argument_is_refused():
    with pytest.raises(VocabularyError, match=r"phrase of predicate in mentions \{2\}"):
        Predicate("in", ("mail", "folder"), "{0} is in {2}")


def test_phrases_are_stored_and_do_not_change_the_vocabulary():
    stored = MAIL.as_dict()
    assert Phrasing.of(Vocabulary.from_dict(stored)).phrases == SAID.phrases
    plain = Vocabulary([Predicate(p.name, p.types) for p in MAIL.predicates], MAIL.objects)
    assert plain == MAIL
    assert "phrases" not in plain.as_dict()
    assert Vocabulary.from_dict(plain.as_dict()) == MAIL
