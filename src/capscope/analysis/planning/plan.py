"""A plan: what to ask the agent for in each state, how probably that leads to the goal, how sure.

A sequence of capabilities would do if every capability had one outcome. Where chance plays a part,
what to ask for next depends on what was seen, so a plan is a policy. It says so for every state
from which a way is known, whether or not following it from the start should ever lead there: what
happens need not be what was seen before.

Success is counted where an execution ends, as everything in the models is. Nothing is known of what
the agent passes on its way.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from capscope.analysis.planning.chain import Chain
from capscope.analysis.planning.goal import Goal
from capscope.analysis.planning.mdp import observed_mdp
from capscope.analysis.planning.optimism import Outlook
from capscope.analysis.planning.policy import Policy, most_reliable
from capscope.errors import CapscopeError
from capscope.model import ExtremeModels, StateGraph
from capscope.symbolic import Effect, Intent, State

SAMPLES = 1_000
"""Draws of the probabilities from which the interval of a plan's success is taken."""
_AGREEMENT = 1e-3
"""How far, relatively, a policy that was followed may be from what was solved of it."""


@dataclass(frozen=True, slots=True)
class Branch:
    """One outcome of a step, as the model has it."""

    probability: float
    effect: Effect
    after: State


@dataclass(frozen=True, slots=True)
class Step:
    """What to ask for in a state, and what may come of it."""

    state: State
    capability: Intent
    branches: tuple[Branch, ...]
    """The most probable first."""
    draws: int
    """The executions behind the probabilities: those of the whole rule."""
    draws_here: int
    """Those in this very state."""
    success: float
    """The probability of reaching the goal from here."""
    executions: float
    """The executions expected from here on."""


@dataclass(frozen=True)
class Plan:
    """The most reliable policy for a goal, according to the pessimistic model."""

    goal: Goal
    start: State
    steps: Mapping[State, Step]
    """For every state from which a way is known; without the start there is no plan."""
    success: float
    interval: tuple[float, float]
    """95 % of what the counts leave open, an outcome never seen counted as failure."""
    executions: float
    """Expected until the goal is reached or no way to it is known any more."""
    visits: Mapping[State, float]
    """How often each state of the plan is expected to be in turn; only those it may come to."""
    dead_ends: Mapping[State, float]
    """Where it may end without the goal, and how probably."""
    starts: Mapping[State, float]
    """The success from each state that fits where the plan was to begin."""
    outlook: Outlook | None = None
    """What the optimist says, if there is no plan."""
    goal_seen: bool = True
    """Whether the goal holds in any state that was seen."""
    chain: Chain | None = field(default=None, repr=False, compare=False)

    @property
    def found(self) -> bool:
        """Whether a way to the goal is known."""
        return self.start in self.steps

    @property
    def is_sequence(self) -> bool:
        """Whether no chance plays a part: each step only ever had one outcome."""
        return self.found and all(len(self.steps[s].branches) == 1 for s in self.visits)

    def forecasts(self, within: int | None = None, seed: int = 0) -> list[float]:
        """Draw success probabilities from what the counts leave open, the frequencies' own first.

        `within` so many executions, or at any time.
        """
        if self.chain is None:
            return [0.0]
        chain = self.chain
        rows = np.vstack([chain.frequencies(), chain.drawn(SAMPLES, seed)])
        return [float(value) for value in np.clip(chain.success(rows, within), 0.0, 1.0)]

    def most_likely_way(self) -> tuple[Step, ...]:
        """Return the steps of the most probable single way from the start to the goal.

        Dijkstra's search; of equally probable ways the shorter.
        """
        order = itertools.count()  # of ways that are equal in everything the first found
        queue: list[tuple[float, int, int, State, tuple[Step, ...]]] = []
        heapq.heappush(queue, (0.0, 0, next(order), self.start, ()))
        done: set[State] = set()
        while queue:
            cost, length, _, state, way = heapq.heappop(queue)
            if self.goal.holds(state):
                return way
            step = self.steps.get(state)
            if state in done or step is None:
                continue
            done.add(state)
            for branch in step.branches:
                further = cost - math.log(branch.probability)
                entry = further, length + 1, next(order), branch.after, (*way, step)
                heapq.heappush(queue, entry)
        return ()


