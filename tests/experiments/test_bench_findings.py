import csv
from pathlib import Path

import pytest

from capscope import Budget
from capscope_experiments.plan import BenchCase
from capscope_experiments.suites.findings import PooledFinding, measure_findings, pool_findings
from support.markdown_rows import links, rows
from support.tiny_bench import tiny_bench

RESULTS = Path(__file__).parents[2] / "docs" / "results"
TIRES = BenchCase("tireworld", ("adaptive",), {"adaptive": Budget(executions=500)}, sequences=20)
BLOCKS = BenchCase("blocksworld", ("adaptive",), {"adaptive": Budget(executions=30)}, sequences=20)


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return tiny_bench(tmp_path_factory.mktemp("bench"), cases=(TIRES, BLOCKS))


@pytest.fixture(scope="module")
def section(bench):
    return measure_findings(bench)


def test_each_finding_says_in_how_many_of_the_runs_it_is(section):
    told = [row for row in rows(section.body) if row["problem"] == "tireworld"]
    assert told and {row["found in"] for row in told} <= {"1 of 2", "2 of 2", "–"}


def test_a_problem_without_a_finding_says_so(section):
    told = {row["finding"] for row in rows(section.body) if row["problem"] == "blocksworld"}
    assert told == {"no sentence is supported"} or all(t.startswith("Asked for ") for t in told)


def test_all_findings_are_in_the_file(section, bench):
    with (bench.output / "findings.csv").open(encoding="utf-8", newline="") as file:
        written = list(csv.DictReader(file))
    shown = [row["finding"] for row in rows(section.body) if row["problem"] == "tireworld"]
    assert {row["finding"] for row in written} >= set(shown)
    assert links(section.body) == list(section.files) == ["findings.csv"]


def finding(sentence, strength=0.5, **changed):
    return {
        "kind": "exception", "request": "p()", "change": "q()", "when": [], "sentence": sentence,
        "rate": {"low": strength}, **changed,
    }  # fmt: skip


def test_findings_about_the_same_thing_are_pooled_and_the_most_frequent_comes_first():
    first = [finding("q at 0.9"), finding("r at 0.8", 0.9, change="r()")]
    second = [finding("q at 0.7")]
    assert pool_findings("world", [first, second]) == [
        PooledFinding("world", "exception", "q at 0.9", 0.5, 2, 2),
        PooledFinding("world", "exception", "r at 0.8", 0.9, 1, 2),
    ]
    assert pool_findings("world", [[], []]) == []


def test_no_published_sentence_is_of_a_kind_that_states_on_the_way_refuted():
    with (RESULTS / "findings.csv").open(encoding="utf-8", newline="") as file:
        published = list(csv.DictReader(file))
    assert {row["kind"] for row in published}.isdisjoint({"detour", "asymmetry"})
    assert not [row["finding"] for row in published if "not needed" in row["finding"]]
    assert {row["problem"] for row in published} >= {"minigrid-q", "overcooked-hrl", "tireworld"}


def test_no_published_sentence_about_minigrid_q_counts_a_step_to_the_key_as_a_mistake():
    # The key lies in the south-west, and no other one opens the way to the east.
    with (RESULTS / "findings.csv").open(encoding="utf-8", newline="") as file:
        told = [r["finding"] for r in csv.DictReader(file) if r["problem"] == "minigrid-q"]
    assert told
    assert not [sentence for sentence in told if "causes agent-at(south-west)" in sentence]
