"""Train the policy of `crafter-steve` by imitating scripted experts.

python scripts/train_crafter_steve.py [WEIGHTS.npz] [--states N] [--epochs N] [--seed N]
python scripts/train_crafter_steve.py [WEIGHTS.npz] --compare GAMES

Without arguments, this recreates the weights that come with capscope. The second form only compares
the success of a policy with that of its experts.

Experts play on random maps; a quarter of the actions is random, so that states off their way occur
too. Each state is labelled for two instructions: the one that is being followed and another one. An
expert often has several equally good actions; the label is the uniform distribution over them.
After half of the states, a network is trained on them and then plays instead of the experts, who
only label what it does (DAgger, Ross et al., 2011): a policy makes mistakes of its own, and must
have seen where they lead.

Everything runs on NumPy, in about six minutes on one core; the last bits may differ between
processors.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from capscope.errors import CapscopeError
from capscope.seeds import child_seed
from capscope_worlds.crafter import ACTIONS, GameMap, crafter_simulator
from capscope_worlds.crafter.rules import ACHIEVEMENTS, WALKABLE
from capscope_worlds.crafter_steve import (
    SKILLS,
    STEVE_WEIGHTS,
    InstructionFollower,
    PolicyNetwork,
)
from capscope_worlds.crafter_steve.network import words_of
from capscope_worlds.crafter_steve.view import CELLS, KINDS, OWN_FEATURES, own_features, view_of
from crafter_training.backpropagation import gradients
from crafter_training.experts import INSTRUCTIONS, expert_for
from crafter_training.scene import ITEMS, MOVES, Scene

SIZE = 9
"""Rows and columns of the maps."""
EPISODE = 20
"""Steps of a game."""
FIRST_STATES = 1_000
"""States in the digest that `train` keeps."""


@dataclass(frozen=True, slots=True)
class Training:
    """Hyperparameters."""

    states: int = 400_000
    epochs: int = 5
    batch: int = 256
    learning_rate: float = 2e-3
    noise: float = 0.25
    """Share of random actions while data is collected."""
    words: int = 24
    """Numbers in the embedding of a word."""
    context: int = 96
    look: int = 6
    """Numbers for each kind of thing."""
    plans: int = 2
    """Value maps."""
    first: int = 208
    second: int = 64
    seed: int = 0


# Random maps.


def random_map(rng: random.Random) -> GameMap:
    """Draw a map: patches of trees, water and stone on grass, with ores, some of them walled in."""
    cells = {(x, y): "grass" for x in range(SIZE) for y in range(SIZE)}
    for kind, most in (("tree", 3), ("water", 2), ("stone", 3), ("sand", 1), ("path", 1)):
        for _ in range(rng.randint(0, most)):
            _patch(cells, kind, rng)
    if rng.random() < 0.2:
        _patch(cells, "stone", rng, 40)
    stones = [cell for cell, kind in cells.items() if kind == "stone"]
    rng.shuffle(stones)
    for kind in ("coal", "coal", "iron", "iron", "diamond"):
        if rng.random() < 0.7:
            place = stones.pop() if stones and rng.random() < 0.8 else _any_cell(rng)
            cells[place] = kind
    for kind, share in (("tree", 0.6), ("tree", 0.4), ("table", 0.5), ("furnace", 0.3)):
        if rng.random() < share:
            cells[_any_cell(rng)] = kind
    if rng.random() < 0.1:
        cells[_any_cell(rng)] = "lava"
    start = _any_cell(rng)
    cells[start] = rng.choice(("grass", "grass", "path"))
    rows = tuple(tuple(cells[x, y] for x in range(SIZE)) for y in range(SIZE))
    return GameMap("random", rows, start, rng.choice(((-1, 0), (1, 0), (0, -1), (0, 1))))


def _any_cell(rng: random.Random) -> tuple[int, int]:
    return rng.randrange(SIZE), rng.randrange(SIZE)


def _patch(
    cells: dict[tuple[int, int], str], kind: str, rng: random.Random, most: int = 12
) -> None:
    """Grow a patch of one kind from a random cell."""
    x, y = _any_cell(rng)
    for _ in range(rng.randint(1, most)):
        cells[x, y] = kind
        dx, dy = rng.choice(((-1, 0), (1, 0), (0, -1), (0, 1)))
        x, y = min(max(x + dx, 0), SIZE - 1), min(max(y + dy, 0), SIZE - 1)


def random_game(rng: random.Random, spawn: bool = False) -> Any:
    """Begin a game on a random map with a random inventory."""
    simulator = crafter_simulator(random_map(rng), spawn)
    held = simulator.game.player.inventory
    for item in ITEMS[4:]:
        if rng.random() < 0.5:
            held[item] = min(9, rng.choice((0, 1, 1, 2, 3, 5, 9)))
    for item in ITEMS[10:]:
        held[item] = int(rng.random() < 0.4)
    held["energy"] = rng.randint(3, 9)
    held["drink"], held["food"] = rng.randint(3, 9), rng.randint(3, 9)
    simulator.restore(simulator.snapshot(), rng.getrandbits(32))
    return simulator


# Data.


@dataclass(frozen=True)
class Data:
    """States, each with two instructions and a distribution over actions for each of them."""

    views: np.ndarray
    own: np.ndarray
    phrases: np.ndarray
    labels: np.ndarray


PHRASES = [(phrase, one.expert) for one in INSTRUCTIONS for phrase in one.phrases]
_SKILL_ROWS = [i for i, (phrase, _) in enumerate(PHRASES) if phrase in SKILLS]


def draw_phrase(rng: random.Random) -> int:
    """Draw an instruction, skills more often than others."""
    return rng.choice(_SKILL_ROWS) if rng.random() < 0.5 else rng.randrange(len(PHRASES))


def collect(training: Training, states: int, seed: int, network: PolicyNetwork | None) -> Data:
    """Let the experts play, or a network, and let the experts label every state."""
    rng = random.Random(seed)
    views = np.zeros((states, CELLS), np.uint8)
    own = np.zeros((states, OWN_FEATURES), bool)
    phrases = np.zeros((states, 2), np.int16)
    labels = np.zeros((states, 2, len(ACTIONS)), np.float16)
    number = {action: i for i, action in enumerate(ACTIONS)}
    done = 0
    while done < states:
        simulator = random_game(rng, spawn=rng.random() < 0.15)
        seen = simulator.restore(simulator.snapshot(), rng.getrandbits(32))
        followed = draw_phrase(rng)
        player = network and InstructionFollower(network, PHRASES[followed][0], None)
        for _ in range(EPISODE):
            if done >= states or not simulator.actions():
                break
            scene = Scene(seen)
            views[done], own[done] = view_of(seen), own_features(seen)
            chosen = (followed, draw_phrase(rng))
            best: list[list[str]] = [PHRASES[row][1](scene) for row in chosen]
            phrases[done] = chosen
            for i, actions in enumerate(best):
                for action in actions:
                    labels[done, i, number[action]] = 1 / len(actions)
            if rng.random() < training.noise:
                action = rng.choice(ACTIONS)
            else:
                action = player.act(seen) if player else rng.choice(best[0])
            done += 1
            seen = simulator.step(action)
    return Data(views, own, phrases, labels)


# The network.


def initial_layers(training: Training, words: int, rng: np.random.Generator) -> dict[str, Any]:
    """Draw weights, scaled by the number of inputs that are not zero."""

    def normal(rows: int, columns: int, inputs: float) -> np.ndarray:
        return rng.normal(0, inputs**-0.5, (rows, columns)).astype(np.float32)

    q, a, b = training.context, training.first, training.second
    context = training.words + OWN_FEATURES + len(KINDS)
    return {
        "words": normal(words, training.words, 1),
        "context": normal(context, q, 40),
        "context_bias": np.zeros(q, np.float32),
        "look": normal(q, len(KINDS) * training.look, q / 2),
        "look_bias": normal(1, len(KINDS) * training.look, 1)[0],
        "plan": normal(q, 2 * training.plans * len(KINDS), q / 2),
        "plan_bias": np.zeros(2 * training.plans * len(KINDS), np.float32),
        "route": normal(5 * training.plans, a, 5 * training.plans),
        "cells": normal(CELLS * training.look, a, CELLS * training.look),
        "hint": normal(q, a, q / 2),
        "first_bias": np.zeros(a, np.float32),
        "second": normal(a, b, a / 2),
        "second_bias": np.zeros(b, np.float32),
        "last": normal(b, len(ACTIONS), b),
        "last_bias": np.zeros(len(ACTIONS), np.float32),
    }


def fit(training: Training, data: Data, start: PolicyNetwork | None = None) -> PolicyNetwork:
    """Train a network on data with Adam, the learning rate falling to zero."""
    rng = np.random.default_rng(child_seed(training.seed, 1))
    vocabulary = sorted({word for phrase, _ in PHRASES for word in words_of(phrase)})
    row = {word: i for i, word in enumerate(vocabulary)}
    bags = np.zeros((len(PHRASES), len(vocabulary)), np.float32)
    for i, (phrase, _) in enumerate(PHRASES):
        for word in words_of(phrase):
            bags[i, row[word]] += 1 / len(words_of(phrase))
    if start is None:
        layers = initial_layers(training, len(vocabulary), rng)
    else:
        layers = {name: weights.copy() for name, weights in start.layers.items()}
    mean = {name: np.zeros_like(weights) for name, weights in layers.items()}
    square = {name: np.zeros_like(weights) for name, weights in layers.items()}
    total = training.epochs * (len(data.views) // training.batch)
    step = 0
    for _ in range(training.epochs):
        order = rng.permutation(len(data.views))
        for at in range(0, len(order) - training.batch + 1, training.batch):
            rows = order[at : at + training.batch]
            batch = {
                "views": data.views[rows].astype(np.int64),
                "own": data.own[rows].astype(np.float32),
                "bags": bags[data.phrases[rows].ravel()],
                "labels": data.labels[rows].astype(np.float32),
            }
            step += 1
            rate = training.learning_rate * (1 - step / total)
            for name, slope in gradients(layers, batch).items():
                mean[name] += 0.1 * (slope - mean[name])
                square[name] += 0.001 * (slope * slope - square[name])
                size = np.sqrt(square[name] / (1 - 0.999**step)) + 1e-8
                layers[name] -= rate * (mean[name] / (1 - 0.9**step)) / size
    return PolicyNetwork(ACTIONS, tuple(vocabulary), layers, {"training": asdict(training)})


def train(training: Training, report: Any = lambda line: None) -> PolicyNetwork:
    """Collect data and train, the second half on states that the first network led to."""
    half = training.states // 2
    began = time.process_time()
    by_experts = collect(training, half, child_seed(training.seed, 2), None)
    report(f"{half} states by experts: {time.process_time() - began:.0f} s")
    first = fit(training, by_experts)
    report(f"first network: {time.process_time() - began:.0f} s")
    own = collect(training, half, child_seed(training.seed, 3), first)
    report(f"{half} states by the network: {time.process_time() - began:.0f} s")
    together = Data(
        *(
            np.concatenate((getattr(by_experts, name), getattr(own, name)))
            for name in ("views", "own", "phrases", "labels")
        )
    )
    network = fit(training, together, first)
    report(f"second network: {time.process_time() - began:.0f} s")
    digest = digest_of(by_experts, min(half, FIRST_STATES))
    return replace(network, origin={**network.origin, "first_states": digest})


def digest_of(data: Data, states: int) -> str:
    """Hash the first states and their labels, to tell whether this script makes the same ones."""
    parts = (data.views, data.own, data.phrases, data.labels)
    return hashlib.sha256(b"".join(part[:states].tobytes() for part in parts)).hexdigest()[:16]


# How good it is.

Success = Callable[[list[Any]], bool]
"""Judges the observations of one game."""


def _achieved(name: str) -> Success:
    bit = 1 << ACHIEVEMENTS.index(name)
    return lambda seen: bool(seen[-1].achieved & bit)


def _went(dx: int, dy: int) -> Success:
    def stopped_there(seen: list[Any]) -> bool:
        end = seen[-1]
        return end.material(end.x + dx, end.y + dy) not in WALKABLE

    return stopped_there


def _explored(seen: list[Any]) -> bool:
    return len({(one.x, one.y) for one in seen}) >= 10


def _slept(seen: list[Any]) -> bool:
    return any(one.sleeping for one in seen)


def _stayed(seen: list[Any]) -> bool:
    return len({(one.x, one.y, one.terrain) for one in seen}) == 1


def _sheltered(seen: list[Any]) -> bool:
    x, y = seen[-1].x, seen[-1].y
    return any(seen[-1].material(x + dx, y + dy) == "table" for dx, dy in MOVES)


SUCCESS: Mapping[str, Success] = {
    "craft wood pickaxe": _achieved("make_wood_pickaxe"),
    "craft wood sword": _achieved("make_wood_sword"),
    "dig a tunnel": _achieved("collect_stone"),
    "go explore": _explored,
    "go to sleep": _slept,
    "move to east": _went(1, 0),
    "move to north": _went(0, -1),
    "move to south": _went(0, 1),
    "move to west": _went(-1, 0),
    "obtain coal": _achieved("collect_coal"),
    "obtain diamond": _achieved("collect_diamond"),
    "obtain tree": _achieved("collect_wood"),
    "obtain water": _achieved("collect_drink"),
    "place crafting table on grass": _achieved("place_table"),
    "place crafting table to build shelter": _sheltered,
    "stay": _stayed,
}


def success_rate(
    skill: str, games: int, seed: int, network: PolicyNetwork | None, steps: int = 40
) -> float:
    """Return how often a skill succeeds on random maps, by a network or by its expert."""
    rng = random.Random(seed)
    expert = expert_for(skill)
    follower = network and InstructionFollower(network, skill, None)
    hits = 0
    for _ in range(games):
        simulator = random_game(rng)
        chance = random.Random(rng.getrandbits(32))
        seen = [simulator.restore(simulator.snapshot(), chance.getrandbits(32))]
        for _ in range(steps):
            if not simulator.actions():
                break
            action = follower.act(seen[-1]) if follower else chance.choice(expert(Scene(seen[-1])))
            seen.append(simulator.step(action))
        hits += SUCCESS[skill](seen)
    return hits / games


def compare(network: PolicyNetwork, games: int) -> Iterator[tuple[str, float, float]]:
    """Yield each skill with the success of its expert and of the policy, on the same games."""
    for skill in SKILLS:
        yield skill, success_rate(skill, games, 1, None), success_rate(skill, games, 1, network)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Train the policy of crafter-steve.")
    parser.add_argument("weights", nargs="?", type=Path, default=STEVE_WEIGHTS)
    defaults = Training()
    parser.add_argument("--states", type=int, default=defaults.states)
    parser.add_argument("--epochs", type=int, default=defaults.epochs)
    parser.add_argument("--seed", type=int, default=defaults.seed)
    parser.add_argument("--compare", type=int, metavar="GAMES", help="only compare with experts")
    given = parser.parse_args(arguments)
    training = Training(states=given.states, epochs=given.epochs, seed=given.seed)
    try:
        if given.compare:
            within = 0
            for skill, expert, own in compare(PolicyNetwork.load(given.weights), given.compare):
                within += own >= 0.9 * expert
                print(f"{skill:40} expert {expert:.3f}  policy {own:.3f}")
            print(f"{within} of {len(SKILLS)} skills are within 10 % of their expert")
            return 0
        train(training, print).save(given.weights)
    except (CapscopeError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{given.weights}: {given.weights.stat().st_size / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
