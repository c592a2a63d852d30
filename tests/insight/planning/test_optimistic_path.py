import random

from capscope.insight.planning import optimistic_path
from capscope.journal.execution_table import Transition
from capscope.logic import Condition
from capscope.model import ExtremeModels
from support.tiny_models import ALL, INTENTS, WORDS, learned, random_models


def test_a_path_is_found_exactly_if_the_optimistic_model_has_one():
    for seed in range(30):
        graph = random_models(random.Random(seed), share=0.3)
        models = ExtremeModels(graph)
        for goal_state in ALL:
            literals = ((1 << i, name) for i, name in enumerate("pqr"))
            text = " and ".join(n if goal_state & bit else f"not {n}" for bit, n in literals)
            goal = Condition.parse(text, WORDS).test(WORDS)
            for start in set(graph.nodes) - {goal_state}:
                reached, edge = {start}, {start}
                while edge:
                    edge = {
                        after
                        for state in edge
                        for intent in INTENTS
                        for after in models.optimistic.predict(state, intent)
                    } - reached
                    reached |= edge
                path, searched_all = optimistic_path(models, goal, start)
                assert searched_all == (goal_state not in reached)
                if path is not None:
                    assert goal_state in reached
                    assert models.pessimistic.predict(path.untried_in, path.untried) == {}


def test_a_capability_that_was_never_tried_is_assumed_to_work():
    graph = learned({Transition(0, 0, 1): 3})
    path, _ = optimistic_path(ExtremeModels(graph), Condition.parse("p and q").test(WORDS), 0)
    assert [str(intent) for intent in path.capabilities] == ["p()", "q()"]
    assert (path.untried_in, str(path.untried)) == (1, "q()")


def test_if_everything_was_tried_there_is_no_optimistic_path():
    seen = {(state, c): state | 1 for state in (0, 1) for c in range(3)}
    graph = learned({Transition(s, c, after): 1 for (s, c), after in seen.items()})
    found = optimistic_path(ExtremeModels(graph), Condition.parse("q").test(WORDS), 0)
    assert found == (None, True)


def test_a_search_is_limited(monkeypatch):
    monkeypatch.setattr("capscope.insight.planning._MOST_STATES", 2)
    graph = learned({Transition(0, 0, 1): 3})
    found = optimistic_path(ExtremeModels(graph), Condition.parse("r").test(WORDS), 0)
    assert found == (None, False)
