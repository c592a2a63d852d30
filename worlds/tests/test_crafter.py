"""Crafter on fixed maps: the package's rules, restored from a few bytes, put into predicates."""

import hashlib
import os
import random
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from capscope.errors import ProblemError
from capscope.logic import Vocabulary
from capscope.problem import InvalidAction
from capscope_worlds import install_hint
from capscope_worlds.crafter import (
    ACTIONS,
    CrafterAbstraction,
    CrafterObservation,
    crafter_simulator,
    crafter_vocabulary,
    read_map,
    rules,
    shipped_maps,
)
from support.processes import SECONDS

crafter = pytest.importorskip("crafter")

MAPS = {name: read_map(path) for name, path in shipped_maps().items()}
LIKELY = (*ACTIONS[1:6] * 3, *ACTIONS)


@pytest.fixture(params=[("meadow", False), ("quarry", False), ("meadow", True), ("quarry", True)])
def world(request):
    name, spawn = request.param
    simulator = crafter_simulator(MAPS[name], spawn)
    return simulator, CrafterAbstraction(MAPS[name], spawn)


def equip(simulator, **items):
    simulator.game.player.inventory.update(items)
    return simulator.restore(simulator.snapshot(), 0)


def play(simulator, steps, seed):
    """Take random actions and yield what is seen, beginning again after a death."""
    rng = random.Random(seed)
    for _ in range(steps):
        yield simulator.step(rng.choice(LIKELY))
        if not simulator.actions():
            simulator.reset(rng.getrandbits(32))


# Rules and maps.


def test_the_rules_are_those_of_the_package():
    theirs = crafter.constants
    assert tuple(theirs.actions) == rules.ACTIONS
    assert tuple(theirs.materials) == rules.MATERIALS
    assert tuple(theirs.items) == rules.ITEMS
    assert tuple(theirs.achievements) == rules.ACHIEVEMENTS
    assert frozenset(theirs.walkable) == rules.WALKABLE
    assert {item["max"] for item in theirs.items.values()} == {rules.MOST}
    assert {k: v["uses"] for k, v in theirs.place.items()} == rules.PLACE
    assert {k: v["uses"] for k, v in theirs.make.items()} == rules.MAKE
    assert {k: tuple(v["nearby"]) for k, v in theirs.make.items()} == rules.NEARBY
    for material, rule in theirs.collect.items():
        ours = rules.COLLECT[material]
        assert rule["receive"] == {ours.item: 1}
        assert rule["require"] == ({ours.requires: 1} if ours.requires else {})
        assert (rule["leaves"], rule.get("probability", 1)) == (ours.leaves, ours.probability)


@pytest.mark.parametrize("name", MAPS)
def test_shipped_maps_are_nine_by_nine_and_only_the_quarry_has_stone(name):
    game_map = MAPS[name]
    assert (game_map.width, game_map.height) == (9, 9)
    assert ("stone" in game_map.materials) == (name == "quarry")
    assert game_map.rows[4][4] == "grass"
    assert game_map.start == (4, 4)


def test_a_map_is_read_as_it_is_drawn(tmp_path):
    (tmp_path / "small.txt").write_text("# a pond\n. T W\n\n. < S\n_ , L\n")
    small = read_map(tmp_path / "small.txt")
    assert (small.name, small.start, small.facing) == ("small", (1, 1), (-1, 0))
    assert small.rows[0] == ("grass", "tree", "water")
    assert small.rows[1] == ("grass", "grass", "stone")
    (tmp_path / "other.txt").write_text(". T W\n. < S\n_ , L\n")
    assert read_map(tmp_path / "other.txt").fingerprint == small.fingerprint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (". T .\n. > ?\n. . .", r":2: unknown cell '\?'"),
        (". > .\n. < .\n. . .", ":2: a second player"),
        (". . .\n. > .\n. .", ":3: this row has 2 cells and the first has 3"),
        (". . .\n. . .\n. . .", "no player"),
        (". >", "the map is 1 by 2 cells"),
        ("", "the map is 0 by 0 cells"),
    ],
)
def test_a_mistake_in_a_map_is_named_with_its_line(tmp_path, text, message):
    (tmp_path / "wrong.txt").write_text(text)
    with pytest.raises(ProblemError, match=message):
        read_map(tmp_path / "wrong.txt")


