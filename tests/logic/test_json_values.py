"""Writing dataclasses as JSON-ready values and reading them back."""

import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, NamedTuple

import pytest

from capscope.logic import OMITTED, STATE, Condition, Intent, Literal, State, from_json, to_json


class Color(StrEnum):
    RED = "red"


@dataclass(frozen=True)
class Part:
    state: State = field(metadata=STATE)
    color: Color | None = None

    json_properties: ClassVar = ("atoms",)

    @property
    def atoms(self):
        return self.state.bit_count()


@dataclass(frozen=True)
class Whole:
    name: str
    count: int = 0
    share: float = 0.0
    done: bool = False
    texts: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    states: tuple[State, ...] = field(default=(), metadata=STATE)
    pair: tuple[str, int] | None = None
    hidden: int = field(default=1, metadata=OMITTED)


WHOLE = Whole(
    "w", 3, 0.5, True, ("a", "b"), (Part(10, Color.RED), Part(1 << 80)), (16, 255), ("x", 1)
)  # fmt: skip


def test_a_nested_dataclass_is_written_by_the_names_of_its_fields():
    assert to_json(WHOLE) == {
        "name": "w",
        "count": 3,
        "share": 0.5,
        "done": True,
        "texts": ["a", "b"],
        "parts": [
            {"state": "0xa", "color": "red", "atoms": 2},
            {"state": hex(1 << 80), "color": None, "atoms": 1},
        ],
        "states": ["0x10", "0xff"],
        "pair": ["x", 1],
    }


def test_what_was_written_is_read_back():
    assert from_json(Whole, json.loads(json.dumps(to_json(WHOLE)))) == WHOLE


def test_a_missing_value_has_its_default():
    assert from_json(Whole, {"name": "w"}) == Whole("w")


def test_atoms_literals_and_intents_are_texts():
    literal, intent = Literal.parse("not p(a)"), Intent.parse("p(a) or q")
    assert to_json([literal, literal.atom, intent]) == ["not p(a)", "p(a)", "p(a) or q()"]


def test_a_condition_is_a_list_of_literals_for_each_conjunction():
    assert to_json(Condition.parse("p and not q or r")) == [["p()", "not q()"], ["r()"]]


def test_states_are_hexadecimal_as_keys_too_and_counts_are_not():
    @dataclass(frozen=True)
    class Seen:
        counts: dict[State, int] = field(metadata=STATE)

    assert to_json(Seen({17: 20})) == {"counts": {"0x11": 20}}


def test_a_named_tuple_is_written_by_the_names_of_its_fields():
    class Place(NamedTuple):
        query: int
        draw: int

    assert to_json([Place(1, 2)]) == [{"query": 1, "draw": 2}]


def test_a_class_with_a_form_of_its_own_is_written_in_it():
    class Own:
        def as_dict(self):
            return {"own": 1}

    assert to_json({"a": Own()}) == {"a": {"own": 1}}


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": 1},
        {"name": None},
        {"count": 1.0},
        {"count": True},
        {"count": 1 << 70},
        {"share": "0.5"},
        {"share": float("nan")},
        {"done": 2},
        {"texts": "ab"},
        {"texts": [1]},
        {"parts": [1]},
        {"parts": [{"state": 3}]},
        {"states": ["x"]},
        {"pair": ["x"]},
        {"parts": [{"state": "0x1", "color": "blue"}]},
        {"unheard_of": 1},
    ],
)
def test_a_value_of_another_type_is_refused(wrong):
    with pytest.raises((TypeError, ValueError)):
        from_json(Whole, {"name": "w", **wrong})


def test_a_required_value_that_is_missing_is_refused():
    with pytest.raises(TypeError, match="name"):
        from_json(Whole, {})
