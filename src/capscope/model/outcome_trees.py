"""Families told by one tree whose leaves are distributions over changes.

Outcome types (`outcome_types`) belong together wherever they occur. If an agent now and then takes
the wrong object, types merge what happens in states that have nothing in common. An *outcome tree*
needs no types: its examples are all executions of a family, each with the change over roles,
over further objects that a relation picks out, and over named objects. It says "0.7 X is archived,
0.3 the mail with the same subject is" where a condition over the roles holds.

**Growth.** A tree is grown greedily and pruned. A split must raise the marginal likelihood of the
executions, with a Dirichlet prior in each leaf, by more than it costs to name its literal. An
outcome about a further object presupposes it: a leaf is divided by whether there is one.

**A tree must earn its place.** It stands for a family only if it gave outcomes that were held out a
clearly higher probability than the experts did (`HeldOut`).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, cast

import numpy as np

from capscope.logic import Atom, Effect, Vocabulary
from capscope.model.behaviors import Form, lift
from capscope.model.families import IDLE, CapabilityFamily, Families, LiftedOutcome, Reference
from capscope.model.lessons import TermRows, named_terms
from capscope.model.outcome_types import NO_CHANGE
from capscope.model.state_graph import StateMatrix
from capscope.model.terms import ANY, SAME, Binding, Pattern, Term
from capscope.model.trees import Tree
from capscope.seeds import child_seed
from capscope.stats.arrays import Bits, Floats, Integers

_MOST_LEAVES = 10_000
_MOST_EXAMPLES = 2_000  # pairs of one family
_MOST_ORDERS = 720  # of the objects of a change
_DEEPEST = 8  # literals of a condition
_FURTHER_COST = 0.5  # nats for each further object of a literal
_NAMED_COST = 1.0  # nats for each object that a literal names
_MOST_GROUND = 100  # atoms of a vocabulary whose atoms may be named
LEAST_GAIN = 3.0
"""Nats by which a tree must explain held-out executions better than rules over roles do."""
LEAST_LOSS = -1.0
"""The same for ground rules, which are longer: it may be as much worse."""
_LONE_COST = 2.0  # of a condition that selects one of n pairs, times log n nats
_SLIP = 0.02  # probability that is left for outcomes that were held impossible
_OTHERS = 50  # among as many
_NOVELTY = tuple(2.0**k for k in range(-7, 4))
_PRIOR_NOVELTY = 1, 0.5, 1.0  # as if, after one execution, half a new outcome had been seen of one


class FamilyPair(NamedTuple):
    """A tried pair: its capability, the row of its state, and how often each effect was seen."""

    capability: int
    row: int
    counts: Mapping[Effect, int]


@dataclass(frozen=True, eq=False)
class OutcomeLessons:
    """The examples of a family, for other instances."""

    features: TermRows
    outcomes: tuple[Mapping[LiftedOutcome, int], ...]
    novelty: float = 1.0

    @property
    def predicates(self) -> frozenset[str]:
        """The names of the predicates that change."""
        forms = {outcome.form or () for shown in self.outcomes for outcome in shown}
        return frozenset(name for form in forms for changes in form for _, name, _ in changes)


@dataclass(eq=False)
class OutcomeTree:
    """What is expected of a family."""

    outcomes: tuple[LiftedOutcome, ...]
    """The classes of the tree."""
    tree: Tree
    """Its counts are those of the outcomes."""
    lessons: OutcomeLessons
    known: Floats
    """The executions in each node when the tree was grown."""
    shown: Mapping[tuple[int, int], frozenset[Effect]]
    """What each tried pair had shown then, by capability and row."""
    novelty: float = 1.0
    """After n executions under a condition the next outcome is new with novelty / (n + novelty)."""


class Foretold(NamedTuple):
    """What an outcome tree expects of a pair."""

    leaf: int
    """The node of the tree."""
    effects: Mapping[Effect, float]
    """With probabilities; empty if nothing that was seen under the condition is possible here."""
    meaning: Mapping[int, Effect]
    """The effect that each outcome of the tree means here; several may mean the same one."""
    numbers: Mapping[Effect, int]
    """The outcome that each effect counts for: if possible, one that says just this change."""
    draws: int
    """The executions under the condition."""
    doubt: float
    """The probability that the next outcome under it is another one."""

    def counts(self, pair: Mapping[Effect, int]) -> dict[int, int]:
        """Count the outcomes of the tree that a pair has shown; -1 is any other."""
        found: Counter[int] = Counter()
        for effect, number in pair.items():
            found[self.numbers.get(effect, -1)] += number
        return found


class OutcomeTrees:
    """Grows outcome trees and reads them."""

    def __init__(self, families: Families, matrix: StateMatrix, vocabulary: Vocabulary) -> None:
        self._families = families
        self._matrix = matrix
        self._vocabulary = vocabulary
        few = len(vocabulary.atoms) <= _MOST_GROUND
        self.ground: tuple[Atom, ...] = tuple(vocabulary.atoms) if few else ()
        """The atoms that a condition may name as well, whatever is asked for."""
        self.by_family: dict[object, OutcomeTree] = {}
        """The trees that stand for a family, by its key."""

    def of(self, capability: int) -> OutcomeTree | None:
        """Return the tree that stands for the family of a capability, if one does."""
        known = self._families.of[capability : capability + 1]
        return self.by_family.get(known[0].key) if known else None

    def leaf_number(self, capability: int, leaf: int) -> int:
        """Return a number for a leaf that no leaf of another family has."""
        place = [*self.by_family].index(self._families.of[capability].key)
        return _MOST_LEAVES * (place + 1) + leaf

    def shown(self, capability: int, row: int) -> frozenset[Effect] | None:
        """Return what a pair had shown when its tree was grown; None if it was not tried."""
        tree = self.of(capability)
        return None if tree is None else tree.shown.get((capability, row))

    def grown(
        self,
        family: CapabilityFamily,
        pairs: Sequence[FamilyPair],
        before: OutcomeLessons | None = None,
    ) -> OutcomeTree:
        """Grow a tree on pairs of a family, and on examples of another instance."""
        states = self._matrix.states
        order = sorted(pairs, key=lambda one: child_seed(states[one.row], one.capability))
        kept = order[:_MOST_EXAMPLES]
        terms = (*named_terms(family.space, family.named), *self.ground)
        bits: Bits = np.zeros((0, len(terms)), dtype=np.uint8)
        if kept:
            features = self._families.features_of_examples([pair[:2] for pair in kept])
            bits = self._with_ground(features, np.array([pair.row for pair in kept]))
        shown: list[Mapping[LiftedOutcome, int]] = [*self._lifted(kept)]
        lessons = OutcomeLessons(TermRows(terms, bits.astype(bool)), tuple(shown))
        if before is not None:
            shown = [*before.outcomes, *shown]
            carried = before.features.for_columns(terms).astype(np.uint8)
            bits = np.concatenate([carried, bits])
            lessons = OutcomeLessons(TermRows(terms, bits.astype(bool)), tuple(shown))
        outcomes = tuple(sorted({o for one in shown for o in one}, key=repr))
        place = {outcome: i for i, outcome in enumerate(outcomes)}
        counts = np.zeros((len(shown), len(outcomes)), dtype=np.int64)
        for row, own in enumerate(shown):
            for outcome, drawn in own.items():
                counts[row, place[outcome]] = drawn
        costs = np.array([_cost(term) for term in terms])
        column = {term: i for i, term in enumerate(terms)}
        presupposed = [
            tuple(column[one] for one in _presupposed(outcome) if one in column)
            for outcome in outcomes
        ]
        tree = grow_pruned(bits, counts, costs, presupposed)
        effects = {(one.capability, one.row): frozenset(one.counts) for one in pairs}
        return OutcomeTree(outcomes, tree, lessons, tree.counts.sum(axis=1), effects)

    def _with_ground(self, bits: Bits, rows: Integers) -> Bits:
        return np.concatenate([bits, self._matrix.part(rows)], axis=1) if self.ground else bits

    def _lifted(self, pairs: Sequence[FamilyPair]) -> Iterator[Mapping[LiftedOutcome, int]]:
        """Describe the effects of pairs; of several descriptions, the one that fits most often."""
        fitting = [self._descriptions(pair) for pair in pairs]
        usual = Counter(p for found in fitting for patterns in found.values() for p in patterns)

        def best(patterns: Sequence[Pattern], name: str) -> Reference:
            if not patterns:
                return "object", name
            tells_roles = {p: any(v >= 0 for v in p[1]) for p in patterns}
            return "the", max(patterns, key=lambda p: (tells_roles[p], usual[p], repr(p)))

        for pair, found in zip(pairs, fitting, strict=True):
            roles = self._families.roles[pair.capability]
            references: dict[str, Reference] = {name: ("role", i) for i, name in enumerate(roles)}
            references |= {name: best(patterns, name) for name, patterns in found.items()}
            counts: Counter[LiftedOutcome] = Counter()
            for effect, number in pair.counts.items():
                if effect == NO_CHANGE:
                    counts[IDLE] += number
                else:
                    form, binding = lift(frozenset([effect]), self._vocabulary)
                    counts[canonical(form, [references[o] for o in binding])] += number
            yield counts

    def _descriptions(self, pair: FamilyPair) -> dict[str, list[Pattern]]:
        """Return, for each further object that changed, the relations that pick it out."""
        roles = self._families.roles[pair.capability]
        place = {role: i for i, role in enumerate(roles)}
        changed = {
            name: None
            for effect in pair.counts
            for literal in effect.literals(self._vocabulary)
            for name in literal.atom.arguments
            if name not in place
        }
        found: dict[str, list[Pattern]] = {name: [] for name in changed}
        if found:
            for atom in self._vocabulary.holding(self._matrix.states[pair.row]):
                others = [o for o in atom.arguments if o not in place]
                if len(others) == 1 and others[0] in found:
                    pattern = atom.predicate, tuple(place.get(o, SAME) for o in atom.arguments)
                    if self._families.the(roles, pair.row, pattern) == others[0]:
                        found[others[0]].append(pattern)
        return found

    def expected(self, tree: OutcomeTree, capability: int, row: int) -> Foretold:
        """Return what a tree expects of a pair."""
        bits = self._families.known_features(capability, np.array([row]))
        bits = self._with_ground(bits, np.array([row]))
        leaf = int(tree.tree.leaves(bits)[0])
        counts, state = tree.tree.counts[leaf], self._matrix.states[row]
        shares: dict[Effect, float] = {}
        meaning: dict[int, Effect] = {}
        numbers: dict[Effect, int] = {}
        for number in np.flatnonzero(counts).tolist():
            effect = self._resolved(tree.outcomes[number], capability, row)
            if effect is not None:
                # An effect that adds what holds already changes less than it does elsewhere.
                own = meaning[number] = Effect.between(state, effect.apply(state))
                shares[own] = shares.get(own, 0.0) + float(counts[number])
                if own == effect or own not in numbers:
                    numbers[own] = number
        total = sum(shares.values())
        shares = {effect: share / total for effect, share in shares.items()}
        doubt = tree.novelty / (tree.known[leaf] + tree.novelty) if shares else 1.0
        return Foretold(leaf, shares, meaning, numbers, int(counts.sum()), float(doubt))

    def recount(
        self, tree: OutcomeTree, before: Sequence[FamilyPair], after: Sequence[FamilyPair]
    ) -> None:
        """Count further executions of outcomes that are held possible; others stay impossible."""
        expected = {
            (pair.capability, pair.row): self.expected(tree, pair.capability, pair.row)
            for pair in after
        }
        for pairs, sign in ((before, -1), (after, 1)):
            for pair in pairs:
                own = expected[pair.capability, pair.row]
                for number, shown in own.counts(pair.counts).items():
                    if number >= 0:
                        tree.tree.counts[own.leaf, number] += sign * shown
        tree.shown = {(one.capability, one.row): frozenset(one.counts) for one in after}

    def _resolved(self, outcome: LiftedOutcome, capability: int, row: int) -> Effect | None:
        """Return the effect that a description means in a state; None if it means none."""
        if not outcome.form:
            return NO_CHANGE
        binding = self._families.objects(outcome, capability, row)
        return None if binding is None else _effect(outcome, binding, self._vocabulary)


def canonical(form: Form, references: Sequence[Reference]) -> LiftedOutcome:
    """Describe changes in one way, where objects may be exchanged without changing the form."""
    orders = symmetries(form, len(references))
    ordered = (tuple(references[v] for v in order) for order in orders)
    return LiftedOutcome(form, min(ordered, key=repr))


@cache
def symmetries(form: Form, variables: int) -> tuple[tuple[int, ...], ...]:
    """Return the orders of the variables of a form that leave it as it is."""
    whole = {frozenset(changes) for changes in form}
    orders = itertools.islice(itertools.permutations(range(variables)), _MOST_ORDERS)
    return tuple(
        order
        for order in orders
        if whole
        == {frozenset((s, name, tuple(order[v] for v in a)) for s, name, a in c) for c in form}
    )


def _effect(outcome: LiftedOutcome, binding: Binding, vocabulary: Vocabulary) -> Effect | None:
    assert outcome.form, "an effect that changes nothing has no form"
    masks = {True: 0, False: 0}
    for positive, name, arguments in outcome.form[0]:
        bit = vocabulary.bit.get(Atom(name, tuple(binding[v] for v in arguments)))
        if bit is None:
            return None
        masks[positive] |= bit
    return Effect(masks[True], masks[False])


def _presupposed(outcome: LiftedOutcome) -> Iterator[Term]:
    """Yield what holds where the further objects of an outcome exist."""
    for kind, what in outcome.references:
        if kind == "the":
            name, arguments = cast(Pattern, what)
            yield Term(((name, tuple(ANY if v == SAME else v for v in arguments)),))


def _cost(term: object) -> float:
    """Return what a literal costs beside its choice: shorter conditions are preferred."""
    if isinstance(term, Atom):
        return _NAMED_COST * len(term.arguments)
    return _FURTHER_COST * (term.size - 1) if isinstance(term, Term) else _NAMED_COST


class LeafScores:
    """Marginal likelihoods of counts under a Dirichlet prior with one draw in all."""

    def __init__(self, outcomes: int, draws: int) -> None:
        share = 1.0 / (outcomes + 1)
        steps = np.arange(draws)
        self._own = np.concatenate([[0.0], np.cumsum(np.log(steps + share))])
        self._all = np.concatenate([[0.0], np.cumsum(np.log(steps + 1.0))])

    def __call__(self, counts: Integers) -> Floats:
        """Return the logarithm for each row of counts."""
        scores: Floats = self._own[counts].sum(axis=-1) - self._all[counts.sum(axis=-1)]
        return scores


class _Node(NamedTuple):
    counts: Integers
    score: float
    feature: int = -1
    sides: tuple[_Node, ...] = ()
    """For a bit of 0 and of 1."""


def grow_pruned(
    bits: Bits, counts: Integers, costs: Floats, presupposed: Sequence[Sequence[int]]
) -> Tree:
    """Grow a tree of distributions, in which each split pays for itself.

    Args:
        bits: A row of features for each example.
        counts: How often each example showed each outcome.
        costs: What it costs to name each feature, in nats.
        presupposed: The features that each outcome presupposes.

    Returns:
        The tree; its counts are those of the outcomes.
    """
    grower = _Grower(costs, presupposed, LeafScores(counts.shape[1], int(counts.sum()) + 1))
    feature: list[int] = []
    child: list[list[int]] = []
    totals: list[Integers] = []

    def add(node: _Node) -> int:
        number = len(feature)
        feature.append(node.feature)
        child.append([0, 0])
        totals.append(node.counts)
        if node.sides:
            child[number] = [add(side) for side in node.sides]
        return number

    add(grower.grown(bits, counts, _DEEPEST))
    return Tree(np.array(feature), np.array(child), np.array(totals, dtype=np.float64))


class _Grower(NamedTuple):
    costs: Floats
    presupposed: Sequence[Sequence[int]]
    scores: LeafScores

    def grown(self, bits: Bits, counts: Integers, depth: int) -> _Node:
        """Return the best node for some examples: a leaf, or a split."""
        total: Integers = counts.sum(axis=0)
        leaf = _Node(total, float(self.scores(total)))
        varying = np.flatnonzero(bits.any(axis=0) & ~bits.all(axis=0))
        if np.count_nonzero(total) < 2 or not len(varying):
            return leaf
        if depth:
            inside = bits[:, varying].T.astype(np.int64) @ counts
            number = bits[:, varying].sum(axis=0)
            # A single pair may just be an odd one out, the more likely the more pairs there are.
            lone = ((number == 1) | (number == len(bits) - 1)) * _LONE_COST * math.log(len(bits))
            price = self.costs[varying] + lone + math.log(len(varying))
            gains = np.round(self.scores(inside) + self.scores(total - inside) - price, 9)
            place = int(gains.argmax())
            split = self._split(bits, counts, int(varying[place]), float(price[place]), depth - 1)
            if split.score > leaf.score:
                return split
        for outcome in np.flatnonzero(total).tolist():
            for feature in self.presupposed[outcome]:
                if feature in varying:
                    return self._split(bits, counts, feature, 0.0, depth)
        return leaf

    def _split(self, bits: Bits, counts: Integers, feature: int, price: float, depth: int) -> _Node:
        on = bits[:, feature] > 0
        sides = tuple(self.grown(bits[one], counts[one], depth) for one in (~on, on))
        score = sum(side.score for side in sides) - price
        return _Node(counts.sum(axis=0), score, feature, sides)


class HeldOut:
    """Compares how well experts and outcome trees foretold executions that were held out."""

    def __init__(self) -> None:
        self._given: defaultdict[object, float] = defaultdict(float)
        self._asked: defaultdict[object, defaultdict[int, list[FamilyPair]]] = defaultdict(
            lambda: defaultdict(list)
        )

    def add(
        self, key: object, half: int, pair: FamilyPair, expected: Mapping[Effect, float]
    ) -> None:
        """Take in what the experts expected of a pair of a family that they had not seen."""
        self._given[key] += log_likelihood(pair.counts, expected)
        self._asked[key][half].append(pair)

    def better(
        self,
        trees: OutcomeTrees,
        family: CapabilityFamily,
        pairs: Sequence[FamilyPair],
        margin: float,
        before: OutcomeLessons | None = None,
    ) -> OutcomeTree | None:
        """Return a tree for a family if it explains what was held out better by some margin.

        Args:
            trees: Grows it.
            family: The family.
            pairs: All its pairs.
            margin: How much better it has to be, in nats.
            before: Examples of another instance, where a tree was better.

        Returns:
            The tree, grown on all pairs; None if the experts are to be believed.
        """
        given = self._given[family.key]
        if given > -margin or (before is None and not self._asked[family.key]):
            return None
        told, novel = 0.0, list[tuple[int, float, float]]()
        for asked in self._asked[family.key].values():
            without = {(pair.capability, pair.row) for pair in asked}
            known = [pair for pair in pairs if (pair.capability, pair.row) not in without]
            tree = trees.grown(family, known, before)
            for pair in asked:
                expected = trees.expected(tree, pair.capability, pair.row)
                told += log_likelihood(pair.counts, expected.effects)
                missed = expected.counts(pair.counts).get(-1, 0)
                novel.append((expected.draws, missed, sum(pair.counts.values())))
        if told < given + margin:
            return None
        grown = trees.grown(family, pairs, before)
        grown.novelty = before.novelty if before and not novel else likeliest_novelty(novel)
        return grown


def log_likelihood(counts: Mapping[Effect, int], expected: Mapping[Effect, float]) -> float:
    """Return how well an expectation explains the executions of a pair."""
    return sum(
        number * math.log((1.0 - _SLIP) * expected.get(effect, 0.0) + _SLIP / _OTHERS)
        for effect, number in counts.items()
    )


def likeliest_novelty(shown: Sequence[tuple[int, float, float]]) -> float:
    """Return the novelty that explains held-out executions best.

    Args:
        shown: For each pair the executions that were known of its condition, how many of its own
            were of another outcome, and all of its own.
    """

    def score(novelty: float) -> float:
        total = 0.0
        for known, missed, own in (_PRIOR_NOVELTY, *shown):
            chance = min(novelty / (known + novelty), 1.0 - 1e-9)
            total += missed * math.log(chance) + (own - missed) * math.log1p(-chance)
        return total

    return max(_NOVELTY, key=score)