def test_a_map_that_is_missing_is_an_error_that_names_it(tmp_path):
    with pytest.raises(ProblemError, match="cannot be read as text"):
        read_map(tmp_path / "none.txt")


def test_a_missing_package_names_the_extra(monkeypatch):
    monkeypatch.delitem(sys.modules, "capscope_worlds.crafter.simulator", raising=False)
    monkeypatch.setitem(sys.modules, "crafter", None)
    with pytest.raises(ProblemError, match="crafter") as error:
        crafter_simulator(MAPS["meadow"])
    assert install_hint("crafter") in str(error.value)


# Predicates.


def test_the_vocabulary_has_what_the_map_can_lead_to():
    meadow = crafter_vocabulary(MAPS["meadow"])
    assert meadow.objects_of("obstacle") == ("water", "tree", "table", "plant")
    assert meadow.objects_of("structure") == ("table", "plant")
    assert meadow.objects_of("tool") == ("wood_pickaxe", "wood_sword")
    assert len(meadow.objects_of("achievement")) == 9
    assert len(meadow.atoms) == 29
    quarry = crafter_vocabulary(MAPS["quarry"])
    assert set(quarry.objects_of("obstacle")) >= {"stone", "coal", "iron", "diamond", "furnace"}
    assert len(quarry.objects_of("tool")) == 6
    assert len(quarry.atoms) == 64
    assert "zombie" in crafter_vocabulary(MAPS["meadow"], spawn=True).objects
    assert {"cow", "skeleton"} <= set(crafter_vocabulary(MAPS["quarry"], spawn=True).objects)
    assert quarry.objects["stone"] == "obstacle and structure"


def test_what_takes_more_than_the_map_has_cannot_be_made():
    one_tree = rules.producible(["grass"] * 8 + ["tree"], spawn=False)
    assert "table" not in one_tree.things
    assert one_tree.tools == ()
    assert set(one_tree.achievements) == {
        *("collect_sapling", "collect_wood", "eat_plant", "place_plant", "wake_up")
    }
    stones = rules.producible(["grass", *["tree"] * 3, *["stone"] * 3], spawn=False)
    assert "furnace" not in stones.structures
    assert "iron_pickaxe" not in stones.tools
    assert "stone_sword" in stones.tools


def naive_state(seen: CrafterObservation, vocabulary: Vocabulary):
    """Judge every atom by its definition."""
    where = {}
    for x in range(seen.game_map.width):
        for y in range(seen.game_map.height):
            where.setdefault(seen.material(x, y), []).append((x, y))
    for kind, x, y in seen.creatures:
        where.setdefault(kind, []).append((x, y))

    def distance(kind):
        return min((abs(x - seen.x) + abs(y - seen.y) for x, y in where.get(kind, [])), default=99)

    def enough(uses):
        return all(seen.amount(item) >= amount for item, amount in uses.items())

    def holds(atom):
        what = atom.arguments[0] if atom.arguments else None
        return {
            "next_to": lambda: distance(what) == 1 or (what == "lava" and distance(what) == 0),
            "close_to": lambda: distance(what) <= 3,
            "exists": lambda: what in where,
            "is_sleeping": lambda: seen.sleeping,
            "is_dead": lambda: seen.amount("health") == 0,
            "has": lambda: seen.amount(what) > 0,
            "can_make": lambda: enough(rules.MAKE[what]),
            "can_build": lambda: enough(rules.PLACE[what]),
            "achieved": lambda: bool(seen.achieved >> rules.ACHIEVEMENTS.index(what) & 1),
        }[atom.predicate]()

    return vocabulary.state([atom for atom in vocabulary.atoms if holds(atom)])


def test_the_abstraction_follows_the_definitions_of_the_predicates(world):
    simulator, abstraction = world
    simulator.reset(1)
    equip(simulator, wood=6, sapling=2, stone=5, drink=3)
    for seen in play(simulator, 400, 1):
        assert abstraction(seen) == naive_state(seen, abstraction.vocabulary)


