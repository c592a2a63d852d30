"""Short runs on a board that slips, and whether two runs are the same."""

from dataclasses import fields, replace

import numpy as np
import pytest

from capscope import Budget, Settings
from support.toy_worlds import Board, board_problem

SMALL = Settings(draws=3, random_length=6, walks=2, walk_steps=10, patience=3)
GIVEN = {"strategy": "random", "settings": SMALL}
BUDGET = Budget(executions=120)


def slippery(**parts):
    return board_problem(Board(slip=0.3), **parts)


def without_seconds(usage):
    return replace(usage, seconds=0.0)


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
    assert counts_of(one) == counts_of(other)


def counts_of(graph):
    """Return the counts of each tried pair."""
    return {
        (state, intent): pair.counts
        for state, node in graph.nodes.items()
        for intent, pair in zip(graph.capabilities, node.pairs, strict=True)
        if pair is not None
    }


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
