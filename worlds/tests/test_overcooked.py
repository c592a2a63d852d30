import io
import itertools
import subprocess
import sys
from importlib.metadata import distributions
from threading import Thread

import pytest

from capscope.errors import ProblemError
from capscope.problem import InvalidAction
from capscope.problem.checks import check_problem
from capscope.problems import load_problem
from capscope_worlds.overcooked import (
    ACTIONS,
    FLOOR,
    POT_STATES,
    Kitchen,
    KitchenAbstraction,
    kitchen_simulator,
    kitchen_vocabulary,
)
from capscope_worlds.overcooked.kitchen import LAYOUT, START, place_near
from capscope_worlds.overcooked.rules import GameAction, KitchenRules
from support.processes import SECONDS

ABSTRACTION = KitchenAbstraction()
TO_POT = ("west", "north", "west", "interact", "east", "north", "interact")
"""From the beginning: take the onion of pile 1 and put it into the pot."""
GAME_ACTIONS = {
    **{"north": (0, -1), "south": (0, 1), "east": (1, 0), "west": (-1, 0)},
    **{"stay": GameAction.STAY, "interact": GameAction.INTERACT},
}


def go(simulator, *actions, seed=0):
    """Reset, take actions, and return the last observation."""
    seen = simulator.reset(seed)
    for action in actions:
        seen = simulator.step(action)
    return seen


def holding_atoms(seen):
    return {str(atom) for atom in ABSTRACTION.vocabulary.holding(ABSTRACTION(seen))}


def reachable(kitchen):
    """Enumerate positions through the game, with both results of every draw."""
    simulator = kitchen_simulator(kitchen)
    advances = [True]
    simulator.rules._advances = lambda: advances[0]
    seen = {}
    first = simulator.reset(0)
    queue = [simulator.snapshot()]
    seen[queue[0]] = ABSTRACTION(first)
    for snapshot in queue:
        for action, advances[0] in itertools.product(ACTIONS, (True, False)):
            simulator.restore(snapshot, 0)
            state = ABSTRACTION(simulator.step(action))
            after = simulator.snapshot()
            if after not in seen:
                seen[after] = state
                queue.append(after)
    return seen


@pytest.mark.parametrize(
    ("kitchen", "positions", "states"), [(Kitchen(), 715, 306), (Kitchen(dishes=2), 869, 372)]
)
def test_the_reachable_positions_and_states_are_as_many_as_an_independent_count_found(
    kitchen, positions, states
):
    seen = reachable(kitchen)
    assert (len(seen), len(set(seen.values()))) == (positions, states)
    assert {len(snapshot) for snapshot in seen} == {9}


def test_a_step_does_what_the_games_own_transition_function_does():
    simulator = kitchen_simulator(Kitchen(advance=1.0))
    # The game itself, with all that the simulator leaves out: copies, checks and statistics.
    game = KitchenRules.__bases__[0](
        terrain=[list(row.replace("1", " ")) for row in LAYOUT],
        start_player_positions=[START],
        start_all_orders=[{"ingredients": ["onion"]}],
        cook_time=5,
        max_num_ingredients=1,
    )
    compared = 0
    for snapshot in reachable(Kitchen()):
        for action in ACTIONS:
            before = simulator.restore(snapshot, 0)
            (x, y), (dx, dy) = before.cell, GAME_ACTIONS[before.facing]
            terrain = game.get_terrain_type_at_pos((x + dx, y + dy))
            empty = {"O": 0 in before.piles, "D": before.dishes == 0}.get(terrain, False)
            if action == "interact" and (terrain == "X" or empty):
                continue  # in the game, piles never run out and counters can hold things
            after, info = game.get_state_transition(
                simulator.state.deepcopy(), (GAME_ACTIONS[action],)
            )
            seen = simulator.step(action)
            assert simulator.state.time_independent_equal(after), (before, action)
            delivered = info["event_infos"]["soup_delivery"][0]
            assert seen.delivered == (before.delivered or delivered)
            compared += 1
    assert compared > 3000


def test_a_chef_takes_an_onion_cooks_it_and_delivers_soup():
    simulator = kitchen_simulator(Kitchen(advance=1.0))
    seen = go(simulator, *TO_POT)
    assert (seen.pot, seen.held, seen.piles) == ("filled", None, (0, 1))
    stages = [simulator.step("interact").pot, *(simulator.step("stay").pot for _ in range(5))]
    assert stages == ["stage-2", "stage-3", "stage-4", "stage-5", "ready", "ready"]
    for action in ("west", "south", "south", "interact", "north", "east", "north", "interact"):
        seen = simulator.step(action)
    assert (seen.held, seen.pot, seen.dishes) == ("soup", "empty", 0)
    for action in ("east", "south", "south", "interact"):
        seen = simulator.step(action)
    assert (seen.held, seen.delivered, seen.place) == (None, True, "delivery")


