import json
import re

import pytest

from capscope import Budget, assess
from support.quirky_worlds import HOUSE, STOP, problem, true


def gives_up(intent, state, rng, step):
    return STOP if str(intent) == "open()" else None


def opens_first(intent, state, rng, step):
    """Open the closed door before going for the key."""
    closed = not true(state, "open()", HOUSE)
    return "open" if str(intent) == "holding(key)" and closed and step == 1 else None


def opens_sometimes(intent, state, rng, step):
    """Open the closed door on the way in three of ten executions."""
    aside = str(intent).startswith(("at", "holding")) and not true(state, "open()", HOUSE)
    return "open" if aside and step == 1 and rng.random() < 0.3 else None


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for seed, (name, quirk) in enumerate(
        {"a": None, "same": None, "lost": gives_up, "careless": opens_first}.items()
    ):
        assess(
            problem(HOUSE, quirk), strategy="exhaustive", budget=Budget(executions=500),
            seed=seed, run=folder / name,
        )  # fmt: skip
    return folder


def test_a_difference_is_printed_and_is_not_a_failure_by_default(capscope, runs):
    done = capscope("diff", runs / "a", runs / "lost")
    assert done.code == 0
    assert "lost\n  open(), everywhere" in done.out
    assert done.err == ""


def test_a_loss_exits_with_one_if_asked_for(capscope, runs):
    assert capscope("diff", runs / "a", runs / "lost", "--fail-on-loss").code == 1
    assert capscope("diff", runs / "a", runs / "same", "--fail-on-loss").code == 0
    assert capscope("diff", runs / "lost", runs / "a", "--fail-on-loss").code == 0


def test_a_new_side_effect_exits_with_one_if_asked_for(capscope, runs):
    assert capscope("diff", runs / "a", runs / "careless", "--fail-on-side-effects").code == 1
    assert capscope("diff", runs / "careless", runs / "a", "--fail-on-side-effects").code == 0


@pytest.fixture(scope="module")
def short_runs(tmp_path_factory):
    """Runs too short for a difference in side effects that the test supports."""
    folder = tmp_path_factory.mktemp("short")
    for seed, (name, quirk) in enumerate(
        {"old": None, "same": None, "new": opens_sometimes}.items()
    ):
        assess(
            problem(HOUSE, quirk, temporal_length=None), strategy="exhaustive",
            budget=Budget(executions=300), seed=seed, run=folder / name,
        )  # fmt: skip
    return folder


def test_a_side_effect_that_show_prints_of_b_alone_is_suspected_and_fails_the_gate(
    capscope, short_runs, tmp_path
):
    old, new = short_runs / "old", short_runs / "new"
    assert "the agent also caused open()" in capscope("show", new, "--findings").out
    assert "open()" not in capscope("show", old, "--findings").out
    page = tmp_path / "diff.html"
    done = capscope("diff", old, new, "--fail-on-side-effects", "--html", page)
    assert done.code == 1
    text = " ".join(done.out.split())
    assert re.search(r"new changes? beyond the request suspected; no other difference", text)
    assert "new beyond the request (suspected): B did this and A never did" in text
    lines = re.findall(
        r"asked for at\(x\), also open\(\): B: (\d+) of \d+ executions.*?; A: 0 of", text
    )
    found = json.loads(capscope("diff", old, new, "--json").out)["new_changes"]
    (entry,) = (one for one in found if one["change"]["request"] == "at(x)")
    assert [int(number) for number in lines] == [entry["change"]["executions"]]
    assert entry["suspected"] and entry["possible_a"] > 20
    assert "New beyond the request" in (html := page.read_text(encoding="utf-8"))
    assert "asked for at(x), also open(): B: " in html


def test_identical_agents_pass_the_gate(capscope, short_runs):
    runs = short_runs / "old", short_runs / "same"
    assert capscope("diff", *runs, "--fail-on-side-effects").code == 0
    assert "(suspected)" not in capscope("diff", *runs).out


def test_a_table_of_runs_names_what_is_suspected_of_the_last(capscope, short_runs):
    runs = [short_runs / name for name in ("old", "same", "new")]
    done = capscope("diff", *runs, "--fail-on-side-effects")
    assert done.code == 1
    assert "new beyond the request (suspected): asked for at(x), also open()" in done.out


def test_json_has_the_numbers_of_both_runs_and_names_the_test(capscope, runs):
    done = capscope("diff", runs / "a", runs / "lost", "--json", "--error-rate", "0.01")
    assert done.out.count("\n") == 1
    found = json.loads(done.out)
    assert found["format"] == 3
    assert found["error_rate"] == 0.01
    assert "betting scores" in found["test"]
    assert found["a"]["run"] == str(runs / "a")
    (loss,) = found["differences"]
    assert (loss["change"], loss["capability"]) == ("lost", "open()")
    assert loss["b"]["hits"] == 0 < loss["a"]["hits"] == loss["a"]["executions"]
    assert loss["adjusted_p"] < 0.01
    assert sum(row["hits_a"] for row in loss["counts"]) == loss["a"]["hits"]
    assert {row["capability"] for row in found["unchanged"]} >= {"at(sw)", "holding(key)"}


def test_a_page_is_written_to_the_given_file(capscope, runs, tmp_path):
    done = capscope("diff", runs / "a", runs / "lost", "--html", "diff.html")
    assert done.out.endswith("written: diff.html\n")
    page = (tmp_path / "diff.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>") and "open(), everywhere" in page
    assert '<article class="card harm" id="difference-0">' in page
    assert '<ol class="way">' in page and "the beginning</span>" in page


def test_runs_of_different_worlds_are_refused(refusal, capscope, runs, tmp_path):
    small = ["--strategy", "random", "--max-executions", "20"]
    assert capscope("assess", "blocksworld", *small, "--run", tmp_path / "blocks").code == 0
    line = refusal("diff", runs / "a", tmp_path / "blocks")
    assert "no atom in common" in line


def test_a_path_that_is_not_a_run_is_refused(refusal, runs):
    assert "no run directory nowhere" in refusal("diff", runs / "a", "nowhere")
    assert "between 0 and 1" in refusal("diff", runs / "a", runs / "a", "--error-rate", "2")


def test_a_gate_fails_if_no_comparison_was_possible(refusal, capscope, runs, tmp_path):
    assess(problem(HOUSE), budget=Budget(executions=2), run=tmp_path / "short")
    assert capscope("diff", runs / "a", tmp_path / "short").code == 0
    line = refusal("diff", runs / "a", tmp_path / "short", "--fail-on-loss")
    assert "no comparison was possible" in line


def test_several_runs_are_a_table_and_the_exit_code_is_about_the_last_against_the_first(
    capscope, runs, tmp_path
):
    back = [runs / name for name in ("a", "lost", "same")]
    done = capscope("diff", *back, "--fail-on-loss")
    assert done.code == 0
    assert "capability" in done.out and "C against A" in done.out
    (line,) = (line for line in done.out.splitlines() if line.startswith("open()"))
    assert "▼" in line and "▲" in line
    page = tmp_path / "table.html"
    gone = [runs / name for name in ("a", "same", "lost")]
    done = capscope("diff", *gone, "--fail-on-loss", "--json", "--html", page)
    assert done.code == 1
    found = json.loads(done.out)
    assert found["rows"][0]["overall"] == ["lost"]
    assert "Comparison of 3 runs" in page.read_text(encoding="utf-8")


def test_one_run_is_not_enough(capscope, runs):
    done = capscope("diff", runs / "a")
    assert done.code == 2
    assert "at least two run directories" in done.err