def test_the_cache_of_the_abstraction_is_bounded(monkeypatch):
    monkeypatch.setattr("capscope_worlds.crafter.observation._MOST_CACHED", 5)
    simulator, abstraction = crafter_simulator(MAPS["meadow"]), CrafterAbstraction(MAPS["meadow"])
    simulator.reset(1)
    for seen in play(simulator, 100, 2):
        assert abstraction(seen) == naive_state(seen, abstraction.vocabulary)
    assert len(abstraction._around) <= 5


def test_an_observation_can_be_read(world):
    simulator, _ = world
    text = simulator.reset(0).text()
    assert text.splitlines()[4].split()[4] == "v"
    assert "8 energy" in text


# The game.


class PackageGame(crafter.Env):
    """The naive twin: the package's own loop on the same map, without pictures."""

    def __init__(self, simulator, seed):
        super().__init__(area=(9, 9), seed=0)
        self._spawn = simulator.spawn
        super().reset()
        self._world.reset(seed)
        names = [[rules.MATERIALS.index(m) + 1 for m in row] for row in simulator.game_map.rows]
        self._world._mat_map[:] = np.array(names).T
        self._player = crafter.objects.Player(self._world, simulator.game_map.start)
        self._player.inventory["energy"] = 8
        self._world.add(self._player)

    def _obs(self):
        return None

    def _balance_chunk(self, chunk, objs):
        if self._spawn:
            # In order of appearance, not of memory addresses.
            super()._balance_chunk(chunk, [o for o in self._world.objects if o in objs])


def test_a_game_is_the_one_that_the_package_plays(world):
    simulator, _ = world
    for seed in range(3):
        simulator.reset(seed)
        theirs, rng = PackageGame(simulator, seed), random.Random(seed)
        for _ in range(300):
            action = rng.choice(LIKELY)
            ours = simulator.step(action)
            _, _, done, info = theirs.step(ACTIONS.index(action))
            assert (ours.x, ours.y) == tuple(info["player_pos"])
            assert dict(zip(rules.ITEMS, ours.inventory, strict=True)) == info["inventory"]
            assert ours.terrain == theirs._world._mat_map.tobytes()
            assert ours.sleeping == theirs._player.sleeping
            assert len(ours.creatures) == len(theirs._world.objects) - 1
            for i, count in enumerate(info["achievements"].values()):
                assert bool(ours.achieved >> i & 1) == (count > 0)
            if done:
                assert not simulator.actions()
                break


def test_a_restored_game_goes_on_as_the_original_would(world):
    simulator, _ = world
    other = crafter_simulator(simulator.game_map, simulator.spawn)
    simulator.reset(5)
    equip(simulator, wood=4, sapling=3, energy=7)
    for seen in play(simulator, 300, 3):
        snapshot = simulator.snapshot()
        assert len(snapshot) < 100
        assert other.restore(snapshot, 7) == seen
        assert other.snapshot() == snapshot
        if seen.dead:
            continue
        simulator.restore(snapshot, 7)
        for action in ("do", "move_left", "sleep", "place_plant", "noop"):
            if simulator.actions():
                assert simulator.step(action) == other.step(action)
                assert simulator.snapshot() == other.snapshot()


def test_all_kinds_of_creatures_survive_a_restore():
    simulator = crafter_simulator(MAPS["quarry"], spawn=True)
    simulator.reset(0)
    world, player = simulator.game.world, simulator.game.player
    made = crafter.objects
    plant, zombie = made.Plant(world, (0, 0)), made.Zombie(world, (1, 3), player)
    plant.grown, zombie.cooldown, zombie.health = 1000, 4, 2
    skeleton = made.Skeleton(world, (3, 3), player)
    skeleton.reload = 3
    things = [plant, zombie, skeleton, made.Cow(world, (3, 8)),
              made.Arrow(world, (2, 2), np.array((0, -1)))]  # fmt: skip
    for thing in things:
        world.add(thing)
    snapshot = simulator.snapshot()
    assert len(snapshot) < 100
    restored = crafter_simulator(MAPS["quarry"], spawn=True)
    seen = restored.restore(snapshot, 0)
    assert [c.kind for c in seen.creatures] == ["plant", "zombie", "skeleton", "cow", "arrow"]
    again = restored.game.world.objects[1:]
    assert again[0].ripe
    assert (again[1].cooldown, again[1].health) == (4, 2)
    assert again[2].reload == 3
    assert tuple(again[4].facing) == (0, -1)
    assert restored.snapshot() == snapshot


