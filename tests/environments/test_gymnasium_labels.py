"""A labelling says what holds: by the observation, the environment, and what a step told."""

import pytest

pytest.importorskip("gymnasium")

from capscope import Budget, Limits, Predicate, Settings, Vocabulary, assess
from capscope.environments.gymnasium import gymnasium_problem
from capscope.errors import ProblemError
from capscope.world import check_problem

WORDS = Vocabulary([Predicate("won"), Predicate("over")], {})
EPISODES = Limits(temporal_length=None, horizon=20)


def blackjack(label):
    """A hand of cards; who labels it is told the reward."""
    return gymnasium_problem(
        "Blackjack-v1", WORDS, label, lambda observation: int(observation[0] < 17), limits=EPISODES
    )


def test_a_label_may_go_by_what_a_step_told():
    problem = blackjack(
        lambda observation, env, step: {"won": step.reward > 0, "over": step.terminated}
    )
    assert list(check_problem(problem)) == []
    settings, budget = Settings(intents=("won",), resets=5), Budget(executions=200)
    graph = assess(problem, settings=settings, budget=budget).graph
    held = {tuple(map(str, WORDS.holding(state))) for state in graph.nodes}
    assert held == {(), ("over()",), ("won()", "over()")}


def test_a_label_that_wants_more_is_told_what_there_is():
    with pytest.raises(ProblemError, match="observation, env, step"):
        blackjack(lambda observation, env, step, weather: [])
