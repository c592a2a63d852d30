"""`model.json`, compared with its description in the design."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope import Budget, Settings, assess, load
from capscope.export.model_json import model_document
from capscope.journal.execution_table import Transition
from capscope.logic import Intent, Vocabulary
from capscope.model import StateGraph
from support.rule_models import predicted_by_rules
from support.toy_worlds import Board, board_problem

WORDS = Vocabulary.of_atoms("pqr")
INTENTS = [Intent.parse(text) for text in ("p", "not q", "p and not r")]
TRANSITIONS = st.dictionaries(
    st.builds(Transition, st.integers(0, 7), st.integers(0, 2), st.integers(0, 7)),
    st.integers(1, 50),
)


def holds(when, state, vocabulary):
    """Read a DNF as anyone would who only has the file."""

    def true(literal):
        name = literal.removeprefix("not ")
        return bool(state >> vocabulary.index(name) & 1) is not literal.startswith("not ")

    return any(all(map(true, term)) for term in when)


def check_document(document):
    assert document.keys() == {
        "format", "version", "problem", "vocabulary", "unrequested_changes", "capabilities",
    }  # fmt: skip
    assert (document["format"], document["version"]) == ("capscope-model", 1)
    vocabulary = document["vocabulary"]
    for capability in document["capabilities"]:
        assert capability.keys() == {"intent", "executions", "rules"}
        assert {name.removeprefix("not ") for name in capability["intent"]} <= set(vocabulary)
        rules = capability["rules"]
        states = [int(state, 16) for rule in rules for state in rule["states"]]
        assert len(states) == len(set(states))
        assert all(0 <= state < 1 << len(vocabulary) for state in states)
        assert capability["executions"] == sum(o["count"] for r in rules for o in r["outcomes"])
        for rule in rules:
            check_rule(rule, states, vocabulary)


def check_rule(rule, states, vocabulary):
    assert rule.keys() == {"states", "when", "outcomes"}
    own = {int(state, 16) for state in rule["states"]}
    assert all(state.startswith("0x") for state in rule["states"])
    assert own
    assert {state for state in states if holds(rule["when"], state, vocabulary)} == own
    outcomes = rule["outcomes"]
    assert sum(outcome["probability"] for outcome in outcomes) == pytest.approx(1)
    total = sum(outcome["count"] for outcome in outcomes)
    for outcome in outcomes:
        assert outcome.keys() == {
            "probability", "count", "interval", "spread", "adds", "deletes",
        }  # fmt: skip
        assert outcome["probability"] == pytest.approx(outcome["count"] / total)
        low, high = outcome["interval"]
        assert 0 <= low <= outcome["probability"] <= high <= 1
        assert set(outcome["adds"]) | set(outcome["deletes"]) <= set(vocabulary)
        assert not set(outcome["adds"]) & set(outcome["deletes"])
    effects = [(*outcome["adds"], "/", *outcome["deletes"]) for outcome in outcomes]
    assert len(set(effects)) == len(effects)


@given(TRANSITIONS)
def test_any_model_keeps_to_the_format_and_survives_json(transitions):
    graph = StateGraph(WORDS, INTENTS)
    graph.update(Counter(transitions))
    document = model_document(graph, "toy")
    assert json.loads(json.dumps(document)) == document
    check_document(document)


@given(TRANSITIONS)
def test_the_document_agrees_with_the_rules(transitions):
    graph = StateGraph(WORDS, INTENTS)
    graph.update(Counter(transitions))
    document = model_document(graph, "toy")
    bit = {name: 1 << i for i, name in enumerate(document["vocabulary"])}
    read = {}
    for capability in document["capabilities"]:
        intent = Intent.from_lists(capability["intent"])
        for rule in capability["rules"]:
            for state in (int(state, 16) for state in rule["states"]):
                for outcome in rule["outcomes"]:
                    deletes = sum(bit[name] for name in outcome["deletes"])
                    after = state & ~deletes | sum(bit[name] for name in outcome["adds"])
                    read.setdefault((state, intent), {})[after] = outcome["probability"]
    for state in graph.nodes:
        for intent in INTENTS:
            assert read.pop((state, intent), {}) == predicted_by_rules(graph, state, intent)
    assert not read


def test_a_capability_never_tried_has_no_rule():
    document = model_document(StateGraph(WORDS, INTENTS), "toy")
    assert document["vocabulary"] == ["p()", "q()", "r()"]
    assert document["capabilities"] == [
        {"intent": ["p()"], "executions": 0, "rules": []},
        {"intent": ["not q()"], "executions": 0, "rules": []},
        {"intent": ["p()", "not r()"], "executions": 0, "rules": []},
    ]


SMALL = Settings(draws=3, random_length=6, walks=2, walk_steps=10, patience=3)


@pytest.mark.parametrize(
    "budget", [None, Budget(executions=17), Budget(simulator_steps=33)], ids=str
)
@pytest.mark.parametrize("limits", [{}, {"temporal_length": None, "horizon": 4}], ids=str)
def test_the_file_of_a_run_keeps_to_the_format_and_is_what_reading_the_run_gives(
    budget, limits, tmp_path
):
    problem = board_problem(Board(slip=0.3), **limits)
    assess(problem, strategy="random", settings=SMALL, budget=budget, run=tmp_path / "run")
    document = json.loads((tmp_path / "run" / "model.json").read_text())
    check_document(document)
    assert document["problem"] == "board"
    run = load(tmp_path / "run")
    assert model_document(run.graph, run.problem) == document
