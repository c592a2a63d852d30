"""Rows of results: measured in parts, kept, and combined."""

from dataclasses import replace
from functools import partial

import pytest

from capscope import Budget
from capscope.errors import CapscopeError
from capscope_experiments import results
from capscope_experiments.baselines.aalpy import PeerSettings
from capscope_experiments.curve import CONSTANT
from capscope_experiments.plan import BenchCase, case_for
from capscope_experiments.result_rows import in_plan_order, machines_text, read_rows, write_rows
from capscope_experiments.results import SUITES, run_suite
from capscope_experiments.suites import choice, efficiency, peers, speed
from capscope_experiments.suites.reachability import RouteCounts, measure_reachability
from support.tiny_bench import tiny_bench

NAMES = ("adaptive", "mcqs-s", "random")
VARIANTS = ("mcqs-s, --paper", "random, --draws 1", "uniform")
CASES = {
    name: BenchCase(name, NAMES, dict.fromkeys(NAMES, budget), sequences=20, variants=VARIANTS)
    for name, budget in (
        ("tireworld", Budget(executions=60)),
        ("blocksworld", Budget(simulator_steps=60)),
    )
}


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """A bench of two problems, one of them with a budget of steps."""
    folder = tmp_path_factory.mktemp("bench")
    return tiny_bench(folder, cases=tuple(CASES.values()))


