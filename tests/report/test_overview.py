"""One table of all capabilities, if there are too many rules to read."""

from collections import Counter

import pytest

from capscope import Settings, assess
from capscope.insight.rates import CapabilityRates
from capscope.journal.execution_table import Transition
from capscope.logic import Intent
from capscope.model import StateGraph
from capscope.report.overview import model_lines, table_lines, too_many_rules
from capscope.report.text import capability_views
from capscope.stats.rate import Rate
from support.toy_worlds import WORDS, board_problem

LIT_A, LIT_B, LIT_C = (Intent.parse(f"lit({switch})") for switch in "abc")
VIEWS_SEEN = {
    Transition(0b000, 0, 0b001): 3,
    Transition(0b010, 0, 0b111): 2,
    Transition(0b000, 1, 0b010): 1,
    Transition(0b100, 2, 0b100): 1,
}


def views_of(transitions):
    graph = StateGraph(WORDS, [LIT_A, LIT_B, LIT_C])
    graph.update(Counter(transitions))
    return capability_views(graph)


def rates(at_once, gets_there):
    return CapabilityRates(Rate(*at_once, None, 5, 2), Rate(*gets_there, None, 5, 2), None)


RATES = {
    LIT_A: rates((0.5, 0.1, 0.9), (0.5, 0.2, 1.0)),
    LIT_B: rates((0.25, 0.2, 0.3), (0.4, 0.3, 0.5)),
}


def test_what_is_certain_comes_first_and_what_always_held_last():
    lines = list(table_lines(views_of(VIEWS_SEEN), RATES, 1, WORDS, inferred=False))
    assert lines[:4] == [
        "gets there           at once            asked for  what else changes most often",
        "0.40 [0.30, 0.50]    0.25 [0.20, 0.30]  lit(b)",
        "0.50 [0.20, 1.00]    0.50 [0.10, 0.90]  lit(a)     lit(c) 0.50",
        "held wherever asked                     lit(c)",
    ]


def test_attempts_that_end_by_themselves_have_one_rate():
    lines = list(table_lines(views_of(VIEWS_SEEN), RATES, None, WORDS, inferred=True))
    assert lines[0].split("  ")[0] == "achieved"
    assert lines[1].startswith("0.25 [0.20, 0.30]    lit(b)")
    assert not any("gets there" in line for line in lines)


@pytest.mark.parametrize(("inferred", "said"), [(True, "or inferred are"), (False, "known are")])
def test_a_reader_learns_what_is_left_out(inferred, said):
    lines = list(table_lines(views_of(VIEWS_SEEN), RATES, 4, WORDS, inferred=inferred))
    assert said in " ".join(lines[-3:])


def test_few_rules_are_all_shown(monkeypatch):
    views = views_of(VIEWS_SEEN)
    assert not too_many_rules(views)
    monkeypatch.setattr("capscope.report.overview.MOST_RULES", 2)
    assert too_many_rules(views)
    assert not too_many_rules(views[:1])


@pytest.fixture(scope="module")
def run():
    settings = Settings(intents=("lit(a)", "not lit(a)", "lit(b)"))
    return assess(board_problem(), settings=settings)


def test_a_run_with_many_rules_is_shown_as_a_table_unless_something_is_asked_for(run, monkeypatch):
    every_rule = list(model_lines(run, None, None))
    assert any(line.startswith("lit(a)   (") for line in every_rule)
    monkeypatch.setattr("capscope.report.overview.MOST_RULES", 2)
    table = list(model_lines(run, None, None))
    assert not any(line.startswith("  when") for line in table)
    named = [line for line in table if "[" in line and "lit(" in line]
    assert len(named) == 3
    assert f"findings: capscope show {run.path} --findings" in table
    for asked in ((run.capabilities, None), (None, 5)):
        assert list(model_lines(run, *asked)) == every_rule
