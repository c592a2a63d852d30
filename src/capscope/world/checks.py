"""Does a problem keep its contracts? Asked before a run spends anything on it.

Each check exercises the real parts on a short random walk and answers in plain words. A check that
finds nothing is no proof, but each of these mistakes was made in practice and would silently
spoil a model: draws that are copies of one another look like certainty.

Symbolic states are few and forget much. A simulator that lets itself be inspected is compared in
full: what its last step told, its counters and hidden parts, and the states of its generators.

Each check trusts what those before it have tested, so the first that finds something is the last
that is asked: chance cannot be judged in a world whose restore does not restore.
"""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from capscope.errors import CapscopeError, SimulatorError, VocabularyError
from capscope.seeds import child_seed
from capscope.symbolic import Intent, Literal, State
from capscope.world.attempt import Attempt, Ending, Position, pursue
from capscope.world.contracts import HasNotes, Inspection, Observation, Snapshot
from capscope.world.inspection import inspected, not_put_back, outlasting, remedy, suspects, told
from capscope.world.problem import Problem
from capscope.world.shared_generators import SharedGenerators

WALK_STEPS = 60
FUTURE_STEPS = 31  # a prime, or what is not restored might come round again
VISITS_COMPARED = 10
RESETS = 12
RESTORES = 200
ATTEMPT_VISITS = 4
ATTEMPT_INTENTS = 4

Elsewhere = Callable[[Sequence[Snapshot]], list[State]]
"""Restores snapshots in another process and returns the states seen there."""


@dataclass(frozen=True, slots=True)
class CheckFailure:
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
    inside: Inspection
    """What else was there, in a simulator that can be inspected."""


Visits = Sequence[Visit]
Check = Callable[[Problem, Visits, int], Iterator[str]]


def check_problem(
    problem: Problem, seed: int = 0, elsewhere: Elsewhere | None = None
) -> list[CheckFailure]:
    """List what is wrong with a problem's parts; with `elsewhere`, with its snapshots too."""
    before = SharedGenerators.now()
    try:
        visits = list(_walk(problem, seed))
    except VocabularyError as error:
        return [_unsayable(error)]
    except CapscopeError as error:
        return [CheckFailure("walk", str(error))]
    except Exception as error:
        return [CheckFailure("walk", f"a random walk raised {type(error).__name__}: {error}")]
    drawn_from = SharedGenerators.now().drawn_since(before)
    checks: list[tuple[str, Check]] = [
        ("vocabulary", _states_fit_the_vocabulary),
        # Before the restore: chance that no seed reaches is why many a restore fails.
        ("chance", lambda *_: _no_global_chance(drawn_from)),
        ("restore", _restore_restores),
        ("chance", _chance_comes_from_the_seed),
        ("chance", _generators_are_reseeded),
        ("agent", _agent_starts_afresh),
        ("agent", _agent_copes_everywhere),
    ]
    if elsewhere is not None:
        checks.append(("process", lambda _, visits, __: _others_restore(visits, elsewhere)))
    for name, check in checks:
        try:
            findings = [CheckFailure(name, message) for message in check(problem, visits, seed)]
        except VocabularyError as error:
            findings = [_unsayable(error)]
        except SimulatorError as error:
            # An attempt leads where the walk did not; what broke there is no fault of the agent.
            words = isinstance(error.__cause__, VocabularyError)
            findings = [_unsayable(error) if words else CheckFailure("simulator", str(error))]
        except Exception as error:
            findings = [CheckFailure(name, f"raised {type(error).__name__}: {error}")]
        if findings:
            return findings
    return []


def _unsayable(error: CapscopeError) -> CheckFailure:
    words = error.__cause__ or error
    return CheckFailure("vocabulary", f"the abstraction cannot say what it sees: {words}")


