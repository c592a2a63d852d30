"""The rules of the learned model, as values: what is audited, printed and exported.

A family of capabilities, such as `on(X,Y)`, has rules: conditions over its roles, each with what
the agent then does. Conditions are the paths of one decision tree, so exactly one rule of a family
applies to each pair. What the agent does is one of

- *pursue*: the next step of a shortest path to the request by the agent's behaviors;
- *idle*: nothing changes;
- *act*: certain changes, over the roles and over objects that a relation picks out.

A family whose objects do not behave alike has ground rules, with the capability in each condition.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from capscope.logic import Atom, Effect, Intent, State, Vocabulary
from capscope.logic.footprint import variable_names
from capscope.model.behaviors import Behavior, Change, Form
from capscope.model.experts import PURSUING
from capscope.model.families import IDLE, PURSUE, CapabilityFamily, LiftedOutcome
from capscope.model.outcome_types import NO_CHANGE
from capscope.model.state_graph import PairStats
from capscope.model.terms import Binding, Pattern, Term
from capscope.model.trees import Tree

if TYPE_CHECKING:
    from capscope.model.learned_model import LearnedModel
    from capscope.model.outcome_trees import Foretold, OutcomeTree

_FURTHER = "·"
"""How a further object of an atom is written."""
_FAILS = -1
"""Instead of the place of a change: nothing changes."""
_MOST_COMPARED = 500
"""Instances of a behavior that tell which doubtful literals follow from the others."""


class Consequence(StrEnum):
    """What an agent does under a rule."""

    PURSUE = "pursue"
    IDLE = "idle"
    ACT = "act"


@dataclass(frozen=True, slots=True, order=True)
class LiftedLiteral:
    """Atoms over variables that hold together of one further object, or do not.

    >>> str(LiftedLiteral((("on", ("z", "X")), ("clear", ("z",))), positive=False))
    'no z with on(z,X) and clear(z)'
    >>> str(LiftedLiteral((("=", ("x", "d")),), positive=False))
    'x != d'
    """

    atoms: tuple[tuple[str, tuple[str, ...]], ...]
    """`=` says which object a variable is."""
    positive: bool = True
    shared: str = "z"
    """The object that two atoms share."""

    def __str__(self) -> str:
        name, arguments = self.atoms[0]
        if name == "=":
            return f"{arguments[0]} {'=' if self.positive else '!='} {arguments[1]}"
        texts = " and ".join(str(Atom(*one)) for one in self.atoms)
        if len(self.atoms) == 1:
            return texts if self.positive else f"not {texts}"
        return f"{'some' if self.positive else 'no'} {self.shared} with {texts}"

    def named(self, names: Sequence[str]) -> tuple[list[tuple[str, tuple[str, ...]]], list[str]]:
        """Return the atoms with names for further objects, and the names used."""
        found: dict[object, str] = {}
        free, atoms = iter(names), []
        for predicate, arguments in self.atoms:
            written = []
            for place, argument in enumerate(arguments):
                shared = argument == self.shared and len(self.atoms) > 1
                if shared or argument == _FURTHER:
                    key = argument if shared else (predicate, place)
                    found[key] = argument = found[key] if key in found else next(free)
                written.append(argument)
            atoms.append((predicate, tuple(written)))
        return atoms, list(found.values())

    def holds(self, binding: Mapping[str, str], state: State, vocabulary: Vocabulary) -> bool:
        """Return whether it holds in a state of the objects that variables stand for."""
        name, arguments = self.atoms[0]
        if name == "=":
            return (binding[arguments[0]] == arguments[1]) is self.positive
        found = self.further(binding, state, vocabulary)
        return bool(found) is self.positive

    def further(
        self, binding: Mapping[str, str], state: State, vocabulary: Vocabulary
    ) -> set[tuple[str, ...]]:
        """Return the further objects of which the atoms hold in a state; `()` if they have none."""

        def is_further(argument: str) -> bool:
            # An object may be called z, but one that two atoms share is no object by name.
            named = argument in vocabulary.objects and len(self.atoms) == 1
            return argument not in binding and not named

        sides = [set(_matches(a, is_further, binding, state, vocabulary)) for a in self.atoms]
        return set.intersection(*sides)


@dataclass(frozen=True, slots=True)
class LiftedEffect:
    """What one execution changes, over roles and further objects."""

    changes: tuple[LiftedLiteral, ...]
    """Additions, then deletions; the variables of further objects are defined in `where`."""
    where: tuple[tuple[str, LiftedLiteral], ...]
    """Further objects, each with the relation that picks it out."""
    count: int
    probability: float
    """The share of the executions with outcomes that are meant as well."""
    meant: bool = True
    """Whether the rule says so; otherwise it was seen where the rule failed."""
    spread: tuple[float, float] | None = None
    """The least and the largest probability that the model gives it in a pair of the rule."""

    def __str__(self) -> str:
        return ", ".join(map(str, self.changes)) or "nothing changes"

    def at(self, binding: Mapping[str, str], state: State, vocabulary: Vocabulary) -> Effect | None:
        """Return the changes with objects for variables.

        None if a relation picks out no object or several, or two names stand for the same one.
        """
        objects = dict(binding)
        for name, relation in self.where:
            found = relation.further(binding, state, vocabulary)
            if len(found) != 1:
                return None
            (objects[name],) = next(iter(found))
        named = {name for change in self.changes for name in change.atoms[0][1]}
        if len({objects.get(name, name) for name in named}) < len(named):
            return None
        masks = {True: 0, False: 0}
        for change in self.changes:
            ((predicate, arguments),) = change.atoms
            bit = vocabulary.bit.get(Atom(predicate, tuple(objects.get(o, o) for o in arguments)))
            if bit is None:
                return None
            masks[change.positive] |= bit
        return Effect(masks[True], masks[False])


@dataclass(frozen=True, slots=True)
class LiftedRule:
    """A condition over the roles of a family, and what the agent then does."""

    when: tuple[LiftedLiteral, ...]
    """A conjunction; empty if the rule always applies."""
    consequence: Consequence
    effects: tuple[LiftedEffect, ...]
    """What it means, then what else was seen under it; most frequent first."""
    pairs: int
    """The pairs of a capability and a state that were tried under the rule."""
    foreseen: int
    """Those of them whose outcomes are those that the rule means."""
    capability: Intent | None = None
    """The capability that the rule is about; None if it is about the whole family."""

    @property
    def executions(self) -> int:
        """The executions behind the rule."""
        return sum(effect.count for effect in self.effects)

    @property
    def meant(self) -> tuple[LiftedEffect, ...]:
        """The outcomes that the rule foresees; of a rule that pursues, those seen."""
        return tuple(effect for effect in self.effects if effect.meant)


@dataclass(frozen=True, slots=True)
class FamilyRules:
    """A family of capabilities with its rules."""

    name: str
    """The intent with roles for objects: `on(X,Y)`."""
    roles: tuple[str, ...]
    members: tuple[Intent, ...]
    rules: tuple[LiftedRule, ...]

    @property
    def executions(self) -> int:
        """The executions of all members."""
        return sum(rule.executions for rule in self.rules)

    def binding(self, member: Intent) -> dict[str, str]:
        """Return the object of each role."""
        return dict(zip(self.roles, member.objects, strict=True))

    def applying(self, member: Intent, state: State, vocabulary: Vocabulary) -> list[int]:
        """Return the numbers of the rules that apply to a member in a state: exactly one.

        None for a member that was never tried, if the members have rules of their own.
        """
        binding = self.binding(member)
        return [
            number
            for number, rule in enumerate(self.rules)
            if rule.capability in (None, member)
            and all(one.holds(binding, state, vocabulary) for one in rule.when)
        ]


@dataclass(frozen=True, slots=True)
class LiftedBehavior:
    """A change that recurs with different objects, whatever is asked for."""

    effects: tuple[LiftedEffect, ...]
    """Its outcomes with their probabilities."""
    when: tuple[LiftedLiteral, ...]
    """What the model requires, and what the change itself needs."""
    doubtful: tuple[LiftedLiteral, ...]
    """What held whenever it was seen, and was neither required nor shown to be needed."""
    executions: int
    only_seen: bool
    """Whether only the objects are possible with which it was seen."""
    variables: tuple[str, ...]
    seen: tuple[tuple[str, ...], ...]
    """The objects with which it was seen, for the variables in order."""
    either: tuple[tuple[LiftedLiteral, ...], ...] = ()
    """Unless empty, one of these conjunctions is required as well."""
    telling: tuple[LiftedLiteral, ...] = ()
    """The doubtful literals that do not follow from the others in each state seen."""
    pursued: bool = True
    """Whether a family that pursues its requests takes it."""

    @property
    def name(self) -> str:
        """The additions of its most frequent outcome; its deletions if it adds nothing."""
        changes = self.effects[0].changes
        added = [str(one) for one in changes if one.positive]
        return ", ".join(added or map(str, changes)) or "nothing changes"


def role_names(number: int, vocabulary: Vocabulary) -> list[str]:
    """Return names for roles: X, Y, Z, … that no object has."""
    names = (name.upper() for name in variable_names(vocabulary))
    free = (name for name in names if name not in vocabulary.objects)
    return [next(free) for _ in range(number)]


def lifted_name(intent: Intent, vocabulary: Vocabulary) -> str:
    """Return an intent with roles for objects: the name of its family."""
    objects = intent.objects
    roles = dict(zip(objects, role_names(len(objects), vocabulary), strict=True))
    return " or ".join(
        " and ".join(
            ("" if x.positive else "not ")
            + str(Atom(x.atom.predicate, tuple(roles[o] for o in x.atom.arguments)))
            for x in term
        )
        for term in intent.alternatives
    )


def _matches(
    pattern: tuple[str, tuple[str, ...]],
    is_further: Callable[[str], bool],
    binding: Mapping[str, str],
    state: State,
    vocabulary: Vocabulary,
) -> Iterator[tuple[str, ...]]:
    """Yield the further objects of each atom of a pattern that holds in a state."""
    predicate, arguments = pattern
    taken = set(binding.values())
    for atom in vocabulary.groundings(predicate):
        if not state & vocabulary.bit[atom]:
            continue
        pairs = list(zip(arguments, atom.arguments, strict=True))
        others = tuple(o for a, o in pairs if is_further(a))
        known = all(binding.get(a, a) == o for a, o in pairs if not is_further(a))
        if known and taken.isdisjoint(others):
            yield others


def lifted_families(model: LearnedModel) -> tuple[FamilyRules, ...]:
    """Return the rules of all families of a model."""
    return tuple(_Reader(model).family(one) for one in model.experts.families.all)


def lifted_behaviors(model: LearnedModel) -> tuple[LiftedBehavior, ...]:
    """Return the behaviors of a model, those of lessons included, most frequent first."""
    reader = _Reader(model)
    every = [reader.behavior(one) for one in model.experts.behaviors.known()]
    return tuple(sorted(every, key=lambda one: -one.executions))


_Changes = tuple[tuple[LiftedLiteral, ...], tuple[tuple[str, LiftedLiteral], ...]]
"""Changes, and the relations that pick out their further objects."""


@dataclass(eq=False)
class _Leaf:
    """What a rule means, and what was seen under it."""

    outcome: LiftedOutcome
    meaning: list[_Changes]
    pairs: int = 0
    foreseen: int = 0
    may_fail: bool = False
    """Whether nothing may change, beside what is meant."""
    meant: Counter[_Changes] = field(default_factory=Counter)
    others: Counter[_Changes] = field(default_factory=Counter)
    elsewhere: Mapping[_Changes, float] = field(default_factory=dict)
    """The probabilities of what is meant in another instance."""
    spread: dict[_Changes, tuple[float, float]] = field(default_factory=dict)

    @property
    def executions(self) -> int:
        return self.meant.total() + self.others.total()

    @property
    def consequence(self) -> Consequence:
        if self.outcome == PURSUE:
            return Consequence.PURSUE
        return Consequence.IDLE if self.outcome == IDLE else Consequence.ACT

    def effects(self) -> tuple[LiftedEffect, ...]:
        """Return what is meant, then what else was seen, most frequent first."""
        possible = self.meaning + [((), ())] * (self.may_fail and bool(self.meaning))
        found = []
        for counts, meant in ((self.meant, True), (self.others, False)):
            every = dict.fromkeys([*counts, *(possible if meant else ())])
            total = counts.total()
            for one in sorted(every, key=lambda one: (-counts[one], repr(one))):
                share = counts[one] / total if total else self.elsewhere.get(one, 0.0)
                spread = self.spread.get(one) if meant else None
                found.append(LiftedEffect(one[0], one[1], counts[one], share, meant, spread))
        return tuple(found)


class _Reader:
    """Turns what a model has learned into values."""

    def __init__(self, model: LearnedModel) -> None:
        self._model = model
        self._matrix = model.matrix
        self._experts = model.experts
        self._vocabulary = model.graph.vocabulary

    def family(self, family: CapabilityFamily) -> FamilyRules:
        intents = [self._model.graph.capabilities[member] for member in family.members]
        names = role_names(len(intents[0].objects), self._vocabulary)
        rules = tuple(self._rules(family, names))
        text = lifted_name(intents[0], self._vocabulary)
        return FamilyRules(text, tuple(names), tuple(intents), rules)

    def _rules(self, family: CapabilityFamily, names: Sequence[str]) -> Iterator[LiftedRule]:
        planted = self._model.trees.by_family.get(family.key)
        if planted is not None:
            yield from self._tree_rules(family, planted, names)
            return
        kind = self._experts.rules_of(family)
        if kind is None:
            for member in family.members:
                found = self._experts.ground_tree(member)
                if found is not None:
                    numbers, tree = found
                    conditions = _paths(tree, self._ground_literals())
                    outcomes = [self._ground_class(number) for number in numbers]
                    yield from self._leaves([member], tree, conditions, outcomes, names, None)
            return
        lifted = self._experts.families.tree(family, kind)
        if lifted is not None:
            conditions = _paths(lifted, self._literals(family, names))
            outcomes = family.classes[kind]
            yield from self._leaves(family.members, lifted, conditions, outcomes, names, family)

    def _tree_rules(
        self, family: CapabilityFamily, planted: OutcomeTree, names: Sequence[str]
    ) -> Iterator[LiftedRule]:
        """Yield a rule for each leaf of a tree of distributions."""
        named = [LiftedLiteral(((a.predicate, a.arguments),)) for a in self._model.trees.ground]
        conditions = _paths(planted.tree, [*self._literals(family, names), *named])
        told: dict[int, list[tuple[Foretold, Mapping[int, int]]]] = {}
        for pair in self._model.family_pairs(family):
            expected = self._model.trees.expected(planted, pair.capability, pair.row)
            told.setdefault(expected.leaf, []).append((expected, expected.counts(pair.counts)))
        draws = planted.tree.counts.sum(axis=1)
        for leaf in sorted(conditions, key=lambda leaf: (-draws[leaf], leaf)):
            pairs, counts = told.get(leaf, []), planted.tree.counts[leaf]
            effects = []
            for number in sorted(np.flatnonzero(counts).tolist(), key=lambda n: (-counts[n], n)):
                (meant,) = self._meaning(planted.outcomes[number], names)
                given = [e.effects[e.meaning[number]] for e, _ in pairs if number in e.meaning]
                shown = sum(own.get(number, 0) for _, own in pairs)
                share = float(counts[number] / draws[leaf])
                spread = (min(given), max(given)) if given else None
                effects.append(LiftedEffect(*meant, shown, share, spread=spread))
            idle = all(not one.changes for one in effects)
            foreseen = sum(-1 not in own for _, own in pairs)
            consequence = Consequence.IDLE if idle else Consequence.ACT
            yield LiftedRule(conditions[leaf], consequence, tuple(effects), len(pairs), foreseen)

    def _ground_class(self, number: int) -> LiftedOutcome:
        if number == 0:
            return IDLE
        form, binding = self._experts.behaviors.lifted(number)
        return LiftedOutcome(form, tuple(("object", name) for name in binding))

    def _ground_literals(self) -> list[LiftedLiteral]:
        return [LiftedLiteral(((a.predicate, a.arguments),)) for a in self._vocabulary.atoms]

    def _literals(self, family: CapabilityFamily, names: Sequence[str]) -> list[LiftedLiteral]:
        terms = [_literal(term, names) for term in family.space.terms]
        return terms + [LiftedLiteral((("=", (names[r], o)),)) for r, o in family.named]

    def _leaves(
        self,
        members: Sequence[int],
        tree: Tree,
        conditions: Mapping[int, tuple[LiftedLiteral, ...]],
        outcomes: Sequence[LiftedOutcome],
        names: Sequence[str],
        family: CapabilityFamily | None,
    ) -> Iterator[LiftedRule]:
        """Yield a rule for each leaf of a tree, with what was seen under it."""
        under: dict[int, _Leaf] = {}
        for member in members:
            tried = self._model.tried(member)
            if not tried:
                continue
            rows = [row for row, _ in tried]
            leaves = self._experts.leaves(member, rows, tree, lifted=family is not None)
            labels = self._model.labels_of(member)
            predicted = self._experts.by_rules_at(member, rows)
            for (row, pair), place, number in zip(tried, leaves, predicted, strict=True):
                if place not in under:
                    under[place] = self._leaf(tree, place, outcomes, names)
                leaf = under[place]
                self._count(leaf, member, row, pair, number == labels[row], names, family)
                leaf.may_fail |= NO_CHANGE in self._model.types.odds[number]
        if family is not None:  # those that were learned of another instance alone
            for place in conditions.keys() - under.keys():
                under[place] = self._leaf(tree, place, outcomes, names)
        capability = None if family is not None else self._model.graph.capabilities[members[0]]
        for place, leaf in sorted(under.items(), key=lambda one: (-one[1].executions, one[0])):
            yield LiftedRule(
                conditions[place],
                leaf.consequence,
                leaf.effects(),
                leaf.pairs,
                leaf.foreseen,
                capability,
            )

    def _leaf(
        self, tree: Tree, place: int, outcomes: Sequence[LiftedOutcome], names: Sequence[str]
    ) -> _Leaf:
        outcome = outcomes[int(tree.counts[place].argmax())]
        meaning = self._meaning(outcome, names)
        shares = self._elsewhere(outcome.form) if meaning else {}
        known: dict[int, _Changes] = {**dict(enumerate(meaning)), _FAILS: ((), ())}
        elsewhere = {known[n]: share for n, share in shares.items()}
        return _Leaf(outcome, meaning, may_fail=_FAILS in shares, elsewhere=elsewhere)

    def _elsewhere(self, form: Form | None) -> dict[int, float]:
        """Return the probability of each change of a form, from what resembles it."""
        kinds = [tuple(sorted((name, s) for s, name, _ in changes)) for changes in form or ((),)]
        counts = self._model.types.counts.get(tuple(sorted(kinds)), Counter(kinds))
        weights = {n: counts[kind] / kinds.count(kind) for n, kind in enumerate(kinds)}
        if form and counts[()]:
            weights[_FAILS] = counts[()]
        return {n: weight / sum(weights.values()) for n, weight in weights.items()}

    def _meaning(self, outcome: LiftedOutcome, names: Sequence[str]) -> list[_Changes]:
        """Return the outcomes that a description means, over roles and further objects."""
        if outcome == PURSUE:
            return []
        further = iter(
            role_names(len(names) + len(outcome.references), self._vocabulary)[len(names) :]
        )
        variables: list[str] = []
        where: list[tuple[str, LiftedLiteral]] = []
        for kind, what in outcome.references:
            if kind == "the":
                variables.append(next(further))
                where.append((variables[-1], _pattern(what, names, variables[-1])))  # type: ignore[arg-type]
            else:
                variables.append(names[what] if kind == "role" else str(what))  # type: ignore[index]
        meant = []
        for changes in outcome.form or ((),):
            written = _changes(changes, variables)
            used = {name for one in written for name in one.atoms[0][1]}
            meant.append((written, tuple(one for one in where if one[0] in used)))
        return meant

    def _count(
        self,
        leaf: _Leaf,
        member: int,
        row: int,
        pair: PairStats,
        foreseen: bool,
        names: Sequence[str],
        family: CapabilityFamily | None,
    ) -> None:
        """Count what one pair showed under a rule."""
        leaf.pairs += 1
        leaf.foreseen += foreseen
        state, vocabulary = self._matrix.states[row], self._vocabulary
        binding = dict(zip(names, self._model.graph.capabilities[member].objects, strict=True))
        exact = {
            effect: one
            for one in leaf.meaning
            if (effect := LiftedEffect(one[0], one[1], 0, 0.0).at(binding, state, vocabulary))
            is not None
        }
        # An effect that adds what holds already changes less than it does elsewhere.
        own = {effect.apply(state): one for effect, one in exact.items()}
        if leaf.consequence is Consequence.ACT:
            foretold = self._model.predict_untried(state, self._model.graph.capabilities[member])
            for after, one in own.items() if foretold else ():
                share = foretold.get(after, 0.0)
                least, most = leaf.spread.get(one, (share, share))
                leaf.spread[one] = min(least, share), max(most, share)
        for effect, count in pair.counts.items():
            known = exact.get(effect, own.get(effect.apply(state)))
            if known is not None:
                leaf.meant[known] += count
            elif foreseen and effect == NO_CHANGE:
                leaf.meant[(), ()] += count
            else:
                changes = self._lifted_effect(member, row, effect, names, family)
                (leaf.meant if foreseen else leaf.others)[changes] += count

    def _lifted_effect(
        self,
        member: int,
        row: int,
        effect: Effect,
        names: Sequence[str],
        family: CapabilityFamily | None,
    ) -> _Changes:
        """Return the changes of an effect over roles, and what its other objects are."""
        literals = effect.literals(self._vocabulary)
        if family is None:
            return (
                tuple(
                    LiftedLiteral(((x.atom.predicate, x.atom.arguments),), x.positive)
                    for x in literals
                ),
                (),
            )
        roles = self._experts.families.roles[member]
        variables = dict(zip(roles, names, strict=True))
        further = role_names(len(names) + len(literals) * 3, self._vocabulary)[len(names) :]
        where: list[tuple[str, LiftedLiteral]] = []
        for name in dict.fromkeys(o for x in literals for o in x.atom.arguments):
            if name not in variables:
                pattern = self._experts.families.description(roles, row, name)
                if pattern is None:
                    variables[name] = name
                else:
                    variables[name] = further[len(where)]
                    where.append((further[len(where)], _pattern(pattern, names, variables[name])))
        changes = tuple(
            LiftedLiteral(
                ((x.atom.predicate, tuple(variables[o] for o in x.atom.arguments)),), x.positive
            )
            for x in literals
        )
        return changes, tuple(where)

    def behavior(self, behavior: Behavior) -> LiftedBehavior:
        names = role_names(len(behavior.variables), self._vocabulary)
        terms = behavior.space.terms

        def literals(numbers: Sequence[int]) -> tuple[LiftedLiteral, ...]:
            return tuple(
                _literal(terms[n if n >= 0 else ~n], names, positive=n >= 0) for n in numbers
            )

        needed = sorted(behavior.needed, key=lambda n: (n < 0, n))
        required = [n for n in behavior.required if n not in behavior.needed]
        doubtful = sorted(
            behavior.always - behavior.proven - set(required), key=lambda n: (n < 0, n)
        )
        counts: Counter[int] = Counter()
        own = dict(self._drawn_of(behavior))
        for number, binding in own.items():
            order = self._experts.behaviors.effects_in_order(behavior.form, binding)
            for effect, count in self._model.drawn(number).items():
                counts[order.get(effect, _FAILS)] += count
        shares = {place: count / counts.total() for place, count in counts.items()}
        effects = [
            LiftedEffect(
                () if place == _FAILS else _changes(behavior.form[place], names),
                (),
                counts[place],
                share,
            )
            for place, share in sorted(
                (shares or self._elsewhere(behavior.form)).items(),
                key=lambda item: (item[0] == _FAILS, -item[1]),
            )
        ]
        return LiftedBehavior(
            tuple(effects),
            literals([*needed, *required]),
            literals(doubtful),
            sum(counts.values()),
            behavior.only_seen,
            tuple(names),
            tuple(behavior.seen),
            self._either(behavior, names),
            literals(self._telling(behavior, doubtful)),
            not own or not self._pursued.isdisjoint(own),
        )

    def _drawn_of(self, behavior: Behavior) -> Iterator[tuple[int, Binding]]:
        """Yield the outcome types that are instances of a behavior and were seen."""
        for number in range(1, len(self._model.types)):
            if self._model.drawn(number):
                form, binding = self._experts.behaviors.lifted(number)
                if form == behavior.form:
                    yield number, binding

    @cached_property
    def _pursued(self) -> set[int]:
        """The types that pairs of families have shown that pursue their requests."""
        return {
            number
            for family in self._experts.families.all
            if family.key not in self._model.trees.by_family
            and self._experts.rules_of(family) == PURSUING
            for member in family.members
            for number in self._model.labels_of(member).values()
        }

    def _either(
        self, behavior: Behavior, names: Sequence[str]
    ) -> tuple[tuple[LiftedLiteral, ...], ...]:
        terms, tree = [_literal(term, names) for term in behavior.space.terms], behavior.tree
        contexts = [tuple(terms[n] for n in sorted(one)) for one in behavior.contexts]
        if not behavior.within or () in contexts:
            contexts = [()]
        leaves: dict[int, tuple[LiftedLiteral, ...]] = (
            {0: ()} if tree is None else _paths(tree, terms)
        )
        found = [
            (*context, *path)
            for context in contexts
            for leaf, path in sorted(leaves.items())
            if tree is None or tree.counts[leaf, 1] > tree.counts[leaf, 0]
        ]
        known = {*behavior.needed, *behavior.required}
        said = {terms[n] for n in known if n >= 0}
        found = [tuple(one for one in path if one not in said) for path in found]
        found = _merged(found)
        return () if () in found else tuple(found)

    def _telling(self, behavior: Behavior, doubtful: Sequence[int]) -> list[int]:
        """Select those that fail in a state seen in which the behavior is believed possible."""
        known = self._experts.behaviors
        rows = np.array([self._matrix.row[s] for s in self._model.graph.nodes], dtype=np.int64)
        own = [n for n, (index, _) in known.instances.items() if known.all[index] is behavior]
        open_ones = set(doubtful)
        for number in own[:_MOST_COMPARED]:
            held = rows[known.possible(number, rows)]
            values = behavior.space.values(self._matrix, known.instances[number].binding, held)
            open_ones -= {n for n in open_ones if not (values[:, max(n, ~n)] == (n >= 0)).all()}
        return [n for n in doubtful if n not in open_ones]


def _merged(paths: Sequence[tuple[LiftedLiteral, ...]]) -> list[tuple[LiftedLiteral, ...]]:
    """Return fewer conjunctions with the same disjunction: `a and b or a and not b` is `a`."""
    known = {frozenset(path): path for path in paths}
    for one, other in itertools.combinations(list(known), 2):
        if len(one) > len(other):
            one, other = other, one
        for literal in one:
            opposite = replace(literal, positive=not literal.positive)
            if one - {literal} <= other - {opposite} and opposite in other:
                shorter = tuple(x for x in known[other] if x != opposite)
                return _merged([*(path for key, path in known.items() if key != other), shorter])
        if one <= other:
            return _merged([path for key, path in known.items() if key != other])
    return list(known.values())


def _changes(changes: Sequence[Change], names: Sequence[str]) -> tuple[LiftedLiteral, ...]:
    """Write changes of a form with names, additions first."""
    return tuple(
        LiftedLiteral(((name, tuple(names[v] for v in args)),), positive)
        for positive, name, args in sorted(changes, key=lambda change: not change[0])
    )


def _paths(tree: Tree, features: Sequence[LiftedLiteral]) -> dict[int, tuple[LiftedLiteral, ...]]:
    """Return the conjunction that leads to each leaf of a tree."""
    found: dict[int, tuple[LiftedLiteral, ...]] = {}
    pending: list[tuple[int, tuple[LiftedLiteral, ...]]] = [(0, ())]
    while pending:
        node, path = pending.pop()
        feature = int(tree.feature[node])
        if feature < 0:
            found[node] = _without_implied(path)
            continue
        literal = features[feature]
        for side in (0, 1):
            step = LiftedLiteral(literal.atoms, bool(side))
            pending.append((int(tree.child[node, side]), (*path, step)))
    return found


def _without_implied(path: tuple[LiftedLiteral, ...]) -> tuple[LiftedLiteral, ...]:
    """Drop that a role is not one object where it is said to be another."""
    known = {one.atoms[0][1][0] for one in path if one.positive and one.atoms[0][0] == "="}
    return tuple(
        one
        for one in path
        if one.positive or one.atoms[0][0] != "=" or one.atoms[0][1][0] not in known
    )


def _literal(term: Term, names: Sequence[str], *, positive: bool = True) -> LiftedLiteral:
    further = "z" if len(term.atoms) > 1 else _FURTHER
    return LiftedLiteral(
        tuple(
            (name, tuple(names[v] if v >= 0 else further for v in args))
            for name, args in term.atoms
        ),
        positive,
    )


def _pattern(pattern: Pattern, names: Sequence[str], variable: str) -> LiftedLiteral:
    name, arguments = pattern
    return LiftedLiteral(((name, tuple(names[v] if v >= 0 else variable for v in arguments)),))
