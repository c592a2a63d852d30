"""Tables of executions that are made of draws, the slow way and without a journal."""

import numpy as np

from capscope.journal.draws import ENDINGS, QueryTable
from capscope.journal.execution_table import ExecutionTable


def table_of(queries, states, position=lambda query, index: b"somewhere"):
    """Make the table of complete queries, each a list of draws.

    `states` has all states, by number; `position` returns the name of the position that a draw
    started from.
    """
    number, names, rows = {state: i for i, state in enumerate(states)}, {}, []
    for query, draws in enumerate(queries):
        for index, draw in enumerate(draws):
            at = names.setdefault(position(query, index), len(names))
            for i, (capability, attempt) in enumerate(draw.executions):
                rows.append((
                    query, index, i, capability, number[attempt.trajectory[0]],
                    number[attempt.trajectory[-1]], len(attempt.trajectory) - 1,
                    attempt.simulator_steps, attempt.llm_tokens, ENDINGS.index(attempt.ending), at,
                ))  # fmt: skip
    columns = np.ascontiguousarray(np.array(rows, dtype=np.int64).reshape(-1, 11).T)
    return ExecutionTable(list(states), tuple(names), _query_table(queries), *columns)


def _query_table(queries):
    def total(of_draw, kind=np.int64):
        return np.array([sum(map(of_draw, draws)) for draws in queries], dtype=kind)

    complete = np.ones(len(queries), dtype=bool)
    return QueryTable(
        start=np.zeros(len(queries), dtype=np.int64),
        predicted=np.ones(len(queries)),
        informative=complete,
        finished=complete,
        draws=total(lambda draw: 1),
        executions=total(lambda draw: len(draw.executions)),
        simulator_steps=total(lambda draw: draw.simulator_steps),
        llm_tokens=total(lambda draw: draw.llm_tokens),
        seconds=np.zeros(len(queries)),
        llm_cost=total(lambda draw: draw.llm_cost, np.float64),
        replay_steps=np.zeros(len(queries), dtype=np.int64),
    )
