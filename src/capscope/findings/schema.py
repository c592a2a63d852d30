"""The same finding for several intents, said once.

Findings are made for one ground intent at a time, since agents treat objects differently. Where
they do not, a reader should not read the same sentence for each grounding. Two cases are alike when
the objects of one intent, put in the place of those of the other, turn condition and changes into
each other; they are told together when their rates agree as well.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from capscope.findings.finding import (
    Example,
    Finding,
    Kind,
    Pairs,
    conditional,
    joined,
    named,
    telling_examples,
)
from capscope.findings.statistics import LEAST_DIFFERENCE, Rate
from capscope.findings.trials import Clause
from capscope.symbolic import Effect, Intent, Literal, State, Vocabulary

Roles = dict[str, str]


@dataclass(frozen=True)
class Case:
    """What was found for an intent, before it is put into words."""

    intents: tuple[Intent, ...]
    rate: Rate
    against: Rate | None
    when: tuple[Clause, ...]
    literals: tuple[Literal, ...]
    examples: tuple[Example, ...]
    pairs: Pairs
    """Where the rate was counted."""
    detail: Any = None
    """Whatever else must agree."""
    likewise: bool = False
    """Whether it was found with other objects in the literals, too."""

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


def effect_signature(intent: Intent, state: State, after: State, words: Vocabulary) -> Hashable:
    """Return the changes beyond the intent with roles: the means by which it was achieved."""
    changes = Effect.between(state, after).literals(words)
    others = [literal for literal in changes if literal not in intent.literals]
    return lifted(others, roles_of(intent), other="*")


def merged(cases: Iterable[Case]) -> list[Case]:
    """Tell the cases together that differ in nothing but objects: the intent's, then any."""
    by_roles = _grouped(cases, None)
    return _grouped(by_roles, "*")


def _grouped(cases: Iterable[Case], other: str | None) -> list[Case]:
    groups: dict[Hashable, list[Case]] = {}
    for case in cases:
        roles = roles_of(case.intents[0])
        when = tuple((lifted(clause.term, roles, other), clause.holds) for clause in case.when)
        changes = lifted(case.literals, roles, other)
        alike = groups.setdefault((schema_of(case.intents[0]), when, changes, case.detail), [])
        for i, known in enumerate(alike):
            if _agree(known.rate, case.rate) and _agree(known.against, case.against):
                alike[i] = _together(known, case, likewise=other is not None)
                break
        else:
            alike.append(case)
    return [case for alike in groups.values() for case in alike]


def _together(one: Case, other: Case, *, likewise: bool) -> Case:
    pairs = one.pairs | other.pairs
    rate = replace(one.rate + other.rate, states=len({state for _, state in pairs}))
    against = one.against
    if against is not None and other.against is not None:
        # Intents share states: as many as the larger group has were there for certain.
        most = max(against.states, other.against.states)
        against = replace(against + other.against, states=most)
    return replace(
        one,
        intents=tuple(dict.fromkeys(one.intents + other.intents)),
        rate=rate,
        against=against,
        examples=telling_examples(one.examples + other.examples),
        pairs=pairs,
        likewise=likewise or one.likewise or other.likewise,
    )


def _agree(one: Rate | None, other: Rate | None) -> bool:
    if one is None or other is None:
        return one is other
    if abs(one.probability - other.probability) <= LEAST_DIFFERENCE:
        return True
    return one.interval[0] <= other.interval[1] and other.interval[0] <= one.interval[1]
