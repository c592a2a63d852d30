"""A run that is not kept lives as long as its object."""

import gc
import json
import tempfile
import warnings
from dataclasses import replace

import pytest

from capscope import Budget, CapscopeError, Settings, assess
from capscope.export import FORMATS
from capscope.insight import aliasing
from capscope.insight.evaluation.evaluate import Measure
from support import toy_worlds
from support.board_runs import BUDGET, GIVEN, SMALL, slippery
from support.toy_worlds import Board, board_problem


def temporary_directories(folder):
    return [path for path in folder.iterdir() if path.name.startswith("capscope-")]


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A folder for temporary directories."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_a_run_that_is_not_kept_disappears_with_its_object(temporary):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = assess(board_problem(), **GIVEN)
        assert temporary_directories(temporary) == [run.path]
        assert (run.path / "journal.sqlite").exists()
        assert not (run.path / "report.html").exists()
        del run
        gc.collect()
    assert list(temporary.iterdir()) == []


def test_a_run_that_fails_leaves_no_temporary_directory(temporary):
    class Stuck(Board):
        def reset(self, seed):
            raise OSError("no power")

    with pytest.raises(CapscopeError, match="no power") as failed:
        assess(board_problem(Stuck()), **GIVEN)
    del failed
    gc.collect()
    assert list(temporary.iterdir()) == []


def test_a_run_that_is_not_kept_can_do_everything(temporary, tmp_path):
    run = assess(slippery(), budget=BUDGET, settings=SMALL)
    other = assess(slippery(), budget=BUDGET, settings=SMALL, seed=1, run=tmp_path / "other")
    assert run.report(tmp_path / "report.html") == tmp_path / "report.html"
    assert "<html" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert run.report().is_relative_to(run.path)
    assert json.loads(run.export("json"))["problem"] == "board"
    for name in FORMATS.all:
        if name != "parquet":
            assert run.export(name)
    run.export("csv", to=tmp_path / "tables")
    assert (tmp_path / "tables" / "queries.csv").exists()
    for one, two in ((run, other), (other, run), (run, run)):
        assert one.diff(baseline=two).b["executions"] == one.usage.executions
    assert run.diff(baseline=tmp_path / "other").a["run"] == str(tmp_path / "other")
    assert run.explain(0).lines
    assert run.within(50).usage.executions <= 50
    assert run.evaluate(Measure(sequences=5), problem=slippery())["sequences"] == 5
    assert temporary_directories(temporary) == [run.path] == list(temporary.iterdir())


def test_a_run_that_is_not_kept_can_be_resumed(temporary, tmp_path):
    settings = replace(SMALL, epsilon=0.05)
    whole = assess(slippery(), settings=settings, budget=BUDGET, run=tmp_path / "whole")
    run = assess(slippery(), settings=settings, budget=Budget(executions=50))
    resumed = run.resume(problem=slippery(), budget=BUDGET)
    assert resumed.path == run.path
    assert not resumed.kept
    assert run.usage.executions == 50
    assert resumed.usage.executions == whole.usage.executions == 120
    path = run.path
    del run
    gc.collect()
    assert path.exists()  # the resumed run needs it
    assert list(resumed.notes()) == []
    assert resumed.explain(0).lines
    del resumed
    gc.collect()
    assert not path.exists()


def test_part_of_a_run_that_is_not_kept_keeps_its_directory(temporary):
    part = assess(slippery(), budget=BUDGET, **GIVEN).within(60)
    gc.collect()
    assert part.path.exists()
    assert part.explain().lines
    del part
    gc.collect()
    assert list(temporary.iterdir()) == []


def test_aliasing_is_found_in_a_run_that_is_not_kept():
    run = assess(board_problem(toy_worlds.BoardLaidOutAnew()), settings=Settings(resets=5))
    assert isinstance(run.aliasing, aliasing.Aliasing)
    assert run.aliasing.aliased_pairs
