"""The overview of a run: its rules, then a table of what is achieved."""

from collections import Counter

import pytest

from capscope import Budget, Settings, assess
from capscope.insight.rates import CapabilityRates
from capscope.journal.execution_table import Transition
from capscope.logic import Intent
from capscope.model import LearnedModel, StateGraph
from capscope.report.overview import model_lines, table_lines
from capscope.stats.rate import Rate
from support.toy_worlds import WORDS

A, NOT_A, B = map(Intent.parse, ("lit(a)", "not lit(a)", "lit(b)"))


def families():
    graph = StateGraph(WORDS, [A, NOT_A, B])
    graph.update(Counter({Transition(0b000, 0, 0b001): 3, Transition(0b000, 2, 0b010): 1}))
    return LearnedModel.fitted(graph).families


def rates(at_once, gets_there):
    return CapabilityRates(Rate(*at_once, None, 5, 2), Rate(*gets_there, None, 5, 2), None)


RATES = {
    A: rates((0.5, 0.1, 0.9), (0.5, 0.2, 1.0)),
    B: rates((0.25, 0.2, 0.3), (0.4, 0.3, 0.5)),
}


def test_a_row_has_the_range_of_a_family_and_what_always_held_comes_last():
    lines = list(table_lines(families(), RATES, 1, inferred=False))
    assert lines[:3] == [
        "gets there                 at once                    asked for",
        "0.40 to 0.50 [0.20, 1.00]  0.25 to 0.50 [0.10, 0.90]  lit(X)  (2 capabilities)",
        "held wherever asked                                   not lit(X)",
    ]


def test_what_is_certain_comes_first():
    certain = RATES | {NOT_A: rates((0.9, 0.8, 1.0), (0.9, 0.8, 1.0))}
    lines = list(table_lines(families(), certain, 1, inferred=False))
    assert [line.split("  ")[-1].strip() for line in lines[1:3]] == [
        "not lit(X)",
        "(2 capabilities)",
    ]


def test_attempts_that_end_by_themselves_have_one_rate():
    lines = list(table_lines(families(), RATES, None, inferred=True))
    assert lines[0].split("  ")[0] == "achieved"
    assert lines[1].startswith("0.25 to 0.50 [0.10, 0.90]  lit(X)")
    assert not any("gets there" in line for line in lines)


@pytest.mark.parametrize(("inferred", "said"), [(True, "or inferred are"), (False, "known are")])
def test_a_reader_learns_what_is_left_out(inferred, said):
    lines = list(table_lines(families(), RATES, 4, inferred=inferred))
    assert said in " ".join(lines[-3:])


@pytest.fixture(scope="module")
def demo():
    return assess("blocksworld")


def test_all_of_the_demo_fits_on_a_page(demo):
    lines = list(model_lines(demo, None, None))
    assert len(lines) <= 62
    assert sum("at most 1 % of executions" in line for line in lines) == 1
    text = " ".join(" ".join(lines).split())
    for family in demo.model.families:
        assert family.name in text.partition("families of requests")[2].partition("gets there")[0]


def test_a_wanted_capability_is_shown_with_its_objects_and_all_are_shown_after_all_rules(demo):
    wanted = demo.graph.match_capabilities("on(a,*)")
    text = "\n".join(model_lines(demo, wanted, None))
    assert "as on(X,Y) with X = a, Y = b:" in text
    assert "behaviors" not in text
    every = list(model_lines(demo, demo.capabilities, None))
    assert every.count("rules of the families of requests:") == 1
    heads = [line for line in every if line.endswith("states)") and not line.startswith(" ")]
    assert len(heads) == len(demo.capabilities)
    few = list(model_lines(demo, demo.capabilities, 2))
    assert f"{len(demo.capabilities) - 2} more: capscope show {demo.path}" in few


def test_a_run_without_executions_says_that_nothing_was_tried():
    run = assess("blocksworld", settings=Settings(intents=("on(a,b)",)), budget=Budget(queries=0))
    text = "\n".join(model_lines(run, None, None))
    assert "never tried: on(X,Y)" in text
    assert "never tried in any of" in "\n".join(model_lines(run, run.capabilities, None))
