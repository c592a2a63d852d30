"""What an agent was seen to do in a tiny world, and what its behaviors make of it."""

import numpy as np

from capscope.logic import Effect, Intent
from capscope.model import PairStats
from capscope.model.behaviors import Behaviors
from capscope.model.outcome_types import NOTHING, OutcomeTypes
from capscope.model.pursuit import Pursuit
from capscope.model.state_graph import StateMatrix


class Seen:
    """What an agent was seen to do: (state, intent, states after) for each pair."""

    def __init__(self, words, intents, *done):
        self.words = words
        self.intents = [Intent.parse(intent) for intent in intents]
        self.tests = [intent.tests(words) for intent in self.intents]
        self.matrix = StateMatrix(len(words.atoms))
        self.types = OutcomeTypes(words)
        self.pairs = []
        for before, intent, *after in done:
            stats = PairStats()
            for end in after:
                effect = Effect.between(before, end)
                stats.counts[effect] = stats.counts.get(effect, 0) + 1
            self.types.learn(stats.counts)
            self.pairs.append((before, intents.index(intent), stats, after))
        seen = {s for before, _, _, after in self.pairs for s in (before, *after)}
        self.seen = self.matrix.rows(sorted(seen))
        self.behaviors = Behaviors(words, self.matrix, self.types)
        self.pursuit = Pursuit(words, self.matrix, self.types, self.behaviors)
        self.labels = [{} for _ in intents]
        for before, intent, stats, _ in self.pairs:
            self.labels[intent][self.matrix.row[before]] = self.types.of(stats)

    def fit(self):
        """Learn when behaviors are possible, without a plan."""
        self.behaviors.fit(self.tests, self.labels, np.array(self.seen, dtype=np.int64))
        return self

    def plan(self):
        self.pursuit.plan(self.tests, self.labels, self.seen)
        return self

    def first(self, before, intent):
        """Return the main effect of the first step; None if nothing is to be done."""
        capability = self.intents.index(Intent.parse(intent))
        number = self.pursuit.step[capability, self.matrix.row[before]]
        return None if number == NOTHING else self.types.main_effect(int(number))

    def possible(self, effect, state, extreme=None):
        """Return whether an effect is held possible in a state."""
        number = self.types.number(frozenset([effect]))
        if number not in self.behaviors.instances:
            return False
        rows = np.array([self.matrix.add(state)])
        return bool(self.behaviors.possible(number, rows, extreme)[0])

    def required(self, effect):
        """Return the literals that the behavior of an effect requires, as text."""
        behavior = self.behaviors.all[self.behaviors.of(self.types.number(frozenset([effect])))[0]]
        return {_text(behavior.space.terms, literal) for literal in behavior.required}


def _text(terms, literal):
    term = terms[literal if literal >= 0 else ~literal]
    names = {**{i: "XYZ"[i] for i in range(3)}, -1: "·", -2: "z"}
    atoms = [f"{name}({','.join(names[v] for v in args)})" for name, args in term.atoms]
    return ("" if literal >= 0 else "not ") + " & ".join(atoms).replace("()", "")
