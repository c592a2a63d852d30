"""`capscope bench` in a clone: its arguments, results, progress and interruption."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

import capscope_experiments.suites.speed as speed
from capscope import Budget, Settings, load
from capscope_experiments import command as bench_command
from capscope_experiments import results
from capscope_experiments.bench_runs import BenchRun
from capscope_experiments.command import progress_display
from capscope_experiments.jobs import BenchProgress
from capscope_experiments.results import SUITES
from capscope_experiments.suites.reachability import RouteCounts, measure_reachability
from support.markdown_rows import cells, links, rows
from support.processes import SECONDS, started

SETTINGS = ["--set", "draws=2", "--set", "iterations=10", "--set", "depth=5", "--set", "walks=1"]
SETTINGS += ["--set", "walk-steps=40"]
KINDS = ("png", "svg")


def tiny(suite, problem="tireworld", strategy="mcqs-s", levels="0.02,0.05", most=20):
    """Return a command line with one seed and a few executions."""
    given = ["--problem", problem, "--strategy", strategy, "--levels", levels, "--seeds", "1"]
    return ["bench", *suite.split(), *given, "--max-executions", str(most), "--workers", "1",
            "--sequences", "20", *SETTINGS]  # fmt: skip


# Mistakes.


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (["beauty"], "no suite 'beauty'; choose one of efficiency, "),
        (["efficiency", "--strategy", "mcqs-s,oracle"], "no strategy 'oracle'; choose one of"),
        (["efficiency", "--problem", "blockworld"], "no problem 'blockworld'; did you mean blocks"),
        (["--problem", "blocksworld,xyzzy"], "no problem 'xyzzy'; `capscope list` shows them."),
        (
            ["efficiency", "--levels", "0.5,high"],
            "--levels must be numbers between 0 and 1, separated by commas",
        ),
        (["efficiency", "--levels", "0.5,1.5"], "by commas, not '0.5,1.5'"),
        (["efficiency", "--levels", "0"], "by commas, not '0'"),
        (["efficiency", "--levels", ""], "by commas, not ''"),
        (["efficiency", "--levels", "nan"], "by commas, not 'nan'"),
        (["efficiency", "--set", "draws=0"], "--set draws must be at least 1, not 0"),
        (["efficiency", "--backend", "threads"], "--backend is processes or ray, not threads"),
        (["efficiency", "--address", "auto"], "--address is for --backend ray, not processes"),
        (["ablation", "--strategy", "random"], "choose mcqs-s or mcqs-e, which use it"),
        (["efficiency", "--render"], "--render measures nothing; use it without --problem"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_reported_in_one_line_before_anything_is_measured(refusal, given, line):
    if "--problem" not in given:
        given = [*given, "--problem", "tireworld"]
    assert line in refusal("bench", *given)
    assert not Path("results/runs").exists()


def test_an_output_folder_that_is_a_file_is_reported(refusal, tmp_path):
    (tmp_path / "results").write_text("mine")
    assert "cannot create the folder results: File exists" in refusal(*tiny("efficiency"))


def test_results_that_cannot_be_written_are_reported_and_the_section_is_saved(capscope):
    done = capscope(*tiny("reachability"), "--write", "nowhere/RESULTS.md", "--json")
    assert (done.code, done.out) == (2, "")
    assert "cannot write nowhere/RESULTS.md: No such file or directory" in done.err
    assert Path("results/reachability.md").exists()


# Answers.


def ends(section):
    """Return the row of the table with the ends of runs."""
    return next(row for row in rows(section) if "nothing changes" in row)


def test_a_suite_prints_its_section_and_saves_its_runs(capscope, monkeypatch):
    command = tiny("efficiency", strategy="mcqs-s,mcqs-s --paper,random")
    done = capscope(*command)
    assert (done.code, done.err) == (0, "")
    section = Path("results/efficiency.md").read_text("utf-8")
    names = ["efficiency.csv", "efficiency-runs.csv", "efficiency.png", "efficiency.svg"]
    names += [f"efficiency-paper.{kind}" for kind in KINDS]
    names += ["efficiency-commands.csv", "efficiency.md"]
    written = ", ".join(f"results/{name}" for name in names)
    assert done.out == f"{section}\nwritten: {written}\n"
    assert ends(section)["mcqs-s"].endswith("(1*)")
    assert {path.name for path in Path("results").iterdir()} == {"runs", *names}
    settings = "draws2-depth5-iterations10-walks1-walk_steps40"
    given = Settings(draws=2, depth=5, iterations=10, walks=1, walk_steps=40)
    printed = BenchRun("tireworld", "mcqs-s", 0, given.as_in_paper(), Budget()).name
    assert {path.name for path in Path("results/runs").iterdir()} == {
        "datasets", printed, f"tireworld-mcqs-s-{settings}-0", f"tireworld-random-{settings}-0",
    }  # fmt: skip
    # A run is a run.
    assert capscope("show", f"results/runs/tireworld-mcqs-s-{settings}-0").code == 0
    # The same again finds all runs made. A live display leaves standard output to the answer.
    monkeypatch.setenv("FORCE_COLOR", "1")
    again = capscope(*command)
    assert again.out == done.out
    assert "efficiency" not in again.err


def test_the_section_repeats_the_command_without_its_output_options(capscope):
    places = ["--runs=kept", "--output", "there", "--write", "ALL.md", "--json"]
    done = capscope(*tiny("reachability"), *places)
    assert (done.code, done.err) == (0, "")
    repeated = tiny("reachability")
    place = repeated.index("--workers")
    del repeated[place : place + 2]
    command = f"```\n{shlex.join(['capscope', *repeated])}\n```"
    assert command in Path("there/reachability.md").read_text("utf-8")
    assert "](there/reachability.md)" in Path("ALL.md").read_text("utf-8")
    assert Path("kept").is_dir()


def test_problems_measured_one_by_one_are_kept_and_rendered_without_measuring(capscope):
    for problem in ("tireworld", "blocksworld"):
        done = capscope(*tiny("reachability", problem=problem), "--keep")
        assert done.code == 0, done.err
    section = Path("results/reachability.md")
    text = section.read_text("utf-8")
    assert all(cells(text, problem, "mcqs-s") for problem in ("tireworld", "blocksworld"))
    commands = text.split("```")[1].strip().splitlines()
    assert [shlex.split(line)[4] for line in commands] == ["tireworld", "blocksworld"]
    assert "--keep" not in text
    section.unlink()
    done = capscope("bench", "--render", "--write", "ALL.md")
    assert (done.code, section.read_text("utf-8")) == (0, text)
    assert "](results/reachability.md)" in Path("ALL.md").read_text("utf-8")


def test_there_is_nothing_to_render_before_something_was_measured(refusal):
    assert "results has no rows of any suite; measure something first" in refusal(
        "bench", "--render"
    )


def test_json_is_one_object_that_names_the_files(capscope):
    done = capscope(*tiny("reachability"), "--json", "--write", "RESULTS.md")
    assert done.out.count("\n") == 1
    kinds = (".csv", "-commands.csv", ".md")
    names = [*(f"results/reachability{kind}" for kind in kinds), "RESULTS.md"]
    assert json.loads(done.out) == {"suite": "reachability", "written": names}
    assert all(Path(name).is_file() for name in names)


def test_all_suites_share_their_runs_and_are_combined_in_one_file(capscope, monkeypatch):
    named = {name: SUITES[name] for name in ("efficiency", "ablation", "speed")}
    named["reachability"] = partial(measure_reachability, counts=RouteCounts(2, 2))
    for module in (results, bench_command):
        monkeypatch.setattr(module, "SUITES", named)
    monkeypatch.setattr(speed, "PROBLEM", "tireworld")
    done = capscope(*tiny("", strategy="mcqs-s,random"), "--write", "docs.md")
    assert done.code == 0, done.err
    text = Path("docs.md").read_text("utf-8")
    pages = re.findall(r"\]\((\S+\.md)\)", text)
    assert pages == [f"results/{name}.md" for name in named]
    assert links(text)
    assert all(Path(link).is_file() for link in [*links(text), *pages])
    for name in named:
        page = Path(f"results/{name}.md").read_text("utf-8")
        assert f"```\ncapscope bench {name} --problem tireworld" in page
        assert page in done.out
    made = [path.name for path in Path("results/runs").iterdir()]
    # mcqs-s, with and without the bonus; random; and the evaluation data
    assert len(made) == 4


def test_a_variant_is_measured_by_name_and_kept_beside_its_strategy(capscope):
    assert capscope(*tiny("efficiency", strategy="mcqs-s")).code == 0
    done = capscope(*tiny("efficiency", strategy="mcqs-s --paper,random --draws 1"), "--keep")
    assert done.code == 0, done.err
    for label in ("mcqs-s", "mcqs-s, --paper", "random, --draws 1"):
        assert ends(done.out)[label].endswith(("(1)", "(1*)"))
    origins = Path("results/efficiency-commands.csv").read_text("utf-8")
    assert "'mcqs-s --paper,random --draws 1'" in origins


def test_a_problem_of_a_python_file_is_trusted_because_it_was_named(capscope, tmp_path):
    (tmp_path / "mine.py").write_text(WORLD.format(10**9, "pass"))
    done = capscope(*tiny("agreement", problem="mine.py:make"))
    assert done.code == 0, done.err


def test_what_is_named_twice_is_measured_once(capscope):
    twice = ["--problem", "tireworld", "--strategy", "mcqs-s,mcqs-s"]
    done = capscope(*tiny("reachability"), *twice)
    assert done.code == 0, done.err
    assert cells(done.out, "tireworld", "mcqs-s")["sequences (runs)"].endswith("(1)")


def test_random_query_alone_keeps_to_the_budget_of_the_command_line(capscope):
    done = capscope(*tiny("efficiency", strategy="random", levels="0.99"))
    assert done.code == 0, done.err
    assert ends(done.out)["random"].endswith("(1*)")
    assert "Executions to 0.99" not in done.out


def test_a_budget_that_discovery_spends_is_a_result_too(capscope):
    done = capscope(*tiny("reachability", problem="blocksworld"), "--max-steps", "20")
    assert done.code == 0, done.err
    assert cells(done.out, "blocksworld", "mcqs-s")["consistent"] == "none offered"
    last = Path("results/reachability.csv").read_text("utf-8").splitlines()[-1]
    assert last == "blocksworld,mcqs-s,0,0,,,,limited doubt"


# Progress.


def test_progress_goes_to_standard_error_in_plain_lines(capscope, monkeypatch):
    monkeypatch.setattr("capscope_experiments.command._SECONDS_BETWEEN_LINES", 0)
    done = capscope(*tiny("reachability"), "--json")
    json.loads(done.out)
    lines = done.err.splitlines()
    assert lines[0].startswith("0 of 1 done; reachability of tireworld")
    assert any(line.endswith(": 20 executions") for line in lines)
    assert lines[-1].startswith("0 of 1 done; reachability of tireworld-mcqs-s-")
    assert "\x1b" not in done.err


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, ""),
        (7.4, ", about 7 s left"),
        (90, ", about 2 min left"),
        (9000, ", about 2.5 h left"),
    ],
)
def test_the_time_left_is_shown_once_it_is_known(capsys, monkeypatch, seconds, text):
    monkeypatch.setattr("capscope_experiments.command._SECONDS_BETWEEN_LINES", 0)
    with progress_display() as show:
        show(BenchProgress(2, 9, {"a": "7 executions", "b": "started"}, seconds))
    assert capsys.readouterr().err == f"2 of 9 done{text}; a: 7 executions; b: started\n"


# Ctrl-C.

WORLD = """
import os, signal
from pathlib import Path
from capscope.problems import load_problem

