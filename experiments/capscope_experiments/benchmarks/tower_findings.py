"""Does a run at the table find lifted towers, and do its rates hold?

The hand grasps close to the table, so a request for a block that stands on another moves the lower
one. A run should say so: asked for on(x,y) when on(x,z), the robot causes on(z,y) instead. The rate
of the sentence is checked by fresh executions, as many from each of its states.

    python -m capscope_experiments.benchmarks.tower_findings [SEED...]
"""

import random
import sys
from collections.abc import Callable, Iterator
from statistics import fmean
from tempfile import TemporaryDirectory

from capscope import Atom, Budget, Intent, Problem, Run, State, assess
from capscope.insight.earlier_findings.finding import Finding, Pairs
from capscope.problem.attempt import Position, observed_state, pursue
from capscope.problems import load_problem
from capscope_experiments.saved_runs import snapshots_of

PROBLEM = "tabletop-affordance"
EXECUTIONS = 3_000
FRESH = 300
LEAST_DRAWS = 30
Event = Callable[[Intent, State], Callable[[State], bool] | None]
"""For a request in a state, what to count of where executions end; None for nothing."""


def block_below(intent: Intent, state: State, run: Run) -> Atom | None:
    """Return on(z,y) if on(x,y) is asked for and x stands on z."""
    (literal,) = intent.literals
    if literal.atom.predicate != "on" or not literal.positive:
        return None
    block, target = literal.atom.arguments
    below = [
        atom.arguments[1]
        for atom in run.graph.vocabulary.holding(state)
        if atom.predicate == "on" and atom.arguments[0] == block
    ]
    return Atom("on", (below[0], target)) if below and below[0] not in (target, "cup") else None


def tells_of_towers(finding: Finding, run: Run) -> bool:
    """Return whether a finding says that the lower block is moved instead of the upper one."""
    if not finding.instead or {x.atom.predicate for x in finding.literals} != {"on"}:
        return False
    return all(
        (moved := block_below(one.intent, one.state, run)) is not None
        and run.graph.vocabulary.bit[moved] & one.after
        for one in finding.examples
    )


def fresh_rate(problem: Problem, run: Run, of: Pairs, event: Event) -> tuple[float, int]:
    """Make the requests of some pairs again; return the mean over them, and the executions."""
    pairs = [(run.graph.capabilities[number], state) for number, state in sorted(of)]
    each = -(-FRESH // len(pairs))
    snapshots = snapshots_of(run)
    rates = []
    for number, (intent, state) in enumerate(pairs):
        happened = event(intent, state)
        if happened is None:
            continue
        rng = random.Random(number)
        hits = 0
        for _ in range(each):
            observation = problem.simulator.restore(
                rng.choice(snapshots[state]), rng.getrandbits(32)
            )
            start = Position(observation, observed_state(problem, observation))
            attempt, _ = pursue(problem, intent, start, rng.getrandbits(32))
            hits += happened(attempt.trajectory[-1])
        rates.append(hits / each)
    return fmean(rates), each * len(rates)


def lifted(run: Run) -> Event:
    """Return the event that the lower block is where the upper one was asked to be."""

    def event(intent: Intent, state: State) -> Callable[[State], bool] | None:
        moved = block_below(intent, state, run)
        if moved is None:
            return None
        bit = run.graph.vocabulary.bit[moved]
        return lambda after: bool(after & bit)

    return event


def measure(seed: int) -> Iterator[str]:
    """Yield what a run found."""
    with TemporaryDirectory() as folder:
        problem = load_problem(PROBLEM)
        run = assess(problem, seed=seed, budget=Budget(executions=EXECUTIONS), run=f"{folder}/run")
        yield from judge(problem, run, f"seed {seed}")


def judge(problem: Problem, run: Run, name: str) -> Iterator[str]:
    """Yield what a run says about towers, and whether it is true."""
    findings = list(enumerate(run.findings(), 1))
    towers = [
        (rank, finding)
        for rank, finding in findings
        if tells_of_towers(finding, run) and finding.rate.executions >= LEAST_DRAWS
    ]
    if not towers:
        yield f"{name}: no tower found"
    for rank, finding in towers[:1]:
        rate, draws = fresh_rate(problem, run, finding.pairs, lifted(run))
        low, high = finding.rate.interval
        holds = "inside" if low <= rate <= high else "OUTSIDE"
        yield f"{name}: finding {rank} of {len(findings)}: {finding.sentence}"
        yield f"  {draws} fresh executions: {rate:.3f}, {holds} the interval"


def main() -> None:
    for seed in map(int, sys.argv[1:] or ["0"]):
        for line in measure(seed):
            print(line, flush=True)


if __name__ == "__main__":
    main()
