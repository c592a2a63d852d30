"""Positions as JSON, from which parts are left out."""

import itertools
import json
import zlib

import pytest

from capscope.problem import plain_values
from capscope.repro.json_state import (
    differences,
    entries,
    plain_value,
    read_tree,
    replaced,
    without,
    written_tree,
)

TREE = {
    "mails": {"ann": ["read"], "bo": []},
    "files": [{"$object": ["m:File", {"name": "ann", "tags": ["x"]}]}, {"name": "cem"}],
    "pairs": {"$dict": [["bo", 1], ["dee", 2]]},
    "at": {"$tuple": ["box-at(ann,dock)", "free()"]},
    "when": {"$date": "2026-05-01"},
}


def about(tree, name):
    return [entry.place for entry in entries(tree) if entry.is_about(name)]


def test_an_entry_is_about_an_object_by_its_key_its_value_or_a_field_of_it():
    assert about(TREE, "ann") == [
        ("mails", "ann"),
        ("files", 0),
        ("at", "$tuple", 0),
    ]
    assert about(TREE, "bo") == [("mails", "bo"), ("pairs", "$dict", 0)]
    assert about(TREE, "cem") == [("files", 1), ("files", 1, "name")]


def test_a_name_inside_another_name_is_not_meant():
    assert about({"at": ["box-at(annabel,dock)"]}, "ann") == []


def test_fields_of_objects_and_of_mappings_are_left_out_only_with_what_they_are_about():
    removable = {entry.place for entry in entries(TREE) if entry.removable}
    assert removable == {
        ("mails", "ann", 0),
        ("files", 0),
        ("files", 0, "$object", 1, "tags", 0),
        ("files", 1),
        ("at", "$tuple", 0),
        ("at", "$tuple", 1),
    }


def naive_without(tree, places):
    """Delete one entry after the other, those with the largest indices first."""
    left = json.loads(json.dumps(tree))
    for place in sorted(places, key=str, reverse=True):
        part = left
        for step in place[:-1]:
            part = part[step]
        del part[place[-1]]
    return left


def test_leaving_out_entries_is_deleting_them_one_after_the_other():
    places = [entry.place for entry in entries(TREE)]
    for chosen in itertools.combinations(places, 2):
        if any(a != b and b[: len(a)] == a for a, b in itertools.permutations(chosen, 2)):
            continue
        assert without(TREE, chosen) == naive_without(TREE, chosen)
    assert without(TREE, []) == TREE


def test_what_differs_can_be_put_back_place_by_place():
    other = json.loads(json.dumps(TREE))
    other["mails"]["ann"], other["when"] = ["starred"], {"$date": "2027-01-01"}
    changed = list(differences(TREE, other))
    assert changed == [
        (("mails", "ann", 0), "starred"),
        (("when", "$date"), "2027-01-01"),
    ]
    put_back = TREE
    for place, value in changed:
        put_back = replaced(put_back, place, value)
    assert put_back == other


def test_a_compressed_snapshot_is_read_and_other_bytes_are_not():
    assert read_tree(zlib.compress(written_tree(TREE))) == TREE
    for other in (b"\x00\x01", b"{broken", b'{"a":[],"b":{"$same":["a"]}}'):
        assert read_tree(other) is None


def test_a_plain_value_is_told_from_other_json():
    value = {"in": {"lunch": "inbox"}, "twins": ("a", "b"), "full": False}
    assert plain_value(plain_values.to_bytes(value)) == value
    with pytest.raises(ValueError, match=r"\w"):
        plain_value(written_tree(TREE))
