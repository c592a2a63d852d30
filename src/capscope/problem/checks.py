"""Check that a problem keeps its contracts, before a run spends anything on it.

Each check uses the real simulator, agent and abstraction on a short random walk. Passing is not a
proof, but each of these mistakes was made in practice and silently spoils a model. Different
positions may have the same symbolic state, so an inspectable simulator is compared in full. Each
check relies on those before it, so checking stops at the first failure.
"""

import itertools
import pickle
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from capscope.errors import CapscopeError, SimulatorError, VocabularyError
from capscope.logic import Intent, Literal, State
from capscope.problem import inspection
from capscope.problem.attempt import Attempt, Ending, Position, only_by_itself, pursue
from capscope.problem.problem import HasNotes, Inspection, Observation, Problem, Snapshot
from capscope.seeds import child_seed

WALK_STEPS = 60
FUTURE_STEPS = 31  # a prime: a hidden counter must not come back to the same value
VISITS_COMPARED = 10
RESETS = 12
RESTORES = 200
ATTEMPT_VISITS = 4
ATTEMPT_INTENTS = 4
IDLE_ATTEMPTS = 40

RestoreElsewhere = Callable[[Sequence[Snapshot]], list[State]]
"""Restores snapshots in another process and returns the states seen there."""


@dataclass(frozen=True, slots=True)
class CheckFailure:
    """A check that failed, and why."""

    check: str
    message: str

    def __str__(self) -> str:
        return f"{self.check}: {self.message}"


class Visit(NamedTuple):
    """A position of the walk."""

    snapshot: Snapshot
    state: State
    inside: Inspection


Visits = Sequence[Visit]


@only_by_itself()
def check_problem(
    problem: Problem, seed: int = 0, elsewhere: RestoreElsewhere | None = None
) -> list[CheckFailure]:
    """Look for mistakes in a problem.

    Args:
        problem: The problem.
        seed: Seeds the random steps.
        elsewhere: Restores a snapshot in another process, to check that too.

    Returns:
        The mistakes found; none if the list is empty.
    """
    visits: list[Visit] = []
    before = inspection.global_generators()

    def walk() -> str:
        visits.extend(_walk(problem, seed))
        return ""

    checks: list[tuple[str, Callable[[], str]]] = [
        ("walk", walk),
        ("vocabulary", lambda: _states_fit_the_vocabulary(problem, visits)),
        # Before the restore, because randomness that no seed reaches makes restores fail.
        ("randomness", lambda: _no_global_randomness(inspection.drawn_since(before))),
        ("restore", lambda: _restore_restores(problem, visits, seed)),
        ("randomness", lambda: _seeds_determine_futures(problem, visits, seed)),
        ("randomness", lambda: _generators_are_reseeded(problem, visits, seed)),
        ("agent", lambda: _attempts_are_independent(problem, visits, seed)),
        ("agent", lambda: _agent_works_everywhere(problem, visits, seed)),
    ]
    if elsewhere is not None:
        checks.append(("process", lambda: _restores_elsewhere(visits, elsewhere)))
    failures = (_failure(name, check) for name, check in checks)
    return list(itertools.islice(filter(None, failures), 1))


def _failure(name: str, check: Callable[[], str]) -> CheckFailure | None:
    try:
        message = check()
        return CheckFailure(name, message) if message else None
    except CapscopeError as error:
        # In an attempt, the error of the abstraction is the cause of a `SimulatorError`.
        reason = error.__cause__ if isinstance(error, SimulatorError) else error
        if isinstance(reason, VocabularyError):
            return CheckFailure("vocabulary", f"the abstraction used an unknown atom: {reason}")
        # An attempt may reach positions that the walk did not; the agent is not to blame.
        return CheckFailure("simulator" if isinstance(error, SimulatorError) else name, str(error))
    except Exception as error:
        return CheckFailure(name, f"raised {type(error).__name__}: {error}")


def _walk(problem: Problem, seed: int) -> Iterator[Visit]:
    """Take random actions from the initial position, with a reset whenever the episode ends."""
    simulator, abstraction = problem.simulator, problem.abstraction
    rng = random.Random(child_seed(seed, 0))
    state = abstraction(simulator.reset(seed))
    for step in range(WALK_STEPS):
        yield Visit(simulator.snapshot(), state, inspection.inspect(simulator))
        actions = list(simulator.actions())
        if actions:
            state = abstraction(simulator.step(rng.choice(actions)))
        else:
            state = abstraction(simulator.reset(child_seed(seed, 1, step)))