def test_draws_from_one_snapshot_are_independent_and_follow_their_seed():
    simulator = crafter_simulator(MAPS["meadow"])
    simulator.reset(0)
    snapshot = simulator.snapshot()
    saplings = Counter()
    for seed in range(400):
        simulator.restore(snapshot, seed)
        saplings[simulator.step("do").amount("sapling")] += 1
        simulator.restore(snapshot, seed)
        again = simulator.step("do").amount("sapling")
        assert saplings[again]
    assert 15 <= saplings[1] <= 75  # one in ten


def test_a_player_falls_asleep_and_wakes_up():
    simulator = crafter_simulator(MAPS["meadow"])
    simulator.reset(0)
    asleep = [simulator.step("sleep").sleeping for _ in range(14)]
    assert asleep[:10] == [True] * 10
    assert not simulator.step("noop").sleeping
    assert simulator.step("noop").achieved >> rules.ACHIEVEMENTS.index("wake_up") & 1


def test_a_dead_player_has_no_actions():
    simulator = crafter_simulator(MAPS["meadow"])
    simulator.reset(0)
    seen = equip(simulator, health=1, drink=0)
    for _ in range(20):
        if not simulator.actions():
            break
        seen = simulator.step("noop")
    assert seen.dead
    with pytest.raises(InvalidAction, match="dead"):
        simulator.step("noop")
    abstraction = CrafterAbstraction(MAPS["meadow"])
    assert abstraction(seen) & abstraction.vocabulary.bit_of("is_dead()")


@pytest.mark.parametrize("action", ["fly", 3, None])
def test_an_unknown_action_is_refused(action):
    simulator = crafter_simulator(MAPS["meadow"])
    simulator.reset(0)
    with pytest.raises(InvalidAction, match="is not an action"):
        simulator.step(action)


def test_a_snapshot_of_another_map_is_refused(tmp_path):
    (tmp_path / "small.txt").write_text(". . .\n. > .\n. . .\n")
    small = crafter_simulator(read_map(tmp_path / "small.txt"))
    with pytest.raises(ProblemError, match="does not belong to meadow"):
        crafter_simulator(MAPS["meadow"]).restore(small.snapshot(), 0)


_PLAY = """
import hashlib, random, sys
from capscope_worlds.crafter import ACTIONS, crafter_simulator, read_map, shipped_maps
simulator = crafter_simulator(read_map(shipped_maps()["quarry"]), spawn=True)
clutter = [object() for _ in range(int(sys.argv[1]))]
simulator.reset(4)
rng, digest = random.Random(4), hashlib.sha256()
for _ in range(1500):
    simulator.step(rng.choice(ACTIONS))
    digest.update(simulator.snapshot())
    if not simulator.actions():
        simulator.reset(rng.getrandbits(32))
print(digest.hexdigest())
"""


def test_a_game_with_creatures_is_the_same_in_every_process():
    digests = set()
    for hash_seed in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", _PLAY, str(1000 * int(hash_seed))],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=SECONDS,
        )
        digests.add(done.stdout)
    assert len(digests) == 1


def test_a_picture_is_drawn_without_disturbing_the_game(world):
    simulator, _ = world
    simulator.reset(2)
    night = list(play(simulator, 200, 2))
    assert night
    snapshot = simulator.snapshot()
    simulator.restore(snapshot, 9)
    first = simulator.picture(snapshot, 8)
    assert first.startswith(b"\x89PNG")
    assert simulator.picture(snapshot, 8) == first
    assert simulator.snapshot() == snapshot
    drawn = [simulator.step("do") for _ in range(30) if simulator.actions()]
    simulator.restore(snapshot, 9)
    assert [simulator.step("do") for _ in range(30) if simulator.actions()] == drawn
    simulator.reset(0)
    assert hashlib.sha256(simulator.picture(simulator.snapshot(), 8)).digest() != (
        hashlib.sha256(first).digest()
    )


def test_crafter_is_played_without_importing_gym():
    code = """
import sys
from capscope_worlds.crafter import crafter_simulator, read_map, shipped_maps
crafter_simulator(read_map(shipped_maps()["meadow"])).reset(0)
print("gym" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=SECONDS
    )
    assert (done.stdout.strip(), done.stderr) == ("False", "")
