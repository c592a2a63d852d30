"""Behaviors: changes that recur with other objects, and when they are possible.

Picking up `a` and picking up `b` are one behavior. A behavior is an outcome type whose objects
are variables (`lift`); an *instance* of it names objects, and is a type of the ground model again.

**Conditions form a lattice**, the paper's, one level up. A literal over the objects of a behavior
is *doubtful* if it held whenever the behavior was seen and no failure has shown that it is needed.
The pessimist requires all of them, the optimist none. Both require what the change itself needs:
what it deletes holds, what it adds does not. The model requires the literals that would hardly have
held each time by chance, and enough others to explain every *refusal*: a state in which an instance
alone would have served a request at once, and something else was done.

A literal may refer to one more object: "something is on X", "the place of X is that of Y". Where no
conjunction explains the refusals, a decision tree does. Where objects that look alike behave
differently, because what distinguishes them is in no atom, an instance that was refused and never
seen is not possible; if more were refused than chosen, only those that were seen are.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import reduce
from operator import or_
from typing import NamedTuple

import numpy as np

from capscope.logic import Atom, Effect, LiteralTest, Vocabulary
from capscope.model.lessons import BehaviorLessons, Lessons, TermRows
from capscope.model.outcome_types import NOTHING, OutcomeTypes
from capscope.model.state_graph import StateMatrix
from capscope.model.terms import Binding, Term, TermSpace
from capscope.model.trees import Tree, grow
from capscope.stats.arrays import Integers, Mask

_BY_CHANCE = 0.3  # a literal that would always have held with this probability is not required
_MOST_INSTANCES = 4_000  # of a behavior; of more, only those that were seen count
_MOST_ARRANGEMENTS = 720  # of objects that are alike in a behavior
_MOST_COMPARED = 400  # pairs of an instance and a state that tell how often a literal holds
_AT_ONCE = 64  # instances whose changes are looked up in all states together

Labels = Sequence[Mapping[int, int]]
"""For each capability the type of each row in which it was tried."""
Alternatives = tuple[LiteralTest, ...]
"""An intent: one of these is to hold."""
Change = tuple[bool, str, tuple[int, ...]]
"""Whether an atom becomes true, its predicate and its variables."""
Form = tuple[tuple[Change, ...], ...]
"""The effects of a type with variables for objects; equal for instances of one behavior."""


def lift(effects: frozenset[Effect], vocabulary: Vocabulary) -> tuple[Form, Binding]:
    """Replace the objects of a type by variables, numbered so that equal behaviors agree.

    >>> words = Vocabulary.from_dict(
    ...     {"predicates": [["at", ["room"]]], "objects": {"a": "room", "b": "room"}, "parents": {}}
    ... )
    >>> lift(frozenset([Effect(adds=0b10, deletes=0b01)]), words)
    ((((False, 'at', (0,)), (True, 'at', (1,))),), ('a', 'b'))
    """
    literals = [[(x.positive, x.atom) for x in e.literals(vocabulary)] for e in sorted(effects)]
    colors: dict[str, int] = {}
    for _ in range(2):  # objects with equal neighbours are told apart by their neighbours' colors
        signs: dict[str, list[object]] = defaultdict(list)
        for changes in literals:
            for positive, atom in changes:
                around = tuple(colors.get(o, 0) for o in atom.arguments)
                for place, name in enumerate(atom.arguments):
                    signs[name].append((positive, atom.predicate, place, around))
        described = {name: repr(sorted(map(repr, s))) for name, s in signs.items()}
        ranks = {text: i for i, text in enumerate(sorted(set(described.values())))}
        colors = {name: ranks[text] for name, text in described.items()}
    alike: dict[int, list[str]] = defaultdict(list)
    for name in sorted(colors):
        alike[colors[name]].append(name)
    groups = [alike[color] for color in sorted(alike)]
    arrangements = itertools.product(*(itertools.permutations(group) for group in groups))
    found = []
    for parts in itertools.islice(arrangements, _MOST_ARRANGEMENTS):
        binding = tuple(itertools.chain.from_iterable(parts))
        number = {name: i for i, name in enumerate(binding)}
        form = tuple(
            sorted(
                tuple(sorted((s, a.predicate, tuple(number[o] for o in a.arguments)) for s, a in c))
                for c in literals
            )
        )
        found.append((form, binding))
    return min(found)


class Extreme(Enum):
    """The ends of the lattice of conditions."""

    PESSIMIST = auto()
    OPTIMIST = auto()


class BehaviorInstance(NamedTuple):
    """A behavior with objects."""

    behavior: int
    binding: Binding


@dataclass(eq=False)
class Behavior:
    """A behavior, and what is known of when it is possible."""

    form: Form
    variables: tuple[tuple[str, ...], ...]
    """The objects that each variable may stand for, by the types of the predicates."""
    space: TermSpace
    """Every term that a condition may use."""
    changing: dict[Binding, tuple[list[int], list[int]] | None] = field(default_factory=dict)
    """The atoms that each instance deletes, and those that it only adds; None if one is missing."""
    seen: dict[Binding, list[int]] = field(default_factory=dict)
    """The rows in which each instance was seen."""
    needed: frozenset[int] = frozenset()
    """Literals that the change itself needs, as terms: t if it holds, ~t if it does not."""
    always: frozenset[int] = frozenset()
    """Literals that held each time: what the pessimist requires."""
    required: tuple[int, ...] = ()
    """What the model requires of them."""
    proven: frozenset[int] = frozenset()
    """Those that a failure has shown to be necessary: nothing else explains it."""
    refused: frozenset[Binding | None] = frozenset()
    """Instances that were never seen, and refused where no condition tells why."""
    only_seen: bool = False
    """Whether only the instances seen are possible."""
    contexts: tuple[frozenset[int], ...] = ()
    """The terms over an instance's objects that hold in all states, of the instances seen."""
    within: bool = False
    """Whether one of the contexts is required."""
    tree: Tree | None = None
    """Says where else it is refused."""
    evidence: BehaviorLessons | None = None
    """What it was learned from."""


