"""The same finding for several intents, said once.

Findings are made for one ground intent at a time, since agents treat objects differently. Where
they do not, a reader should not read the same sentence for each grounding. Two cases are alike when
the objects of one intent, put in the place of those of the other, turn condition and changes into
each other; they are told together when their rates agree as well.

Cases that are told together may rest on the same draws: asked for one thing in one state, the agent
ends in either of two holes. Adding up their hits and draws would count each draw twice and halve
the probability. So a case keeps the ends that were seen, by capability and state, and which of them
show the change. Together they are one event, that any of the changes came about, counted once in
every draw.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from capscope.analysis.findings.finding import (
    Example,
    Finding,
    Kind,
    Pairs,
    best_examples,
    conditional,
    joined,
    named,
)
from capscope.analysis.findings.trials import Clause
from capscope.statistics.betting import LEAST_DIFFERENCE, Rate
from capscope.symbolic import Effect, Intent, Literal, State, Vocabulary

Roles = dict[str, str]


@dataclass(frozen=True)
class Ends:
    """Where the draws of one capability from one state ended."""

    counts: Mapping[State, int]
    """How often each end that matters came about."""
    shown: frozenset[State]
    """The ends that count as hits."""

    @property
    def hits(self) -> int:
        """The draws that ended in one of those shown."""
        return sum(n for end, n in self.counts.items() if end in self.shown)

    @property
    def draws(self) -> int:
        """The draws that matter."""
        return sum(self.counts.values())

    def __or__(self, other: Ends) -> Ends:
        # Both speak of the same draws, so what both know is no more than what one knows.
        return Ends({**self.counts, **other.counts}, self.shown | other.shown)


Seen = Mapping[tuple[int, State], Ends]
"""The ends of each pair of a capability, by position, and a state."""


@dataclass(frozen=True)
class Case:
    """What was found for an intent, before it is put into words."""

    intents: tuple[Intent, ...]
    seen: Seen
    """What was counted, where the condition holds and elsewhere."""
    pairs: Pairs
    """Those of the pairs seen where the condition holds."""
    when: tuple[Clause, ...]
    literals: tuple[Literal, ...]
    examples: tuple[Example, ...]
    detail: Any = None
    """Whatever else must agree."""
    likewise: bool = False
    """Whether it was found with other objects in the literals, too."""

    @cached_property
    def rate(self) -> Rate:
        """How often it came about where the condition holds."""
        return _rate_of(self.seen, self.pairs)

    @cached_property
    def against(self) -> Rate | None:
        """How often it came about elsewhere; None if there is nowhere else."""
        elsewhere = self.seen.keys() - self.pairs
        return _rate_of(self.seen, elsewhere) if elsewhere else None

    @property
    def named_literals(self) -> str:
        """The literals in words."""
        return joined(self.literals) + (" (or the like)" if self.likewise else "")

    def told(self, kind: Kind, what: str) -> Finding:
        """Put it into words: what the agent does, asked for the intents, and how probably."""
        elsewhere = "" if self.against is None else f"; elsewhere {self.against.text}"
        asked = f"Asked for {named(self.intents)}{conditional(self.when)}"
        return Finding(
            kind,
            self.intents,
            f"{asked}, the agent {what}: probability {self.rate.text}{elsewhere}.",
            self.rate,
            self.against,
            self.when,
            self.literals,
            self.examples,
            self.pairs,
            strength=self.rate.interval[0],
        )


def roles_of(intent: Intent) -> Roles:
    """Give each object of an intent a role: its place among the intent's arguments."""
    roles: Roles = {}
    for literal in intent.literals:
        for argument in literal.atom.arguments:
            roles.setdefault(argument, f"?{len(roles)}")
    return roles


def lifted(literals: Iterable[Literal], roles: Roles, other: str | None = None) -> Hashable:
    """Write literals with roles for objects; `other` stands for the objects without one."""
    return tuple(
        sorted(
            (
                literal.atom.predicate,
                literal.positive,
                tuple(roles.get(o, o if other is None else other) for o in literal.atom.arguments),
            )
            for literal in literals
        )
    )


def schema_of(intent: Intent) -> Hashable:
    """Return what intents of the same predicates and signs have in common."""
    return lifted(intent.literals, roles_of(intent))


def effect_signature(intent: Intent, effect: Effect, words: Vocabulary) -> Hashable:
    """Return the changes beyond the intent with roles: the means by which it was achieved."""
    others = [literal for literal in effect.literals(words) if literal not in intent.literals]
    return lifted(others, roles_of(intent), other="*")


def merged(cases: Iterable[Case]) -> list[Case]:
    """Tell the cases together that differ in nothing but objects: the intent's, then any."""
    by_roles = _grouped(cases, None)
    return _grouped(by_roles, "*")


def _grouped(cases: Iterable[Case], other: str | None) -> list[Case]:
    groups: dict[Hashable, list[list[Case]]] = {}
    for case in cases:
        roles = roles_of(case.intents[0])
        when = tuple((lifted(clause.term, roles, other), clause.holds) for clause in case.when)
        changes = lifted(case.literals, roles, other)
        alike = groups.setdefault((schema_of(case.intents[0]), when, changes, case.detail), [])
        for group in alike:
            # Each for itself: of several changes any is likelier than each.
            if all(_agree(c.rate, case.rate) and _agree(c.against, case.against) for c in group):
                group.append(case)
                break
        else:
            alike.append([case])
    return [
        _together(group, likewise=other is not None) if len(group) > 1 else group[0]
        for alike in groups.values()
        for group in alike
    ]


def _together(cases: Sequence[Case], *, likewise: bool) -> Case:
    """Make one case of several; a draw that counted in several of them counts once."""
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
        likewise=likewise or any(case.likewise for case in cases),
    )


def _rate_of(seen: Seen, pairs: Iterable[tuple[int, State]]) -> Rate:
    counted = list(pairs)
    hits, draws = (
        sum(n) for n in zip(*((seen[p].hits, seen[p].draws) for p in counted), strict=True)
    )
    return Rate(hits, draws, len({state for _, state in counted}))


def _agree(one: Rate | None, other: Rate | None) -> bool:
    if one is None or other is None:
        return one is other
    if abs(one.probability - other.probability) <= LEAST_DIFFERENCE:
        return True
    return one.interval[0] <= other.interval[1] and other.interval[0] <= one.interval[1]
