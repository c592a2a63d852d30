"""The success of a plan by the fitted rules: a second estimate, from more evidence.

The pessimistic model has a rule for each set of effects that states showed. Where a rare outcome
was drawn once and nothing else, it is certain, and a plan for a rare outcome goes through just
these states: its success by the frequencies is too high. In the fitted rules such a state has the
odds of the states like it. Here the same policy is evaluated with these odds.
"""

from typing import NamedTuple

import numpy as np

from capscope.analysis.planning.goal import Goal
from capscope.analysis.planning.markov_chain import MarkovChain
from capscope.analysis.planning.mdp import fitted_mdp
from capscope.analysis.planning.policy import GoalPolicy
from capscope.model import StateGraph
from capscope.symbolic import Intent, State

_LONGEST = 1_000
"""Executions after which a policy that may go in circles is given up."""


class FittedSuccess(NamedTuple):
    """The success of a policy, and the 95 % credible interval."""

    success: float
    interval: tuple[float, float]


def fitted_success(
    graph: StateGraph, asked: dict[State, Intent], goal: Goal, start: State, samples: int, seed: int
) -> FittedSuccess:
    """Evaluate what is asked for in each state with the odds of the fitted rules."""
    mdp = fitted_mdp(graph)
    wanted = {state: graph.index[intent] for state, intent in asked.items()}
    chosen = {
        i: choice
        for i, (state, here) in enumerate(zip(mdp.states, mdp.choices, strict=True))
        for choice in here
        if choice.capability == wanted.get(state)
    }
    goals = frozenset(i for i, state in enumerate(mdp.states) if goal.holds(state))
    policy = GoalPolicy(mdp, goals, (), (), chosen)
    chain = MarkovChain.of(policy, mdp.states.index(start))
    rows = np.vstack([chain.frequencies(), chain.sampled(samples, seed)])
    try:
        found = chain.success(rows)
    except np.linalg.LinAlgError:
        found = chain.success(rows, _LONGEST)
    success, *sampled = np.clip(found, 0.0, 1.0).tolist()
    low, high = np.quantile(sampled, [0.025, 0.975]).tolist()
    return FittedSuccess(success, (min(low, success), max(high, success)))
