"""Runs written by hand: what was asked, what came of it, and nothing of a problem."""

from contextlib import closing
from pathlib import Path

from capscope import Budget, Run, Settings
from capscope.journal.draws import Draw, Execution, QueryRecord, Start
from capscope.journal.journal import Journal
from capscope.journal.run_meta import RunIdentity, RunMeta, StopKind, StopReason
from capscope.logic import Intent, Predicate, Vocabulary
from capscope.model import StateGraph
from capscope.problem import Attempt, Ending
from capscope.problem.positions import SavedPosition
from support.execution_tables import table_of

LAMPS = Vocabulary(
    [Predicate("lit", ("lamp",)), Predicate("broken")], {"a": "lamp", "b": "lamp"}
)  # lit(a) is bit 0, lit(b) bit 1, broken() bit 2
WISHES = [Intent.parse(text) for text in ("lit(a)", "lit(b)", "not lit(a)", "broken()")]
DARK = SavedPosition.unnamed(b"dark")


def as_reason(text):
    """Return a reason from its text."""
    if text.startswith("budget of "):
        return StopReason.budget(text.split()[2])
    kind = next((kind for kind in StopKind if kind == text), None)
    return StopReason(StopKind.OTHER, text) if kind is None else StopReason(kind)


def meta(
    vocabulary=LAMPS, *, strategy="exhaustive", length=1, budget=None, stopped=None, **changed
):
    """Return what a journal says about its run; `changed` settings differ from the defaults."""
    allowed = Budget(**budget or {})
    settings = Settings(**changed)
    identity = RunIdentity(
        "lamps.py:lamps", "", vocabulary.fingerprint, strategy, 7, length, settings=settings
    )
    versions = {"python": "3.11", "capscope": "0.1.0", "numpy": "2"}
    reason = stopped and (as_reason(stopped), allowed)
    return RunMeta(identity, "lamps", vocabulary, allowed, versions, stopped=reason)


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
    about = meta(**said)
    with closing(Journal.create(path / "journal.sqlite", about)) as journal:
        if intents:
            journal.add_discovery(intents, 20)
        for state, snapshot in (snapshots or {0: b"dark"}).items():
            journal.keep_position(state, 0, SavedPosition.unnamed(snapshot))
        first, *_ = snapshots or [0]
        start = Start(first, DARK)
        for number, draws in enumerate(queries):
            journal.begin_query(number, QueryRecord(start, 0, 0.0, 1.0, True))
            for index, made in enumerate(draws):
                journal.add_draw((number, index), start, made, {})
            journal.finish_query(number, {"kind": "sequence"}, 1.5)
        if about.stopped:
            journal.set_stopped(*about.stopped)
    return path


def executions_of(queries):
    """List the executions of queries in order, each with its place."""
    return [
        ((query, index, number), made)
        for query, draws in enumerate(queries)
        for index, one in enumerate(draws)
        for number, made in enumerate(one.executions)
    ]


def run_in_memory(queries, intents=WISHES, **said):
    """Return the run of such queries without a journal: writing a thousand of them is slow."""
    passed = (state for _, (_, attempt) in executions_of(queries) for state in attempt.trajectory)
    table = table_of(queries, list(dict.fromkeys([0, *passed])))
    graph = StateGraph(LAMPS, intents)
    graph.update(table.transitions())
    run = Run(Path(), meta(**said), table, graph)
    run.agent_failures = ()  # their messages are in the journal, and there is none
    return run
