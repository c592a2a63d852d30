import json

import pytest

from capscope import Budget
from capscope_experiments.plan import BenchCase
from capscope_experiments.suites.qace import QaceJob, measure_qace
from support.markdown_rows import links, rows
from support.tiny_bench import section_and_jobs, tiny_bench

TIRES = BenchCase("tireworld", ("adaptive",), {"adaptive": Budget(executions=150)}, sequences=20)


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return tiny_bench(tmp_path_factory.mktemp("bench"), cases=(TIRES,), seeds=(0,))


@pytest.fixture(scope="module")
def section(bench):
    return measure_qace(bench)


def test_the_table_has_both_compiled_variants_with_their_costs(section):
    table = list(rows(section.body))
    ways = ["compiled", "compiled further"]
    assert [(row["problem"], row["conditions"]) for row in table] == [
        ("tireworld", way) for way in ways
    ]
    for row in table:
        assert row["outcome"] in ("model learned", "no model")
        assert int(row["executions"].replace(",", "")) > 0
        assert float(row["agreement"]) > 0.5
    assert links(section.body) == list(section.files) == ["qace.csv"]


def test_what_was_learned_is_saved_and_not_learned_again(section, bench):
    again, names = section_and_jobs(measure_qace, bench)
    assert again == section
    assert sorted(names) == sorted(path.stem for path in bench.runs.glob("qace-*.json"))


def test_an_interrupted_run_continues_after_the_capabilities_it_has(section, bench):
    job = QaceJob(bench.runs, bench.planned_run(TIRES, "adaptive", 0), "compiled")
    path = bench.runs / f"{job.name}.json"
    whole = json.loads(path.read_text())
    cut = {**whole, "result": {"rows": whole["result"]["rows"][:3], "row": None}}
    path.write_text(json.dumps(cut))
    heard = []
    _, row = job(heard.append)
    assert {**row, "seconds": 0} == {**whole["result"]["row"], "seconds": 0}
    assert heard[0].startswith("4 of ")
