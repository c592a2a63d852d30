"""Worlds with known odds, drawn adaptively: more draws where an answer was unusual."""

import random
from collections import Counter

from capscope.insight.tried_rules import tried_rules
from capscope.logic import Effect, Intent, Vocabulary
from capscope.model import LearnedModel, StateGraph

FEATURES = 10
WORDS = Vocabulary.of_atoms([*(f"x{i}" for i in range(FEATURES)), "done", "broken", "lost"])
ASKED = Intent.parse("done")
X = [
    1 << WORDS.atoms.index(next(a for a in WORDS.atoms if a.predicate == f"x{i}"))
    for i in range(FEATURES)
]


def _effect(name):
    return Effect(1 << next(i for i, a in enumerate(WORDS.atoms) if a.predicate == name), 0)


DONE, BROKEN, LOST, NOTHING = _effect("done"), _effect("broken"), _effect("lost"), Effect(0, 0)


class ChanceWorld:
    """Random states, in which `odds(state)` gives the distribution over effects."""

    def __init__(self, odds, states, draws, seed):
        rng = random.Random(seed)
        self.states = sorted(
            sum(X[i] for i in range(FEATURES) if number >> i & 1)
            for number in rng.sample(range(2**FEATURES), states)
        )
        self.truth = {state: odds(state, rng) for state in self.states}
        self.counts = {state: Counter() for state in self.states}
        again = []
        for number in range(states * draws):
            if number < states:
                state = self.states[number]
            else:
                state = again.pop() if again and rng.random() < 0.7 else rng.choice(self.states)
            effects, weights = zip(*self.truth[state].items(), strict=True)
            (effect,) = rng.choices(effects, weights)
            seen = self.counts[state]
            if seen and effect != max(seen, key=seen.get):
                again += [state, state]
            seen[effect] += 1

    @property
    def graph(self):
        graph = StateGraph(WORDS, [ASKED])
        graph.update(
            {(s, 0, e.apply(s)): n for s, seen in self.counts.items() for e, n in seen.items()}
        )
        return graph

    @property
    def model(self):
        return LearnedModel.fitted(self.graph)

    @property
    def rules(self):
        return tried_rules(self.model, ASKED)


def succeeds(probability):
    return {DONE: probability, NOTHING: 1 - probability}
