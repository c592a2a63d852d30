"""Evidence that the probabilities of many arms changed together, at an unknown time.

Each draw is of one arm and is a hit or a miss. The null hypothesis: every arm has one probability,
its own and unknown, for the whole time. The alternative: from some time on, arms have another one.

**Why not permutations?** If draws were chosen in advance, each order of an arm's hits and misses
would be equally likely, and the order alone would be a test without unknown probabilities. But a
strategy draws again after a surprise. An arm that is drawn until its first miss always has the miss
at the end, and any comparison of early with late draws sees the agent get worse. In fact no test
martingale exists here: a bet that is fair for every probability of an arm cannot win.

**The score** pays for that instead (universal inference). For an arm, let Q be the likelihood of
its draws if early ones follow a probability drawn from one prior and late ones another, drawn from
a second prior; let P be the likelihood at its true probability. Q / P is a fair bet: a martingale
that changes only when this arm is drawn. So are 1 − w + w·Q / P and the product over arms, however
the next arm is chosen from earlier draws, and so is a mean of such products with weights that were
fixed in advance. P is unknown, but the largest likelihood of the arm's draws is at least P, so
dividing by that only lowers the score. By Ville's inequality the probability that a true null ever
lets the score exceed 1/α is at most α, also at the end of a run that stops when it likes.

**Power.** The price is about half a nat for each arm that is neither constant nor changed, and
products over many arms would drown every change. Hence the weights w: an arm that does not take
part costs at most −log(1 − w). Hence the priors: most arms are nearly constant, and a prior that
expects this costs them almost nothing. An arm that was not drawn before the change time cannot show
a change; it takes no part, which is known when that time comes. And hence families of arms (the
capabilities of an agent): half of the weight is on a change of all arms, half on a change within
one family.

**Its limit.** A miss of an arm that is never drawn again costs as much as a hit may win later, and
must: a strategy that knows which arms rarely hit and draws only those of them again that happened
to hit once would make any agent look worse. So if arms are drawn once or twice and often miss, a
change cannot be shown from draws that a strategy chose.

The mean is over change times (eight in each octave of the number of draws, so that none depends on
when the run ends), pairs of priors, weights w and families. Leaving terms out only lowers it, so of
many change times a few are tried first and then those around the best.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from capscope.stats.arrays import Floats, Integers, Mask
from capscope.stats.beta import log_sum_exp
from capscope.stats.betting import log_best_likelihood

RatePrior = tuple[float, float]
"""A beta distribution of a probability, to bet on how it changes: its hits and misses."""
ALWAYS, NEVER, ANY = (1.0, 0.002), (0.05, 1.0), (0.5, 0.5)
# Narrow: if many probabilities are alike, none of them has to pay for what the others have shown.
MOSTLY, OFTEN, HALF = (45.0, 5.0), (35.0, 15.0), (25.0, 25.0)
SOMETIMES, RARELY = (15.0, 35.0), (5.0, 45.0)


_FIRST_OCTAVE = 4
_OCTAVES = 18
"""Change times from 16 to 4 million."""
_PER_OCTAVE = 8
_MOST_CELLS = 400_000
"""Arms times change times that are tried first."""
_MOST_TIMES_AROUND = 8
_LARGEST_LOG_RATIO = 600.0
_LARGEST_CODE = 2**62
_STEADY, _USUALLY = (1.0, 0.05), (5.0, 2.0)
_CHANGES = (
    (ALWAYS, NEVER),
    (ALWAYS, _USUALLY),
    (ALWAYS, MOSTLY),
    (ALWAYS, OFTEN),
    (ALWAYS, HALF),
    (ALWAYS, SOMETIMES),
    (ALWAYS, RARELY),
    (_STEADY, _USUALLY),
    (ANY, ANY),
    (ANY, NEVER),
    (_USUALLY, ALWAYS),
    (OFTEN, ALWAYS),
    (SOMETIMES, ALWAYS),
)
"""Early and late priors."""
_TAKING_PART = (0.02, 0.3, 0.97)
"""The weights w."""


@dataclass(frozen=True)
class ArmDraws:
    """Draws in the order in which they were made."""

    time: Integers
    """When each was made, increasing."""
    arm: Integers
    hit: Mask
    family: Integers
    """The family of each arm."""
    families: int
    """Families that were known before the first draw; later ones take part in common changes."""


class ChangePoint(NamedTuple):
    """The evidence of a change, and the change that explains the draws best."""

    evidence: float
    """The log score."""
    time: int
    """Draws before this time are early."""
    family: int | None
    """The family that changed; None if all did."""
    arms: Floats
    """For each arm, its log score."""


def evidence_of_change(draws: ArmDraws) -> ChangePoint | None:
    """Weigh the evidence that probabilities changed; None if there are too few draws."""
    times = change_times(int(draws.time[-1]) if len(draws.time) else 0)
    if not len(times):
        return None
    scored = _Likelihoods.of(draws)
    step = math.ceil(len(times) * len(draws.family) / _MOST_CELLS)
    scores = dict(_scores(draws, scored, times, range(0, len(times), step)))
    if step > 1:
        best = max(scores, key=lambda i: scores[i].evidence)
        nearest = math.ceil(2 * step / _MOST_TIMES_AROUND)
        near = range(max(best - step + nearest, 0), min(best + step, len(times)), nearest)
        scores |= dict(_scores(draws, scored, times, [i for i in near if i not in scores]))
    best = max(scores, key=lambda i: scores[i].evidence)
    logs = [score.evidence for score in scores.values()]
    evidence = log_sum_exp(logs) - math.log(_OCTAVES * _PER_OCTAVE)
    return scores[best]._replace(evidence=evidence)


def change_times(last: int) -> Integers:
    """Return the change times up to the last draw.

    >>> change_times(24).tolist()
    [16, 18, 20, 22, 24]
    """
    octaves = 1 << np.arange(_FIRST_OCTAVE, _FIRST_OCTAVE + _OCTAVES)
    times = (octaves[:, None] // _PER_OCTAVE * np.arange(_PER_OCTAVE, 2 * _PER_OCTAVE)).ravel()
    return times[times <= last]


def _scores(
    draws: ArmDraws, likelihoods: _Likelihoods, times: Integers, which: Iterable[int]
) -> Iterator[tuple[int, ChangePoint]]:
    """Score some of the change times, in increasing order."""
    arms, done = len(draws.family), 0
    early, early_hits = np.zeros((2, arms), dtype=np.int64)
    for i in which:
        end = int(np.searchsorted(draws.time, times[i]))
        arm, hit = draws.arm[done:end], draws.hit[done:end]
        early += np.bincount(arm, minlength=arms)
        early_hits += np.bincount(arm[hit], minlength=arms)
        done = end
        yield i, _score(draws, likelihoods, int(times[i]), early, early_hits)


def _score(
    draws: ArmDraws, likelihoods: _Likelihoods, time: int, early: Integers, early_hits: Integers
) -> ChangePoint:
    families = draws.families
    # Most arms of a large world have the same few counts.
    columns = (draws.family, likelihoods.draws, likelihoods.hits, early, early_hits)
    first, which, arms = _distinct(*columns)
    own = likelihoods.log_scores(first, early[first], early_hits[first])
    sums, family_of = own * arms, draws.family[first]
    every = sums.sum(axis=1)
    each = np.array([np.bincount(family_of, row, families)[:families] for row in sums])
    # Half of the weight is on a common change, half on one in a single family.
    half = math.log(2 * len(own))
    common = float(np.logaddexp.reduce(every)) - half
    single = np.logaddexp.reduce(each, axis=0) - half - math.log(max(families, 1))
    evidence = float(np.logaddexp.reduce([common, *single]))
    family = int(single.argmax()) if families and single.max() > common else None
    best = every if family is None else each[:, family]
    return ChangePoint(evidence, time, family, own[int(best.argmax())][which])


@dataclass(frozen=True)
class _Likelihoods:
    """What the scores of arms are made of: tables of functions of a count, and totals."""

    draws: Integers
    hits: Integers
    best: Floats
    """For each arm, the largest log likelihood of all its draws."""
    log_rising: Mapping[float, Floats]
    """For each a, log Γ(a + k) − log Γ(a) by k."""

    @classmethod
    def of(cls, draws: ArmDraws) -> _Likelihoods:
        """Count the draws of each arm."""
        arms = len(draws.family)
        totals = np.bincount(draws.arm, minlength=arms)
        hits = np.bincount(draws.arm[draws.hit], minlength=arms)
        counts = np.arange(totals.max(initial=0))
        starts = {a for change in _CHANGES for prior in change for a in (*prior, sum(prior))}
        rising = {a: np.append(0.0, np.cumsum(np.log(a + counts))) for a in starts}
        return cls(totals, hits, log_best_likelihood(hits, totals), rising)

    def log_scores(self, arms: Integers, early: Integers, early_hits: Integers) -> Floats:
        """Return log scores of some arms: a row for each change of priors and each weight."""
        late, late_hits = self.draws[arms] - early, self.hits[arms] - early_hits
        rows = []
        for before, after in _CHANGES:
            changed = self._log_mixture(before, early_hits, early)
            changed += self._log_mixture(after, late_hits, late)
            ratio = np.exp(np.minimum(changed - self.best[arms], _LARGEST_LOG_RATIO))
            rows += [np.log(1 - w + w * ratio) for w in _TAKING_PART]
        return np.where(early > 0, np.array(rows), 0.0)

    def _log_mixture(self, prior: RatePrior, hits: Integers, draws: Integers) -> Floats:
        """Return the log likelihood of the draws of each arm, averaged over the prior."""
        (prior_hits, prior_misses), rising = prior, self.log_rising
        likelihood: Floats = rising[prior_hits][hits] + rising[prior_misses][draws - hits]
        return likelihood - rising[sum(prior)][draws]


def _distinct(*columns: Integers) -> tuple[Integers, Integers, Integers]:
    """Return where each distinct row comes first, which of these each row equals, and how many do.

    >>> _distinct(np.array([7, 7, 7]), np.array([1, 2, 1]))
    (array([0, 1]), array([0, 1, 0]), array([2, 1]))
    """
    code, codes = columns[0], int(columns[0].max(initial=0)) + 1
    for column in columns[1:]:
        size = int(column.max(initial=0)) + 1
        if codes * size > _LARGEST_CODE:
            code = np.unique(code, return_inverse=True)[1]
            codes = int(code.max(initial=0)) + 1
        code, codes = code * size + column, codes * size
    _, first, which, times = np.unique(
        code, return_index=True, return_inverse=True, return_counts=True
    )
    return first, which, times
