"""`model.json`, compared with its description in the design."""

import json
from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope import Budget, Settings, assess, load
from capscope.export.model_json import model_document, model_of_run
from capscope.journal.execution_table import Transition
from capscope.logic import Intent, Vocabulary
from capscope.model import LearnedModel, StateGraph
from support.toy_worlds import Board, board_problem

WORDS = Vocabulary.of_atoms("pqrst")
INTENTS = [Intent.parse(text) for text in ("p", "not q", "p and not r")]
TRANSITIONS = st.dictionaries(
    st.builds(Transition, st.integers(0, 7), st.integers(0, 2), st.integers(0, 7)),
    st.integers(1, 50),
    min_size=1,
)


def holds(literal, binding, state, document):
    """Read a literal as anyone would who only has the file."""
    objects = document["signature"]["objects"]
    free = [name for name in objects if name not in binding.values()]

    def true(atom, named):
        name, *arguments = [atom[0], *(named.get(a, a) for a in atom[1:])]
        if name == "=":
            return arguments[0] == arguments[1]
        text = f"{name}({','.join(arguments)})"
        if text not in document["vocabulary"]:
            return False
        return bool(state >> document["vocabulary"].index(text) & 1)

    found = any(
        all(true(a, {**binding, **dict(zip(literal["exists"], o, strict=True))})
            for a in literal["atoms"])
        for o in product(free, repeat=len(literal["exists"]))
    )  # fmt: skip
    return found is literal["positive"]


def check_document(document):
    assert list(document) == [
        "format", "version", "problem", "signature", "vocabulary", "states", "findings",
        "behaviors", "families", "capabilities",
    ]  # fmt: skip
    assert (document["format"], document["version"]) == ("capscope-model", 2)
    states = [int(state, 16) for state in document["states"]]
    by_family = Counter()
    for capability in document["capabilities"]:
        assert capability.keys() == {"intent", "family", "executions", "states_tried"}
        family = document["families"][capability["family"]]
        assert capability["intent"] in family["members"]
        by_family[family["name"]] += capability["executions"]
        objects = Intent.from_lists(capability["intent"]).objects
        binding = dict(zip(family["roles"], objects, strict=True))
        for state in states if family["rules"] else ():
            applying = [
                rule for rule in family["rules"]
                if rule["capability"] in (None, capability["intent"])
                and all(holds(one, binding, state, document) for one in rule["when"])
            ]  # fmt: skip
            assert len(applying) <= 1
            assert applying or not capability["executions"]
    for family in document["families"]:
        assert family["executions"] == by_family[family["name"]]
        for rule in family["rules"]:
            assert rule.keys() == {
                "capability", "when", "consequence", "effects", "pairs", "foreseen",
            }  # fmt: skip
            assert rule["foreseen"] <= rule["pairs"]


@given(TRANSITIONS)
def test_any_model_keeps_to_the_format_and_survives_json(transitions):
    graph = StateGraph(WORDS, INTENTS)
    graph.update(Counter(transitions))
    document = model_document(LearnedModel.fitted(graph), "toy")
    assert json.loads(json.dumps(document)) == document
    check_document(document)


def test_the_document_says_what_the_model_says():
    run = assess("couriers", settings=Settings(audit=0.0), budget=Budget(executions=200))
    document = model_document(run.model, run.problem)
    check_document(document)
    assert [one["name"] for one in document["behaviors"]] == [b.name for b in run.model.behaviors]
    assert sum(one["executions"] for one in document["behaviors"]) <= 200
    assert {str(f["name"]) for f in document["families"]} == {f.name for f in run.model.families}
    wanted = model_document(run.model, run.problem, run.graph.match_capabilities("loaded(*)"))
    assert [family["name"] for family in wanted["families"]] == ["loaded(X)"]
    assert len(wanted["capabilities"]) == 2


def test_a_capability_never_tried_has_no_rule():
    graph = StateGraph(WORDS, INTENTS)
    graph.update({Transition(0, 0, 1): 2})
    document = model_document(LearnedModel.fitted(graph), "toy")
    assert document["vocabulary"] == ["p()", "q()", "r()", "s()", "t()"]
    assert [len(family["rules"]) for family in document["families"]] == [1, 0, 0]
    assert [(c["intent"], c["executions"]) for c in document["capabilities"]] == [
        (["p()"], 2),
        (["not q()"], 0),
        (["p()", "not r()"], 0),
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
    assert json.loads(json.dumps(model_of_run(run))) == document
