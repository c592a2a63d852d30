"""The public API: a run, live or loaded, and what can be asked of it."""

import gc
import json
import tempfile
import warnings
from collections import Counter
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest

import capscope
import capscope.run as run_module
from capscope import Budget, CapscopeError, Run, Settings, Usage, assess, load, resume
from capscope.analysis import aliasing
from capscope.analysis.evaluation.evaluate import Measure
from capscope.errors import RunError
from capscope.export.formats import FORMATS
from capscope.model import StateGraph
from capscope.record.execution_table import ExecutionTable, ExecutionTableBuilder
from capscope.record.stop_reason import StopKind, StopReason
from capscope.strategy.evidence import Evidence
from capscope.strategy.registry import STRATEGIES
from support import toy_worlds
from support.toy_worlds import Board, Scripted, board_problem

SMALL = Settings(draws=3, random_length=6, walks=2, walk_steps=10, patience=3)
GIVEN = {"strategy": "random", "settings": SMALL}
BUDGET = Budget(executions=120)


def slippery(**parts):
    return board_problem(Board(slip=0.3), **parts)


def without_seconds(usage):
    return replace(usage, seconds=0.0)


def test_everything_that_is_promised_is_there():
    for name in capscope.__all__:
        assert getattr(capscope, name) is not None


# Assess and resume.


def test_a_problem_object_is_assessed_in_one_call():
    run = assess(board_problem(), budget=Budget(executions=100), **GIVEN)
    assert isinstance(run, Run)
    assert run.usage.executions <= 100
    assert not run.kept
    intent = run.model.capabilities[0]
    assert str(intent) == "lit(a)"
    assert run.model.predict(0, intent) == {1: 1.0}
    assert run.stop_reason in (StopReason(StopKind.NO_NEWS), StopReason.budget("executions"))


def test_a_problem_of_the_package_is_assessed_by_name():
    run = assess("blocksworld", budget=Budget(executions=50), **GIVEN)
    assert run.usage.executions == 50
    assert run.graph.pairs_tried > 0


