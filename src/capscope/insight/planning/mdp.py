"""What was tried and what is inferred, as a Markov decision process, and its most reliable policy.

**Choices.** A choice is a capability that was tried in a state, with the outcomes that the learned
model predicts there, unless it never changed the state: it may only waste executions. The
pessimistic model would be wrong: there, an outcome of 10 % is certain in a state in which it was
drawn once and nothing else, and a planner that wants it looks for just these states. To the learned
model it is as rare as in similar states. So a choice may lead to a state that was never seen, where
it ends: such a state is a goal or a dead end.

**Inferred choices.** After a few executions nothing tried may lead to a goal although the model
knows a way. So an untried pair may be a choice, too, if the model infers what it does with a doubt
of at most `MOST_DOUBT`; with that probability the choice leads nowhere. A planner looks for
mistakes that serve its goal, so a choice is dropped if one of its outcomes is only a part of the
changes seen elsewhere (an effect that picks up a clear block and leaves it not clear cannot occur
where it was not clear before), or breaks one of the groups of atoms of which exactly one held in
every state seen.

**The policy**, found with Storm. Let v be the highest probability of reaching the goal from a
state. A choice is *best* if the expected v of its successors equals v. A policy of best choices may
still never arrive: if two capabilities undo each other, alternating between them keeps v. So the
second step minimizes the expected number of executions until the end among best choices; a policy
that never ends has infinite cost. Remaining ties do not depend on the order of the solver: choices
with less than half the draws of the best supported one are dropped; among the others, the one most
likely to do what it is asked wins, then the one with most draws, then the capability that was known
first. Storm's sound methods bound the error by `PRECISION`, which matters because choices are
compared afterwards; plain value iteration stops when values hardly change.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate, chain
from typing import Any

import numpy as np

from capscope.errors import CapscopeError, install_hint
from capscope.insight.tried_rules import predictions
from capscope.journal.execution_table import Transition
from capscope.logic import Effect, State
from capscope.model import LearnedModel, LearnedPrediction, Provenance, StateGraph
from capscope.model.decomposition import tried


@dataclass(frozen=True, slots=True)
class MdpChoice:
    """A capability in a state, and where it leads; states are given by index."""

    capability: int
    rule: Hashable
    """The outcome type and its condition; such choices share what is uncertain about them."""
    counts: tuple[float, ...]
    """The probabilities, times the executions of the choice alone that would say as much."""
    successors: tuple[int, ...]
    """The distinct states that the outcomes lead to."""
    draws_here: int
    """The executions in this state; 0 if the choice is inferred."""
    executions: int = 0
    """Those of all choices of the outcome type."""
    fulfilled: float = 0
    """The part of the counts in which the intent of the capability holds afterwards."""
    doubt: float = 0.0
    """The probability that an inferred choice does something else."""

    @property
    def draws(self) -> float:
        """How many executions of the choice alone would say as much about its probabilities."""
        return sum(self.counts)

    @property
    def tried(self) -> bool:
        """Whether the capability was ever executed in this state."""
        return self.draws_here > 0

    @property
    def probabilities(self) -> tuple[float, ...]:
        """The probability of each outcome; they sum to one minus the doubt."""
        total = self.draws
        return tuple((1.0 - self.doubt) * (count / total) for count in self.counts)

    def mean(self, values: list[float]) -> float:
        """Return the expected value of the successor; it is 0 if the inference is wrong."""
        pairs = zip(self.counts, self.successors, strict=True)
        total = sum(count * values[after] for count, after in pairs) / self.draws
        return (1.0 - self.doubt) * total


@dataclass(frozen=True)
class Mdp:
    """States and the choices in each; a state without choices is terminal."""

    states: tuple[State, ...]
    choices: tuple[tuple[MdpChoice, ...], ...]

    @property
    def doubtful(self) -> bool:
        """Whether some choice is inferred."""
        return any(choice.doubt for here in self.choices for choice in here)


class _Choices:
    """The choices in each state; states get numbers as they are met."""

    def __init__(self, graph: StateGraph, states: Iterable[State]) -> None:
        self._tests = [intent.test(graph.vocabulary) for intent in graph.capabilities]
        self.index = {state: i for i, state in enumerate(states)}
        self._of: defaultdict[State, list[MdpChoice]] = defaultdict(list)

    def add(
        self, state: State, capability: int, predicted: LearnedPrediction, doubt: float = 0.0
    ) -> None:
        """Add a choice with the outcomes that the model predicts."""
        holds, support = self._tests[capability], predicted.support
        # In the order of their changes, which all states of a type share.
        ends = sorted(
            (Effect.between(state, after), after, p * support.worth)
            for after, p in predicted.items()
            if p > 0
        )
        self._of[state].append(
            MdpChoice(
                capability,
                (support.rule, support.leaf),
                tuple(count for *_, count in ends),
                tuple(self.index.setdefault(after, len(self.index)) for _, after, _ in ends),
                support.own_draws,
                support.draws,
                sum(count for _, after, count in ends if holds(after)),
                doubt,
            )
        )

    def keep(self, state: State, choice: MdpChoice) -> None:
        """Add a choice of another process with the same first states."""
        self._of[state].append(choice)

    def mdp(self) -> Mdp:
        """Return the process."""
        return Mdp(tuple(self.index), tuple(tuple(self._of[state]) for state in self.index))


def halves(mdp: Mdp, graph: StateGraph, seed: int) -> tuple[Mdp, Mdp]:
    """Return a process as a model of each half of the executions predicts it.

    The executions of each pair are divided at random. A single execution is in both halves, and so
    is all that is inferred. What a capability is asked for is not counted in a half: in a tie it
    would tell which choice was lucky in the other half.

    Args:
        mdp: The process by all executions.
        graph: These executions.
        seed: For the division.

    Returns:
        Two processes with the same choices; states that only they lead to come last.
    """
    one, other = (_half(mdp, graph, part) for part in divided(graph, seed))
    return one, other


def divided(graph: StateGraph, seed: int) -> tuple[Counter[Transition], Counter[Transition]]:
    """Divide the executions of each pair at random; a single one is in both halves."""
    rng = np.random.default_rng(seed)
    parts = Counter[Transition](), Counter[Transition]()
    for state, capability, pair in tried(graph):
        counts = np.array(list(pair.counts.values()))
        taken = (pair.total + int(rng.integers(2))) // 2
        one = rng.multivariate_hypergeometric(counts, taken) if pair.total > 1 else counts
        for part, own in zip(parts, (one, counts - one if pair.total > 1 else one), strict=True):
            for effect, count in zip(pair.counts, own.tolist(), strict=True):
                if count:
                    part[Transition(state, capability, effect.apply(state))] = count
    return parts


def _half(mdp: Mdp, graph: StateGraph, seen: Mapping[Transition, int]) -> Mdp:
    """Return the choices of a process as a model of some of the executions predicts them."""
    some = StateGraph(graph.vocabulary, graph.capabilities)
    some.update(seen)
    model = LearnedModel.fitted(some)
    choices = _Choices(graph, mdp.states)
    for state, here in zip(mdp.states, mdp.choices, strict=True):
        for choice in here:
            if choice.tried:
                predicted = model.predict(state, graph.capabilities[choice.capability])
                choices.add(state, choice.capability, predicted)
            else:
                choices.keep(state, choice)
    made = choices.mdp()
    forgetful = (tuple(replace(one, fulfilled=0) for one in here) for here in made.choices)
    return Mdp(made.states, tuple(forgetful))


def fitted_mdp(model: LearnedModel) -> Mdp:
    """Return the process of everything that was tried; states never seen come last."""
    return _tried(model).mdp()


def _tried(model: LearnedModel) -> _Choices:
    graph = model.graph
    choices = _Choices(graph, graph.nodes)
    for capability, intent in enumerate(graph.capabilities):
        for state, pair, predicted in predictions(model, intent):
            if pair.only is not graph.nodes[state]:
                choices.add(state, capability, predicted)
    return choices


MOST_DOUBT = 0.1
"""Of an inferred choice. Predictions with more doubt are not planned with."""
_MOST_UNSEEN = 2_000
"""States never seen from which to plan on; beyond, a plan ends."""


def believed_mdp(model: LearnedModel, most_doubt: float = MOST_DOUBT) -> Mdp:
    """Return the process of everything that was observed or is inferred.

    Inferred choices, and the states they lead to, are added breadth first, all states of a depth at
    once, until there is nothing more to add.
    """
    graph = model.graph
    choices, done = _tried(model), 0
    while done < len(choices.index) <= len(graph.nodes) + _MOST_UNSEEN:
        states = list(choices.index)[done:]
        model.anticipate(states)
        done = len(choices.index)
        for state in states:
            node = graph.nodes.get(state)
            for capability, intent in enumerate(graph.capabilities):
                if node is None or node.pairs[capability] is None:
                    predicted = model.predict(state, intent)
                    if _is_usable(state, predicted, graph, most_doubt):
                        choices.add(state, capability, predicted, predicted.doubt)
    return choices.mdp()


def _is_usable(
    state: State, predicted: LearnedPrediction, graph: StateGraph, most_doubt: float
) -> bool:
    def is_plausible(after: State) -> bool:
        if Effect.between(state, after) not in predicted.support.rule:
            return False
        groups = graph.exactly_one.groups
        return after in graph.nodes or all((group & after).bit_count() == 1 for group in groups)

    ends = [after for after in predicted if after != state]
    return (
        predicted.provenance is Provenance.INFERRED
        and predicted.support.worth > 0
        and bool(ends)
        and predicted.doubt <= most_doubt
        and all(map(is_plausible, ends))
    )


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
    best = []
    for i, here in enumerate(mdp.choices):
        means = [0.0 if i in goals or not success[i] else c.mean(success) for c in here]
        # Compared with the best choice, not with the state's own value, so that rounding always
        # leaves at least one.
        least = max(means, default=0.0) * (1 - _ROUNDING)
        best.append(tuple(c for c, mean in zip(here, means, strict=True) if 0 < least <= mean))
    return Mdp(mdp.states, tuple(best))


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
    row = {i: p for i, p in zip(choice.successors, choice.probabilities, strict=True) if p}
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
