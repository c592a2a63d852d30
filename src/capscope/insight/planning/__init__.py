"""A plan: what to ask the agent for in each state, how likely that reaches the goal, how certain.

If outcomes vary, the next request depends on the current state, so a plan is a policy. It covers
every state from which the goal is known to be reachable, including those that it should never
reach: the agent may do something new. Success is judged at the end of an execution; nothing is
known about states that the agent passes on the way.

A plan keeps to what was tried, with the probabilities of the learned model (`mdp`), unless inferred
steps are allowed. Each step says which of the two it is.

A goal is any condition: `on(a,b) and not holding(c) or on(b,a)`. It need not be an intent, and the
agent never sees it.
"""

from __future__ import annotations

import heapq
import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from capscope.errors import CapscopeError
from capscope.insight.planning.markov_chain import MarkovChain
from capscope.insight.planning.mdp import (
    GoalPolicy,
    Mdp,
    MdpChoice,
    believed_mdp,
    fitted_mdp,
    halves,
    most_reliable_policy,
)
from capscope.logic import Condition, Intent, State, StateTest, Vocabulary
from capscope.model import ExtremeModels, LearnedModel, Provenance, StateGraph
from capscope.model.transitions import breadth_first
from capscope.seeds import child_seed
from capscope.stats.arrays import Floats
from capscope.wording import ShownInWords

SAMPLES = 1_000
"""Samples of the probabilities for the interval of a plan's success."""
_LEAK, _DIGITS = 1e-12, 9
"""Half of the executions may know no way out of a circle, which then counts as failure."""
_AGREEMENT = 1e-3
"""Tolerated relative difference between a policy's evaluation and its solved value."""
_MOST_STATES = 5_000
"""Of the optimistic model that are searched."""
_TAIL = 0.025
_HALVES = -8  # in place of a query number (those count from 0), for the seed of the halves
_HEX = re.compile(r"0[xX][0-9a-fA-F]+\Z")


@dataclass(frozen=True, slots=True)
class PlanStep:
    """What to ask for in a state, and its possible outcomes."""

    state: State
    capability: Intent
    branches: tuple[tuple[float, State], ...]
    """Its outcomes, most probable first; of an inferred step, if the inference is right."""
    draws: int
    """The executions behind the probabilities: those of all pairs of the outcome type."""
    draws_here: int
    """The executions in this state; 0 if the step is inferred."""
    success: float
    """The probability of reaching the goal from here."""
    executions: float
    """The expected executions from here."""
    doubt: float = 0.0
    """The probability that an inferred step does something else."""

    @property
    def provenance(self) -> Provenance:
        """What the step rests on: tried in this state, or inferred."""
        return Provenance.TRIED if self.draws_here else Provenance.INFERRED


