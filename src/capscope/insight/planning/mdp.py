"""What was tried and what is inferred, as a Markov decision process, and its most reliable policy.

**Choices.** A choice is a capability that was tried in a state, with the outcomes and frequencies
of its fitted rule, unless it never changed the state there: it may only waste executions. The rules
of the pessimistic model would be wrong: there, an outcome of 10 % is certain in a state in which it
was drawn once and nothing else, and a planner that wants it looks for just these states. In the
fitted rules it is as rare as in similar states. So a choice may lead to a state that was never
seen, where it ends: such a state is a goal or a dead end.

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

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate, chain
from typing import Any

from capscope.errors import CapscopeError, install_hint
from capscope.logic import Effect, State
from capscope.model import LearnedModel, LearnedPrediction, Provenance, StateGraph
from capscope.model.rules import Rule


@dataclass(frozen=True, slots=True)
class MdpChoice:
    """A capability in a state, and where it leads; states are given by index."""

    capability: int
    rule: int
    """Choices of one rule have the same counts, and hence the same probabilities."""
    counts: tuple[float, ...]
    """How often each outcome occurred, in all states of the rule; of an inferred choice, the
    executions behind its odds, divided in these proportions."""
    successors: tuple[int, ...]
    """The distinct states that the outcomes lead to."""
    draws_here: int
    """The executions in this state; 0 if the choice is inferred."""
    fulfilled: float = 0
    """The part of the counts in which the intent of the capability holds afterwards."""
    doubt: float = 0.0
    """The probability that an inferred choice does something else."""

    @property
    def draws(self) -> float:
        """The executions behind the probabilities."""
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

    def restricted(self, keep: Callable[[int, MdpChoice], bool], ends: Collection[int] = ()) -> Mdp:
        """Return the process with only the choices to keep, and none in the states of `ends`."""
        choices = tuple(
            () if i in ends else tuple(choice for choice in here if keep(i, choice))
            for i, here in enumerate(self.choices)
        )
        return Mdp(self.states, choices)


def fitted_mdp(graph: StateGraph) -> Mdp:
    """Return the process of everything that was tried; states never seen come last."""
    index = {state: i for i, state in enumerate(graph.nodes)}
    choices: dict[State, list[MdpChoice]] = {state: [] for state in graph.nodes}
    numbers: dict[tuple[object, ...], int] = {}
    for capability, intent in enumerate(graph.capabilities):
        for place, rule in enumerate(graph.rules(intent)):
            for state, choice in _choices_of(rule, capability, graph, index):
                # Two effects may lead to one state here and to two elsewhere.
                key = (capability, place, choice.counts)
                number = numbers.setdefault(key, len(numbers))
                choices[state].append(replace(choice, rule=number))
    states = tuple(index)
    return Mdp(states, tuple(tuple(choices.get(state, ())) for state in states))


def _choices_of(
    rule: Rule, capability: int, graph: StateGraph, index: dict[State, int]
) -> Iterator[tuple[State, MdpChoice]]:
    """Yield the choices in the states of a rule; states that are new get the next index."""
    holds = graph.capabilities[capability].test(graph.vocabulary)
    for state in rule.states:
        pair = graph.pair(state, capability)
        assert pair is not None, "the states of a rule were tried"
        if pair.only is graph.nodes[state]:
            continue
        ends: dict[State, int] = {}
        for outcome in rule.outcomes:
            after = outcome.effect.apply(state)
            ends[after] = ends.get(after, 0) + outcome.count
        fulfilled = sum(count for after, count in ends.items() if holds(after))
        successors = tuple(index.setdefault(after, len(index)) for after in ends)
        counts = tuple(ends.values())
        yield state, MdpChoice(capability, 0, counts, successors, pair.total, fulfilled)


MOST_DOUBT = 0.1
"""Of an inferred choice. Predictions with more doubt are not planned with."""
_MOST_UNSEEN = 2_000
"""States never seen from which to plan on; beyond, a plan ends."""


def believed_mdp(graph: StateGraph, model: LearnedModel, most_doubt: float = MOST_DOUBT) -> Mdp:
    """Return the decision process of everything that was observed or is inferred."""
    return _Expansion(graph, model, most_doubt).mdp()


class _Expansion:
    """Adds inferred choices, and the states they lead to, until there is nothing more to add."""

    def __init__(self, graph: StateGraph, model: LearnedModel, most_doubt: float) -> None:
        self._graph = graph
        self._model = model
        self._most_doubt = most_doubt
        self._groups = graph.exactly_one.groups
        self._tests = [intent.test(graph.vocabulary) for intent in graph.capabilities]
        tried = fitted_mdp(graph)
        self._index = {state: i for i, state in enumerate(tried.states)}
        self._choices = list(tried.choices)
        self._first_rule = 1 + max((c.rule for here in tried.choices for c in here), default=-1)
        self._rules: dict[tuple[object, ...], int] = {}

    def mdp(self) -> Mdp:
        """Expand breadth first, all states of a depth at once."""
        done = 0
        while done < len(self._index) <= len(self._graph.nodes) + _MOST_UNSEEN:
            states = list(self._index)[done:]
            self._model.anticipate(states)
            done = len(self._index)
            for state in states:
                place = self._index[state]
                self._choices[place] += tuple(self._inferred(state))
        return Mdp(tuple(self._index), tuple(self._choices))

    def _inferred(self, state: State) -> Iterator[MdpChoice]:
        node = self._graph.nodes.get(state)
        for capability, intent in enumerate(self._graph.capabilities):
            if node is not None and node.pairs[capability] is not None:
                continue
            predicted = self._model.predict(state, intent)
            if self._is_usable(state, predicted):
                yield self._choice(capability, predicted)

    def _is_usable(self, state: State, predicted: LearnedPrediction) -> bool:
        return (
            predicted.provenance is Provenance.INFERRED
            and predicted.support.draws > 0
            and any(after != state for after in predicted)
            and predicted.doubt <= self._most_doubt
            and all(
                after == state or self._is_plausible(state, after, predicted) for after in predicted
            )
        )

    def _is_plausible(self, state: State, after: State, predicted: LearnedPrediction) -> bool:
        if Effect.between(state, after) not in predicted.support.rule:
            return False
        return after in self._graph.nodes or all((g & after).bit_count() == 1 for g in self._groups)

    def _choice(self, capability: int, predicted: LearnedPrediction) -> MdpChoice:
        holds = self._tests[capability]
        draws = predicted.support.draws
        ends = {after: share * draws for after, share in predicted.items() if share > 0}
        fulfilled = sum(count for after, count in ends.items() if holds(after))
        # Choices of one type with the same odds share what is uncertain about the odds.
        counts = tuple(ends.values())
        key = (predicted.support.rule, counts)
        rule = self._first_rule + self._rules.setdefault(key, len(self._rules))
        successors = tuple(self._place(after) for after in ends)
        return MdpChoice(capability, rule, counts, successors, 0, fulfilled, predicted.doubt)

    def _place(self, state: State) -> int:
        place = self._index.setdefault(state, len(self._index))
        if place == len(self._choices):
            self._choices.append(())
        return place


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
