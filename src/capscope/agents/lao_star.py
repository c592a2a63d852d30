"""A planner as the agent: it heads for the intent by the cheapest expected number of steps.

The naive way is value iteration over all states for each intent: sweep until no expected cost
moves, then act greedily. It is the oracle of the tests, and it touches every state although an
agent meets few of them. LAO* (Hansen and Zilberstein, 2001) starts with a lower bound of the cost
and looks only at the states that the currently best choices lead to: it expands that part of the
state space, lets the costs settle in it, and starts over where a choice changed. When nothing
changes any more, the bound has become the cost in every state that the agent can get to. These
states are solved; a later state off the known policy extends it and stops at solved ones.

**Dead ends.** Every step costs 1, and giving up costs a fixed penalty D, once. So no cost is
infinite, and a state from which the intent is out of reach, or too unlikely to be worth the tries,
is one where giving up is the best choice. There the agent declines, as it does where the intent
holds.

**The lower bound** is hmax on the all-outcomes determinization: each operator may have every
outcome at once, nothing that became true ever stops being so, and a conjunction costs as much as
its dearest literal. With steps of cost 1 that is the first layer, of a growing pair of bit masks
(what can be true, what can be false), which holds the intent. The layers do not depend on the
intent, so they are computed once for each state and serve all intents.

**Ties** between operators go to the first in the given order; costs that differ by less than
`TIE` count as equal, so rounding never decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from capscope.symbolic import Intent, State, Vocabulary

PENALTY = 100.0
TIE = 1e-8
SETTLED = 1e-12


class Operator(Protocol):
    """What the planner needs to know of an action."""

    @property
    def precondition(self) -> Sequence[tuple[int, int]]:
        """Pairs of bits that must be set and bits that must be clear; one pair must hold."""

    @property
    def may_add(self) -> int:
        """Bits that some outcome sets."""

    @property
    def may_delete(self) -> int:
        """Bits that some outcome clears."""

    def applicable(self, state: State) -> bool:
        """Say whether the precondition holds."""

    def outcomes(self, state: State) -> tuple[tuple[float, State], ...]:
        """Return probability and successor of each outcome, each successor once."""


O = TypeVar("O", bound=Operator)  # noqa: E741 - an operator


class LaoStarAgent(Generic[O]):
    """Plans for an intent from the observed state; the observation is the symbolic state."""

    def __init__(
        self, operators: Sequence[O], vocabulary: Vocabulary, penalty: float = PENALTY
    ) -> None:
        """Plan with operators, in the order in which ties are broken; giving up costs `penalty`."""
        self._known = _KnownStates(operators, vocabulary.mask)
        self._vocabulary = vocabulary
        self._penalty = penalty
        self._plans: dict[Intent, Plan[O]] = {}

    def begin(self, intent: Intent, seed: int) -> Plan[O]:
        """Return the plan for an intent: a function of the state, so there is nothing to forget."""
        plan = self._plans.get(intent)
        if plan is None:
            goal = self._vocabulary.literal_masks(intent.literals)
            plan = self._plans[intent] = Plan(self._known, goal, self._penalty)
        return plan

    def choose(self, intent: Intent, state: State) -> O | None:
        """Return what the agent does in a state; None if it declines."""
        return self.begin(intent, 0).act(state)


class Plan(Generic[O]):
    """The policy for one intent, extended to the states that it is asked about."""

    def __init__(self, known: _KnownStates[O], goal: tuple[int, int], penalty: float) -> None:
        self._known = known
        self._goal = goal
        self._penalty = penalty
        self._cost: dict[State, float] = {}
        self._solved: dict[State, O | None] = {}

    def act(self, observation: State) -> O | None:
        """Choose the operator of the cheapest plan, or None to decline."""
        try:
            return self._solved[observation]
        except KeyError:
            self._solve(observation)
            return self._solved[observation]

    def cost(self, state: State) -> float:
        """Return the expected number of steps from a state, giving up included."""
        self.act(state)
        return self._cost[state]

    def _solve(self, start: State) -> None:
        """Expand the best policy from a state until it is closed and its costs are right."""
        while True:
            policy = self._expand(start)
            if self._settle(policy):
                self._solved.update(policy)
                return

    def _expand(self, start: State) -> dict[State, O | None]:
        """Follow the best choices to the ends; return them, successors before predecessors."""
        chosen: dict[State, O | None] = {}
        finished: dict[State, O | None] = {}
        stack = [start]
        while stack:
            state = stack[-1]
            if state in finished or state in self._solved:
                stack.pop()
            elif state in chosen:
                # All below it is done, so this backup sees what they found out.
                finished[state] = self._back_up(state)
                stack.pop()
            elif self._holds_in(state):
                self._cost[state] = 0.0
                self._solved[state] = None
            else:
                operator = chosen[state] = self._back_up(state)
                if operator is not None:
                    below = operator.outcomes(state)
                    stack += [after for _, after in below if after not in chosen]
        return finished

    def _settle(self, policy: dict[State, O | None]) -> bool:
        """Back up until no cost moves; say whether the choices stayed as they were."""
        while True:
            moved = 0.0
            for state, operator in policy.items():
                before = self._cost[state]
                if self._back_up(state) is not operator:
                    return False
                moved = max(moved, abs(self._cost[state] - before))
            if moved < SETTLED:
                return self._is_closed(policy)

    def _is_closed(self, policy: dict[State, O | None]) -> bool:
        """Say whether the policy leads only to states of its own or solved ones."""
        return all(
            after in policy or after in self._solved
            for state, operator in policy.items()
            if operator is not None
            for _, after in operator.outcomes(state)
        )

    def _back_up(self, state: State) -> O | None:
        """Set a state's cost to that of its best choice, and return the choice."""
        cost = self._cost
        best: float = self._penalty
        choice = None
        for operator, outcomes in self._known.successors(state):
            expected = 1.0
            for probability, after in outcomes:
                expected += probability * (cost[after] if after in cost else self._bound(after))
            if expected < best - TIE:
                best, choice = expected, operator
        cost[state] = best
        return choice

    def _bound(self, state: State) -> float:
        """Return, and remember as the cost so far, the lower bound of a state just met."""
        required, forbidden = self._goal
        for steps, (true, false) in enumerate(self._known.layers(state)):
            if true & required == required and false & forbidden == forbidden:
                bound = min(float(steps), self._penalty)
                break
        else:
            bound = self._penalty
        self._cost[state] = bound
        return bound

    def _holds_in(self, state: State) -> bool:
        required, forbidden = self._goal
        return state & required == required and not state & forbidden


