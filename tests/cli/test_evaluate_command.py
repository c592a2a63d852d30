"""`capscope evaluate`: the dataset beside the runs, earlier points, interrupts and damage."""

import json
import re
from pathlib import Path

import pytest
from rich.console import Console

from capscope.cli import output

TOYS = Path(__file__).parents[1] / "support" / "toy_worlds.py"
# A board whose resets are counted in a file, and which is interrupted at the one that it is told.
PROBLEM = """
import sys
from pathlib import Path

sys.path.insert(0, {toys!r})
from support.toy_worlds import Board, board_problem

HERE = Path(__file__).parent


class Counted(Board):
    def reset(self, seed):
        counter, stop = HERE / "resets", HERE / "interrupt-at"
        resets = int(counter.read_text()) + 1 if counter.exists() else 1
        counter.write_text(str(resets))
        if stop.exists() and resets == int(stop.read_text()):
            raise KeyboardInterrupt
        return super().reset(seed)


def counted():
    return board_problem(Counted(slip=0.2))
"""


@pytest.fixture
def run(capscope, tmp_path):
    """A run of the counted board; its resets are forgotten."""
    problem = tmp_path / "counted.py"
    problem.write_text(PROBLEM.format(toys=str(TOYS.parent)))
    small = [
        "--strategy",
        "random",
        "--set",
        "draws=2",
        "--set",
        "random-length=5",
        "--set",
        "patience=3",
    ]
    done = capscope("assess", f"{problem}:counted", *small, "--run", "runs/one")
    assert done.code == 0, done.err
    forget_resets()
    return "runs/one"


def forget_resets():
    Path("resets").unlink()


def resets():
    return int(Path("resets").read_text()) if Path("resets").exists() else 0


def datasets():
    return [path.name for path in Path("runs/datasets").iterdir()]


def test_the_dataset_is_built_once_beside_the_runs(capscope, run):
    first = json.loads(capscope("evaluate", run, "--trust", "--sequences", 20, "--json").out)
    assert resets() == 20
    assert datasets() == [first["dataset"]]
    assert (
        json.loads(capscope("evaluate", run, "--trust", "--sequences", 20, "--json").out) == first
    )
    assert resets() == 20
    capscope("evaluate", run, "--trust", "--sequences", 20, "--rebuild")
    assert resets() == 40
    assert "20 sequences" in capscope("evaluate", run, "--trust", "--sequences", 20).out


def test_a_long_computation_is_announced_only_if_it_is_made(capscope, run):
    done = capscope("evaluate", run, "--trust", "--sequences", 20)
    assert done.err.startswith("building the independent dataset: 20 random sequences of capab")
    assert "--sequences makes it smaller; you can interrupt it and continue" in done.err
    assert capscope("evaluate", run, "--trust", "--sequences", 20).err == ""
    assert (
        "dataset: 1 random sequence of"
        in capscope("evaluate", run, "--trust", "--sequences", 1).err
    )


def test_what_cannot_be_measured_says_why(capscope, run):
    out = capscope("evaluate", run, "--trust", "--sequences", 0).out
    rows = dict(re.split(r"\s{2,}", line, maxsplit=1) for line in out.splitlines() if "  " in line)
    truth = "not available: this problem has no exact truth"
    assert rows["model agreement, exact"] == rows["reachable pairs still unknown"] == truth
    missing = "not available: no sequences were asked for (--sequences)"
    assert rows["model agreement, sampled"] == missing
    assert "unknown\n" not in out


def test_a_run_directory_named_by_a_dot_has_its_datasets_beside_it_too(capscope, run, monkeypatch):
    capscope("evaluate", run, "--trust", "--sequences", 20)
    with monkeypatch.context() as elsewhere:
        elsewhere.chdir(run)
        assert capscope("evaluate", ".", "--trust", "--sequences", 20).code == 0
    assert resets() == 20


def test_an_interrupt_keeps_what_was_built_and_says_how_to_continue(capscope, run):
    Path("interrupt-at").write_text("9")
    done = capscope("evaluate", run, "--trust", "--sequences", 20)
    assert done.code == 130
    assert not done.out
    assert "sequences made so far are kept" in done.err
    done = capscope("evaluate", run, "--trust", "--sequences", 20)
    assert done.code == 0, done.err
    assert resets() == 21  # the interrupted one again


def test_a_damaged_dataset_is_one_line_and_can_be_rebuilt(capscope, run):
    capscope("evaluate", run, "--trust", "--sequences", 20)
    (Path("runs/datasets") / datasets()[0]).write_text("rubbish")
    done = capscope("evaluate", run, "--trust", "--sequences", 20)
    assert done.code == 2
    assert not done.out
    assert done.err.count("\n") == 1
    assert "--rebuild" in done.err
    assert capscope("evaluate", run, "--trust", "--sequences", 20, "--rebuild").code == 0


def test_an_earlier_point_shows_its_actual_number_of_executions(capscope, run):
    whole = json.loads(capscope("evaluate", run, "--trust", "--sequences", 20, "--json").out)
    point = ["evaluate", run, "--trust", "--sequences", 20, "--after-executions", 25]
    early = json.loads(capscope(*point, "--json").out)
    assert early["executions"] == 20
    assert early["queries"] == 2
    assert early["dataset"] == whole["dataset"]
    assert early["pairs_tried"] <= whole["pairs_tried"]
    assert re.search(r"evaluated after +20 executions", capscope(*point).out)


def test_an_earlier_point_can_be_given_in_simulator_steps(capscope, run):
    def evaluated(*point):
        done = capscope("evaluate", run, "--trust", "--sequences", 0, "--json", *point)
        return json.loads(done.out)

    whole = evaluated()
    # Discovery came first: with fewer steps than it took, there are no queries.
    nothing = evaluated("--after-steps", 0)
    assert nothing["queries"] == 0 < nothing["simulator_steps"]
    half = (nothing["simulator_steps"] + whole["simulator_steps"]) // 2
    early, late = (evaluated("--after-steps", n) for n in (half, whole["simulator_steps"] - 1))
    assert 0 < early["queries"] <= late["queries"] < whole["queries"]
    assert early["simulator_steps"] <= half
    assert evaluated("--after-steps", whole["simulator_steps"]) == whole
    both = evaluated("--after-steps", whole["simulator_steps"], "--after-executions", 25)
    assert both["executions"] == 20


def test_without_sequences_nothing_is_executed(capscope, run):
    done = capscope("evaluate", run, "--trust", "--sequences", 0, "--json")
    assert json.loads(done.out)["model_agreement_sampled"] is None
    assert resets() == 0
    assert not Path("runs/datasets").exists()


def test_progress_is_plain_lines_without_a_terminal(capscope, run, monkeypatch):
    monkeypatch.setattr(output, "_SECONDS_BETWEEN_LINES", 0.0)
    done = capscope("evaluate", run, "--trust", "--sequences", 20)
    lines = [line for line in done.err.splitlines() if "so far" not in line]
    assert lines[-1] == "independent dataset: 20 of 20 sequences"
    assert "sequences" not in capscope("evaluate", run, "--trust", "--sequences", 20).err


def test_progress_is_a_bar_on_a_terminal(capscope, run, monkeypatch):
    monkeypatch.setattr(output, "Console", lambda stderr: Console(stderr=True, force_terminal=True))
    monkeypatch.setattr(output, "_SECONDS_BETWEEN_FRAMES", 0.0)
    done = capscope("evaluate", run, "--trust", "--sequences", 20, "--json")
    assert "20/20" in done.err
    assert json.loads(done.out)["sequences"] == 20
