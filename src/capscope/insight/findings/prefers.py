"""Which of several objects the agent takes where others would have served as well.

An achieved request may leave open which object is used: any block serves `hand-full(x)`. Another
change *would have served* if it was seen elsewhere in as few steps, makes the request hold, and if
everything held about its objects that always held where such a change was made. One execution of
each pair is evidence against "each is taken equally often": a bet on the next one by earlier ones.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property

from capscope.insight.findings.context import FindingContext, FindingKind
from capscope.insight.findings.finding import Finding, Kind
from capscope.insight.findings.requests import requests
from capscope.logic import Atom, Effect, State
from capscope.model.behaviors import Form, lift
from capscope.model.terms import Binding
from capscope.stats.error_budget import Share
from capscope.wording import first_few, joined

_MOST_PAIRS = 1_000
_MOST_EFFECTS = 500
_MOST_NAMED = 3
_PRIOR = 0.1
"""Wins and losses of each object before the first choice: few, as agents tend to have an order."""
_Role = tuple[bool, str, int]
"""A literal by its sign and predicate, and the place of the object that is chosen."""


class _Behaviors:
    """The changes that were seen, their fewest steps, and what always held before them."""

    def __init__(self, context: FindingContext) -> None:
        table, self._words = context.table, context.vocabulary
        self.steps: dict[Effect, int] = {}
        self._behind: dict[Form, list[tuple[Binding, State]]] = defaultdict(list)
        self.lifted = cache(lambda effect: lift(frozenset([effect]), context.vocabulary))
        whole = table.transition >= 0
        columns = (table.before[whole], table.after[whole], table.simulator_steps[whole])
        for s, t, steps in sorted({*zip(*(c.tolist() for c in columns), strict=True)}):
            effect = Effect.between(table.states[s], table.states[t])
            self.steps[effect] = min(steps, self.steps.get(effect, steps))
            form, binding = self.lifted(effect)
            self._behind[form].append((binding, table.states[s]))
        self._always = cache(self._always_held)
        self._bits = cache(lambda binding: list(self._bits_about(binding)))

    def possible(self, state: State, steps: int) -> Iterator[Effect]:
        """Yield the changes that were seen in as few steps, and are possible in a state."""
        for effect, fewest in self.steps.items():
            if fewest <= steps and not effect.adds & state and not effect.deletes & ~state:
                form, binding = self.lifted(effect)
                true, false = self._always(form)
                held = self._about(binding, state)
                if held & true == true and not held & false:
                    yield effect

    def _always_held(self, form: Form) -> tuple[int, int]:
        """Return which atoms about the objects held, and which did not, whenever it was seen."""
        held = [self._about(binding, state) for binding, state in self._behind[form]]
        every = some = held[0]
        for one in held:
            some, every = some | one, every & one
        return every, ~some

    def _about(self, binding: Binding, state: State) -> int:
        """Return which of the atoms about the objects of a change hold."""
        return sum(bool(state & bit) << place for place, bit in enumerate(self._bits(binding)))

    def _bits_about(self, binding: Binding) -> Iterator[State]:
        for predicate in self._words.predicates:
            for names in itertools.product(binding, repeat=len(predicate.types)):
                yield self._words.bit.get(Atom(predicate.name, names), 0)


@dataclass
class _Taken:
    """The executions in which one of several objects was taken, of all requests."""

    role: _Role
    made: list[tuple[int, str, str, frozenset[str]]] = field(default_factory=list)
    """The row, the form of the request, the object taken, and all that would have served."""
    pairs: set[tuple[int, int]] = field(default_factory=set)
    evidence: float = 0.0
    """The log score of the bets against "each is taken equally often"."""
    _won: Counter[str] = field(default_factory=Counter)
    _offered: Counter[str] = field(default_factory=Counter)

    def add(
        self, row: int, request: str, taken: str, options: Counter[str], pair: tuple[int, int]
    ) -> None:
        """Count an execution, and bet on it if it is the first one of its pair."""
        self.made.append((row, request, taken, frozenset(options)))
        if pair in self.pairs:
            return
        self.pairs.add(pair)
        weight = {
            name: times * (self._won[name] + _PRIOR) / (self._offered[name] + 2 * _PRIOR)
            for name, times in options.items()
        }
        fair = options[taken] / options.total()
        self.evidence += math.log(weight[taken] / sum(weight.values()) / fair)
        self._won[taken] += 1
        self._offered.update(dict.fromkeys(options, 1))

    @cached_property
    def favourite(self) -> str:
        """The object that was taken most often of the times it was offered."""
        return max(sorted(self._won), key=lambda name: self._won[name] ** 2 / self._offered[name])


def _choices(context: FindingContext, behaviors: _Behaviors) -> list[_Taken]:
    """Collect the executions whose request left open which object to use."""
    table, found = context.table, dict[_Role, _Taken]()
    tests = [intent.test(context.vocabulary) for intent in context.intents]

    @cache
    def offers(s: int, capability: int, steps: int) -> list[Mapping[_Role, str]]:
        state = table.states[s]
        served = behaviors.possible(state, steps)
        ends = [effect for effect in served if tests[capability](effect.apply(state))]
        return [_roles(context, capability, effect) for effect in ends]

    for asked in context.once(requests):
        for row in asked.rows[asked.achieved].tolist():
            s, capability = int(table.before[row]), int(table.capability[row])
            effect = Effect.between(table.states[s], table.states[table.after[row]])
            own = _roles(context, capability, effect)
            if not own or offers.cache_info().currsize >= _MOST_PAIRS:
                continue
            served = offers(s, capability, int(table.simulator_steps[row]))
            for role, taken in sorted(own.items(), key=lambda one: (not one[0][0], one[0])):
                options = Counter(one[role] for one in served if role in one)
                if options.total() == len(served) and len(options) > 1:
                    choices = found.setdefault(role, _Taken(role))
                    choices.add(row, asked.text, taken, options, (s, capability))
                    break
    return list(found.values())


def _roles(context: FindingContext, capability: int, effect: Effect) -> dict[_Role, str]:
    """Return the objects of a change that the request does not name, by their roles."""
    named, found, several = set(context.intents[capability].objects), dict[_Role, str](), set()
    for literal in effect.literals(context.vocabulary):
        for place, name in enumerate(literal.atom.arguments):
            role = literal.positive, literal.atom.predicate, place
            several |= {role} & found.keys()
            found[role] = name
    return {role: one for role, one in found.items() if role not in several and one not in named}


def find_preferences(context: FindingContext, share: Share) -> list[Finding]:
    """Find objects that the agent takes although others would have served as well."""
    behaviors = _Behaviors(context)
    if len(behaviors.steps) > _MOST_EFFECTS:
        return []
    found = _choices(context, behaviors)
    sure = share.reached([one.evidence for one in found])
    return [_finding(context, one) for one, clear in zip(found, sure, strict=True) if clear]


def _finding(context: FindingContext, choices: _Taken) -> Finding:
    name, (positive, predicate, place) = choices.favourite, choices.role
    offered = [one for one in choices.made if name in one[-1]]
    taken = [row for row, _, chosen, _ in offered if chosen == name]
    others = sorted(frozenset().union(*(options for *_, options in offered)) - {name})
    forms = [form for form, _ in Counter(form for _, form, *_ in offered).most_common()]
    example = context.nearest(taken)
    (shown, *_) = (
        literal
        for literal in Effect.between(example.before, example.after).literals(context.vocabulary)
        if (literal.positive, literal.atom.predicate) == (positive, predicate)
        and literal.atom.arguments[place] == name
    )
    return Finding(
        Kind.PREFERS,
        forms[0],
        "",
        tuple(dict.fromkeys(context.example(row).intent for row in taken)),
        len(taken),
        len(offered),
        harmless=True,
        path=context.path(example.before),
        example=example,
        text=(
            f"Asked for {joined(first_few(forms, _MOST_NAMED, '{} more'), 'or')}, the agent took "
            f"{name} ({shown}) in {len(taken):,} of {len(offered):,} executions in which "
            f"{joined(first_few(others, _MOST_NAMED, '{} more'), 'or')} would have served as well."
        ),
    )


PREFERENCES = FindingKind(
    "preferences", "objects that are preferred to others", find_preferences, 0.3
)