def plan_for(models: ExtremeModels, goal: Goal, starts: Sequence[State], seed: int = 0) -> Plan:
    """Plan from the least favourable of the states that it may begin in.

    States from which no way is known are passed over as long as there is one from another; the
    success from each is in the plan. `seed` is for the interval.
    """
    graph = models.graph
    mdp = observed_mdp(graph)
    position = {state: i for i, state in enumerate(mdp.states)}
    if not position.keys() >= set(starts):
        raise CapscopeError("nothing was tried yet where the plan is to begin; assess longer")
    open_starts = [state for state in starts if not goal.holds(state)]
    if not open_starts:
        raise CapscopeError(
            f"{goal} holds already where the plan is to begin; choose another --goal or --from"
        )
    goals = [i for i, state in enumerate(mdp.states) if goal.holds(state)]
    policy = most_reliable(mdp, goals)
    chances = {state: policy.chances[position[state]] for state in open_starts}
    start = min(chances, key=lambda state: (not chances[state], chances[state]))
    if not chances[start]:
        return _no_plan(models, goal, start, chances, bool(goals))
    chain = Chain.of(policy, position[start])
    return _described(_steps(graph, policy), goal, chain, mdp.states, chances, seed)


def _no_plan(
    models: ExtremeModels, goal: Goal, start: State, chances: dict[State, float], goal_seen: bool
) -> Plan:
    outlook = Outlook.of(models, goal, start)
    # Zero is what the pessimist says; nothing that was seen speaks for or against any other figure.
    return Plan(goal, start, {}, 0.0, (0.0, 1.0), math.inf, {}, {}, chances, outlook, goal_seen)


def _steps(graph: StateGraph, policy: Policy) -> dict[State, Step]:
    states = policy.mdp.states
    steps = {}
    for i, choice in policy.choices.items():
        before = states[i]
        outcomes = zip(choice.probabilities, choice.successors, strict=True)
        branches = (Branch(p, Effect.between(before, states[j]), states[j]) for p, j in outcomes)
        steps[before] = Step(
            before,
            graph.capabilities[choice.capability],
            tuple(sorted(branches, key=lambda branch: (-branch.probability, branch.after))),
            choice.draws,
            choice.draws_here,
            policy.chances[i],
            policy.executions[i],
        )
    return steps


def _described(
    steps: dict[State, Step],
    goal: Goal,
    chain: Chain,
    states: Sequence[State],
    chances: dict[State, float],
    seed: int,
) -> Plan:
    """Follow the policy from its start; see that it attains what the solver promised."""
    start = states[chain.nodes[0]]
    frequencies = chain.frequencies()
    try:
        visits = chain.visits(frequencies)[0]
    except np.linalg.LinAlgError:
        raise _endless(goal) from None
    arrivals = chain.arrivals(frequencies)[0]
    success, solved = float(arrivals[chain.reached].sum()), chances[start]
    if not math.isclose(success, solved, rel_tol=_AGREEMENT):
        raise _endless(goal)
    # Certainty is known from the graph alone, and is not to be rounded away.
    success = 1.0 if solved == 1.0 else min(success, 1.0)
    ends = zip(chain.ends, arrivals, chain.reached, strict=True)
    plan = Plan(
        goal=goal,
        start=start,
        steps=steps,
        success=success,
        interval=(success, success),
        executions=float(visits.sum()),
        visits={states[i]: float(n) for i, n in zip(chain.nodes, visits, strict=True)},
        dead_ends={states[i]: float(p) for i, p, reached in ends if not reached},
        starts=chances,
        chain=chain,
    )
    # Extended to the frequencies' own figure where that lies outside, as it does at 1.
    low, high = np.quantile(plan.forecasts(seed=seed)[1:], [0.025, 0.975])
    return replace(plan, interval=(min(float(low), success), max(float(high), success)))


def _endless(goal: Goal) -> CapscopeError:
    return CapscopeError(
        f"the way to {goal} goes round and round for some hundred thousand executions, too many to "
        "be solved to any precision; plan for a nearer goal or from a nearer start"
    )
