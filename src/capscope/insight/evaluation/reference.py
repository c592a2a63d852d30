"""What a model is compared with: how each pair ends, and how much each transition weighs.

If the agent's truth can be enumerated, a pair's outcomes have exact probabilities and every
transition has the same weight. Otherwise an independent dataset 𝒟′ of executions takes its place:
outcomes have frequencies, and the weight of a transition is its count. Every metric is a weighted
mean over one of the two.

As dictionaries of dictionaries, two million transitions would take a gigabyte. Here pairs and
transitions are parallel arrays, sorted by pair, so a metric (`metrics`) is a line of NumPy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from capscope.journal.execution_table import Transition
from capscope.logic import Intent, State, Vocabulary
from capscope.problem import KnownTruth
from capscope.stats.arrays import Floats, Integers, Mask


@dataclass(frozen=True)
class TrueModel:
    """h★: the outcome distribution of every intent in every reachable state."""

    capabilities: Sequence[Intent]
    states: Sequence[State]
    table: Mapping[tuple[State, Intent], Mapping[State, float]]

    def predict(self, state: State, capability: Intent) -> Mapping[State, float]:
        """Return the exact distribution; empty for a state that cannot be reached."""
        return self.table.get((state, capability), {})


def enumerate_truth(truth: KnownTruth, intents: Sequence[Intent] | None = None) -> TrueModel:
    """Enumerate the true model, for all its intents or for the given ones."""
    chosen = tuple(truth.intents() if intents is None else intents)
    states = truth.reachable_states()
    table = {(s, intent): truth.outcomes(s, intent) for s in states for intent in chosen}
    return TrueModel(chosen, states, table)


Columns = tuple[list[State], Integers, Integers, Integers, Integers]
"""States, and parallel arrays of transitions: before, capability, after (by index), times."""


def columns_of(transitions: Mapping[Transition, int]) -> Columns:
    """Return counted transitions as columns; states and transitions are in ascending order."""
    states = sorted({state for before, _, after in transitions for state in (before, after)})
    place = {state: i for i, state in enumerate(states)}
    rows = sorted((place[b], c, place[a], times) for (b, c, a), times in transitions.items())
    before, capability, after, times = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    return states, before, capability, after, times


@dataclass(frozen=True, eq=False)
class Reference:
    """The outcome distribution of every pair of a state and an intent, with weights."""

    vocabulary: Vocabulary
    intents: Sequence[Intent]
    states: Sequence[State]
    before: Integers
    intent: Integers
    pair_weight: Floats
    """Of each pair: the state and the intent by index; 1, or its executions."""
    pair: Integers
    after: Integers
    """Of each transition: its pair, in ascending order, and the state it ends in, by index."""
    probability: Floats
    """Of each transition: how often its pair ends so."""
    weight: Floats
    """Of each transition: 1, or its executions."""

    @classmethod
    def of_truth(cls, truth: TrueModel, vocabulary: Vocabulary) -> Reference:
        """Take the exact truth: all pairs have weight 1, and so have all transitions."""
        states: dict[State, int] = {}
        index = {intent: i for i, intent in enumerate(truth.capabilities)}
        before, intents, pair, after = [], [], [], []
        probability: list[float] = []
        for number, ((state, intent), outcomes) in enumerate(truth.table.items()):
            before.append(states.setdefault(state, len(states)))
            intents.append(index[intent])
            for end, share in outcomes.items():
                pair.append(number)
                after.append(states.setdefault(end, len(states)))
                probability.append(share)
        return cls(
            vocabulary,
            truth.capabilities,
            list(states),
            _numbers(before),
            _numbers(intents),
            np.ones(len(before)),
            _numbers(pair),
            _numbers(after),
            np.array(probability, dtype=np.float64),
            np.ones(len(pair)),
        )

    @classmethod
    def of_counts(
        cls, transitions: Mapping[Transition, int], intents: Sequence[Intent], words: Vocabulary
    ) -> Reference:
        """Take counted executions: probabilities are relative frequencies, weights are counts."""
        states, before, capability, after, times = columns_of(transitions)
        width, count = max(len(intents), 1), times.astype(np.float64)
        pairs, pair = np.unique(before * width + capability, return_inverse=True)
        executions = np.bincount(pair, weights=count, minlength=len(pairs)).astype(np.float64)
        return cls(
            words, intents, states, pairs // width, pairs % width, executions, pair, after,
            count / executions[pair], count,
        )  # fmt: skip

    @cached_property
    def achieved(self) -> Mask:
        """Of each transition: whether the intent holds where it ends."""
        return self._holding(self.after, self.intent[self.pair])

    @cached_property
    def held(self) -> Mask:
        """Of each pair: whether the intent holds already."""
        return self._holding(self.before, self.intent)

    def _holding(self, states: Integers, intents: Integers) -> Mask:
        tests = [intent.test(self.vocabulary) for intent in self.intents]
        rows = zip(states.tolist(), intents.tolist(), strict=True)
        held = (tests[intent](self.states[state]) for state, intent in rows)
        return np.fromiter(held, dtype=np.bool_, count=len(states))

    def rows(self) -> Iterator[tuple[State, int, Sequence[State]]]:
        """Yield the state of each pair, its intent by index, and the states that it ends in."""
        ends = [self.states[i] for i in self.after.tolist()]
        borders = np.searchsorted(self.pair, np.arange(len(self.before) + 1)).tolist()
        rows = zip(self.before.tolist(), self.intent.tolist(), pairwise(borders), strict=True)
        for before, intent, (first, end) in rows:
            yield self.states[before], intent, ends[first:end]

    def achieving(self) -> Reference:
        """Keep the pairs that achieved the intent at least once (the paper's filter)."""
        kept = np.zeros(len(self.before), dtype=np.bool_)
        kept[self.pair[self.achieved & (self.probability > 0)]] = True
        left = kept[self.pair]
        return replace(
            self,
            before=self.before[kept],
            intent=self.intent[kept],
            pair_weight=self.pair_weight[kept],
            pair=(np.cumsum(kept) - 1)[self.pair[left]],
            after=self.after[left],
            probability=self.probability[left],
            weight=self.weight[left],
        )


def _numbers(values: Iterable[int]) -> Integers:
    return np.fromiter(values, dtype=np.int64)
