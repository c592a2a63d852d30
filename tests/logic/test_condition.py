import pytest

from capscope.errors import VocabularyError
from capscope.logic import Condition, Predicate, Vocabulary
from capscope.logic.condition import ground

MAILS = Vocabulary(
    [Predicate("in", ("mail", "box")), Predicate("attachment", ("mail",)), Predicate("online")],
    {"a": "mail", "b": "mail", "inbox": "box", "archive": "box"},
)


def texts(condition):
    return [" and ".join(map(str, term)) for term in condition]


def test_a_star_stands_for_any_object_of_the_type():
    assert texts(ground("not attachment(*)", MAILS)) == [
        "not attachment(a)",
        "not attachment(b)",
    ]
    assert len(ground("in(*,*)", MAILS)) == 4


def test_two_stars_may_be_different_objects_and_a_name_is_the_same_one():
    apart = ground("in(*,archive) and not attachment(*)", MAILS)
    assert len(apart) == 4
    same = ground("in(?m,archive) and not attachment(?m)", MAILS)
    assert texts(same) == [
        "not attachment(a) and in(a,archive)",
        "not attachment(b) and in(b,archive)",
    ]


def test_conjunctions_that_contradict_themselves_are_left_out():
    found = ground("in(*,archive) and not in(a,archive)", MAILS)
    assert texts(found) == ["not in(a,archive) and in(b,archive)"]
    nobody = Vocabulary([Predicate("lost", ("mail",))], {}, {"mail": "object"})
    with pytest.raises(VocabularyError, match="holds in no state"):
        ground("lost(*)", nobody)


def test_a_grounding_is_found_exactly_if_a_search_over_all_objects_finds_it():
    pattern = "in(?m,*) and attachment(?m) or in(*,archive) and online"
    naive = [f"in({m},{b}) and attachment({m})" for m in "ab" for b in ("inbox", "archive")]
    naive += [f"in({m},archive) and online" for m in "ab"]
    assert set(ground(pattern, MAILS)) == {term for text in naive for term in Condition.parse(text)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("attachmnt(a)", "nearest: attachment"),
        ("attachmnt(*)", "no predicate 'attachmnt'"),
        ("in(*)", "in takes 2"),
        ("", "is not an atom"),
    ],
)
def test_what_the_vocabulary_lacks_is_reported(text, message):
    with pytest.raises(VocabularyError, match=message):
        ground(text, MAILS)


def test_too_many_conjunctions_are_refused():
    words = Vocabulary([Predicate("near", ("x",) * 2)], {f"o{i}": "x" for i in range(15)})
    with pytest.raises(VocabularyError, match="more than 20,000"):
        ground("near(?a,?b) and not near(?c,?d)", words)


def test_a_goal_has_no_placeholders():
    with pytest.raises(VocabularyError):
        Condition.parse("attachment(*)", MAILS)
