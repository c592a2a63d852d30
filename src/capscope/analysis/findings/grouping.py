"""Report the same finding for several intents once.

Findings are made for one ground intent at a time, because agents may treat objects differently. Two
cases match if replacing the objects of one intent by those of the other turns condition and changes
into each other; they are merged if their rates agree as well.

Merged cases may rest on the same draws (asked for one thing, the agent ends in either of two
holes), so adding up hits and draws would count draws twice. Instead, a case keeps the end states
that were seen, and merged cases are one event: any of the changes happened.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from capscope.analysis.findings.finding import (
    Example,
    Finding,
    Pairs,
    best_examples,
    conditional,
    joined,
    named,
)
from capscope.analysis.findings.rate import Rate
from capscope.analysis.findings.splits import Clause
from capscope.symbolic import Effect, Intent, Literal, State, Vocabulary

Roles = dict[str, str]


@dataclass(frozen=True)
class Ends:
    """Where the draws of one capability from one state ended."""

    counts: Mapping[State, int]
    """How often each relevant end state was reached."""
    shown: frozenset[State]
    """The end states that count as hits."""

    @property
    def hits(self) -> int:
        """The draws that ended in a state that counts as a hit."""
        return sum(n for end, n in self.counts.items() if end in self.shown)

    @property
    def draws(self) -> int:
        """The relevant draws."""
        return sum(self.counts.values())

    def __or__(self, other: Ends) -> Ends:
        # Both count the same draws, so equal keys have equal counts.
        return Ends({**self.counts, **other.counts}, self.shown | other.shown)


EndsByPair = Mapping[tuple[int, State], Ends]
"""The end states of each pair of a capability, by index, and a state."""


@dataclass(frozen=True)
class FindingCase:
    """What was found for an intent, before it becomes a sentence."""

    intents: tuple[Intent, ...]
    seen: EndsByPair
    """What was counted, where the condition holds and elsewhere."""
    pairs: Pairs
    """The pairs of `seen` in which the condition holds."""
    when: tuple[Clause, ...]
    literals: tuple[Literal, ...]
    examples: tuple[Example, ...]
    detail: Any = None
    """Anything else that must be equal to merge two cases."""
    similar: bool = False
    """Whether it was also found with other objects in the literals."""

    @cached_property
    def rate(self) -> Rate:
        """How often it happened where the condition holds."""
        return _rate_of(self.seen, self.pairs)

    @cached_property
    def against(self) -> Rate | None:
        """How often it happened elsewhere; None if there is nowhere else."""
        elsewhere = self.seen.keys() - self.pairs
        return _rate_of(self.seen, elsewhere) if elsewhere else None

    @property
    def named_literals(self) -> str:
        """The literals as text."""
        return joined(self.literals) + (" (or similar)" if self.similar else "")

    @property
    def asked(self) -> str:
        """The first part of a sentence: what was asked for, and where."""
        return f"Asked for {named(self.intents)}{conditional(self.when)}"

    def sentence(self, what: str) -> str:
        """Write what the agent does, asked for the intents, and how probably."""
        elsewhere = "" if self.against is None else f"; elsewhere {self.against.text}"
        return f"{self.asked}, the agent {what}: probability {self.rate.text}{elsewhere}."

    def finding(self, kind: str, sentence: str, strength: float) -> Finding:
        """Return the case as a finding."""
        return Finding(
            kind,
            self.intents,
            sentence,
            self.rate,
            self.against,
            self.when,
            self.literals,
            self.examples,
            self.pairs,
            strength,
        )


def roles_of(intent: Intent) -> Roles:
    """Give each object of an intent a role: its index among the intent's arguments."""
    roles: Roles = {}
    for literal in intent.literals:
        for argument in literal.atom.arguments:
            roles.setdefault(argument, f"?{len(roles)}")
    return roles


def lifted(literals: Iterable[Literal], roles: Roles, other: str | None = None) -> Hashable:
    """Write literals with roles for objects; `other` replaces the objects without one."""
    lifted_literals = []
    for literal in literals:
        objects = literal.atom.arguments
        arguments = tuple(roles.get(o, o if other is None else other) for o in objects)
        lifted_literals.append((literal.atom.predicate, literal.positive, arguments))
    return tuple(sorted(lifted_literals))


def schema_of(intent: Intent) -> Hashable:
    """Return what intents of the same predicates and signs have in common."""
    return lifted(intent.literals, roles_of(intent))


def effect_signature(intent: Intent, effect: Effect, vocabulary: Vocabulary) -> Hashable:
    """Return the changes beyond the intent with roles: the means by which it was achieved."""
    others = [literal for literal in effect.literals(vocabulary) if literal not in intent.literals]
    return lifted(others, roles_of(intent), other="*")


def merged(cases: Iterable[FindingCase]) -> list[FindingCase]:
    """Merge the cases that differ only in objects: first in those of the intent, then in any."""
    return _grouped(_grouped(cases, None), "*")


def _grouped(cases: Iterable[FindingCase], other: str | None) -> list[FindingCase]:
    groups: dict[Hashable, list[list[FindingCase]]] = {}
    for case in cases:
        roles = roles_of(case.intents[0])
        when = tuple((lifted(clause.term, roles, other), clause.holds) for clause in case.when)
        changes = lifted(case.literals, roles, other)
        matching = groups.setdefault((schema_of(case.intents[0]), when, changes, case.detail), [])
        for group in matching:
            # Compare with each one: any of several changes is likelier than each.
            if all(_agree(c.rate, case.rate) and _agree(c.against, case.against) for c in group):
                group.append(case)
                break
        else:
            matching.append([case])
    return [
        _together(group, similar=other is not None) if len(group) > 1 else group[0]
        for matching in groups.values()
        for group in matching
    ]


def _together(cases: Sequence[FindingCase], *, similar: bool) -> FindingCase:
    """Merge several cases into one; a draw that counted in several of them counts once."""
    seen: dict[tuple[int, State], Ends] = {}
    for case in cases:
        for pair, ends in case.seen.items():
            seen[pair] = seen[pair] | ends if pair in seen else ends
    examples = dict.fromkeys(example for case in cases for example in case.examples)
    return replace(
        cases[0],
        intents=tuple(dict.fromkeys(intent for case in cases for intent in case.intents)),
        seen=seen,
        pairs=frozenset[tuple[int, State]]().union(*(case.pairs for case in cases)),
        examples=best_examples(tuple(examples)),
        similar=similar or any(case.similar for case in cases),
    )


def _rate_of(seen: EndsByPair, pairs: Iterable[tuple[int, State]]) -> Rate:
    counted = list(pairs)
    ends = [seen[pair] for pair in counted]
    states = {state for _, state in counted}
    return Rate(sum(e.hits for e in ends), sum(e.draws for e in ends), len(states))


def _agree(one: Rate | None, other: Rate | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.agrees_with(other)
