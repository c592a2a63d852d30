"""A finding: one sentence about the agent, with the numbers and some of the evidence for it.

The rate of several pairs of a state and a capability is the mean of their probabilities, each with
the same weight. Adding up all draws instead would give the pairs the weights that the strategy
happened to give them, and the mean of their frequencies is too low where a strategy draws again
after a hit (`stats/partial_pooling.py`). The interval is one for that mean
(`stats/mean_bounds.py`); it holds however the draws were chosen.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from capscope.insight.ways import Way
from capscope.logic import Effect, Intent, Literal, State, Vocabulary
from capscope.logic.dnf import Term
from capscope.stats import mean_bounds
from capscope.stats.betting import evidence_above
from capscope.stats.error_budget import ERROR_RATE
from capscope.stats.partial_pooling import mean_probability
from capscope.wording import joined


@dataclass(frozen=True)
class Clause:
    """A conjunction of literals that holds, or that does not."""

    term: Term
    holds: bool = True

    @classmethod
    def of(cls, term: Term, *, holds: bool) -> Clause:
        """Make a clause; write that a single literal does not hold as its negation."""
        if not holds and len(term) == 1:
            return cls((Literal(term[0].atom, not term[0].positive),))
        return cls(term, holds)

    def __str__(self) -> str:
        inside = " and ".join(map(str, self.term))
        return f"when {inside}" if self.holds else f"unless {inside}"


LEAST_DIFFERENCE = 0.1
"""Two probabilities closer than this count as equal for a reader."""
LEAST_RATE = 0.02
"""A rarer event is not reported, however sure it is."""
_LUCK = 0.2
"""How often an intent may be achieved without a needed change, by a slip."""
_OFTEN = 0.3
"""How often it must be, at least, for the change to be called unneeded."""
PairCounts = tuple[tuple[float, int, int], ...]
"""Hits and draws of a pair, and how many pairs have these; sorted. Hits may be means."""


@dataclass(frozen=True)
class Rate:
    """How often something happened, in how many draws, in how many states.

    >>> Rate.of([(10, 10), (10, 10), (10, 20)]).text
    '0.83 (95 % interval 0.56 to 0.95; 40 draws in 3 states)'
    """

    hits: float
    draws: int
    states: int
    """The number of different states; pairs of one state and several capabilities share it."""
    counts: PairCounts = field(repr=False)
    selected_from: int = 1
    """Of how many rates this is the most striking; the interval is wider to make up for that."""

    @classmethod
    def of(
        cls, pairs: Iterable[tuple[float, int]], states: int | None = None, selected_from: int = 1
    ) -> Rate:
        """Make a rate of the hits and draws of pairs; pairs without draws do not count."""
        times = Counter((hits, draws) for hits, draws in pairs if draws)
        counts = tuple(sorted((hits, draws, n) for (hits, draws), n in times.items()))
        hits = sum(h * n for h, _, n in counts)
        draws = sum(d * n for _, d, n in counts)
        number = sum(n for *_, n in counts)
        return cls(hits, draws, number if states is None else states, counts, selected_from)

    @property
    def probability(self) -> float:
        """The mean of the pairs' probabilities, as far as the draws tell."""
        return _probability(self.counts)

    @property
    def interval(self) -> tuple[float, float]:
        """Bounds on the mean of the pairs' probabilities, with confidence 95 %."""
        return _interval(self.counts, ERROR_RATE / self.selected_from)

    @property
    def missed(self) -> Rate:
        """The rate of draws in which it did not happen."""
        pairs = [(d - h, d) for h, d, n in self.counts for _ in range(n)]
        return Rate.of(pairs, self.states, self.selected_from)

    @property
    def text(self) -> str:
        """The probability with its interval and sample size."""
        low, high = self.interval
        draws = f"{self.draws:,} draw{'' if self.draws == 1 else 's'}"
        states = f"{self.states:,} state{'' if self.states == 1 else 's'}"
        bounds = f"95 % interval {low:.2f} to {high:.2f}"
        return f"{self.probability:.2f} ({bounds}; {draws} in {states})"

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        size = {"draws": self.draws, "states": self.states}
        return {"probability": self.probability, "interval": list(self.interval), **size}

    def surely_above(self, bound: float, threshold: float) -> bool:
        """Return whether the evidence that the probability exceeds a bound reaches a threshold."""
        return evidence_above(self.hits, self.draws, bound) >= threshold

    def clearly_above(self, bound: float, threshold: float) -> bool:
        """Return whether it is surely above a bound, and by enough to matter to a reader."""
        if not self.surely_above(bound, threshold):
            return False
        return self.interval[0] >= min(bound + LEAST_DIFFERENCE, (1 + bound) / 2)

    def gap_to(self, higher: Rate) -> float:
        """Return by how much another rate is higher at least, by the intervals; 0 if they meet."""
        return max(higher.interval[0] - self.interval[1], 0.0)


