"""Which draws are shown: whoever doubts a number wants to see some of what was counted.

A rule may have ten thousand draws. Chosen are up to three for each outcome: those of which the
agent wrote something down before others, from different states as far as there are any, the earlier
before the later. Going through the journal rule by rule would read it once for each; here all rules
are served at once from the columns of the chronicle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from capscope.present.digest.record import Record
from capscope.present.digest.shape import CapabilityDigest
from capscope.present.text import CapabilityView
from capscope.record.execution_table import Column, Flags, transcribed

MOST = 3
"""Draws that are shown for one outcome."""


class Slot(NamedTuple):
    """An outcome of a rule: positions among the capabilities, their rules and their outcomes."""

    capability: int
    rule: int
    outcome: int


class Choice(NamedTuple):
    """The executions chosen for an outcome, best first."""

    slot: Slot
    executions: tuple[int, ...]


def choices(
    record: Record,
    views: Sequence[CapabilityView],
    told: Sequence[CapabilityDigest],
    written: Flags,
) -> list[Choice]:
    """Choose executions for each outcome of the rules that are told."""
    slots = [
        Slot(c, r, o)
        for c, digest in enumerate(told)
        for r, rule in enumerate(digest.rules)
        for o in range(len(rule.outcomes))
    ]
    transition = record.table.transition
    # One more, for executions that were cut: their transition is -1.
    slot = np.append(_slot_of_transition(record, views, slots), -1)[transition]
    chosen: list[list[int]] = [[] for _ in slots]
    for execution in _best(slot, transition, written).tolist():
        chosen[slot[execution]].append(execution)
    return [Choice(at, tuple(found)) for at, found in zip(slots, chosen, strict=True)]


def written_down(record: Record) -> Flags:
    """Say of each execution whether the agent wrote something down of it."""
    table = record.table
    flags = np.zeros(len(table), dtype=bool)
    found = np.array(list(transcribed(record.journal)), dtype=np.int64).reshape(-1, 3)
    if found.size and flags.size:
        places = np.stack([table.query, table.draw, table.number], axis=1)
        sizes = np.maximum(found.max(axis=0), places.max(axis=0)) + 1
        flags = np.isin(
            np.ravel_multi_index(tuple(places.T), tuple(sizes)),
            np.ravel_multi_index(tuple(found.T), tuple(sizes)),
        )
    return flags


def _slot_of_transition(
    record: Record, views: Sequence[CapabilityView], slots: Sequence[Slot]
) -> Column:
    """Return the number of each transition's slot; -1 for those of rules that are not told."""
    number = {state: n for n, state in enumerate(record.table.states)}
    found: dict[tuple[int, int, int], int] = {}
    for i, slot in enumerate(slots):
        view = views[slot.capability]
        capability = record.graph.index[view.intent]
        rule = view.rules[slot.rule].rule
        effect = rule.outcomes[slot.outcome].effect
        for state in rule.states:
            found[number[state], capability, number[effect.apply(state)]] = i
    seen = record.table.distinct
    keys = zip(seen.before.tolist(), seen.capability.tolist(), seen.after.tolist(), strict=True)
    return np.array([found.get(key, -1) for key in keys], dtype=np.int64)


def _best(slot: Column, transition: Column, written: Flags) -> Column:
    """Return the best executions of each slot."""
    counted = slot >= 0
    parts = (counted, counted & written)
    some = np.unique(np.concatenate([_first_few(transition, np.flatnonzero(p)) for p in parts]))
    # The second draw of a transition tells less than the first of another one.
    again = np.ones(len(some), dtype=np.int64)
    again[np.unique(transition[some], return_index=True)[1]] = 0
    return _first_few(slot, some[np.lexsort((some, again, ~written[some], slot[some]))])


def _first_few(group: Column, some: Column) -> Column:
    """Keep the first few of each group among some executions, in the order given."""
    order = some[np.argsort(group[some], kind="stable")]
    begins = np.searchsorted(group[order], group[order])
    return order[np.arange(len(order)) - begins < MOST]


def ranked(chosen: Sequence[Choice]) -> Iterator[tuple[Slot, int]]:
    """Yield the best execution of every outcome, then the second best of every one, and so on."""
    for rank in range(MOST):
        for slot, executions in chosen:
            if rank < len(executions):
                yield slot, executions[rank]
