"""Ask the same about several intents at once: "archived(x)" for all mails.

One intent may have been tried in few states, each once. Intents that differ only in objects mostly
behave alike, so their draws are evidence together: the objects are replaced by variables, in the
intent, in what is changed and in the condition. Which objects are alike is not known. So a question
is asked at several levels: with all objects replaced, with those of some types only, and with none.
The most general level counts at which all intents agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from capscope.insight.earlier_findings.finding import LEAST_DIFFERENCE, Clause
from capscope.insight.earlier_findings.splits import EventCounts
from capscope.logic import Atom, Effect, Intent, Literal, State
from capscope.logic.footprint import variable_names
from capscope.stats.betting import evidence_of_difference
from capscope.stats.error_budget import Share
from capscope.wording import first_few, joined

if TYPE_CHECKING:
    from capscope.insight.earlier_findings.context import FindingContext

_DISAGREEMENT = np.log(20)
MOST_NAMED = 4
"""Requests, or objects, in one sentence."""


class Topic(NamedTuple):
    """What a question is about: a capability, and a literal that executions may cause."""

    capability: int
    literal: Literal | None = None


@dataclass(frozen=True)
class Instance:
    """A topic with variables for some of its objects."""

    topic: Topic
    variables: Mapping[str, str]
    """Object → variable."""

    @cached_property
    def objects(self) -> dict[str, str]:
        """Variable → object."""
        return {variable: o for o, variable in self.variables.items()}

    def lift(self, atom: Atom) -> Atom:
        """Replace objects by variables."""
        return Atom(atom.predicate, tuple(self.variables.get(o, o) for o in atom.arguments))

    def ground(self, atom: Atom) -> Atom:
        """Replace variables by objects."""
        return Atom(atom.predicate, tuple(self.objects.get(o, o) for o in atom.arguments))


@dataclass(frozen=True)
class Family:
    """Topics that are the same but for the objects that variables stand for."""

    instances: tuple[Instance, ...]

    @property
    def topics(self) -> list[Topic]:
        """The topics of all instances."""
        return [instance.topic for instance in self.instances]

    def lifted(self, literals: Iterable[Literal]) -> tuple[Literal, ...]:
        """Write literals of the first instance with the variables of the family."""
        first = self.instances[0]
        return tuple(Literal(first.lift(x.atom), x.positive) for x in literals)

    def asked(self, intents: Sequence[Intent]) -> list[str]:
        """Write what is asked for, with variables, each once."""
        lifted = (intents[one.topic.capability].renamed(one.lift) for one in self.instances)
        return list(dict.fromkeys(map(str, lifted)))

    @property
    def bindings(self) -> str:
        """Say which objects the variables stand for; empty without variables."""
        names = list(self.instances[0].objects)
        if not names:
            return ""
        values = [", ".join(i.objects[n] for n in names) for i in self.instances]
        if len(names) > 1:
            values = [f"({value})" for value in values]
        shown = first_few([*dict.fromkeys(values)], MOST_NAMED)
        left = names[0] if len(names) == 1 else "(" + ", ".join(names) + ")"
        return f" (for {left} = {joined(shown, 'or')})"


@dataclass(frozen=True)
class Thresholds:
    """What the evidence about a family must reach.

    Questions about several intents are few, and those about single ones many. Half of the error
    rate is for each; of that, half for the condition and a quarter each for its further parts and
    for the rate.
    """

    condition: float
    later: float
    rate: float

    @classmethod
    def of(
        cls, share: Share, asked: Sequence[Family], fraction: float = 1.0
    ) -> tuple[Thresholds, Thresholds]:
        """Divide a part of a share: thresholds for single intents, and for several."""
        several = sum(len(family.instances) > 1 for family in asked)
        single, many = (
            cls(
                share.threshold(number, fraction / 4),
                share.threshold(2 * number, fraction / 8),
                share.threshold(number, fraction / 8),
            )
            for number in (len(asked) - several, several)
        )
        return single, many

    def for_overlapping(self, number: int) -> Thresholds:
        """Return the thresholds if one draw may count `number` times.

        Rows of the same draw are not independent evidence. At worst all are equal; then the
        score is a power of one of them.
        """
        return Thresholds(self.condition * number, self.later * number, self.rate)


Rows = tuple[np.ndarray, np.ndarray, np.ndarray]
"""The indices of states, and the hits and draws of each."""


def families(context: FindingContext, topics: Sequence[Topic]) -> list[Family]:
    """List the questions about some topics, the most general first; each topic alone is the last.

    A level that puts together the same topics as a more general one is left out.
    """
    found: dict[frozenset[Topic], Family] = {}
    types = context.vocabulary.objects
    objects = {topic: _objects(context, topic) for topic in topics}
    every = sorted({types[o] for own in objects.values() for o in own})
    for size in range(min(len(every), 3), 0, -1):
        for lifted_types in combinations(every, size):
            groups: dict[object, list[Instance]] = {}
            for topic in topics:
                instance = _instance(context, topic, objects[topic], lifted_types)
                groups.setdefault(_key(context, instance), []).append(instance)
            for members in groups.values():
                if len(members) > 1:
                    family = _without_constants(context, members)
                    found.setdefault(frozenset(family.topics), family)
    alone = [Family((Instance(topic, {}),)) for topic in topics]
    general = sorted(found.values(), key=lambda family: -len(family.instances))
    return [*general, *alone]


def _without_constants(context: FindingContext, members: Sequence[Instance]) -> Family:
    """Make a family; a variable that always stands for the same object is that object."""
    kept = [
        variable
        for variable, name in members[0].objects.items()
        if any(member.objects[variable] != name for member in members)
    ]
    names = dict(zip(kept, variable_names(context.vocabulary), strict=False))
    return Family(
        tuple(
            Instance(m.topic, {o: names[v] for o, v in m.variables.items() if v in names})
            for m in members
        )
    )


def _objects(context: FindingContext, topic: Topic) -> list[str]:
    also = topic.literal.atom.arguments if topic.literal is not None else ()
    return list(dict.fromkeys((*context.intents[topic.capability].objects, *also)))


def _instance(
    context: FindingContext, topic: Topic, objects: Sequence[str], types: Sequence[str]
) -> Instance:
    chosen = [o for o in objects if context.vocabulary.objects[o] in types]
    return Instance(topic, dict(zip(chosen, variable_names(context.vocabulary), strict=False)))


def _key(context: FindingContext, instance: Instance) -> tuple[object, object, object]:
    capability, literal = instance.topic
    types = tuple(context.vocabulary.objects[o] for o in instance.variables)
    # Not in canonical order: what a variable stands for comes from its place in the intent.
    asked = [
        tuple((instance.lift(x.atom), x.positive) for x in one)
        for one in context.intents[capability].alternatives
    ]
    also = None if literal is None else (instance.lift(literal.atom), literal.positive)
    return tuple(asked), also, types


def family_counts(
    context: FindingContext, family: Family, rows_of: Mapping[Topic, Rows]
) -> EventCounts:
    """Put the rows of all topics together, with features that mean the same in each."""
    lifted, columns = _lifted_features(context, family)
    ground = context.varying
    names = (*lifted, *(context.vocabulary.atoms[i] for i in ground))
    pairs: list[tuple[int, State]] = []
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []
    for number, (instance, index) in enumerate(zip(family.instances, columns, strict=True)):
        states, hits, draws = rows_of[instance.topic]
        pairs += ((instance.topic.capability, context.nodes[i].state) for i in states.tolist())
        columns_of = np.array([*index, *ground], dtype=np.int64)
        members = np.full(len(states), number, dtype=np.int64)
        parts.append((context.bits[states[:, None], columns_of], hits, draws, members))
    bits, hits, draws, members = (np.concatenate(column) for column in zip(*parts, strict=True))
    return EventCounts(tuple(pairs), hits, draws, names, bits, members)


def _lifted_features(context: FindingContext, family: Family) -> tuple[list[Atom], list[list[int]]]:
    """Return the atoms with variables that every instance has, and where they are in each."""
    first = family.instances[0]
    index = context.atom_index
    atoms = dict.fromkeys(a for o in first.variables for a in context.atoms_of(o))
    names: list[Atom] = []
    columns: list[list[int]] = [[] for _ in family.instances]
    for atom in atoms:
        name = first.lift(atom)
        own = [index.get(instance.ground(name)) for instance in family.instances]
        if None not in own:
            names.append(name)
            for column, i in zip(columns, own, strict=True):
                assert i is not None
                column.append(i)
    return names, columns


def overlap(context: FindingContext, family: Family) -> int:
    """Return how many literals of a family one execution caused together, at most; at least 1."""
    masks: dict[int, list[State]] = {}
    for capability, literal in family.topics:
        if literal is not None:
            bit = context.vocabulary.bit[literal.atom]
            masks.setdefault(capability, [0, 0])[literal.positive] |= bit
    most = 1
    for capability, (deleted, added) in masks.items():
        if (deleted | added).bit_count() > 1:
            for effect in context.effects[capability]:
                together = (effect.adds & added).bit_count() + (
                    effect.deletes & deleted
                ).bit_count()
                most = max(most, together)
    return most


def agree(family: Family, counts: EventCounts) -> bool:
    """Return whether no capability of a family differs from the others by enough to matter."""
    asked = np.array([capability for capability, _ in counts.pairs])
    return len(family.instances) == 1 or groups_agree(counts, asked)


def groups_agree(counts: EventCounts, groups: np.ndarray) -> bool:
    """Return whether no group of rows differs from the others by enough to matter."""
    hits, draws = counts.pooled
    shares = counts.hits / np.maximum(counts.draws, 1)
    for group in np.unique(groups).tolist():
        own = groups == group
        h, n = int(counts.hits[own].sum()), int(counts.draws[own].sum())
        if n == draws or abs(shares[own].mean() - shares[~own].mean()) < LEAST_DIFFERENCE:
            continue
        numbers = (np.array([x]) for x in (h, n, hits - h, draws - n))
        if float(evidence_of_difference(*numbers)[0]) > _DISAGREEMENT:
            return False
    return True


def ground_clauses(instance: Instance, when: Iterable[Clause]) -> list[Clause]:
    """Write a condition with the objects of an instance."""
    return [
        Clause(tuple(Literal(instance.ground(x.atom), x.positive) for x in c.term), c.holds)
        for c in when
    ]


def negates(effect: Effect, clauses: Sequence[Clause], context: FindingContext) -> bool:
    """Return whether an effect makes a literal of a condition false."""
    literals = [x for c in clauses if c.holds for x in c.term]
    required, forbidden = context.vocabulary.literal_masks(literals)
    return bool(effect.deletes & required or effect.adds & forbidden)
