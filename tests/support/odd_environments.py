"""Gymnasium environments for the tests: a correct one, and one for each way to break a restore.

A corridor of five cells with pits at both ends. A step goes left or right, except that with
probability `slip` it goes the other way. In the correct one all randomness is from `np_random`.
"""

import random

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from capscope.adapters.gymnasium import gymnasium_problem
from capscope.logic import Predicate, Vocabulary
from capscope.problem import Limits

CELLS = ("pit-left", "left", "middle", "right", "pit-right")
VOCABULARY = Vocabulary([Predicate("at", ("cell",))], dict.fromkeys(CELLS, "cell"))


class Corridor(gym.Env):
    """The correct one; with `ends=False` pits do not end the episode."""

    action_space = spaces.Discrete(2)
    observation_space = spaces.Discrete(5)

    def __init__(self, slip=0.3, ends=True):
        self.slip = slip
        self.ends = ends

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.cell = 2
        return self.cell, {}

    def draw(self):
        return self.np_random.random()

    def step(self, action):
        right = (self.draw() < self.slip) != bool(action)
        self.cell = min(4, max(0, self.cell + (1 if right else -1)))
        over = self.ends and self.cell in (0, 4)
        return self.cell, float(right), over, False, {}


class CorridorWithState(Corridor):
    """Correct: has `get_state` and `set_state`."""

    def get_state(self):
        return {"cell": self.cell}

    def set_state(self, state):
        self.cell = state["cell"]


class CorridorThatHandsOutItself(CorridorWithState):
    """Correct: its state is a list that it modifies later."""

    def reset(self, *, seed=None, options=None):
        self.trail = [2]
        return super().reset(seed=seed)

    def step(self, action):
        result = super().step(action)
        self.trail[0] = self.cell
        return result

    def get_state(self):
        return self.trail

    def set_state(self, state):
        self.trail = state
        self.cell = state[0]


class CorridorThatHandsOutItsGenerator(CorridorWithState):
    """Correct: the generator in its state is reseeded after a restore."""

    def get_state(self):
        return {"cell": self.cell, "draw": self.np_random.bit_generator.state}

    def set_state(self, state):
        self.cell = state["cell"]
        self.np_random.bit_generator.state = state["draw"]


class CorridorWithAGeneratorOfItsOwn(Corridor):
    """Correct: its generator is found."""

    def reset(self, *, seed=None, options=None):
        self.own = {"dice": np.random.default_rng(seed)}
        return super().reset(seed=seed)

    def draw(self):
        return self.own["dice"].random()


class CorridorThatSeedsNothing(Corridor):
    """Correct: its reset ignores the seed, but the generator is found."""

    def reset(self, *, seed=None, options=None):
        return super().reset()


class CorridorWithACounterLeftOut(CorridorWithState):
    """Defect: it ends after forty steps, and the state lacks the step count."""

    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return super().reset(seed=seed)

    def step(self, action):
        self.steps += 1
        *result, info = super().step(action)
        return *result[:3], self.steps >= 40, info


class CorridorWithWindLeftOut(CorridorWithState):
    """Defect: the wind turns after three steps and is not in the state."""

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
        self.whistle = print  # not a plain value

    def turned(self, action):
        self.blows += 1
        return action ^ (self.blows // 3 % 2)


class CorridorOfObjects(CorridorWithState):
    """Defect: its state is not a plain value."""

    def get_state(self):
        return Wind()


class CorridorWithALongTrail(Corridor):
    """Correct: keeps a large table in which a step changes little."""

    def reset(self, *, seed=None, options=None):
        self.board = [[0] * 30 for _ in range(30)]
        return super().reset(seed=seed)

    def step(self, action):
        result = super().step(action)
        self.board[self.cell][action] = 1
        return result


class CorridorInACorridor(Corridor):
    """Correct: steps another environment that it holds without being a wrapper."""

    def __init__(self):
        super().__init__()
        self.inner = CorridorWithACounterLeftOut()
        self.inner.outer = self

    def reset(self, *, seed=None, options=None):
        return self.inner.reset(seed=seed)

    def step(self, action):
        return self.inner.step(action)


class CorridorThatRemembersEpisodes(Corridor):
    """Defect: a value that matters survives a reset."""

    def __init__(self):
        super().__init__(slip=0.0, ends=False)
        self.tired = 0

    def step(self, action):
        self.tired += 1
        return super().step(action if self.tired % 3 else 0)


class CorridorWithHiddenDice(Corridor):
    """Defect: its generator is in a closure, where it is not found."""

    def __init__(self):
        super().__init__()
        dice = np.random.default_rng(3)
        self.draw = lambda: dice.random()


class CorridorWithEntropy(Corridor):
    """Defect: every step makes a new generator from entropy."""

    def draw(self):
        return np.random.default_rng().random()


class CorridorWithGlobalRandom(Corridor):
    """Defect: Python's global generator."""

    def draw(self):
        return random.random()


class CorridorWithGlobalNumpy(Corridor):
    """Defect: NumPy's global generator."""

    def draw(self):
        return np.random.random()


class CorridorWhereDiceAppear(CorridorWithState):
    """Defect: the generator of a rare event is created after the reset."""

    def reset(self, *, seed=None, options=None):
        self.dice = []
        return super().reset(seed=seed)

    def step(self, action):
        if not self.dice:
            self.dice.append(np.random.default_rng(5))
        return super().step(action)

    def draw(self):
        return 0.0 if self.dice[0].random() < 1e-6 else super().draw()


class SharedCorridor(Corridor):
    """Defect: all copies share one cell, like copies of a handle to a library."""

    place = [2]  # noqa: RUF012

    @property
    def cell(self):
        return self.place[0]

    @cell.setter
    def cell(self, cell):
        self.place[0] = cell


class Grudge(gym.Wrapper):
    """Defect: a wrapper with a memory that is not plain and that no reset clears."""

    def __init__(self, env):
        super().__init__(env)
        self.wind = Wind()

    def step(self, action):
        return self.env.step(self.wind.turned(action))


class MaskedCorridor(Corridor):
    """Reports which actions are valid: only right."""

    mask = (0, 1)

    def __init__(self):
        super().__init__(slip=0.0)

    def reset(self, *, seed=None, options=None):
        cell, _ = super().reset(seed=seed)
        return cell, {"mask": np.array(self.mask, np.int8)}

    def step(self, action):
        *result, _ = super().step(action)
        return *result, {"mask": np.array(self.mask, np.int8)}


class DrawnCorridor(CorridorWithState):
    """Renders a row of pixels, with an object that cannot be copied."""

    render_mode = "rgb_array"
    ink = None

    def render(self):
        self.ink = self.ink or (number for number in [255])
        pixels = np.zeros((1, 5, 3), np.uint8)
        pixels[0, self.cell] = 255
        return pixels


class OldCorridor:
    """Not a Gymnasium environment."""


def go(observation, intent):
    """Walk towards the cell in the intent."""
    return int(CELLS.index(intent.literals[0].atom.arguments[0]) > observation)


def corridor_problem(make=Corridor, policy=go, **given):
    given.setdefault("limits", Limits())
    return gymnasium_problem(
        make, VOCABULARY, lambda cell: [f"at({CELLS[cell % 5]})"], policy, **given
    )
