"""Identifiers for languages that restrict names."""

import re
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope.export.rules import identifiers, name_lines

plain = partial(identifiers, "_", "true label")


@given(
    st.lists(st.text('aAb2_-(), \n"ß=Ω;', max_size=8)),
    st.lists(st.sampled_from(["a", "b", "x", "x_2"])),
)
def test_identifiers_are_legal_and_differ_whatever_the_names(names, besides):
    given_names = plain(names, besides)
    assert list(given_names) == list(dict.fromkeys(names))
    found = list(given_names.values())
    assert len(set(found)) == len(found)
    assert all(re.fullmatch("[a-z][a-z0-9_]*", name) for name in found)
    assert not {*found} & {"true", "label", *besides}


@given(st.lists(st.sampled_from(["a", "A", "a_2", "b c", "b_c", "true", "True"])))
def test_a_legal_name_is_kept_in_any_order(names):
    given_names = plain(names)
    assert all(given_names[name] == name for name in {"a", "a_2", "b_c"} & set(names))


@pytest.mark.parametrize(
    ("name", "identifier"),
    [
        ("on(a,b)", "on_a_b"),
        ("not on(a,b) and p()", "not_on_a_b_and_p"),
        ("9 lives", "x_9_lives"),
        ("ähm", "hm"),
        ("Ω", "x"),
        ("", "x"),
        ("true", "true_2"),
    ],
)
def test_an_identifier_resembles_its_name(name, identifier):
    assert plain([name]) == {name: identifier}


def test_lines_of_names_stay_on_their_line():
    (line,) = name_lines("object", plain(['evil"\n\u2028;']))
    assert line == r'object evil is "evil\"\n\u2028;"'
