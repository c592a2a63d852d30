"""Find pairs whose outcomes depend on simulator state that the predicates do not capture.

A symbolic state stands for many positions of the simulator. If success depends on the position, a
deterministic agent looks random, and the outcome probabilities only reflect which positions were
drawn.

Only the position in which a draw started is recorded. So the first execution of a draw counts, and
those after it as long as the simulator took no step. For each pair of a state and a capability, the
test (`categorical`) asks whether one distribution for each position explains the draws better than
the best one for all. Positions drawn once are kept, since which ones are drawn again may depend on
the first answer. Only a pair with two positions drawn twice can show anything; the error rate is
divided among these.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from capscope.journal.execution_table import ExecutionTable
from capscope.logic import Effect, Intent, State, Vocabulary
from capscope.stats.arrays import Floats, Integers
from capscope.stats.betting import evidence_of_distinct_groups, evidence_of_two_distributions
from capscope.stats.error_budget import ERROR_RATE, ErrorBudget

OutcomesOfPosition = Counter[State]
"""How often each state followed one of the positions that share a state, most frequent first."""


@dataclass(frozen=True)
class AliasedPair:
    """A pair whose outcomes depend on the position."""

    intent: Intent
    state: State
    positions: int
    """The number of positions from which the pair was drawn."""
    evidence: float
    """The log score."""
    contrast: tuple[OutcomesOfPosition, OutcomesOfPosition]
    """How often each state followed two of the positions that differ clearly."""
    vocabulary: Vocabulary = field(repr=False, compare=False)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values, states written as in `model.json`."""
        return {
            "intent": str(self.intent),
            "state": hex(self.state),
            "holding": [str(atom) for atom in self.vocabulary.holding(self.state)],
            "positions": self.positions,
            "evidence": self.evidence,
            "contrast": [
                [self._outcome_as_dict(*outcome) for outcome in position.items()]
                for position in self.contrast
            ],
        }

    def _outcome_as_dict(self, after: State, count: int) -> dict[str, Any]:
        changes = Effect.between(self.state, after).literals(self.vocabulary)
        return {"after": hex(after), "changes": [str(x) for x in changes], "count": count}


@dataclass(frozen=True)
class Aliasing:
    """What a run shows of simulator state that the predicates do not capture."""

    pairs: int = 0
    """The number of pairs in which at least two positions were drawn at least twice."""
    aliased_pairs: tuple[AliasedPair, ...] = ()
    """Those whose outcomes depend on the position, the clearest first."""


def find_aliasing(
    executions: ExecutionTable,
    intents: Sequence[Intent],
    vocabulary: Vocabulary,
    error_rate: float = ERROR_RATE,
) -> Aliasing:
    """Find the pairs of a run whose outcomes differ between positions that share a state."""
    states = executions.states
    counts = outcome_counts(executions.complete)
    evidence = counts.evidence
    threshold = ErrorBudget(error_rate, 1).share("aliasing").threshold(len(evidence))
    found = []
    for pair in np.argsort(-evidence, kind="stable").tolist():
        if evidence[pair] <= threshold:
            break
        state, intent = states[counts.before[pair]], intents[counts.capability[pair]]
        shown = counts.by_position(pair, states)
        score, contrast = float(evidence[pair]), _contrast(shown)
        found.append(AliasedPair(intent, state, len(shown), score, contrast, vocabulary))
    return Aliasing(len(evidence), tuple(found))


class OutcomeCounts(NamedTuple):
    """The pairs that can be tested, and how often each position led to each state."""

    before: Integers
    capability: Integers
    """Of each pair; the columns below have a row for each outcome of a position."""
    pair: Integers
    position: Integers
    after: Integers
    times: Integers

    @property
    def evidence(self) -> Floats:
        """For each pair, the log score against "outcomes do not depend on the position"."""
        return evidence_of_distinct_groups(self.pair, self.position, self.after, self.times)

    def by_position(self, pair: int, states: Sequence[State]) -> list[Counter[State]]:
        """Count what each position of a pair showed."""
        shown: defaultdict[int, Counter[State]] = defaultdict(Counter)
        rows = slice(*np.searchsorted(self.pair, [pair, pair + 1]))
        columns = (self.position[rows], self.after[rows], self.times[rows])
        for position, after, count in zip(*(c.tolist() for c in columns), strict=True):
            shown[position][states[after]] += count
        return list(shown.values())


def outcome_counts(executions: ExecutionTable) -> OutcomeCounts:
    """Count the outcomes of each position, in the pairs that can be tested."""
    known = np.flatnonzero(executions.at_start)
    before, capability = executions.before[known], executions.capability[known]
    position, after = executions.position[known], executions.after[known]
    capabilities = capability.max(initial=0) + 1
    positions, states = position.max(initial=0) + 1, after.max(initial=0) + 1
    # Renumbered at each step, so that no code exceeds 64 bits.
    pair_code, pair = np.unique(before * capabilities + capability, return_inverse=True)
    group_code, group = np.unique(pair * positions + position, return_inverse=True)
    group_pair, drawn = group_code // positions, np.bincount(group, minlength=len(group_code))
    testable = np.bincount(group_pair[drawn >= 2], minlength=len(pair_code)) >= 2
    number = np.cumsum(testable) - 1
    row_code, count = np.unique((group * states + after)[testable[pair]], return_counts=True)
    row_group = row_code // states
    return OutcomeCounts(
        pair_code[testable] // capabilities,
        pair_code[testable] % capabilities,
        number[group_pair[row_group]],
        group_code[row_group] % positions,
        row_code % states,
        count,
    )


def _contrast(shown: Sequence[OutcomesOfPosition]) -> tuple[OutcomesOfPosition, OutcomesOfPosition]:
    """Choose two positions that differ clearly, the one with more draws first."""
    together = sum(shown, Counter[State]())

    def apart(one: OutcomesOfPosition, other: OutcomesOfPosition) -> float:
        return evidence_of_two_distributions(one, other, len(together))

    # Comparing all with all would take long if there are hundreds.
    odd = max(shown, key=lambda own: apart(own, together - own))
    other = max((own for own in shown if own is not odd), key=lambda own: apart(odd, own))
    first, second = sorted((odd, other), key=lambda own: -own.total())
    return Counter(dict(first.most_common())), Counter(dict(second.most_common()))
