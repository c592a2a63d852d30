"""The heat map, compared with counting state by state."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capscope.journal.execution_table import Transition
from capscope.logic import Literal
from capscope.model import LearnedModel, StateGraph
from capscope.report.digest.heat_map import heat_map
from capscope.report.digest.size_budget import SizeBudget
from capscope.report.digest.states import splitting_atoms
from capscope.report.text import capability_views
from capscope.stats.partial_pooling import mean_probability
from support.small_runs import LAMPS, WISHES
from support.tiny_digests import by_attribute

TRANSITIONS = st.dictionaries(
    st.builds(Transition, st.integers(0, 7), st.integers(0, 3), st.integers(0, 7)),
    st.integers(1, 3),
    max_size=30,
)


def made(transitions, *, repeated=False, atoms=(0, 1, 2), rules=99, space=10**6):
    graph = StateGraph(LAMPS, WISHES)
    graph.update(transitions)
    views = capability_views(LearnedModel.fitted(graph))
    eventual = [dict.fromkeys(range(8), 0.25) for _ in views] if repeated else None
    shown = heat_map(graph, views, eventual, atoms, [rules] * len(views), SizeBudget(space))
    return graph, views, by_attribute(shown)


def successes(transitions, capability, state, intent):
    """Count the successes and the executions of a pair, in the transitions that were given."""
    own = {
        t.after: n
        for t, n in transitions.items()
        if (t.before, t.capability) == (state, capability)
    }
    return sum(n for after, n in own.items() if intent.holds(after, LAMPS)), sum(own.values())


@given(TRANSITIONS)
@settings(max_examples=40)
def test_a_cell_is_the_mean_over_the_states_tried_in_which_the_intent_did_not_hold(transitions):
    graph, views, heat = made(transitions)
    assert [views[row.capability].intent for row in heat.rows] == sorted(graph.capabilities)
    conditions = [(), *((Literal.parse(text),) for text in heat.columns)]
    for row in heat.rows:
        view = views[row.capability]
        for cell, literals in zip(row.cells, conditions, strict=True):
            applies = LAMPS.test(literals)
            open_states = [
                state
                for state in graph.nodes
                if applies(state) and not view.intent.holds(state, LAMPS)
            ]
            found = {
                (r, state): successes(transitions, graph.index[view.intent], state, view.intent)
                for r, rule in enumerate(view.rules)
                for state in rule.rule.states
                if state in open_states and not graph.nodes[state].sink
            }
            assert cell.seen == len(open_states)
            assert cell.states == len(found)
            assert cell.rules == tuple(sorted({r for r, _ in found}))
            if found:
                counts = [(hits, draws, 1) for hits, draws in found.values()]
                assert cell.rate == pytest.approx(mean_probability(counts), abs=1e-5)
            else:
                assert cell.rate is None


def test_columns_are_the_atoms_that_tell_success_from_failure():
    # lit(a) works unless the lamp is broken, whatever the other lamp does.
    works = {Transition(s, 0, s | 1): 3 for s in (0, 2)}
    fails = {Transition(s, 0, s): 3 for s in (4, 6)}
    leaves = {Transition(s, 3, s ^ 4): 1 for s in (0, 2, 4, 6)}  # so that no state is a dead end
    _, _, heat = made(works | fails | leaves)
    assert heat.columns == ("broken()", "not broken()")
    (lit,) = (row for row in heat.rows if row.cells[1].rate == 0.0)
    assert [cell.rate for cell in lit.cells] == [0.5, 0.0, 1.0]


def test_of_two_atoms_that_say_the_same_one_is_shown():
    works = {Transition(0, 0, 1): 3}
    fails = {Transition(6, 0, 6): 3}
    _, _, heat = made(works | fails, atoms=(2, 1))
    assert len(heat.columns) == 2


def test_repeated_requests_have_their_own_rates():
    _, _, heat = made({Transition(0, 0, 1): 1, Transition(2, 0, 3): 1}, repeated=True)
    assert heat.repeated
    rates = [row.cells[0].rate for row in heat.rows]
    assert rates.count(0.25) == 1
    assert rates.count(None) == 3


def test_rows_that_do_not_fit_are_counted_and_omitted_rules_are_forgotten():
    transitions = {Transition(s, 0, s ^ 1 if s % 3 else s): 1 for s in range(8)}
    heat = made(transitions)[2]
    short = made(transitions, space=200)[2]
    assert 0 < len(short.rows) < len(heat.rows)
    assert short.rows_omitted == len(heat.rows) - len(short.rows)
    known = made(transitions, rules=2)[2]
    assert {r for row in known.rows for cell in row.cells for r in cell.rules} == {1}


def test_the_atoms_that_matter_are_those_of_conditions():
    graph = StateGraph(LAMPS, WISHES[:1])
    graph.update({Transition(s, 0, s | 1 if s < 4 else s): 5 for s in (0, 2, 4, 6)})
    ranked = splitting_atoms(capability_views(LearnedModel.fitted(graph)), LAMPS)
    assert [str(LAMPS.atoms[i]) for i in ranked] == ["broken()"]
    assert splitting_atoms([], LAMPS) == []