def test_piles_and_the_rack_run_out():
    simulator = kitchen_simulator()
    seen = go(simulator, *TO_POT, "west", "west", "interact")
    assert (seen.held, seen.piles) == (None, (0, 1))
    seen = go(simulator, "west", "south", "interact", "interact")
    assert (seen.held, seen.dishes) == ("dish", 0)
    twice = kitchen_simulator(Kitchen(pile_onions=2))
    assert go(twice, *TO_POT, "west", "west", "interact").held == "onion"


def test_nothing_can_be_put_down_on_a_counter():
    simulator = kitchen_simulator()
    seen = go(simulator, *TO_POT[:4], "north", "interact")
    assert (seen.held, seen.facing) == ("onion", "north")


def test_cooking_advances_with_the_given_probability_from_the_seed():
    simulator = kitchen_simulator(Kitchen(advance=0.3))
    go(simulator, *TO_POT)
    filled = simulator.snapshot()
    first = []
    for seed in range(2000):
        simulator.restore(filled, seed)
        first.append(simulator.step("interact").pot)
    assert set(first) == {"stage-1", "stage-2"}
    assert abs(first.count("stage-2") / 2000 - 0.3) < 0.04
    simulator.restore(filled, 7)
    once = [simulator.step(a).pot for a in ("interact", *["stay"] * 30)]
    simulator.restore(filled, 7)
    assert once == [simulator.step(a).pot for a in ("interact", *["stay"] * 30)]
    assert set(once) <= set(POT_STATES)


def test_every_position_can_be_restored_and_set_up_by_its_observation():
    simulator = kitchen_simulator()
    for snapshot, state in reachable(Kitchen()).items():
        seen = simulator.restore(snapshot, 0)
        assert simulator.snapshot() == snapshot
        assert ABSTRACTION(seen) == state
        assert simulator.place(seen, 0) == seen
        assert simulator.snapshot() == snapshot


def test_two_kitchens_with_different_recipes_do_not_disturb_each_other():
    one, two = kitchen_simulator(), kitchen_simulator(Kitchen(soup_onions=2, advance=1.0))
    filled, other = go(one, *TO_POT[:-1]), go(two, *TO_POT[:-1])
    for _ in range(2):
        filled, other = one.step("interact"), two.step("interact")
    # Both pots start to cook the one onion in them; only the second would have taken another.
    assert filled.pot in ("stage-1", "stage-2")
    assert other.pot == "stage-2"
    for simulator, held in ((one, "onion"), (two, None)):
        go(simulator, *TO_POT, "east", "east", "interact", "west", "north")
        assert simulator.step("interact").held == held


