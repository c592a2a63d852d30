import pytest

from capscope_worlds.minigrid import (
    FOUR_QUADRANTS,
    Cell,
    DoorState,
    GridAbstraction,
    GridObservation,
    read_layout,
)

LAYOUT = read_layout(FOUR_QUADRANTS)
LOCKED = (DoorState.LOCKED, DoorState.LOCKED)
START = GridObservation(LAYOUT, LAYOUT.start, LAYOUT.facing, LOCKED, (Cell(8, 2),))


def test_the_initial_text_shows_the_layout():
    assert (
        START.text()
        == """\
     1  2  3  4  5  6  7  8  9
  1  W  W  W  W  W  W  W  W  W
  2  W  .  .  .  W  .  .  .  W
  3  W  . A>  . bD  .  .  .  W
  4  W  .  .  .  W  .  .  .  W
  5  W  W  .  W  W  W  .  W  W
  6  W  .  .  .  W  .  .  .  W
  7  W  L  .  . gD  .  .  .  W
  8  W bK  .  L  W  .  .  .  W
  9  W  W  W  W  W  W  W  W  W
Agent: (3, 3) facing east
Carrying: nothing
Doors: the blue door is locked, the green door is locked"""
    )


def test_what_has_changed_is_shown():
    changed = START._replace(
        position=Cell(7, 2),
        facing="south",
        doors=(DoorState.OPEN, DoorState.CLOSED),
        keys=(None,),
    )
    lines = changed.text().splitlines()
    assert lines[3] == "  3  W  .  .  . b=  .  .  .  W"
    assert lines[7] == "  7  W Av  .  . gD  .  .  .  W"
    assert lines[8] == "  8  W  .  .  L  W  .  .  .  W"
    assert lines[10:] == [
        "Agent: (7, 2) facing south",
        "Carrying: a blue key",
        "Doors: the blue door is open, the green door is closed",
        "The agent went into lava and is dead.",
    ]


def test_an_agent_in_a_doorway_hides_the_door_in_the_drawing_only():
    inside = START._replace(position=Cell(3, 5), doors=(DoorState.OPEN, DoorState.LOCKED))
    assert inside.rows()[2][4] == "A>"
    assert inside.door_states == {"blue": "open", "green": "locked"}


def test_an_observation_is_a_value():
    assert START._replace(layout=read_layout(FOUR_QUADRANTS)) == START
    assert START._replace(facing="west") != START
    with pytest.raises(AttributeError):
        START.facing = "west"


def test_sampled_cells_are_free():
    assert Cell(8, 2) not in START.free_cells("south-west")
    assert Cell(8, 2) in START._replace(keys=(None,)).free_cells("south-west")
    drawn = {START.sampled_cell("south-west", seed) for seed in range(300)}
    assert drawn == set(START.free_cells("south-west"))
    assert not drawn & LAYOUT.lava
    assert all(LAYOUT.room_of[cell] == "south-west" for cell in drawn)
    # Doorways belong to rooms too, but are not goals.
    assert Cell(3, 5) not in START.free_cells("north-west")
    assert START.sampled_cell("north-east", 5) == START.sampled_cell("north-east", 5)


def test_exactly_one_state_of_each_door_holds():
    look = GridAbstraction(LAYOUT)
    for blue in DoorState:
        atoms = {
            str(a)
            for a in look.vocabulary.holding(look(START._replace(doors=(blue, DoorState.LOCKED))))
        }
        assert {a for a in atoms if a.startswith("blue-door")} == {f"blue-door-{blue}()"}
