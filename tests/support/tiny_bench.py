"""What the experiments are tried out on: two problems, two seeds, a few executions."""

from dataclasses import replace

from capscope import Budget, Settings
from capscope_experiments.plan import Case
from capscope_experiments.suite import Bench

SETTINGS = Settings(draws=2, iterations=10, depth=5, walks=1, walk_steps=40)
BUDGET = Budget(executions=60)
CASES = (
    Case("tireworld", ("adaptive", "mcqs-s", "random"), {"adaptive": BUDGET, "mcqs-s": BUDGET}),
    Case("blocksworld", ("mcqs-s", "random"), {"mcqs-s": Budget(executions=20)}),
)


def tiny_bench(folder, **changed):
    """Make a bench that writes to a folder and keeps its runs beside it."""
    output = folder / "results"
    output.mkdir()
    bench = Bench(output, folder / "runs", CASES, (0, 1), SETTINGS, (0.02, 0.5), workers=1)
    return replace(bench, **changed)


def begun(experiment, bench):
    """Carry out an experiment; return what it found and the names of the jobs it began."""
    names = {}

    def tell(standing):
        names.update(standing.running)

    return experiment(replace(bench, tell=tell)), list(names)
