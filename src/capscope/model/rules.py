"""A rule: in these states, these effects, this often; with honest uncertainty.

The probability of an effect is its relative frequency, pooled over the states of the rule. Each
outcome carries the central 95 % interval of its probability *in a state of the rule*, and the range
of the states if they are seen to differ (`stats/partial_pooling.py`).

**Fitting.** Putting states into one rule if they showed the same effects would turn chance into
conditions. What a state showed says only one thing about its condition: *effects that never
occurred in one and the same state have different conditions*. If every state always gave the same
answer, each effect is a rule. Otherwise:

1. **Outcome types.** Effects that were seen in the same state, each with each, are outcomes of one
   type. Two types may share an effect ("nothing changes") and remain apart.
2. **States of a type.** A state belongs to the type that has all the effects it showed, without
   those that are impossible in it. If several types remain, a decision tree over the atoms decides.
3. **Odds.** The states of a type are split by an atom if a betting score excludes that all draws
   come from one distribution (`stats/betting.py`), and if the atom explains more than that states
   differ without a reason (`stats/partial_pooling.py`). All splits of a capability share one error
   rate.
4. **Leaves without a difference** are one rule again: a tree writes "unless a and b" as two leaves.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from capscope.logic import Effect, State
from capscope.logic.shortest_condition import bit_matrix
from capscope.model.trees import grow
from capscope.stats.arrays import Floats, Integers, Mask
from capscope.stats.beta import credible_interval
from capscope.stats.betting import evidence_of_splits
from capscope.stats.error_budget import ERROR_RATE
from capscope.stats.partial_pooling import PartialPooling, explained_beyond_accident

if TYPE_CHECKING:
    from capscope.model.state_graph import OutcomeGroup, PairStats, StateGraph


@dataclass(frozen=True, slots=True)
class Outcome:
    """One effect of a rule, how often it was seen, and its probability."""

    effect: Effect
    count: int
    probability: float
    pooling: PartialPooling | None = field(default=None, repr=False, compare=False)
    """The counts of the states of the rule; without them, all draws are those of one state."""
    place: int = field(default=0, repr=False, compare=False)
    """The place of the effect in these counts."""

    @property
    def interval(self) -> tuple[float, float]:
        """The central 95 % interval of the probability in a state of the rule."""
        if self.pooling is not None:
            return self.pooling.interval(self.place)
        executions = round(self.count / self.probability) if self.count else 0
        return credible_interval(self.count, executions)

    @property
    def spread(self) -> tuple[float, float] | None:
        """The central 95 % range of the states' probabilities; None if no spread is seen."""
        return None if self.pooling is None else self.pooling.spread(self.place)


@dataclass(frozen=True, slots=True)
class Rule:
    """States in which a capability has the same effects, as far as the evidence shows."""

    states: tuple[State, ...]
    outcomes: tuple[Outcome, ...]

    @property
    def executions(self) -> int:
        """The executions behind the rule."""
        return sum(outcome.count for outcome in self.outcomes)

    def distribution(self, counts: Mapping[Effect, int]) -> dict[Effect, float]:
        """Return the distribution in a state that showed these effects this often.

        The more draws a state has, and the more the states differ, the more its own draws count.
        """
        effects = [outcome.effect for outcome in self.outcomes]
        pooling = self.outcomes[0].pooling
        if pooling is None or len(effects) == 1:
            return {outcome.effect: outcome.probability for outcome in self.outcomes}
        own = pooling.distribution(tuple(counts.get(effect, 0) for effect in effects))
        return dict(zip(effects, own, strict=True))


Effects = tuple[Effect, ...]
"""Sorted."""
LEAST_DRAWS = 2
"""On each side of a split: a single draw is never a reason."""
_MOST_CANDIDATES = 8
"""Splits that are examined for whether they explain more than an accident."""


def fit_rules(graph: StateGraph, capability: int) -> tuple[Rule, ...]:
    """Return the rules of a capability, best supported first; each tried state is in one."""
    groups = graph.groups(capability)
    pairs = {
        state: pair
        for group in groups
        for state in group.states
        if (pair := graph.nodes[state].pairs[capability]) is not None
    }
    if all(len(group.effects) == 1 for group in groups):
        regions: Iterable[Sequence[State]] = [list(group.states) for group in groups]
    else:
        regions = _regions(groups, pairs, len(graph.vocabulary.atoms))
    rules = [pooled_rule({state: pairs[state] for state in states}) for states in regions]
    return tuple(sorted(rules, key=lambda rule: (-rule.executions, rule.states)))


