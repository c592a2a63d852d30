"""The exact distribution of the states in which an attempt ends.

Sampling converges slowly. If the agent's choice depends on the state only, the probability of each
(state, changes so far) can be moved forward step by step, until the attempt ends.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from capscope.adapters.pddl.task import GroundOperator, PddlTask
from capscope.logic import Effect, Intent, Literal, State
from capscope.problem import Limits

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
