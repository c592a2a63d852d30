"""The PRISM export: Storm builds the learned rules from it, choice by choice."""

import json
import re
from fractions import Fraction

import pytest
from hypothesis import given, settings

from capscope import Budget, assess
from capscope.export.prism import prism_program
from capscope.logic import Intent, Vocabulary
from capscope.model import LearnedModel, StateGraph
from support.odd_names import BREAKOUT, ODD, odd_models, tossed_models
from support.rule_models import predicted_if_tried
from support.toy_worlds import Board, board_problem

stormpy = pytest.importorskip("stormpy")

VARIABLE = re.compile(r'^  (\w+) : bool init (true|false);  // (".*")$', re.MULTILINE)
CONSTANT = re.compile(r'^const bool (\w+) = (true|false);  // (".*")$', re.MULTILINE)
ACTION = re.compile(r'^  // (\w+) asks for (".*")$', re.MULTILINE)


class Loaded:
    """A program as Storm builds it, with states and capabilities by the names of the run."""

    def __init__(self, text, graph, path):
        path.write_text(text)
        self.program = stormpy.parse_prism_program(str(path))
        options = stormpy.BuilderOptions(build_full=True)
        self.model = stormpy.build_model[stormpy.Rational](self.program, options=options)
        bit = {str(atom): bit for atom, bit in graph.vocabulary.bit.items()}
        meaning = {name: bit[json.loads(atom)] for name, _, atom in VARIABLE.findall(text)}
        valuations = self.model.state_valuations
        variables = [v for v in valuations.get_all_variables() if v.name in meaning]
        # What Storm finds constant, perhaps as only commands that are never enabled assign it, is
        # no variable of its model, and keeps its initial value.
        known = {v.name for v in variables}
        always = sum(
            bit[json.loads(atom)]
            for name, value, atom in (*CONSTANT.findall(text), *VARIABLE.findall(text))
            if value == "true" and name not in known
        )
        self.states = [
            always + sum(meaning[v.name] for v in variables if valuations.get_boolean_value(i, v))
            for i in range(self.model.nr_states)
        ]
        self.intents = {name: json.loads(intent) for name, intent in ACTION.findall(text)}

    def choices(self, state):
        """Return where each choice of a state leads; those of no name under None."""
        number = self.states.index(state)
        first = self.model.transition_matrix.get_row_group_start(number)
        found = {}
        for action in self.model.states[number].actions:
            labels = self.model.choice_labeling.get_labels_of_choice(first + action.id)
            name = self.intents[labels.pop()] if labels else None
            assert name not in found
            found[name] = {
                self.states[t.column]: Fraction(str(t.value)) for t in action.transitions
            }
        return found

    def value(self, formula):
        """Check a property at the state in which the run began."""
        (wanted,) = stormpy.parse_properties(formula, self.program)
        model = stormpy.build_model(self.program, [wanted])
        return stormpy.model_checking(model, wanted).get_value(model.initial_states[0])

    def labels(self, state):
        return self.model.labeling.get_labels_of_state(self.states.index(state))


def expected_choices(model, state):
    """Return what the model predicts of the tried pairs of a state."""
    found = {
        str(intent): predicted
        for intent in model.capabilities
        if (predicted := predicted_if_tried(model, state, intent)) and state in model.graph.nodes
    }
    return found or {None: {state: 1}}


def reachable(model):
    found = {model.graph.first_state: None}
    for state in (queue := list(found)):
        for after in (s for ends in expected_choices(model, state).values() for s in ends):
            if after not in found:
                found[after] = None
                queue.append(after)
    return set(found)


def check_same_model(model, loaded):
    graph = model.graph
    assert len(set(loaded.states)) == len(loaded.states)
    assert set(loaded.states) == reachable(model)
    assert loaded.states[loaded.model.initial_states[0]] == graph.first_state
    for state in loaded.states:
        found, expected = loaded.choices(state), expected_choices(model, state)
        assert found.keys() == expected.keys()
        for name, ends in found.items():
            assert sum(ends.values()) == 1  # exactly
            assert ends.keys() == expected[name].keys()
            for after, share in ends.items():
                assert float(share) == pytest.approx(expected[name][after], abs=1e-10)
        seen = graph.nodes.get(state)
        assert ("untried" in loaded.labels(state)) == (seen is None or not seen.tried)


@given(odd_models().filter(lambda graph: graph.nodes))
@settings(max_examples=25)
def test_any_model_with_any_names_is_the_same_model_in_storm(tmp_path_factory, graph):
    path = tmp_path_factory.mktemp("odd") / "odd.prism"
    model = LearnedModel.fitted(graph)
    check_same_model(model, Loaded(prism_program(model, BREAKOUT), graph, path))


