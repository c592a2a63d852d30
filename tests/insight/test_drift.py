"""An agent that changes while it is being assessed is noticed, and nothing else is called that."""

import pytest

from capscope import Budget, Settings, assess
from capscope.insight.drift import find_drift
from capscope.logic import to_json
from support.changing_agents import Failing
from support.tiny_models import INTENTS, WORDS
from support.tiny_run_data import execution_table
from support.toy_worlds import Board, BoardLaidOutAnew, Presser, Scripted, board_problem

SETTINGS = Settings(draws=5, random_length=8, iterations=30, delta=1e-6, min_draws=10**6)


def drift_of(agent, board=None, strategy="exhaustive", seed=0, executions=600):
    problem = board_problem(board or Board(slip=0.1), agent)
    budget = Budget(executions=executions)
    return assess(problem, strategy=strategy, seed=seed, settings=SETTINGS, budget=budget).drift


@pytest.mark.parametrize("strategy", ["exhaustive", "mcqs-s", "random"])
@pytest.mark.parametrize("seed", range(3))
def test_an_agent_that_fails_from_some_time_on_is_noticed(strategy, seed):
    found = drift_of(Failing(300), strategy=strategy, seed=seed)
    assert found is not None
    assert abs(found.executions - 300) <= 70
    assert found.capability is None or found.capability == found.intent
    assert found.before != found.after
    assert found.pairs > 0


def test_a_change_of_one_capability_is_ascribed_to_it():
    found = drift_of(Failing(300, only="lit(b)"), Board())
    assert str(found.capability) == str(found.intent) == "lit(b)"
    assert [*found.before] == [found.state | 0b010]
    assert [*found.after] == [found.state]
    written = to_json(found)
    assert {name: written[name] for name in ("intent", "state", "before", "after")} == {
        "intent": "lit(b)",
        "state": hex(found.state),
        "before": {hex(found.state | 0b010): found.before.total()},
        "after": {hex(found.state): found.after.total()},
    }


def test_an_agent_that_gets_better_is_noticed():
    class Improving(Failing):
        def begin(self, intent, seed):
            self.left -= 1
            refuses = self.left >= 0 and str(intent) == "lit(b)"
            return (Scripted() if refuses else Presser()).begin(intent, seed)

    assert str(drift_of(Improving(300), Board()).capability) == "lit(b)"


@pytest.mark.parametrize("strategy", ["exhaustive", "mcqs-s", "random"])
@pytest.mark.parametrize("seed", range(4))
def test_an_agent_that_stays_the_same_is_not_called_changed(strategy, seed):
    slip = (0.0, 0.02, 0.3, 0.6)[seed]
    assert drift_of(Presser(), Board(slip=slip), strategy, seed, executions=300) is None


def rows_of(groups):
    """Make rows of ⟨capability, before, after, position⟩ from ⟨number, after, position⟩."""
    return [(0, 0, after, position) for number, after, position in groups for _ in range(number)]


def test_positions_that_differ_are_not_called_a_change():
    # Early draws began at one position and late ones at another, which is aliasing.
    apart = rows_of([(200, 1, b"here"), (200, 2, b"there")])
    assert find_drift(execution_table(apart), INTENTS, WORDS) is None
    # Without a name for the position, the same outcomes are a change.
    alike = rows_of([(200, 1, b"here"), (200, 2, b"here")])
    found = find_drift(execution_table(alike), INTENTS, WORDS)
    assert (found.executions, found.before, found.after) == (192, {1: 192}, {1: 8, 2: 200})
    known = find_drift(execution_table(apart), INTENTS, WORDS, several_positions=lambda: True)
    assert known is None


def test_a_change_within_a_position_is_found_although_positions_differ():
    rows = rows_of([(100, 1, b"here"), (100, 2, b"there"), (100, 2, b"here"), (99, 2, b"there")])
    found = find_drift(execution_table(rows), INTENTS, WORDS)
    assert found.before == {1: 100}
    assert [*found.after] == [2]


def test_positions_are_looked_for_in_the_journal_only_if_it_matters():
    def forbidden():
        raise AssertionError

    steady = rows_of([(300, 1, b"here")])
    table = execution_table(steady)
    assert find_drift(table, INTENTS, WORDS, several_positions=forbidden) is None


def test_hidden_wiring_is_not_called_a_change():
    problem = board_problem(BoardLaidOutAnew())
    for strategy in ("exhaustive", "random"):
        settings = Settings(resets=6, draws=5, random_length=8, delta=1e-6, min_draws=10**6)
        run = assess(problem, strategy=strategy, settings=settings, budget=Budget(executions=400))
        assert run.drift is None


def test_no_executions_are_no_change():
    assert find_drift(execution_table([]), INTENTS, WORDS) is None
