"""What a model is measured against: how each pair ends, and how much each transition weighs.

Two things can stand for the agent. Where its truth can be enumerated, a pair's outcomes have exact
probabilities and every transition weighs the same. Elsewhere an independent dataset 𝒟′ of
executions stands in: outcomes have frequencies, and a transition weighs as often as it was seen.
Every metric is a weighted mean over one of the two.

A dictionary of dictionaries would say the same, but two million transitions take a gigabyte that
way, and each metric would ask the model again. Here pairs and transitions are parallel arrays, the
transitions sorted by pair: the model is asked once for each pair (`comparison`), and a metric is a
line of NumPy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from capscope.analysis.evaluation.truth import TrueModel
from capscope.record.execution_table import Transition
from capscope.symbolic import Intent, State, Vocabulary

Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Counts(NamedTuple):
    """Distinct transitions and how often each was seen, as parallel arrays."""

    states: Sequence[State]
    before: Numbers
    """Which of the states; so is `after`."""
    capability: Numbers
    after: Numbers
    times: Numbers

    @classmethod
    def of(cls, transitions: Mapping[Transition, int]) -> Counts:
        """Lay counted transitions out, states and transitions in ascending order."""
        states = sorted({state for before, _, after in transitions for state in (before, after)})
        place = {state: i for i, state in enumerate(states)}
        before = _numbers(place[before] for before, _, _ in transitions)
        capability = _numbers(capability for _, capability, _ in transitions)
        after = _numbers(place[after] for _, _, after in transitions)
        times = _numbers(transitions.values())
        order = np.lexsort((after, capability, before))
        return cls(states, before[order], capability[order], after[order], times[order])


@dataclass(frozen=True, eq=False)
class Reference:
    """The outcome distribution of every pair of a state and an intent, with weights."""

    vocabulary: Vocabulary
    intents: Sequence[Intent]
    states: Sequence[State]
    before: Numbers
    """Of each pair: which state."""
    intent: Numbers
    """Of each pair: which intent."""
    pair_weight: Floats
    """Of each pair: 1, or its executions."""
    pair: Numbers
    """Of each transition: which pair; never falls."""
    after: Numbers
    """Of each transition: which state it ends in."""
    probability: Floats
    """Of each transition: how often its pair ends so."""
    weight: Floats
    """Of each transition: 1, or its executions."""

    @classmethod
    def of_truth(cls, truth: TrueModel, vocabulary: Vocabulary) -> Reference:
        """Take the exact truth: pairs weigh alike, and so do transitions."""
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
        cls, counts: Counts, intents: Sequence[Intent], vocabulary: Vocabulary
    ) -> Reference:
        """Take counted executions: probabilities are relative frequencies, weights are counts."""
        order = np.lexsort((counts.after, counts.capability, counts.before))
        width = max(len(intents), 1)
        key = (counts.before * width + counts.capability)[order]
        pairs, pair = np.unique(key, return_inverse=True)
        count = counts.times[order].astype(np.float64)
        executions = np.bincount(pair, weights=count, minlength=len(pairs)).astype(np.float64)
        return cls(
            vocabulary,
            intents,
            counts.states,
            pairs // width,
            pairs % width,
            executions,
            pair,
            counts.after[order],
            count / executions[pair],
            count,
        )

    @cached_property
    def achieved(self) -> Mask:
        """Of each transition: whether the intent holds where it ends."""
        return self._holding(self.after, self.intent[self.pair])

    @cached_property
    def held(self) -> Mask:
        """Of each pair: whether the intent holds already."""
        return self._holding(self.before, self.intent)

    def _holding(self, states: Numbers, intents: Numbers) -> Mask:
        masks = [self.vocabulary.literal_masks(intent.literals) for intent in self.intents]
        known = self.states
        holding = np.zeros(len(states), dtype=np.bool_)
        for i, (number, intent) in enumerate(zip(states.tolist(), intents.tolist(), strict=True)):
            required, forbidden = masks[intent]
            state = known[number]
            holding[i] = state & required == required and not state & forbidden
        return holding

    def rows(self) -> Iterator[tuple[State, int, Sequence[State]]]:
        """Yield each pair, its intent by number, with the states that it ends in."""
        states = self.states
        ends = [states[i] for i in self.after.tolist()]
        borders = np.searchsorted(self.pair, np.arange(len(self.before) + 1)).tolist()
        befores, intents = self.before.tolist(), self.intent.tolist()
        first = 0
        for before, intent, end in zip(befores, intents, borders[1:], strict=True):
            yield states[before], intent, ends[first:end]
            first = end

    def achieving(self) -> Reference:
        """Apply the paper's filter: keep the pairs in which the intent is achieved at least once.

        An intent that holds before and after is achieved, too.
        """
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


def _numbers(values: Iterable[int]) -> Numbers:
    return np.fromiter(values, dtype=np.int64)
