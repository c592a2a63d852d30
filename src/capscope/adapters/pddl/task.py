"""A compiled planning task: ground actions as bit masks, its simulator, and its exact truth.

Evaluating a formula over a set of atoms is a tree walk for each action and step. With masks, one
comparison decides a conjunction of literals, and an effect is `state & keep | adds`.

A search restores millions of times and rarely draws. So a restore of the simulator only stores its
seed, and the generator is seeded at the first step with several outcomes.

The truth is exact, because sampling converges slowly: if the agent's choice depends on the state
only, the probability of each (state, changes so far) can be moved forward step by step.
"""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from itertools import accumulate
from operator import or_
from typing import NamedTuple

from capscope.logic import Effect, Intent, Literal, LiteralTest, State, Vocabulary
from capscope.problem import InvalidAction, Limits, Snapshot

Disjunction = tuple[LiteralTest, ...]
ALWAYS: Disjunction = (LiteralTest(0, 0),)


class AtomChange(NamedTuple):
    """Bits that an outcome sets and clears if one of `when` holds."""

    adds: int
    deletes: int
    when: Disjunction = ALWAYS


class OperatorOutcome(NamedTuple):
    """One possible outcome of an operator."""

    probability: float
    changes: tuple[AtomChange, ...]

    def apply(self, state: State) -> State:
        """Return the state after this outcome: all deletions first, then all additions."""
        adds = deletes = 0
        for change in self.changes:
            if any(holds(state) for holds in change.when):
                adds |= change.adds
                deletes |= change.deletes
        return state & ~deletes | adds


