import datetime
import decimal
import enum
import json
import random
import uuid
from collections import deque
from dataclasses import dataclass, field
from pathlib import PurePath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope.adapters.tools.state import (
    StateCodec,
    leaves,
    path_test,
    tree_text,
    values,
)
from capscope.errors import ProblemError

pydantic = pytest.importorskip("pydantic")


class Color(enum.Enum):
    RED = "red"


@dataclass
class Part:
    name: str
    made: datetime.datetime | None = None


@dataclass(frozen=True, slots=True)
class Label:
    text: str


@dataclass
class Shelf:
    parts: list[Part] = field(default_factory=list)
    newest: Part | None = None


class Inbox(pydantic.BaseModel):
    """Rebuilds the list that tools change whenever it is validated, as some published models do."""

    first: list[str]
    mails: list[str] = pydantic.Field(default_factory=list)

    @pydantic.model_validator(mode="after")
    def fill(self):
        self.mails = list(self.first)
        return self


def again(value):
    """Write a value, send it through JSON, and read it in another codec."""
    codec = StateCodec()
    tree = json.loads(tree_text(codec.write(value)))
    other = StateCodec()
    read = other.read(tree)
    assert other.write(read) == tree
    return read


def test_values_that_json_lacks_are_read_back():
    value = {
        "tuple": (1, (2,)),
        "set": {3, 1},
        "frozen": frozenset("ab"),
        "bytes": b"\xff",
        "keys": {1: "one", (2, 3): "pair"},
        "time": datetime.datetime(2026, 5, 1, 12, tzinfo=datetime.UTC),
        "day": datetime.date(2026, 5, 1),
        "clock": datetime.time(9, 30),
        "long": datetime.timedelta(days=-1, microseconds=5),
        "money": decimal.Decimal("1.10"),
        "id": uuid.UUID(int=7),
        "color": Color.RED,
        "path": PurePath("a/b"),
        "last": deque([1, 2], maxlen=3),
        "label": Label("new"),
        "$odd": {"$same": 1},
    }
    assert again(value) == value
    assert again(value)["last"].maxlen == 3


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=12,
)


@given(JSON)
def test_any_json_value_is_read_back(value):
    assert tree_text(again([value])) == tree_text([value])


@given(st.sets(st.text(max_size=3)))
def test_equal_sets_have_equal_texts(members):
    shuffled = list(members)
    random.Random(0).shuffle(shuffled)
    codec = StateCodec()
    assert codec.write(set(shuffled)) == codec.write(members)


def test_a_validator_that_rebuilds_the_state_is_not_run():
    inbox = Inbox(first=["a", "b"])
    inbox.mails.remove("a")
    # The naive way loses what was changed.
    assert Inbox.model_validate(inbox.model_dump()).mails == ["a", "b"]
    read = again(inbox)
    assert (read.mails, read.first) == (["b"], ["a", "b"])
    assert read.model_dump() == inbox.model_dump()
    assert read.model_fields_set == inbox.model_fields_set


def test_an_object_with_two_names_stays_one_object():
    shelf = Shelf([Part("bolt"), Part("nut")])
    shelf.newest = shelf.parts[1]
    read = again(shelf)
    read.newest.name = "screw"
    assert [part.name for part in read.parts] == ["bolt", "screw"]


def test_an_object_that_contains_itself_is_read_back():
    loop = {"name": "loop"}
    loop["self"] = loop
    read = again(loop)
    assert read["self"] is read


def test_a_class_that_is_not_in_the_first_state_is_found_by_the_annotations():
    codec = StateCodec()
    codec.write(Shelf())
    assert f"{__name__}:Part" in codec._classes


@pytest.mark.parametrize("value", [random.Random(0), open, object(), lambda: 0, ValueError("x")])
def test_what_cannot_be_stored_is_named_with_its_place(value):
    with pytest.raises(ProblemError, match=r"parts\.0\.rng is a"):
        StateCodec().write({"parts": [{"rng": value}]})


def test_values_are_found_in_dicts_lists_and_objects():
    shelf = {"left": Shelf([Part("bolt"), Part("nut")]), "right": Shelf([Part("nut")])}
    assert values("*.parts.*.name")(shelf) == ["bolt", "nut"]
    assert values("left.parts.1.name")(shelf) == ["nut"]
    assert values("left.nothing.*")(shelf) == []


def test_leaves_have_the_paths_that_patterns_use():
    tree = StateCodec().write({"shelf": Shelf([Part("bolt")]), "by id": {7: "seven"}})
    paths = {".".join(path) for path, _ in leaves(tree)}
    assert {"shelf.parts.0.name", "by id.7", "shelf.newest"} <= paths
    ignored = path_test(["shelf.parts.*.made", "by id"])
    assert ignored(("shelf", "parts", "0", "made")) and ignored(("by id", "7"))
    assert not ignored(("shelf", "parts", "0", "name"))