def make():
    problem = load_problem("blocksworld")
    simulator, left = problem.simulator, {}
    class Counted:
        def __getattr__(self, name):
            return getattr(simulator, name)
        def step(self, action):
            nonlocal left
            # Not while the evaluation data are made, before there is a run.
            left -= any(Path("results/runs").glob("*/journal.sqlite"))
            if left == 0:
                {}
            return simulator.step(action)
    object.__setattr__(problem, "simulator", Counted())
    return problem
"""


def test_ctrl_c_has_its_exit_code_and_the_same_command_continues(capscope, tmp_path):
    command = tiny("reachability", problem="mine.py:make")
    mine = tmp_path / "mine.py"
    # The 47th step comes after discovery and the first draw.
    mine.write_text(WORLD.format(47, "os.kill(os.getpid(), signal.SIGINT)"))
    done = capscope(*command)
    assert (done.code, done.out) == (130, "")
    assert done.err == "interrupted; all runs are saved, repeat the command to continue\n"
    run = next(Path("results/runs").glob("*/journal.sqlite")).parent
    begun = load(run).usage
    assert 0 < begun.executions < 20
    mine.write_text(WORLD.format(10**9, "pass"))
    done = capscope(*command)
    assert done.code == 0, done.err
    assert load(run).usage.executions == 20


def test_ctrl_c_in_a_terminal_ends_the_processes_of_the_runs_too(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    act = f"open({str(tmp_path / 'fifo')!r}, 'w').write(str(os.getpid())); signal.pause()"
    (tmp_path / "mine.py").write_text(WORLD.format(42, act))
    script = "from capscope.cli import main; main()"
    given = ["bench", "efficiency", "--problem", "mine.py:make", "--strategy", "mcqs-s"]
    given += ["--seeds", "1", "--workers", "2", "--sequences", "20", *SETTINGS]
    with started(
        [sys.executable, "-c", script, *given],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as bench:  # fmt: skip
        worker = int((tmp_path / "fifo").read_text())
        os.killpg(bench.pid, signal.SIGINT)  # as a terminal does
        out, err = bench.communicate(timeout=SECONDS)
        with pytest.raises(ProcessLookupError):
            os.kill(worker, 0)
    assert (bench.returncode, out) == (130, "")
    # A slow machine shows progress before.
    assert err.endswith("interrupted; all runs are saved, repeat the command to continue\n")
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)
