"""What executions changed beyond what was asked for: counts, from the first execution on.

No test stands between a change that was observed and its line. Requests that differ only in their
objects count together, as a *form*: `archived(x)`. So do the changes, seen from the request:
`deleted(x)` is about an object that it names, `deleted(another mail)` about any other; an object of
a type that the request does not name is named if it is always the same. A change is counted over
the executions in which it could happen: those that began where at least one literal of its form was
false. Whether it was needed is not decided here.

What the user declared as expected and what exactly-one groups imply was asked for. If an execution
ended because the state changed, before the request held, the change may be a step on the way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from typing import Any

import numpy as np

from capscope.journal.draws import ENDINGS
from capscope.journal.execution_table import ExecutionTable, Transition
from capscope.logic import Atom, Effect, ExactlyOne, Intent, Literal, Vocabulary, to_json
from capscope.logic.footprint import SOME, RequestForm
from capscope.logic.json_values import OMITTED
from capscope.problem.attempt import Ending
from capscope.wording import counted

Requested = tuple[ExecutionTable, Sequence[Intent]]
"""Executions, and the capabilities by index."""

_NOTHING = Effect(0, 0)
_CHANGED = ENDINGS.index(Ending.CHANGED)


@dataclass(frozen=True)
class UnrequestedChange:
    """A form of change beyond a form of request, and the executions that made it."""

    request: str
    """The form of the request: `archived(x)`."""
    change: str
    """The form of the change: `deleted(another mail)`."""
    executions: int
    """The executions that made the change."""
    possible: int
    """The executions in which it could happen, these included."""
    named: bool
    """Whether it is about an object that the request names."""
    steps: int
    """Of the executions that made it, those that ended with a change before the request held."""
    undone: bool
    """Whether any execution of the run made it false again."""
    most: int
    """How many literals of the form one execution changed, at most."""
    intents: tuple[Intent, ...]
    """The capabilities that showed it."""
    example: Transition
    """The first execution that made it."""
    whole: Effect = field(metadata=OMITTED)
    """Everything that executions changed in this form."""
    made: frozenset[int] = field(repr=False, metadata=OMITTED)
    """The distinct transitions that made it, by number."""
    could: tuple[int, ...] = field(repr=False, metadata=OMITTED)
    """Those in which it could happen."""

    @property
    def on_the_way(self) -> bool:
        """Whether it may be a step on the path in each execution that made it."""
        return self.steps == self.executions

    @property
    def count_text(self) -> str:
        """How often it was seen, and what became of it."""
        parts = [f"{self.executions:,} of {counted(self.possible, 'execution')}"]
        if self.most > 1:
            parts.append(f"up to {self.most} at once")
        parts.append("seen undone" if self.undone else "never undone")
        if self.on_the_way:
            parts.append("maybe a step on the way")
        return ", ".join(parts)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values; states are written as in `model.json`."""
        told = (one.name for one in fields(self) if not one.metadata)
        written = {name: to_json(getattr(self, name)) for name in told}
        ends = {"state": hex(self.example.before), "after": hex(self.example.after)}
        return written | {"example": ends}


def groups_relied_on(
    table: ExecutionTable, intents: Sequence[Intent], groups: ExactlyOne, vocabulary: Vocabulary
) -> tuple[str, ...]:
    """Name the exactly-one groups by which observed changes are left out of the list.

    That no state broke a group does not make it a law: an agent that unlocks one door whenever it
    locks the other one shows the same. The arguments are those of `unrequested_changes`.
    """
    without = replace(groups, groups=())
    dropped = 0
    states, seen = table.states, table.distinct
    columns = (column.tolist() for column in (seen.before, seen.capability, seen.after))
    for before, capability, after in zip(*columns, strict=True):
        effect, intent = Effect.between(states[before], states[after]), intents[capability]
        listed = groups.without_implied(groups.beyond(effect, intent, vocabulary))
        rest = without.beyond(effect, intent, vocabulary).without(listed)
        dropped |= rest.adds | rest.deletes
    used = replace(groups, groups=tuple(group for group in groups.groups if group & dropped))
    return tuple(used.names(vocabulary))


def unrequested_changes(
    table: ExecutionTable, intents: Sequence[Intent], groups: ExactlyOne, vocabulary: Vocabulary
) -> tuple[UnrequestedChange, ...]:
    """List what executions changed beyond their requests.

    Changes of objects that the request does not name come first, of these what nothing undid, then
    the most frequent. What may be a step on the way, and was undone, is last.

    Args:
        table: The executions; those that a budget cut short do not count.
        intents: The capabilities, by index.
        groups: The exactly-one groups, and what is expected of each intent.
        vocabulary: The vocabulary of the states.
    """
    made = _Executions(table, intents, groups, vocabulary)
    return tuple(sorted(made.changes(made.with_constants(made.counts())), key=_rank))


