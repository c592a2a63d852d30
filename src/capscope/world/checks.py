"""Does a problem keep its contracts? Asked before a run spends anything on it.

Each check exercises the real parts on a short random walk and answers in plain words. A check that
finds nothing is no proof, but each of these mistakes was made in practice and would silently
spoil a model: draws that are copies of one another look like certainty.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from capscope.errors import CapscopeError
from capscope.seeds import child_seed
from capscope.symbolic import Intent, Literal, State
from capscope.world.attempt import Ending, Position, pursue
from capscope.world.contracts import Snapshot
from capscope.world.problem import Problem

WALK_STEPS = 60
REPEATS = 12


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a check found wrong."""

    check: str
    message: str

    def __str__(self) -> str:
        return f"{self.check}: {self.message}"


@dataclass(frozen=True, slots=True)
class Visit:
    """A position met on the walk: how to get back, and what was seen there."""

    snapshot: Snapshot
    state: State


def check_problem(problem: Problem, seed: int = 0, factory: str | None = None) -> list[Finding]:
    """Exercise a problem's parts and list what is wrong, in plain words.

    `factory` is the `file.py:function` or name the problem came from; with it, a snapshot is also
    restored in a fresh process.
    """
    try:
        visits = list(_walk(problem, seed))
    except Exception as error:
        return [Finding("walk", f"a random walk raised {type(error).__name__}: {error}")]
    checks: list[Callable[[], Iterator[str]]] = [
        lambda: _states_fit_the_vocabulary(problem, visits),
        lambda: _restore_restores(problem, visits, seed),
        lambda: _restore_reseeds(problem, visits, seed),
        lambda: _agent_starts_afresh(problem, visits, seed),
    ]
    names = ["vocabulary", "restore", "chance", "agent"]
    if factory is not None:
        checks.append(lambda: _other_process_restores(visits, factory))
        names.append("process")
    findings = []
    for name, check in zip(names, checks, strict=True):
        try:
            findings += [Finding(name, message) for message in check()]
        except Exception as error:
            findings.append(Finding(name, f"raised {type(error).__name__}: {error}"))
    return findings


def _walk(problem: Problem, seed: int) -> Iterator[Visit]:
    """Take random actions from the initial position, starting again whenever the world ends."""
    simulator, look = problem.simulator, problem.abstraction
    rng = random.Random(child_seed(seed, 0))
    state = look(simulator.reset(seed))
    for step in range(WALK_STEPS):
        yield Visit(simulator.snapshot(), state)
        actions = simulator.actions()
        if actions:
            state = look(simulator.step(rng.choice(list(actions))))
        else:
            state = look(simulator.reset(child_seed(seed, 1, step)))


def _states_fit_the_vocabulary(problem: Problem, visits: list[Visit]) -> Iterator[str]:
    vocabulary = problem.vocabulary
    for visit in visits:
        if not isinstance(visit.state, int) or visit.state < 0:
            yield f"the abstraction returned {visit.state!r}; a state is a non-negative int"
            return
        if visit.state > vocabulary.mask:
            bits = [i for i in range(visit.state.bit_length()) if i >= len(vocabulary.atoms)]
            yield (
                f"the abstraction set bits {bits[:5]} beyond the vocabulary's "
                f"{len(vocabulary.atoms)} atoms; declare the atoms or mend the abstraction"
            )
            return


def _restore_restores(problem: Problem, visits: list[Visit], seed: int) -> Iterator[str]:
    simulator, look = problem.simulator, problem.abstraction
    for visit in reversed(visits):
        if not isinstance(visit.snapshot, bytes):
            yield f"snapshot() returned {type(visit.snapshot).__name__}; it must return bytes"
            return
        state = look(simulator.restore(visit.snapshot, seed))
        if state != visit.state:
            changed = [str(a) for a in problem.vocabulary.holding(state ^ visit.state)]
            yield (
                f"restoring a snapshot gave another state than the one it was taken in: "
                f"{', '.join(changed)} differ; restore() must put back everything that is observed"
            )
            return
        again = simulator.snapshot()
        if look(simulator.restore(again, seed)) != visit.state:
            yield "a snapshot taken right after a restore does not lead back to the same state"
            return


