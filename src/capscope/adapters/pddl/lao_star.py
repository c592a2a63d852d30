"""A planner as the agent: it minimizes the expected number of steps to the intent.

Value iteration (the oracle of the tests) would touch every state for each intent, although an agent
meets few of them. LAO* (Hansen and Zilberstein, 2001) starts with a lower bound of the cost and
considers only the states that the current best choices lead to: it expands that part of the state
space, lets the costs converge there, and repeats if a choice changed. When nothing changes any
more, these states are solved; asking about another state extends the policy until it meets them.

**Dead ends.** Every step costs 1, and giving up costs a fixed penalty. So no cost is infinite, and
the agent declines if the intent is out of reach, too unlikely to be worth trying, or holds already.

**The lower bound** is hmax on the all-outcomes determinization: the first layer, of a growing pair
of bit masks (what can be true, what can be false), that contains the intent. The layers do not
depend on the intent, so they are computed once per state.

**Ties** between operators go to the first in the given order; costs that differ by less than `TIE`
count as equal, so rounding never decides. But the first may then cost up to `TIE` more than the
best, and a cost that contains this excess may turn the choice of another state around, and back,
for ever. If the rounds do not end, value iteration takes over: costs are exact minima there, and
choices are made only when they have converged.
"""

from __future__ import annotations

from collections.abc import Sequence

from capscope.adapters.pddl.task import GroundOperator
from capscope.logic import Intent, LiteralTest, State, Vocabulary

PENALTY = 100.0
TIE = 1e-8
CONVERGED = 1e-12
MOST_ROUNDS = 200
"""Most problems take fewer. Where an intent is out of reach, costs creep up to the penalty, in
up to 15,855 rounds in depot; value iteration is faster there, with the same choices."""


Outcomes = tuple[tuple[float, State], ...]
"""The probability and successor of each outcome; successors are distinct."""


class LaoStarAgent:
    """Plans from the observed state; the observation is the symbolic state."""

    def __init__(
        self, operators: Sequence[GroundOperator], vocabulary: Vocabulary, penalty: float = PENALTY
    ) -> None:
        """Plan with operators; earlier ones win ties, and giving up costs `penalty`."""
        self.penalty = penalty
        self._operators = tuple(operators)
        self._vocabulary = vocabulary
        self._successors: dict[State, tuple[tuple[GroundOperator, Outcomes], ...]] = {}
        self._layers: dict[State, tuple[tuple[int, int], ...]] = {}
        self._policies: dict[Intent, LaoStarPolicy] = {}

    def begin(self, intent: Intent, seed: int) -> LaoStarPolicy:
        """Return the policy for an intent: a function of the state, shared by all attempts."""
        policy = self._policies.get(intent)
        if policy is None:
            goals = intent.tests(self._vocabulary)
            policy = self._policies[intent] = LaoStarPolicy(self, goals)
        return policy

    def choose(self, intent: Intent, state: State) -> GroundOperator | None:
        """Return what the agent does in a state, or None if it declines."""
        return self.begin(intent, 0).act(state)

    def successors(self, state: State) -> tuple[tuple[GroundOperator, Outcomes], ...]:
        """Return the applicable operators and their outcomes."""
        found = self._successors.get(state)
        if found is None:
            applicable = (o for o in self._operators if o.applicable(state))
            found = tuple((operator, operator.outcomes(state)) for operator in applicable)
            self._successors[state] = found
        return found

    def layers(self, state: State) -> tuple[tuple[int, int], ...]:
        """Return the bits that can be set, and those that can be clear, within 0, 1, 2, … steps."""
        found = self._layers.get(state)
        if found is None:
            found = self._layers[state] = tuple(self._grow(state))
        return found

    def _grow(self, state: State) -> list[tuple[int, int]]:
        layers = [(state, ~state & self._vocabulary.mask)]
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


