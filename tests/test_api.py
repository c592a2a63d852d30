import tempfile
from pathlib import Path

import pytest
from capscope.assessment.reading import read_run

import capscope
from capscope import Budget, CapscopeError, Settings, assess, resume
from capscope.errors import RunError
from support import toy_worlds
from support.toy_worlds import Board, board_problem

SMALL = Settings(draws=3, random_length=6, walks=2, walk_steps=10, patience=3)
GIVEN = {"strategy": "random", "settings": SMALL}


def test_everything_that_is_promised_is_there():
    for name in capscope.__all__:
        assert getattr(capscope, name) is not None


def test_a_problem_of_ones_own_is_assessed_in_one_call():
    result = assess(board_problem(), budget=Budget(executions=100), **GIVEN)
    assert result.usage.executions <= 100
    assert result.run is None
    intent = result.model.capabilities[0]
    assert str(intent) == "lit(a)"
    assert result.model.predict(0, intent) == {1: 1.0}
    assert result.stopped_because in ("no news", "budget of executions spent")


def test_a_run_that_is_not_kept_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assess(board_problem(), **GIVEN)
    assert list(tmp_path.iterdir()) == []


def test_without_room_for_a_temporary_run_a_directory_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(RunError, match=r"no room for a temporary run: .*; name a run directory"):
        assess(board_problem(), **GIVEN)


def test_an_error_of_the_operating_system_in_an_agent_is_not_taken_for_a_full_disk():
    class Offline:
        def begin(self, intent, seed):
            raise ConnectionError("no network")

    assert assess(board_problem(agent=Offline()), **GIVEN).stopped_because == "no news"


def test_a_run_that_is_kept_can_be_read_without_its_problem(tmp_path):
    result = assess(board_problem(Board(slip=0.2)), run=tmp_path / "run", **GIVEN)
    assert result.run == tmp_path / "run"
    reading = read_run(tmp_path / "run")
    assert reading.problem == "board"
    assert reading.graph.capabilities == result.graph.capabilities
    assert len(reading.dataset.states) == result.states
    assert reading.dataset.distinct == result.transitions
    for currency in ("queries", "executions", "simulator_steps", "llm_tokens"):
        assert getattr(reading.usage, currency) == getattr(result.usage, currency)
    for intent in result.graph.capabilities:
        assert reading.graph.rules(intent) == result.graph.rules(intent)


def test_reading_takes_in_a_query_that_was_cut(tmp_path):
    budget = Budget(executions=20)
    result = assess(board_problem(Board(0.2)), run=tmp_path / "run", budget=budget, **GIVEN)
    reading = read_run(tmp_path / "run")
    assert reading.usage.executions == 20
    assert reading.graph.pairs_tried == result.graph.pairs_tried


def test_reading_writes_nothing(tmp_path):
    assess(board_problem(), run=tmp_path / "run", **GIVEN)
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    read_run(tmp_path / "run")
    after = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    assert after == before


def test_a_kept_run_and_one_that_is_not_kept_find_the_same(tmp_path):
    kept, passing = (
        assess(board_problem(Board(0.2)), run=r, **GIVEN) for r in (tmp_path / "r", None)
    )
    for intent in kept.graph.capabilities:
        assert kept.graph.rules(intent) == passing.graph.rules(intent)


def test_a_file_named_from_one_directory_is_found_from_another(tmp_path, monkeypatch):
    monkeypatch.chdir(Path(toy_worlds.__file__).parent)
    budget = Budget(queries=1)
    assess("toy_worlds.py:slippery_board", run=tmp_path / "run", budget=budget, **GIVEN)
    monkeypatch.chdir(tmp_path)
    assert resume("run", budget=Budget(queries=2)).usage.queries == 2


def test_a_problem_object_is_needed_again_to_resume_its_run(tmp_path):
    assess(board_problem(), run=tmp_path / "run", budget=Budget(queries=1), **GIVEN)
    with pytest.raises(CapscopeError, match="no problem 'board'"):
        resume(tmp_path / "run")
    resume(tmp_path / "run", problem=board_problem())


def test_a_listener_hears_of_every_query(tmp_path):
    heard = []
    result = assess(board_problem(), listener=heard.append, run=tmp_path / "run", **GIVEN)
    assert [event.usage.queries for event in heard] == list(range(1, result.usage.queries + 1))
    assert heard[-1].usage == result.usage
    assert heard[-1].states == result.states
    assert heard[-1].transitions == result.transitions
    assert heard[-1].pairs_tried == result.graph.pairs_tried


def test_finished_runs_resume_to_the_same_result(tmp_path):
    first = assess(board_problem(Board(0.2)), run=tmp_path / "run", **GIVEN)
    heard = []
    again = resume(tmp_path / "run", problem=board_problem(Board(0.2)), listener=heard.append)
    assert heard == []
    assert again.usage == first.usage
    assert again.stopped_because == first.stopped_because == "no news"


def test_a_shipped_problem_is_assessed_by_name():
    result = assess("blocksworld", budget=Budget(executions=50), **GIVEN)
    assert result.usage.executions == 50
    assert result.graph.pairs_tried > 0