@dataclass(frozen=True, repr=False)
class Plan(ShownInWords):
    """The most reliable policy for a goal, according to what was tried and perhaps inferred."""

    goal: Condition
    vocabulary: Vocabulary
    start: State
    steps: Mapping[State, PlanStep]
    """For every state from which the goal is known to be reachable; empty if there is no plan."""
    success: float
    """As judged by executions that did not choose the steps, if halves of them choose others."""
    interval: tuple[float, float]
    """95 % interval of the success; unseen outcomes and wrong inferences are failures."""
    executions: float
    """Expected until the goal is reached or no longer known to be reachable."""
    visits: Mapping[State, float]
    """The expected number of requests in each state that the plan may reach."""
    dead_ends: Mapping[State, float]
    """Where the plan may end without the goal, with probabilities."""
    starts: Mapping[State, float]
    """The success from each possible start."""
    optimistic_path: OptimisticPath | None = None
    """One of the optimistic model, if there is no plan."""
    searched_all: bool = False
    """Whether all states of the optimistic model were searched for one."""
    goal_seen: bool = True
    """Whether the goal holds in any observed state."""
    declined: tuple[PlanStep, ...] = ()
    """If there is no plan, an inferred path with too much doubt for one."""
    inference_allowed: bool = False
    """Whether steps that were never tried could be used."""
    unseen: frozenset[State] = frozenset()
    """The states that outcomes of the steps lead to and that were never seen."""
    chain: MarkovChain | None = field(default=None, repr=False, compare=False)
    judged: tuple[MarkovChain, ...] = field(default=(), repr=False, compare=False)
    """Chosen by each half of the executions, with the frequencies of the other; none if there was
    nothing to choose."""

    @cached_property
    def reached(self) -> StateTest:
        """Whether the goal holds, as a function of a state."""
        return self.goal.test(self.vocabulary)

    @property
    def found(self) -> bool:
        """Whether the goal is known to be reachable from the start."""
        return self.start in self.steps

    @property
    def is_sequence(self) -> bool:
        """Whether each step has only one outcome."""
        return self.found and all(len(self.steps[s].branches) == 1 for s in self.visits)

    @property
    def inferred_steps(self) -> tuple[PlanStep, ...]:
        """The steps that the plan may come to and that were never tried."""
        steps = (self.steps[state] for state in self.visits)
        return tuple(step for step in steps if step.provenance is Provenance.INFERRED)

    @property
    def doubt(self) -> float:
        """The probability that the plan ends because an inferred step does something else."""
        return sum(self.visits[step.state] * step.doubt for step in self.inferred_steps)

    @property
    def success_unseen(self) -> float:
        """The part of the success in which the goal is reached in a state that was never seen."""
        return sum(
            visits * (1.0 - self.steps[state].doubt) * probability
            for state, visits in self.visits.items()
            for probability, after in self.steps[state].branches
            if after in self.unseen and self.reached(after)
        )

    @property
    def chosen_alike(self) -> bool:
        """Whether each half of the executions chooses the steps of the plan."""
        return all(self.chain is not None and self.chain.asks_like(one) for one in self.judged)

    @property
    def success_by_frequencies(self) -> float:
        """The success by the frequencies that the steps were chosen by, partly by their luck."""
        return min(self.starts[self.start], 1.0) if self.found else 0.0

    def forecasts(self, within: int | None = None, seed: int = 0) -> list[float]:
        """Return the success, perhaps `within` some executions, followed by posterior samples."""
        if self.chain is None:
            return [0.0]
        if self.chosen_alike:
            return [float(value) for value in _forecasts(self.chain, within, seed)]
        each = [
            _forecasts(chain, within, child_seed(seed, number), _LEAK)
            for number, chain in enumerate(self.judged)
        ]
        return [round(float(value), _DIGITS) for value in np.mean(each, axis=0)]

    def most_likely_way(self) -> tuple[PlanStep, ...]:
        """Return the steps of the most probable path to the goal; of equal ones, the shortest."""
        order = itertools.count()  # remaining ties go to the path found first
        queue: list[tuple[float, int, int, State, tuple[PlanStep, ...]]]
        queue = [(0.0, 0, next(order), self.start, ())]
        done: set[State] = set()
        while queue:
            cost, length, _, state, way = heapq.heappop(queue)
            if self.reached(state):
                return way
            step = self.steps.get(state)
            if state in done or step is None:
                continue
            done.add(state)
            for probability, after in step.branches:
                further = cost - math.log(probability * (1.0 - step.doubt))
                entry = further, length + 1, next(order), after, (*way, step)
                heapq.heappush(queue, entry)
        return ()


def _forecasts(chain: MarkovChain, within: int | None, seed: int, leak: float = 0.0) -> Floats:
    rows = np.vstack([(1.0 - leak) * chain.frequencies(), chain.sampled(SAMPLES, seed)])
    return np.clip(chain.success(rows, within), 0.0, 1.0)


def matching_states(text: str, graph: StateGraph) -> tuple[State, ...]:
    """Return the observed states that match a description or a number, most visited first."""
    text = text.strip()
    if _HEX.match(text):
        state = int(text, 16)
        if state not in graph.nodes:
            raise CapscopeError(
                f"state {state:#x} was never seen; the states of a run are in its model.json, or "
                "describe the state, like 'on(a,b) and not holding(c)'"
            )
        return (state,)
    description = Condition.parse(text, graph.vocabulary)
    holds = description.test(graph.vocabulary)
    found = [state for state in graph.nodes if holds(state)]
    if not found:
        raise CapscopeError(
            f"{description} holds in no state that was seen; a plan can only start in such a state"
        )
    return tuple(sorted(found, key=lambda state: (-graph.nodes[state].departures, state)))


