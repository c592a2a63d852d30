"""Run the benchmarks one after another and print their numbers."""

from capscope import Settings
from capscope.problems import load_problem
from capscope_experiments.benchmarks import grid, stepping, updating, waiting
from capscope_experiments.speed import measure_speed


def main() -> None:
    suites = (
        stepping.measure,
        updating.measure,
        grid.measure,
        waiting.measure,
        lambda: measure_speed(load_problem("first-responders"), Settings()),
    )
    for measure in suites:
        for name, value in measure().items():
            print(f"{name:<66} {value:12.2f}")


if __name__ == "__main__":
    main()
