"""A finding: one sentence about the agent, with the numbers and some of the evidence for it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from capscope.logic import Atom, Effect, Intent, Literal, State, Vocabulary
from capscope.logic.condition import Term
from capscope.logic.json_values import OMITTED, STATE
from capscope.model.transitions import KnownPath
from capscope.stats.betting import evidence_above
from capscope.stats.error_budget import ERROR_RATE
from capscope.stats.rate import Rate
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


Pairs = frozenset[tuple[int, State]]
"""Capabilities, by index, and the states they were tried in."""
MOST_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Example:
    """An outcome that the finding was counted from."""

    intent: Intent
    state: State = field(metadata=STATE)
    after: State = field(metadata=STATE)
    count: int
    draws: int
    vocabulary: Vocabulary = field(repr=False, compare=False, metadata=OMITTED)
    json_properties: ClassVar = ("holding", "changes")

    @property
    def holding(self) -> tuple[Atom, ...]:
        """The atoms that held before."""
        return self.vocabulary.holding(self.state)

    @property
    def changes(self) -> tuple[Literal, ...]:
        """The literals that became true."""
        return Effect.between(self.state, self.after).literals(self.vocabulary)


@dataclass(frozen=True)
class Finding:
    """Something notable about the agent, as a sentence and in numbers."""

    kind: str
    """The name of its kind."""
    intents: tuple[Intent, ...]
    """The intents it was found for; the first represents the others."""
    sentence: str
    rate: Rate
    against: Rate | None
    """The rate it is compared with, if there is one."""
    when: tuple[Clause, ...]
    """The condition; its variables, like those of the literals, stand for objects of the intent."""
    literals: tuple[Literal, ...]
    """What changes."""
    examples: tuple[Example, ...]
    """The first is shown; the path leads to its state."""
    pairs: Pairs = field(repr=False, metadata=OMITTED)
    """The pairs it is about; later kinds need not report them again."""
    strength: float
    """The smallest effect size within the 95 % intervals: 0 is none, 1 is the largest possible."""
    way: KnownPath | None = None
    """The shortest known path to the state of the first example; None if none is known."""
    harm: float = 0.0
    """The rank: how severe it is (whole part), and how often it is met in use (fraction)."""
    irreversible: bool = False
    """Whether no known sequence undoes what changes."""
    instead: bool = False
    """Whether what changes mostly comes instead of what was asked for."""
    json_properties: ClassVar = ("intent",)

    @property
    def intent(self) -> Intent:
        """The intent that represents all of them."""
        return self.intents[0]


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
