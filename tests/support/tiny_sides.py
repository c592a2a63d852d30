"""Handmade sides of a comparison, over three atoms."""

import random

import numpy as np
from capscope.record.executions import Executions

from capscope.analysis.diff.run_data import Side
from support.tiny_models import INTENTS, WORDS


def side(rows, vocabulary=WORDS, intents=INTENTS, positions=None, walks=None, **identity):
    """Make a side of (capability, before, after) or (capability, before, after, position).

    Each row is a draw of its own that took a step, from an unnamed position, unless `walks` has the
    draws, which of the rows took a step, and the names of the first positions.
    """
    states = list(dict.fromkeys(s for _, before, after, *_ in rows for s in (before, after)))
    number = {state: i for i, state in enumerate(states)}
    columns = [(c, number[before], number[after], *(at or [0])) for c, before, after, *at in rows]
    given = {"strategy": "adaptive", "seed": 0, "temporal length": 1, "horizon": 100} | identity
    return Side(
        "some/run",
        {"name": "tiny", "identity": given},
        vocabulary,
        intents,
        states,
        Executions(
            *np.array(columns, dtype=np.int64).reshape(-1, 4).T,
            *(walks or (np.arange(len(rows)), np.ones(len(rows), dtype=bool), ())),
        ),
        {number[s]: known for s, known in (positions or {}).items() if s in number},
    )


def tried(capability, before, ends):
    """List executions of one pair with the given ends."""
    return [(capability, before, after) for after in ends]


def drawn(capability, before, hit, miss, share, draws, seed):
    """Draw ends that are `hit` with a probability."""
    rng = random.Random(seed)
    return tried(capability, before, [hit if rng.random() < share else miss for _ in range(draws)])
