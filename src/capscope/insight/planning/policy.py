"""Find the most reliable policy for a goal with Storm, and of those the one with fewest executions.

Let v be the highest probability of reaching the goal from a state. A choice is *best* if the
expected v of its successors equals v. A policy of best choices may still never arrive: if two
capabilities undo each other, alternating between them keeps v. So the second step minimizes the
expected number of executions until the end among best choices; a policy that never ends has
infinite cost. Remaining ties do not depend on the order of the solver: choices with less than half
the draws of the best supported one are dropped; among the others, the one most likely to do what it
is asked wins, then the one with most draws, then the capability that was known first.

Plain value iteration stops when values hardly change, which does not mean that they are close to
the answer. Storm's sound methods bound the error by `PRECISION`, and that matters because choices
are compared afterwards. With ties, policy iteration may cycle because of rounding, and Storm's own
scheduler takes any best choice.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, chain
from typing import Any

from capscope.errors import CapscopeError, install_hint
from capscope.insight.planning.mdp import Mdp, MdpChoice

PRECISION = 1e-10
"""The relative error of a solved value."""
_ROUNDING = 100 * PRECISION
"""Values that differ relatively by less than this are considered equal."""
_MOST_ITERATIONS = 1_000_000
_TARGET = "target"
_EXECUTIONS = "executions"


@dataclass(frozen=True)
class GoalPolicy:
    """What to ask for in every state from which the goal is known to be reachable."""

    mdp: Mdp
    goals: frozenset[int]
    success: tuple[float, ...]
    """For each state, the probability of reaching the goal."""
    executions: tuple[float, ...]
    """For each state, the expected executions until the goal is reached or out of reach."""
    choices: Mapping[int, MdpChoice]
    """By index of the state; none if the goal holds or is out of reach."""


def most_reliable_policy(mdp: Mdp, goals: Collection[int]) -> GoalPolicy:
    """Choose for every state what makes reaching one of the goals most probable."""
    goals = frozenset(goals)
    success = highest_success(mdp, goals)
    best = _best_choices(mdp, goals, success)
    ends = [i for i, here in enumerate(best.choices) if not here]
    executions = fewest_executions(best, ends)
    chosen = {i: _quickest(here, executions) for i, here in enumerate(best.choices) if here}
    return GoalPolicy(mdp, goals, tuple(success), tuple(executions), chosen)


def _best_choices(mdp: Mdp, goals: frozenset[int], success: list[float]) -> Mdp:
    """Keep the choices after which the goal is as probable as it can be from the state."""
    ends = goals | {i for i, probability in enumerate(success) if probability == 0.0}
    # Compared with the best choice, not with the state's own value, so that rounding always
    # leaves at least one.
    least = [
        max((choice.mean(success) for choice in here), default=0.0) * (1 - _ROUNDING)
        for here in mdp.choices
    ]
    return mdp.restricted(lambda i, choice: choice.mean(success) >= least[i], ends)


def _quickest(choices: tuple[MdpChoice, ...], executions: list[float]) -> MdpChoice:
    fewest = min(choice.mean(executions) for choice in choices)
    quick = [c for c in choices if c.mean(executions) <= fewest + _ROUNDING * (1 + fewest)]
    quick = [c for c in quick if c.tried] or quick
    most = max(choice.draws for choice in quick)
    supported = (choice for choice in quick if 2 * choice.draws >= most)
    return max(supported, key=lambda c: (c.fulfilled / c.draws, c.draws, -c.capability))


def highest_success(mdp: Mdp, goals: Collection[int]) -> list[float]:
    """Return for each state the highest probability of ever reaching one of the goals."""
    return _solved(mdp, goals, f'Pmax=? [F "{_TARGET}"]')


def fewest_executions(mdp: Mdp, ends: Collection[int]) -> list[float]:
    """Return for each state the fewest expected executions to an end; infinite if not certain."""
    # A wrong inference ends the plan too.
    all_ends = {*ends, len(mdp.states)} if mdp.doubtful else ends
    return _solved(mdp, all_ends, f'R{{"{_EXECUTIONS}"}}min=? [F "{_TARGET}"]')


def _solved(mdp: Mdp, targets: Collection[int], formula: str) -> list[float]:
    stormpy = _storm()
    (property_,) = stormpy.parse_properties(formula)
    result = stormpy.model_checking(
        _storm_mdp(stormpy, mdp, targets), property_, environment=_environment(stormpy)
    )
    return [float(value) for value in result.get_value_vector()][: len(mdp.states)]


@cache
def _storm() -> Any:
    try:
        import stormpy
    except ImportError as error:
        raise CapscopeError(f"planning needs the solver Storm: {install_hint('plan')}") from error
    # It logs to standard output, which is for results; errors are raised anyway.
    stormpy.developer.set_log_level(stormpy.developer.LogLevel.OFF)
    return stormpy


def _environment(stormpy: Any) -> Any:
    environment = stormpy.environments.sound()
    solver = environment.solver().min_max()
    solver.precision = stormpy.Rational(f"1/{1 / PRECISION:.0f}")
    solver.maximal_number_of_iterations = _MOST_ITERATIONS
    return environment


def _row(choice: MdpChoice, wrong: int) -> dict[int, float]:
    row = dict(zip(choice.successors, choice.probabilities, strict=True))
    return {**row, wrong: choice.doubt} if choice.doubt else row


def _storm_mdp(stormpy: Any, mdp: Mdp, targets: Collection[int]) -> Any:
    """Return the process as a Storm model; a state without choices loops.

    If choices are inferred, there is one state more, to which a wrong inference leads.
    """
    wrong = len(mdp.states)
    rows = [[_row(c, wrong) for c in here] or [{i: 1.0}] for i, here in enumerate(mdp.choices)]
    if mdp.doubtful:
        rows.append([{wrong: 1.0}])
    size = len(rows)
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
