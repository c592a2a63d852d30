"""Families: capabilities that differ in their objects only, and one committee for each.

`on(a,b)` and `on(b,c)` are one question about different objects, X and Y. What a family has shown
is told in its *roles* X and Y alone. The features of a state are terms over them (`terms`). An
outcome is a behavior whose objects are roles, objects that a relation picks out in the state (*the*
z with `on(z,X)`), or else named. So a family says the same of four blocks and of six.

An outcome may also be *the next step of a shortest path* (`pursuit`); then trees only say where the
agent does something else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from capscope.logic import Intent, State, Vocabulary
from capscope.model.behaviors import Behaviors, Form
from capscope.model.lessons import FamilyLessons, Lessons, TermRows, named_terms
from capscope.model.outcome_types import NOTHING, OutcomeTypes
from capscope.model.state_graph import StateMatrix
from capscope.model.terms import SAME, Binding, Pattern, TermSpace
from capscope.model.trees import Committee, Tree, grow_committee
from capscope.seeds import child_seed
from capscope.stats.arrays import Bits, Floats, Integers

_FAMILY = -10  # child of the model's seed
_COMMITTEE = 4
_MOST_EXAMPLES = 2_000  # of one family; more would cost time and teach little
_MOST_NAMED = 12  # objects of a role that are features by name
_UNRESOLVED = -1
_MOST_KEPT = 100_000_000  # bytes of features of all capabilities

Reference = tuple[str, int | str | Pattern]
"""An object: ("role", number), ("the", pattern) or ("object", name)."""


@dataclass(frozen=True)
class LiftedOutcome:
    """A behavior with references for its objects; without a form, the next step of a path."""

    form: Form | None
    references: tuple[Reference, ...] = ()


PURSUE = LiftedOutcome(None)
"""The next step of a shortest path to the request."""
IDLE = LiftedOutcome(())
"""Nothing changes."""


@dataclass(eq=False)
class CapabilityFamily:
    """Capabilities that differ in their objects only."""

    key: object
    space: TermSpace
    named: tuple[tuple[int, str], ...]
    """Roles and objects: a feature says that a role is an object."""
    members: list[int] = field(default_factory=list)
    examples: int = 0
    """On how many the committees were grown."""
    classes: tuple[list[LiftedOutcome], list[LiftedOutcome]] = field(
        default_factory=lambda: ([], [])
    )
    """The outcomes seen: without pursuit, and with it."""
    grown_on: object = None
    """The examples of the committees, and their seed."""
    evidence: FamilyLessons | None = None
    """What the committees were grown on."""
    committees: tuple[Committee, Committee] | Callable[[], None] | None = None
    """The committees without pursuit and with it, or a function that grows them on first use."""


class Families:
    """The families of all capabilities."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        matrix: StateMatrix,
        types: OutcomeTypes,
        behaviors: Behaviors,
        lessons: Lessons | None = None,
    ) -> None:
        self._vocabulary = vocabulary
        self._lessons = lessons or Lessons()
        self._matrix = matrix
        self._types = types
        self._behaviors = behaviors
        self._by_key: dict[object, CapabilityFamily] = {}
        self.of: list[CapabilityFamily] = []
        """The family of each capability."""
        self.roles: list[Binding] = []
        """The objects of each capability."""
        self._pursued = 0.0  # the share of all pairs in which the next step was taken
        self._features: dict[int, Bits] = {}
        self._unique: dict[tuple[Binding, int, Pattern], str | None] = {}
        self._related: dict[tuple[Binding, Pattern], list[tuple[State, str]]] = {}

    @property
    def all(self) -> Iterable[CapabilityFamily]:
        """All families, in the order in which they were found."""
        return self._by_key.values()

    def add(self, intent: Intent) -> None:
        """Add the next capability."""
        key = family_key(intent)
        family = self._by_key.get(key)
        if family is None:
            family = self._by_key[key] = self._new(key, intent)
        family.members.append(len(self.of))
        self.of.append(family)
        self.roles.append(intent.objects)

    def _new(self, key: object, intent: Intent) -> CapabilityFamily:
        vocabulary = self._vocabulary
        place = {name: i for i, name in enumerate(intent.objects)}
        domains = [frozenset(vocabulary.objects) for _ in place]
        kinds = {p.name: p.types for p in vocabulary.predicates}
        for literal in intent.mentioned:
            atom = literal.atom
            for name, kind in zip(atom.arguments, kinds[atom.predicate], strict=True):
                domains[place[name]] &= frozenset(vocabulary.objects_of(kind))
        named = tuple(
            (role, name)
            for role, domain in enumerate(domains)
            if 1 < len(domain) <= _MOST_NAMED
            for name in sorted(domain)
        )
        return CapabilityFamily(key, TermSpace(vocabulary, domains), named)

    def features(self, capability: int, rows: Integers) -> Bits:
        """Return the features of a capability in some rows."""
        family, roles = self.of[capability], self.roles[capability]
        terms = family.space.values(self._matrix, roles, rows).astype(np.uint8)
        named = np.array([roles[role] == name for role, name in family.named], dtype=np.uint8)
        return np.concatenate([terms, np.tile(named, (len(rows), 1))], axis=1)

    def known_features(self, capability: int, rows: Integers) -> Bits:
        """Return features, kept from the last time as far as they are known."""
        known = self._features.get(capability)
        number = 0 if known is None else len(known)
        if len(self._matrix) > number:
            new = self.features(capability, np.arange(number, len(self._matrix)))
            known = new if known is None else np.concatenate([known, new])
            if known.size * len(self.of) > _MOST_KEPT:
                return known[rows]
            self._features[capability] = known
        assert known is not None
        if len(rows) and (np.diff(rows) == 1).all():
            return known[int(rows[0]) : int(rows[-1]) + 1]
        part: Bits = known[rows]
        return part

    def lifted(self, capability: int, row: int, number: int) -> LiftedOutcome:
        """Describe an outcome type by the roles of a capability and the state of a row."""
        if number == NOTHING:
            return IDLE
        form, binding = self._behaviors.lifted(number)
        roles = self.roles[capability]
        known = {name: i for i, name in enumerate(roles)}
        references: list[Reference] = []
        for name in binding:
            if name in known:
                references.append(("role", known[name]))
            else:
                pattern = self.description(roles, row, name)
                references.append(("object", name) if pattern is None else ("the", pattern))
        return LiftedOutcome(form, tuple(references))

    def description(self, roles: Binding, row: int, name: str) -> Pattern | None:
        """Return the first relation to the roles that picks out an object in a state."""
        place = {role: i for i, role in enumerate(roles)}
        for atom in self._vocabulary.holding(self._matrix.states[row]):
            others = [o for o in atom.arguments if o != name]
            if len(others) == len(atom.arguments) - 1 and all(o in place for o in others):
                pattern = (
                    atom.predicate,
                    tuple(SAME if o == name else place[o] for o in atom.arguments),
                )
                if self.the(roles, row, pattern) == name:
                    return pattern
        return None

    def the(self, roles: Binding, row: int, pattern: Pattern) -> str | None:
        """Return the only further object of a relation in a state; None if it is not unique."""
        key = roles, row, pattern
        if key not in self._unique:
            self._unique[key] = self._find_the(roles, row, pattern)
        return self._unique[key]

    def _find_the(self, roles: Binding, row: int, pattern: Pattern) -> str | None:
        state = self._matrix.states[row]
        found = [further for bit, further in self._further(roles, pattern) if state & bit]
        return found[0] if len(found) == 1 else None

    def _further(self, roles: Binding, pattern: Pattern) -> list[tuple[State, str]]:
        """Return the bits of the atoms of a relation to the roles, each with its further object."""
        key = roles, pattern
        if key not in self._related:
            name, arguments = pattern
            self._related[key] = related = []
            for atom in self._vocabulary.groundings(name):
                places = list(zip(atom.arguments, arguments, strict=True))
                further = next(o for o, v in places if v == SAME)
                if further not in roles and all(v == SAME or roles[v] == o for o, v in places):
                    related.append((self._vocabulary.bit[atom], further))
        return self._related[key]

    def resolved(self, outcome: LiftedOutcome, capability: int, row: int) -> int:
        """Return the outcome type that a description means in a state; -1 if none."""
        if not outcome.form:
            return NOTHING
        binding = self.objects(outcome, capability, row)
        return _UNRESOLVED if binding is None else self._behaviors.number_of(outcome.form, binding)

    def objects(self, outcome: LiftedOutcome, capability: int, row: int) -> Binding | None:
        """Return the objects that a description means in a state; None if one is missing."""
        roles = self.roles[capability]
        binding: list[str] = []
        for kind, what in outcome.references:
            if kind == "role":
                binding.append(roles[what])  # type: ignore[index]
            elif kind == "object":
                binding.append(str(what))
            else:
                name = self.the(roles, row, what)  # type: ignore[arg-type]
                if name is None:
                    return None
                binding.append(name)
        return tuple(binding) if len(set(binding)) == len(binding) else None

    def fit(
        self, labels: Sequence[Mapping[int, int]], steps: Callable[[int], Integers], seed: int
    ) -> None:
        """Prepare the committees of all families; they are grown on first use."""
        tried = pursued = 0
        for capability, types in enumerate(labels):
            rows = np.fromiter(types, dtype=np.int64, count=len(types))
            done = np.fromiter(types.values(), dtype=np.int64, count=len(types))
            tried += len(rows)
            pursued += int((steps(capability)[rows] == done).sum())
        self._pursued = pursued / (tried + 2.0)
        for number, family in enumerate(self.all):
            self.fit_family(family, labels, steps, child_seed(seed, _FAMILY, number))

    def fit_family(
        self,
        family: CapabilityFamily,
        labels: Sequence[Mapping[int, int]],
        steps: Callable[[int], Integers],
        seed: int,
    ) -> None:
        """Prepare the committees of a family, given the type of each pair."""
        states = self._matrix.states
        examples = sorted(
            (child_seed(states[row], capability), capability, row, number)
            for capability in family.members
            for row, number in labels[capability].items()
        )[:_MOST_EXAMPLES]
        family.examples = len(examples)
        pursued = [int(steps(capability)[row]) == number for _, capability, row, number in examples]
        grown_on = examples, pursued, seed
        if family.grown_on == grown_on:
            return
        family.grown_on, family.committees = grown_on, None
        if not examples and family.key not in self._lessons.families:
            return

        def grown() -> None:
            self._grow(family, [one[1:] for one in examples], pursued, seed)

        family.committees = grown

    def _grow(
        self,
        family: CapabilityFamily,
        examples: Sequence[tuple[int, int, int]],
        pursued: Sequence[bool],
        seed: int,
    ) -> None:
        lessons = self._own_lessons(family, examples, pursued)
        before = self._lessons.families.get(family.key)
        if before is not None:
            lessons = FamilyLessons(
                TermRows(
                    lessons.features.terms,
                    np.concatenate(
                        [
                            before.features.for_columns(lessons.features.terms),
                            lessons.features.rows,
                        ]
                    ),
                ),
                before.outcomes + lessons.outcomes,
                before.pursued + lessons.pursued,
            )
        family.evidence = lessons
        outcomes, pursued = lessons.outcomes, lessons.pursued
        rows = lessons.features.rows.astype(np.uint8)
        committees = []
        for place, coded in enumerate(
            (outcomes, [PURSUE if p else o for p, o in zip(pursued, outcomes, strict=True)])
        ):
            known = {outcome: i for i, outcome in enumerate(dict.fromkeys(coded))}
            classes = np.array([known[outcome] for outcome in coded])
            family.classes[place][:] = list(known)
            committees.append(
                grow_committee(rows, classes, len(known), _COMMITTEE, child_seed(seed, place))
            )
        family.committees = committees[0], committees[1]

    def _own_lessons(
        self,
        family: CapabilityFamily,
        examples: Sequence[tuple[int, int, int]],
        pursued: Sequence[bool],
    ) -> FamilyLessons:
        terms = named_terms(family.space, family.named)
        if examples:
            rows = self.features_of_examples([example[:2] for example in examples]).astype(bool)
        else:
            rows = np.zeros((0, len(terms)), dtype=bool)
        outcomes = tuple(self.lifted(*example) for example in examples)
        return FamilyLessons(TermRows(terms, rows), outcomes, tuple(pursued))

    def features_of_examples(self, examples: Sequence[tuple[int, int]]) -> Bits:
        """Return the features of pairs of a capability and a row."""
        by_capability: dict[int, list[int]] = {}
        for place, (capability, _) in enumerate(examples):
            by_capability.setdefault(capability, []).append(place)
        found: Bits | None = None
        for capability, places in by_capability.items():
            rows = np.array([examples[place][1] for place in places], dtype=np.int64)
            own = self.known_features(capability, rows)
            if found is None:
                found = np.zeros((len(examples), own.shape[1]), dtype=np.uint8)
            found[places] = own
        assert found is not None, "there are examples"
        return found

    def votes(
        self, capability: int, rows: Integers, steps: Integers, kinds: Sequence[int] = (0, 1)
    ) -> tuple[list[int], Floats] | None:
        """Return types, and how far they are believed without (0) and with pursuit (1).

        The array is by kind, row and type; None if nothing is known of the family.
        """
        family = self.of[capability]
        if callable(family.committees):
            family.committees()
        if family.committees is None:
            return None
        assert not callable(family.committees)
        bits = self.known_features(capability, rows)
        types: dict[int, int] = {}
        parts: list[tuple[int, Integers, Integers, Floats]] = []
        for kind in kinds:
            shares = family.committees[kind].shares(bits)
            if PURSUE in family.classes[kind]:
                # What few examples leave open is as it is in all families together.
                rest = self._pursued * (1.0 - shares.sum(axis=1))
                shares[:, family.classes[kind].index(PURSUE)] += rest
            for place, outcome in enumerate(family.classes[kind]):
                where = np.flatnonzero(shares[:, place] > 0)
                if len(where):
                    numbers = self._numbers(outcome, capability, rows[where], steps[where])
                    for number in np.unique(numbers[numbers >= 0]).tolist():
                        types.setdefault(number, len(types))
                    parts.append((kind, where, numbers, shares[where, place]))
        votes = np.zeros((2, len(rows), max(len(types), 1)))
        for kind, where, numbers, share in parts:
            known = numbers >= 0
            columns = np.array([types[number] for number in numbers[known].tolist()], dtype=int)
            np.add.at(votes[kind], (where[known], columns), share[known])
        return list(types) or [NOTHING], votes

    def tree(self, family: CapabilityFamily, kind: int) -> Tree | None:
        """Return the tree of a family's rules: the first of a committee; None if none is known."""
        if callable(family.committees):
            family.committees()
        assert not callable(family.committees)
        return None if family.committees is None else family.committees[kind].trees[0]

    def by_rules(
        self, capability: int, rows: Integers, steps: Integers, kind: int
    ) -> Integers | None:
        """Return the type that the rules mean in each row; -1 where they mean none."""
        family = self.of[capability]
        tree = self.tree(family, kind)
        if tree is None:
            return None
        leaf = tree.counts[tree.leaves(self.known_features(capability, rows))].argmax(axis=1)
        found = np.full(len(rows), _UNRESOLVED)
        for place in np.unique(leaf).tolist():
            where = np.flatnonzero(leaf == place)
            outcome = family.classes[kind][place]
            found[where] = self._numbers(outcome, capability, rows[where], steps[where])
        return found

    def _numbers(
        self, outcome: LiftedOutcome, capability: int, rows: Integers, steps: Integers
    ) -> Integers:
        """Return the outcome type that a description means in each of some rows."""
        if outcome == PURSUE:
            return steps
        if any(kind == "the" for kind, _ in outcome.references):
            return np.array([self.resolved(outcome, capability, row) for row in rows.tolist()])
        return np.full(len(rows), self.resolved(outcome, capability, 0))


def family_key(intent: Intent) -> object:
    """Return what intents share that differ in their objects only."""
    place = {name: i for i, name in enumerate(intent.objects)}
    return tuple(
        tuple((x.atom.predicate, x.positive, *map(place.get, x.atom.arguments)) for x in one)
        for one in intent.alternatives
    )
