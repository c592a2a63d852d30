"""How long queries take; ratios inside one run, since machines are noisy."""

from __future__ import annotations

from capscope.problems import load_problem
from capscope_experiments.speed import measure_speed
from capscope_experiments.suite import Bench, Section
from capscope_experiments.table import markdown_table, write_csv

_PROBLEM = "first-responders"
_TEXT = f"""
Medians over many starts on {_PROBLEM} with all iterations of every search (discount 1; with default
settings most searches end much sooner, having found the best there is). The ratios are of times
taken in turn, so that a slow moment of the machine hits both sides.
"""


def speed(bench: Bench) -> Section:
    """Measure the time of queries on half-known models, and how it grows with what was seen."""
    numbers = measure_speed(load_problem(_PROBLEM), bench.settings)
    write_csv(bench.output / "speed.csv", ["measured", "value"], list(numbers.items()))
    rows = [[name, f"{value:.3f}"] for name, value in numbers.items()]
    body = f"{_TEXT.strip()}\n\n{markdown_table(['measured', ''], rows)}"
    return Section("Speed of the search", body, ("speed.csv",))