def new_changes(
    executions: Requested, baseline: Requested, groups: ExactlyOne, vocabulary: Vocabulary
) -> list[tuple[UnrequestedChange, int]]:
    """List what executions changed beyond their requests and those of a baseline never did.

    A change is listed only if the baseline has executions of the same form of request in which it
    could happen.

    Args:
        executions: Executions, and the capabilities by index.
        baseline: The executions to compare with, and theirs.
        groups: The exactly-one groups of both, and what is expected of each intent.
        vocabulary: The vocabulary of the states.

    Returns:
        Each change, and in how many executions of the baseline it could have happened.
    """
    newer, older = (_Executions(*side, groups, vocabulary) for side in (executions, baseline))
    known = older.counts()
    fresh = {
        text: {form: count for form, count in own.items() if form not in known.get(text, {})}
        for text, own in newer.counts().items()
    }
    missed = older.possible(fresh)
    found = (
        (change, older.executions(missed.get((change.request, change.change), ())))
        for change in newer.changes(fresh)
    )
    return sorted((pair for pair in found if pair[1]), key=lambda pair: _rank(pair[0]))


def _rank(change: UnrequestedChange) -> tuple[Any, ...]:
    step = change.on_the_way and change.undone
    rate = change.executions / change.possible
    return step, change.named, change.undone, -rate, change.request, change.change


_Made = tuple[Transition, Effect, int, int, int]
"""A transition that made a form of change, what it changed in this form, its executions, those of
them that may be a step on the path, and its number."""
Counts = Mapping[str, Mapping[Literal, list[_Made]]]
"""By the form of the request and the form of the change."""


class _Executions:
    """Distinct transitions, and the requests behind them."""

    def __init__(
        self,
        table: ExecutionTable,
        intents: Sequence[Intent],
        groups: ExactlyOne,
        vocabulary: Vocabulary,
    ) -> None:
        self._intents, self._vocabulary = intents, vocabulary
        self._requests = [RequestForm(intent, groups, vocabulary) for intent in intents]
        ended = table.transition[(table.ending == _CHANGED) & (table.transition >= 0)]
        ends = np.bincount(ended, minlength=len(table.distinct)).tolist()
        seen, states = table.distinct, table.states
        columns = (c.tolist() for c in (seen.before, seen.capability, seen.after, seen.count))
        self._transitions = [
            (Transition(states[before], capability, states[after]), count, end)
            for before, capability, after, count, end in zip(*columns, ends, strict=True)
        ]
        """With how often each was seen, and how often a change ended it."""

    def counts(self) -> Counts:
        """Count the executions that made each form of change."""
        counts: dict[str, dict[Literal, list[_Made]]] = {}
        for place, (transition, number, ended) in enumerate(self._transitions):
            request = self._requests[transition.capability]
            steps = 0 if request.holds(transition.after) else ended
            effect = Effect.between(transition.before, transition.after)
            for form, changed in request.beyond(effect).items():
                own = counts.setdefault(request.text, {}).setdefault(form, [])
                own.append((transition, changed, number, steps, place))
        return counts

    def with_constants(self, counts: Counts) -> Counts:
        """Name an object of a type that the request does not name, if it is always the same."""
        return {
            text: {self._constant(form, made): made for form, made in own.items()}
            for text, own in counts.items()
        }

    def _constant(self, form: Literal, made: Sequence[_Made]) -> Literal:
        whole = reduce(Effect.joined, (changed for _, changed, *_ in made))
        atoms = self._vocabulary.holding(whole.adds | whole.deletes)
        columns = zip(form.atom.arguments, *(atom.arguments for atom in atoms), strict=True)
        arguments = (
            names[0] if shown.startswith(SOME) and len(set(names)) == 1 else shown
            for shown, *names in columns
        )
        return Literal(Atom(form.atom.predicate, tuple(arguments)), form.positive)

    def possible(self, counts: Counts) -> dict[tuple[str, str], list[int]]:
        """List the transitions in which each form of change could happen."""
        found: dict[tuple[str, Literal], list[int]] = defaultdict(list)
        for place, (transition, *_) in enumerate(self._transitions):
            request = self._requests[transition.capability]
            for form in counts.get(request.text, ()):
                if request.may_change(form, transition.before):
                    found[request.text, form].append(place)
        return {(text, str(form)): places for (text, form), places in found.items()}

    def executions(self, places: Iterable[int]) -> int:
        """Count the executions of some transitions."""
        return sum(self._transitions[place][1] for place in places)

    def changes(self, counts: Counts) -> Iterator[UnrequestedChange]:
        """Describe some of the changes that were counted."""
        every = (Effect.between(t.before, t.after) for t, *_ in self._transitions)
        ever = reduce(Effect.joined, every, _NOTHING)
        possible = self.possible(counts)
        for text, own in counts.items():
            for form, made in own.items():
                transitions, effects, executions, steps, places = zip(*made, strict=True)
                whole, first = reduce(Effect.joined, effects), transitions[0]
                capabilities = sorted({transition.capability for transition in transitions})
                yield UnrequestedChange(
                    text,
                    str(form),
                    sum(executions),
                    self.executions(possible[text, str(form)]),
                    self._requests[first.capability].names(form),
                    sum(steps),
                    bool(whole.adds & ever.deletes or whole.deletes & ever.adds),
                    max((changed.adds | changed.deletes).bit_count() for changed in effects),
                    tuple(self._intents[c] for c in capabilities),
                    first,
                    whole,
                    frozenset(places),
                    tuple(possible[text, str(form)]),
                )