def plan_for(
    model: LearnedModel,
    goal: Condition,
    starts: Sequence[State],
    seed: int = 0,
    *,
    inferred: bool = False,
) -> Plan:
    """Plan from the least favorable of the possible starts, so that it is reliable in all of them.

    Starts without a known path to the goal are skipped unless no start has one; the plan lists the
    success from each.

    Args:
        model: What is known of pairs.
        goal: What is to hold in the end.
        starts: Where the plan may start.
        seed: For the interval.
        inferred: Whether steps that were never tried are allowed as the model infers them.

    Returns:
        The plan, also if no path is known.
    """
    graph = model.graph
    holds = goal.test(graph.vocabulary)
    mdp = believed_mdp(model) if inferred else fitted_mdp(model)
    index = {state: i for i, state in enumerate(mdp.states)}
    if not graph.nodes.keys() >= set(starts):
        raise CapscopeError("nothing was tried yet where the plan starts; assess longer")
    open_starts = [state for state in starts if not holds(state)]
    if not open_starts:
        raise CapscopeError(
            f"{goal} already holds where the plan starts; choose another --goal or --from"
        )
    policy = _policy(mdp, holds)
    success = {state: policy.success[index[state]] for state in open_starts}
    start = min(success, key=lambda state: (not success[state], success[state]))
    # Zero is what the model says; the observations do not exclude any other value.
    plan = Plan(
        goal, graph.vocabulary, start, _steps(graph, policy), 0.0, (0.0, 1.0), math.inf, {}, {},
        success, inference_allowed=inferred,
    )  # fmt: skip
    if success[start]:
        ends = {after for step in plan.steps.values() for _, after in step.branches}
        plan = replace(plan, unseen=frozenset(ends - graph.nodes.keys()))
        chain = MarkovChain.of(policy, index[start])
        judged = _judged(graph, policy, chain, holds, child_seed(seed, _HALVES))
        return _evaluated(replace(plan, judged=judged), chain, mdp.states, seed)
    path, searched_all = optimistic_path(ExtremeModels(graph), holds, start)
    declined: tuple[PlanStep, ...] = ()
    if inferred:
        # The most likely path if any doubt were allowed.
        doubtful = _policy(believed_mdp(model, most_doubt=1.0), holds)
        declined = replace(plan, steps=_steps(graph, doubtful)).most_likely_way()
    return replace(
        plan,
        steps={},
        optimistic_path=path,
        searched_all=searched_all,
        goal_seen=any(holds(state) for state in graph.nodes),
        declined=declined,
    )


def _policy(mdp: Mdp, holds: StateTest) -> GoalPolicy:
    return most_reliable_policy(mdp, [i for i, state in enumerate(mdp.states) if holds(state)])


def _judged(
    graph: StateGraph, policy: GoalPolicy, chain: MarkovChain, holds: StateTest, seed: int
) -> tuple[MarkovChain, ...]:
    """Choose by each half of the executions, and judge by the other half.

    Of many choices, the best is partly the luckiest, and seems better than it is by the executions
    that it was chosen by. Where a half knows no way to the goal, the policy itself continues.

    Returns:
        The two chains; none if there is nothing to choose.
    """
    mdp = policy.mdp
    reachable = {i for i, success in enumerate(policy.success) if success}
    options = [
        [one for one in mdp.choices[i] if reachable.intersection(one.successors)]
        for i in chain.nodes
    ]
    chance = any(len(one.counts) > 1 for here in options for one in here)
    if not chance or all(len(here) == 1 for here in options):
        return ()
    parts = halves(mdp, graph, seed)
    start, found = chain.nodes[0], []
    for chooser, judge in (parts, parts[::-1]):
        chosen = {**policy.choices, **_policy(chooser, holds).choices}
        choices = {i: _same_choice(judge, i, choice) for i, choice in chosen.items()}
        goals = frozenset(i for i, state in enumerate(judge.states) if holds(state))
        found.append(MarkovChain.of(replace(policy, choices=choices, goals=goals), start))
    return tuple(found)


def _same_choice(mdp: Mdp, state: int, choice: MdpChoice) -> MdpChoice:
    return next(one for one in mdp.choices[state] if one.capability == choice.capability)