@pytest.fixture(scope="module", autouse=True)
def small():
    """Make the experiments small."""
    few = partial(measure_reachability, counts=RouteCounts(2, 2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(results, "SUITES", {**SUITES, "reachability": few})
        patch.setattr(speed, "PROBLEM", "tireworld")
        patch.setattr(choice, "EXECUTIONS", (20, 40))
        patch.setattr(
            peers,
            "PeerSettings",
            partial(PeerSettings, max_executions=400, traces=20),
        )
        yield


def run_parts(suite, bench, folder, *parts):
    """Measure one part after the other into a folder; return the files it has then."""
    for number, part in enumerate(parts):
        own = replace(bench, output=folder, keep=True, **part)
        own = replace(own, cases=tuple(case_for(suite, case) for case in own.cases))
        run_suite(suite, own, f"capscope bench {suite} part {number}")
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def without_commands(files):
    """Return what files have in common if they were made by other commands."""
    sections = {n: c.partition(b"```\n\n")[2] for n, c in files.items() if n.endswith(".md")}
    kept = {n: c for n, c in files.items() if not n.endswith(("-commands.csv", ".md"))}
    return {**kept, **sections}


@pytest.mark.parametrize("suite", [name for name in SUITES if name != "speed"])
def test_problems_measured_one_after_the_other_give_what_both_at_once_give(suite, bench, tmp_path):
    tires, blocks = ({"cases": (CASES[name],)} for name in CASES)
    whole = run_parts(suite, bench, tmp_path / "whole", {})
    parts = run_parts(suite, bench, tmp_path / "parts", tires, blocks)
    assert without_commands(parts) == without_commands(whole)


@pytest.mark.parametrize("suite", SUITES)
def test_a_section_is_made_again_from_its_csv_files_alone(suite, bench, tmp_path):
    whole = run_parts(suite, bench, tmp_path / "whole", {"cases": (CASES["tireworld"],)})
    (tmp_path / "again").mkdir()
    for name, content in whole.items():
        if name.endswith(".csv"):
            (tmp_path / "again" / name).write_bytes(content)
    assert run_parts(suite, bench, tmp_path / "again", {"cases": ()}) == whole


def test_strategies_that_are_named_replace_only_their_own_rows(bench, tmp_path, monkeypatch):
    for draw in ("draw_curves", "draw_paper_figure"):
        monkeypatch.setattr(efficiency, draw, lambda *given: ())
    cases = tuple(replace(c, strategies=("mcqs-s",), variants=()) for c in CASES.values())
    named = {"cases": cases}
    whole = run_parts("efficiency", bench, tmp_path / "whole", {})
    parts = run_parts("efficiency", bench, tmp_path / "parts", {}, named)
    assert without_commands(parts) == without_commands(whole)
    fewer = {**named, "seeds": (0,)}
    run_parts("efficiency", bench, tmp_path / "parts", fewer)
    seeds = {}
    for row in read_rows(tmp_path / "parts" / "efficiency-runs.csv"):
        seeds.setdefault(row["strategy"], set()).add(row["seed"])
    one, two = {"0"}, {"0", "1"}
    kept = dict.fromkeys(("adaptive", "random", *VARIANTS), two)
    assert seeds == {**kept, "mcqs-s": one, CONSTANT: one}


def test_without_the_option_only_what_is_measured_remains(bench, tmp_path):
    whole = replace(bench, output=tmp_path / "results")
    run_suite("agreement", whole, "capscope bench agreement")
    some = replace(whole, cases=bench.cases[:1])
    section = run_suite("agreement", some, "capscope bench agreement --problem tireworld")
    assert "blocksworld" not in section.body
    assert section.body.startswith("```\ncapscope bench agreement --problem tireworld\n```")


def sections(bench, folder, *given):
    """Return the section after each measurement of some problems, or of strategies of them."""
    for number, part in enumerate(given):
        own = replace(bench, output=folder, keep=True, **part)
        yield run_suite("agreement", own, f"bench {number}").body


def test_a_section_names_the_commands_of_the_rows_that_it_has_newest_last(bench, tmp_path):
    tires, blocks = ({"cases": (CASES[name],)} for name in CASES)
    first, both, newest, none = sections(
        bench, tmp_path / "kept", tires, blocks, tires, {"cases": ()}
    )
    assert first.startswith("```\nbench 0\n```")
    assert both.startswith("```\nbench 0\nbench 1\n```")
    assert newest.startswith("```\nbench 1\nbench 2\n```")
    assert none == newest


def origins(*rows):
    heads = ("problem", "strategy", "measured")
    return [dict(zip(heads, row, strict=True)) for row in rows]


OLD, NEW = (f"Measured on a Z80; 1 at a time; capscope {n}. Seeds 0. Settings: x." for n in "12")


def test_rows_that_were_measured_alike_share_a_line_with_seeds_and_settings():
    assert machines_text(origins(("a", "s", NEW), ("b", "s", NEW))) == f"*{NEW}*"


def test_rows_of_another_version_are_named_with_their_strategies_if_others_differ():
    rows = [("a", "s", OLD), ("b", "s", OLD), ("b", "t", NEW), ("c", "s", NEW), ("c", "t", NEW)]
    assert machines_text(origins(*rows)).split("\n\n") == [
        "*a, b (s): Measured on a Z80; capscope 1.*",
        "*All others: Measured on a Z80; capscope 2.*",
    ]


def test_rows_that_differ_in_their_seeds_only_are_not_told_apart():
    rows = origins(("a", "s", NEW), ("b", "s", NEW.replace("Seeds 0", "Seeds 0, 1")))
    assert machines_text(rows) == "*Measured on a Z80; capscope 2.*"


def test_rows_whose_commands_are_unknown_are_not_kept(bench, tmp_path):
    (tmp_path / "agreement.csv").write_text("problem,strategy,seed\ntireworld,adaptive,0\n")
    own = replace(bench, output=tmp_path, keep=True)
    with pytest.raises(CapscopeError, match=r"no agreement-commands\.csv that says which commands"):
        run_suite("agreement", own, "capscope bench agreement")


def test_a_strategy_that_an_experiment_is_not_about_leaves_nothing_to_show(bench, tmp_path):
    case = replace(CASES["tireworld"], strategies=("random",))
    own = replace(bench, output=tmp_path, cases=(case,))
    with pytest.raises(CapscopeError, match=r"there are no rows for findings\.csv"):
        run_suite("findings", own, "capscope bench findings")


def test_a_column_that_is_new_is_empty_in_kept_rows(bench, tmp_path):
    own = replace(bench, output=tmp_path, cases=bench.cases[:1], keep=True)
    (tmp_path / "some.csv").write_text("problem,old\ndepot,1\ntireworld,2\n")
    rows = write_rows(own, "some.csv", ["problem", "old", "new"], [["tireworld", 3, None]])
    assert rows == [
        {"problem": "tireworld", "old": "3", "new": ""},
        {"problem": "depot", "old": "1", "new": ""},
    ]
    assert read_rows(tmp_path / "some.csv") == rows


def test_rows_come_in_the_order_of_the_plan_and_the_registry():
    ordered = [
        ("blocksworld", "adaptive", "0"),
        ("blocksworld", "mcqs-s", "2"),
        ("blocksworld", "mcqs-s", "10"),
        ("blocksworld", "mcqs-s, --paper", "0"),
        ("blocksworld", "random", "0"),
        ("depot", "adaptive", "0"),
        ("a problem of one's own", "adaptive", "0"),
        ("another", "adaptive", "0"),
    ]
    rows = [dict(zip(("problem", "strategy", "seed"), row, strict=True)) for row in ordered]
    assert in_plan_order(reversed(rows)) == rows
    assert in_plan_order(rows) == rows


def test_a_problem_of_files_is_named_by_its_file_and_measured_again_under_that_name(tmp_path):
    bench = tiny_bench(tmp_path, cases=(BenchCase("/a/lamps-domain.pddl:/a/two-lamps.pddl"),))
    heads, source = ("problem", "strategy"), bench.cases[0].problem
    write_rows(bench, "lamps.csv", heads, [(source, "mcqs-s")])
    again = write_rows(replace(bench, keep=True), "lamps.csv", heads, [(source, "mcqs-s")])
    assert again == [{"problem": "two-lamps", "strategy": "mcqs-s"}]
