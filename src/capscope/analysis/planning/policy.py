"""The most reliable policy, and of those the one that asks least.

For each state v is the highest probability of reaching the goal, and a choice is *best* if its
successors' v come to v on average. The naive policy takes any best choice. It may never arrive:
where a capability can be undone by another, going to and fro has the same v at every step, and so
has standing still if that were a choice. A policy of best choices attains v exactly if it comes to
an end with certainty, an end being a state in which the goal holds or v is 0.

So the second step looks only at best choices and asks which of them come to an end with the fewest
executions on average. Each execution costs one, so whoever never ends pays without bound: the
answer attains v, and takes no detour. What is left are ties between equals. Choices with less than
half the draws of the best supported one are passed over. Of the others the one is taken that is
likeliest to do what it is asked, so that a plan reads as it works; then the one with most draws;
then the capability that was known first. So a plan does not depend on the solver's order.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from capscope.analysis.planning.mdp import Choice, Mdp
from capscope.analysis.planning.solver import PRECISION, fewest_executions, highest_chances

_ROUNDING = 100 * PRECISION
"""Two values that differ by less than this share of them are the same, solved differently."""


@dataclass(frozen=True)
class Policy:
    """What to ask for in every state from which a way to the goal was seen."""

    mdp: Mdp
    goals: frozenset[int]
    chances: tuple[float, ...]
    """The probability of reaching the goal, by position of the state."""
    executions: tuple[float, ...]
    """The executions expected until the goal is reached or no way to it is known any more."""
    choices: Mapping[int, Choice]
    """By position of the state; none where the goal holds or is out of reach."""


def most_reliable(mdp: Mdp, goals: Collection[int]) -> Policy:
    """Choose for every state what makes reaching one of the goals most probable."""
    goals = frozenset(goals)
    chances = highest_chances(mdp, goals)
    best = _best_choices(mdp, goals, chances)
    ends = [i for i, here in enumerate(best.choices) if not here]
    executions = fewest_executions(best, ends)
    chosen = {i: _quickest(here, executions) for i, here in enumerate(best.choices) if here}
    return Policy(mdp, goals, tuple(chances), tuple(executions), chosen)


def _best_choices(mdp: Mdp, goals: frozenset[int], chances: list[float]) -> Mdp:
    """Keep the choices after which the goal is as probable as it can be from the state."""
    ends = goals | {i for i, chance in enumerate(chances) if chance == 0.0}
    # Measured by the best choice and not by the state's own value: rounding must not leave none.
    least = [
        max((choice.mean(chances) for choice in here), default=0.0) * (1 - _ROUNDING)
        for here in mdp.choices
    ]
    return mdp.restricted(lambda i, choice: choice.mean(chances) >= least[i], ends)


def _quickest(choices: tuple[Choice, ...], executions: list[float]) -> Choice:
    fewest = min(choice.mean(executions) for choice in choices)
    quick = [c for c in choices if c.mean(executions) <= fewest + _ROUNDING * (1 + fewest)]
    most = max(choice.draws for choice in quick)
    supported = (choice for choice in quick if 2 * choice.draws >= most)
    return max(supported, key=lambda c: (c.fulfilled / c.draws, c.draws, -c.capability))
