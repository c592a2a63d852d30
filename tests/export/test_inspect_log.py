"""Runs as eval logs; inspect_ai reads them back where it is installed."""

import json
from pathlib import Path

import pytest

import capscope
from capscope import Budget

EXAMPLE = f"{Path(__file__).parents[2] / 'examples' / 'mail_tools.py'}:problem"


@pytest.fixture(scope="module")
def run():
    pytest.importorskip("pydantic")
    return capscope.assess(EXAMPLE, seed=2, budget=Budget(executions=60))


def test_each_execution_is_a_sample_with_its_score_and_side_effects(run):
    log = json.loads(run.export("inspect"))
    samples = log["samples"]
    assert len(samples) == run.usage.executions == log["results"]["total_samples"]
    assert len({(s["id"], s["epoch"]) for s in samples}) == len(samples)
    odd = [s for s in samples if s["metadata"]["side_effects"]]
    assert odd and all("deleted(" in str(s["metadata"]["side_effects"]) for s in odd)
    assert all(s["scores"]["intent held"]["value"] == "C" for s in odd)
    held = sum(s["scores"]["intent held"]["value"] == "C" for s in samples)
    (score,) = log["results"]["scores"]
    assert score["metrics"]["accuracy"]["value"] == held / len(samples)
    assert "→ archive(" in json.dumps(samples, ensure_ascii=False)


def test_inspect_reads_the_log(run, tmp_path):
    inspect_log = pytest.importorskip("inspect_ai.log")
    path = tmp_path / "2026-05-01T12-00-00+00-00_mail_run.json"
    path.write_text(run.export("inspect"))
    log = inspect_log.read_eval_log(str(path))
    assert log.status == "success" and len(log.samples) == 60
    assert log.samples[0].scores["intent held"].value in ("C", "I")
    assert [info.name for info in inspect_log.list_eval_logs(str(tmp_path))]
