"""Does a run at the table find that the robot lifts whole towers, and does its rate hold?

The hand grasps close to the table, so a request for a block that stands on another moves the lower
one. A run should say so: asked for on(x,y) when on(x,z), the robot causes on(z,y) instead. The rate
of that sentence is checked by fresh executions, as many from each of its states. A run should also
say that green and yellow are mistaken for each other.

    python -m capscope_experiments.benchmarks.tower_findings [SEED...]
"""

import random
import sys
from collections.abc import Iterator
from statistics import fmean
from tempfile import TemporaryDirectory

from capscope import Atom, Budget, Effect, Intent, Problem, Run, State, assess
from capscope.analysis.findings.finding import Example, Finding, Pairs
from capscope.problems import load_problem
from capscope.world.attempt import Position, observed_state, pursue
from capscope_experiments.saved_runs import snapshots_of

PROBLEM = "tabletop-affordance"
EXECUTIONS = 3_000
FRESH = 300
LEAST_DRAWS = 30
ALIKE = {"green", "yellow"}


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


def tells_of_colours(finding: Finding, run: Run) -> bool:
    """Return whether all examples are of one of the similar blocks that moved for the other."""

    def is_mistake(example: Example) -> bool:
        asked = ALIKE & set(example.intent.objects)
        changes = Effect.between(example.state, example.after).literals(run.graph.vocabulary)
        moved = {x.atom.arguments[0] for x in changes if x.atom.predicate in ("on", "on-table")}
        return len(asked) == 1 and ALIKE & moved == ALIKE - asked

    return finding.instead and all(map(is_mistake, finding.examples))


def fresh_rate(problem: Problem, run: Run, of: Pairs) -> tuple[float, int]:
    """Make the requests of some pairs again; return the mean over them, and the executions."""
    pairs = [(run.graph.capabilities[number], state) for number, state in sorted(of)]
    each = -(-FRESH // len(pairs))
    snapshots = snapshots_of(run)
    rates = []
    for number, (intent, state) in enumerate(pairs):
        moved = block_below(intent, state, run)
        if moved is None:
            continue
        rng = random.Random(number)
        bit, hits = run.graph.vocabulary.bit[moved], 0
        for _ in range(each):
            observation = problem.simulator.restore(
                rng.choice(snapshots[state]), rng.getrandbits(32)
            )
            start = Position(observation, observed_state(problem, observation))
            attempt, _ = pursue(problem, intent, start, rng.getrandbits(32))
            hits += bool(attempt.trajectory[-1] & bit)
        rates.append(hits / each)
    return fmean(rates), each * len(rates)


def measure(seed: int) -> Iterator[str]:
    """Yield what a run found."""
    with TemporaryDirectory() as folder:
        problem = load_problem(PROBLEM)
        run = assess(problem, seed=seed, budget=Budget(executions=EXECUTIONS), run=f"{folder}/run")
        findings = run.findings()
        for rank, finding in enumerate(findings, 1):
            if tells_of_towers(finding, run) and finding.rate.draws >= LEAST_DRAWS:
                rate, draws = fresh_rate(problem, run, finding.pairs)
                low, high = finding.rate.interval
                holds = "inside" if low <= rate <= high else "OUTSIDE"
                yield f"seed {seed}: tower, finding {rank} of {len(findings)}: {finding.sentence}"
                yield f"  {draws} fresh executions: {rate:.3f}, {holds} the interval"
                break
        else:
            yield f"seed {seed}: tower not found"
        colours = [(i, f) for i, f in enumerate(findings, 1) if tells_of_colours(f, run)]
        for rank, finding in colours[:1]:
            yield f"seed {seed}: colours, finding {rank}: {finding.sentence}"


def main() -> None:
    for seed in map(int, sys.argv[1:] or ["0"]):
        for line in measure(seed):
            print(line, flush=True)


if __name__ == "__main__":
    main()
