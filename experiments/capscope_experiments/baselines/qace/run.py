"""A run of QACE on one problem: every capability of the list, one after another.

A capability that is finished is heard of at once, as a row that can be written down; handed back as
`done`, it is not learned again. An interruption therefore loses at most the capability under way.
An answer depends on the place of its question alone, so an interrupted run ends as it would have
without; only the executions that were lost are paid for twice.

A model was learned if each capability converged to one that explains its answers. Otherwise there
is none, and the reason says why; what was learned nevertheless can still be asked for predictions.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from capscope.assessment import Usage
from capscope.errors import RunError
from capscope.model import StateGraph
from capscope.seeds import child_seed
from capscope.symbolic import Vocabulary
from capscope.world import Problem, SettableSimulator
from capscope_experiments.baselines.qace.compilation import (
    Branch,
    Compilation,
    compile_disjunctions,
    leave_uncompiled,
)
from capscope_experiments.baselines.qace.interview import BudgetSpent, Interview
from capscope_experiments.baselines.qace.learning import Finding, Lesson, learn_branch
from capscope_experiments.baselines.qace.model import QaceCapability, QaceModel
from capscope_experiments.baselines.qace.settings import QaceSettings

MODEL_LEARNED = "model learned"
NO_MODEL = "no model"
NOT_RUNNABLE = "not runnable"


@dataclass(frozen=True)
class QaceRow:
    """What came of one capability, and what it cost."""

    number: int
    branch: Branch
    lesson: Lesson
    usage: Usage
    states_asked: int
    states_unseen: int
    """Those that the run which supplied the capabilities never saw: most cannot be reached."""

    @property
    def finished(self) -> bool:
        """Whether it was asked to the end."""
        return self.lesson.finding is not Finding.UNFINISHED

    def as_dict(self, vocabulary: Vocabulary) -> dict[str, Any]:
        """Return the row as JSON-ready values."""
        return {
            "number": self.number,
            **_named(self.branch, vocabulary),
            "finding": str(self.lesson.finding),
            "reason": self.lesson.reason,
            "parts": [part.as_dict(vocabulary) for part in self.lesson.parts],
            "usage": asdict(self.usage),
            "states_asked": self.states_asked,
            "states_unseen": self.states_unseen,
        }

    @classmethod
    def from_dict(
        cls, values: Mapping[str, Any], compilation: Compilation, vocabulary: Vocabulary
    ) -> QaceRow:
        """Read a row back; it must be of the same capability list."""
        number = values["number"]
        branches = compilation.branches
        written = {name: values[name] for name in ("intent", "disjunct", "start")}
        if number >= len(branches) or _named(branches[number], vocabulary) != written:
            raise RunError(
                f"capability {number} that was learned before, {written['intent']}, is not the one "
                "of this list; go on with the models and settings that the run was started with"
            )
        parts = tuple(QaceCapability.from_dict(part, vocabulary) for part in values["parts"])
        lesson = Lesson(Finding(values["finding"]), parts, values["reason"])
        spent = Usage(**values["usage"])
        states = values["states_asked"], values["states_unseen"]
        return cls(number, branches[number], lesson, spent, *states)


def _named(branch: Branch, vocabulary: Vocabulary) -> dict[str, Any]:
    return {
        "intent": str(branch.intent),
        "disjunct": [str(literal) for literal in branch.within.literals(vocabulary)],
        "start": hex(branch.start),
    }


@dataclass(frozen=True)
class QaceProgress:
    """Where a run stands after one more capability."""

    row: QaceRow
    finished: int
    of: int


Listener = Callable[[QaceProgress], None]


def ignore(progress: QaceProgress) -> None:
    """Listen to nothing."""


@dataclass(frozen=True)
class QaceRun:
    """What QACE made of a problem."""

    problem: str
    outcome: str
    reason: str
    compilation: Compilation
    rows: tuple[QaceRow, ...] = ()
    usage: Usage = field(default_factory=Usage)

    @property
    def learned(self) -> tuple[QaceRow, ...]:
        """The capabilities of the list that were learned."""
        return tuple(row for row in self.rows if row.lesson.finding is Finding.LEARNED)

    @property
    def model(self) -> QaceModel:
        """What was learned, whether or not it is all."""
        missing = Counter(branch.intent for branch in self.compilation.branches)
        missing.subtract(row.branch.intent for row in self.learned)
        complete = [intent for intent in self.compilation.tried if not missing[intent]]
        return QaceModel((part for row in self.learned for part in row.lesson.parts), complete)

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
            "parts": sum(len(row.lesson.parts) for row in self.learned),
            **spent,
            "states_asked": sum(row.states_asked for row in self.rows),
            "states_unseen": sum(row.states_unseen for row in self.rows),
        }


def learn_qace(
    problem: Problem,
    graph: StateGraph,
    settings: QaceSettings,
    heard: Listener = ignore,
    done: Iterable[Mapping[str, Any]] = (),
) -> QaceRun:
    """Learn a model of the capabilities that `models`, of an assessment, has found.

    `heard` is told of each capability as it is finished, and of the one that a spent budget cut
    short; their rows, as `as_dict` wrote them, are the `done` of a later call that goes on.
    """
    begun = time.perf_counter()
    compilation = compile_disjunctions(graph) if settings.compiled else leave_uncompiled(graph)
    if not isinstance(problem.simulator, SettableSimulator):
        reason = "the states of this simulator cannot be set"
        return QaceRun(problem.name, NOT_RUNNABLE, reason, compilation)
    earlier = [QaceRow.from_dict(row, compilation, graph.vocabulary) for row in done]
    rows = {row.number: row for row in earlier if row.finished}
    spent = sum((row.usage for row in earlier), Usage(seconds=time.perf_counter() - begun))
    branches = compilation.branches
    for number, branch in enumerate(branches):
        if number in rows:
            continue
        left = settings.budget.left_after(spent)
        seed = child_seed(settings.seed, number)
        interview = Interview(problem, problem.simulator, branch.intent, seed, left)
        row = _learn(number, branch, interview, graph, settings)
        spent += row.usage
        if row.finished:
            rows[number] = row
        heard(QaceProgress(row, len(rows), len(branches)))
        if not row.finished:
            reason = f"{row.lesson.reason} after {len(rows)} of {len(branches)} capabilities"
            break
    else:
        reason = _why_not(list(rows.values()))
    ordered = tuple(rows[number] for number in sorted(rows))
    outcome = NO_MODEL if reason else MODEL_LEARNED
    return QaceRun(problem.name, outcome, reason, compilation, ordered, spent)


def _learn(
    number: int, branch: Branch, interview: Interview, graph: StateGraph, settings: QaceSettings
) -> QaceRow:
    supplied = sorted(state for rule in graph.rules(branch.intent) for state in rule.states)
    try:
        lesson = learn_branch(branch, interview, supplied, settings)
    except BudgetSpent as spent:
        lesson = Lesson(Finding.UNFINISHED, (), f"budget of {spent} spent")
    asked = interview.answers
    unseen = sum(state not in graph.nodes for state in asked)
    return QaceRow(number, branch, lesson, interview.usage, len(asked), unseen)


def _why_not(rows: Sequence[QaceRow]) -> str:
    """Say what was found of the capabilities that were not learned; nothing if all were."""
    failed = [row for row in rows if row.lesson.finding is not Finding.LEARNED]
    if not failed:
        return ""
    findings = Counter(str(row.lesson.finding) for row in failed)
    counted = ", ".join(f"{finding} ({count})" for finding, count in sorted(findings.items()))
    first = failed[0]
    return (
        f"{len(failed)} of {len(rows)} capabilities could not be modelled: {counted}; for example "
        f"{first.branch.intent}: {first.lesson.reason}"
    )
