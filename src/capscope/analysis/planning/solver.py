"""The two questions that planning asks of the model checker Storm.

What is the highest probability with which a set of states can be reached? And how few executions
does it take on average to come to an end? Plain value iteration answers both in a few lines, but
stops when it hardly changes any more, which is no sign that it is near the answer. Storm's sound
methods close in from both sides until they are within `PRECISION`; that matters here, because
choices are compared with one another afterwards and ties are real. Policy iteration would be nearer
still, but where choices tie, as they often do here, rounding makes it go round in circles for ever;
and fractions, in which nothing is rounded, grow beyond use with a hundred states.

Storm would also return a scheduler. We do not use it: see `capscope.analysis.planning.policy`.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from itertools import accumulate, chain
from typing import Any

from capscope.analysis.planning.mdp import Mdp
from capscope.errors import CapscopeError

PRECISION = 1e-10
"""The relative error of a value."""
_MOST_ITERATIONS = 1_000_000
_TARGET = "target"
_EXECUTIONS = "executions"


def highest_chances(mdp: Mdp, goals: Collection[int]) -> list[float]:
    """Return for each state the highest probability of coming to one of the goals at some time."""
    return _solved(mdp, goals, f'Pmax=? [F "{_TARGET}"]')


def fewest_executions(mdp: Mdp, ends: Collection[int]) -> list[float]:
    """Return for each state how few executions, on average, it takes to come to one of the ends.

    Infinite where no policy comes to an end with certainty.
    """
    return _solved(mdp, ends, f'R{{"{_EXECUTIONS}"}}min=? [F "{_TARGET}"]')


def _solved(mdp: Mdp, targets: Collection[int], formula: str) -> list[float]:
    stormpy = _storm()
    (property_,) = stormpy.parse_properties(formula)
    result = stormpy.model_checking(
        _storm_mdp(stormpy, mdp, targets), property_, environment=_environment(stormpy)
    )
    return [float(value) for value in result.get_value_vector()]


@cache
def _storm() -> Any:
    try:
        import stormpy
    except ImportError as error:
        raise CapscopeError(
            "planning is done by Storm and needs an extra: pip install 'capscope[plan]'"
        ) from error
    # Its notes and warnings go to standard output, which is for answers; errors are raised.
    stormpy.developer.set_log_level(stormpy.developer.LogLevel.OFF)
    return stormpy


def _environment(stormpy: Any) -> Any:
    environment = stormpy.environments.sound()
    solver = environment.solver().min_max()
    solver.precision = stormpy.Rational(f"1/{1 / PRECISION:.0f}")
    solver.maximal_number_of_iterations = _MOST_ITERATIONS
    return environment


def _storm_mdp(stormpy: Any, mdp: Mdp, targets: Collection[int]) -> Any:
    """Write the process down for Storm; a state without a choice stays where it is."""
    size = len(mdp.states)
    rows = [
        [dict(zip(c.successors, c.probabilities, strict=True)) for c in here] or [{i: 1.0}]
        for i, here in enumerate(mdp.choices)
    ]
    groups = [0, *accumulate(map(len, rows))]
    entries = [
        (number, after, row[after])
        for number, row in enumerate(chain.from_iterable(rows))
        for after in sorted(row)
    ]
    builder = stormpy.datastructures.SparseMatrixBuilder[float](
        rows=groups[-1], columns=size, entries=len(entries),
        has_custom_row_grouping=True, row_groups=size,
    )  # fmt: skip
    builder.add_next_values(*map(list, zip(*entries, strict=True)), groups[:-1])
    labels = stormpy.models.StateLabeling(size)
    labels.add_label(_TARGET)
    for target in targets:
        labels.add_label_to_state(_TARGET, target)
    components = stormpy.models.SparseModelComponents[float](
        transition_matrix=builder.build(), state_labeling=labels
    )
    components.reward_models = {
        _EXECUTIONS: stormpy.models.SparseRewardModel[float](
            optional_state_action_reward_vector=[1.0] * groups[-1]
        )
    }
    return stormpy.models.SparseMdp[float](components)
