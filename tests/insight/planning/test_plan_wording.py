import pytest

from capscope.insight.planning import plan_for
from capscope.insight.planning.wording import plan_document, plan_lines
from capscope.journal.execution_table import Transition
from capscope.logic import Condition, Intent, Vocabulary
from capscope.model import LearnedModel, StateGraph
from support.tiny_models import INTENTS, WORDS, learned
from support.written_models import WrittenModel

Q = INTENTS[1]

DICE = {(0, 0, 1): 16, (0, 0, 0): 4, (1, 1, 3): 27, (1, 1, 5): 3}


def planned(seen, goal, *starts):
    transitions = {Transition(*which): count for which, count in seen.items()}
    return plan_for(LearnedModel.fitted(learned(transitions)), Condition.parse(goal, WORDS), starts)


def text(plan, began=None):
    return "\n".join(plan_lines(plan, "toy", began))


def test_a_sequence_is_called_one():
    shown = text(planned({(0, 0, 1): 20, (1, 1, 3): 1}, "p and q", 0))
    assert shown.startswith("toy: p() and q(), from the start of the run\nsuccess 1.00 [0.")
    assert "2.0 executions on average" in shown
    assert "a plain sequence" in shown
    assert "  1. ask for p()   [20 executions]\n      p()\n" in shown
    assert "  2. ask for q()   [1 execution]\n      q()" in shown
    assert "else" not in shown


def test_each_step_shows_what_else_may_happen_and_what_to_do_then():
    shown = text(planned(DICE, "q and not r", 0))
    assert "success 0.90 [" in shown
    assert "most likely, with probability 0.72:" in shown
    assert "      0.80  p()\n      else 0.20  nothing changes: ask again" in shown
    assert "      0.90  q()\n      else 0.10  r(): no path to the goal is known" in shown
    assert (
        "it may end without the goal (0.10), differing from the start by\n  0.10  p(), r()" in shown
    )


def test_states_off_the_most_likely_course_are_described_briefly():
    seen = {(0, 0, 1): 9, (0, 0, 4): 1, (1, 1, 3): 9, (4, 1, 6): 5, (6, 2, 2): 5}
    shown = text(planned(seen, "q and not r", 0))
    assert "else 0.10  r(): ask for q()" in shown
    assert "otherwise:\n" in shown
    assert "when not q() and r(): ask for q()   (success from there 1.00)" in shown
    assert "when q(): ask for not r()   (success from there 1.00)" in shown


def test_an_outcome_may_lead_back_to_a_step_or_to_the_goal_at_once():
    seen = {(0, 0, 1): 9, (1, 1, 3): 5, (1, 1, 0): 4, (1, 1, 2): 1}
    shown = text(planned(seen, "q", 0))
    assert "not p(): continue with 1" in shown
    assert "q(), not p(): the goal holds" in shown


def test_several_starts_are_mentioned():
    shown = text(planned({**DICE, (7, 1, 3): 5}, "q and not r", 0, 7, 5), "p or not q")
    assert (
        "3 of the states seen match p or not q; success 0.90 to 1.00; no path is known from 1 of "
        "them;\n  planned from the least favorable, 0x0"
    ) in shown


def test_of_equally_good_starts_the_most_visited_is_used():
    shown = text(planned({(0, 1, 2): 3, (1, 1, 3): 9}, "q", 1, 0), "not q")
    assert "2 of the states seen match not q; planned from the most visited, 0x1" in shown


def test_without_a_known_way_the_goal_is_unknown_not_impossible():
    seen = {(0, 0, 1): 9, (4, 1, 6): 9}
    shown = text(planned(seen, "q and not r", 0))
    joined = " ".join(shown.split())
    assert "success 0.00: the goal holds in none of the states seen." in joined
    assert "Whether the agent can achieve it is unknown." in joined
    assert "The optimistic model has a path: q(); but q() was never tried in 0x0 " in joined
    assert "but nothing that was tried leads there" in " ".join(text(planned(seen, "q", 0)).split())
    idle = {(0, capability, 0): 3 for capability in range(3)}
    shown = " ".join(text(planned(idle, "q", 0)).split())
    assert "Not even the optimistic model has a path" in shown


def test_the_document_holds_the_whole_policy():
    plan = planned({**DICE, (7, 2, 3): 5}, "q and not r", 0)
    document = plan_document(plan, "toy", None)
    assert document["goal"] == [["q()", "not r()"]]
    assert document["success"] == pytest.approx(0.9)
    assert document["start"] == {"state": "0x0", "holding": []}
    assert document["most_likely_way"] == ["p()", "q()"]
    assert [step["state"] for step in document["policy"]] == ["0x0", "0x1", "0x7"]
    assert [step["expected_visits"] for step in document["policy"]] == pytest.approx([1.25, 1, 0])
    outcomes = document["policy"][1]["outcomes"]
    assert [(o["state"], o["goal"], o["way_known"]) for o in outcomes] == [
        ("0x3", True, True),
        ("0x5", False, False),
    ]
    assert document["dead_ends"][0]["state"] == "0x5"
    assert document["why_not"] is None


def test_the_document_of_no_plan_says_why():
    document = plan_document(planned({(0, 0, 1): 9, (4, 1, 6): 9}, "q", 0), "toy")
    assert not document["found"]
    assert document["expected_executions"] is None
    assert "unknown" in document["why_not"]
    assert document["optimistic_way"] == {
        "ask_for": ["q()"],
        "untried": {"ask_for": "q()", "state": "0x0"},
    }


