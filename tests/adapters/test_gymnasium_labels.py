"""A label function uses the observation, the environment and the last step."""

import pytest

pytest.importorskip("gymnasium")

from capscope import Budget, Limits, Predicate, Settings, Vocabulary, assess
from capscope.adapters.gymnasium import gymnasium_problem
from capscope.errors import ProblemError
from capscope.problem.checks import check_problem

VOCABULARY = Vocabulary([Predicate("won"), Predicate("over")], {})
EPISODES = Limits(temporal_length=None, horizon=20)


def blackjack(label):
    """A hand of cards, labelled by the reward."""
    return gymnasium_problem(
        "Blackjack-v1",
        VOCABULARY,
        label,
        lambda observation: int(observation[0] < 17),
        limits=EPISODES,
    )


def test_a_label_function_may_use_the_last_step():
    problem = blackjack(
        lambda observation, env, step: {"won": step.reward > 0, "over": step.terminated}
    )
    assert list(check_problem(problem)) == []
    settings, budget = Settings(intents=("won",), resets=5), Budget(executions=200)
    graph = assess(problem, settings=settings, budget=budget).graph
    held = {tuple(map(str, VOCABULARY.holding(state))) for state in graph.nodes}
    assert held == {(), ("over()",), ("won()", "over()")}


def test_a_label_function_with_too_many_parameters_is_refused():
    with pytest.raises(ProblemError, match="observation, env, step"):
        blackjack(lambda observation, env, step, weather: [])
