from collections import Counter

from capscope.insight.earlier_findings import ranked_by_harm
from capscope.insight.earlier_findings.context import FindingContext
from capscope.insight.earlier_findings.finding import Finding
from capscope.insight.earlier_findings.side_effects import SIDE_EFFECT
from capscope.journal.execution_table import Transition
from capscope.logic import Intent, Vocabulary
from capscope.model import StateGraph
from capscope.stats.rate import Rate

ASKED = Intent.parse("p")


def side_effect(name, hits, **flags):
    rate = Rate.of_pairs([(hits, 10)], 1)
    return Finding(
        SIDE_EFFECT.name,
        (ASKED,),
        name,
        rate,
        None,
        (),
        (),
        (),
        frozenset({(0, 0)}),
        0.5,
        **flags,
    )


def test_what_comes_instead_of_the_intent_ranks_after_what_nothing_undoes_and_before_the_rest():
    graph = StateGraph(Vocabulary.of_atoms(["p", "q"]), [ASKED])
    graph.update(Counter({Transition(0, 0, 2): 10}))
    found = [
        side_effect("often and also", 10),
        side_effect("rarely and instead", 2, instead=True),
        side_effect("rarely and for good", 1, irreversible=True),
        side_effect("often and instead", 9, instead=True),
    ]
    ranked = ranked_by_harm(FindingContext(graph), found, {SIDE_EFFECT.name: SIDE_EFFECT})
    assert [finding.sentence for finding in ranked] == [
        "rarely and for good",
        "often and instead",
        "rarely and instead",
        "often and also",
    ]
