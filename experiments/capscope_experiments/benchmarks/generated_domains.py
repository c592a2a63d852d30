"""Does inference hold up where nothing was tuned? Two planning domains made for this, and depot.

Couriers has chance, the towers of Hanoi have none; both are asked through the LAO* planner.
Measured are the executions to 0.99 exact agreement and to the audit's statement, whether the
statement was true, and how many of the pairs inferred with a doubt below 1 % are right
(target: 99 %).

    python -m capscope_experiments.benchmarks.generated_domains [SEEDS]
"""

import sys
from collections.abc import Sequence

from capscope import Budget, Settings, assess
from capscope.assessment import Event
from capscope.model import LearnedModel
from capscope.problems import load_problem
from capscope_experiments.benchmarks.exact_agreement import (
    AGREEMENT,
    Inference,
    agreement_curve,
    likely_truth,
    sure_inferences,
)
from capscope_experiments.benchmarks.surprise_rate import surprise_rate

GENERATED = ("couriers", "hanoi")
EXECUTIONS = 15_000
CHECKPOINTS = (500, 1000, 2000, 4000)


def _described(inference: Inference) -> str:
    return f"{inference.share:.2%} of {inference.sure:,} sure inferences right"


def measure_learning(name: str, seed: int, most: int = EXECUTIONS) -> str:
    """Describe when the agreement was 0.99, and how right inference was on the way."""
    problem = load_problem(name)
    curve = agreement_curve(problem, seed, most)
    last = curve.points[-1]
    worst = min(curve.points, key=lambda point: point.inference.share)
    reached = f"{AGREEMENT} after {curve.reached}" if curve.reached else "0.99 not reached"
    return (
        f"{name} seed {seed} ({len(curve.truth.table):,} pairs): {reached}; "
        f"{last.agreement:.4f} after {last.executions}, {_described(last.inference)}; "
        f"worst after {worst.executions}: {_described(worst.inference)}"
    )


def measure_audit(name: str, seed: int, most: int = EXECUTIONS) -> str:
    """Describe the audit's statement, and what is true."""
    problem = load_problem(name)
    assert problem.truth is not None
    run = assess(problem, seed=seed, budget=Budget(executions=most))
    described = f"{name} seed {seed}: {run.usage.executions:,} executions, {run.stop_reason}"
    audit = run.audit
    if audit is None:
        return f"{described}; no audit was begun"
    rate = surprise_rate(
        run.model,
        problem.truth.outcomes,
        run.model.capabilities,
        problem.truth.reachable_states()[0],
        audit.length,
    )
    found = sure_inferences(run.model, likely_truth(problem))
    return (
        f"{described}; round {audit.round}, at most {audit.bound:.4f} claimed, "
        f"{rate:.4f} is true; {_described(found)}"
    )


def measure_depot(seed: int, checkpoints: Sequence[int] = CHECKPOINTS) -> list[str]:
    """Describe how right inference is on depot after some numbers of executions."""
    problem = load_problem("depot")
    truth = likely_truth(problem)
    lines: list[str] = []

    def listen(event: Event) -> None:
        executions = event.usage.executions
        if len(lines) < len(checkpoints) and executions >= checkpoints[len(lines)]:
            found = sure_inferences(LearnedModel.fitted(event.graph, seed), truth)
            lines.append(f"depot seed {seed}, {executions:,} executions: {_described(found)}")

    budget = Budget(executions=checkpoints[-1])
    assess(problem, seed=seed, settings=Settings(audit=0.0), budget=budget, listener=listen)
    return lines


def main() -> None:
    seeds = range(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
    for name in GENERATED:
        for seed in seeds:
            print(measure_learning(name, seed), flush=True)
            print(measure_audit(name, seed), flush=True)
    for seed in seeds:
        for line in measure_depot(seed):
            print(line, flush=True)


if __name__ == "__main__":
    main()
