"""A registry: what is built in, and what other packages add."""

from importlib import metadata
from typing import NamedTuple

import pytest

from capscope.errors import CapscopeError
from capscope.registry import Registry


class Tool(NamedTuple):
    name: str


HAMMER, SAW, ANOTHER_HAMMER = Tool("hammer"), Tool("saw"), Tool("hammer")
NOT_A_TOOL = 7


@pytest.fixture
def registry():
    return Registry("capscope.tools", "tool", Tool, [HAMMER])


@pytest.fixture
def declare(monkeypatch):
    """Return a function that declares entry points of another package."""

    def declared(*names):
        found = [metadata.EntryPoint(n, f"{__name__}:{n}", "capscope.tools") for n in names]
        monkeypatch.setattr(metadata, "entry_points", lambda group: found)

    return declared


def test_entry_points_come_after_what_is_built_in(registry, declare):
    declare("SAW")
    assert list(registry.all) == ["hammer", "saw"]
    assert (registry.find("saw"), registry.get("hammer")) == (SAW, HAMMER)


def test_an_unknown_name_is_refused_with_the_known_ones(registry, declare):
    declare("SAW")
    assert registry.get("drill") is None
    with pytest.raises(CapscopeError, match=r"^no tool 'drill'; choose one of hammer, saw$"):
        registry.find("drill")


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("ANOTHER_HAMMER", "the name 'hammer' is taken"),
        ("NOT_A_TOOL", "it is of type int, not Tool"),
        ("MISSING", "importing it raised AttributeError: "),
    ],
)
def test_an_entry_point_that_cannot_be_used_is_an_error(registry, declare, entry, reason):
    declare(entry)
    with pytest.raises(CapscopeError, match=f"{entry} .*capscope.tools cannot be used: {reason}"):
        _ = registry.all


def test_what_is_built_in_is_found_without_loading_entry_points(registry, declare):
    declare("MISSING")
    assert registry.find("hammer") is HAMMER