class _KnownStates(Generic[O]):
    """What all plans share: the successors of a state, and what it can lead to at best."""

    def __init__(self, operators: Sequence[O], mask: int) -> None:
        self._operators = tuple(operators)
        self._mask = mask
        self._successors: dict[State, tuple[tuple[O, tuple[tuple[float, State], ...]], ...]] = {}
        self._layers: dict[State, tuple[tuple[int, int], ...]] = {}

    def successors(self, state: State) -> tuple[tuple[O, tuple[tuple[float, State], ...]], ...]:
        """Return each applicable operator with its outcomes."""
        found = self._successors.get(state)
        if found is None:
            applicable = (o for o in self._operators if o.applicable(state))
            found = tuple((operator, operator.outcomes(state)) for operator in applicable)
            self._successors[state] = found
        return found

    def layers(self, state: State) -> tuple[tuple[int, int], ...]:
        """Return the bits that can be set and those that can be clear within 0, 1, 2, … steps."""
        found = self._layers.get(state)
        if found is None:
            found = self._layers[state] = tuple(self._grow(state))
        return found

    def _grow(self, state: State) -> list[tuple[int, int]]:
        layers = [(state, ~state & self._mask)]
        waiting = list(self._operators)
        while True:
            true, false = after_true, after_false = layers[-1]
            still_waiting = []
            for operator in waiting:
                if any(r & true == r and f & false == f for r, f in operator.precondition):
                    after_true |= operator.may_add
                    after_false |= operator.may_delete
                else:
                    still_waiting.append(operator)
            if (after_true, after_false) == (true, false):
                return layers
            layers.append((after_true, after_false))
            waiting = still_waiting
