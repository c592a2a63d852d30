import csv

import pytest

from capscope import Budget
from capscope_experiments.plan import BenchCase
from capscope_experiments.suites.findings import PooledFinding, measure_findings, pool_findings
from support.markdown_rows import links, rows
from support.tiny_bench import tiny_bench

TIRES = BenchCase("tireworld", ("adaptive",), {"adaptive": Budget(executions=500)}, sequences=20)
BLOCKS = BenchCase("blocksworld", ("adaptive",), {"adaptive": Budget(executions=30)}, sequences=20)


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return tiny_bench(tmp_path_factory.mktemp("bench"), cases=(TIRES, BLOCKS))


@pytest.fixture(scope="module")
def section(bench):
    return measure_findings(bench)


def test_the_flat_tire_is_found_in_both_runs(section):
    told = [row for row in rows(section.body) if row["kind"] == "side effect"]
    assert any(
        "not not-flattire(), which was not needed" in row["finding"] and row["found in"] == "2 of 2"
        for row in told
    )


def test_a_problem_without_surprises_says_so(section):
    [row] = [row for row in rows(section.body) if row["problem"] == "blocksworld"]
    assert (row["finding"], row["found in"]) == ("nothing surprising", "–")


def test_all_findings_are_in_the_file(section, bench):
    with (bench.output / "findings.csv").open(encoding="utf-8", newline="") as file:
        written = list(csv.DictReader(file))
    shown = [row["finding"] for row in rows(section.body) if row["problem"] == "tireworld"]
    assert {row["finding"] for row in written} >= set(shown)
    assert links(section.body) == list(section.files) == ["findings.csv"]


def finding(sentence, strength=0.5, **changed):
    return {
        "kind": "preference", "intent": "p()", "literals": ["q()"], "sentence": sentence,
        "strength": strength, **changed,
    }  # fmt: skip


def test_findings_about_the_same_thing_are_pooled_and_the_most_frequent_comes_first():
    first = [finding("q at 0.9"), finding("r at 0.8", 0.9, literals=["r()"])]
    second = [finding("q at 0.7")]
    assert pool_findings("world", [first, second]) == [
        PooledFinding("world", "preference", "q at 0.9", 0.5, 2, 2),
        PooledFinding("world", "preference", "r at 0.8", 0.9, 1, 2),
    ]
    assert pool_findings("world", [[], []]) == []
