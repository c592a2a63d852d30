"""The script that measures `capscope diff`, in small."""

from pathlib import Path

from capscope_experiments.benchmarks import differences as script

TOYS = Path(__file__).parents[1] / "support" / "toy_worlds.py"


def test_an_agent_is_compared_with_itself_and_with_one_that_lost_something():
    board = script.World(f"{TOYS}:slippery_board", 0.1, "lit(a)")
    lines = list(script.measure(board, ["random"], 500, 2, loss=0.85))
    assert lines[0].endswith("random against random: 0 of 1 alike pairs differ")
    assert "a loss of 0.85 is told in 2 of 2 pairs" in lines[1]


def test_what_is_measured_names_capabilities_of_its_worlds():
    for world in (script.TIREWORLD, script.BLOCKS, script.GRID):
        (side,) = script.sides(world, "random", 300, [0])
        assert world.lost in map(str, side.intents)
