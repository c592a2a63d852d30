"""How often does `capscope diff` report a loss of 15 points over 250 draws a side?

Draws are simulated, so that base rate, number of states, number of capabilities and the draws of
each side are known: one capability of B is achieved less often, the others are the same. Beside the
reported losses stands what a test of fixed size could reach at the same error rate, if the draws
of each state had been agreed on in advance, and what the best bet on matched draws could reach, if
both probabilities were known in advance: no bet that has to find them out does better.
Targets: 9 of 10, and a false alarm in at most one of twenty pairs.

    python -m capscope_experiments.benchmarks.diff_power [PAIRS]
"""

import itertools
import math
import sys
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from capscope.insight.diff import RunData, compare_data
from capscope.journal.draws import QueryTable
from capscope.journal.execution_table import UNKNOWN_POSITION, ExecutionTable
from capscope.journal.run_meta import RunIdentity
from capscope.logic import Intent, State, Vocabulary
from capscope.stats.arrays import Integers

LOSS = 0.15
BASES = (1.0, 0.95, 0.9, 0.8, 0.65, 0.5)
LAYOUTS = ((1, False), (10, False), (100, False), (10, True), (100, True))
"""The number of states, and whether the draws fall into them at random, not evenly."""
SIDES = ((250, 250), (250, 420))
CAPABILITIES = (1, 10)


@dataclass(frozen=True)
class PowerCase:
    """What is simulated."""

    base: float
    states: int = 1
    scattered: bool = False
    draws: tuple[int, int] = (250, 250)
    capabilities: int = 1
    loss: float = LOSS

    def run(self, rng: np.random.Generator, side: int) -> RunData:
        """Simulate a run; the first capability of side 1 has the loss."""
        bits = max(self.states - 1, 1).bit_length()
        capabilities = [f"c{i}" for i in range(self.capabilities)]
        vocabulary = Vocabulary.of_atoms([*(f"s{i}" for i in range(bits)), *capabilities])
        states = list(range(self.states))
        states += [s | 1 << bits + c for c in range(self.capabilities) for s in range(self.states)]
        draws = self.draws[side]
        capability = np.repeat(np.arange(self.capabilities), draws)
        before = np.tile(np.arange(draws) % self.states, self.capabilities)
        if self.scattered:
            before = rng.integers(self.states, size=len(before))
        order = rng.permutation(len(before))
        capability, before = capability[order], before[order]
        rates = np.full(self.capabilities, self.base)
        rates[0] -= self.loss * side
        hit = rng.random(len(before)) < rates[capability]
        after = np.where(hit, (capability + 1) * self.states + before, before)
        return RunData(
            "AB"[side],
            "simulated",
            RunIdentity("simulated", "", vocabulary.fingerprint, "random", side),
            vocabulary,
            [Intent.parse(name) for name in capabilities],
            _table(states, capability, before, after),
            {},
        )

    def fixed_size(self) -> float:
        """Return the power of the test of two proportions at the same error rate."""
        n, m = self.draws
        p, q = self.base, self.base - self.loss
        pooled = (n * p + m * q) / (n + m)
        spread = math.sqrt(p * (1 - p) / n + q * (1 - q) / m)
        rejected_at = NormalDist().inv_cdf(1 - 0.05 * 0.75 * 0.8 / (2 * self.capabilities))
        least = rejected_at * math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
        return NormalDist(self.loss, spread).cdf(1) - NormalDist(self.loss, spread).cdf(least)

    def best_bet(self, rng: np.random.Generator, pairs: int) -> float:
        """Return the power of betting on matched draws with both probabilities known."""
        p, q = self.base, self.base - self.loss
        won, lost = p * (1 - q), q * (1 - p)
        with np.errstate(divide="ignore"):
            stakes = np.log(2 * np.array([lost, (won + lost) / 2, won]) / (won + lost))
        needed = math.log(2 * self.capabilities / (0.05 * 0.75))
        reached = 0
        for _ in range(pairs):
            sides = [rng.multinomial(n, np.full(self.states, 1 / self.states)) for n in self.draws]
            matched = int(np.minimum(*sides).sum()) if self.scattered else min(self.draws)
            leads = (rng.random(matched) < p).astype(int) - (rng.random(matched) < q)
            reached += bool(np.cumsum(stakes[leads + 1]).max(initial=0.0) >= needed)
        return reached / pairs


def _table(
    states: list[State], capability: Integers, before: Integers, after: Integers
) -> ExecutionTable:
    none, number = np.zeros_like(before), np.arange(len(before))
    queries = QueryTable(*np.empty((11, 0)))
    columns = (none, number, none, capability, before, after, none, none + 1, none, none)
    return ExecutionTable(states, (), queries, *columns, none + UNKNOWN_POSITION)


@dataclass(frozen=True)
class Power:
    """In how many of the pairs something was reported."""

    pairs: int
    losses: int
    """The loss that there is."""
    suspected: int
    """The loss is not reported, but its interval is said to exclude no change."""
    false_alarms: int
    """Anything else."""


def measure(case: PowerCase, pairs: int, seed: int = 0) -> Power:
    """Compare simulated pairs of runs."""
    rng = np.random.default_rng(seed)
    losses = suspected = alarms = 0
    for _ in range(pairs):
        found = compare_data(case.run(rng, 0), case.run(rng, 1))
        lost = [d for d in found.losses if str(d.capability) == "c0()" and case.loss]
        losses += bool(lost)
        suspected += not lost and any(str(one.capability) == "c0()" for one in found.suspected)
        alarms += len(found.differences) > len(lost)
    return Power(pairs, losses, suspected, alarms)


def main() -> None:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    for capabilities, draws, base in itertools.product(CAPABILITIES, SIDES, BASES):
        for states, scattered in LAYOUTS:
            case = PowerCase(base, states, scattered, draws, capabilities)
            found = measure(case, pairs)
            where = f"{states} states{' at random' if scattered else ''}"
            print(
                f"{capabilities} capabilities, {draws[0]} and {draws[1]} draws in {where}, "
                f"{base:.2f} to {base - LOSS:.2f}: reported {found.losses / pairs:.2f}, also "
                f"suspected {found.suspected / pairs:.2f}, fixed size {case.fixed_size():.2f}, "
                f"best bet {case.best_bet(np.random.default_rng(1), 1000):.2f}, "
                f"false alarms {found.false_alarms / pairs:.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
