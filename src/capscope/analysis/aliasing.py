"""Find where what happens depends on the position, and so on something that the words leave out.

A symbolic state stands for many positions of the simulator. An agent without any chance in it may
then look like the toss of a coin: from some of the positions the pole falls, from the others it
never does, and the words call all of them upright. The odds of such a pair are a mixture over the
positions that were drawn, and whoever reads them as chance is misled.

**Which draws.** Where a draw started is written down, where it went later is not. So what counts is
the first execution of a draw, and those after it for as long as the world did not move.

**The test.** For each pair of a state and a capability: how much better are the draws explained by
a distribution of each position's own than by the best one that all positions could share? The first
is an average over all distributions (Dirichlet, half a count for each outcome seen in the pair),
the second the largest likelihood there is. With an average on one side and the best on the other
the ratio reaches 1/α with a chance of α at most if the positions are alike, however draws were
chosen and stopped (universal inference; `difference/odds` rests on the same). A test that counts
upon fixed numbers of draws, like that of Fisher or χ², would not do: a strategy draws again where
an answer surprised it. For the same reason positions that were drawn once are not left out: which
are drawn again may have depended on the first answer.

Only a pair in which two positions were drawn twice can show anything; the error rate is shared
among these. That the outcomes of a pair are not known beforehand is a small liberty; the largest
likelihood, which knows them too, pays for it (the tests have worlds with many outcomes).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from capscope.record.execution_table import UNKNOWN_POSITION, ExecutionTable
from capscope.record.query_table import Column as Numbers
from capscope.record.query_table import Flags
from capscope.statistics.betting import ERROR_RATE, Scores
from capscope.symbolic import Effect, Intent, State, Vocabulary


@dataclass(frozen=True)
class Position:
    """What was seen from one of the positions that look like one state."""

    outcomes: Mapping[State, int]
    """How often each state came after it, the most frequent first."""

    @property
    def draws(self) -> int:
        """How often it was drawn."""
        return sum(self.outcomes.values())


@dataclass(frozen=True)
class AliasedPair:
    """A pair in which what happens depends on the position."""

    intent: Intent
    state: State
    positions: int
    """From so many the pair was drawn."""
    evidence: float
    """The logarithm of the ratio."""
    contrast: tuple[Position, Position]
    """Two of the positions that differ clearly."""
    vocabulary: Vocabulary = field(repr=False, compare=False)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values, states written as in `model.json`."""
        words = self.vocabulary
        return {
            "intent": str(self.intent),
            "state": hex(self.state),
            "holding": [str(atom) for atom in words.holding(self.state)],
            "positions": self.positions,
            "evidence": self.evidence,
            "contrast": [
                [
                    {"after": hex(after), "changes": self._changes(after), "count": count}
                    for after, count in position.outcomes.items()
                ]
                for position in self.contrast
            ],
        }

    def _changes(self, after: State) -> list[str]:
        return [str(x) for x in Effect.between(self.state, after).literals(self.vocabulary)]