@pytest.fixture(scope="module")
def tireworld(tmp_path_factory):
    model = assess("tireworld", budget=Budget(executions=1500)).model
    path = tmp_path_factory.mktemp("tireworld") / "tireworld.prism"
    return model, Loaded(prism_program(model, "tireworld"), model.graph, path)


def test_a_stochastic_run_is_the_same_model_in_storm(tireworld):
    model, loaded = tireworld
    assert set(loaded.states) >= set(model.graph.nodes)
    check_same_model(model, loaded)


def most_likely(model, holds, sweeps=60):
    """Find the largest probability of reaching a goal from the first state, the naive way."""
    graph = model.graph
    value = {state: float(holds(state)) for state in graph.nodes}
    pairs = {
        state: [
            predicted
            for intent in graph.capabilities
            if (predicted := predicted_if_tried(model, state, intent))
        ]
        for state in graph.nodes
    }
    for _ in range(sweeps):
        for state in value:
            chances = [
                sum(p * value.get(after, holds(after)) for after, p in prediction.items())
                for prediction in pairs[state]
            ]
            value[state] = max([value[state], *chances])
    return value[graph.first_state]


@pytest.mark.parametrize(
    ("goal", "formula"),
    [
        ("vehicle-at(l-1-3)", "vehicle_at_l_1_3"),
        ("vehicle-at(l-1-3) and not-flattire()", "vehicle_at_l_1_3 & not_flattire"),
        ("vehicle-at(l-2-2) and not not-flattire()", '"vehicle_at_l_2_2" & !"not_flattire"'),
        ("vehicle-at(l-1-1)", "vehicle_at_l_1_1"),
    ],
)
def test_the_best_probability_of_a_goal_is_that_of_value_iteration(tireworld, goal, formula):
    model, loaded = tireworld
    intent = Intent.parse(goal)
    expected = most_likely(model, lambda state: intent.holds(state, model.graph.vocabulary))
    assert loaded.value(f"Pmax=? [F {formula}]") == pytest.approx(expected, abs=1e-5)
    assert 0 <= expected <= 1 + 1e-9


def test_each_execution_costs_one_and_the_loop_of_an_untried_state_costs_nothing(tmp_path):
    graph = tossed_models()
    model = LearnedModel.fitted(graph)
    loaded = Loaded(prism_program(model, "toss"), graph, tmp_path / "toss.prism")
    # p is reached in 1 / (its probability) executions; 2 of 3 were seen.
    chance = model.predict(0b000, graph.capabilities[0])[0b001]
    assert 0.6 < chance < 0.7
    assert loaded.value('R{"executions"}min=? [F p]') == pytest.approx(1 / chance, abs=1e-4)
    assert loaded.labels(0b111) >= {"untried", "p", "q", "r"}
    assert loaded.value('Pmax=? [F "untried"]') == pytest.approx(1.0)
    # From 0b111 nothing was tried: whoever gets there stays.
    assert loaded.value('R{"executions"}max=? [C<=3]') == pytest.approx(3)
    assert loaded.choices(0b111) == {None: {0b111: 1}}


def test_an_untried_capability_is_not_a_choice(tmp_path):
    graph = tossed_models()
    loaded = Loaded(
        prism_program(LearnedModel.fitted(graph), "toss"), graph, tmp_path / "toss.prism"
    )
    assert loaded.choices(0b011).keys() == {"not q()"}
    assert loaded.choices(0b000).keys() == {"p()", "not q()"}


@pytest.mark.parametrize("vocabulary", [ODD, Vocabulary.of_atoms("pq")])
def test_an_empty_run_is_valid(vocabulary, tmp_path):
    graph = StateGraph(vocabulary, [Intent.parse("p")] if vocabulary is not ODD else [])
    text = prism_program(LearnedModel.fitted(graph), "empty")
    assert "the initial state is unknown" in text
    loaded = Loaded(text, graph, tmp_path / "empty.prism")
    assert loaded.states == [0]
    assert loaded.choices(0) == {None: {0: 1}}
    assert loaded.value('R{"executions"}max=? [C<=3]') == 0
    assert "untried" in loaded.labels(0)


def test_a_finished_run_of_the_board_has_all_its_pairs(tmp_path):
    found = assess(board_problem(Board(slip=0.3)), budget=Budget(executions=400))
    loaded = Loaded(prism_program(found.model, "board"), found.graph, tmp_path / "board.prism")
    check_same_model(found.model, loaded)
    assert loaded.model.nr_choices == found.graph.pairs_tried
