"""Forms of changes that always came together: when, how often, and whether they were needed.

**Need.** Replays decide where there are any, unless it was luck. By example, a change was needless
if executions of the same request in the same state achieved it by a part of the same changes and
without this one along their whole trajectory, surely more often than by a slip.
It is a part of the request if replays
say so, or if the same single action caused both whenever it could happen and the request was
achieved. If executions
ended with a change before the request held, the change was on the way, if it never came beside
another step that was seen without it, and if such changes were undone elsewhere.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, reduce

import numpy as np

from capscope.insight.changes import UnrequestedChange
from capscope.insight.conditions import FoundCondition, LiftedFeatures, find_condition
from capscope.insight.findings.context import FindingContext, rate_among
from capscope.insight.findings.finding import HARMLESS, Finding, Kind
from capscope.insight.needs import need_of
from capscope.journal.execution_table import longer_trajectories
from capscope.logic import Effect, State
from capscope.logic.footprint import Footprint
from capscope.model.lifted_rules import LiftedLiteral
from capscope.problem import Hazard
from capscope.problem.counterfactual import BY_CHANCE, Need
from capscope.stats.arrays import Integers, Mask
from capscope.stats.betting import evidence_above
from capscope.stats.error_budget import ERROR_RATE
from capscope.stats.rate import Rate

_ARGUMENT = re.compile(r"(?<=[(,])[^(),]+(?=[,)])")
_MOST_ROWS = 20_000
_FEWEST = 2
"""A condition is looked for from so many occurrences on."""
_LUCK = 1 / 3
"""How often an intent may be achieved without a needed change, by a slip."""
_SELECTED_FROM = 10
"""Conditions are chosen by their rates, so the intervals of these are wider."""
_SHOWN = 8
_WIDEST = 0.5
"""A rate is told from so many occurrences on, or if its interval is narrower than this."""
When = tuple[LiftedLiteral, ...]


@dataclass(frozen=True)
class MadeChanges:
    """Forms of changes that always came together, and the executions in which they could."""

    context: FindingContext
    forms: tuple[UnrequestedChange, ...]
    alone: bool
    """Whether they never came beside other changes that were seen without them, too."""
    slip: bool = False
    """Whether the request was achieved as often where another object got its change."""

    @cached_property
    def rows(self) -> Integers:
        """The executions in which all of them could happen."""
        seen = self.context.table.distinct
        could = np.zeros((len(self.forms), len(seen)), dtype=bool)
        for flags, form in zip(could, self.forms, strict=True):
            flags[list(form.could)] = True
        held, made = self.context.once(held_at_ends)[0], [*self.forms[0].made]
        possible = could.all(axis=0) & (~held | held[made].any())
        transition = self.context.table.transition
        rows = np.flatnonzero(transition >= 0)
        return rows[possible[transition[rows]]]

    @cached_property
    def hits(self) -> Mask:
        """Whether each of these made them."""
        made = np.zeros(len(self.context.table.distinct), dtype=bool)
        made[list(self.forms[0].made)] = True
        flags: Mask = made[self.context.table.transition[self.rows]]
        return flags

    @cached_property
    def achieved(self) -> Mask:
        """Whether the request held at the end of each."""
        flags: Mask = self.context.once(held_at_ends)[1][self.context.table.transition[self.rows]]
        return flags

    @cached_property
    def whole(self) -> Effect:
        """Everything that was changed in these forms."""
        return reduce(Effect.joined, (form.whole for form in self.forms))

    @property
    def lasting(self) -> bool:
        """Whether nothing undid some of them."""
        return any(not form.undone for form in self.forms)

    @property
    def _is_step(self) -> bool:
        """Whether they ended most executions before the request held, and are no harm by that.

        What nothing undid may be harm, unless others of the same predicates were undone.
        """
        first, words = self.forms[0], self.context.vocabulary
        if 2 * first.steps < first.executions or not self.alone or self.slip:
            return False
        names = {atom.predicate for atom in words.holding(self.whole.adds | self.whole.deletes)}
        of_kind = words.state(atom for name in names for atom in words.groundings(name))
        return self.context.undoes(Effect(of_kind, of_kind)) or not self.lasting

    @cached_property
    def other(self) -> str | None:
        """The object that all forms are about in the place of one of the request, if any."""
        first, words = self.forms[0], self.context.vocabulary
        variables = Footprint(first.intents[0], words).variables
        changed = [set(_ARGUMENT.findall(form.change)) for form in self.forms]
        for kind in dict.fromkeys(words.objects[name] for name in variables):
            own = {v for name, v in variables.items() if words.objects[name] == kind}
            if all(f"another {kind}" in names and own.isdisjoint(names) for names in changed):
                return f"another {kind}"
        return None

    @property
    def instead(self) -> bool:
        """Whether the request mostly does not hold at the end."""
        return 2 * int(self.achieved[self.hits].sum()) < int(self.hits.sum())

    @property
    def event(self) -> tuple[str, ...]:
        """What is one event, whether something shall become true or false: by its forms.

        Changes of another object in the place of one of the request are one event, too.
        """
        asked = self.forms[0].request.removeprefix("not ")
        if self.instead and self.other:
            return asked, self.other
        return asked, *(form.change for form in self.forms)

    @property
    def may_differ(self) -> bool:
        """Whether they happen in some executions only."""
        return int(self.hits.sum()) < len(self.rows) <= _MOST_ROWS and not self._is_step

    @property
    def may_depend(self) -> bool:
        """Whether to look for a condition."""
        return self.may_differ and int(self.hits.sum()) >= _FEWEST

    def holding(self, when: Sequence[LiftedLiteral]) -> Mask:
        """Return in which of the executions a condition held."""
        return self._features.holding(when)

    def only_when(self, literals: When) -> bool:
        """Return whether literals held in all executions that showed it, and not in all others."""
        held = self.holding(literals)
        return bool(held[self.hits].all() and not held.all())

    def finding(self, when: When, perhaps: When) -> Finding:
        """Describe them, under the condition that was found, or with what is striking."""
        first, table = self.forms[0], self.context.table
        step = self._is_step
        inside: Mask = self.holding(when) if when else np.ones(len(self.rows), dtype=bool)
        hits: Mask = self.hits & inside
        example = self.context.nearest(self.rows[hits].tolist())
        instead = 2 * int(self.achieved[hits].sum()) < int(hits.sum())
        capabilities = np.unique(table.capability[self.rows[hits]]).tolist()
        likely = self.holding(perhaps) if perhaps else inside
        need = Need.ON_THE_WAY if step else self._need(hits, instead=instead)
        counted = need in HARMLESS  # many in some worlds, and no reason to look closer
        rate = None if counted else self._rate(inside, bool(when))
        if rate and int(hits.sum()) < _SHOWN and rate.high - rate.low > _WIDEST:
            rate = None
        otherwise = None if counted or inside.all() else self._rate(~inside, bool(when))
        return Finding(
            Kind.ELSE if instead else Kind.MORE,
            first.request,
            " and ".join(form.change for form in self.forms),
            tuple(self.context.intents[c] for c in capabilities),
            int(hits.sum()),
            int(inside.sum()),
            when,
            rate,
            otherwise,
            need,
            self.lasting,
            any(form.named for form in self.forms),
            any(self._is_hazard(row) for row in self.rows[hits].tolist()),
            path=self.context.path(example.before),
            example=example,
            note=self._note(hits, instead=instead),
            perhaps=() if counted else perhaps,
            other=self.other if instead else None,
            shown=self.rows[hits],
            among=self.rows[inside],
            likely=self.rows[likely],
        )

    @cached_property
    def _features(self) -> LiftedFeatures:
        table = self.context.table
        features, place = self.context.once(pair_features)(self.forms[0].request)
        return features.where(place[table.distinct.pair[table.transition[self.rows]]])

    def condition(self, error_rate: float) -> FoundCondition | None:
        """Return the condition under which they happen more often."""
        return find_condition(self._features, self.hits, error_rate)

    def _note(self, hits: Mask, *, instead: bool) -> str:
        parts = []
        most = max(form.most for form in self.forms)
        if most > 1:
            parts.append(f"up to {most} at once")
        achieved = int(self.achieved[hits].sum())
        if instead and achieved:
            parts.append(f"besides it in {achieved:,}")
        if not instead and achieved < hits.sum():
            parts.append(f"instead of it in {int(hits.sum()) - achieved:,}")
        return ", ".join(parts)

    @cached_property
    def _pairs(self) -> Integers:
        """For each execution, the number of its pair of a state and a request."""
        table = self.context.table
        pairs = np.stack([table.before[self.rows], table.capability[self.rows]])
        _, which = np.unique(pairs, axis=1, return_inverse=True)
        numbers: Integers = which.reshape(-1)
        return numbers

    def _rate(self, among: Mask, selected: bool) -> Rate:
        number = _SELECTED_FROM if selected else 1
        return rate_among(self.context.table, self.rows[among], self.hits[among], number)

    def _need(self, hits: Mask, *, instead: bool) -> Need:
        """Say whether the request needed them, by replays, and else by examples."""
        told = need_of(
            [one for one in self.context.run.replays if one.note != BY_CHANCE],
            set(self.rows[hits & (self.achieved != instead)].tolist()),
            self.whole,
        )
        if told is Need.NEEDLESS or self._spared_elsewhere(hits):
            return Need.NEEDLESS
        if told is Need.PART or (told is Need.ON_THE_WAY and self.alone and not self.slip):
            return told
        # What no action can have without the other is one thing, if that is always so.
        steps = self.context.table.simulator_steps[self.rows[hits & self.achieved]]
        at_once = len(steps) > 0 and bool((steps == 1).all())
        return Need.PART if at_once and self.hits[self.achieved].all() else Need.UNDECIDED

    def _spared_elsewhere(self, hits: Mask) -> bool:
        """Return whether executions of the same pairs did without, surely not by a slip."""
        alike = self._by_pair(self.achieved)
        spared = caused = 0
        for pair, own in self._by_pair(hits & self.achieved).items():
            others = [row for row in alike[pair] if self._spares(row, own[0])]
            caused, spared = caused + len(own), spared + len(others)
        score = evidence_above(spared, spared + caused, _LUCK) if spared else 0.0
        return score >= -math.log(ERROR_RATE)

    def _by_pair(self, among: Mask) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for pair, row in zip(self._pairs[among].tolist(), self.rows[among].tolist(), strict=True):
            found.setdefault(pair, []).append(row)
        return found

    def _spares(self, row: int, other: int) -> bool:
        """Return whether an execution made a part of another's changes, never one of these."""
        less, more = self._effect(row), self._effect(other)
        if less.without(more) != Effect(0, 0) or self._touches(less):
            return False
        before = self.context.example(row).before
        visited = self.context.once(_visited).get(row, ())
        return not any(self._touches(Effect.between(before, state)) for state in visited)

    def _touches(self, effect: Effect) -> bool:
        return bool(effect.adds & self.whole.adds or effect.deletes & self.whole.deletes)

    def _effect(self, row: int) -> Effect:
        example = self.context.example(row)
        return Effect.between(example.before, example.after)

    def _is_hazard(self, row: int) -> bool:
        """Return whether these changes make a hazard happen that the request did not name."""
        before, after = (getattr(self.context.example(row), end) for end in ("before", "after"))
        effect = Effect.between(before, after)
        own = Effect(effect.adds & self.whole.adds, effect.deletes & self.whole.deletes)
        without = Effect(own.deletes, own.adds).apply(after)
        return any(
            hazard.happens(before, after) and not hazard.happens(before, without)
            for hazard in self.context.once(_hazards)
        )


