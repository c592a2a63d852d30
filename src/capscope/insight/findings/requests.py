"""Requests that differ in their objects only, and the executions of each such form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from capscope.insight.conditions import FoundCondition, LiftedFeatures, find_condition
from capscope.insight.findings.context import FindingContext, rate_among
from capscope.journal.draws import ENDINGS
from capscope.logic import Atom, Effect, Intent
from capscope.logic.footprint import Footprint
from capscope.problem.attempt import Ending
from capscope.stats.arrays import Integers, Mask
from capscope.stats.rate import Rate

_MOST_ROWS = 20_000


@dataclass(frozen=True)
class FormRequests:
    """The executions of all requests of one form, in which the request did not hold before."""

    context: FindingContext
    text: str
    """The form, with variables for the objects: `archived(x)`."""
    capabilities: tuple[int, ...]
    rows: Integers
    """Of the table; those that a budget cut short are left out, and of very many the last ones."""
    achieved: Mask
    """Whether the request held at the end of each."""

    @cached_property
    def failed(self) -> Mask:
        """Whether the request did not hold at the end of each, other than by a step on the way."""
        ending = self.context.table.ending[self.rows]
        failures: Mask = np.logical_and(~self.achieved, ending != ENDINGS.index(Ending.CHANGED))
        return failures

    @property
    def by_chance(self) -> Mask:
        """Whether each was of a pair of a state and a request that was achieved at some time."""
        table = self.context.table
        ends = np.stack([table.before[self.rows], table.capability[self.rows]])
        _, which = np.unique(ends, axis=1, return_inverse=True)
        reached: Mask = np.bincount(which.reshape(-1), self.achieved)[which.reshape(-1)] > 0
        return reached

    @cached_property
    def instead(self) -> Mask:
        """For each capability and execution, whether it came true instead of the request.

        Only requests with one literal have others that may.
        """
        found = np.zeros((len(self.capabilities), len(self.rows)), dtype=bool)
        bits = self.context.vocabulary.bit
        table = self.context.table
        numbers, which = np.unique(table.transition[self.rows], return_inverse=True)
        ends = (c[numbers].tolist() for c in (table.distinct.before, table.distinct.after))
        changed = [
            Effect.between(table.states[s], table.states[t]) for s, t in zip(*ends, strict=True)
        ]
        asked = table.capability[self.rows]
        for place, capability in enumerate(self.capabilities if self.single else ()):
            (literal,) = self.context.intents[capability].literals
            bit = bits[literal.atom]
            done = [bool(bit & (e.adds if literal.positive else e.deletes)) for e in changed]
            found[place] = np.array(done, dtype=bool)[which] & self.failed & (asked != capability)
        return found

    @property
    def single(self) -> bool:
        """Whether the requests are one literal about some object."""
        first = self.context.intents[self.capabilities[0]]
        return len(first.alternatives) == len(first.alternatives[0]) == 1 and bool(first.objects)

    @cached_property
    def features(self) -> LiftedFeatures:
        """What held before each execution, in terms of the variables."""
        table, intents = self.context.table, self.context.intents
        before, asked = table.before[self.rows], table.capability[self.rows]
        pairs, which = np.unique(np.stack([before, asked]), axis=1, return_inverse=True)
        bindings = [intents[capability].objects for capability in pairs[1].tolist()]
        states = [table.states[number] for number in pairs[0].tolist()]
        features = LiftedFeatures.of(self.context.vocabulary, states, bindings, pairs[0])
        return features.where(which.reshape(-1))

    def condition(self, happened: Mask, error_rate: float) -> FoundCondition | None:
        """Return the condition under which an event is more frequent."""
        return find_condition(self.features, happened, error_rate)

    def rate(self, happened: Mask, rows: Mask, selected_from: int = 1) -> Rate | None:
        """Return how often an event happens in some executions; None if there are none."""
        if not rows.any():
            return None
        return rate_among(self.context.table, self.rows[rows], happened[rows], selected_from)

    def wished_for(self, among: Mask) -> bool:
        """Return whether somebody may ask for half of some requests or more.

        These are no negations, and the same became true of such objects.
        """
        words = self.context.vocabulary

        def kind(atom: Atom) -> tuple[object, ...]:
            same = map(atom.arguments.index, atom.arguments)
            return (atom.predicate, *map(words.objects.__getitem__, atom.arguments), *same)

        shown = set(map(kind, words.holding(self.context.ever.adds)))
        wished = [
            capability
            for capability in self.capabilities
            if any(
                x.positive and kind(x.atom) in shown
                for x in self.context.intents[capability].mentioned
            )
        ]
        asked = self.context.table.capability[self.rows[among]]
        return 2 * int(np.isin(asked, wished).sum()) >= len(asked)

    def asked(self, happened: Mask) -> tuple[Intent, ...]:
        """Return the requests at which an event happened."""
        shown = np.unique(self.context.table.capability[self.rows[happened]]).tolist()
        return tuple(self.context.intents[capability] for capability in shown)


def requests(context: FindingContext) -> Sequence[FormRequests]:
    """Return the executions of each form of request, for `FindingContext.once`."""
    table, words = context.table, context.vocabulary
    forms: dict[str, list[int]] = {}
    for capability, intent in enumerate(context.intents):
        text = str(intent.renamed(Footprint(intent, words).lift))
        forms.setdefault(text, []).append(capability)
    seen, tests = table.distinct, [intent.test(words) for intent in context.intents]
    held, achieved = (
        np.array(
            [tests[c](table.states[s]) for c, s in zip(asked, states.tolist(), strict=True)],
            dtype=bool,
        )
        for asked in [seen.capability.tolist()]
        for states in (seen.before, seen.after)
    )
    whole = np.flatnonzero(table.transition >= 0)
    used = whole[~held[table.transition[whole]]]
    found = []
    for text, capabilities in forms.items():
        rows = used[np.isin(table.capability[used], capabilities)][-_MOST_ROWS:]
        if len(rows):
            ends = achieved[table.transition[rows]]
            found.append(FormRequests(context, text, tuple(capabilities), rows, ends))
    return found
