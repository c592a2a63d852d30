"""Warnings and notes about a run, wherever they are shown."""

import json
from collections import Counter
from dataclasses import replace

import pytest

from capscope import Intent, Settings, assess, load
from capscope.insight.agent_failures import AgentFailure, agent_failure_warnings
from capscope.insight.aliasing import AliasedPair, Aliasing
from capscope.insight.diff import compare_data
from capscope.insight.diff.wording import comparison_lines
from capscope.insight.notes import aliasing_notes
from capscope.logic import to_json
from capscope.problem import Ending
from capscope.report.digest import digest_run
from capscope.report.digest.build import facts_of
from capscope.report.page.difference import difference_page
from support.small_runs import draw, execution, small_run
from support.tiny_models import WORDS
from support.tiny_run_data import run_data, tried
from support.toy_worlds import Board, BoardLaidOutAnew, board_problem

SETTINGS = Settings(resets=5, intents=("lit(a)", "not lit(b)"))
DEPENDS = "the outcome depends on simulator state that the predicates do not capture"
RAISED = AgentFailure(Ending.AGENT_RAISED, 1234, 5678, Intent.parse("not lit(a)"), "KeyError: 'b'")


def test_a_warning_has_the_numbers_the_first_message_and_a_command():
    refused = AgentFailure(Ending.INVALID_ACTION, 1, 1, Intent.parse("lit(a)"), "")
    assert list(agent_failure_warnings([RAISED, refused], "my runs/a")) == [
        "warning: 1,234 of 5,678 executions in which the agent had to act ended because it raised "
        "an exception (first: KeyError: 'b'; list the executions with capscope show 'my runs/a' "
        "'not lit(a)' --draws)",
        "warning: 1 of 1 execution in which the agent had to act ended because it chose an "
        "action that is not available (list the executions with capscope show 'my runs/a' 'lit(a)' "
        "--draws)",
    ]


def test_a_message_is_sanitized_and_shortened():
    (line,) = agent_failure_warnings([replace(RAISED, detail="\x1b[2J\n" + "ha" * 5000)])
    assert line.isprintable()
    assert r"first: \x1b[2J\nhaha" in line
    assert len(line) < 450


def test_an_agent_that_always_fails_is_reported():
    (line,) = agent_failure_warnings([replace(RAISED, had_to_act=1234)])
    assert line.startswith(
        "warning: all 1,234 executions in which the agent had to act ended because"
    )


def test_the_report_warns_and_lists_the_number_among_its_facts(tmp_path):
    raised = execution(0, 1, 0, ending=Ending.AGENT_RAISED, detail="KeyError: <b>")
    run = small_run(tmp_path / "run", [[draw((0, 0, 1)), draw(raised), draw((1, 0, 1))]])
    run = load(run)
    facts = dict(facts_of(run))
    warning, failed = run.first_screen.warnings
    assert (warning.serious, warning.what) == (True, "the agent raised an exception: KeyError: <b>")
    assert warning.evidence == "1 of 2 executions in which it had to act"
    assert failed.what == "asked for lit(x): not achieved"
    assert failed.evidence.startswith("1 of 2 executions")
    assert failed.evidence.endswith("1 ended because the agent raised an exception")
    assert any("raised an exception" in note for note in digest_run(run)["notes"])
    assert facts["executions in which the agent raised an exception"] == "1"


def test_a_report_without_agent_failures_has_no_warning(tmp_path):
    run = load(small_run(tmp_path / "run", [[draw((0, 0, 1))]]))
    facts = dict(facts_of(run))
    assert run.first_screen.warnings == ()
    assert not [name for name in facts if name.startswith("executions in which")]


def test_a_comparison_warns_about_the_run_with_agent_failures():
    a, b = run_data(tried(0, 0, [1] * 9)), run_data(tried(0, 0, [0] * 9))
    comparison = compare_data(a, replace(b, agent_failures=(replace(RAISED, detail="<b>\x1b"),)))
    text = " ".join(comparison_lines(comparison))
    assert "B: warning: 1,234 of 5,678 executions in which the agent had to act ended" in text
    assert r"it raised an exception (first: <b>\x1b;" in text
    assert "A: warning" not in text
    page = difference_page(comparison)
    assert "first: &lt;b&gt;\\x1b" in page
    assert to_json(comparison)["scope"]["agent_failures_a"] == []
    assert to_json(comparison)["scope"]["agent_failures_b"][0]["executions"] == 1234


def note_of(one, other, state=0, always=0):
    contrast = Counter(one), Counter(other)
    dependence = AliasedPair(Intent.parse("p"), state, 5, 12.5, contrast, WORDS)
    (note,) = aliasing_notes(Aliasing(20, (dependence,) * 3), always)
    return note


def test_an_aliasing_note_has_the_numbers_and_the_clearest_example():
    assert note_of({4: 40}, {5: 35}, state=4) == (
        "in 3 of 20 pairs drawn from several simulator positions, the outcome depends on simulator "
        "state that the predicates do not capture: asked for p() when r(), all 40 executions from "
        "one position ended with no change, and all 35 from another with p(); probabilities there "
        "are mixtures over positions, and a further predicate would separate them"
    )


def test_an_outcome_that_both_positions_share_is_named_once():
    assert (
        "asked for p() when no atom holds, 38 of 40 executions from one position ended with p() "
        "and q(), compared with 20 of 35 from another;" in note_of({3: 38, 0: 2}, {3: 20, 0: 15})
    )


def test_atoms_that_always_hold_are_named_only_if_no_other_holds():
    assert "when q()," in note_of({0: 9}, {1: 9}, state=3, always=1)
    assert "when p()," in note_of({0: 9}, {1: 9}, state=1, always=1)


def test_there_is_no_note_without_aliasing():
    assert list(aliasing_notes(Aliasing(7))) == []


@pytest.mark.parametrize("strategy", ["exhaustive", "random"])
def test_aliasing_is_reported_wherever_a_run_is_shown(strategy, capscope, tmp_path):
    run = tmp_path / "run"
    result = assess(
        board_problem(BoardLaidOutAnew()), strategy=strategy, settings=SETTINGS, run=run
    )
    aliased = f"not show all that matters in {len(result.aliasing.aliased_pairs)} of "
    assert aliased in result._repr_html_()
    assert DEPENDS in (run / "report.html").read_text(encoding="utf-8")
    assert aliased in " ".join(capscope("show", run).out.split())
    assert DEPENDS in capscope("show", run, "--rules").out
    assert DEPENDS in capscope("show", run, "--findings").out
    shown = json.loads(capscope("show", run, "--findings", "--json").out)["aliasing"]
    assert shown == to_json(result.aliasing)
    assert len(shown["aliased_pairs"]) > 0


def test_randomness_alone_is_not_aliasing():
    result = assess(board_problem(Board(slip=0.3)), settings=SETTINGS)
    assert result.aliasing == Aliasing()
