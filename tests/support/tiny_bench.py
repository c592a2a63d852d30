"""A small bench: two problems, two seeds, a few executions."""

from dataclasses import replace

from capscope import Budget, Settings
from capscope_experiments.bench import Bench
from capscope_experiments.plan import BenchCase

SETTINGS = Settings(draws=2, iterations=10, depth=5, walks=1, walk_steps=40)
BUDGET = Budget(executions=60)
CASES = (
    BenchCase(
        "tireworld",
        ("exhaustive", "mcqs-s", "mcqs-s, --paper", "random"),
        {"exhaustive": BUDGET, "mcqs-s": BUDGET},
        sequences=20,
    ),
    BenchCase("blocksworld", ("mcqs-s", "random"), {"mcqs-s": Budget(executions=20)}, sequences=20),
)


def tiny_bench(folder, **changed):
    """Make a bench that writes to a folder and saves its runs next to it."""
    output = folder / "results"
    output.mkdir()
    bench = Bench(output, folder / "runs", CASES, (0, 1), SETTINGS, (0.02, 0.5), workers=1)
    return replace(bench, **changed)


def section_and_jobs(experiment, bench):
    """Run an experiment; return its result and the names of the jobs it started."""
    names = {}

    def show(progress):
        names.update(progress.running)

    return experiment(replace(bench, show=show)), list(names)