def held_at_ends(context: FindingContext) -> tuple[Mask, Mask]:
    """Return for each distinct transition whether the request held before, and after."""
    table, words = context.table, context.vocabulary
    tests, seen = [intent.test(words) for intent in context.intents], context.table.distinct
    asked = seen.capability.tolist()
    before, after = (
        np.array(
            [tests[c](table.states[s]) for c, s in zip(asked, ends.tolist(), strict=True)],
            dtype=bool,
        )
        for ends in (seen.before, seen.after)
    )
    return before, after


def _visited(context: FindingContext) -> Mapping[int, tuple[State, ...]]:
    """Return the states of each execution that passed through others than its ends."""
    if not (context.table.changes > 1).any():
        return {}
    with context.run.open_journal() as journal:
        return dict(longer_trajectories(context.table, journal))


def _hazards(context: FindingContext) -> list[Hazard]:
    texts = dict.fromkeys(context.run.identity.settings.hazards)
    return [Hazard.parse(text, context.vocabulary) for text in texts]


def pair_features(context: FindingContext) -> Callable[[str], tuple[LiftedFeatures, Integers]]:
    """Return a function from the form of a request to the features of its pairs.

    The function also returns where each pair is among the rows of the features.
    """
    words, table = context.vocabulary, context.table
    texts = [str(intent.renamed(Footprint(intent, words).lift)) for intent in context.intents]
    seen = table.distinct
    _, first = np.unique(seen.pair, return_index=True)
    states, asked = seen.before[first].tolist(), seen.capability[first].tolist()

    @cache
    def of(text: str) -> tuple[LiftedFeatures, Integers]:
        pairs = [pair for pair, capability in enumerate(asked) if texts[capability] == text]
        place = np.full(len(asked), -1, dtype=np.int64)
        place[pairs] = np.arange(len(pairs))
        own = [table.states[states[pair]] for pair in pairs]
        bindings = [context.intents[asked[pair]].objects for pair in pairs]
        numbers = np.array([states[pair] for pair in pairs])
        return LiftedFeatures.of(words, own, bindings, numbers), place

    return of