def more_than_luck(spared: int, caused: int) -> bool:
    """Return whether executions were often spared a change, and surely not by luck.

    Count neither for the execution of each pair that showed the change first: it is why one looks.
    """
    if not spared:
        return False
    sure = evidence_above(spared, spared + caused, _LUCK) >= -math.log(ERROR_RATE)
    return sure and is_often_spared(spared, caused)


def is_often_spared(spared: int, caused: int) -> bool:
    """Return whether executions were spared a change in a good part of the cases."""
    return spared >= _OFTEN * (spared + caused)


@lru_cache(maxsize=4096)
def _probability(counts: PairCounts) -> float:
    return mean_probability([(h, d, 1) for h, d, n in counts for _ in range(n)])


@lru_cache(maxsize=4096)
def _interval(counts: PairCounts, error_rate: float) -> tuple[float, float]:
    pairs = [(h, d) for h, d, n in counts for _ in range(n)]
    one_sided = 1 - error_rate / 2
    return mean_bounds.lower_bound(pairs, one_sided), mean_bounds.upper_bound(pairs, one_sided)


Pairs = frozenset[tuple[int, State]]
"""Capabilities, by index, and the states they were tried in."""
MOST_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Example:
    """An outcome that the finding was counted from."""

    intent: Intent
    state: State
    after: State
    count: int
    draws: int
    vocabulary: Vocabulary = field(repr=False, compare=False)

    def as_dict(self) -> dict[str, Any]:
        """Return the example as JSON-ready values, its states written as in `model.json`."""
        changes = Effect.between(self.state, self.after).literals(self.vocabulary)
        return {
            "intent": str(self.intent),
            "state": hex(self.state),
            "holding": [str(atom) for atom in self.vocabulary.holding(self.state)],
            "after": hex(self.after),
            "changes": [str(literal) for literal in changes],
            "count": self.count,
            "draws": self.draws,
        }


@dataclass(frozen=True)
class Finding:
    """Something notable about the agent, as a sentence and in numbers."""

    kind: str
    """The label of its kind (`registry`)."""
    intents: tuple[Intent, ...]
    """The intents it was found for; the first represents the others."""
    sentence: str
    rate: Rate
    against: Rate | None
    """The rate it is compared with, if there is one."""
    when: tuple[Clause, ...]
    """The condition; its variables, like those of the literals, stand for objects of the intent."""
    literals: tuple[Literal, ...]
    """What changes: side effects, means, or alternatives with the most preferred first."""
    examples: tuple[Example, ...]
    """The first is shown; the way leads to its state."""
    pairs: Pairs = field(repr=False)
    """The pairs it is about; later kinds need not report them again."""
    strength: float
    """The smallest effect size within the 95 % intervals: 0 is none, 1 is the largest possible."""
    way: Way | None = None
    """The shortest known way to the state of the first example; None if none is known."""
    harm: float = 0.0
    """The rank: how severe it is (whole part), and how often it is met in use (fraction)."""
    irreversible: bool = False
    """Whether no known sequence undoes what changes."""
    instead: bool = False
    """Whether what changes mostly comes instead of what was asked for."""

    @property
    def intent(self) -> Intent:
        """The intent that represents all of them."""
        return self.intents[0]

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as JSON-ready values."""
        return {
            "kind": self.kind,
            "intent": str(self.intent),
            "intents": [str(intent) for intent in self.intents],
            "sentence": self.sentence,
            **self.rate.as_dict(),
            "against": None if self.against is None else self.against.as_dict(),
            "when": [str(clause) for clause in self.when],
            "literals": [str(literal) for literal in self.literals],
            "examples": [example.as_dict() for example in self.examples],
            "strength": self.strength,
            "way": None if self.way is None else [step.as_dict() for step in self.way],
            "harm": self.harm,
            "irreversible": self.irreversible,
        }


def pairs_of(findings: Iterable[Finding]) -> Pairs:
    """Return the pairs that some findings are about."""
    return frozenset(pair for finding in findings for pair in finding.pairs)


def conditional(clauses: Sequence[Clause]) -> str:
    """Describe a condition, to follow what was asked for.

    >>> p, q = Literal.parse("not p"), Literal.parse("not q")
    >>> conditional([Clause((p,))]), conditional([Clause((p, q), holds=False)])
    (' when not p()', ' when p() or q()')
    """
    holding = [literal for clause in clauses if clause.holds for literal in clause.term]
    # Do not repeat what is known to hold.
    excluded = [[x for x in c.term if x not in holding] for c in clauses if not c.holds]
    # "Not both false" is easier to read as "either true".
    either = [term for term in excluded if term and not any(x.positive for x in term)]
    parts = [joined(holding)] if holding else []
    parts += (joined((x.atom for x in term), "or") for term in either)
    when = f" when {', and '.join(parts)}" if parts else ""
    return when + "".join(f", unless {joined(t)}" for t in excluded if t and t not in either)