@dataclass(frozen=True)
class Aliasing:
    """What a run shows of something that the words leave out."""

    pairs: int = 0
    """In so many pairs two positions or more were drawn at least twice each."""
    aliased_pairs: tuple[AliasedPair, ...] = ()
    """Those in which what happens depends on the position, the clearest first."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        return {"pairs": self.pairs, "dependences": [d.as_dict() for d in self.aliased_pairs]}


def find_aliasing(
    executions: ExecutionTable,
    intents: Sequence[Intent],
    vocabulary: Vocabulary,
    error_rate: float = ERROR_RATE,
) -> Aliasing:
    """Find the pairs of a run whose outcomes differ between positions with the same state."""
    tallies, states = _tallies(executions.complete), executions.states
    bar = math.log(max(tallies.pairs, 1) / error_rate)
    found = []
    for pair in np.argsort(-tallies.evidence, kind="stable").tolist():
        evidence = float(tallies.evidence[pair])
        if evidence <= bar:
            break
        state, intent = states[tallies.before[pair]], intents[tallies.capability[pair]]
        shown = _shown(tallies, pair, states)
        found.append(AliasedPair(intent, state, len(shown), evidence, _contrast(shown), vocabulary))
    return Aliasing(tallies.pairs, tuple(found))


class _Tallies(NamedTuple):
    """The pairs that can be tested, and the outcomes that each position showed in them."""

    before: Numbers
    capability: Numbers
    evidence: Scores
    """Of each pair, as are the columns above; those below have a row for each outcome."""
    pair: Numbers
    position: Numbers
    after: Numbers
    times: Numbers

    @property
    def pairs(self) -> int:
        return len(self.evidence)


def _tallies(made: ExecutionTable) -> _Tallies:
    known = np.flatnonzero(_at_their_start(made))
    before, capability = made.before[known], made.capability[known]
    position, after = made.position[known], made.after[known]
    capabilities = capability.max(initial=0) + 1
    positions, states = position.max(initial=0) + 1, after.max(initial=0) + 1
    # Numbered anew at each step, so that no code outgrows its 64 bits.
    pair_code, pair = np.unique(before * capabilities + capability, return_inverse=True)
    spot_code, spot = np.unique(pair * positions + position, return_inverse=True)
    spot_pair, drawn = spot_code // positions, np.bincount(spot, minlength=len(spot_code))
    testable = np.bincount(spot_pair[drawn >= 2], minlength=len(pair_code)) >= 2
    number = np.cumsum(testable) - 1
    cell_code, count = np.unique((spot * states + after)[testable[pair]], return_counts=True)
    cell_spot = cell_code // states
    cells = _Tallies(
        pair_code[testable] // capabilities, pair_code[testable] % capabilities,
        np.zeros(testable.sum()), number[spot_pair[cell_spot]],
        spot_code[cell_spot] % positions, cell_code % states, count,
    )  # fmt: skip
    return cells._replace(evidence=_evidence(cells))


def _at_their_start(made: ExecutionTable) -> Flags:
    """Say of each execution whether it began in the position that its draw started from."""
    first = np.diff(made.draw_id, prepend=-1) != 0
    begins = np.maximum.accumulate(np.where(first, np.arange(len(first)), 0))
    steps: Numbers = np.cumsum(made.moved) - made.moved
    at_start: Flags = (steps == steps[begins]) & (made.position != UNKNOWN_POSITION)
    return at_start


def _evidence(cells: _Tallies) -> Scores:
    """Return the log ratio of each pair."""
    pairs, states = cells.pairs, cells.after.max(initial=0) + 1
    code, outcome = np.unique(cells.pair * states + cells.after, return_inverse=True)
    total = np.bincount(outcome, cells.times, len(code))
    kinds = np.bincount(code // states, minlength=pairs)
    draws = np.bincount(cells.pair, cells.times, pairs)
    best = np.bincount(code // states, total * np.log(total), pairs) - draws * np.log(draws)
    # Rows of one position stand together.
    begins = np.flatnonzero(np.diff(cells.pair, prepend=-1) | np.diff(cells.position, prepend=-1))
    here = cells.pair[begins]
    drawn = np.add.reduceat(cells.times, begins) if len(begins) else begins
    whole = _log_gamma(kinds[here]) - _log_gamma(2 * drawn + kinds[here])
    parts = _log_gamma(2 * cells.times + 1) - math.lgamma(0.5)
    own = np.bincount(here, whole, pairs) + np.bincount(cells.pair, parts, pairs)
    evidence: Scores = own - best
    return evidence


def _log_gamma(halves: Numbers) -> Scores:
    """Return log Γ of numbers of halves; few of them are different."""
    values, which = np.unique(halves, return_inverse=True)
    return np.array([math.lgamma(value / 2) for value in values.tolist()])[which]


def _shown(tallies: _Tallies, pair: int, states: Sequence[State]) -> list[Counter[State]]:
    """Count what each position of a pair showed."""
    shown: defaultdict[int, Counter[State]] = defaultdict(Counter)
    rows = slice(*np.searchsorted(tallies.pair, [pair, pair + 1]))
    columns = (tallies.position[rows], tallies.after[rows], tallies.times[rows])
    for at, after, count in zip(*(column.tolist() for column in columns), strict=True):
        shown[at][states[after]] += count
    return list(shown.values())


def _contrast(shown: Sequence[Counter[State]]) -> tuple[Position, Position]:
    """Choose two positions that differ clearly, the one with more draws first.

    One is the least like all others together, the other the least like that one: to compare all
    with all would take long where they are hundreds.
    """
    together = sum(shown, Counter[State]())
    odd = max(shown, key=lambda own: _apart(own, together - own, len(together)))
    others = (own for own in shown if own is not odd)
    other = max(others, key=lambda own: _apart(odd, own, len(together)))
    first, second = sorted((odd, other), key=lambda own: -own.total())
    return Position(dict(first.most_common())), Position(dict(second.most_common()))


def _apart(one: Counter[State], other: Counter[State], kinds: int) -> float:
    """Return the log ratio of two positions in a pair with so many outcomes."""
    total = one + other
    own = sum(
        math.lgamma(kinds / 2)
        - math.lgamma(counts.total() + kinds / 2)
        + sum(math.lgamma(count + 0.5) - math.lgamma(0.5) for count in counts.values())
        for counts in (one, other)
    )
    best = sum(n * math.log(n) for n in total.values()) - total.total() * math.log(total.total())
    return own - best