def _no_global_randomness(drawn_from: Sequence[str]) -> str:
    if not drawn_from:
        return ""
    return (
        f"the simulator or the abstraction draws from {' and '.join(drawn_from)}, which no seed of "
        "reset() or restore() reaches; give it its own generator and seed that (in a Gymnasium "
        "environment self.np_random)"
    )


def _spread(visits: Visits, count: int) -> Visits:
    """Choose visits from all parts of the walk."""
    return visits[:: max(1, len(visits) // count)][:count]


def _states_fit_the_vocabulary(problem: Problem, visits: Visits) -> str:
    atoms = len(problem.vocabulary.atoms)
    for state in (visit.state for visit in visits):
        if not isinstance(state, int) or state < 0:
            return f"the abstraction returned {state!r}; a state is a non-negative int"
        if state > problem.vocabulary.mask:
            bits = [i for i in range(atoms, state.bit_length()) if state >> i & 1]
            return (
                f"the abstraction set bits {bits[:5]} beyond the vocabulary's {atoms} atoms; "
                "declare the atoms or fix the abstraction"
            )
    return ""


def _restore_restores(problem: Problem, visits: Visits, seed: int) -> str:
    simulator, abstraction = problem.simulator, problem.abstraction
    for visit in reversed(visits):
        if not isinstance(visit.snapshot, bytes):
            return f"snapshot() returned {type(visit.snapshot).__name__}; it must return bytes"
        state = abstraction(simulator.restore(visit.snapshot, seed))
        now = inspection.inspect(simulator)
        wrong = ""
        if state != visit.state:
            changed = [str(a) for a in problem.vocabulary.holding(state ^ visit.state)]
            wrong = (
                f"restoring a snapshot led to a different state: {', '.join(changed)} differ; "
                "restore() must restore everything that is observed"
            )
        elif changes := inspection.not_restored(visit.inside, now):
            wrong = f"restoring a snapshot did not restore everything: {changes}"
        elif abstraction(simulator.restore(simulator.snapshot(), seed)) != visit.state:
            wrong = "a snapshot taken right after a restore does not lead back to the same state"
        if wrong:
            reason = inspection.possible_reason(visit.inside, now)
            return f"{wrong}{reason}{inspection.remedy(simulator)}"
    return ""


Signs = tuple[tuple[State, tuple[str, ...]], ...]
"""For each step the symbolic state and, if the simulator is inspectable, the step itself."""


def _future(problem: Problem, now: Observation, seed: int) -> Signs:
    """Take random actions and return what is observed."""
    simulator = problem.simulator
    rng = random.Random(child_seed(seed, 2))
    signs = [(problem.abstraction(now), inspection.last_step(simulator))]
    for _ in range(FUTURE_STEPS):
        actions = list(simulator.actions())
        if not actions:
            break
        now = simulator.step(rng.choice(actions))
        signs.append((problem.abstraction(now), inspection.last_step(simulator)))
    return tuple(signs)


def _seeds_determine_futures(problem: Problem, visits: Visits, seed: int) -> str:
    """Find futures that the seed does not determine, and futures that it does not change."""
    simulator = problem.simulator

    def restored(snapshot: Snapshot, draw: int) -> Signs:
        return _future(problem, simulator.restore(snapshot, child_seed(seed, 3, draw)), seed)

    def reset() -> Signs:
        return _future(problem, simulator.reset(seed), seed)

    compared = _spread(visits, VISITS_COMPARED)
    if any(restored(visit.snapshot, 0) != restored(visit.snapshot, 0) for visit in compared):
        return (
            "the same snapshot, seed and actions led to different states; restore() must seed all "
            "randomness in the simulator and restore everything else"
            f"{_reason(problem, compared, seed)}"
        )
    if reset() != reset():
        first, second = (_inside(problem, lambda: simulator.reset(seed), seed) for _ in range(2))
        return (
            "the same reset seed and actions led to different states; reset() must seed all "
            "randomness in the simulator and reset everything else"
            f"{inspection.suspects(first, second) or inspection.remedy(simulator, randomness=True)}"
        )
    if _is_stochastic(problem, seed):
        simulator.reset(child_seed(seed, 4, 0))
        initial = simulator.snapshot()
        one = restored(initial, 0)
        # A rare event may not occur in a few restores, but it will in this many.
        if all(restored(initial, draw) == one for draw in range(1, RESTORES)):
            return (
                f"{RESTORES} restores with {RESTORES} seeds had identical futures, but resets to "
                "the same position did not; restore() must seed later randomness with its seed and "
                "not from the snapshot, or all executions repeat each other"
                f"{inspection.remedy(simulator, randomness=True)}"
            )
    return ""


def _is_stochastic(problem: Problem, seed: int) -> bool:
    """Return whether resets to the same position have different futures."""

    def future(draw: int) -> Signs:
        return _future(problem, problem.simulator.reset(child_seed(seed, 4, draw)), seed)

    # Resets may differ in the layout; only equal positions are compared.
    groups = _equal_resets(problem, seed)
    return any(len({future(draw) for draw in draws}) > 1 for draws in groups if len(draws) > 1)


def _reason(problem: Problem, visits: Visits, seed: int) -> str:
    """Name what differs inside after two restores of a snapshot with one seed, and the remedy."""
    simulator = problem.simulator
    for visit in visits:
        restore = partial(simulator.restore, visit.snapshot, child_seed(seed, 3, 0))
        first, second = (_inside(problem, restore, seed) for _ in range(2))
        if found := inspection.suspects(first, second):
            randomness = first.generators != second.generators
            return f"{found}{inspection.remedy(simulator, randomness=randomness)}"
    return f"{inspection.remedy(simulator)}{inspection.remedy(simulator, randomness=True)}"


def _inside(problem: Problem, go: Callable[[], Observation], seed: int) -> Inspection:
    """Go to a position and inspect it; then take some steps, so that the next time can differ."""
    now = go()
    found = inspection.inspect(problem.simulator)
    _future(problem, now, seed)
    return found


def _generators_are_reseeded(problem: Problem, visits: Visits, seed: int) -> str:
    """Compare the generators themselves: rare events do not occur in a few futures."""
    restore = problem.simulator.restore
    if not any(visit.inside.generators for visit in visits):
        return ""
    for visit in _spread(visits, VISITS_COMPARED):
        first, again, other = (
            _inside(problem, partial(restore, visit.snapshot, child_seed(seed, 3, draw)), seed)
            for draw in (0, 0, 1)
        )
        states = first.generators.items()
        undetermined = [name for name, state in states if again.generators.get(name) != state]
        unchanged = [name for name, state in states if other.generators.get(name) == state]
        if undetermined or unchanged:
            how = "ignores" if unchanged else "is not determined by"
            return (
                f"the random generator {(unchanged or undetermined)[0]} {how} restore()'s seed"
                f"{inspection.remedy(problem.simulator, randomness=True)}"
            )
    return ""


def notes_on(problem: Problem, seed: int = 0) -> list[str]:
    """Return facts about a problem that are correct but may surprise its user.

    Args:
        problem: The problem.
        seed: Seeds the random steps.

    Returns:
        A sentence for each.
    """
    notes = [
        note
        for part in (problem.simulator, problem.agent, problem.abstraction)
        if isinstance(part, HasNotes)
        for note in part.notes()
    ]
    if len({visit.state for visit in _walk(problem, seed)}) == 1:
        notes.append(
            f"{WALK_STEPS} random steps never changed the symbolic state; if longer walks do not "
            "either, name the intents to assess with --intents"
        )
    if _never_acts(problem, seed):
        notes.append("no attempt changed anything; does the agent act on this world?")
    different = len(_equal_resets(problem, seed))
    if different > 1:
        notes.append(
            f"{RESETS} resets led to {different} different positions; a run starts from as many "
            "resets as --resets gives, and its results apply to what is reachable from there"
        )
    return notes


def _equal_resets(problem: Problem, seed: int) -> list[list[int]]:
    """Group resets, by their numbers, that led to the same position.

    They did if they look the same or have the same snapshot. Neither is enough by itself: a
    camera's picture is noisy, and a snapshot may record how its position was reached.
    """
    groups: list[tuple[set[bytes], list[int]]] = []
    for draw in range(RESETS):
        observation = problem.simulator.reset(child_seed(seed, 4, draw))
        names = {_appearance(problem, observation), b"snapshot " + problem.simulator.snapshot()}
        equal = [group for group in groups if group[0] & names]
        groups = [group for group in groups if group not in equal]
        draws = sorted([draw, *itertools.chain.from_iterable(group[1] for group in equal)])
        groups.append((names.union(*(group[0] for group in equal)), draws))
    return [draws for _, draws in groups]


def _never_acts(problem: Problem, seed: int) -> bool:
    """Return whether attempts were made at intents that did not hold, and none changed anything."""
    visits, rng = list(_walk(problem, seed)), random.Random(child_seed(seed, 7))
    intents, idle = _changing_intents(problem, visits), 0
    # An agent may know only some of the intents, so each gets its turn.
    for number, intent in enumerate(itertools.islice(itertools.cycle(intents), IDLE_ATTEMPTS)):
        unmet = [visit for visit in visits if not intent.holds(visit.state, problem.vocabulary)]
        if not unmet:
            continue
        attempt = _attempted(problem, rng.choice(unmet), intent, child_seed(seed, 7, number))
        if len(attempt.trajectory) > 1:
            return False
        idle += not _agent_failure(intent, attempt)
    return idle > 0


def _appearance(problem: Problem, observation: Observation) -> bytes:
    if parts := inspection.inspect(problem.simulator).parts:
        return pickle.dumps(sorted(parts.items()))
    try:
        return pickle.dumps(observation)
    except Exception:  # whatever a user's class raises; use the symbolic state
        return pickle.dumps(problem.abstraction(observation))


def _attempts_are_independent(problem: Problem, visits: Visits, seed: int) -> str:
    """Repeat attempts with the same seeds in another order: an agent's memory would show."""
    intents = _changing_intents(problem, visits)[:ATTEMPT_INTENTS]
    before = inspection.global_generators()
    for visit in _spread(visits, ATTEMPT_VISITS):
        first = [_attempted(problem, visit, intent, seed) for intent in intents]
        second = [_attempted(problem, visit, intent, seed) for intent in reversed(intents)][::-1]
        for intent, one, other in zip(intents, first, second, strict=True):
            if failure := _agent_failure(intent, one):
                return failure
            if one[:3] != other[:3]:
                drawn_from = inspection.drawn_since(before)
                return (
                    f"asked twice for {intent} in the same position with the same seed, the agent "
                    "did different things; begin() must start without memory and draw all "
                    "randomness from its seed"
                    + (f"; it draws from {' and '.join(drawn_from)}" if drawn_from else "")
                )
    return ""


def _agent_works_everywhere(problem: Problem, visits: Visits, seed: int) -> str:
    """Make an attempt at every visit: a bug in one branch shows at few of them."""
    intents = _changing_intents(problem, visits)
    for number, visit in enumerate(visits):
        # An intent that holds already shows little of the agent.
        candidates = [i for i in intents if not i.holds(visit.state, problem.vocabulary)] or intents
        if not candidates:
            break
        intent = candidates[number % len(candidates)]
        attempt = _attempted(problem, visit, intent, child_seed(seed, number), FUTURE_STEPS)
        if failure := _agent_failure(intent, attempt):
            return failure
        # Language models are slow and cost money, so the attempts so far have to suffice.
        if attempt.llm_tokens:
            break
    return ""


def _agent_failure(intent: Intent, attempt: Attempt) -> str:
    """Describe how the agent failed; empty if it did not."""
    if attempt.ending is Ending.AGENT_RAISED:
        return f"the agent raised on intent {intent}: {attempt.detail}"
    if attempt.ending is Ending.REFUSED:
        return f"asked for {intent}, the agent could not go on: {attempt.detail}"
    if attempt.ending is Ending.INVALID_ACTION:
        return (
            f"asked for {intent}, the agent chose an action that is not available "
            f"({attempt.detail}); such an attempt ends as a failure: choose one of actions(), or "
            "None to stop"
        )
    return ""


def _attempted(
    problem: Problem, visit: Visit, intent: Intent, seed: int, max_steps: int | None = None
) -> Attempt:
    observation = problem.simulator.restore(visit.snapshot, child_seed(seed, 5))
    start = Position(observation, problem.abstraction(observation))
    return pursue(problem, intent, start, child_seed(seed, 6), max_steps)[0]


def _changing_intents(problem: Problem, visits: Visits) -> list[Intent]:
    """Return the intents of the problem, or one for each atom that changed between visits."""
    if problem.intents:
        return [Intent.parse(text) for text in problem.intents]
    ever, always = 0, problem.vocabulary.mask
    for visit in visits:
        ever, always = ever | visit.state, always & visit.state
    return [Intent.of([Literal(atom)]) for atom in problem.vocabulary.holding(ever & ~always)]


def _restores_elsewhere(visits: Visits, elsewhere: RestoreElsewhere) -> str:
    try:
        if elsewhere([visit.snapshot for visit in visits]) == [v.state for v in visits]:
            return ""
        reason = "it led to a different state there"
    except Exception as error:
        reason = str(error)
    return (
        f"a snapshot could not be restored in another process ({reason}); it must hold the whole "
        "position and not refer to this process's memory"
    )
