"""Read what a run says, and match it with what was planted: tolerant of the wording only.

The request and the change must have the right predicates, signs and roles. A condition is right if
it selects the planted pairs, among those of the whole run and of walks that nobody chose: at least
95 % of them, and at most 5 % of the others. How it is written does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from capscope import Run
from capscope.insight.findings import Finding
from capscope.insight.first_screen.wording import MOST_WARNINGS
from capscope.journal.draws import ENDINGS
from capscope.problem.attempt import Ending
from capscope_experiments.worlds.planted import Planted

_AGREES = 0.95
_FORM = re.compile(r"(not )?([^\s()=]+)(?:\((.*)\))?")
_EQUAL = re.compile(r"(\S+) (=|!=|is not|is) (\S+)")
_SUCCESS = re.compile("fail|drop|breakdown|refus|stall|less|exception|declin")
_DRIFT = re.compile("^change$|drift|over time")
Clauses = tuple[tuple[tuple[str, ...], bool], ...]
"""Conjunctions of literals, and whether each holds."""
Execution = tuple[int, "Form", frozenset[str], frozenset[str]]
"""The number, from 1, the request, and the atoms that held before and after."""


@dataclass(frozen=True)
class Form:
    """A literal with variables."""

    positive: bool
    predicate: str
    arguments: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Form:
        """Read a literal whose arguments may have spaces, such as `deleted(another mail)`."""
        found = _FORM.fullmatch(text.strip())
        if found is None:
            return cls(True, text, ())
        inside = (found[3] or "").split(",")
        return cls(found[1] is None, found[2], tuple(a.strip() for a in inside if a.strip()))

    def roles(self, other: Form) -> dict[str, str] | None:
        """Return the arguments of another literal by one's own; None if it is not alike."""
        if (self.positive, self.predicate, len(self.arguments)) != (
            other.positive, other.predicate, len(other.arguments)
        ):  # fmt: skip
            return None
        return dict(zip(self.arguments, other.arguments, strict=True))


@dataclass(frozen=True)
class Statement:
    """Something that a run says about a form of request."""

    text: str
    kind: str
    request: Form
    change: Form | None
    """None if it is about success."""
    when: Clauses = ()
    need: str = ""
    has_rate: bool = False
    """Whether it is a finding with an interval, not only a count."""


class Said:
    """What a run says: the statements in their order, and the screen.

    Nothing else knows how a release writes its findings and its first screen.
    """

    def __init__(self, run: Run) -> None:
        self._run = run

    @cached_property
    def statements(self) -> list[Statement]:
        """All findings; one with several changes makes a statement about each."""
        return [one for finding in self._run.findings() for one in _statements(finding)]

    def on_screen(self, statement: Statement) -> bool:
        """Return whether `capscope show` warns of a statement."""
        return any(statement.text in own for own in self.warnings[:MOST_WARNINGS])

    def is_first(self, statement: Statement) -> bool:
        """Return whether a statement is the first warning."""
        return any(statement.text in own for own in self.warnings[:1])

    @cached_property
    def warnings(self) -> list[list[str]]:
        """The sentences of the findings of each warning of the first screen."""
        shown = self._run.first_screen.warnings
        return [[f.sentence for f in one.findings] for one in shown if one.findings]


def _statements(finding: Finding) -> Iterator[Statement]:
    for change in finding.change.split(" and ") if finding.change else [None]:
        yield Statement(
            finding.sentence,
            str(finding.kind),
            Form.parse(finding.request),
            None if change is None else Form.parse(change),
            tuple(map(_clause, finding.when)),
            str(finding.need),
            finding.rate is not None,
        )


def _clause(literal: object) -> tuple[tuple[str, ...], bool]:
    return (str(literal),), True


@dataclass(frozen=True)
class Pair:
    """A state and a request that was made there, with the objects by variable."""

    request: str
    atoms: frozenset[str]
    objects: Mapping[str, str]