def _walk(problem: Problem, seed: int) -> Iterator[Visit]:
    """Take random actions from the initial position, starting again whenever the world ends."""
    simulator, look = problem.simulator, problem.abstraction
    rng = random.Random(child_seed(seed, 0))
    state = look(simulator.reset(seed))
    for step in range(WALK_STEPS):
        yield Visit(simulator.snapshot(), state, inspected(simulator))
        actions = list(simulator.actions())
        if actions:
            state = look(simulator.step(rng.choice(actions)))
        else:
            state = look(simulator.reset(child_seed(seed, 1, step)))


def _no_global_chance(drawn_from: Sequence[str]) -> Iterator[str]:
    if drawn_from:
        yield (
            f"the simulator or the abstraction draws from {' and '.join(drawn_from)}, which no "
            "seed of reset() or restore() reaches; give it a generator of its own that they seed "
            "(in a Gymnasium environment self.np_random)"
        )


def _spread(visits: Visits, count: int) -> Visits:
    """Choose visits from all along the walk."""
    return visits[:: max(1, len(visits) // count)][:count]


def _states_fit_the_vocabulary(problem: Problem, visits: Visits, seed: int) -> Iterator[str]:
    atoms = len(problem.vocabulary.atoms)
    for state in (visit.state for visit in visits):
        if not isinstance(state, int) or state < 0:
            yield f"the abstraction returned {state!r}; a state is a non-negative int"
            return
        if state > problem.vocabulary.mask:
            bits = [i for i in range(atoms, state.bit_length()) if state >> i & 1]
            yield (
                f"the abstraction set bits {bits[:5]} beyond the vocabulary's {atoms} atoms; "
                "declare the atoms or mend the abstraction"
            )
            return


def _restore_restores(problem: Problem, visits: Visits, seed: int) -> Iterator[str]:
    simulator, look = problem.simulator, problem.abstraction
    for visit in reversed(visits):
        if not isinstance(visit.snapshot, bytes):
            yield f"snapshot() returned {type(visit.snapshot).__name__}; it must return bytes"
            return
        state = look(simulator.restore(visit.snapshot, seed))
        now = inspected(simulator)
        wrong = ""
        if state != visit.state:
            changed = [str(a) for a in problem.vocabulary.holding(state ^ visit.state)]
            wrong = (
                "restoring a snapshot gave another state than the one it was taken in: "
                f"{', '.join(changed)} differ; restore() must put back everything that is observed"
            )
        elif changes := not_put_back(visit.inside, now):
            wrong = f"restoring a snapshot did not put everything back: {changes}"
        elif look(simulator.restore(simulator.snapshot(), seed)) != visit.state:
            wrong = "a snapshot taken right after a restore does not lead back to the same state"
        if wrong:
            yield f"{wrong}{outlasting(visit.inside, now)}{remedy(simulator)}"
            return


Sign = tuple[State, tuple[str, ...]]
"""What a step shows: the symbolic state, and what was told of an inspectable simulator."""


def _sign(problem: Problem, now: Observation) -> Sign:
    return problem.abstraction(now), told(problem.simulator)


def _future(problem: Problem, now: Observation, seed: int) -> tuple[Sign, ...]:
    """Take the actions that a seed picks; return what shows from now on."""
    simulator = problem.simulator
    rng = random.Random(child_seed(seed, 2))
    signs = [_sign(problem, now)]
    for _ in range(FUTURE_STEPS):
        actions = list(simulator.actions())
        if not actions:
            break
        signs.append(_sign(problem, simulator.step(rng.choice(actions))))
    return tuple(signs)


def _chance_comes_from_the_seed(problem: Problem, visits: Visits, seed: int) -> Iterator[str]:
    """Find futures that the seed does not fix, and futures that it does not touch."""
    simulator = problem.simulator

    def restored(snapshot: Snapshot, draw: int) -> tuple[Sign, ...]:
        return _future(problem, simulator.restore(snapshot, child_seed(seed, 3, draw)), seed)

    def reset() -> tuple[Sign, ...]:
        return _future(problem, simulator.reset(seed), seed)

    compared = _spread(visits, VISITS_COMPARED)
    if any(restored(visit.snapshot, 0) != restored(visit.snapshot, 0) for visit in compared):
        yield (
            "the same snapshot, seed and actions led to different states; all chance in the "
            "simulator must come from restore()'s seed, and restore() must leave nothing as it was"
            f"{_reason(problem, compared, seed)}"
        )
    elif reset() != reset():
        first, second = (_inside(problem, lambda: simulator.reset(seed), seed) for _ in range(2))
        yield (
            "the same reset seed and actions led to different states; all chance in the "
            "simulator must come from the seed given to reset(), and nothing may outlast it"
            f"{suspects(first, second) or remedy(simulator, randomness=True)}"
        )
    elif _chance_after_reset(problem, seed):
        simulator.reset(child_seed(seed, 4, 0))
        initial = simulator.snapshot()
        one = restored(initial, 0)
        # A rare event may fail to show in a few restores; it will not in all of these.
        if all(restored(initial, draw) == one for draw in range(1, RESTORES)):
            yield (
                f"{RESTORES} restores with {RESTORES} seeds gave one and the same future although "
                "resets to the same position do not; restore() must draw later chance from its "
                "seed and not from the snapshot, or all draws are copies of one"
                f"{remedy(simulator, randomness=True)}"
            )


def _chance_after_reset(problem: Problem, seed: int) -> bool:
    """Say whether resets that look alike have different futures: the world is stochastic."""
    futures: dict[bytes, tuple[Sign, ...]] = {}
    for draw in range(RESETS):
        observation = problem.simulator.reset(child_seed(seed, 4, draw))
        # A world that is laid out anew by each reset is not stochastic for that.
        looks = _looks(problem, observation)
        future = _future(problem, observation, seed)
        if futures.setdefault(looks, future) != future:
            return True
    return False


def _reason(problem: Problem, visits: Visits, seed: int) -> str:
    """Name what differs inside after two restores of one snapshot by one seed, and the remedy."""
    simulator = problem.simulator
    for visit in visits:
        restore = partial(simulator.restore, visit.snapshot, child_seed(seed, 3, 0))
        first, second = (_inside(problem, restore, seed) for _ in range(2))
        if found := suspects(first, second):
            randomness = first.generators != second.generators
            return f"{found}{remedy(simulator, randomness=randomness)}"
    return f"{remedy(simulator)}{remedy(simulator, randomness=True)}"


def _inside(problem: Problem, go: Callable[[], Observation], seed: int) -> Inspection:
    """Go somewhere, look inside, and go on a little: the next time there is something to undo."""
    now = go()
    found = inspected(problem.simulator)
    _future(problem, now, seed)
    return found


def _generators_are_reseeded(problem: Problem, visits: Visits, seed: int) -> Iterator[str]:
    """Look at the generators themselves: chance that is rare does not show in a few futures."""
    restore = problem.simulator.restore
    for visit in _spread(visits, VISITS_COMPARED):
        first, again, other = (
            _inside(problem, partial(restore, visit.snapshot, child_seed(seed, 3, draw)), seed)
            for draw in (0, 0, 1)
        )
        states = first.generators.items()
        wild = [name for name, state in states if again.generators.get(name) != state]
        stuck = [name for name, state in states if other.generators.get(name) == state]
        if wild or stuck:
            how = "takes no heed of" if stuck else "is not fixed by"
            yield (
                f"the random generator {(stuck or wild)[0]} {how} restore()'s seed"
                f"{remedy(problem.simulator, randomness=True)}"
            )
            return


def notes_on(problem: Problem, seed: int = 0) -> list[str]:
    """Say what is not wrong with a problem, but may surprise its user."""
    notes = [
        note
        for part in (problem.simulator, problem.agent, problem.abstraction)
        if isinstance(part, HasNotes)
        for note in part.notes()
    ]
    visits = list(_walk(problem, seed))
    if len({visit.state for visit in visits}) == 1:
        notes.append(
            f"{WALK_STEPS} random steps never changed the symbolic state; if longer walks do not "
            "either, name what the agent is to be asked for with --intents"
        )
    resets = (problem.simulator.reset(child_seed(seed, 4, draw)) for draw in range(RESETS))
    different = len({_looks(problem, observation) for observation in resets})
    if different > 1:
        notes.append(
            f"{RESETS} resets began in {different} different positions; a run begins at as many "
            "as --resets says and speaks of what can be met from there"
        )
    return notes


def _looks(problem: Problem, observation: Observation) -> bytes:
    if parts := inspected(problem.simulator).parts:
        return pickle.dumps(sorted(parts.items()))
    try:
        return pickle.dumps(observation)
    except Exception:  # whatever a user's class raises: then its symbolic state must do
        return pickle.dumps(problem.abstraction(observation))


def _agent_starts_afresh(problem: Problem, visits: Visits, seed: int) -> Iterator[str]:
    """Repeat an attempt with one seed after other attempts: a memory shows as a difference."""
    intents = _intents_seen(problem, visits)[:ATTEMPT_INTENTS]
    untouched = SharedGenerators.now()
    for visit in _spread(visits, ATTEMPT_VISITS):
        first = [_attempted(problem, visit, intent, seed) for intent in intents]
        second = [_attempted(problem, visit, intent, seed) for intent in reversed(intents)][::-1]
        for intent, before, after in zip(intents, first, second, strict=True):
            if wrong := _broken_down(intent, before):
                yield wrong
                return
            if before[:3] != after[:3]:
                drawn_from = SharedGenerators.now().drawn_since(untouched)
                yield (
                    f"asked twice for {intent} from one position with one seed, the agent did "
                    "different things; begin() must start afresh, with chance from its seed only"
                    + (f"; it draws from {' and '.join(drawn_from)}" if drawn_from else "")
                )
                return


def _agent_copes_everywhere(problem: Problem, visits: Visits, seed: int) -> Iterator[str]:
    """Ask once at every position: an agent that is wrong in one branch is wrong in few of them."""
    intents = _intents_seen(problem, visits)
    words = problem.vocabulary
    for number, visit in enumerate(visits):
        # What holds already is no work, and shows little of the agent.
        open_here = [i for i in intents if not i.holds(visit.state, words)] or intents
        if not open_here:
            return
        intent = open_here[number % len(open_here)]
        attempt = _attempted(problem, visit, intent, child_seed(seed, number), FUTURE_STEPS)
        if wrong := _broken_down(intent, attempt):
            yield wrong
            return
        # A language model is slow and is paid for: what was asked before has to do.
        if attempt.llm_tokens:
            return


def _broken_down(intent: Intent, attempt: Attempt) -> str:
    """Say that the agent raised or chose what it cannot do; nothing if it did neither."""
    if attempt.ending is Ending.AGENT_RAISED:
        return f"the agent raised on intent {intent}: {attempt.detail}"
    if attempt.ending is Ending.INVALID_ACTION:
        return (
            f"asked for {intent}, the agent chose an action that is not available "
            f"({attempt.detail}); an attempt that does so ends there and has failed: choose one of "
            "actions(), or None to stop"
        )
    return ""


def _attempted(
    problem: Problem, visit: Visit, intent: Intent, seed: int, max_steps: int | None = None
) -> Attempt:
    observation = problem.simulator.restore(visit.snapshot, child_seed(seed, 5))
    start = Position(observation, problem.abstraction(observation))
    return pursue(problem, intent, start, child_seed(seed, 6), max_steps)[0]


def _intents_seen(problem: Problem, visits: Visits) -> list[Intent]:
    """Return an intent for each atom that was true here and false there."""
    ever, always = 0, problem.vocabulary.mask
    for visit in visits:
        ever, always = ever | visit.state, always & visit.state
    return [Intent((Literal(atom),)) for atom in problem.vocabulary.holding(ever & ~always)]


def _others_restore(visits: Visits, elsewhere: Elsewhere) -> Iterator[str]:
    try:
        right = elsewhere([visit.snapshot for visit in visits]) == [v.state for v in visits]
        reason = "it gave another state there"
    except Exception as error:
        right, reason = False, str(error)
    if not right:
        yield (
            f"a snapshot could not be restored in another process ({reason}); it must hold the "
            "whole position and not refer to this process's memory"
        )
