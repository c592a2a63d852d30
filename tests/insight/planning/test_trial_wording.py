from capscope.insight.planning import plan_for
from capscope.insight.planning.trial import PlanAttempt, PlanAttemptEnd, PlanExecution, Trial
from capscope.insight.planning.wording import trial_document, trial_lines
from capscope.journal.execution_table import Transition
from capscope.logic import Condition, Intent
from capscope.model import LearnedModel
from capscope.problem import Ending
from support.tiny_models import WORDS, learned
from support.written_models import WrittenModel

P = Intent.parse("p")


def tried(*ends, draws=400):
    """Try a plan of one step that had one outcome, 0 → 1; `ends` are where the tries went."""
    plan = plan_for(
        LearnedModel.fitted(learned({Transition(0, 0, 1): draws})),
        Condition.parse("p and not r", WORDS),
        [0],
    )
    tries = []
    for after in ends:
        end = (
            PlanAttemptEnd.REACHED
            if after == 1
            else PlanAttemptEnd.LOST
            if after
            else PlanAttemptEnd.TOO_LONG
        )
        tries.append(PlanAttempt((PlanExecution(0, P, after, Ending.CHANGED),), end))
    return Trial(plan, tuple(tries), longest=1)


def lines(trial):
    return list(trial_lines(trial))


def test_a_trial_as_predicted_takes_three_lines():
    assert lines(tried(*[1] * 9)) == [
        "tried 9 times; nothing is recorded in the run",
        "reached the goal 9 times: 1.00 [0.76, 1.00]; 1.00 was predicted, which agrees",
        "1.0 executions on average",
    ]


def test_a_prediction_outside_of_the_interval_never_agrees():
    """Five draws that all succeeded predict 1.00, and 0.95 would be possible after them."""
    shown = lines(tried(*[1] * 285, *[5] * 15, draws=5))[1]
    assert shown.startswith("reached the goal 285 times: 0.95 [0.92, 0.97]; 1.00 was predicted: ")
    assert "differs, within the uncertainty of the prediction (probability of so few: 0." in shown
    assert "which agrees" in lines(tried(*[1] * 300))[1]


def test_failures_are_listed_with_their_states_and_counts():
    shown = lines(tried(*[1] * 5, 5, 5, 6, 0))
    assert "lower than predicted (probability of so few: " in shown[1]
    assert shown[3:] == [
        "not finished after 1 execution: 1 time",
        "reached a state without a known path to the goal, differing from the start by",
        "  2×  p(), r()",
        "  1×  q(), r()",
        "what the model had not seen:",
        "  2×  asked for p() in 0x0: p(), r() (state changed)",
        "  1×  asked for p() in 0x0: q(), r() (state changed)",
        "  1×  asked for p() in 0x0: nothing changes (state changed)",
    ]


def test_a_long_list_of_failures_is_shortened(monkeypatch):
    monkeypatch.setattr("capscope.insight.planning.wording._MOST_FAILURES", 1)
    shown = lines(tried(5, 5, 6, 7))
    assert "  and 2 other states" in shown
    assert "  and 2 other outcomes" in shown


def test_without_tries_there_is_no_result():
    assert lines(tried()) == ["tried 0 times; nothing is recorded in the run"]
    document = trial_document(tried())
    assert document["tries"] == 0
    assert document["verdict"] is document["share"] is document["p"] is None


def test_the_document_counts_everything():
    document = trial_document(tried(1, 1, 5, 0))
    assert (document["tries"], document["successes"], document["share"]) == (4, 2, 0.5)
    assert document["ends"] == {"goal reached": 2, "no path known": 1, "too long": 1}
    assert document["lost_in"] == {"0x5": 1}
    assert document["unforeseen"][0] == {
        "state": "0x0",
        "provenance": "tried",
        "ask_for": ["p()"],
        "after": "0x5",
        "changes": "p(), r()",
        "ending": "state changed",
        "count": 1,
    }


def tried_inference(doubt, *ends):
    """Try a plan of one step that was inferred to lead to 1; `ends` are where the tries went."""
    graph = learned({Transition(0, 1, 2): 5})
    model = WrittenModel({(0, P): ({1: 1.0}, doubt)}, draws=400, graph=graph)
    plan = plan_for(model, Condition.parse("p and not r", WORDS), [0], inferred=True)
    reached, lost = PlanAttemptEnd.REACHED, PlanAttemptEnd.LOST
    tries = (
        PlanAttempt((PlanExecution(0, P, after, Ending.CHANGED),), reached if after == 1 else lost)
        for after in ends
    )
    return Trial(plan, tuple(tries), longest=1)


def test_a_trial_says_how_often_inferred_steps_did_what_was_inferred():
    shown = lines(tried_inference(0.05, *[1] * 9))
    assert "0.95 was predicted, which agrees" in shown[1]
    assert shown[3] == "asked for inferred steps 9 times, as inferred 9"
    document = trial_document(tried_inference(0.05, *[1] * 7, 5, 5))
    assert document["inferred"] == {"executions": 9, "as_inferred": 7}
    assert document["unforeseen"][0]["provenance"] == "inferred"


def test_a_wrong_inference_within_its_doubt_does_not_agree_with_the_prediction():
    trial = tried_inference(0.08, *[5] * 20)
    assert trial.tail > 0.025
    shown = lines(trial)
    assert "0.92 was predicted, but an inference was wrong (probability of so few: 0.0" in shown[1]
    assert "asked for inferred steps 20 times, as inferred 0" in shown
    assert "  20×  asked for p() in 0x0: p(), r() (state changed, inferred otherwise)" in shown


def test_a_wrong_inference_beyond_its_doubt_is_lower_than_predicted():
    shown = lines(tried_inference(0.004, *[5] * 20))
    assert "lower than predicted (probability of so few: " in shown[1]


def test_a_trial_of_tried_steps_has_no_inferred_ones():
    assert trial_document(tried(1, 5))["inferred"] == {"executions": 0, "as_inferred": 0}