def test_a_failure_to_make_a_temporary_directory_asks_for_a_run_directory(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    message = r"cannot make a temporary directory: .*; name a run directory"
    with pytest.raises(RunError, match=message):
        assess(board_problem(), **GIVEN)


def test_an_os_error_in_an_agent_is_not_taken_for_a_full_disk():
    class Offline:
        def begin(self, intent, seed):
            raise ConnectionError("no network")

    run = assess(board_problem(agent=Offline()), **GIVEN)
    assert run.stop_reason.kind is StopKind.NO_NEWS


def test_a_kept_run_and_one_that_is_not_kept_find_the_same(tmp_path):
    kept, passing = (assess(slippery(), run=r, **GIVEN) for r in (tmp_path / "r", None))
    assert (kept.kept, passing.kept) == (True, False)
    for intent in kept.capabilities:
        assert kept.graph.rules(intent) == passing.graph.rules(intent)


def test_a_file_named_from_one_directory_is_found_from_another(tmp_path, monkeypatch):
    monkeypatch.chdir(Path(toy_worlds.__file__).parent)
    budget = Budget(queries=1)
    assess("toy_worlds.py:slippery_board", run=tmp_path / "run", budget=budget, **GIVEN)
    monkeypatch.chdir(tmp_path)
    assert resume("run", budget=Budget(queries=2)).usage.queries == 2


def test_a_problem_object_is_needed_again_to_resume_its_run(tmp_path):
    run = assess(board_problem(), run=tmp_path / "run", budget=Budget(queries=1), **GIVEN)
    for resumed in (lambda: resume(tmp_path / "run"), run.resume, load(tmp_path / "run").resume):
        with pytest.raises(CapscopeError, match="no problem 'board'"):
            resumed()
    resume(tmp_path / "run", problem=board_problem())


def test_a_listener_is_called_after_every_query(tmp_path):
    heard = []
    run = assess(board_problem(), listener=heard.append, run=tmp_path / "run", **GIVEN)
    assert [event.usage.queries for event in heard] == list(range(1, run.usage.queries + 1))
    last = heard[-1]
    assert without_seconds(last.usage) == without_seconds(run.usage)
    assert last.usage.seconds == pytest.approx(run.usage.seconds)
    assert last.states == len(run.graph.nodes)
    assert last.transitions == run.graph.distinct_transitions
    assert last.pairs_tried == run.graph.pairs_tried


def test_a_finished_run_resumes_to_the_same_result(tmp_path):
    first = assess(slippery(), run=tmp_path / "run", **GIVEN)
    heard = []
    again = resume(tmp_path / "run", problem=slippery(), listener=heard.append)
    assert heard == []
    assert_same_run(again, first)
    assert again.stop_reason == first.stop_reason == StopReason(StopKind.NO_NEWS)


# Live, loaded and resumed runs are the same.


def columns(table):
    return {field.name: getattr(table, field.name) for field in fields(table)}


def assert_same_columns(one, other):
    mine, others = columns(one), columns(other)
    assert mine.keys() == others.keys()
    for name, column in mine.items():
        if name == "queries":
            assert_same_columns(column, others[name])
        elif isinstance(column, np.ndarray):
            # Of a query that was cut, the journal has the time of its draws only.
            rows = one.finished if name == "seconds" else slice(None)
            assert column.dtype == others[name].dtype, name
            np.testing.assert_array_equal(column[rows], others[name][rows], name)
        elif name == "position_names":
            # A journal also has the starts of draws that were never made.
            number = min(len(column), len(others[name]))
            assert column[:number] == others[name][:number]
        else:
            assert list(column) == list(others[name]), name


def assert_same_graph(one, other):
    assert one.capabilities == other.capabilities
    assert set(one.nodes) == set(other.nodes)
    assert one.pairs_tried == other.pairs_tried
    assert one.distinct_transitions == other.distinct_transitions
    for intent in one.capabilities:
        assert one.rules(intent) == other.rules(intent)


def assert_same_run(one, other):
    assert one.meta == other.meta
    assert_same_columns(one.executions, other.executions)
    assert_same_graph(one.graph, other.graph)
    assert without_seconds(one.usage) == without_seconds(other.usage)
    # The evidence of a live run was summed up in another order.
    assert one.verdict.hidden == pytest.approx(other.verdict.hidden)
    assert replace(one.verdict, hidden=0.0) == replace(other.verdict, hidden=0.0)
    assert one.agent_failures == other.agent_failures
    assert one.aliasing == other.aliasing
    assert one.findings() == other.findings()
    assert list(one.notes()) == list(other.notes())


WORLDS = {
    "board": slippery,
    "failing agent": lambda: slippery(agent=Scripted("a", "zzz")),
    "several positions": lambda: board_problem(toy_worlds.BoardLaidOutAnew()),
    "long attempts": lambda: slippery(temporal_length=None, horizon=3),
}
LIMITS = {"executions": BUDGET, "steps": Budget(simulator_steps=77)}


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("strategy", STRATEGIES.all)
@pytest.mark.parametrize("limit", LIMITS)
def test_a_live_run_is_the_run_that_is_loaded(world, strategy, limit, tmp_path):
    settings = replace(SMALL, iterations=20, depth=5, batch=2, resets=3)
    given = {"strategy": strategy, "settings": settings, "budget": LIMITS[limit]}
    live = assess(WORLDS[world](), run=tmp_path / "run", **given)
    assert_same_run(load(tmp_path / "run"), live)


@pytest.mark.parametrize("strategy", STRATEGIES.all)
def test_a_run_resumed_in_parts_is_the_run_that_is_loaded(strategy, tmp_path):
    settings = replace(SMALL, iterations=20, depth=5, batch=2)
    given = {"strategy": strategy, "settings": settings, "budget": Budget(executions=23)}
    live = assess(slippery(), run=tmp_path / "run", **given)
    for executions in (24, 61, 100):
        live = live.resume(problem=slippery(), budget=Budget(executions=executions))
        assert live.usage.executions == executions
        assert_same_run(load(tmp_path / "run"), live)


def test_a_run_that_is_kept_can_be_loaded_without_its_problem(tmp_path):
    live = assess(slippery(), run=tmp_path / "run", **GIVEN)
    assert live.path == tmp_path / "run"
    loaded = load(tmp_path / "run")
    assert loaded.problem == "board"
    assert_same_run(loaded, live)
    assert loaded.first_state == 0


def test_loading_includes_a_query_that_was_cut(tmp_path):
    live = assess(slippery(), run=tmp_path / "run", budget=Budget(executions=20), **GIVEN)
    loaded = load(tmp_path / "run")
    assert loaded.usage.executions == 20
    assert not loaded.executions.queries.finished[-1]
    assert loaded.graph.pairs_tried == live.graph.pairs_tried


def test_a_run_that_went_on_with_another_budget_has_no_stop_reason_until_it_ends(tmp_path):
    assess(slippery(), run=tmp_path / "run", budget=Budget(executions=20), **GIVEN)
    during = []

    def look(event):
        during.append(load(tmp_path / "run").stop_reason)

    more = Budget(executions=50)
    run = resume(tmp_path / "run", problem=slippery(), budget=more, listener=look)
    assert set(during) == {None}
    assert run.stop_reason == load(tmp_path / "run").stop_reason == StopReason.budget("executions")


def test_a_run_that_has_asked_nothing_has_no_first_state(tmp_path):
    assess(board_problem(), run=tmp_path / "run", budget=Budget(executions=0), **GIVEN)
    with pytest.raises(RunError, match="has asked nothing yet"):
        load(tmp_path / "run").first_state  # noqa: B018


def test_the_representation_names_the_directory_and_the_problem(tmp_path):
    run = assess(slippery(), run=tmp_path / "run", budget=Budget(executions=20), **GIVEN)
    assert repr(run) == f"<capscope.Run {tmp_path / 'run'}: board, 20 executions>"


# A run at an earlier point.


@pytest.fixture
def made(tmp_path):
    """A run of several queries, with what its events said after each."""
    heard = []
    assess(
        slippery(),
        budget=Budget(executions=200),
        run=tmp_path / "run",
        listener=lambda event: heard.append((event.usage, event.pairs_tried)),
        **GIVEN,
    )
    return load(tmp_path / "run"), heard


def test_a_replay_passes_through_what_the_run_knew_after_each_query(made):
    run, heard = made
    replayed = [(usage, graph.pairs_tried) for usage, graph in run.replay()]
    assert len(replayed) > 3
    assert [(without_seconds(u), n) for u, n in replayed] == [
        (without_seconds(u), n) for u, n in heard
    ]


def test_a_replay_ends_with_the_run(made):
    run, _ = made
    *_, (usage, graph) = run.replay()
    assert without_seconds(usage) == without_seconds(run.usage)
    assert usage.seconds == pytest.approx(run.usage.seconds)
    assert_same_graph(graph, run.graph)


def test_a_run_within_a_budget_ends_with_the_last_query_that_fits(made):
    run, heard = made
    ends = [usage.executions for usage, _ in heard]
    for most in (ends[1], ends[1] + 1, ends[2] - 1):
        part = run.within(most)
        assert without_seconds(part.usage) == without_seconds(heard[1][0])
        assert part.graph.pairs_tried == heard[1][1]
        assert len(part.executions.complete) == ends[1]
    whole = (run.within(ends[-1]), run.within(10**9))
    assert {part.usage for part in whole} == {run.usage}


def test_before_the_first_query_only_discovery_was_paid_for(made):
    run, heard = made
    part = run.within(heard[0][0].executions - 1)
    assert part.usage == run.meta.discovery_usage == Usage(simulator_steps=20)
    assert not part.graph.pairs_tried
    assert part.capabilities == run.capabilities


def test_an_earlier_point_is_what_a_run_with_that_budget_ends_with(made, tmp_path):
    run, heard = made
    executions = heard[3][0].executions
    budget = Budget(executions=executions)
    shorter = assess(slippery(), run=tmp_path / "shorter", budget=budget, **GIVEN)
    part = run.within(executions)
    part_usage, usage = map(without_seconds, (part.usage, shorter.usage))
    assert part_usage == usage
    assert part.executions.transitions() == shorter.executions.transitions()
    for state, node in shorter.graph.nodes.items():
        counts = [pair and pair.counts for pair in part.graph.nodes[state].pairs]
        own = [pair and pair.counts for pair in node.pairs]
        assert counts[: len(own)] == own
        assert not any(counts[len(own) :])  # found later


# Everything is computed once, and nothing is changed.


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
        count(Evidence, "__init__", "evidence")
        count(ExecutionTableBuilder, "__init__", "builder")
        count(run_module, "find_findings", "findings")
        count(run_module, "find_aliasing", "aliasing")
        count(run_module, "find_agent_failures", "agent failures")
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
        assert counts["table read"] == 0
        once = ("graph", "evidence", "builder", "findings", "aliasing", "agent failures")
        assert {name: counts[name] for name in once} == dict.fromkeys(once, 1)


def test_resuming_reads_the_table_once(tmp_path, monkeypatch):
    assess(slippery(), run=tmp_path / "run", budget=BUDGET, settings=SMALL)
    with counted_calls(monkeypatch) as counts:
        run = resume(tmp_path / "run", problem=slippery(), budget=Budget(executions=150))
        show_everything(run, tmp_path)
    assert counts["table read"] == 1
    assert {counts[n] for n in ("graph", "evidence", "findings", "aliasing", "agent failures")} == {
        1
    }


@pytest.mark.parametrize("strategy", STRATEGIES.all)
def test_loading_and_reporting_reads_the_table_once(strategy, tmp_path, monkeypatch):
    settings = replace(SMALL, iterations=20, depth=5)
    given = {"strategy": strategy, "settings": settings, "budget": BUDGET}
    assess(slippery(), run=tmp_path / "run", **given)
    with counted_calls(monkeypatch) as counts:
        run = load(tmp_path / "run")
        run.report(tmp_path / "again.html")
        show_everything(run, tmp_path)
    assert counts.pop("builder", 0) == 0
    assert counts == dict.fromkeys(
        ("table read", "graph", "evidence", "findings", "aliasing", "agent failures"), 1
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


FACTS = [name for name, value in vars(Run).items() if isinstance(value, cached_property)]


def test_reading_a_run_changes_nothing(tmp_path):
    assess(slippery(), run=tmp_path / "run", budget=BUDGET, settings=SMALL)
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    run = load(tmp_path / "run")
    show_everything(run, tmp_path)
    run.explain()
    run.within(50)
    list(run.replay())
    run.diff(run)
    after = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    assert after == before
    assert_same_run(run, load(tmp_path / "run"))


def test_what_is_asked_twice_is_the_same_object(tmp_path):
    run = assess(slippery(), run=tmp_path / "run", budget=BUDGET, settings=SMALL)
    assert {"usage", "models", "verdict", "aliasing", "agent_failures"} <= set(FACTS)
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


# A run that is not kept.


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
        assert one.diff(two).a["executions"] == one.usage.executions
    assert run.diff(tmp_path / "other").b["run"] == str(tmp_path / "other")
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