def test_kitchens_with_different_recipes_can_be_used_in_two_threads():
    full = {}

    def cook(onions):
        simulator = kitchen_simulator(Kitchen(soup_onions=onions))
        way = (*TO_POT, "east", "east", "interact", "west", "north", "interact")
        full[onions] = {go(simulator, *way).held for _ in range(150)}

    threads = [Thread(target=cook, args=(onions,)) for onions in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert full == {1: {"onion"}, 2: {None}}


def test_a_chef_is_at_the_one_place_that_the_cell_touches():
    assert [place_near(cell) for cell in FLOOR] == [
        *("onion-pile-1", "pot", "onion-pile-2"),
        *("dish-rack", None, "delivery"),
    ]


def test_the_abstraction_distinguishes_an_empty_dish_from_soup():
    simulator = kitchen_simulator(Kitchen(advance=1.0))
    dish = holding_atoms(go(simulator, "west", "south", "interact"))
    assert dish == {
        *("at(chef1,dish-rack)", "holding(chef1,dish)", "pot-state(empty)"),
        *("at-pile(onion,onion-pile-1)", "at-pile(onion,onion-pile-2)"),
    }
    go(simulator, *TO_POT, "interact", "stay", "stay", "stay", "stay")
    ready = simulator.snapshot()
    assert {"in-pot(onion)", "pot-state(ready)"} <= holding_atoms(simulator.restore(ready, 0))
    for action in ("west", "south", "south", "interact", "north", "east", "north", "interact"):
        soup = simulator.step(action)
    assert {"holding(chef1,soup)", "pot-state(empty)"} <= holding_atoms(soup)


def test_the_vocabulary_has_the_atoms_of_the_paper():
    vocabulary = kitchen_vocabulary()
    assert len(vocabulary.atoms) == 5 + 3 + 1 + 8 + 1 + 2 + 1
    assert {p.name for p in vocabulary.predicates} == {
        *("at", "holding", "in-pot", "pot-state", "clean", "at-pile", "delivered"),
    }
    assert all(predicate.phrase for predicate in vocabulary.predicates)


@pytest.mark.parametrize("action", ["jump", None, ["north"]])
def test_an_unknown_action_is_refused(action):
    simulator = kitchen_simulator()
    with pytest.raises(InvalidAction, match="is not an action"):
        simulator.step(action)


@pytest.mark.parametrize(
    "options", ["dishes=0", "pile-onions=x", "soup-onions=4", "advance=0", "advance=1.5"]
)
def test_an_option_out_of_range_is_refused(options):
    with pytest.raises(ProblemError, match="overcooked"):
        load_problem(f"overcooked-hrl:{options}")


def test_the_temporal_length_can_be_set():
    assert load_problem("overcooked-hrl").limits.temporal_length is None
    assert load_problem("overcooked-hrl:temporal-length=5").limits.temporal_length == 5
    for wrong in ("0", "five"):
        with pytest.raises(ProblemError, match="temporal-length"):
            load_problem(f"overcooked-hrl:temporal-length={wrong}")


def test_a_snapshot_of_something_else_is_refused():
    with pytest.raises(ProblemError, match="start a new run"):
        kitchen_simulator().restore(b"123", 0)


@pytest.mark.parametrize("options", ["", ":dishes=2,pile-onions=2,soup-onions=2,advance=0.8"])
def test_the_problem_passes_its_check(options):
    assert not check_problem(load_problem(f"overcooked-hrl{options}"), 0)


def test_a_picture_shows_the_position_and_leaves_the_simulator_where_it_is():
    simulator = kitchen_simulator()
    go(simulator, *TO_POT, "interact")
    cooking = simulator.snapshot()
    simulator.restore(cooking, 3)
    alone = [simulator.step("stay") for _ in range(6)]
    simulator.restore(cooking, 3)
    pictured = [simulator.step("stay") for _ in range(2)]
    positions = list(reachable(Kitchen()))[::20]
    pictures = {simulator.picture(position) for position in positions}
    assert len(pictures) == len(positions)
    assert all(picture.startswith(b"\x89PNG\r\n\x1a\n") for picture in pictures)
    assert [*pictured, *(simulator.step("stay") for _ in range(4))] == alone


def run_python(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=SECONDS
    ).stdout


def test_the_rules_are_used_without_importing_gym_or_anything_for_display():
    loaded = run_python(
        """
import sys
from capscope.problems import load_problem
problem = load_problem("overcooked-hrl")
problem.simulator.reset(0)
problem.simulator.step("interact")
print({name.partition(".")[0] for name in sys.modules}
      & {"gym", "IPython", "ipywidgets", "pygame", "tqdm", "overcooked_ai_py"})
"""
    )
    assert loaded.strip() == "set()"


def test_without_overcooked_the_command_that_installs_it_is_named():
    shown = run_python(
        """
import sys
sys.modules["overcooked_ai_py"] = None
from capscope_worlds.overcooked import *
from capscope.errors import ProblemError
from capscope_worlds import install_hint
import capscope_worlds.kitchen_hrl
assert len(KitchenAbstraction().vocabulary.atoms) == 21
try:
    kitchen_simulator()
except ProblemError as error:
    assert install_hint("overcooked") in str(error)
    print("named")
"""
    )
    assert shown.strip() == "named"


def test_minigrid_works_beside_the_pygame_that_overcooked_brings():
    installed = {dist.metadata["Name"].lower() for dist in distributions()}
    assert {"overcooked-ai", "overcooked_ai"} & installed
    assert {"pygame", "pygame-ce"} <= installed, "this test is about having both"
    from minigrid.core.grid import Grid

    assert Grid(3, 3).render(8, (1, 1), 0).shape == (24, 24, 3)
    kitchen, grid = load_problem("overcooked-hrl"), load_problem("minigrid-q")
    for problem in (kitchen, grid):
        problem.simulator.reset(0)
        picture = problem.simulator.picture(problem.simulator.snapshot())
        assert io.BytesIO(picture).read(4) == b"\x89PNG"


def test_stages_and_places_are_distinct_and_the_two_piles_are_not():
    assert kitchen_vocabulary().distinct_types == {"stage", "place"}
    assert kitchen_vocabulary().objects["onion-pile-2"] == "pile"
