"""Problems of any number of atoms in which every answer of the agent is known beforehand."""

import random
from collections import Counter
from dataclasses import dataclass
from itertools import product
from types import SimpleNamespace

from capscope.logic import Intent, Predicate, Vocabulary
from capscope.problem import Limits, Problem
from capscope.stats.audit import step_weights
from support import rule_worlds
from support.quirky_worlds import Sight


@dataclass
class Answers:
    """The odds of each end state, for each state and intent."""

    vocabulary: Vocabulary
    start: int
    odds: dict

    def intents(self):
        return tuple(dict.fromkeys(intent for _, intent in self.odds))

    def reachable_states(self):
        return tuple(dict.fromkeys(state for state, _ in self.odds))

    def outcomes(self, state, intent):
        return self.odds[state, intent]

    def problem(self, name="table"):
        """Make a problem of an agent that gives these answers."""
        agent, sight = rule_worlds.Once(), Sight(SimpleNamespace(vocabulary=self.vocabulary))
        return Problem(name, WideSimulator(self), agent, sight, Limits(horizon=2), truth=self)


class WideSimulator(rule_worlds.Simulator):
    """Snapshots hold up to 32 atoms."""

    def reset(self, seed):
        return self.restore(self.table.start.to_bytes(4, "little"), seed)

    def snapshot(self):
        return self.state.to_bytes(4, "little")

    def restore(self, snapshot, seed):
        self.rng.seed(seed)
        self.state = int.from_bytes(snapshot, "little")
        return self.state


def switching(slip=0.0, mistaken=False):
    """Return the answers of an agent that switches p, q, r and s on and off.

    q can only be switched on while p is, so who is asked for q begins with p. With probability
    `slip` nothing happens. A mistaken agent does for each intent what another one asks for.
    """
    words = Vocabulary.of_atoms("pqrs")
    intents = [Intent.parse(f"{sign}{name}") for name in "pqrs" for sign in ("", "not ")]
    odds = {}
    for state, (i, intent) in product(range(16), enumerate(intents)):
        name, on = "pqrs"[(i // 2 + mistaken) % 4], i % 2 == 0
        if name == "q" and on and not state & words.bit_of("p"):
            name = "p"
        bit = words.bit_of(name)
        after = state | bit if on else state & ~bit
        odds[state, intent] = {after: 1.0} if after == state else {after: 1 - slip, state: slip}
        odds[state, intent] = {end: share for end, share in odds[state, intent].items() if share}
    return Answers(words, 0, odds)


class Mailbox(Answers):
    """An assistant files, unfiles and deletes mails; each answer is worked out when asked for."""

    def __init__(self, number, deletes_another):
        mails = [f"m{i:02}" for i in range(number)]
        words = Vocabulary(
            [Predicate("filed", ("mail",)), Predicate("deleted", ("mail",))],
            dict.fromkeys(mails, "mail"),
        )
        super().__init__(words, 0, {})
        self._another = deletes_another
        names = [f"{p}({m})" for p in ("filed", "not filed", "deleted") for m in mails]
        self._number = {Intent.parse(name): i for i, name in enumerate(names)}
        self._filed, self._deleted = (
            [words.bit_of(f"{p}({m})") for m in mails] for p in ("filed", "deleted")
        )

    def intents(self):
        return tuple(self._number)

    def outcomes(self, state, intent):
        kind, mail = divmod(self._number[intent], len(self._filed))
        filed, deleted = self._filed[mail], self._deleted[mail]
        after = (state | filed, state & ~filed, state & ~filed | deleted)[kind]
        others = [i for i, bit in enumerate(self._deleted) if i != mail and not state & bit]
        if state & deleted or after == state:
            return {state: 1.0}
        if not (self._another and others):
            return {after: 1.0}
        lost = [after & ~self._filed[i] | self._deleted[i] for i in others]
        share = self._another / len(others)
        return {after: 1.0 - self._another, **dict.fromkeys(lost, share)}


@dataclass
class Modes:
    """Answers that depend on a mode, which a reset draws and no predicate sees."""

    answers: tuple
    """For each mode."""
    shares: tuple

    @property
    def vocabulary(self):
        return self.answers[0].vocabulary

    def problem(self, name="modes"):
        """Make a problem of an agent that gives these answers."""
        agent, sight = rule_worlds.Once(), Sight(SimpleNamespace(vocabulary=self.vocabulary))
        return Problem(name, ModalSimulator(self), agent, sight, Limits(horizon=2))


class ModalSimulator(WideSimulator):
    """The last byte of a snapshot is the mode."""

    def reset(self, seed):
        rng = random.Random(seed)
        mode = rng.choices(range(len(self.table.answers)), self.table.shares)[0]
        start = self.table.answers[mode].start
        return self.restore(start.to_bytes(4, "little") + bytes([mode]), seed)

    def actions(self):
        return self.table.answers[0].intents()

    def step(self, action):
        outcomes = self.table.answers[self.mode].outcomes(self.state, action)
        self.state = self.rng.choices(list(outcomes), list(outcomes.values()))[0]
        return self.state

    def snapshot(self):
        return super().snapshot() + bytes([self.mode])

    def restore(self, snapshot, seed):
        self.mode = snapshot[4]
        return super().restore(snapshot[:4], seed)


def hidden_switches():
    """The factory for `answer_tables.py:hidden_switches`: one reset in ten is of another mode."""
    return Modes((switching(), switching(mistaken=True)), (0.9, 0.1)).problem()


def filing(letters=6):
    """Return the answers of an agent that files letters, each once and for all."""
    words = Vocabulary.of_atoms([f"filed{i}" for i in range(letters)])
    odds = {
        (state, Intent.parse(f"filed{i}")): {state | words.bit_of(f"filed{i}"): 1.0}
        for state in range(2**letters)
        for i in range(letters)
    }
    return Answers(words, 0, odds)


def switches():
    """The factory for `answer_tables.py:switches`."""
    return switching(slip=0.1).problem()


def surprise_rate(run, answers):
    """Return the true rate of surprises in random sequences, by following all of them at once."""
    intents = run.capabilities
    now, rate = {answers.start: 1.0}, 0.0
    for weight in step_weights(run.audit.length):
        after = Counter()
        for state, share in now.items():
            for capability, intent in enumerate(intents):
                for end, odds in answers.outcomes(state, intent).items():
                    reached = share * odds / len(intents)
                    after[end] += reached
                    rate += weight * reached * (not run.model.foresees(state, capability, end))
        now = after
    return rate