class LaoStarPolicy:
    """The policy for one intent, extended to each state that it is asked about."""

    def __init__(self, agent: LaoStarAgent, goals: Sequence[LiteralTest]) -> None:
        """Plan towards whichever of the goals is nearest."""
        self._agent = agent
        self._goals = goals
        self._cost: dict[State, float] = {}
        self._solved: dict[State, GroundOperator | None] = {}

    def act(self, observation: State) -> GroundOperator | None:
        """Return the operator with the lowest expected cost, or None to decline."""
        try:
            return self._solved[observation]
        except KeyError:
            self._solve(observation)
            return self._solved[observation]

    def _solve(self, start: State) -> None:
        """Expand the best policy from a state until it is closed and its costs have converged."""
        for _ in range(MOST_ROUNDS):
            policy = self._expand(start)
            if self._converge(policy):
                self._solved.update(policy)
                return
        self._iterate_values(start)

    def _iterate_values(self, start: State) -> None:
        """Solve a state, and all that the best choices lead to, by value iteration."""
        states = {start}
        while True:
            change = CONVERGED
            while change >= CONVERGED:
                change = max(self._set_to_minimum(state) for state in states)
            policy = {state: self._best(state, TIE)[1] for state in states}
            beyond = self._beyond(policy)
            self._solved.update(dict.fromkeys(filter(self._holds_in, beyond)))
            if beyond <= self._solved.keys():
                self._solved.update(policy)
                return
            states |= beyond - self._solved.keys()

    def _set_to_minimum(self, state: State) -> float:
        """Set the cost of a state to the minimum over its choices; return the change."""
        before = self._cost[state]
        self._cost[state], _ = self._best(state, 0.0)
        return abs(self._cost[state] - before)

    def _expand(self, start: State) -> dict[State, GroundOperator | None]:
        """Follow the best choices; return them, successors before predecessors."""
        chosen: dict[State, GroundOperator | None] = {}
        finished: dict[State, GroundOperator | None] = {}
        stack = [start]
        while stack:
            state = stack[-1]
            if state in finished or state in self._solved:
                stack.pop()
            elif state in chosen:
                # Its successors are finished, so this backup uses their new costs.
                finished[state] = self._back_up(state)
                stack.pop()
            elif self._holds_in(state):
                self._cost[state] = 0.0
                self._solved[state] = None
            else:
                operator = chosen[state] = self._back_up(state)
                if operator is not None:
                    outcomes = operator.outcomes(state)
                    stack += [after for _, after in outcomes if after not in chosen]
        return finished

    def _converge(self, policy: dict[State, GroundOperator | None]) -> bool:
        """Back up until no cost changes; return whether the policy is unchanged and closed."""
        while True:
            change = 0.0
            for state, operator in policy.items():
                before = self._cost[state]
                if self._back_up(state) is not operator:
                    return False
                change = max(change, abs(self._cost[state] - before))
            if change < CONVERGED:
                return not self._beyond(policy)

    def _beyond(self, policy: dict[State, GroundOperator | None]) -> set[State]:
        """Return the states that a policy leads to, without its own and solved ones."""
        return {
            after
            for state, operator in policy.items()
            if operator is not None
            for _, after in operator.outcomes(state)
            if after not in policy and after not in self._solved
        }

    def _back_up(self, state: State) -> GroundOperator | None:
        """Set the cost of a state to that of its best choice, and return the choice."""
        self._cost[state], choice = self._best(state, TIE)
        return choice

    def _best(self, state: State, tie: float) -> tuple[float, GroundOperator | None]:
        """Return the lowest cost and the choice; lower by less than `tie` does not count."""
        cost = self._cost
        best: float = self._agent.penalty
        choice = None
        for operator, outcomes in self._agent.successors(state):
            expected = 1.0
            for probability, after in outcomes:
                expected += probability * (cost[after] if after in cost else self._bound(after))
            if expected < best - tie:
                best, choice = expected, operator
        return best, choice

    def _bound(self, state: State) -> float:
        """Return the lower bound of a new state, and store it as its cost."""
        for steps, (true, false) in enumerate(self._agent.layers(state)):
            if any(true & r == r and false & f == f for r, f in self._goals):
                bound = min(float(steps), self._agent.penalty)
                break
        else:
            bound = self._agent.penalty
        self._cost[state] = bound
        return bound

    def _holds_in(self, state: State) -> bool:
        return any(holds(state) for holds in self._goals)
