"""What does an assessment cost in a large world? 4,096 states and 24 intents.

Twelve switches, each of which can be on or off. Some are unreliable, some need others, some turn
others off. Targets: the audit's statement within 150 s of CPU time and 400 MB, and at most 10 ms
for choosing an execution at 20,000 pairs, however many draws there are.

    python -m capscope_experiments.benchmarks.large_world [SEEDS]
"""

import resource
import sys
import time
from collections.abc import Mapping

from capscope import Budget, Intent, Predicate, Problem, Settings, Vocabulary, assess
from capscope.assessment import Event
from capscope.logic import State
from capscope_experiments.benchmarks.tabulated_world import tabulated_problem

SWITCHES = tuple(f"s{i:02}" for i in range(12))
VOCABULARY = Vocabulary([Predicate("on", ("switch",))], dict.fromkeys(SWITCHES, "switch"))
NEEDS = {3: (0, 1), 7: (2,), 10: (4, 5, 6)}
"""A switch goes on only if these are on."""
TURNS_OFF = {5: 4, 8: 9, 11: 0}
"""A switch that goes on turns this one off."""
SUCCEEDS = {2: 0.8, 6: 0.9, 9: 0.5}


def outcomes(state: State, intent: Intent) -> Mapping[State, float]:
    """Return what the agent does."""
    literal = intent.literals[0]
    number = SWITCHES.index(literal.atom.arguments[0])
    bit = 1 << number
    if bool(state & bit) == literal.positive:
        return {state: 1.0}
    if not literal.positive:
        return {state & ~bit: 1.0}
    if not all(state >> other & 1 for other in NEEDS.get(number, ())):
        return {state: 1.0}
    after = state | bit
    if number in TURNS_OFF:
        after &= ~(1 << TURNS_OFF[number])
    share = SUCCEEDS.get(number, 1.0)
    return {after: share, state: 1.0 - share} if share < 1 else {after: 1.0}


def switches() -> Problem:
    intents = [Intent.parse(f"{sign}on({s})") for sign in ("", "not ") for s in SWITCHES]
    return tabulated_problem("switches", VOCABULARY, 0, intents, outcomes)


def measure(
    seed: int = 0, executions: int = 20_000, audit: float = 0.01, stage: int = 500
) -> list[str]:
    """Assess once; describe the cost until the audit's statement, and of executions by stages."""
    problem = switches()
    began = time.process_time()
    stages: list[tuple[int, int, float]] = []

    def listen(event: Event) -> None:
        size = event.states * event.capabilities
        if event.usage.executions // stage > (stages[-1][0] if stages else 0) // stage:
            stages.append((event.usage.executions, size, time.process_time() - began))

    run = assess(
        problem,
        seed=seed,
        settings=Settings(audit=audit),
        budget=Budget(executions=executions),
        listener=listen,
    )
    seconds = time.process_time() - began
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    ended = run.stop_reason and run.stop_reason.kind
    lines = [
        f"seed {seed}: {run.usage.executions:,} executions, {ended}, "
        f"{seconds:.1f} s of CPU (target 150), {megabytes:.0f} MB at most (target 400), "
        f"{len(run.graph.nodes):,} states seen; {run.audit and run.audit.statement}"
    ]
    before = (0, 0, 0.0)
    for now in stages:
        spent = 1000 * (now[2] - before[2]) / (now[0] - before[0])
        lines.append(f"  to {now[0]:6,} executions, {now[1]:6,} pairs: {spent:5.1f} ms each")
        before = now
    return lines


def main() -> None:
    for seed in range(int(sys.argv[1]) if len(sys.argv) > 1 else 1):
        for line in measure(seed):
            print(line, flush=True)


if __name__ == "__main__":
    main()
