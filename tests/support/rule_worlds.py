"""Problems given by a table: the outcomes of each intent in each state of a few propositions.

The agent passes the intent to the simulator, which samples the outcome. Any state can be set.
"""

import random
from dataclasses import dataclass
from itertools import product

from capscope.logic import Effect, Intent, Vocabulary
from capscope.problem import Limits, Problem
from capscope_experiments.suites.speed import sampled_graph

VOCABULARY = Vocabulary.of_atoms("pqrst")
STATES = range(2 ** len(VOCABULARY.atoms))
NOTHING = ((Effect(0, 0), 1.0),)


def bits(names):
    return sum(1 << "pqrst".index(name) for name in names)


def effect(adds="", deletes=""):
    return Effect(bits(adds), bits(deletes))


@dataclass
class Table:
    """The truth: for each intent a function from a state to effects with probabilities."""

    effects: dict

    def reachable_states(self):
        return STATES

    def intents(self):
        return tuple(self.effects)

    def outcomes(self, state, intent):
        found = {}
        for change, probability in self.effects[intent](state):
            after = change.apply(state)
            found[after] = found.get(after, 0.0) + probability
        return found


class Simulator:
    def __init__(self, table):
        self.table = table
        self.state = 0
        self.rng = random.Random(0)

    def reset(self, seed):
        return self.restore(b"\0", seed)

    def actions(self):
        return self.table.intents()

    def step(self, action):
        outcomes = self.table.outcomes(self.state, action)
        self.state = self.rng.choices(list(outcomes), list(outcomes.values()))[0]
        return self.state

    def snapshot(self):
        return bytes([self.state])

    def restore(self, snapshot, seed):
        self.rng.seed(seed)
        self.state = snapshot[0]
        return self.state


class SettableSimulator(Simulator):
    def snapshot_of(self, state):
        return bytes([state])


class Once:
    """The agent: tries its intent once, and counts its attempts."""

    def __init__(self):
        self.begun = 0

    def begin(self, intent, seed):
        self.begun += 1
        return Trying([intent])


class Trying:
    def __init__(self, left):
        self.left = left

    def act(self, observation):
        return self.left.pop() if self.left else None


class Itself:
    vocabulary = VOCABULARY

    def __call__(self, observation):
        return observation


def when(condition, *effects, otherwise=NOTHING):
    """Return effects that happen if a Python expression over p, q, r, s, t holds."""
    code = compile(condition, "condition", "eval")

    def outcomes(state):
        values = {name: bool(state >> i & 1) for i, name in enumerate("pqrst")}
        return effects if eval(code, values) else otherwise

    return outcomes


def rule_problem(simulator=SettableSimulator, **truths):
    """Make a problem; each keyword names the atom of an intent, its value the truth about it."""
    table = Table({Intent.parse(name): truth for name, truth in truths.items()})
    return Problem("table", simulator(table), Once(), Itself(), Limits(horizon=5), truth=table)


def everything_seen(problem, draws=25):
    """Return a graph with observations of each pair of state and intent."""
    return sampled_graph(problem, problem.truth, share=1.0, draws=draws)


def all_effects():
    """Yield every effect on the first three atoms."""
    for signs in product((-1, 0, 1), repeat=3):
        adds = sum(1 << i for i, sign in enumerate(signs) if sign == 1)
        deletes = sum(1 << i for i, sign in enumerate(signs) if sign == -1)
        yield Effect(adds, deletes)
