"""Success by capability and condition.

A column is a literal. The naive choice, all literals, is unreadable; the atoms shown are those that
divide the states of a capability into parts with the most different success, summed over
capabilities. A cell is about states in which the capability was tried; without any it is empty,
whatever the model infers. The rate of single requests is estimated as everywhere else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from capscope.insight.rates import successes
from capscope.logic import State
from capscope.logic.shortest_condition import bit_matrix
from capscope.model import StateGraph
from capscope.report.digest.size_budget import SizeBudget, brief
from capscope.report.text import CapabilityView
from capscope.sanitize import sanitize
from capscope.stats.arrays import Floats, Integers, Mask
from capscope.stats.partial_pooling import mean_probability

_MOST_ATOMS = 8
_MOST_CANDIDATES = 64
_MOST_ROWS = 120


class TriedStates(NamedTuple):
    """The states in which a capability was tried and its intent did not hold, without sinks."""

    rows: Integers
    """Positions in the list of states seen."""
    success: Floats
    rule: Integers
    counts: Integers | None
    """Successes and executions in each state; None if success is that of repeated requests."""

    def mean(self, here: Mask) -> float:
        """Return the rate in some of the states."""
        if self.counts is None:
            return float(self.success[here].mean())
        return mean_probability([(hits, draws, 1) for hits, draws in self.counts[here].tolist()])


def heat_map(
    graph: StateGraph,
    views: Sequence[CapabilityView],
    eventual: Sequence[Mapping[State, float]] | None,
    atoms: Sequence[int],
    rules: Sequence[int],
    space: SizeBudget,
) -> dict[str, Any]:
    """Make the heat map.

    Args:
        graph: What was seen.
        views: The capabilities.
        eventual: For each view the probability of succeeding eventually, by state; without it the
            rates are those of one execution.
        atoms: The candidates for columns, the most important first.
        rules: For each view how many of its rules are in the digest.
        space: Limits the rows.

    Returns:
        `columns` are literals, each followed by its opposite. A row has a capability and its cells:
        one for all states, then one for each column. Rows that do not fit are counted.
    """
    states = list(graph.nodes)
    row_of = {state: i for i, state in enumerate(states)}
    tried = [
        _tried(graph, view, row_of, None if eventual is None else eventual[number])
        for number, view in enumerate(views)
    ]
    holds = _bits(states, atoms[:_MOST_CANDIDATES], len(graph.vocabulary.atoms))
    chosen = _most_telling(tried, holds)
    names = [sanitize(str(graph.vocabulary.atoms[atoms[i]])) for i in chosen]
    within = _conditions(holds[:, chosen])
    rows: list[dict[str, Any]] = []
    ranked = sorted(range(len(views)), key=lambda number: views[number].intent)
    for number in ranked[:_MOST_ROWS]:
        test = views[number].intent.test(graph.vocabulary)
        not_yet = np.array([not test(state) for state in states], dtype=bool)
        cells = list(_cells(tried[number], within, not_yet, rules[number]))
        if not space.take(row := {"capability": number, "cells": cells}):
            break
        rows.append(row)
    return {
        "columns": [text for name in names for text in (name, f"not {name}")],
        "rows": rows,
        "rows_omitted": len(tried) - len(rows),
        "repeated": eventual is not None,
    }


def _tried(
    graph: StateGraph,
    view: CapabilityView,
    row_of: Mapping[State, int],
    eventual: Mapping[State, float] | None,
) -> TriedStates:
    rule_of = {
        state: r
        for r, rule in enumerate(view.rules)
        if not rule.held
        for state in rule.rule.states
        if not graph.nodes[state].sink
    }
    counts = successes(graph, view.intent)
    own = np.array([counts[state] for state in rule_of], dtype=np.int64).reshape(-1, 2)
    rows = np.array([row_of[state] for state in rule_of], dtype=np.int64)
    rules = np.array(list(rule_of.values()), dtype=np.int64)
    if eventual is None:
        return TriedStates(rows, own[:, 0] / own[:, 1], rules, own)
    return TriedStates(rows, np.array([eventual[state] for state in rule_of]), rules, None)


def _bits(states: Sequence[State], atoms: Sequence[int], width: int) -> Mask:
    """Return for each state which of the atoms hold."""
    if not states:
        return np.zeros((0, len(atoms)), dtype=bool)
    # In parts: all atoms of fifty thousand states at once take hundreds of megabytes.
    size = 4096
    parts = [bit_matrix(states[i : i + size], width)[:, atoms] for i in range(0, len(states), size)]
    return np.concatenate(parts)


def _conditions(holds: Mask) -> Mask:
    """Return for each state which columns apply: all states, then each atom and its opposite."""
    everywhere = np.ones((len(holds), 1), dtype=bool)
    both = np.stack([holds, ~holds], axis=2).reshape(len(holds), 2 * holds.shape[1])
    return np.hstack([everywhere, both])


def _most_telling(tried: Sequence[TriedStates], holds: Mask) -> list[int]:
    """Choose the atoms that tell success from failure best, no two that say the same."""
    scores = np.zeros(holds.shape[1])
    for one in tried:
        if len(one.rows):
            scores += _variance_explained(holds[one.rows], one.success)
    chosen: list[int] = []
    for i in sorted(range(len(scores)), key=lambda i: (-scores[i], i)):
        column = holds[:, i]
        known = any((column == holds[:, j]).all() or (column != holds[:, j]).all() for j in chosen)
        if scores[i] > 0 and not known:
            chosen.append(i)
        if len(chosen) == _MOST_ATOMS:
            break
    return chosen


def _variance_explained(holds: Mask, success: Floats) -> Floats:
    """Return for each atom how much of the squared deviation from the mean it accounts for."""
    number, inside = len(success), holds.sum(axis=0)
    total_inside = success @ holds
    outside = number - inside
    means = (
        total_inside / np.maximum(inside, 1),
        (success.sum() - total_inside) / np.maximum(outside, 1),
    )
    explained: Floats = inside * outside / number * (means[0] - means[1]) ** 2
    # Rounding errors are not differences.
    return np.where(explained > 1e-9, explained, 0.0)


def _cells(one: TriedStates, within: Mask, not_yet: Mask, rules: int) -> Iterator[dict[str, Any]]:
    """Yield the rate, the states tried, those seen without the intent, and the rules that apply."""
    seen = not_yet @ within.astype(np.int64)
    for column, here in enumerate(within[one.rows].T):
        states = int(here.sum())
        yield {
            "rate": brief(one.mean(here)) if states else None,
            "states": states,
            "seen": int(seen[column]),
            "rules": [rule for rule in np.unique(one.rule[here]).tolist() if rule < rules],
        }