def test_names_are_sanitized():
    words = Vocabulary.of_atoms(["p\x1b[2J"])
    graph = StateGraph(words, [Intent.parse("p\x1b[2J")])
    graph.update({Transition(0, 0, 1): 3})
    plan = plan_for(LearnedModel.fitted(graph), Condition.parse("p\x1b[2J", words), [0])
    shown = "\n".join(plan_lines(plan, "toy\x1b[2J"))
    assert "\x1b" not in shown
    assert "\\x1b[2J" in shown


WAY_ON = {(1, Q): ({3: 0.75, 5: 0.25}, 0.04)}


def partly_inferred(table=WAY_ON):
    """Plan a step that was tried and one that is inferred."""
    model = WrittenModel(table, draws=8, graph=learned({Transition(0, 0, 1): 20}))
    return plan_for(model, Condition.parse("q and not r", WORDS), [0], inferred=True)


def test_a_plan_of_tried_steps_says_so():
    shown = text(planned({(0, 0, 1): 20, (1, 1, 3): 1}, "p and q", 0))
    assert "\nevery step was tried\n" in shown
    assert "inferred" not in shown
    document = plan_document(planned({(0, 0, 1): 20}, "p", 0), "toy")
    assert (document["provenance"], document["doubt"]) == ("tried", 0.0)
    assert {step["provenance"] for step in document["policy"]} == {"tried"}


def test_inferred_steps_are_marked_with_their_doubt():
    shown = text(partly_inferred())
    assert "success 0.72 [0.00, " in shown
    assert "[95 % interval; an unseen outcome and a wrong inference count as failure]" in shown
    assert (
        "1 of 2 steps: never tried in this state, inferred from others. That an inference is wrong "
        "has\n  probability 0.04, and counts as failure" in shown
    )
    assert "most likely, with probability 0.72:" in shown
    assert "  1. ask for p()   [tried, 20 executions]" in shown
    assert "  2. ask for q()   [inferred, doubt 0.04; 8 executions elsewhere]" in shown
    assert "it may end because an inference is wrong (0.04)" in shown
    assert "it may end without the goal (0.24)" in shown


def test_a_sequence_with_an_inferred_step_did_not_always_have_its_outcome():
    shown = text(partly_inferred({(1, Q): ({3: 1.0}, 0.04)}))
    assert "a plain sequence: each step has one outcome\n" in shown
    assert "always had" not in shown


def test_the_document_says_of_each_step_what_it_rests_on():
    document = plan_document(partly_inferred(), "toy")
    assert (document["provenance"], document["inference_allowed"]) == ("inferred", True)
    assert document["doubt"] == pytest.approx(0.04)
    assert [(s["provenance"], s["doubt"], s["draws_here"]) for s in document["policy"]] == [
        ("tried", 0.0, 20),
        ("inferred", 0.04, 0),
    ]
    # The probabilities of a step are those if the inference is right.
    assert [o["probability"] for o in document["policy"][1]["outcomes"]] == [0.75, 0.25]


def test_without_a_way_the_reason_includes_what_was_inferred():
    graph = learned({Transition(0, 0, 1): 20, Transition(4, 1, 6): 9})
    made = plan_for(WrittenModel({}, graph=graph), Condition.parse("q", WORDS), [0], inferred=True)
    assert "nothing that was tried or inferred leads there" in " ".join(text(made).split())
    assert plan_document(made, "toy")["provenance"] is None


# In 0 asking for p gave both outcomes; in 2, drawn once, only the rare one.
LUCKY = {(0, 0, 1): 18, (0, 0, 5): 1, (2, 0, 7): 1}


def test_a_dead_end_that_was_never_seen_is_named_so():
    made = planned(LUCKY, "r", 2)
    shown = text(made)
    other = f"{1 - made.success:.2f}"
    assert f"success {made.success:.2f} [0." in shown
    assert f"else {other}  p(): never seen, so no path to the goal is known" in shown
    assert f"differing from the start by\n  {other}  p() (never seen)" in shown
    assert "\nevery step was tried\n" in shown
    document = plan_document(made, "toy")
    (end,) = document["dead_ends"]
    assert (end["state"], end["seen"]) == ("0x3", False)
    outcomes = document["policy"][0]["outcomes"]
    assert {o["state"]: o["seen"] for o in outcomes} == {"0x3": False, "0x7": True}
    assert "never seen" not in text(planned(DICE, "q and not r", 0))


def test_a_goal_that_is_reached_in_a_state_never_seen_says_so():
    made = planned(LUCKY, "p and q", 2)
    share = f"{made.success_unseen:.2f}"
    assert (
        f"every step was tried; with probability {share} the goal is reached in a state that was "
        "never seen" in " ".join(text(made).split())
    )
    assert plan_document(made, "toy")["success_unseen"] == pytest.approx(made.success_unseen)
    assert 0.25 < made.success_unseen < 0.95


def test_a_way_that_the_model_doubts_is_named_with_the_reason_why_it_is_not_offered():
    model = WrittenModel({(1, Q): ({3: 1.0}, 0.65)}, graph=learned({Transition(0, 0, 1): 20}))
    made = plan_for(model, Condition.parse("p and q", WORDS), [0], inferred=True)
    assert (
        "The model infers a path: p(), q(). It is not offered, because the doubt about q() in 0x1 "
        "(p()) is 0.65, and at most 0.1 is planned with."
    ) in " ".join(text(made).split())
    assert plan_document(made, "toy")["declined"] == [
        {"ask_for": "p()", "state": "0x0", "doubt": 0.0},
        {"ask_for": "q()", "state": "0x1", "doubt": 0.65},
    ]
