"""A finding: one sentence about the agent, with the numbers and some of the evidence for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from capscope.insight.findings.clause import Clause
from capscope.insight.findings.rate import Rate
from capscope.insight.ways import Way
from capscope.logic import Effect, Intent, Literal, State, Vocabulary
from capscope.wording import joined

Pairs = frozenset[tuple[int, State]]
"""Capabilities, by index, and the states they were tried in."""
MOST_EXAMPLES = 3
_MOST_NAMED = 3


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


def named(intents: Sequence[Intent]) -> str:
    """Name the first intent, and those that the same was found for.

    >>> named([Intent.parse(text) for text in ("p", "q", "r")])
    'p() (also q() and r())'
    """
    first, *others = intents
    names = first_few(others, _MOST_NAMED)
    return f"{first} (also {joined(names)})" if names else str(first)


def first_few(names: Iterable[object], most: int) -> list[str]:
    """Keep the first few names, and say how many more there are.

    >>> first_few("abcde", 3)
    ['a', 'b', 'c', '2 more']
    """
    every = [*map(str, names)]
    return every if len(every) <= most else [*every[:most], f"{len(every) - most} more"]


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


def best_examples(examples: Sequence[Example]) -> tuple[Example, ...]:
    """Keep the examples with the most draws behind them."""
    ranked = sorted(examples, key=lambda e: (-e.count, -e.draws, e.state, str(e.intent)))
    return tuple(ranked[:MOST_EXAMPLES])
