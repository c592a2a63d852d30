"""A run of QACE on one problem: every capability of the list, one after another.

Each finished capability is reported at once, as a row that can be saved; passed back as `done`, it
is not learned again. An interruption therefore loses at most the current capability. Seeds depend
only on the query, so an interrupted run gives the same result; only the executions that were lost
are made twice.

A model counts as learned if each capability converged to one that explains its answers. Otherwise
the reason says why not, and what was learned can still make predictions.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from capscope.errors import RunError
from capscope.journal.run_meta import Usage
from capscope.logic import Vocabulary
from capscope.model import StateGraph
from capscope.problem import Problem
from capscope.seeds import child_seed
from capscope_experiments.baselines import BudgetSpent
from capscope_experiments.baselines.qace.compilation import (
    Compilation,
    LearningTask,
    compile_disjunctions,
    extreme_rules,
    leave_uncompiled,
)
from capscope_experiments.baselines.qace.interview import Interview, SettableSimulator
from capscope_experiments.baselines.qace.learning import LearningOutcome, LearningResult, learn_task
from capscope_experiments.baselines.qace.model import QaceCapability, QaceModel
from capscope_experiments.baselines.qace.settings import QaceSettings

MODEL_LEARNED = "model learned"
NO_MODEL = "no model"
NOT_RUNNABLE = "not runnable"


@dataclass(frozen=True)
class QaceRow:
    """The result for one capability, and its cost."""

    number: int
    task: LearningTask
    result: LearningResult
    usage: Usage
    states_asked: int
    states_unseen: int
    """States that the run which supplied the capabilities never saw; most are unreachable."""

    @property
    def finished(self) -> bool:
        """Whether it was completed."""
        return self.result.outcome is not LearningOutcome.UNFINISHED

    def as_dict(self, vocabulary: Vocabulary) -> dict[str, Any]:
        """Return the row as JSON-ready values."""
        return {
            "number": self.number,
            **_named(self.task, vocabulary),
            "finding": str(self.result.outcome),
            "reason": self.result.reason,
            "parts": [part.as_dict(vocabulary) for part in self.result.parts],
            "usage": asdict(self.usage),
            "states_asked": self.states_asked,
            "states_unseen": self.states_unseen,
        }

    @classmethod
    def from_dict(
        cls, values: Mapping[str, Any], compilation: Compilation, vocabulary: Vocabulary
    ) -> QaceRow:
        """Read a row that `as_dict` wrote; it must be from the same capability list."""
        number = values["number"]
        tasks = compilation.tasks
        written = {name: values[name] for name in ("intent", "disjunct", "start")}
        if number >= len(tasks) or _named(tasks[number], vocabulary) != written:
            raise RunError(
                f"capability {number} that was learned before, {written['intent']}, is not the one "
                "of this list; continue with the graph and settings that the run was started with"
            )
        parts = tuple(QaceCapability.from_dict(part, vocabulary) for part in values["parts"])
        result = LearningResult(LearningOutcome(values["finding"]), parts, values["reason"])
        spent = Usage(**values["usage"])
        states = values["states_asked"], values["states_unseen"]
        return cls(number, tasks[number], result, spent, *states)


def _named(task: LearningTask, vocabulary: Vocabulary) -> dict[str, Any]:
    return {
        "intent": str(task.intent),
        "disjunct": [str(literal) for literal in task.within.literals(vocabulary)],
        "start": hex(task.start),
    }


@dataclass(frozen=True)
class QaceProgress:
    """The progress of a run after one more capability."""

    row: QaceRow
    finished: int
    of: int


OnQaceProgress = Callable[[QaceProgress], None]


def ignore(progress: QaceProgress) -> None:
    """Ignore the progress."""


@dataclass(frozen=True)
class QaceRun:
    """The result of QACE on a problem."""

    problem: str
    outcome: str
    reason: str
    compilation: Compilation
    rows: tuple[QaceRow, ...] = ()
    usage: Usage = field(default_factory=Usage)

    @property
    def learned(self) -> tuple[QaceRow, ...]:
        """The capabilities of the list that were learned."""
        return tuple(row for row in self.rows if row.result.outcome is LearningOutcome.LEARNED)

    @property
    def model(self) -> QaceModel:
        """What was learned, complete or not."""
        missing = Counter(task.intent for task in self.compilation.tasks)
        missing.subtract(row.task.intent for row in self.learned)
        complete = [intent for intent in self.compilation.tried if not missing[intent]]
        return QaceModel((part for row in self.learned for part in row.result.parts), complete)

    def as_dict(self) -> dict[str, Any]:
        """Return a row for the table of the appendix, JSON-ready."""
        spent = asdict(self.usage)
        del spent["llm_tokens"], spent["llm_cost"]
        return {
            "problem": self.problem,
            "outcome": self.outcome,
            "reason": self.reason,
            "capabilities": self.compilation.capabilities,
            "disjuncts": self.compilation.disjuncts,
            "idle": self.compilation.idle,
            "learned": len(self.learned),
            "parts": sum(len(row.result.parts) for row in self.learned),
            **spent,
            "states_asked": sum(row.states_asked for row in self.rows),
            "states_unseen": sum(row.states_unseen for row in self.rows),
        }


def learn_qace(
    problem: Problem,
    graph: StateGraph,
    settings: QaceSettings,
    on_progress: OnQaceProgress = ignore,
    done: Iterable[Mapping[str, Any]] = (),
) -> QaceRun:
    """Learn a model of the capabilities in the graph of an assessment.

    `on_progress` is called for each finished capability, and for one cut short by the budget; pass
    their rows, as `as_dict` returns them, as `done` to continue the run later.
    """
    begun = time.perf_counter()
    compilation = compile_disjunctions(graph) if settings.compiled else leave_uncompiled(graph)
    if not isinstance(problem.simulator, SettableSimulator):
        reason = "the states of this simulator cannot be set"
        return QaceRun(problem.name, NOT_RUNNABLE, reason, compilation)
    earlier = [QaceRow.from_dict(row, compilation, graph.vocabulary) for row in done]
    rows = {row.number: row for row in earlier if row.finished}
    spent = sum((row.usage for row in earlier), Usage(seconds=time.perf_counter() - begun))
    tasks = compilation.tasks
    for number, task in enumerate(tasks):
        if number in rows:
            continue
        left = settings.budget.left_after(spent)
        seed = child_seed(settings.seed, number)
        interview = Interview(problem, problem.simulator, task.intent, seed, left)
        row = _learn(number, task, interview, graph, settings)
        spent += row.usage
        if row.finished:
            rows[number] = row
        on_progress(QaceProgress(row, len(rows), len(tasks)))
        if not row.finished:
            reason = f"{row.result.reason} after {len(rows)} of {len(tasks)} capabilities"
            break
    else:
        reason = _why_not(list(rows.values()))
    ordered = tuple(rows[number] for number in sorted(rows))
    outcome = NO_MODEL if reason else MODEL_LEARNED
    return QaceRun(problem.name, outcome, reason, compilation, ordered, spent)


def _learn(
    number: int, task: LearningTask, interview: Interview, graph: StateGraph, settings: QaceSettings
) -> QaceRow:
    supplied = sorted(state for rule in extreme_rules(graph, task.intent) for state in rule.states)
    try:
        result = learn_task(task, interview, supplied, settings)
    except BudgetSpent as spent:
        result = LearningResult(LearningOutcome.UNFINISHED, (), f"budget of {spent} spent")
    asked = interview.answers
    unseen = sum(state not in graph.nodes for state in asked)
    return QaceRow(number, task, result, interview.usage, len(asked), unseen)


def _why_not(rows: Sequence[QaceRow]) -> str:
    """Summarize why capabilities were not learned; empty if all were."""
    failed = [row for row in rows if row.result.outcome is not LearningOutcome.LEARNED]
    if not failed:
        return ""
    counts = Counter(str(row.result.outcome) for row in failed)
    counted = ", ".join(f"{outcome} ({count})" for outcome, count in sorted(counts.items()))
    first = failed[0]
    return (
        f"{len(failed)} of {len(rows)} capabilities could not be modeled: {counted}; for example "
        f"{first.task.intent}: {first.result.reason}"
    )