def pooled_rule(pairs: Mapping[State, PairStats]) -> Rule:
    """Return one rule of all these states."""
    counts: dict[Effect, int] = {}
    for pair in pairs.values():
        for effect, count in pair.counts.items():
            counts[effect] = counts.get(effect, 0) + count
    effects = sorted(counts, key=lambda effect: (-counts[effect], effect))
    rows: Counter[tuple[int, ...]]
    if len(effects) == 1:
        # Something else may happen too, although it was never seen.
        rows = Counter((pair.total, 0) for pair in pairs.values())
    else:
        rows = Counter(tuple(p.counts.get(e, 0) for e in effects) for p in pairs.values())
    ordered = sorted(rows)
    pooling = PartialPooling(tuple(ordered), tuple(rows[row] for row in ordered))
    total = sum(counts.values())
    outcomes = (
        Outcome(effect, counts[effect], counts[effect] / total, pooling, place)
        for place, effect in enumerate(effects)
    )
    return Rule(tuple(sorted(pairs)), tuple(outcomes))


def _regions(
    groups: Sequence[OutcomeGroup], pairs: Mapping[State, PairStats], width: int
) -> Iterator[list[State]]:
    """Divide the tried states into those of each rule."""
    types = _states_by_type(groups, width)
    varied = sum(len(effects) > 1 for effects in types)
    pure: dict[Effect, list[State]] = {}
    for effects, states in types.items():
        if len(effects) == 1:
            pure.setdefault(effects[0], []).extend(states)
            continue
        bits = bit_matrix(states, width)
        counts = np.array([[pairs[s].counts.get(e, 0) for e in effects] for s in states])
        for leaf in leaves(bits, counts, ERROR_RATE / varied):
            seen = np.flatnonzero(counts[leaf].any(axis=0))
            own = [states[i] for i in leaf.tolist()]
            if len(seen) == 1:
                pure.setdefault(effects[seen[0]], []).extend(own)
            else:
                yield own
    yield from pure.values()


def outcome_types(shown: Iterable[Effects]) -> list[Effects]:
    """Return the maximal sets of effects such that any two were seen in one state."""
    ordered = sorted(set(shown), key=lambda effects: (-len(effects), effects))
    beside: dict[Effect, set[Effect]] = {}
    for effects in ordered:
        for effect in effects:
            beside.setdefault(effect, set()).update(effects)
    found: list[Effects] = []
    for effects in ordered:
        if any(set(effects) <= set(known) for known in found):
            continue
        clique = set(effects)
        for effect in sorted(set.intersection(*(beside[e] for e in effects)) - clique):
            if clique <= beside[effect]:
                clique.add(effect)
        found.append(tuple(sorted(clique)))
    return found


def _states_by_type(groups: Sequence[OutcomeGroup], width: int) -> dict[Effects, list[State]]:
    """Assign each state to a set of effects that are possible in it and include what it showed."""
    types = outcome_types(group.effects for group in groups)
    found: dict[Effects, list[State]] = {}
    contested: dict[tuple[Effects, ...], list[State]] = {}
    for group in sorted(groups, key=lambda group: group.effects):
        hosts = [effects for effects in types if set(group.effects) <= set(effects)]
        others = sorted({effect for host in hosts for effect in host} - set(group.effects))
        known: dict[tuple[Effect, ...], tuple[Effects, ...]] = {}
        for state in group.states:
            possible = tuple(e for e in others if not state & e.adds and not e.deletes & ~state)
            candidates = known.get(possible)
            if candidates is None:
                candidates = known[possible] = _candidates(hosts, {*possible, *group.effects})
            if len(candidates) == 1:
                found.setdefault(candidates[0], []).append(state)
            else:
                contested.setdefault(candidates, []).append(state)
    decided = {
        candidates: classify(states, [found.get(c, []) for c in candidates], width)
        for candidates, states in contested.items()
    }
    for candidates, choices in decided.items():
        for state, choice in zip(contested[candidates], choices, strict=True):
            found.setdefault(candidates[choice], []).append(state)
    return {effects: sorted(states) for effects, states in sorted(found.items())}


def _candidates(hosts: Sequence[Effects], possible: set[Effect]) -> tuple[Effects, ...]:
    """Restrict types to the possible effects and return the maximal ones."""
    left = {tuple(effect for effect in host if effect in possible) for host in hosts}
    return tuple(sorted(e for e in left if not any(set(e) < set(other) for other in left)))


