"""The public API: a run, live or loaded, and what can be asked of it."""

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

import capscope
from capscope import Budget, CapscopeError, Run, Usage, assess, load, resume
from capscope.errors import RunError
from capscope.journal.run_meta import StopKind, StopReason
from capscope.strategy.registry import STRATEGIES
from support import toy_worlds
from support.board_runs import (
    BUDGET,
    GIVEN,
    SMALL,
    assert_same_graph,
    assert_same_run,
    slippery,
    without_seconds,
)
from support.toy_worlds import Scripted, board_problem


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
    assert kept.model.families == passing.model.families
    assert [*kept.graph.nodes] == [*passing.graph.nodes]


def test_a_file_named_from_one_directory_is_found_from_another(tmp_path, monkeypatch):
    monkeypatch.chdir(Path(toy_worlds.__file__).parent)
    budget = Budget(queries=1)
    assess("toy_worlds.py:slippery_board", run=tmp_path / "run", budget=budget, **GIVEN)
    monkeypatch.chdir(tmp_path)
    assert resume("run", budget=Budget(queries=2), trust=True).usage.queries == 2


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