_NO_ROWS = TermRows((), np.zeros((0, 0), dtype=bool))
_NO_LESSONS = BehaviorLessons(_NO_ROWS, _NO_ROWS, _NO_ROWS, 0, only_seen=False)


class Behaviors:
    """The behaviors of an agent, over all its capabilities."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        matrix: StateMatrix,
        types: OutcomeTypes,
        lessons: Lessons | None = None,
    ) -> None:
        self._vocabulary = vocabulary
        self._lessons = lessons or Lessons()
        self._matrix = matrix
        self._types = types
        self._column = {atom: i for i, atom in enumerate(vocabulary.atoms)}
        self._signature = {p.name: p.types for p in vocabulary.predicates}
        self._objects = {
            t: frozenset(vocabulary.objects_of(t)) for s in self._signature.values() for t in s
        }
        self._lifted: dict[int, tuple[Form, Binding]] = {}
        self._number: dict[Form, int] = {}
        self._numbered: dict[tuple[Form, Binding], int] = {}
        self._lifts: dict[frozenset[Effect], tuple[Form, Binding]] = {}
        self._wide: dict[Form, dict[tuple[Form, tuple[int, ...]], None]] = {}
        self._wide_of: object = None
        self._alike: dict[Form, frozenset[int]] = {}
        self._changing = 0
        self._intents_of: dict[int, list[int]] = {}
        """The intents that require each atom, or its complement: that it does not hold."""
        types.wider = self.wider
        self.all: list[Behavior] = []
        """In the order in which they were found."""
        self.instances: dict[int, BehaviorInstance] = {}
        """The instance of each outcome type that is believed to be possible somewhere."""
        self._by_behavior: dict[int, list[int]] = {}

    def wider(self, effects: frozenset[Effect]) -> Iterator[frozenset[Effect]]:
        """Yield the instances with several outcomes that include some effects.

        A drive between two other places has shown that a tire may go flat.
        """
        if self._wide_of is not self._types.several:
            self._wide_of, self._wide = self._types.several, self._wide_forms()
        form, binding = self._lift(frozenset([min(effects)]))
        for whole, places in self._wide.get(form, ()):
            objects = tuple(binding[place] for place in places)
            masks = [self._masks((changes,), objects) for changes in whole]
            instance = frozenset(Effect(*one) for one in masks if one is not None)
            alike = self._alike[whole] <= self._static(whole, objects)
            if len(instance) == len(whole) and effects < instance and alike:
                yield instance

    def _wide_forms(self) -> dict[Form, dict[tuple[Form, tuple[int, ...]], None]]:
        """List, for the form of each single effect, the forms it is part of, and their variables.

        An effect must tell all objects of the whole.
        """
        found: dict[Form, dict[tuple[Form, tuple[int, ...]], None]] = {}
        self._alike = {}
        self._see_changes()
        for effects in self._types.several:
            whole, objects = self._lift(effects)
            static = self._static(whole, objects)
            self._alike[whole] = self._alike.get(whole, static) & static
            for effect in sorted(effects):
                form, binding = self._lift(frozenset([effect]))
                if set(objects) <= set(binding):
                    places = tuple(binding.index(name) for name in objects)
                    found.setdefault(form, {})[whole, places] = None
        return found

    def _see_changes(self) -> None:
        changes = (e.adds | e.deletes for effects in self._types.effects for e in effects)
        self._changing = reduce(or_, changes, 0)

    def _static(self, form: Form, binding: Binding) -> frozenset[int]:
        """Return the terms over an instance's objects that hold in all states, as roads do."""
        space = self.all[self._behavior(form)].space
        always = self._matrix.states[0] & ~self._changing if len(self._matrix) else 0
        return frozenset(
            place
            for place in range(len(space.terms))
            if space.plain(place)
            and (columns := space.columns(place, binding)).size
            and always >> columns.item() & 1
        )

    def _lift(self, effects: frozenset[Effect]) -> tuple[Form, Binding]:
        known = self._lifts.get(effects)
        if known is None:
            known = self._lifts[effects] = lift(effects, self._vocabulary)
        return known

    def of(self, number: int) -> BehaviorInstance:
        """Return the behavior and the objects of an outcome type."""
        form, binding = self.lifted(number)
        return BehaviorInstance(self._behavior(form), binding)

    def _behavior(self, form: Form) -> int:
        if form not in self._number:
            self._number[form] = len(self.all)
            self.all.append(self._new(form))
        return self._number[form]

    def lifted(self, number: int) -> tuple[Form, Binding]:
        """Return the form of an outcome type, and its objects."""
        known = self._lifted.get(number)
        if known is None:
            known = self._lifted[number] = self._lift(self._types.effects[number])
        return known

    def _new(self, form: Form) -> Behavior:
        variables = 1 + max((v for c in form for _, _, args in c for v in args), default=-1)
        domains = [frozenset(self._vocabulary.objects)] * variables
        for changes in form:
            for _, predicate, arguments in changes:
                for variable, kind in zip(arguments, self._signature[predicate], strict=True):
                    domains[variable] &= self._objects[kind]
        order = {name: i for i, name in enumerate(self._vocabulary.objects)}
        objects = tuple(tuple(sorted(d, key=order.__getitem__)) for d in domains)
        behavior = Behavior(form, objects, TermSpace(self._vocabulary, domains))
        place = behavior.space.place
        needed = set()
        adds = {(p, a) for c in form for s, p, a in c if s}
        deletes = {(p, a) for c in form for s, p, a in c if not s}
        # An atom that names an object twice is no term; what the change needs is tested anyway.
        needed |= {~place[Term((one,))] for one in adds - deletes if Term((one,)) in place}
        needed |= {place[Term((one,))] for one in deletes if Term((one,)) in place}
        behavior.needed = frozenset(needed)
        return behavior

    def fit(self, tests: Sequence[Alternatives], labels: Labels, seen: Integers) -> None:
        """Learn when behaviors are possible; `seen` are the rows that were visited."""
        self._see_changes()
        self._intents_of = defaultdict(list)
        for capability, test in ((c, test) for c, goal in enumerate(tests) for test in goal):
            for bit in (*_bits(test.required), *(~bit for bit in _bits(test.forbidden))):
                self._intents_of[bit].append(capability)
        for behavior in self.all:
            behavior.seen = {}
        tried: dict[int, set[int]] = defaultdict(set)
        for types in labels:
            for row, number in types.items():
                if number != NOTHING:
                    tried[number].add(row)
        for number in sorted(tried):
            index, binding = self.of(number)
            self.all[index].seen.setdefault(binding, []).extend(sorted(tried[number]))
        self.instances, self._by_behavior = {}, {}
        for form in self._lessons.behaviors:
            self._behavior(form)
        for index, behavior in enumerate(self.all):
            if behavior.seen or behavior.form in self._lessons.behaviors:
                self._fit(index, behavior, tests, labels, seen)
        for number in sorted(self.instances):
            self._by_behavior.setdefault(self.instances[number].behavior, []).append(number)

    def known(self) -> Iterator[Behavior]:
        """Yield the behaviors that were seen here or, with other objects, in another instance."""
        for behavior in self.all:
            learned = behavior.form in self._lessons.behaviors and not behavior.only_seen
            if behavior.seen or learned:
                yield behavior

    def _fit(
        self,
        index: int,
        behavior: Behavior,
        tests: Sequence[Alternatives],
        labels: Labels,
        seen: Integers,
    ) -> None:
        before = self._lessons.behaviors.get(behavior.form, _NO_LESSONS)
        space, matrix = behavior.space, self._matrix
        terms = space.terms
        shown = np.concatenate([
            before.shown.for_columns(terms),
            *(space.values(matrix, b, np.array(r)) for b, r in behavior.seen.items()),
        ])  # fmt: skip
        held, absent = shown.all(axis=0), ~shown.any(axis=0)
        needed = behavior.needed
        literals = [t for t in np.flatnonzero(held).tolist() if t not in needed]
        literals += [~t for t in np.flatnonzero(absent).tolist() if ~t not in needed]
        behavior.always = frozenset(literals)
        candidates = self._bindings(behavior)
        compared = np.concatenate(
            [before.compared.for_columns(terms), self._comparable(behavior, candidates, seen)]
        )
        share = (compared.sum(axis=0) + 1.0) / (len(compared) + 2.0)
        # A literal and its share: those that would hardly have held each time by chance.
        by_chance = {t: float(share[t] if t >= 0 else 1.0 - share[~t]) for t in literals}
        behavior.required = tuple(
            t
            for t in literals
            if by_chance[t] ** len(shown) < _BY_CHANCE and behavior.space.plain(max(t, ~t))
        )
        refused, served = self._refusals(behavior, candidates, tests, labels)
        inside = self._inside_contexts(behavior, before, refused)
        owners = [b for b, rows in refused.items() for _ in rows]
        values = np.concatenate([
            before.refused.for_columns(terms),
            *(space.values(matrix, b, np.array(r)) for b, r in refused.items()),
        ])  # fmt: skip
        learned = len(values) - len(owners)
        behavior.tree, behavior.only_seen = None, before.only_seen and not served
        self._explain(
            behavior,
            shown,
            values,
            [*itertools.repeat(None, learned), *owners],
            before.served + len(served),
            by_chance,
            np.array([b is None or b in inside for b in (*[None] * learned, *owners)], dtype=bool),
        )
        behavior.evidence = BehaviorLessons(
            TermRows(terms, shown[-_MOST_COMPARED:]),
            TermRows(terms, compared[-_MOST_COMPARED:]),
            TermRows(terms, values[-_MOST_COMPARED:]),
            before.served + len(served),
            behavior.only_seen,
            frozenset(frozenset(terms[n] for n in one) for one in behavior.contexts),
            behavior.within,
        )
        for binding in candidates:
            excluded = behavior.only_seen or binding in behavior.refused
            if binding in behavior.seen or not excluded:
                number = self.number_of(behavior.form, binding)
                if number > NOTHING:
                    self.instances[number] = BehaviorInstance(index, binding)

    def _inside_contexts(
        self, behavior: Behavior, before: BehaviorLessons, refused: Mapping[Binding, list[int]]
    ) -> set[Binding]:
        """Find the static atoms that instances rest on; return the refused ones that have them.

        A lift goes up to a floor above or down to one below: in neither case to any other.
        """
        place = behavior.space.place
        known = {frozenset(place[t] for t in terms if t in place) for terms in before.contexts}
        known |= {self._static(behavior.form, binding) for binding in behavior.seen}
        behavior.contexts = tuple(
            sorted((one for one in known if not any(other < one for other in known)), key=sorted)
        )
        inside = {
            binding
            for binding in refused
            if any(one <= self._static(behavior.form, binding) for one in behavior.contexts)
        }
        behavior.within = before.within or len(inside) < len(refused)
        return inside

    def _explain(
        self,
        behavior: Behavior,
        shown: Mask,
        values: Mask,
        owners: Sequence[Binding | None],
        served: int,
        by_chance: Mapping[int, float],
        unexplained: Mask,
    ) -> None:
        """Require what refusals show to be necessary; `owners` are the instances refused.

        The contexts explain some refusals; the others are unexplained.
        """
        behavior.proven, behavior.refused = frozenset(), frozenset()
        if not len(values):
            return

        def violates(literal: int) -> Mask:
            return ~values[:, literal] if literal >= 0 else values[:, ~literal]

        def size(literal: int) -> int:
            return behavior.space.terms[max(literal, ~literal)].size + (literal < 0)

        # What alone is violated by a refusal is proven.
        every = sorted(by_chance)
        violated = np.array([violates(t) for t in every], dtype=bool).reshape(-1, len(values))
        alone: Mask = np.any(violated[:, violated.sum(axis=0) == 1], axis=1)
        behavior.proven = frozenset(every[i] for i in np.flatnonzero(alone).tolist())
        open_rows = unexplained.copy()
        for literal in behavior.required:
            open_rows &= ~violates(literal)
        required = list(behavior.required)
        while open_rows.any():
            gains = (violated & open_rows).sum(axis=1)
            if not gains.any():
                break
            best = max(
                range(len(every)),
                key=lambda i: (gains[i], -size(every[i]), -by_chance[every[i]]),
            )
            required.append(every[best])
            open_rows &= ~violated[best]
        behavior.required = tuple(required)
        if not open_rows.any():
            return
        tree = grow(
            np.concatenate([shown, values[open_rows]]).astype(np.uint8),
            np.repeat([1, 0], [len(shown), int(open_rows.sum())]),
            2,
        )
        leaves = tree.counts[tree.leaves(values[open_rows].astype(np.uint8))]
        left = np.flatnonzero(open_rows)[leaves[:, 1] >= leaves[:, 0]]
        if len(left) < open_rows.sum():
            behavior.tree = tree
        refused = {owners[i] for i in np.flatnonzero(open_rows).tolist()}
        unseen = {binding for binding in refused if binding not in behavior.seen}
        behavior.refused = frozenset(unseen)
        if len(unseen) > served:
            behavior.only_seen, behavior.tree = True, None

    def _bindings(self, behavior: Behavior) -> list[Binding]:
        """List the instances, those seen first; of too many, only those that were seen."""
        seen = list(behavior.seen)
        total = 1
        for objects in behavior.variables:
            total *= len(objects)
        if total > _MOST_INSTANCES:
            return seen
        every = itertools.product(*behavior.variables)
        others = (b for b in every if len(set(b)) == len(b) and b not in behavior.seen)
        return [*seen, *others]

    def _comparable(
        self, behavior: Behavior, candidates: Sequence[Binding], seen: Integers
    ) -> Mask:
        """Return the terms of states in which an instance makes sense, seen or not."""
        parts, number = [], 0
        for binding, sensible in self._each_sensible(behavior, candidates, seen):
            rows = seen[sensible]
            if len(rows):
                parts.append(behavior.space.values(self._matrix, binding, rows[:50]))
                number += len(parts[-1])
            if number > _MOST_COMPARED:
                break
        return (
            np.concatenate(parts) if parts else np.zeros((0, len(behavior.space.terms)), dtype=bool)
        )

    def _each_sensible(
        self, behavior: Behavior, bindings: Sequence[Binding], rows: Integers
    ) -> Iterator[tuple[Binding, Mask]]:
        """Yield each instance with what `_sensible` says of it."""
        for first in range(0, len(bindings), _AT_ONCE):
            some = bindings[first : first + _AT_ONCE]
            yield from zip(some, self._sensible(behavior, some, rows), strict=True)

    def _sensible(self, behavior: Behavior, bindings: Sequence[Binding], rows: Integers) -> Mask:
        """Return for each instance the rows in which what the change needs is given."""
        known = [self._changing_atoms(behavior, binding) for binding in bindings]
        held: Mask = np.zeros((len(bindings), len(rows)), dtype=bool)
        exist = [i for i, atoms in enumerate(known) if atoms is not None]
        if exist:
            held[exist] = True
            for place, wanted in enumerate((1, 0)):
                columns = np.array([atoms[place] for atoms in known if atoms is not None])
                for column in columns.T:
                    held[exist] &= self._matrix.bits[rows, column[:, None]] == wanted
        return held

    def _changing_atoms(
        self, behavior: Behavior, binding: Binding
    ) -> tuple[list[int], list[int]] | None:
        known = behavior.changing
        if binding not in known:
            masks = self._masks(behavior.form, binding)
            known[binding] = masks and (
                list(_bits(masks[1])),
                list(_bits(masks[0] & ~masks[1])),
            )
        return known[binding]

    def _masks(self, form: Form, binding: Binding) -> tuple[int, int] | None:
        """Return the atoms that are added, and those deleted; None if one does not exist."""
        adds = deletes = 0
        for changes in form:
            for positive, predicate, arguments in changes:
                column = self._column.get(Atom(predicate, tuple(binding[v] for v in arguments)))
                if column is None:
                    return None
                if positive:
                    adds |= 1 << column
                else:
                    deletes |= 1 << column
        return adds, deletes

    def number_of(self, form: Form, binding: Binding) -> int:
        """Return the outcome type of an instance, numbered if new; -1 if an atom does not exist."""
        key = form, binding
        number = self._numbered.get(key)
        if number is None:
            number = self._numbered[key] = self._number_of(form, binding)
        return number

    def effects_in_order(self, form: Form, binding: Binding) -> dict[Effect, int]:
        """Return the effects of an instance, each with its place in the form."""
        masks = [self._masks((changes,), binding) for changes in form]
        return {Effect(*one): place for place, one in enumerate(masks) if one is not None}

    def _number_of(self, form: Form, binding: Binding) -> int:
        effects = []
        for changes in form:
            masks = self._masks((changes,), binding)
            if masks is None:
                return -1
            effects.append(Effect(*masks))
        number = self._types.number(frozenset(effects))
        self._lifted.setdefault(number, (form, binding))
        return number

    def _refusals(
        self,
        behavior: Behavior,
        candidates: Sequence[Binding],
        tests: Sequence[Alternatives],
        labels: Labels,
    ) -> tuple[dict[Binding, list[int]], set[Binding]]:
        """Return where instances alone would have served at once and were not chosen.

        And the instances that were chosen where they served.
        """
        refused: dict[Binding, list[int]] = {}
        served: set[Binding] = set()
        numbers = {binding: self.number_of(behavior.form, binding) for binding in candidates}
        asked: dict[int, list[Binding]] = defaultdict(list)
        for binding, number in numbers.items():
            if number >= 0:
                effect = self._types.main_effect(number)
                signed = [*_bits(effect.adds), *(~bit for bit in _bits(effect.deletes))]
                for capability in {c for bit in signed for c in self._intents_of.get(bit, ())}:
                    asked[capability].append(binding)
        for capability, own in sorted(asked.items()):
            rows = np.array(list(labels[capability]), dtype=np.int64)
            done = np.array(list(labels[capability].values()), dtype=np.int64)
            goal = tests[capability]
            for binding, sensible in self._each_sensible(behavior, own, rows):
                number = numbers[binding]
                effect = self._types.main_effect(number)
                for row, other in zip(
                    rows[sensible].tolist(), done[sensible].tolist(), strict=True
                ):
                    state = self._matrix.states[row]
                    if any(t(state) for t in goal) or not any(t(effect.apply(state)) for t in goal):
                        continue
                    if other == number:
                        served.add(binding)
                    elif not any(t(self._types.main_effect(other).apply(state)) for t in goal):
                        refused.setdefault(binding, []).append(row)
        return {b: sorted(set(refused[b])) for b in candidates if b in refused}, served

    def possible(self, number: int, rows: Integers, extreme: Extreme | None = None) -> Mask:
        """Return in which of some rows an instance is possible, as believed or by an extreme."""
        index, binding = self.instances[number]
        held: Mask = np.zeros(len(rows), dtype=bool)
        held[self._possible(self.all[index], [binding], rows, extreme)[1]] = True
        return held

    def where_possible(
        self, rows: Integers, extreme: Extreme | None = None
    ) -> tuple[Integers, Integers]:
        """Return all instances that are possible in some rows, as believed or by an extreme.

        Their outcome types, and for each the place of the row; by behavior, type and place.
        """
        numbers, places = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for index, own in self._by_behavior.items():
            bindings = [self.instances[number].binding for number in own]
            which, place = self._possible(self.all[index], bindings, rows, extreme)
            numbers.append(np.array(own)[which])
            places.append(place)
        return np.concatenate(numbers), np.concatenate(places)

    def _possible(
        self,
        behavior: Behavior,
        bindings: Sequence[Binding],
        rows: Integers,
        extreme: Extreme | None,
    ) -> tuple[Integers, Integers]:
        """Return which instances are possible in which of some rows, by their places."""
        space, matrix = behavior.space, self._matrix
        which, place = np.nonzero(self._sensible(behavior, bindings, rows))
        required = {
            Extreme.PESSIMIST: behavior.always,
            Extreme.OPTIMIST: behavior.proven,
            None: behavior.required,
        }[extreme]
        for literal in required:
            if space.plain(max(literal, ~literal)):
                held = space.holding(matrix, max(literal, ~literal), bindings, which, rows[place])
                which, place = which[held == (literal >= 0)], place[held == (literal >= 0)]
        if behavior.within and extreme is not Extreme.OPTIMIST:
            known: Mask = np.zeros(len(which), dtype=bool)
            for context in behavior.contexts:
                inside: Mask = np.ones(len(which), dtype=bool)
                for term in context:
                    inside &= space.holding(matrix, term, bindings, which, rows[place])
                known |= inside
            which, place = which[known], place[known]
        others = [t for t in required if not space.plain(max(t, ~t))]
        possible: Mask = np.zeros((len(bindings), len(rows)), dtype=bool)
        possible[which, place] = True
        for i in np.unique(which).tolist() if others or behavior.tree is not None else ():
            own = np.flatnonzero(possible[i])
            possible[i, own] = self._fits(behavior, bindings[i], rows[own], others)
        place_of = np.full(len(matrix), len(rows))
        place_of[rows] = np.arange(len(rows))
        for i, binding in enumerate(bindings):
            if binding in behavior.seen:
                known = place_of[behavior.seen[binding]]
                possible[i, known[known < len(rows)]] = True
        which, place = np.nonzero(possible)
        return which, place

    def _fits(
        self, behavior: Behavior, binding: Binding, rows: Integers, literals: Sequence[int]
    ) -> Mask:
        """Return where an instance meets literals about further objects, and the tree says yes."""
        terms = [max(t, ~t) for t in literals]
        wanted = np.array(literals, dtype=np.int64) >= 0
        fits: Mask = (behavior.space.values(self._matrix, binding, rows, terms) == wanted).all(
            axis=1
        )
        if behavior.tree is not None and fits.any():
            bits = behavior.space.values(self._matrix, binding, rows).astype(np.uint8)
            counts = behavior.tree.counts[behavior.tree.leaves(bits)]
            fits &= counts[:, 1] > counts[:, 0]
        return fits


def _bits(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
