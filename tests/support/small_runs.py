"""Runs written by hand: what was asked, what came of it, and nothing of a problem."""

from contextlib import closing
from pathlib import Path

import numpy as np
from capscope.present.digest.record import Record

from capscope.model import StateGraph
from capscope.record.execution_table import Dataset, ExecutionTable
from capscope.record.journal import Draw, Execution, Journal, QueryRecord
from capscope.record.settings import Settings
from capscope.record.usage import Usage
from capscope.symbolic import Intent, Predicate, Vocabulary
from capscope.world import Attempt, Ending

LAMPS = Vocabulary(
    [Predicate("lit", ("lamp",)), Predicate("broken")], {"a": "lamp", "b": "lamp"}
)  # lit(a) is bit 0, lit(b) bit 1, broken() bit 2
WISHES = [Intent.parse(text) for text in ("lit(a)", "lit(b)", "not lit(a)", "broken()")]
NO_BUDGET = dict.fromkeys(("queries", "executions", "simulator_steps", "llm_tokens", "seconds"))


def meta(vocabulary=LAMPS, *, strategy="adaptive", length=1, budget=None, stopped=None, **changed):
    """Return what a journal says of its run; `changed` settings differ from the defaults."""
    allowed = {**NO_BUDGET, **(budget or {})}
    known = {
        "identity": {
            "problem": "lamps.py:lamps",
            "problem fingerprint": "",
            "vocabulary": vocabulary.fingerprint,
            "strategy": strategy,
            "seed": 7,
            "temporal length": length,
            "horizon": 100,
            "reset every": None,
            "settings": Settings(**changed).as_dict(),
        },
        "name": "lamps",
        "vocabulary": vocabulary.as_dict(),
        "budget": allowed,
        "versions": {"python": "3.11", "capscope": "0.1.0", "numpy": "2"},
    }
    return known | ({"stopped": {"because": stopped, "budget": allowed}} if stopped else {})


def execution(before, capability, after, **parts):
    """Make an execution of one step."""
    trajectory = (before,) if before == after else (before, after)
    known = {"trajectory": trajectory, "simulator_steps": 1, "ending": Ending.STOPPED}
    return Execution(capability, Attempt(**{**known, **parts}))


def draw(*executions):
    """Make a draw of executions or of ⟨before, capability, after⟩."""
    made = [e if isinstance(e, Execution) else execution(*e) for e in executions]
    steps = sum(attempt.simulator_steps for _, attempt in made)
    tokens = sum(attempt.llm_tokens for _, attempt in made)
    return Draw(tuple(made), steps, tokens, 0.5, False)


def small_run(path, queries, intents=WISHES, snapshots=None, **said):
    """Write a run of queries, each a list of draws; return its directory."""
    path.mkdir(parents=True)
    with closing(Journal.create(path / "journal.sqlite", meta(**said))) as journal:
        if intents:
            journal.add_discovery(intents, 20)
        for state, snapshot in (snapshots or {0: b"dark"}).items():
            journal.keep_snapshot(state, 0, snapshot)
        start, *_ = snapshots or [0]
        for number, draws in enumerate(queries):
            journal.begin_query(number, QueryRecord(start, b"dark", 0, 0.0, 1.0, True))
            for index, made in enumerate(draws):
                journal.add_draw(number, index, made, {})
            journal.finish_query(number, {"kind": "sequence"}, 1.5)
    return path


def executions_of(queries):
    """List the executions of queries in order, each with its place."""
    return [
        ((query, index, number), made)
        for query, draws in enumerate(queries)
        for index, one in enumerate(draws)
        for number, made in enumerate(one.executions)
    ]


def record_in_memory(queries, intents=WISHES, **said):
    """Make what is read of such a run, without its journal: writing a thousand of them is slow."""
    rows, states = [], {0: 0}
    for place, (capability, attempt) in executions_of(queries):
        for state in attempt.trajectory:
            states.setdefault(state, len(states))
        ends = states[attempt.trajectory[0]], states[attempt.trajectory[-1]]
        cut = attempt.ending is Ending.CUT
        rows.append((*place, capability, *ends, attempt.simulator_steps, cut))
    columns = np.array(rows, dtype=np.int64).reshape(-1, 8).T
    table = ExecutionTable(list(states), *columns[:7], columns[7] > 0)
    dataset, graph = Dataset(), StateGraph(LAMPS, intents)
    dataset.record(table.transitions())
    graph.update(table.transitions())
    usage = Usage(queries=len(queries), executions=len(rows))
    return Record(Reading(Path(), meta(**said), dataset, graph, usage), table, None)
