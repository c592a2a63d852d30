"""Are printed rates right on average, although an adaptive strategy draws again after a hit?

Four lamps; each request rings an alarm with probability 0.1 and fails with probability 0.1. Over
many seeds, the mean of each estimate is compared with the truth: the rate that findings print,
over all pairs in which the alarm could ring (whether a finding was reported or not, since only
high estimates are, in short runs), the one printed in findings, and `at_once` of `run.rates`.
Target: a bias below 5 % of the rate.

    python -m capscope_experiments.benchmarks.rate_bias [SEEDS] [EXECUTIONS]
"""

import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping

from capscope import Budget, Intent, Predicate, Run, Settings, Vocabulary, assess
from capscope.logic import Atom, State
from capscope.stats.mean_bounds import mean_share
from capscope.stats.rate import Rate
from capscope_experiments.benchmarks.tabulated_world import tabulated_problem

_RINGS = 0.1
_FAILS = 0.1
_LAMPS = [f"lamp{i}" for i in range(4)]
_WORDS = Vocabulary([Predicate("on", ("lamp",)), Predicate("alarm")], dict.fromkeys(_LAMPS, "lamp"))
_ALARM = _WORDS.bit[Atom("alarm")]
_ASKED = [Intent.parse(f"{no}{a}") for a in _WORDS.atoms for no in ("", "not ")]


def outcomes(state: State, intent: Intent) -> Mapping[State, float]:
    """Return where an execution may end, and how probably."""
    if intent.holds(state, _WORDS):
        return {state: 1.0}
    bit = _WORDS.bit[intent.literals[0].atom]
    if bit == _ALARM:
        return {state ^ bit: 1.0}
    ends: defaultdict[State, float] = defaultdict(float)
    for end, p in ((state ^ bit, 1 - _FAILS), (state, _FAILS)):
        ends[end] += p * (1 - _RINGS)
        ends[end | _ALARM] += p * _RINGS
    return ends


def measure_all(seeds: int, executions: int) -> Iterator[str]:
    estimates: defaultdict[str, list[float]] = defaultdict(list)
    for seed in range(seeds):
        run = assess(
            tabulated_problem("lamps", _WORDS, 0, _ASKED, outcomes),
            seed=seed,
            settings=Settings(intents=tuple(map(str, _ASKED)), audit=0.0),
            budget=Budget(executions=executions),
        )
        for name, estimate in _estimates(run):
            estimates[name].append(estimate)
    for name, found in estimates.items():
        truth = 1 - _FAILS if "at once" in name else _RINGS
        mean, error = statistics.fmean(found), statistics.pstdev(found) / len(found) ** 0.5
        bias = f"{mean / truth - 1:+.1%} ± {error / truth:.1%}"
        yield f"{name}: mean {mean:.4f} of {len(found)}, truth {truth}, bias {bias}"


def _estimates(run: Run) -> Iterator[tuple[str, float]]:
    counts: defaultdict[tuple[State, int], list[bool]] = defaultdict(list)
    table = run.executions
    for before, capability, after in zip(table.before, table.capability, table.after, strict=True):
        state, intent = table.states[before], run.capabilities[capability]
        about_alarm = intent.literals[0].atom == Atom("alarm")
        if not (about_alarm or state & _ALARM or intent.holds(state, _WORDS)):
            counts[state, capability].append(bool(table.states[after] & _ALARM))
    pairs = [(sum(hits), len(hits)) for hits in counts.values()]
    yield "mean of the frequencies of pairs", mean_share(pairs)
    yield "rate as findings print it", Rate.of_pairs(pairs).estimate or 0.0
    for intent, rates in run.rates.items():
        if intent.literals[0].atom.predicate == "on" and rates.at_once.estimate is not None:
            yield "rate at once", rates.at_once.estimate


def main() -> None:
    given = [int(argument) for argument in sys.argv[1:]]
    seeds, executions = (*given, *(200, 2500)[len(given) :])
    for line in measure_all(seeds, executions):
        print(line, flush=True)


if __name__ == "__main__":
    main()
