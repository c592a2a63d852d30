"""Make a test of a finding: find a position that shows it, shrink that, measure, write, try."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from capscope.errors import CapscopeError, ProblemError
from capscope.insight.findings import Finding
from capscope.journal.run_directory import write_atomically
from capscope.logic import Effect
from capscope.problem import Problem, Snapshot
from capscope.problem.actions import WrittenAction
from capscope.repro.check import (
    PositionTrials,
    RequestPath,
    Start,
    assert_achieved,
    assert_not_caused,
    reached,
)
from capscope.repro.json_state import read_tree, written_tree
from capscope.repro.shrink import Experiment, Measured, repetitions, shrunk
from capscope.repro.symptom import SeenSymptom, candidates
from capscope.repro.text import WrittenTest, file_text, name_for
from capscope.run import Run
from capscope.stats.sequential_test import SequentialTest
from capscope.wording import counted, share

POWER = 0.99
_SEED = 1
"""Of the executions that make a test; the test has its own."""
_MOST_SECONDS = 30.0
"""Of a test on the machine that made it; half of what a test may take."""
_MOST_REPETITIONS = 1_000
_LONGEST = 6_000
"""Characters of a position in a test."""
_MOST_BYTES = 2_000
_MOST_UNWANTED = 8
"""Of more changes of one kind, those that were seen are forbidden."""
_MOST_KNOWN = 5
_MOST_RESETS = 50
_BETTER = 4
"""By this factor an agent fails less often that passes a test."""


@dataclass(frozen=True)
class Repro:
    """A test of a finding, and what it took."""

    file: str
    request: str
    change: str
    objects: int
    """That its position, request and assertion name."""
    objects_of_problem: int
    shrunk: bool
    """Whether anything was left out of the position."""
    times: int
    """The executions of the test, at most."""
    power: float
    """With which it fails on this agent, at the lowest rate that the executions leave possible."""
    fails: bool
    """Whether it failed on this agent when it was tried."""
    executions: int
    """That it took to make it."""
    seconds: float


def make_repro(
    run: Run,
    problem: Problem,
    finding: Finding,
    folder: Path,
    most_executions: int,
    source: str | None = None,
) -> Repro:
    """Write a test that fails because of a finding, and not without it.

    Args:
        run: The run.
        problem: Its problem.
        finding: One of its findings.
        folder: Where to write the test.
        most_executions: To spend on choosing the position and shrinking it.
        source: What the test loads the problem from; as in the run unless given.

    Returns:
        The test, and what it took.

    Raises:
        CapscopeError: No position shows the finding, or the test exists.
    """
    begun = time.perf_counter()
    file = folder / f"{name_for(finding.request, f'{finding.change}{finding.condition}')}.py"
    if file.exists():
        raise CapscopeError(f"{file} exists; remove it, or choose another --output")
    candidate, snapshot, experiment = _shown(run, problem, finding, most_executions)
    known = list(_sparing(run, candidate))
    smaller, measured = _smaller(experiment, snapshot, run.identity.seed, known)
    start = _start(run, problem, candidate, smaller, smaller != snapshot)
    possible = experiment.spared(smaller, known)
    given = _assertion(experiment, candidate, smaller, measured, possible)
    objects = _objects(problem, candidate, smaller, given)
    left = f"{len(objects)} of {counted(len(problem.vocabulary.objects), 'object')}"
    shrunk_to = [f"The position was shrunk as long as that went on: {left}."]
    says = [finding.sentence, *_says(measured, given, possible)]
    says += [*(shrunk_to if smaller != snapshot else []), "Written by capscope repro."]
    function = "assert_achieved" if candidate.symptom.unwanted is None else "assert_not_caused"
    request = str(candidate.symptom.intent)
    text = WrittenTest(
        file.stem, says, source or run.identity.source, start, function, request, given
    )
    fails = _fails(problem, request, start, given)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(file, file_text(text, folder.resolve()))
    return Repro(
        str(file),
        request,
        finding.change,
        len(objects),
        len(problem.vocabulary.objects),
        smaller != snapshot,
        _times(given),
        _power(measured, given),
        fails,
        experiment.made,
        time.perf_counter() - begun,
    )


def _smaller(
    experiment: Experiment,
    snapshot: Snapshot,
    seed: int,
    known: Sequence[Sequence[WrittenAction]],
) -> tuple[Snapshot, Measured]:
    """Shrink a position, and measure how often the symptom happens then."""
    simulator = experiment.problem.simulator
    simulator.reset(seed)
    smaller = shrunk(experiment, snapshot, simulator.snapshot(), known)
    measured = experiment.measured(smaller)
    if smaller != snapshot and not measured.hits:
        return snapshot, experiment.measured(snapshot)
    return smaller, measured


def _shown(
    run: Run, problem: Problem, finding: Finding, most: int
) -> tuple[SeenSymptom, Snapshot, Experiment]:
    """Return a position in which a finding shows, and the experiment so far."""
    made = 0
    for candidate in candidates(run, problem, finding):
        experiment = Experiment(problem, candidate.symptom, most, _SEED)
        experiment.made = made
        for snapshot in candidate.positions:
            if experiment.shows(snapshot, candidate.rate):
                return candidate, snapshot, experiment
        made = experiment.made
    raise CapscopeError(
        f"no position kept shows it again in {counted(made, 'execution')}: {finding.sentence}"
    )


def _sparing(run: Run, candidate: SeenSymptom) -> Iterator[tuple[WrittenAction, ...]]:
    """Yield actions of executions that achieved the request without the symptom."""
    table, symptom, words = run.executions, candidate.symptom, run.graph.vocabulary
    rows = np.flatnonzero((table.capability == run.graph.index[symptom.intent]) & ~table.cut)
    holds = symptom.intent.test(words)
    seen: list[tuple[WrittenAction, ...]] = []
    for row in rows.tolist():
        before, after = (table.states[side[row]] for side in (table.before, table.after))
        good = holds(after) and not holds(before)
        if good and not symptom.shown_by(Effect.between(before, after), failed=False):
            actions = run.actions(row)
            if actions and actions not in seen:
                seen.append(actions)
                yield actions
        if len(seen) == _MOST_KNOWN:
            return


def _start(
    run: Run, problem: Problem, candidate: SeenSymptom, snapshot: Snapshot, changed: bool
) -> Start:
    """Return how a test goes to a position: inline if that can be read, or by requests."""
    readable = read_tree(snapshot) is not None and len(snapshot) <= _LONGEST
    if changed or (readable and isinstance(read_tree(snapshot), dict)):
        return snapshot
    for path in _paths(problem, candidate):
        with suppress(ProblemError):
            reached(problem, path)
            return path
    if len(snapshot) <= _MOST_BYTES:
        return snapshot
    raise CapscopeError(
        f"its position takes {len(snapshot):,} bytes, and no requests are known that always lead "
        "there"
    )


def _paths(problem: Problem, candidate: SeenSymptom) -> Iterator[RequestPath]:
    """Yield the requests that lead to a state from a reset, if a reset begins there."""
    path = candidate.path
    if path is None:
        return
    begin = path[0].state if path else candidate.state
    holds = Effect.between(begin, candidate.state).literals(problem.vocabulary)
    for seed in range(_MOST_RESETS):
        if problem.abstraction(problem.simulator.reset(seed)) == begin:
            yield RequestPath([str(one.intent) for one in path], list(map(str, holds)), seed)
            return


def _assertion(
    experiment: Experiment,
    candidate: SeenSymptom,
    snapshot: Snapshot,
    measured: Measured,
    possible: bool,
) -> dict[str, Any]:
    """Return the arguments of the assertion."""
    slowness = max(measured.seconds / measured.executions, 1e-9)
    most = max(min(_MOST_REPETITIONS, int(_MOST_SECONDS / slowness)), 1)
    if candidate.symptom.unwanted is not None:
        unwanted = experiment.possible(snapshot).literals(experiment.problem.vocabulary)
        if len(unwanted) > _MOST_UNWANTED:
            unwanted = measured.made.literals(experiment.problem.vocabulary)
        times = min(repetitions(measured.low, POWER), most)
        given = {"unwanted": list(map(str, unwanted)), "times": times}
        return given if measured.achieved or possible else {**given, "achieving": False}
    if not possible:
        raise CapscopeError(
            "no actions that achieve the request there were found: the agent may be right to fail"
        )
    repetitions(measured.low, POWER)  # raises if it did not happen again
    low = round(max(1 - measured.low, 0.001), 3)
    high = round(1 - min(measured.low, 1 - low) / _BETTER, 3)
    for error_rate in (0.01, 0.05, 0.1):
        try:
            if SequentialTest(low, high, error_rate).most_draws <= most:
                return {"at_least": high, "rather_than": low, "error_rate": error_rate}
        except CapscopeError:
            continue
    raise CapscopeError(f"it fails too rarely to test that: at least {measured.low:.1%}")


def _times(given: dict[str, Any]) -> int:
    if "times" in given:
        return int(given["times"])
    return _test(given).most_draws


def _test(given: dict[str, Any]) -> SequentialTest:
    return SequentialTest(given["rather_than"], given["at_least"], given["error_rate"])


def _power(measured: Measured, given: dict[str, Any]) -> float:
    if "times" in given:
        return 1.0 - (1.0 - measured.low) ** int(given["times"])
    return 1.0 - float(given["error_rate"])


def _fails(problem: Problem, request: str, start: Start, given: dict[str, Any]) -> bool:
    """Return whether a test fails on the agent that it was made with."""
    try:
        if "times" in given:
            rest = {name: value for name, value in given.items() if name != "unwanted"}
            assert_not_caused(problem, request, given["unwanted"], start=start, **rest)
        else:
            assert_achieved(problem, request, start=start, **given)
    except AssertionError:
        return True
    return False


def _objects(
    problem: Problem, candidate: SeenSymptom, snapshot: Snapshot, given: dict[str, Any]
) -> set[str]:
    """Return the objects that a position and an assertion name."""
    words = problem.vocabulary
    state = PositionTrials(problem, candidate.symptom.intent, snapshot).state
    said = [str(atom) for atom in words.holding(state)] + list(given.get("unwanted", ()))
    if read_tree(snapshot) is not None:
        said.append(written_tree(read_tree(snapshot)).decode())
    named = {name for text in said for name in re.findall(r"[^\s(),\"\[\]{}:]+", text)}
    return (named & words.objects.keys()) | set(candidate.symptom.intent.objects)


def _says(measured: Measured, given: dict[str, Any], possible: bool) -> Iterator[str]:
    """Yield what a reader of a test should know."""
    seen = f"In this position: {measured.hits} of {counted(measured.executions, 'execution')}"
    if "times" in given:
        times, power = counted(given["times"], "execution"), share(_power(measured, given))
        seen += f"; at the lowest rate that this leaves possible, {times} show it with {power}"
    yield f"{seen}."
    if not possible:
        yield "No actions that achieve the request otherwise were found: is it possible there?"
