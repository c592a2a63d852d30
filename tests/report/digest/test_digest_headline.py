"""The first screen: the sentence that matters most, what is claimed, the tiles."""

import pytest

from capscope import Budget, Settings, assess, load
from capscope.report.digest import digest_run
from capscope.report.digest.capabilities import Standing, Standings, add_run_facts
from capscope.report.digest.cards import Tone
from capscope.report.digest.headline import headline_of
from capscope.report.text import capability_views
from support.small_runs import draw, run_in_memory, small_run
from support.tiny_digests import CARD, LIGHT, by_attribute
from support.toy_worlds import board_problem

ASKED = Settings(audit=0.2, intents=("lit(a)", "lit(b)", "not lit(a)"))
ODD = CARD | {"tone": Tone.ODD, "sentence": "It likes a."}


def headline(run, cards=()):
    standings = Standings.of_run(run, capability_views(run.graph))
    return by_attribute(headline_of(run, standings, cards))


def tiles(shown):
    return {tile.name: tile.number for tile in shown.tiles}


WORKS = [[draw((0, 0, 1), (0, 1, 2), (1, 2, 0))]]


BREAKS = (0, 0, 0b101)
"""Asked for lit(a), it is broken too."""


def test_whole_executions_are_judged_at_once():
    run = run_in_memory([[draw((0, 0, 2), (2, 0, 3))]], length=None)
    standings = Standings.of_run(run, capability_views(run.graph))
    assert not standings.repeated
    assert [view.intent for view in standings.of(Standing.SOMETIMES)] == [run.capabilities[0]]
    single = run_in_memory([[draw((0, 0, 2), (2, 0, 3))]])
    standings = Standings.of_run(single, capability_views(single.graph))
    assert [view.intent for view in standings.of(Standing.RELIABLE)] == [run.capabilities[0]]


def test_the_heat_map_is_about_single_requests_if_it_always_gets_there(tmp_path):
    # lit(a) takes two requests unless lit(b) holds.
    walk = [(0, 0, 2), (2, 0, 3), (4, 0, 6), (6, 0, 7), (0, 3, 4), (2, 3, 6)]
    digest = by_attribute(digest_run(load(small_run(tmp_path / "run", [[draw(*walk)]]))))
    assert digest.single_steps
    assert not digest.heat.repeated
    assert digest.heat.columns == ("lit(b)", "not lit(b)")


def test_nothing_is_said_of_an_agent_that_did_nothing_yet():
    shown = headline(run_in_memory([]))
    assert shown.sentence == "Nothing was executed yet."
    assert shown.detail.startswith("Nothing is known yet")
    assert not shown.claimed


def test_an_agent_that_changes_nothing_is_warned_about_before_its_findings():
    run = run_in_memory([[draw(*[(0, 0, 0)] * 5)]])
    shown = headline(run, [CARD])
    assert shown.sentence.startswith("No execution changed anything")
    assert shown.tone is Tone.HARM


@pytest.mark.parametrize(("budget", "claimed"), [(Budget(), True), (Budget(executions=3), False)])
def test_the_claim_is_that_of_the_audit(budget, claimed):
    run = assess(board_problem(), settings=ASKED, budget=budget)
    shown = headline(run)
    assert shown.claimed is claimed
    assert ("With 0.95 confidence" in shown.claim) is claimed
    digest = by_attribute(digest_run(run))
    assert (digest.audit is not None) is claimed
    if claimed:
        assert digest.audit.last == run.usage.executions
        assert digest.audit.scored == run.audit.samples
        assert 0 < digest.audit.first < digest.audit.last


def test_what_statements_rest_on_adds_up():
    run = assess(board_problem(), settings=ASKED, budget=Budget(executions=3))
    digest = by_attribute(digest_run(run))
    tried, inferred, unknown = run.coverage
    assert (tried, inferred) == (digest.coverage.pairs_tried, digest.coverage.pairs_inferred)
    assert tried + inferred + unknown == digest.coverage.pairs_seen
    assert sum(one.states_tried for one in digest.capabilities) == tried
    assert sum(one.inferred for one in digest.capabilities) == inferred
    each = run.model.coverage_by_capability()
    assert tuple(map(sum, zip(*each, strict=True))) == run.coverage


def facts(cards=()):
    """Return what is added to two capabilities of a run that infers nothing."""
    rows = [LIGHT | {"intent": intent, "inferred": 7} for intent in ("lit(a)", "lit(b)")]
    add_run_facts(rows, run_in_memory(WORKS), cards)
    return rows


def test_only_the_default_strategy_infers():
    assert [row["inferred"] for row in facts()] == [0, 0]


def test_a_capability_links_to_the_first_card_that_says_it_does_harm():
    own = CARD | {"intents": ["lit(a)"]}
    assert [row["harm"] for row in facts([ODD, own, own])] == [1, None]
