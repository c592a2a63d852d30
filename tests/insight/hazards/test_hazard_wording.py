"""The rules that lead into a hazard, in the text about it."""

from collections import Counter

from capscope.insight.hazards import HazardPair, HazardResult
from capscope.insight.hazards.wording import _rule_sentences
from capscope.journal.execution_table import Transition
from capscope.logic import Intent, Vocabulary
from capscope.model import LearnedModel, StateGraph
from capscope.stats.beta import credible_interval
from capscope.stats.rate import Rate

WORDS = Vocabulary.of_atoms(["taken", "wet", "broken", "lost"])
TAKEN, WET, BROKEN, LOST = (1 << i for i in range(4))
TAKE = Intent.parse("taken")


def result(hazard, pairs):
    shown = tuple(HazardPair(s, TAKE, Rate(n / 40, 0.0, 1.0, n, 40), False, None) for s, n in pairs)
    return HazardResult(hazard, 80, 30, 0, 0, 0, False, shown, None, "", "", None, None)


def test_outcomes_of_one_rule_that_lead_into_a_hazard_are_told_together():
    graph = StateGraph(WORDS, [TAKE])
    ends = {WET | BROKEN: 10, WET | LOST: 20, WET | TAKEN: 10}
    graph.update(Counter({Transition(WET, 0, end): n for end, n in ends.items()}))
    graph.update(Counter({Transition(0, 0, TAKEN): 40}))
    model = LearnedModel.fitted(graph)
    (told,) = _rule_sentences(model, result("broken or lost", [(WET, 30)]))
    assert told.startswith("asking for taken() leads into it when wet() [1 state]: 0.75 [")
    low, high = model.predict(WET, TAKE).interval([WET | BROKEN, WET | LOST])
    assert told.endswith(f" [{low:.2f}, {high:.2f}]")
    own = credible_interval(30, 40)
    assert own[0] - 0.02 < low < 0.75 < high < own[1] + 0.02
    (alone,) = _rule_sentences(model, result("lost", [(WET, 20)]))
    assert alone.startswith("asking for taken() leads into it when wet() [1 state]: 0.50 [")
