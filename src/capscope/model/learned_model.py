"""What is believed of every pair of a state and a capability, tried or not.

Pairs are sorted into outcome types (`outcome_types`), and experts predict the type of a pair that
was never tried (`experts`). Everything is fitted again whenever the executions have grown by 5 %;
in between, only the trees of capabilities whose predictions failed or whose pairs changed their
type.

Where a family is told better by one tree of distributions over changes, that tree stands for it in
the model that is audited (`outcome_trees`).

The experts' *disagreement* is 1 minus their weighted agreement. It says what is worth trying, and
above one half the pair is unknown. The *doubt* of a prediction is a probability (`doubt`).
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from capscope.errors import CapscopeError
from capscope.journal.execution_table import Transition
from capscope.journal.experience import Counts, Experience
from capscope.logic import Effect, Intent, State, Vocabulary
from capscope.logic.vocabulary import nearest
from capscope.model.decomposition import Decomposition, tried
from capscope.model.doubt import (
    FOLDS,
    HeldOutPrediction,
    IsAsked,
    LearnedPrediction,
    Provenance,
    Support,
    calibrated_doubt,
    divided,
    in_fold,
    in_half,
    unseen_outcomes,
)
from capscope.model.experts import PURSUING, Experts
from capscope.model.families import CapabilityFamily
from capscope.model.lessons import Lessons, SharedPredicates, all_intents, predicates_of
from capscope.model.lifted_rules import (
    FamilyRules,
    LiftedBehavior,
    LiftedRule,
    lifted_behaviors,
    lifted_families,
)
from capscope.model.outcome_trees import (
    LEAST_GAIN,
    LEAST_LOSS,
    FamilyPair,
    Foretold,
    HeldOut,
    OutcomeTrees,
)
from capscope.model.outcome_types import (
    NO_CHANGE,
    NOTHING,
    UNSURE,
    UNSURE_GRID,
    OutcomeTypes,
    PoolingFit,
    TypeOdds,
    conditional_odds,
    fit_poolings,
)
from capscope.model.part_search import find_parts
from capscope.model.parts import Part
from capscope.model.state_graph import PairStats, StateGraph, StateMatrix
from capscope.stats.arrays import Floats, Integers

_REFRESH = 1.05  # everything is fitted again when the executions have grown by this factor
_FIRST_REFRESH = 15
_REGROWN = 1.1  # a family is fitted again when its examples have grown by this factor
_PARTS_AGAIN = 1.5  # independent parts are looked for when they have grown by this factor
_MANY_PAIRS = 50_000  # from this number on, one half is scored instead of both
_FORGET_DOUBTS = 0.99
_PRIOR_FAILURES = 0.3
_PREFERRED = 0.6  # a next step is expected alone if it is this likely among equal ones
_UNKNOWN = 0.5  # disagreement above this: a prediction is withheld
_MANY_HELD_OUT = 5_000
_OUTDATED = -1  # instead of a type: it was inferred before a plan that matters to it


class ModelCoverage(NamedTuple):
    """How many pairs of the states seen have a prediction, by what it rests on."""

    tried: int
    inferred: int
    unknown: int


class LearnedModel:
    """Fitted to a state graph; follows its updates by `observe`."""

    def __init__(
        self,
        graph: StateGraph,
        seed: int = 0,
        *,
        pursuit: bool = True,
        lessons: Lessons | None = None,
    ) -> None:
        """Begin with a graph, and with lessons from another instance if there are any."""
        self.graph = graph
        self._lessons = lessons
        self.matrix = StateMatrix(len(graph.vocabulary.atoms))
        self._seed = seed
        self._pursuit = pursuit
        self._carried_parts = () if lessons is None else lessons.parts
        # Pairs count by the cores of their effects.
        self._decomposition = Decomposition(graph, self._carried_parts)
        self._parts_at: float = 0.0  # executions from which on parts are looked for again
        self.types = OutcomeTypes(graph.vocabulary)
        self.experts = self._new_experts()
        self.trees = OutcomeTrees(self.experts.families, self.matrix, graph.vocabulary)
        self._tree_poolings: dict[tuple[object, int], PoolingFit] | None = None  # by leaf
        self._fitted_to = graph
        self._seen = 0  # of the states of the graph, which are in the order in which they were met
        self._labels: list[dict[int, int]] = []  # for each capability the type of each row tried
        self._shown: list[dict[int, int]] = []  # and how many effects it had shown when observed
        self._poolings: dict[int, PoolingFit] | None = None  # for each type
        self._grown: list[int] = []  # and the number of labels that its trees were grown on
        self._inferred: list[tuple[Integers, Floats]] = []  # and what was inferred so far
        self._doubted = 0.0
        self._wrong = 0.0
        self._draws = 0
        self._far = False  # whether to plan from states that were never seen
        self._refresh_at: float = _FIRST_REFRESH
        self.matrix.rows(sorted(graph.nodes))
        self._see_new_states()

    @classmethod
    def fitted(
        cls, graph: StateGraph, seed: int = 0, lessons: Lessons | None = None
    ) -> LearnedModel:
        """Fit a model to a whole graph; the order in which it was seen makes no difference."""
        model = cls(graph, seed, lessons=lessons)
        model._find_parts()
        model._parts_at = 1.0  # the first refresh would find the same again
        held = model._cross_validate()
        model.refresh()
        model._plant_trees(held)
        # Questions are chosen without weights of peers, with which runs took longer.
        model._estimate_odds(weigh=True)
        model._far = True
        return model

    @classmethod
    def of_experience(cls, experience: Experience) -> LearnedModel:
        """Learn the model of a run again from what it observed."""
        earlier, words = experience.earlier, experience.vocabulary
        lessons = None if earlier is None else cls.of_experience(earlier).lessons_for(words)
        graph = StateGraph(words, experience.intents)
        for state in experience.beginnings:
            graph.node(state)
        graph.update(_transitions(experience.learned))
        whole = graph.copy()
        whole.update(_transitions(experience.audited))
        model = cls.fitted(graph, experience.seed, lessons)
        if experience.audited:
            model.follow(whole)
        return model

    @property
    def capabilities(self) -> Sequence[Intent]:
        """The intents that the model covers."""
        return self.graph.capabilities

    def refresh(self) -> None:
        """Fit everything again to the present graph."""
        self._forget_doubts()
        self._see_new_states()
        if self._draws >= self._parts_at:
            self._parts_at = self._draws * _PARTS_AGAIN
            self._find_parts()
        self._refresh_at = self._draws * _REFRESH + 5
        self._label_all()
        self._plan(self._labels)
        for capability, pairs in enumerate(self._tried_pairs()):
            if pairs:
                self._label(capability, pairs)
                self._grow(capability)
        self._estimate_odds()

    def _label_all(self) -> None:
        for state, capability, pair in tried(self.graph):
            self.types.learn(self._decomposition.pair(state, capability, pair).counts)
        self._relabel()

    def _new_experts(self) -> Experts:
        words = self.graph.vocabulary
        return Experts(
            words,
            self.matrix,
            self.types,
            self._seed,
            pursuit=self._pursuit,
            lessons=self._lessons,
        )

    @property
    def parts(self) -> tuple[Part, ...]:
        """The changes that occur by chance beside different main changes."""
        return self._decomposition.parts

    def _find_parts(self) -> None:
        """Look for independent parts; if there are others than before, types are formed anew."""
        before = [part.change for part in self.parts]
        self._decomposition = find_parts(self.graph, self._carried_parts)
        if [part.change for part in self.parts] != before:
            known = self.experts
            revision = self.types.revision
            self.types = OutcomeTypes(self.graph.vocabulary)
            self.types.revision = revision + 1
            self.experts = self._new_experts()
            self.trees = OutcomeTrees(self.experts.families, self.matrix, self.graph.vocabulary)
            for capability, intent in enumerate(self.graph.capabilities):
                self.experts.add(intent)
                self._labels[capability] = {}
                self._shown[capability] = {}
                self._inferred[capability] = _nothing_inferred()
            self.experts.believe_as(known)

    def _pair(self, state: State, capability: int) -> PairStats | None:
        """Return the counts of a pair; effects are without their parts."""
        pair = self.graph.pair(state, capability)
        return None if pair is None else self._decomposition.pair(state, capability, pair)

    def _plan(self, labels: Sequence[Mapping[int, int]]) -> None:
        self.experts.plan(labels, [self.matrix.row[state] for state in sorted(self.graph.nodes)])

    def _cross_validate(self) -> HeldOut:
        """Score the experts on each half of the pairs, fitted to the other half.

        Of many pairs a sample is enough, and one half: older scores are forgotten.
        """
        self._label_all()
        held = HeldOut()
        for half in (0, 1) if self.graph.pairs_tried < _MANY_PAIRS else (0,):
            for capability, asked in self._grown_without(in_half(1 - half)):
                rows, key = np.array(list(asked)), self.experts.families.of[capability].key
                believed = (one.tolist() for one in self.experts.believed(capability, rows))
                for row, number, share in zip(asked, *believed, strict=True):
                    pair = FamilyPair(capability, row, self._core_counts(row, capability))
                    odds = self._odds_at(row, capability, number)
                    if 1.0 - share > _UNKNOWN:  # nothing is claimed of it, but something is known
                        odds = {effect: share * p for effect, p in odds.items()}
                    held.add(key, half, pair, odds)
                numbers = np.array(list(asked.values()))[:, None]
                self.experts.score(capability, rows, partial(np.equal, numbers))
        return held

    def _core_counts(self, row: int, capability: int) -> Mapping[Effect, int]:
        pair = self._pair(self.matrix.states[row], capability)
        assert pair is not None, "only tried pairs have counts"
        return pair.counts

    def _odds_at(self, row: int, capability: int, number: int) -> dict[Effect, float]:
        """Return the effects expected of an untried pair whose type is a number."""
        state, odds = self.matrix.states[row], dict[Effect, float]()
        for one, share in self._expected(row, capability, number).items():
            for effect, p in self._odds_in(one, state).odds.items():
                own = Effect.between(state, effect.apply(state))
                odds[own] = odds.get(own, 0.0) + share * p
        return odds

    def family_pairs(self, family: CapabilityFamily) -> list[FamilyPair]:
        """Return the pairs of a family that were tried, without independent parts."""
        tried = self._tried_pairs()
        return [FamilyPair(c, row, pair.counts) for c in family.members for row, pair in tried[c]]

    def _plant_trees(self, held: HeldOut) -> None:
        """Let a tree stand for each family that it tells better than the experts do."""
        carried = {} if self._lessons is None else self._lessons.trees
        for family in self.experts.families.all:
            pairs, before = self.family_pairs(family), carried.get(family.key)
            is_ground = self.experts.rules_of(family) is None
            margin = LEAST_LOSS if is_ground or before is not None else LEAST_GAIN
            tree = held.better(self.trees, family, pairs, margin, before)
            if tree is not None and (pairs or before is not None):
                self.trees.by_family[family.key] = tree

    def _grown_without(self, is_asked: IsAsked) -> Iterator[tuple[int, dict[int, int]]]:
        """Fit the experts to some pairs; yield each capability and the labels of the others."""
        known, asked = divided(self._labels, self.matrix.states, is_asked)
        self._plan(known)
        for capability, (own, others) in enumerate(zip(known, asked, strict=True)):
            if own and others:
                self.experts.grow(capability, own)
                yield capability, others

    @cached_property
    def _calibration(self) -> Callable[[int, bool, float], float]:
        twin = LearnedModel(
            self._fitted_to, self._seed, pursuit=self._pursuit, lessons=self._lessons
        )
        twin._decomposition = Decomposition(twin.graph, self.parts)
        twin.experts.believe_as(self.experts)
        return calibrated_doubt(twin._held_out())

    def _held_out(self) -> Iterator[HeldOutPrediction]:
        """Predict what was tried in each state from what was tried in others.

        Unknown pairs are left out. Of many pairs, a part of the states is enough.
        """
        self._label_all()
        made = 0
        for fold in range(FOLDS):
            for capability, asked in self._grown_without(in_fold(fold)):
                types, belief = self.experts.believed(capability, np.array(list(asked)))
                for row, number, share in zip(asked, types.tolist(), belief.tolist(), strict=True):
                    if 1.0 - share <= _UNKNOWN:
                        missed = self._missed(row, capability, number)
                        yield HeldOutPrediction(capability, number != NOTHING, 1.0 - share, missed)
                made += len(asked)
            if made > _MANY_HELD_OUT:
                return

    def _missed(self, row: int, capability: int, number: int) -> float:
        """Return the fraction of a pair's executions that are not outcomes of a type."""
        state = self.matrix.states[row]
        pair = self._pair(state, capability)
        assert pair is not None, "only tried pairs have labels"
        predicted = _applied(self.types.odds[number], state)
        missed = sum(n for effect, n in pair.counts.items() if effect.apply(state) not in predicted)
        return missed / pair.total

    @cached_property
    def _unseen(self) -> Callable[[State, int], float]:
        return unseen_outcomes(self._decomposition.of_cores(self.graph))

    def _forget_doubts(self) -> None:
        self.__dict__.pop("_unseen", None)
        self.__dict__.pop("_calibration", None)

    def _see_new_states(self) -> None:
        if self._seen < len(self.graph.nodes):
            self.matrix.rows(itertools.islice(self.graph.nodes, self._seen, None))
            self._seen = len(self.graph.nodes)
        for intent in self.graph.capabilities[len(self._labels) :]:
            self.experts.add(intent)
            self._labels.append({})
            self._shown.append({})
            self._grown.append(0)
            self._inferred.append(_nothing_inferred())
        self.experts.extend(far=self._far)

    def observe(self, pairs: Iterable[tuple[State, int]]) -> Observed:
        """Take in what the graph learned about some pairs."""
        self._forget_doubts()
        self._see_new_states()
        contradicted: list[tuple[State, int]] = []
        stale: dict[int, None] = {}
        relabel = False
        for state, capability in dict.fromkeys(pairs):
            pair = self._pair(state, capability)
            assert pair is not None, "only pairs that were tried are observed"
            row, labels = self.matrix.row[state], self._labels[capability]
            self._draws += 1
            if not self._shows_more(capability, row, pair):
                continue
            known = labels.get(row)
            if known is None:
                effect = next(iter(pair.counts))
                if self._judge(capability, row, effect):
                    contradicted.append((state, capability))
                    stale.setdefault(capability)
            relabel |= self.types.learn(pair.counts)
            labels[row] = self._type_of(capability, row, pair)
            if known is not None and known != labels[row]:
                stale.setdefault(capability)
            if len(labels) >= 2 * self._grown[capability]:
                stale.setdefault(capability)
        if self._draws >= self._refresh_at:
            self.refresh()
            return Observed(contradicted, range(len(self._labels)))
        if relabel:
            stale |= dict.fromkeys(self._relabel())
        for capability in stale:
            self._grow(capability)
        self._regrow_families(stale)
        return Observed(contradicted, stale)

    def _shows_more(self, capability: int, row: int, pair: PairStats) -> bool:
        """Return whether a pair may be of another type than when it was observed last.

        Once it has changed something, its type depends on its effects, not on their numbers.
        """
        shown = self._shown[capability]
        known = shown.get(row)
        shown[row] = len(pair.counts)
        return known != len(pair.counts) or (known == 1 and NO_CHANGE in pair.counts)

    def _judge(self, capability: int, row: int, effect: Effect) -> bool:
        """Score the experts on the first draw of a pair; return whether it was not foreseen."""
        rows = np.array([row])
        (predicted,), (belief,) = self.experts.believed(capability, rows)
        allows = self.types.allows
        self.experts.score(
            capability, rows, lambda types: np.array([[allows(number, effect) for number in types]])
        )
        wrong = not allows(int(predicted), effect)
        self._doubted = self._doubted * _FORGET_DOUBTS + 1.0 - float(belief)
        self._wrong = self._wrong * _FORGET_DOUBTS + wrong
        return wrong

    @property
    def calibration(self) -> float:
        """How often predictions failed lately, relative to the disagreement."""
        return (self._wrong + _PRIOR_FAILURES) / (self._doubted + _PRIOR_FAILURES)

    def _type_of(self, capability: int, row: int, pair: PairStats) -> int:
        expected = int(self.experts.expected_steps(capability)[row])
        return self.types.of(pair, max(expected, NOTHING))

    def _tried_pairs(self) -> list[list[tuple[int, PairStats]]]:
        """Return, for each capability, the rows in which it was tried."""
        # In the order of states, so that the order in which they were seen decides nothing.
        found: list[list[tuple[int, PairStats]]] = [[] for _ in self._labels]
        for state, capability, pair in tried(self.graph):
            core = self._decomposition.pair(state, capability, pair)
            found[capability].append((self.matrix.row[state], core))
        return found

    def _label(self, capability: int, tried: Sequence[tuple[int, PairStats]]) -> None:
        rows = np.array([row for row, _ in tried], dtype=np.int64)
        expected = np.maximum(self.experts.expected_steps(capability)[rows], NOTHING).tolist()
        self._labels[capability] = {
            row: self.types.of(pair, step)
            for (row, pair), step in zip(tried, expected, strict=True)
        }

    def _relabel(self) -> list[int]:
        """Give every tried pair its type again; return the capabilities with other types now."""
        before = list(self._labels)
        for capability, pairs in enumerate(self._tried_pairs()):
            self._label(capability, pairs)
        self._estimate_odds()
        return [i for i, labels in enumerate(self._labels) if labels != before[i]]

    def _labeled(self) -> Iterator[tuple[int, PairStats]]:
        """Yield every pair that has a label, after it."""
        for capability, labels in enumerate(self._labels):
            for row, number in labels.items():
                pair = self._pair(self.matrix.states[row], capability)
                assert pair is not None, "only tried pairs have labels"
                yield number, pair

    def _estimate_odds(
        self, possible: Sequence[Collection[Effect]] = (), *, weigh: bool = False
    ) -> None:
        """Estimate the probabilities of each type; `possible` are the only outcomes of the first.

        A type whose outcomes are given keeps them.
        """
        drawn: dict[int, Counter[Effect]] = {}
        for number, pair in self._labeled():
            drawn.setdefault(number, Counter()).update(pair.counts)
        for number, outcomes in enumerate(possible):
            if number in drawn:
                drawn[number] = Counter({effect: drawn[number][effect] for effect in outcomes})
        self.types.estimate_odds(drawn, weigh=weigh)
        self._poolings = None
        for fact in ("_odds_in", "_drawn", "_draws_of", "families", "behaviors"):
            self.__dict__.pop(fact, None)

    @cached_property
    def _odds_in(self) -> Callable[[int, State], TypeOdds]:
        """The probabilities of a type in a state; conditions are found when first asked for."""
        shown = (
            (number, self.matrix.states[row], pair.counts)
            for capability, labels in enumerate(self._labels)
            for row, number in labels.items()
            if (pair := self._pair(self.matrix.states[row], capability)) is not None
        )
        return conditional_odds(self.types, shown, len(self.graph.vocabulary.atoms))

    def _pooling(self, number: int) -> PoolingFit:
        """Return how far the probabilities of a type count for its pairs; fitted on first use."""
        if self._poolings is None:
            shown: dict[int, list[Mapping[Effect, int]]] = {}
            for label, pair in self._labeled():
                shown.setdefault(label, []).append(pair.counts)
            self._poolings = fit_poolings(shown, dict(enumerate(self.types.odds)))
        return self._poolings.get(number, PoolingFit())

    def _grow(self, capability: int) -> None:
        labels = self._labels[capability]
        self.experts.grow(capability, labels)
        self._grown[capability] = len(labels)
        self._inferred[capability] = _nothing_inferred()

    def _regrow_families(self, stale: Iterable[int]) -> None:
        families = self.experts.families
        for family in dict.fromkeys(families.of[capability] for capability in stale):
            examples = sum(len(self._labels[member]) for member in family.members)
            if examples > _REGROWN * family.examples:
                self.experts.grow_family(family.members[0], self._labels)
                for member in family.members:
                    self._inferred[member] = _nothing_inferred()

    def foresees(self, state: State, capability: int, after: State) -> bool:
        """Return whether an outcome was held possible when the model was fitted."""
        row = self.matrix.add(state)
        told = self._told(row, capability)
        if told is not None:
            shown = self.trees.shown(capability, row)
            if shown is None and told.doubt > _UNKNOWN:
                return False
            return self._allowed({*told.effects, *(shown or ())}, state, capability, after)
        number = self._labels[capability].get(row)
        if number is None:
            number, disagreement = self.infer(row, capability)
            if disagreement > _UNKNOWN:
                return False
            numbers = self._expected(row, capability, number)
        else:
            numbers = {number: 1.0}
        # As states: an effect that adds what holds already changes less than it does elsewhere.
        possible = {e for n in numbers for e in (*self.types.effects[n], *self.types.odds[n])}
        return self._allowed(possible, state, capability, after)

    def _allowed(
        self, possible: Collection[Effect], state: State, capability: int, after: State
    ) -> bool:
        """Return whether a state follows from one of some cores, with parts beside it."""
        if not self.parts:
            return any(effect.apply(state) == after for effect in possible)
        allows = self._decomposition.allows
        return any(allows(state, capability, effect.apply(state), after) for effect in possible)

    def _expected(self, row: int, capability: int, number: int) -> dict[int, float]:
        """Return the types that may be done where the best guess is one; mostly it alone.

        Of several next steps without a clear preference, each is possible.
        """
        pursuit = self.experts.pursuit
        if pursuit is None or pursuit.step[capability, row] != number or number == NOTHING:
            return {number: 1.0}
        clear = pursuit.preferred[capability, row] >= _PREFERRED
        if clear or self.experts.rules_of(self.experts.families.of[capability]) != PURSUING:
            return {number: 1.0}
        return pursuit.options(capability, row) or {number: 1.0}

    def _told(self, row: int, capability: int) -> Foretold | None:
        """Return what the tree of a family expects of a pair; None if the experts tell."""
        tree = self.trees.of(capability)
        return None if tree is None else self.trees.expected(tree, capability, row)

    def types_of(self, capability: int, rows: Integers) -> tuple[Integers, Floats]:
        """Return the type of some pairs, and the experts' disagreement about the untried ones."""
        types, belief = self.experts.believed(capability, rows)
        own = np.full(len(self.matrix), -1, dtype=np.int64)
        labels = self._labels[capability]
        own[list(labels)] = list(labels.values())
        return np.where(own[rows] < 0, types, own[rows]), 1.0 - belief

    def undecided(self, capability: int, rows: Integers) -> Floats:
        """Return in which rows optimist and pessimist differ, by how far pursuit is believed."""
        return self.experts.undecided(capability, rows)

    def infer(self, row: int, capability: int) -> tuple[int, float]:
        """Return the most believed type of a pair, tried or not, and the experts' disagreement."""
        if capability >= len(self._labels):
            self._see_new_states()
        self.experts.extend(far=self._far)
        self._plan_on(row)
        types, belief = self._inferred[capability]
        if row < len(types) and types[row] == _OUTDATED:
            types[[row]], belief[[row]] = self.experts.believed(
                capability, np.array([row]), by_rules=True
            )
        if row >= len(types):
            # All new rows at once: one row costs as much as all.
            rows = np.arange(len(types), len(self.matrix))
            new = self.experts.believed(capability, rows, by_rules=self._far)
            types, belief = np.append(types, new[0]), np.append(belief, new[1])
            self._inferred[capability] = types, belief
        return int(types[row]), 1.0 - float(belief[row])

    def doubts(self, capability: int, rows: Integers) -> Floats:
        """Return the doubt of what is inferred of a capability in some rows; 1 if unknown."""
        if self.trees.of(capability) is not None:
            told = (self._told(row, capability) for row in rows.tolist())
            doubts = [1.0 if one is None else one.doubt for one in told]
            return np.array([1.0 if doubt > _UNKNOWN else doubt for doubt in doubts])
        self.infer(int(rows.max()), capability)
        types, belief = (known[rows] for known in self._inferred[capability])
        known = [
            self._calibration(capability, number != NOTHING, 1.0 - share)
            if 1.0 - share <= _UNKNOWN
            else 1.0
            for number, share in zip(types.tolist(), belief.tolist(), strict=True)
        ]
        return np.array(known)

    def _plan_on(self, row: int) -> None:
        """Plan from a row that was imagined, but not what it leads to."""
        if self._far and self.experts.plan_on(row):
            for known, _ in self._inferred:
                known[row : row + 1] = _OUTDATED

    def follow(self, graph: StateGraph) -> None:
        """Look tried pairs up in a larger graph, and estimate probabilities from all of it.

        What is held possible in pairs that were never tried does not change.
        """
        planted = [f for f in self.experts.families.all if f.key in self.trees.by_family]
        before = [self.family_pairs(family) for family in planted]
        self.graph = graph
        self._decomposition = self._decomposition.recounted(graph)
        self.__dict__.pop("_unseen", None)
        self._seen = 0
        self._see_new_states()
        possible = [frozenset(odds) for odds in self.types.odds]
        for capability, pairs in enumerate(self._tried_pairs()):
            self._label(capability, pairs)
        for family, earlier in zip(planted, before, strict=True):
            tree = self.trees.by_family[family.key]
            self.trees.recount(tree, earlier, self.family_pairs(family))
        self._tree_poolings = None
        self._estimate_odds(possible, weigh=True)

    @cached_property
    def families(self) -> tuple[FamilyRules, ...]:
        """The rules of all families: what the model says, and all that it says of untried pairs."""
        return lifted_families(self)

    @cached_property
    def behaviors(self) -> tuple[LiftedBehavior, ...]:
        """The behaviors by which the agent pursues requests, most frequent first."""
        return lifted_behaviors(self)

    def transfer(self, vocabulary: Vocabulary) -> LearnedModel:
        """Return what is known of another instance of the same predicates, before it is assessed.

        Args:
            vocabulary: The predicates with other objects, more or fewer.

        Returns:
            A model of all capabilities of the families there; nothing in it was tried.
        """
        lessons = self.lessons_for(vocabulary)
        known = frozenset(p.name for p in vocabulary.predicates)
        keys = [f.key for f in self.experts.families.all if predicates_of(f.key) <= known]
        intents = list(all_intents(keys, vocabulary))
        return LearnedModel.fitted(StateGraph(vocabulary, intents), self._seed, lessons)

    def lessons_for(self, vocabulary: Vocabulary) -> Lessons:
        """Return what carries over to another instance; raise if predicates contradict."""
        shared = SharedPredicates.of(self.graph.vocabulary, vocabulary)
        parts = tuple(part.carried_over() for part in self.parts)
        trees = {
            key: replace(tree.lessons, novelty=tree.novelty)
            for key, tree in self.trees.by_family.items()
        }
        lessons = replace(self.experts.lessons(), parts=parts, trees=trees)
        return lessons.about(frozenset(shared.shared))

    def rules(self, family: str) -> tuple[LiftedRule, ...]:
        """Return the rules of a family, by its name such as `on(X,Y)`.

        Args:
            family: The name of one of `families`.

        Returns:
            The rules, of which exactly one applies to each pair.
        """
        known = {one.name: one for one in self.families}
        if family not in known:
            raise CapscopeError(f"no family {family}; {nearest(family, list(known))}")
        return known[family].rules

    def tried(self, capability: int) -> list[tuple[int, PairStats]]:
        """Return the rows in which a capability was tried, in the order of their states."""
        return [
            (row, pair)
            for state in sorted(self.graph.nodes)
            if (pair := self.graph.nodes[state].pairs[capability]) is not None
            and (row := self.matrix.row[state]) in self._labels[capability]
        ]

    def labels_of(self, capability: int) -> Mapping[int, int]:
        """Return the outcome type of each row in which a capability was tried."""
        return self._labels[capability]

    def drawn(self, number: int) -> Counter[Effect]:
        """Return how often each effect was seen in pairs of an outcome type."""
        return self._drawn.get(number, Counter())

    @cached_property
    def _drawn(self) -> dict[int, Counter[Effect]]:
        drawn: dict[int, Counter[Effect]] = {}
        for number, pair in self._labeled():
            drawn.setdefault(number, Counter()).update(pair.counts)
        return drawn

    @cached_property
    def _draws_of(self) -> Counter[tuple[int, int]]:
        """The executions of each outcome type and capability."""
        draws: Counter[tuple[int, int]] = Counter()
        for capability, labels in enumerate(self._labels):
            for row, number in labels.items():
                pair = self._pair(self.matrix.states[row], capability)
                draws[number, capability] += 0 if pair is None else pair.total
        return draws

    def coverage(self) -> ModelCoverage:
        """Count the pairs of the states seen by what their prediction rests on."""
        return ModelCoverage(*map(sum, zip(*self.coverage_by_capability(), (0, 0, 0), strict=True)))

    def coverage_by_capability(self) -> list[ModelCoverage]:
        """Count the states seen by what the prediction of each capability rests on."""
        states = list(self.graph.nodes)
        rows = self.matrix.rows(states)
        covered = []
        for capability in range(len(self.graph.capabilities)):
            open_rows = [
                row
                for row, state in zip(rows, states, strict=True)
                if self.graph.nodes[state].pairs[capability] is None
            ]
            inferred = 0
            if self.trees.of(capability) is not None:
                told = (self._told(row, capability) for row in open_rows)
                inferred = sum(one is not None and one.doubt <= _UNKNOWN for one in told)
            elif open_rows:
                self.infer(max(open_rows), capability)
                belief = self._inferred[capability][1][open_rows]
                inferred = int((1.0 - belief <= _UNKNOWN).sum())
            tried = len(states) - len(open_rows)
            covered.append(ModelCoverage(tried, inferred, len(open_rows) - inferred))
        return covered

    def anticipate(self, states: Iterable[State]) -> None:
        """Prepare predictions for some states together, which is faster than one at a time."""
        rows = self.matrix.rows(states)
        self.experts.extend(far=self._far)
        for row in rows:
            self._plan_on(row)

    def predict(self, state: State, capability: Intent) -> LearnedPrediction:
        """Predict the state after an execution.

        Args:
            state: The state before, seen or not.
            capability: One of `capabilities`.

        Returns:
            A distribution over states, with its provenance and doubt.
        """
        index = self.graph.index[capability]
        pair = self._pair(state, index)
        if pair is not None:
            return self._tried(state, pair, index)
        return self.predict_untried(state, capability)

    def predict_untried(self, state: State, capability: Intent) -> LearnedPrediction:
        """Return what is inferred of a pair, as if it had never been tried."""
        index = self.graph.index[capability]
        row = self.matrix.add(state)
        told = self._told(row, index)
        if told is not None:
            return self._by_tree(told, state, index)
        number, disagreement = self.infer(row, index)
        if disagreement > _UNKNOWN:
            support = self._support(number, 0, TypeOdds({}, 0), 0.0)
            return LearnedPrediction({}, Provenance.UNKNOWN, lambda: 1.0, support)
        behind = self._odds_in(number, state)
        return LearnedPrediction(
            self._ends(self._odds_at(row, index, number), state, index),
            Provenance.INFERRED,
            lambda: self._calibration(index, number != NOTHING, disagreement),
            self._support(number, 0, behind, behind.draws),
        )

    def _by_tree(
        self, told: Foretold, state: State, capability: int, pair: PairStats | None = None
    ) -> LearnedPrediction:
        """Predict by the tree of a family, and by what a pair has shown itself."""
        leaf = self.trees.leaf_number(capability, told.leaf)
        rule = tuple(sorted({*told.effects, *(() if pair is None else pair.counts)}))
        if pair is None:
            if told.doubt > _UNKNOWN:
                support = Support(rule, told.draws, 0, 0.0, leaf)
                return LearnedPrediction({}, Provenance.UNKNOWN, lambda: 1.0, support)
            return LearnedPrediction(
                self._ends(told.effects, state, capability),
                Provenance.INFERRED,
                lambda: told.doubt,
                Support(rule, told.draws, 0, told.draws, leaf),
            )
        pooling = self._tree_pooling(capability, told.leaf)
        worth = pooling.worth(pair.counts, told.effects, told.draws, told.draws)
        return LearnedPrediction(
            self._ends(
                pooling.best.odds_of(pair.counts, told.effects),
                state,
                capability,
                self.graph.pair(state, capability),
            ),
            Provenance.TRIED,
            lambda: self._unseen(state, capability),
            Support(rule, told.draws, pair.total, worth, leaf),
        )

    def _tree_pooling(self, capability: int, leaf: int) -> PoolingFit:
        """Return how far the probabilities of a leaf count for its pairs."""
        if self._tree_poolings is None:
            shown: dict[tuple[object, int], list[Mapping[int, int]]] = {}
            odds: dict[tuple[object, int], dict[int, float]] = {}
            for family in self.experts.families.all:
                if family.key in self.trees.by_family:
                    tree = self.trees.by_family[family.key]
                    for pair in self.family_pairs(family):
                        told = self.trees.expected(tree, pair.capability, pair.row)
                        own = told.counts(pair.counts)
                        if sum(own.values()) > 1:
                            shown.setdefault((family.key, told.leaf), []).append(own)
                        shares = odds.setdefault((family.key, told.leaf), {})
                        for number, effect in told.meaning.items():
                            shares[number] = max(told.effects[effect], shares.get(number, 0.0))
            self._tree_poolings = fit_poolings(shown, odds, UNSURE_GRID)
        key = self.experts.families.of[capability].key
        return self._tree_poolings.get((key, leaf), UNSURE)

    def _tried(self, state: State, pair: PairStats, capability: int) -> LearnedPrediction:
        told = self._told(self.matrix.add(state), capability)
        if told is not None:
            return self._by_tree(told, state, capability, pair)
        number = self._type_of(capability, self.matrix.add(state), pair)
        behind, pooling = self._odds_in(number, state), self._pooling(number)
        odds = pooling.best.odds_of(pair.counts, behind.odds)
        most = self._draws_of[number, capability]
        worth = pooling.worth(pair.counts, behind.odds, behind.draws, most)
        return LearnedPrediction(
            self._ends(odds, state, capability, self.graph.pair(state, capability)),
            Provenance.TRIED,
            lambda: self._unseen(state, capability),
            self._support(number, pair.total, behind, worth),
        )

    def _ends(
        self,
        odds: Mapping[Effect, float],
        state: State,
        capability: int,
        pair: PairStats | None = None,
    ) -> dict[State, float]:
        """Return where the cores of an outcome type lead to, together with the parts."""
        return self._decomposition.spread(state, capability, _applied(odds, state), pair)

    def _support(self, number: int, own_draws: int, behind: TypeOdds, worth: float) -> Support:
        effects = tuple(sorted(self.types.effects[number]))
        draws = self.types.draws[number] or self.types.peer_draws[number]
        return Support(effects, draws, own_draws, worth, behind.leaf)


class Observed(NamedTuple):
    """What an observation did to the model."""

    contradicted: Sequence[tuple[State, int]]
    """Pairs whose first outcome was not foreseen."""
    changed: Iterable[int]
    """Capabilities whose predictions may have changed."""


def _transitions(counts: Counts) -> dict[Transition, int]:
    return {Transition(*one): times for one, times in counts.items()}


def _nothing_inferred() -> tuple[Integers, Floats]:
    return np.zeros(0, dtype=np.int64), np.zeros(0)


def _applied(odds: Mapping[Effect, float], state: State) -> dict[State, float]:
    shares: dict[State, float] = {}
    for effect, share in odds.items():
        after = effect.apply(state)
        shares[after] = shares.get(after, 0.0) + share
    return shares