def _restore_reseeds(problem: Problem, visits: list[Visit], seed: int) -> Iterator[str]:
    """Find draws that are copies: one seed must repeat, and seeds must not all be ignored."""
    simulator, look = problem.simulator, problem.abstraction

    def steps_after(visit: Visit, draw: int) -> list[State]:
        rng = random.Random(child_seed(seed, 2))
        state = look(simulator.restore(visit.snapshot, child_seed(seed, 3, draw)))
        states = [state]
        for _ in range(10):
            actions = list(simulator.actions())
            if not actions:
                break
            states.append(look(simulator.step(rng.choice(actions))))
        return states

    for visit in visits[:10]:
        if steps_after(visit, 0) != steps_after(visit, 0):
            yield (
                "the same snapshot, seed and actions led to different states; all chance in the "
                "simulator must come from the seed given to reset() and restore()"
            )
            return
    # Chance that comes from one global generator shows as seeds that make no difference right
    # after a restore although the same position does lead to different states over time.
    for visit in visits[:10]:
        by_seed = {tuple(steps_after(visit, draw)) for draw in range(REPEATS)}
        unseeded = {tuple(_steps_without_restore(problem, visit, seed, i)) for i in range(REPEATS)}
        if len(by_seed) == 1 and len(unseeded) > 1:
            yield (
                f"{REPEATS} restores with {REPEATS} seeds gave one and the same future although "
                "the world is stochastic; restore() must reseed, or draws are copies"
            )
            return


def _steps_without_restore(problem: Problem, visit: Visit, seed: int, skip: int) -> list[State]:
    """Restore once, burn `skip` random steps, restore the position with the same seed, and step."""
    simulator, look = problem.simulator, problem.abstraction
    rng = random.Random(child_seed(seed, 2))
    states = [look(simulator.reset(child_seed(seed, 4, skip)))]
    simulator.restore(visit.snapshot, child_seed(seed, 4, skip))
    for _ in range(10):
        actions = list(simulator.actions())
        if not actions:
            break
        states.append(look(simulator.step(rng.choice(actions))))
    return states


def _agent_starts_afresh(problem: Problem, visits: list[Visit], seed: int) -> Iterator[str]:
    """Repeat an attempt with one seed after other attempts: a memory shows as a difference."""
    simulator, look = problem.simulator, problem.abstraction
    intents = _intents_seen(problem, visits)[:6]

    def once(visit: Visit, intent: Intent) -> tuple[State, ...]:
        observation = simulator.restore(visit.snapshot, child_seed(seed, 5))
        start = Position(observation, look(observation))
        attempt, _ = pursue(problem, intent, start, child_seed(seed, 6))
        if attempt.ending is Ending.AGENT_RAISED:
            raise CapscopeError(f"the agent raised on intent {intent}: {attempt.detail}")
        return attempt.trajectory

    for visit in visits[:6]:
        first = [once(visit, intent) for intent in intents]
        second = [once(visit, intent) for intent in reversed(intents)][::-1]
        for intent, before, after in zip(intents, first, second, strict=True):
            if before != after:
                yield (
                    f"asked twice for {intent} from one position with one seed, the agent did "
                    "different things; begin() must start afresh, with chance from its seed only"
                )
                return


def _intents_seen(problem: Problem, visits: list[Visit]) -> list[Intent]:
    vocabulary = problem.vocabulary
    states = [visit.state for visit in visits]
    ever = always = states[0]
    for state in states:
        ever, always = ever | state, always & state
    changing = vocabulary.holding(ever & ~always & vocabulary.mask)
    return [Intent((Literal(atom),)) for atom in changing]


_RESTORE = """
import sys
from capscope.problems import load_problem
problem = load_problem(sys.argv[1])
for line in sys.stdin:
    snapshot, state = line.split()
    seen = problem.abstraction(problem.simulator.restore(bytes.fromhex(snapshot), 0))
    if seen != int(state):
        sys.exit(f"restored state {seen:#x} instead of {int(state):#x}")
"""


def _other_process_restores(visits: list[Visit], factory: str) -> Iterator[str]:
    lines = "".join(f"{visit.snapshot.hex() or '00'} {visit.state}\n" for visit in visits)
    result = subprocess.run(
        [sys.executable, "-c", _RESTORE, factory],
        input=lines,
        capture_output=True,
        text=True,
        timeout=300,
    )
    if result.returncode:
        reason = (result.stderr.strip().splitlines() or ["no reason given"])[-1]
        yield f"a snapshot could not be restored in another process ({reason})"
