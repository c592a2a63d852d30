import csv
import statistics

import pytest

from capscope import load
from capscope.insight.evaluation.evaluate import Measure
from capscope_experiments.plan import BenchCase
from capscope_experiments.suites.agreement import measure_agreement
from support.markdown_rows import cells, links
from support.tiny_bench import BUDGET, section_and_jobs, tiny_bench

TIRES = BenchCase("tireworld", ("exhaustive", "random"), {"exhaustive": BUDGET}, sequences=20)


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return tiny_bench(tmp_path_factory.mktemp("bench"), cases=(TIRES,))


@pytest.fixture(scope="module")
def section(bench):
    return measure_agreement(bench)


@pytest.fixture(scope="module")
def every_run(section, bench):
    with (bench.output / "agreement.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_measure_of_every_run_is_what_evaluate_says(every_run, bench):
    assert [(row["strategy"], row["seed"]) for row in every_run] == [
        ("exhaustive", "0"),
        ("exhaustive", "1"),
    ]
    for row in every_run:
        path = bench.runs / f"{bench.planned_run(TIRES, 'exhaustive', int(row['seed'])).name}"
        plain = load(path).evaluate(Measure(20))
        filtered = load(path).evaluate(Measure(20, achieving_only=True))
        for key in ("model_agreement", "model_agreement_sampled", "calibration_error",
                    "support_right", "outcomes_foreseen", "unknown_share"):  # fmt: skip
            assert float(row[key]) == pytest.approx(plain[key])
        assert float(row["achieving"]) == pytest.approx(filtered["model_agreement"])
        assert 0 <= float(row["chance_close"]) <= 1
        assert 0 <= float(row["chance_missing"]) <= 1
        assert float(row["achieving_sampled"]) == pytest.approx(filtered["model_agreement_sampled"])


def test_the_table_has_means_over_the_seeds(section, every_run):
    row = cells(section.body, "tireworld", "exhaustive")
    assert row["seeds"] == "2"
    both = [float(run["model_agreement"]) for run in every_run if run["strategy"] == "exhaustive"]
    assert row["exact"] == f"{statistics.fmean(both):.4f}"
    assert "20 random sequences" in " ".join(section.body.split())
    assert links(section.body) == list(section.files) == ["agreement.csv"]


def test_one_dataset_serves_all_runs_and_is_built_once(section, bench):
    datasets = list((bench.runs / "datasets").iterdir())
    assert len(datasets) == 1
    before = datasets[0].stat().st_mtime_ns
    again, names = section_and_jobs(measure_agreement, bench)
    assert again == section
    assert datasets[0].stat().st_mtime_ns == before
    assert names[0] == "dataset of tireworld"
    assert names[1:] == [
        f"agreement of {bench.planned_run(TIRES, 'exhaustive', seed).name}" for seed in (0, 1)
    ]
