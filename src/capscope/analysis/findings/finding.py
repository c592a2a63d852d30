"""A finding: one sentence about the agent that someone would want to be told.

The numbers in the sentence stand beside it, and so do some of the states and outcomes that they
were counted from: `capscope show DIR INTENT` has the rule, and the journal has the draws.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from capscope.analysis.findings.trials import Clause
from capscope.statistics.betting import Rate
from capscope.symbolic import Effect, Intent, Literal, State, Vocabulary

Pairs = frozenset[tuple[int, State]]
"""Capabilities, by position, and the states they were tried in."""
_MOST_EXAMPLES = 3
_MOST_NAMED = 3


class Kind(StrEnum):
    """What is surprising about it."""

    SIDE_EFFECT = "side effect"
    CONDITION = "condition"
    PREFERENCE = "preference"
    MEANS = "means"
    ASYMMETRY = "asymmetry"


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
        words = self.vocabulary
        changes = Effect.between(self.state, self.after).literals(words)
        return {
            "intent": str(self.intent),
            "state": hex(self.state),
            "holding": [str(atom) for atom in words.holding(self.state)],
            "after": hex(self.after),
            "changes": [str(literal) for literal in changes],
            "count": self.count,
            "draws": self.draws,
        }


@dataclass(frozen=True)
class Finding:
    """Something surprising, in words and in numbers."""

    kind: Kind
    intents: tuple[Intent, ...]
    """The intents it was found for; the first stands for the others."""
    sentence: str
    rate: Rate
    against: Rate | None
    """The rate it is compared with, where there is one."""
    when: tuple[Clause, ...]
    literals: tuple[Literal, ...]
    """What is brought about: side effects, means, or alternatives from the most preferred down."""
    examples: tuple[Example, ...]
    pairs: Pairs = field(repr=False)
    """The pairs it speaks of; what they show is not told a second time."""
    strength: float
    """The least size of the effect that the 95 % intervals leave: 0 is none, 1 is all."""

    @property
    def intent(self) -> Intent:
        """The intent that stands for all of them."""
        return self.intents[0]

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as JSON-ready values."""
        return {
            "kind": str(self.kind),
            "intent": str(self.intent),
            "intents": [str(intent) for intent in self.intents],
            "sentence": self.sentence,
            **_numbers(self.rate),
            "against": None if self.against is None else _numbers(self.against),
            "when": [str(clause) for clause in self.when],
            "literals": [str(literal) for literal in self.literals],
            "examples": [example.as_dict() for example in self.examples],
            "strength": self.strength,
        }


def _numbers(rate: Rate) -> dict[str, Any]:
    return {
        "probability": rate.probability,
        "interval": list(rate.interval),
        "draws": rate.draws,
        "states": rate.states,
    }


def named(intents: Sequence[Intent]) -> str:
    """Name the first intent, and those that are like it.

    >>> named([Intent.parse(text) for text in ("p", "q", "r")])
    'p() (likewise q() and r())'
    """
    first, *others = intents
    names = [str(intent) for intent in others[:_MOST_NAMED]]
    if len(others) > len(names):
        names.append(f"{len(others) - len(names)} more")
    return f"{first} (likewise {joined(names)})" if names else str(first)


def joined(names: Iterable[object], word: str = "and") -> str:
    """Join names by commas and a last word.

    >>> joined("abc", "or")
    'a, b or c'
    """
    *before, last = [*map(str, names)] or [""]
    return f"{', '.join(before)} {word} {last}" if before else last


def conditional(clauses: Sequence[Clause]) -> str:
    """Put a condition into words that follow what was asked for.

    >>> p, q = Literal.parse("not p"), Literal.parse("not q")
    >>> conditional([Clause((p,))]), conditional([Clause((p, q), holds=False)])
    (' when not p()', ' when p() or q()')
    """
    holding = [literal for clause in clauses if clause.holds for literal in clause.term]
    # What is known to hold need not be said again.
    apart = [[x for x in c.term if x not in holding] for c in clauses if not c.holds]
    # Not both false is either true, which is easier to read.
    either = [term for term in apart if term and not any(x.positive for x in term)]
    said = [joined(holding)] if holding else []
    said += (joined((x.atom for x in term), "or") for term in either)
    when = f" when {', and '.join(said)}" if said else ""
    return when + "".join(f", unless {joined(t)}" for t in apart if t and t not in either)


def best_examples(examples: Sequence[Example]) -> tuple[Example, ...]:
    """Keep the examples with most behind them."""
    ranked = sorted(examples, key=lambda e: (-e.count, -e.draws, e.state, str(e.intent)))
    return tuple(ranked[:_MOST_EXAMPLES])
