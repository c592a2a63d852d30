from dataclasses import replace

import pytest
from capscope.assessment.reading import read_journal, read_run, replay

from capscope import Budget, Settings, Usage, assess
from capscope.record.run_directory import RunDirectory
from support.toy_worlds import Board, board_problem

SETTINGS = Settings(draws=3, random_length=4, walks=2, walk_steps=10, patience=3)


@pytest.fixture
def made(tmp_path):
    """A run of several queries, with what its events said after each."""
    heard = []
    problem = board_problem(Board(slip=0.3))
    assess(
        problem,
        strategy="random",
        settings=SETTINGS,
        budget=Budget(executions=200),
        run=tmp_path / "run",
        listener=lambda event: heard.append((event.usage, event.pairs_tried)),
    )
    return tmp_path / "run", heard


def without_seconds(usage):
    return replace(usage, seconds=0.0)


def test_a_replay_passes_through_what_the_run_knew_after_each_query(made):
    path, heard = made
    with RunDirectory.open(path, read_only=True) as run:
        replayed = [(usage, graph.pairs_tried) for usage, graph in replay(run.journal)]
    assert len(replayed) > 3
    assert [(without_seconds(u), n) for u, n in replayed] == [
        (without_seconds(u), n) for u, n in heard
    ]


def test_a_replay_ends_where_reading_the_journal_does(made):
    path, _ = made
    with RunDirectory.open(path, read_only=True) as run:
        *_, (usage, graph) = replay(run.journal)
        reading = read_journal(path, run.journal)
    assert usage == reading.usage
    assert graph.capabilities == reading.graph.capabilities
    for intent in graph.capabilities:
        assert graph.rules(intent) == reading.graph.rules(intent)


def test_a_run_is_read_up_to_the_last_query_that_ended_within_so_many_executions(made):
    path, heard = made
    ends = [usage.executions for usage, _ in heard]
    for most in (ends[1], ends[1] + 1, ends[2] - 1):
        reading = read_run(path, most)
        assert without_seconds(reading.usage) == without_seconds(heard[1][0])
        assert reading.graph.pairs_tried == reading.dataset.pairs == heard[1][1]
        assert reading.dataset.size == ends[1]
    assert read_run(path, ends[-1]).usage == read_run(path).usage == read_run(path, 10**9).usage


def test_before_the_first_query_only_discovery_was_paid_for(made):
    path, heard = made
    reading = read_run(path, heard[0][0].executions - 1)
    assert reading.usage == Usage(simulator_steps=20)
    assert not reading.graph.pairs_tried
    assert reading.graph.capabilities
