"""What belongs to a request in Crafter, and is no side effect of it."""

from capscope.logic import ExpectedEffects, Intent
from capscope_worlds.crafter import (
    CrafterAbstraction,
    expected_consequences,
    read_map,
    shipped_maps,
)


def side_effects_of(intent, changes):
    """Return what is unexpected of some changes when an intent was asked for on the meadow."""
    vocabulary = CrafterAbstraction(read_map(shipped_maps()["meadow"])).vocabulary
    may = ExpectedEffects(expected_consequences(vocabulary), vocabulary).of(Intent.parse(intent))
    found = []
    for text in changes:
        adds, deletes = vocabulary.literal_masks(Intent.parse(text).literals)
        if adds & ~may.adds or deletes & ~may.deletes:
            found.append(text)
    return found


def test_walking_and_waking_up_belong_to_every_request():
    changes = ["not next_to(tree)", "close_to(water)", "not is_sleeping()", "achieved(wake_up)"]
    assert side_effects_of("next_to(table)", changes) == []
    assert side_effects_of("next_to(table)", ["is_sleeping()", "is_dead()"]) != []


def test_what_a_tool_needs_belongs_to_it_but_other_tools_do_not():
    changes = ["achieved(collect_wood)", "not can_build(table)", "exists(table)", "has(wood_sword)"]
    assert side_effects_of("has(wood_pickaxe)", changes) == ["has(wood_sword)"]
    assert side_effects_of("next_to(tree)", changes) == changes


def test_things_that_are_achieved_together_belong_to_each_other():
    assert side_effects_of("exists(plant)", ["achieved(place_plant)"]) == []
    assert side_effects_of("achieved(place_plant)", ["exists(plant)"]) == []
    assert side_effects_of("achieved(make_wood_sword)", ["has(wood_sword)"]) == []


def test_a_map_without_tools_expects_only_what_can_happen_there(tmp_path):
    (tmp_path / "pond.txt").write_text(". . .\n. > W\n. . .\n")
    vocabulary = CrafterAbstraction(read_map(tmp_path / "pond.txt")).vocabulary
    assert not any("make" in text for text in expected_consequences(vocabulary))
    ExpectedEffects(expected_consequences(vocabulary), vocabulary)