def classify(states: Sequence[State], classes: Sequence[Sequence[State]], width: int) -> list[int]:
    """Return for each state the class that a decision tree over the atoms puts it into."""
    examples = [state for members in classes for state in members]
    if not examples:
        return [0] * len(states)
    label = np.repeat(np.arange(len(classes)), [len(members) for members in classes])
    tree = grow(bit_matrix(examples, width).astype(np.uint8), label, len(classes))
    at = tree.leaves(bit_matrix(states, width).astype(np.uint8))
    answer: list[int] = tree.counts[at].argmax(axis=1).tolist()
    return answer


def leaves(bits: Mask, counts: Integers, rate: float) -> list[Integers]:
    """Split states, given by atoms and counts of outcomes, where the outcomes differ.

    Returns the rows of each part. `rate` is the probability of any split if nothing differs.
    """
    parts: list[Integers] = []
    open_nodes = [(np.arange(len(bits)), 0)]
    while open_nodes:
        rows, depth = open_nodes.pop()
        # Nodes of depth d share the rate / 2^(d + 1), and there are at most 2^d of them.
        price = math.log(2 / rate) + depth * math.log(4)
        side = best_split(bits[rows], counts[rows], price)
        if side is None:
            parts.append(rows)
        else:
            open_nodes += [(rows[side], depth + 1), (rows[~side], depth + 1)]
    return _merged(parts, counts, math.log(1 / rate))


def _merged(parts: list[Integers], counts: Integers, threshold: float) -> list[Integers]:
    """Unite parts, the most similar first, until all of them differ."""
    parts = sorted(parts, key=lambda part: int(part[0]))
    while len(parts) > 1:
        totals = np.array([counts[part].sum(axis=0) for part in parts])
        i, j = np.array(list(combinations(range(len(parts)), 2))).T
        scores = evidence_of_splits(totals[i], totals[j])
        least = int(scores.argmin())
        if scores[least] >= threshold:
            break
        one, other = parts[i[least]], parts[j[least]]
        rest = [part for part in parts if part is not one and part is not other]
        parts = [*rest, np.sort(np.concatenate([one, other]))]
    return parts


def best_split(bits: Mask, counts: Integers, price: float) -> Mask | None:
    """Return the states on one side of the split that the evidence supports best, or None.

    A split is by an atom or by a conjunction of two literals. `price` is what both log scores must
    reach, beyond the logarithm of how many splits of its kind there are.
    """
    atoms = _distinct_splits(bits)
    if not len(atoms):
        return None
    scores = _scores(atoms, counts)
    splits, prices = _with_conjunctions(atoms, scores)
    scores = np.append(scores, _scores(splits[len(atoms) :], counts)) - prices
    chosen = np.flatnonzero(scores >= price)
    chosen = chosen[np.argsort(-scores[chosen], kind="stable")][:_MOST_CANDIDATES]
    if not len(chosen):
        return None
    gains = np.array(explained_beyond_accident(counts, splits[chosen])) - prices[chosen]
    best = int(gains.argmax())
    return splits[chosen[best]] if gains[best] >= price else None


def _scores(splits: Mask, counts: Integers) -> Floats:
    """Return for each split the log score against equal distributions on both sides."""
    inside = (splits.astype(np.float64) @ counts).astype(np.int64)
    outside = counts.sum(axis=0) - inside
    drawn = np.minimum(inside.sum(axis=1), outside.sum(axis=1))
    return np.where(drawn >= LEAST_DRAWS, evidence_of_splits(inside, outside), -np.inf)


def _with_conjunctions(atoms: Mask, scores: Floats) -> tuple[Mask, Floats]:
    """Add conjunctions of the best atoms with all others; return also the price of each split."""
    number = len(atoms)
    first = np.argsort(-scores, kind="stable")[:_MOST_CANDIDATES]
    literals = np.concatenate([atoms, ~atoms])
    best = np.concatenate([atoms[first], ~atoms[first]])
    both = (best[:, None, :] & literals[None, :, :]).reshape(-1, atoms.shape[1])
    # Of two atoms and their signs; those that are not tried are paid for too.
    prices = [math.log(number)] * number + [math.log(max(2 * number * (number - 1), 1))] * len(both)
    return np.concatenate([atoms, both]), np.array(prices)


def _distinct_splits(bits: Mask) -> Mask:
    """Return a row for each different division of the states by an atom, in the order of atoms."""
    # An atom and its opposite make the same split: all are false in the first state.
    columns = np.ascontiguousarray((bits ^ bits[0]).T)
    first = {column.tobytes(): i for i, column in reversed(list(enumerate(columns)))}
    first.pop(bytes(len(bits)), None)
    return columns[sorted(first.values())]