@dataclass(frozen=True, slots=True)
class GroundOperator:
    """An action with its arguments: when it is applicable and what it does.

    The precondition has dynamic atoms only. The probabilities of `possible` sum to one.

    >>> heads = OperatorOutcome(0.5, (AtomChange(1, 0),))
    >>> flip = GroundOperator("flip()", ALWAYS, (heads, OperatorOutcome(0.5, ())))
    >>> flip.outcomes(0b0)
    ((0.5, 1), (0.5, 0))
    >>> flip.outcomes(0b1)
    ((1.0, 1),)
    """

    name: str
    precondition: Disjunction
    possible: tuple[OperatorOutcome, ...]
    tests: tuple[tuple[int, int], ...] = field(init=False, repr=False, compare=False)
    """For each term of the precondition the bits it tests and their values."""
    masks: tuple[tuple[float, int, int], ...] | None = field(init=False, repr=False, compare=False)
    """Cumulative probability, bits kept and bits added; None if an effect depends on the state."""
    may_add: int = field(init=False, repr=False, compare=False)
    """Bits that some outcome may set."""
    may_delete: int = field(init=False, repr=False, compare=False)
    """Bits that some outcome may clear."""

    def __post_init__(self) -> None:
        changes = [change for outcome in self.possible for change in outcome.changes]
        derived = {
            "tests": tuple((c.required | c.forbidden, c.required) for c in self.precondition),
            "masks": self._masks() if all(c.when == ALWAYS for c in changes) else None,
            "may_add": _union(change.adds for change in changes),
            "may_delete": _union(change.deletes for change in changes),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name

    def _masks(self) -> tuple[tuple[float, int, int], ...]:
        thresholds = list(accumulate(outcome.probability for outcome in self.possible))
        # A draw is below 1, and rounding must not leave the last threshold below it.
        thresholds[-1] = 1.0
        adds = [_union(change.adds for change in o.changes) for o in self.possible]
        keeps = [~_union(change.deletes for change in o.changes) for o in self.possible]
        return tuple(zip(thresholds, keeps, adds, strict=True))

    def applicable(self, state: State) -> bool:
        """Return whether the precondition holds."""
        return any(state & care == required for care, required in self.tests)

    def outcomes(self, state: State) -> tuple[tuple[float, State], ...]:
        """Return the distribution over successors, each successor once."""
        if self.masks is not None and len(self.masks) == 1:
            _, keep, adds = self.masks[0]
            return ((1.0, state & keep | adds),)
        merged: dict[State, float] = {}
        for outcome in self.possible:
            after = outcome.apply(state)
            merged[after] = merged.get(after, 0.0) + outcome.probability
        return tuple((probability, after) for after, probability in merged.items())

    def draw(self, state: State, uniform: float) -> State:
        """Return the successor for a number drawn uniformly from [0, 1)."""
        if self.masks is not None:
            for threshold, keep, adds in self.masks:
                if uniform < threshold:
                    return state & keep | adds
        for outcome in self.possible:
            uniform -= outcome.probability
            if uniform < 0:
                break
        return outcome.apply(state)


def _union(masks: Iterable[int]) -> int:
    return reduce(or_, masks, 0)


@dataclass(frozen=True)
class PddlTask:
    """A compiled PPDDL problem.

    The vocabulary has every ground atom, static ones too. `operators` are the ground actions
    whose static preconditions hold, in the order of the domain file and then of the objects.
    """

    name: str
    vocabulary: Vocabulary
    initial_state: State
    operators: tuple[GroundOperator, ...]

    @cached_property
    def _tests(self) -> tuple[tuple[int, int, GroundOperator], ...]:
        return tuple((*test, operator) for operator in self.operators for test in operator.tests)

    def applicable(self, state: State) -> Sequence[GroundOperator]:
        """List the operators whose precondition holds, in their fixed order."""
        found = [operator for care, required, operator in self._tests if state & care == required]
        # Several terms of one precondition may hold at once.
        return found if len(self._tests) == len(self.operators) else list(dict.fromkeys(found))


class IdentityAbstraction:
    """The abstraction of a simulator whose observations are symbolic states."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    def __call__(self, observation: State) -> State:
        """Return the observation."""
        return observation


class PddlSimulator:
    """Steps a compiled task; the last reset or restore seeds all randomness."""

    def __init__(self, task: PddlTask, cached_states: int = 1 << 17) -> None:
        """Cache the applicable operators of at most `cached_states` states (0: of none)."""
        self.task = task
        self._width = (len(task.vocabulary.atoms) + 7) // 8
        self._state = task.initial_state
        self._random = random.Random()
        self._seed: int | None = 0
        self._cached_states = cached_states
        self._applicable: dict[State, Sequence[GroundOperator]] = {}

    def reset(self, seed: int) -> State:
        """Go to the initial state."""
        self._seed = seed
        self._state = self.task.initial_state
        return self._state

    def actions(self) -> Sequence[GroundOperator]:
        """List the operators applicable now, in their fixed order."""
        found = self._applicable.get(self._state)
        if found is None:
            found = tuple(self.task.applicable(self._state))
            if len(self._applicable) >= self._cached_states:
                # A walk soon fills it again, so there is no need to choose which to drop.
                self._applicable.clear()
            if self._cached_states:
                self._applicable[self._state] = found
        return found

    def step(self, action: GroundOperator) -> State:
        """Apply an operator, or raise `InvalidAction` if it is not applicable."""
        state = self._state
        if not isinstance(action, GroundOperator):
            raise InvalidAction(f"{action!r} is not a ground operator of {self.task.name}")
        for care, required in action.tests:
            if state & care == required:
                break
        else:
            raise InvalidAction(f"{action.name} is not applicable now; choose one of actions()")
        masks = action.masks
        if masks is not None and len(masks) == 1:
            _, keep, adds = masks[0]
            self._state = state & keep | adds
        else:
            self._state = action.draw(state, self._uniform())
        return self._state

    def _uniform(self) -> float:
        if self._seed is not None:
            self._random.seed(self._seed)
            self._seed = None
        return self._random.random()

    def snapshot(self) -> Snapshot:
        """Write the state as little-endian bytes of fixed width."""
        return self.snapshot_of(self._state)

    def snapshot_of(self, state: State) -> Snapshot:
        """Write a state as bytes; any state over the vocabulary, reachable or not."""
        return state.to_bytes(self._width, "little")

    def restore(self, snapshot: Snapshot, seed: int) -> State:
        """Go back to a state; later draws depend on `seed` only."""
        self._seed = seed
        self._state = state = int.from_bytes(snapshot, "little")
        return state


Choice = Callable[[Intent, State], GroundOperator | None]


class PddlTruth:
    """The true capability model of an agent whose choice depends on intent and state only."""

    def __init__(self, task: PddlTask, choose: Choice, limits: Limits) -> None:
        self._task = task
        self._choose = choose
        self._limits = limits

    def reachable_states(self) -> Sequence[State]:
        """List the states reachable by primitive operators, breadth first from the initial one."""
        return self._exploration[0]

    def intents(self) -> Sequence[Intent]:
        """List all groundings of each predicate that can become true, then false, somewhere."""
        return self._exploration[1]

    @cached_property
    def _exploration(self) -> tuple[tuple[State, ...], tuple[Intent, ...]]:
        states = {self._task.initial_state: None}
        queue = list(states)
        ever_added = ever_deleted = 0
        for state in queue:
            for operator in self._task.applicable(state):
                for _, after in operator.outcomes(state):
                    effect = Effect.between(state, after)
                    ever_added |= effect.adds
                    ever_deleted |= effect.deletes
                    if after not in states:
                        states[after] = None
                        queue.append(after)
        added = self._every_grounding(ever_added, positive=True)
        deleted = self._every_grounding(ever_deleted, positive=False)
        return tuple(queue), (*added, *deleted)

    def _every_grounding(self, changed: int, positive: bool) -> tuple[Intent, ...]:
        vocabulary = self._task.vocabulary
        shown = {atom.predicate for atom in vocabulary.holding(changed)}
        atoms = (atom for atom in vocabulary.atoms if atom.predicate in shown)
        return tuple(Intent.of([Literal(atom, positive)]) for atom in atoms)

    def outcomes(self, state: State, intent: Intent) -> Mapping[State, float]:
        """Return the distribution over the state in which an attempt ends."""
        ended: dict[State, float] = {}
        bound = self._limits.temporal_length
        under_way = {(state, 0): 1.0}
        for _ in range(self._limits.horizon):
            after: dict[tuple[State, int], float] = {}
            for (here, changes), mass in under_way.items():
                operator = self._choose(intent, here)
                if operator is None or not operator.applicable(here):
                    ended[here] = ended.get(here, 0.0) + mass
                    continue
                for probability, there in operator.outcomes(here):
                    # Without a bound, changes are not counted.
                    counted = changes + (bound is not None and there != here)
                    if counted == bound:
                        ended[there] = ended.get(there, 0.0) + mass * probability
                    else:
                        key = (there, counted)
                        after[key] = after.get(key, 0.0) + mass * probability
            under_way = after
            if not under_way:
                break
        for (here, _), mass in under_way.items():
            ended[here] = ended.get(here, 0.0) + mass
        return ended
