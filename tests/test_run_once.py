"""Of a run, everything is computed once, and reading it changes nothing."""

from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from inspect import getmembers

import pytest

import capscope.insight.run_facts as run_facts
from capscope import Budget, Run, assess, load, resume
from capscope.journal.execution_table import ExecutionTable
from capscope.model import StateGraph
from capscope.strategy.registry import STRATEGIES
from support.board_runs import BUDGET, GIVEN, SMALL, assert_same_run, slippery


@contextmanager
def counted_calls(monkeypatch):
    """Count what is built or searched for, by name."""
    counts = Counter()

    def count(owner, name, label):
        original = getattr(owner, name)

        def counting(*given, **named):
            counts[label] += 1
            return original(*given, **named)

        patched.setattr(owner, name, counting)

    with monkeypatch.context() as patched:
        count(StateGraph, "__init__", "graph")
        count(run_facts, "find_findings", "findings")
        count(run_facts, "find_aliasing", "aliasing")
        count(run_facts, "find_drift", "drift")
        count(run_facts, "find_agent_failures", "agent failures")
        read = ExecutionTable.read

        def reading(cls, journal):
            counts["table read"] += 1
            return read(journal)

        patched.setattr(ExecutionTable, "read", classmethod(reading))
        yield counts


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("strategy", STRATEGIES.all)
def test_assessing_and_showing_a_run_computes_each_thing_once(
    strategy, kept, tmp_path, monkeypatch
):
    settings = replace(SMALL, iterations=20, depth=5)
    given = {"strategy": strategy, "settings": settings, "budget": BUDGET}
    directory = tmp_path / "run" if kept else None
    with counted_calls(monkeypatch) as counts:
        run = assess(slippery(), run=directory, **given)
        if kept:  # the report was written
            assert counts["findings"] == counts["aliasing"] == counts["agent failures"] == 1
        show_everything(run, tmp_path)
        once = ("graph", "table read", "findings", "aliasing", "drift", "agent failures")
        # The model of an adaptive run is fitted to a graph of its own, as it was before the audit.
        graphs = 2 if strategy == "adaptive" else 1
        expected = dict.fromkeys(once, 1) | {"graph": graphs}
        assert {name: counts[name] for name in once} == expected


def test_resuming_reads_the_table_before_and_after(tmp_path, monkeypatch):
    assess(slippery(), run=tmp_path / "run", budget=BUDGET, settings=SMALL)
    with counted_calls(monkeypatch) as counts:
        run = resume(tmp_path / "run", problem=slippery(), budget=Budget(executions=150))
        show_everything(run, tmp_path)
    assert counts["table read"] == 2
    assert {counts[n] for n in ("findings", "aliasing", "agent failures")} == {1}


@pytest.mark.parametrize("strategy", STRATEGIES.all)
def test_loading_and_reporting_reads_the_table_once(strategy, tmp_path, monkeypatch):
    settings = replace(SMALL, iterations=20, depth=5)
    given = {"strategy": strategy, "settings": settings, "budget": BUDGET}
    assess(slippery(), run=tmp_path / "run", **given)
    with counted_calls(monkeypatch) as counts:
        run = load(tmp_path / "run")
        run.report(tmp_path / "again.html")
        show_everything(run, tmp_path)
    if run.audit is not None:  # its model was fitted to what was known before
        counts["graph"] -= 1
    assert counts == dict.fromkeys(
        ("table read", "graph", "findings", "aliasing", "drift", "agent failures"), 1
    )


def show_everything(run, folder):
    """Look at a run in every way that writes nothing into its directory."""
    run.report(folder / "report.html")
    run.show()
    run._repr_html_()
    list(run.notes())
    for name in ("json", "prism", "csv", "dot"):
        run.export(name)
    assert run.verdict.tried == run.graph.pairs_tried


FACTS = [name for name, value in getmembers(Run) if isinstance(value, cached_property)]


def test_reading_a_run_changes_nothing(tmp_path):
    assess(slippery(), run=tmp_path / "run", budget=BUDGET, settings=SMALL)
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    run = load(tmp_path / "run")
    show_everything(run, tmp_path)
    run.explain()
    run.within(50)
    list(run.replay())
    run.diff(baseline=run)
    after = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    assert after == before
    assert_same_run(run, load(tmp_path / "run"))


def test_what_is_asked_twice_is_the_same_object(tmp_path):
    run = assess(slippery(), run=tmp_path / "run", budget=BUDGET, settings=SMALL)
    assert {"usage", "models", "verdict", "aliasing", "drift", "agent_failures"} <= set(FACTS)
    for name in FACTS:
        assert getattr(run, name) is getattr(run, name), name
    assert run.findings() is run.findings()
    assert run.executions.complete is run.executions.complete


def test_replaying_and_explaining_leave_the_graph_of_the_run_alone(tmp_path):
    run = assess(slippery(), run=tmp_path / "run", budget=BUDGET, **GIVEN)
    revisions = list(run.graph.revisions)
    for _, graph in run.replay():
        assert graph is not run.graph
    run.explain(0)
    assert run.within(10**9).graph is not run.graph
    assert run.graph.revisions == revisions


@pytest.mark.parametrize("strategy", STRATEGIES.all)
def test_showing_an_explanation_twice_gives_the_same_lines(strategy):
    settings = replace(SMALL, iterations=20, depth=5)
    run = assess(slippery(), strategy=strategy, settings=settings, budget=Budget(queries=4))
    for number in range(4):
        query = run.explain(number)
        first = list(query.lines)
        assert query.lines == first == str(query).splitlines()
        assert run.explain(number).lines == first
