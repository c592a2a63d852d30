"""Handmade data of runs to compare, over three atoms."""

import itertools
import random
from dataclasses import replace

import numpy as np

from capscope.insight.diff import RunData
from capscope.journal.draws import Draw, Execution
from capscope.journal.execution_table import UNKNOWN_POSITION
from capscope.journal.run_meta import RunIdentity
from capscope.problem import Attempt, Ending
from support.execution_tables import table_of
from support.tiny_models import INTENTS, WORDS

NOT_RECORDED = b"not recorded"


def run_data(
    rows, vocabulary=WORDS, intents=INTENTS, *, draws=None, moved=None, known=None, **identity
):
    """Make the data of a run from ⟨capability, before, after⟩ or ⟨…, after, position⟩.

    The position is the name of the one that the draw started from; None, or nothing, means that it
    was not recorded.
    Each row is a draw of its own that took a step, unless `draws` has the number of its draw and
    `moved` whether it took a step. `known` has the names of the positions known for a state.
    """
    table = execution_table(rows, draws, moved)
    started = {"strategy": "exhaustive", "seed": 0} | identity
    number = {state: i for i, state in enumerate(table.states)}
    return RunData(
        "some/run",
        "tiny",
        RunIdentity("tiny", "", vocabulary.fingerprint, **started),
        vocabulary,
        intents,
        table,
        {number[s]: names for s, names in (known or {}).items() if s in number},
    )


def execution_table(rows, draws=None, moved=None):
    """Make the table of such rows, all of one query."""
    draws = range(len(rows)) if draws is None else draws
    moved = [True] * len(rows) if moved is None else moved
    states = list(dict.fromkeys(s for _, before, after, *_ in rows for s in (before, after)))
    starts, made = [], []
    for _, same in itertools.groupby(zip(draws, rows, moved, strict=True), lambda row: row[0]):
        executions = [(row, step) for _, row, step in same]
        (_, _, _, *position), _ = executions[0]
        named = position != [] and position != [None]
        starts.append(position[0] if named else NOT_RECORDED)
        made.append(_draw(executions))
    table = table_of([made] if rows else [], states, lambda _, index: starts[index])
    missing = [i for i, name in enumerate(table.position_names) if name == NOT_RECORDED]
    position = np.where(np.isin(table.position, missing), UNKNOWN_POSITION, table.position)
    return replace(table, position=position)


def _draw(executions):
    attempts = []
    for (capability, before, after, *_), step in executions:
        trajectory = (before,) if before == after else (before, after)
        attempts.append(Execution(capability, Attempt(trajectory, int(step), Ending.STOPPED)))
    return Draw(tuple(attempts), len(attempts), 0, 1.0, False)


def tried(capability, before, ends, position=None):
    """List executions of one pair with the given ends."""
    return [(capability, before, after, position) for after in ends]


def drawn(capability, before, hit, miss, share, draws, seed):
    """Draw ends that are `hit` with a probability."""
    rng = random.Random(seed)
    return tried(capability, before, [hit if rng.random() < share else miss for _ in range(draws)])
