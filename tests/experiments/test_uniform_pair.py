"""The baseline that draws an untried pair uniformly."""

from collections import Counter

import pytest

from capscope import Budget, assess, resume
from capscope.journal.draws import Start
from capscope.journal.execution_table import Transition
from capscope.journal.settings import Settings
from capscope.logic import Intent
from capscope.model import Learned, StateGraph
from capscope.problems import load_problem
from capscope.strategy.base import QueryResult, StrategyContext
from capscope.strategy.registry import STRATEGIES
from capscope_experiments.baselines.uniform_pair import UNIFORM, UNIFORM_PAIR, UniformPair

STRATEGIES.add(UNIFORM_PAIR)
ATOMS = load_problem("tireworld").vocabulary
CAPABILITIES = [*map(Intent.parse, ("not-flattire()", "vehicle-at(l-1-1)"))]


class Positions:
    """Positions that are as good as their state."""

    initial = ()

    def choose(self, state, rng):
        return Start(state, None)


def strategy_for(graph):
    return UniformPair(StrategyContext(graph, Settings(), 0, Positions()))


def drawn(strategy, number):
    [task] = strategy.next(number).tasks
    return task.start.state, task.policy.sequence[0]


def test_every_untried_pair_of_a_seen_state_is_drawn_equally_often():
    graph = StateGraph(ATOMS, CAPABILITIES)
    graph.update({Transition(0, 0, 1): 1})
    strategy = strategy_for(graph)
    strategy.observe(QueryResult(False, 0, [(0, 0)], Learned(1, 1, 0.0)))
    counts = Counter(drawn(strategy, number) for number in range(3000))
    assert set(counts) == {(0, 1), (1, 0), (1, 1)}
    assert all(900 < count < 1100 for count in counts.values())


def test_pairs_of_states_and_capabilities_that_are_found_later_are_drawn_too():
    graph = StateGraph(ATOMS, CAPABILITIES[:1])
    graph.node(0)
    strategy = strategy_for(graph)
    graph.update({Transition(0, 0, 2): 1})
    graph.extend(CAPABILITIES[1:])
    strategy.observe(QueryResult(False, 0, [(0, 0)], Learned(1, 1, 0.0)))
    assert {drawn(strategy, number) for number in range(60)} == {(0, 1), (2, 0), (2, 1)}


def test_if_nothing_is_untried_any_pair_is_repeated():
    graph = StateGraph(ATOMS, CAPABILITIES)
    graph.update({Transition(0, 0, 0): 1, Transition(0, 1, 0): 1})
    strategy = strategy_for(graph)
    strategy.observe(QueryResult(False, 0, [(0, 0), (0, 1)], Learned(2, 2, 0.0)))
    choice = strategy.next(0)
    assert not choice.record.informative
    assert {drawn(strategy, number) for number in range(60)} == {(0, 0), (0, 1)}


def test_a_run_tries_a_new_pair_in_every_execution_and_continues_as_if_never_interrupted(tmp_path):
    few, all_ = Budget(executions=25), Budget(executions=60)
    whole = assess("tireworld", strategy=UNIFORM, budget=all_, run=tmp_path / "one")
    assert whole.graph.pairs_tried == 60
    part = assess("tireworld", strategy=UNIFORM, budget=few, run=tmp_path / "two")
    again = resume(part.path, budget=all_)
    assert again.executions.transitions() == whole.executions.transitions()


def test_it_is_found_by_its_name_but_not_listed():
    assert STRATEGIES.find(UNIFORM) is UNIFORM_PAIR
    assert UNIFORM not in STRATEGIES.all
    with pytest.raises(KeyError):
        STRATEGIES.built_in[UNIFORM]
