"""A small version of every benchmark."""

from pathlib import Path

import pytest

from capscope import Budget
from capscope_experiments.benchmarks import (
    __main__,
    diff_error_rates,
    graph_updates,
    minigrid_steps,
    pddl_steps,
    probability_accuracy,
    worker_speedup,
)
from capscope_experiments.benchmarks.diff_error_rates import CASES, DiffCase, runs_of

TOYS = Path(__file__).parents[1] / "support" / "toy_worlds.py"
IN_SMALL = {
    "pddl_steps": lambda: pddl_steps.measure(seconds=0.05),
    "graph_updates": lambda: graph_updates.measure(queries=3),
    "minigrid_steps": lambda: minigrid_steps.measure(rounds=1),
    "worker_speedup": lambda: worker_speedup.measure(draws=2, latency=0.0),
}


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(minigrid_steps, "WALK", 200)


@pytest.mark.parametrize("name", IN_SMALL)
@pytest.mark.usefixtures("small")
def test_a_speed_benchmark_gives_positive_numbers_with_a_ratio(name):
    numbers = IN_SMALL[name]()
    assert all(value > 0 for value in numbers.values())
    assert any("ratio" in measured or "times faster" in measured for measured in numbers)


def test_benchmarks_are_chosen_by_name(monkeypatch, capsys):
    assert {*IN_SMALL, "search"} == set(__main__.BENCHMARKS)
    monkeypatch.setattr(__main__, "BENCHMARKS", {"a": lambda: {"x": 1}, "b": lambda: {"y": 2000}})
    __main__.main(["b"])
    assert capsys.readouterr().out.split() == ["y", "2,000.00"]
    __main__.main([])
    assert capsys.readouterr().out.split()[::2] == ["x", "y"]
    with pytest.raises(SystemExit, match="no benchmark 'c'; choose from a, b"):
        __main__.main(["c"])


@pytest.mark.parametrize("source", probability_accuracy.PROBLEMS)
def test_the_accuracy_of_probabilities_is_measured(source):
    [line] = probability_accuracy.measure(source, 1, Budget(executions=100))
    assert "stochastic pairs" in line
    assert "100 executions" in line


def test_an_agent_is_compared_with_itself_and_with_one_that_lost_something():
    board = DiffCase(f"{TOYS}:slippery_board", 0.1, "lit(a)")
    lines = list(diff_error_rates.measure(board, ["random"], 500, 2, loss=0.85))
    assert lines[0].endswith("random against random: 0 of 1 identical pairs differ")
    assert "a loss of 0.85 is reported for 2 of 2 pairs" in lines[1]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.source.rpartition("/")[2])
def test_the_capability_to_lose_is_one_that_is_assessed(case):
    executions = 20 if case.intents else 300
    (run,) = runs_of(case, "random", executions, [0])
    assert case.lost in map(str, run.intents)