def _steps(graph: StateGraph, policy: GoalPolicy) -> dict[State, PlanStep]:
    states = policy.mdp.states
    steps = {}
    for i, choice in policy.choices.items():
        before = states[i]
        shares = (count / choice.draws for count in choice.counts)
        branches = zip(shares, (states[j] for j in choice.successors), strict=True)
        steps[before] = PlanStep(
            before,
            graph.capabilities[choice.capability],
            tuple(sorted(branches, key=lambda branch: (-branch[0], branch[1]))),
            choice.executions,
            choice.draws_here,
            policy.success[i],
            policy.executions[i],
            choice.doubt,
        )
    return steps


def _evaluated(plan: Plan, chain: MarkovChain, states: Sequence[State], seed: int) -> Plan:
    """Evaluate the policy from its start, and check that it attains the solved success."""
    frequencies = chain.frequencies()
    try:
        visits = chain.edges.visits(frequencies)[0]
    except np.linalg.LinAlgError:
        raise _endless(plan.goal) from None
    arrivals = chain.edges.arrivals(frequencies)[0]
    success, solved = float(arrivals[chain.reached].sum()), plan.starts[plan.start]
    if not math.isclose(success, solved, rel_tol=_AGREEMENT):
        raise _endless(plan.goal)
    # Certainty follows from the graph alone; rounding must not change it.
    success = 1.0 if solved == 1.0 else min(success, 1.0)
    ends = zip(chain.ends, arrivals, chain.reached, strict=True)
    plan = replace(
        plan,
        success=success,
        executions=float(visits.sum()),
        visits={states[i]: float(n) for i, n in zip(chain.nodes, visits, strict=True)},
        dead_ends={states[i]: float(p) for i, p, reached in ends if not reached},
        chain=chain,
    )
    own = _forecasts(chain, None, seed)
    if plan.judged:
        if not plan.chosen_alike:
            plan = replace(plan, success=plan.forecasts(seed=seed)[0])
        # The plan is chosen by all executions: it is neither worse than the worse choice of a half,
        # as a rule, nor better than it seems.
        low = min(np.quantile(_forecasts(one, None, seed, _LEAK)[1:], _TAIL) for one in plan.judged)
        high = max(np.quantile(own[1:], 1 - _TAIL), success)
        success = plan.success
    else:
        low, high = np.quantile(own[1:], [_TAIL, 1 - _TAIL])
    # Extended to include the success by the frequencies, which lies outside if it is 1.
    most = success
    if plan.inferred_steps:
        most = max(success, min(float(chain.success(chain.frequencies_if_right())[0]), 1.0))
    return replace(plan, interval=(min(float(low), success), max(float(high), most)))


def _endless(goal: Condition) -> CapscopeError:
    return CapscopeError(
        f"reaching {goal} would take hundreds of thousands of executions, too many to solve "
        "precisely; plan for a nearer goal or from a nearer start"
    )


class OptimisticPath(NamedTuple):
    """A shortest path to a goal with at least one untried step."""

    capabilities: tuple[Intent, ...]
    untried_in: State
    """The state in which the first untried capability would be asked for."""
    untried: Intent


def optimistic_path(
    models: ExtremeModels, reached: StateTest, start: State
) -> tuple[OptimisticPath | None, bool]:
    """Search the optimistic model, breadth first, for a path to a goal that was never reached.

    The optimistic model assumes that an untried pair does whatever the capability did elsewhere. If
    it has a path, trying the first untried capability on it would settle the question. If it has
    none, only an outcome that was never seen could lead to the goal.

    Returns:
        The path, if one was found, and whether all states of the model were searched.
    """
    graph = models.graph

    def steps(state: State) -> Iterator[tuple[Intent, State]]:
        for intent in graph.capabilities:
            for after in models.optimistic.predict(state, intent):
                yield intent, after

    parents: dict[State, tuple[State, Intent] | None] = {}
    for state, parent in breadth_first(start, steps):
        parents[state] = parent
        if parent is not None and reached(state):
            way: list[tuple[State, Intent]] = []
            while (step := parents[state]) is not None:
                way.insert(0, step)
                state = step[0]
            untried = (s for s in way if graph.pair(s[0], graph.index[s[1]]) is None)
            asked = tuple(intent for _, intent in way)
            return next((OptimisticPath(asked, *first) for first in untried), None), False
        if len(parents) > _MOST_STATES:
            return None, False
    return None, True