class Match:
    """Decides whether statements tell of a bug.

    Args:
        planted: The bug.
        run: All of its executions.
        walked: More executions; in a short run, other conditions may hold in the same states.
    """

    def __init__(self, planted: Planted, run: Run, walked: Sequence[Execution] = ()) -> None:
        self.planted = planted
        self._requests = [Form.parse(text) for text in planted.requests]
        self._change = Form.parse(planted.change) if planted.change else None
        self._objects = run.graph.vocabulary.objects
        self._run, self._walked = run, walked

    @cached_property
    def executions(self) -> list[Execution]:
        """All executions that were not cut short."""
        table, words = self._run.executions, self._run.graph.vocabulary
        atoms = [frozenset(map(str, words.holding(state))) for state in table.states]
        asked = [Form.parse(str(intent)) for intent in self._run.capabilities]
        columns = (table.before, table.capability, table.after, table.ending)
        rows = enumerate(zip(*(c.tolist() for c in columns), strict=True), 1)
        return [
            (number, asked[capability], atoms[before], atoms[after])
            for number, (before, capability, after, ending) in rows
            if ENDINGS[ending] is not Ending.CUT
        ]

    @cached_property
    def pairs(self) -> list[Pair]:
        """The pairs of the requests concerned, in which the bug could show."""
        found = {}
        for _, asked, before, after in (*self.executions, *self._walked):
            for text, request in zip(self.planted.requests, self._requests, strict=True):
                objects = request.roles(asked)
                ground = f"{asked.predicate}({','.join(asked.arguments)})"
                if objects is None or (ground in before) is asked.positive:
                    continue
                # A refused request tells nothing of what comes with it.
                if self._change is None or (after != before and self._possible(before, objects)):
                    found[text, before, asked] = Pair(text, before, objects)
        return [*found.values()]

    def _possible(self, before: frozenset[str], objects: Mapping[str, str]) -> bool:
        """Return whether the change, or one of its instances, could happen."""
        assert self._change is not None
        positive = self._change.positive
        return any(
            self._same_change(Form(positive, atom.predicate, atom.arguments), objects)
            and (str(atom) in before) is not positive
            for atom in self._run.graph.vocabulary.groundings(self._change.predicate)
        )

    @cached_property
    def shown(self) -> list[int]:
        """The numbers of the executions that showed the change, from 1."""
        return [n for n, *_ in filter(self._shows, self.executions)]

    def _shows(self, execution: Execution) -> bool:
        _, asked, before, after = execution
        if self._change is None:
            return False
        became = after - before if self._change.positive else before - after
        told = [
            Form(self._change.positive, atom.predicate, atom.arguments)
            for atom in map(Form.parse, became)
            if (atom.predicate, atom.arguments) != (asked.predicate, asked.arguments)
        ]
        bound = [roles for request in self._requests if (roles := request.roles(asked)) is not None]
        return any(self._same_change(one, roles) for one in told for roles in bound)

    def level(self, statement: Statement) -> int:
        """Return 2 if a statement tells of the bug, 1 if it lacks the condition, otherwise 0."""
        best = 0
        for text, request in zip(self.planted.requests, self._requests, strict=True):
            roles = request.roles(statement.request)
            if roles is not None and self._about(statement, roles):
                best = max(best, 1 + self._same_condition(text, statement, roles))
        return best

    def _about(self, statement: Statement, roles: Mapping[str, str]) -> bool:
        if self.planted.kind == "success":
            return statement.change is None and bool(_SUCCESS.search(statement.kind))
        if self.planted.kind == "drift":
            return bool(_DRIFT.search(statement.kind))
        return statement.change is not None and self._same_change(statement.change, roles)

    def _same_change(self, told: Form, roles: Mapping[str, str]) -> bool:
        assert self._change is not None
        arguments = self._change.roles(told)
        return arguments is not None and all(
            self._fits(planted, given, roles) for planted, given in arguments.items()
        )

    def _fits(self, planted: str, given: str, roles: Mapping[str, str]) -> bool:
        """Return whether an argument of a change is the planted one, or plays its role."""
        if planted in roles:
            return given == roles[planted]
        if planted in self._objects:
            # Without its condition, a change of one object is one of `x` or of another one.
            return given == planted or (self.planted.where is None and given not in self._objects)
        return given not in roles.values()

    def _same_condition(self, text: str, statement: Statement, roles: Mapping[str, str]) -> bool:
        where = self.planted.where
        if where is None:
            return True
        sides: dict[bool | None, list[bool]] = {True: [], False: [], None: []}
        for pair in self.pairs:
            if pair.request == text:
                covered = self._covers(statement.when, roles, pair)
                sides[where(pair.atoms, pair.objects)].append(covered)
        inside, outside = sides[True], sides[False]
        return (
            bool(inside)
            and sum(inside) >= _AGREES * len(inside)
            and sum(outside) <= (1 - _AGREES) * len(outside)
        )

    def _covers(self, when: Clauses, roles: Mapping[str, str], pair: Pair) -> bool:
        bound = {told: pair.objects[role] for role, told in roles.items()}
        constants = all(bound[a] == a for a in bound if a in self._objects)
        return constants and all(
            all(self._holds(x, bound, pair.atoms) for x in term) is holds for term, holds in when
        )

    def _holds(self, text: str, bound: Mapping[str, str], atoms: frozenset[str]) -> bool:
        equal = _EQUAL.fullmatch(text)
        if equal is not None:
            same = bound.get(equal[1], equal[1]) == bound.get(equal[3], equal[3])
            return same is (equal[2] in ("=", "is"))
        form = Form.parse(text)
        wanted = [bound.get(a, a) for a in form.arguments]
        return form.positive is any(self._is_instance(a, form.predicate, wanted) for a in atoms)

    def _is_instance(self, atom: str, predicate: str, wanted: Sequence[str]) -> bool:
        """Return whether an atom is one of a pattern; what is no object stands for any."""
        own = Form.parse(atom)
        return own.predicate == predicate and all(
            name == given or name not in self._objects
            for name, given in zip(wanted, own.arguments, strict=True)
        )
