import random

from capscope.analysis.planning import Goal
from capscope.analysis.planning.optimism import Outlook
from capscope.record.execution_table import Transition
from support.tiny_models import ALL, INTENTS, WORDS, learned, random_models


def test_the_optimist_sees_a_way_exactly_where_its_model_has_one():
    for seed in range(30):
        graph = random_models(random.Random(seed), share=0.3)
        for goal_state in ALL:
            literals = ((1 << i, name) for i, name in enumerate("pqr"))
            text = " and ".join(n if goal_state & bit else f"not {n}" for bit, n in literals)
            goal = Goal.parse(text, WORDS)
            for start in set(graph.nodes) - {goal_state}:
                reached, edge = {start}, {start}
                while edge:
                    edge = {
                        after
                        for state in edge
                        for intent in INTENTS
                        for after in graph.optimistic.predict(state, intent)
                    } - reached
                    reached |= edge
                outlook = Outlook.of(graph, goal, start)
                assert outlook.searched_all == (goal_state not in reached)
                if outlook.hope is not None:
                    assert goal_state in reached
                    where, what = outlook.hope.untried_in, outlook.hope.untried
                    assert graph.pessimistic.predict(where, what) == {}


def test_a_capability_that_was_never_tried_anywhere_is_believed_in():
    graph = learned({Transition(0, 0, 1): 3})
    hope = Outlook.of(graph, Goal.parse("p and q", WORDS), 0).hope
    assert [str(intent) for intent in hope.capabilities] == ["p()", "q()"]
    assert (hope.untried_in, str(hope.untried)) == (1, "q()")


def test_where_everything_was_tried_the_optimist_sees_no_more_than_was_seen():
    seen = {(state, c): state | 1 for state in (0, 1) for c in range(3)}
    graph = learned({Transition(s, c, after): 1 for (s, c), after in seen.items()})
    assert Outlook.of(graph, Goal.parse("q", WORDS), 0) == Outlook(None, searched_all=True)


def test_a_search_without_end_is_given_up(monkeypatch):
    monkeypatch.setattr("capscope.analysis.planning.optimism._MOST_STATES", 2)
    graph = learned({Transition(0, 0, 1): 3})
    goal = Goal.parse("r", WORDS)
    assert Outlook.of(graph, goal, 0) == Outlook(None, searched_all=False)
