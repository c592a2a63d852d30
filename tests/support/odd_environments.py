"""Gymnasium environments for the tests: an honest one, and one for each way of hiding something.

A corridor of five cells with pits at both ends. A step goes left or right, except that with
probability `slip` it goes the other way. In the honest one all chance comes from `np_random`.
"""

import random

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from capscope.environments.gymnasium import gymnasium_problem
from capscope.symbolic import Predicate, Vocabulary
from capscope.world import Limits

CELLS = ("pit-left", "left", "middle", "right", "pit-right")
WORDS = Vocabulary([Predicate("at", ("cell",))], dict.fromkeys(CELLS, "cell"))


class Corridor(gym.Env):
    """The honest one; with a wide corridor pits are far away."""

    action_space = spaces.Discrete(2)
    observation_space = spaces.Discrete(5)

    def __init__(self, slip=0.3, ends=True):
        self.slip = slip
        self.ends = ends

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell = 2
        return self.cell, {}

    def chance(self):
        return self.np_random.random()

    def step(self, action):
        right = (self.chance() < self.slip) != bool(action)
        self.cell = min(4, max(0, self.cell + (1 if right else -1)))
        over = self.ends and self.cell in (0, 4)
        return self.cell, float(right), over, False, {}


class CorridorWithState(Corridor):
    """Honest: hands its state out and takes it back."""

    def get_state(self):
        return {"cell": self.cell}

    def set_state(self, state):
        self.cell = state["cell"]


class CorridorThatHandsOutItself(CorridorWithState):
    """Harmless: its state is a list that it goes on writing to."""

    def reset(self, *, seed=None, options=None):
        self.trail = [2]
        return super().reset(seed=seed)

    def step(self, action):
        told = super().step(action)
        self.trail[0] = self.cell
        return told

    def get_state(self):
        return self.trail

    def set_state(self, state):
        self.trail = state
        self.cell = state[0]


class CorridorThatHandsOutItsGenerator(CorridorWithState):
    """Harmless: what it takes back is reseeded all the same."""

    def get_state(self):
        return {"cell": self.cell, "chance": self.np_random.bit_generator.state}

    def set_state(self, state):
        self.cell = state["cell"]
        self.np_random.bit_generator.state = state["chance"]


class CorridorWithAGeneratorOfItsOwn(Corridor):
    """Harmless: it can be found."""

    def reset(self, *, seed=None, options=None):
        self.own = {"dice": np.random.default_rng(seed)}
        return super().reset(seed=seed)

    def chance(self):
        return self.own["dice"].random()


class CorridorThatSeedsNothing(Corridor):
    """Harmless: its reset drops the seed, but the generator can be found."""

    def reset(self, *, seed=None, options=None):
        return super().reset()


class CorridorWithACounterLeftOut(CorridorWithState):
    """Lie: it ends after forty steps, and the state does not say how many are left."""

    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return super().reset(seed=seed)

    def step(self, action):
        self.steps += 1
        *told, info = super().step(action)
        return *told[:3], self.steps >= 40, info


class CorridorWithWindLeftOut(CorridorWithState):
    """Lie: the wind turns after three steps and is not in the state."""

    def __init__(self):
        super().__init__(slip=0.0, ends=False)

    def reset(self, *, seed=None, options=None):
        self.wind = Wind()
        return super().reset(seed=seed)

    def step(self, action):
        return super().step(self.wind.turned(action))


class Wind:
    def __init__(self):
        self.blows = 0
        self.whistle = print  # nothing that could be written down

    def turned(self, action):
        self.blows += 1
        return action ^ (self.blows // 3 % 2)


class CorridorOfObjects(CorridorWithState):
    """Lie: its state is no plain value."""

    def get_state(self):
        return Wind()


class CorridorWithALongTrail(Corridor):
    """Honest: keeps a long table in which a step changes little."""

    def reset(self, *, seed=None, options=None):
        self.board = [[0] * 30 for _ in range(30)]
        return super().reset(seed=seed)

    def step(self, action):
        told = super().step(action)
        self.board[self.cell][action] = 1
        return told


class CorridorInACorridor(Corridor):
    """Honest: steps one that it holds and that is no layer of it."""

    def __init__(self):
        super().__init__()
        self.inner = CorridorWithACounterLeftOut()
        self.inner.outer = self

    def reset(self, *, seed=None, options=None):
        return self.inner.reset(seed=seed)

    def step(self, action):
        return self.inner.step(action)


class CorridorThatRemembersEpisodes(Corridor):
    """Lie: something outlasts a reset and matters."""

    def __init__(self):
        super().__init__(slip=0.0, ends=False)
        self.tired = 0

    def step(self, action):
        self.tired += 1
        return super().step(action if self.tired % 3 else 0)


class CorridorWithHiddenDice(Corridor):
    """Lie: its generator is in a closure, where nobody finds it."""

    def __init__(self):
        super().__init__()
        dice = np.random.default_rng(3)
        self.chance = lambda: dice.random()


class CorridorWithEntropy(Corridor):
    """Lie: every step makes a new generator of nothing."""

    def chance(self):
        return np.random.default_rng().random()


class CorridorWithGlobalRandom(Corridor):
    """Lie: Python's global generator."""

    def chance(self):
        return random.random()


class CorridorWithGlobalNumpy(Corridor):
    """Lie: NumPy's global generator."""

    def chance(self):
        return np.random.random()


class CorridorWhereDiceAppear(CorridorWithState):
    """Lie: the dice with which it is drawn whether anything happens are thrown in later."""

    def reset(self, *, seed=None, options=None):
        self.dice = []
        return super().reset(seed=seed)

    def step(self, action):
        if not self.dice:
            self.dice.append(np.random.default_rng(5))
        return super().step(action)

    def chance(self):
        return 0.0 if self.dice[0].random() < 1e-6 else super().chance()


class SharedCorridor(Corridor):
    """Lie: all copies stand in one cell, as those of a handle to a library would."""

    place = [2]  # noqa: RUF012

    @property
    def cell(self):
        return self.place[0]

    @cell.setter
    def cell(self, cell):
        self.place[0] = cell


class Grudge(gym.Wrapper):
    """Lie: a wrapper with a memory that cannot be written down and that no reset clears."""

    def __init__(self, env):
        super().__init__(env)
        self.wind = Wind()

    def step(self, action):
        return self.env.step(self.wind.turned(action))


class MaskedCorridor(Corridor):
    """Says which actions are valid: only that to the right."""

    mask = (0, 1)

    def __init__(self):
        super().__init__(slip=0.0)

    def reset(self, *, seed=None, options=None):
        cell, _ = super().reset(seed=seed)
        return cell, {"mask": np.array(self.mask, np.int8)}

    def step(self, action):
        *told, _ = super().step(action)
        return *told, {"mask": np.array(self.mask, np.int8)}


class DrawnCorridor(CorridorWithState):
    """Draws itself as a row of pixels, with an ink that cannot be copied."""

    render_mode = "rgb_array"
    ink = None

    def render(self):
        self.ink = self.ink or (number for number in [255])
        pixels = np.zeros((1, 5, 3), np.uint8)
        pixels[0, self.cell] = 255
        return pixels


class OldCorridor:
    """Not an environment of Gymnasium."""


def go(observation, intent):
    """The policy: walk towards the cell that is asked for."""
    return int(CELLS.index(intent.literals[0].atom.arguments[0]) > observation)


def corridor_problem(make=Corridor, policy=go, **given):
    given.setdefault("limits", Limits())
    return gymnasium_problem(make, WORDS, lambda cell: [f"at({CELLS[cell % 5]})"], policy, **given)
