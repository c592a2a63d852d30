"""Findings as cards: their tone, their rates and the way there."""

from itertools import pairwise

import pytest

from capscope import Budget, assess, load
from capscope.insight.findings import Example, Finding, Kind
from capscope.logic import Intent, Literal, Predicate, Vocabulary
from capscope.model.transitions import KnownPaths, KnownStep
from capscope.report.digest import digest_run
from capscope.report.digest.cards import CardMaker, Tone
from capscope.report.digest.size_budget import SizeBudget
from capscope.report.digest.states import StateListing
from capscope.stats.rate import Rate
from support.hazard_worlds import SPILLING, kitchen, run_kitchen
from support.small_runs import WISHES, draw, run_in_memory, small_run
from support.tiny_digests import by_attribute

CELLS = [f"c{n}" for n in range(12)]
LINE = Vocabulary([Predicate("at", ("cell",), "it is at {0}")], dict.fromkeys(CELLS, "cell"))


def rate(probability, states):
    bounds = probability / 2, (1 + probability) / 2
    return Rate(probability, *bounds, 10 * probability, 10, states)


def finding(run, state=0b10, after=0b110, intent=WISHES[0], **changed):
    fields = {
        "kind": Kind.MORE,
        "request": str(intent),
        "change": str(run.graph.vocabulary.atoms[2]),
        "intents": (intent,),
        "count": 9,
        "possible": 10,
        "rate": rate(0.9, 2),
        "against": rate(0.1, 3),
        "when": (Literal(run.graph.vocabulary.atoms[1]),),
        "example": Example(0, intent, state, after),
        "path": KnownPaths(run.graph, [0]).to(state),
    }
    return Finding(**fields | changed)


@pytest.fixture
def maker():
    run = run_in_memory([[draw((0, 1, 2), (2, 0, 6), (2, 0, 3))]])
    listing = StateListing(run.graph.vocabulary, run.executions)
    return run, listing, CardMaker(run, listing)


def test_the_way_leads_from_the_beginning_to_what_happened(maker):
    run, listing, cards = maker
    card = by_attribute(cards.card(finding(run)))
    assert [listing.states[node.state] for node in card.way.nodes] == [0, 2, 6]
    assert [arrow.intent for arrow in card.way.arrows] == ["lit(b)", "lit(a)"]
    assert [(arrow.count, arrow.draws) for arrow in card.way.arrows] == [(1, 1), (1, 2)]
    assert [node.literals for node in card.way.nodes] == [(), ("lit(b)",), ("broken()",)]
    assert card.way.from_beginning


def test_a_state_to_which_no_way_is_known_is_drawn_alone():
    run = run_in_memory([[draw((0, 0, 0))], [draw((2, 0, 6))]])
    listing = StateListing(run.graph.vocabulary, run.executions)
    card = by_attribute(CardMaker(run, listing).card(finding(run)))
    assert not card.way.from_beginning
    assert [listing.states[node.state] for node in card.way.nodes] == [2, 6]


def test_both_rates_are_shown_with_their_intervals(maker):
    run, _, cards = maker
    (_, own), (label, other) = cards.card(finding(run))["rates"]
    assert (own.estimate, own.executions, own.states) == (0.9, 10, 2)
    assert (label, other.estimate) == ("compared with", 0.1)
    assert own.low < 0.9 < own.high


def test_a_long_way_is_drawn_without_its_middle(tmp_path):
    walk = [(1 << n, 0, 1 << n + 1) for n in range(10)]
    intents, first = [Intent.parse("at(c11)")], {1: b"first"}
    path = small_run(tmp_path / "run", [[draw(*walk)]], intents, first, vocabulary=LINE)
    run = load(path)
    listing = StateListing(LINE, run.executions)
    maker = CardMaker(run, listing)
    steps = tuple(KnownStep(b, run.capabilities[0], a, 1, 1) for b, _, a in walk)
    for length in range(1, 11):
        way = by_attribute(maker.way_digest(steps[:length]))
        numbers = [node.state for node in way.nodes]
        assert numbers[0] == 0
        assert numbers[-1] == length
        assert len(way.arrows) == len(way.nodes) - 1
        assert len(way.arrows) + max(way.omitted - 1, 0) == length
        if way.omitted:
            assert numbers[way.gap + 1] - numbers[way.gap] == way.omitted
        # Nodes on both sides of an arrow that is drawn are neighbors.
        jumps = [b - a for a, b in pairwise(numbers)]
        assert sum(jump > 1 for jump in jumps) == bool(way.omitted)


def test_cards_that_do_not_fit_are_left_out(maker):
    run, _, cards = maker
    some = [finding(run)] * 9
    assert 0 < len(cards.taken(map(cards.card, some), SizeBudget(3000))) < 9


def test_every_way_of_a_run_was_seen_to_happen():
    run = assess("tireworld", seed=1)
    assert run.findings()
    listing = StateListing(run.graph.vocabulary, run.executions)
    cards = CardMaker(run, listing)
    seen = run.graph
    for found in run.findings():
        way = by_attribute(cards.card(found)).way
        assert way.from_beginning
        for node, arrow, after in zip(way.nodes, way.arrows, way.nodes[1:], strict=False):
            if arrow.intent:
                pair = seen.pair(listing.states[node.state], seen.index[Intent.parse(arrow.intent)])
                assert listing.states[after.state] in {s.state for s in pair.successors}
                # A finding may count only the draws in which something could be chosen.
                assert arrow.count <= arrow.draws <= pair.total


def test_hazards_come_first_with_the_way_into_them():
    run = run_kitchen(kitchen(), hazards=("gone(x)", "gone(y)"), budget=Budget(executions=400))
    digest = by_attribute(digest_run(run))
    happened, never = digest.cards[:2]
    assert (happened.kind, happened.tone) == ("hazard", Tone.HARM)
    assert happened.sentence.startswith("Hazard gone(x): happened in")
    assert [arrow.intent for arrow in happened.way.arrows][-1] == str(SPILLING)
    assert happened.rates[0][1].estimate == 1
    first = run.first_screen.warnings[0]
    assert (first.serious, first.what) == (True, "hazard gone(x)")
    assert (never.tone, never.way) == (Tone.IDLE, None)
    assert "never happened" in never.sentence
