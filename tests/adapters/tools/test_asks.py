import pytest

from capscope.adapters.tools import ask
from capscope.errors import ProblemError, VocabularyError
from capscope.logic import Predicate, Vocabulary

VOCABULARY = Vocabulary(
    [Predicate("in", ("mail", "folder")), Predicate("read", ("mail",)), Predicate("empty")],
    {"ann": "mail", "bob": "mail", "work": "folder"},
)


def grounded(*given, **also):
    return [one for _, one in ask(*given, **also).grounded(VOCABULARY)]


def test_a_variable_stands_for_every_object_of_its_type():
    asks = grounded("in(m,f)", "Move {m} to {f}.", "Put {m} into {f}.", also=["read(m)"])
    assert [str(one.intent) for one in asks] == ["in(ann,work)", "in(bob,work)"]
    assert asks[0].phrasings == ("Move ann to work.", "Put ann into work.")
    assert asks[1].also == ("read(bob)",)


def test_an_argument_that_names_an_object_is_that_object():
    (one,) = grounded("not in(bob,work)", "Take it out.")
    assert (str(one.intent), one.phrasings) == ("not in(bob,work)", ("Take it out.",))


def test_an_ask_may_have_alternatives():
    asks = grounded("in(m,work) or read(m)", "Deal with {m}.")
    assert str(asks[0].intent) == "in(ann,work) or read(ann)"
    assert asks[1].phrasings == ("Deal with bob.",)


def test_different_variables_stand_for_different_objects():
    asks = grounded("read(a) and not read(b)", "Read {a}, not {b}.")
    assert [one.phrasings[0] for one in asks] == ["Read ann, not bob.", "Read bob, not ann."]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (("seen(m)", "See {m}."), "no predicate 'seen'"),
        (("read(m,f)", "Read."), "has 2 arguments; read takes 1"),
        (("read(m)", "Read {x}."), r"mentions \{x\}, which is not a variable"),
        (("read(m)", "Read {m."), "cannot be filled in"),
        (("in(m,m)", "Move."), "is both a mail and a folder"),
    ],
)
def test_a_mistake_in_an_ask_is_explained(given, says):
    with pytest.raises((ProblemError, VocabularyError), match=says):
        grounded(*given)


def test_an_ask_needs_a_phrasing_and_a_list():
    with pytest.raises(ProblemError, match="needs at least one phrasing"):
        ask("read(m)")
    with pytest.raises(ProblemError, match="`also` is a list"):
        ask("read(m)", "Read {m}.", also="read(m)")
