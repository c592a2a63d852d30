"""What a notebook shows of an assessment."""

import html

import pytest

from capscope import Budget, assess
from capscope.errors import CapscopeError
from capscope.insight.diff.wording import comparison_lines
from capscope.insight.first_screen import screen_lines
from capscope.insight.planning.wording import plan_lines
from capscope.insight.rule_wording import instance_lines
from capscope.model import LearnedModel
from capscope.report.overview import model_lines
from capscope.report.text import capability_lines, rates_text
from capscope.wording import PreformattedText
from support.harmful_agents import warehouse_problem
from support.odd_names import ODD, ODD_INTENTS, taught
from support.toy_worlds import Board, board_problem


@pytest.fixture(scope="module")
def run():
    return assess(board_problem(Board(slip=0.3)), budget=Budget(executions=200))


def test_a_run_shows_its_first_screen(run):
    text = run._repr_html_()
    screen = run.first_screen
    assert f'<h1>board</h1>\n<p class="extent">{screen.extent}</p>' in text
    for row in screen.rows:
        assert all(html.escape(s.text) in text for s in (row.anywhere, row.in_the_end))
    assert all(step.command in html.unescape(text) for step in screen.next_steps)
    assert run.show() == "\n".join(screen_lines(screen, run.path))


def test_a_capability_is_shown_as_on_the_command_line(run):
    shown = run.show("lit(a)")
    intent = run.graph.resolve_capability("lit(a)")
    headline = rates_text(run.rates[intent], 1)
    assert shown == "\n".join(capability_lines(run, intent))
    assert headline.startswith("gets there: ") and headline in shown
    assert shown in "\n".join(model_lines(run, [intent], None))
    assert repr(shown) == shown
    assert shown._repr_html_().count("\n") == shown.count("\n")


def test_an_unknown_capability_is_named_with_some_that_are_known(run):
    with pytest.raises(CapscopeError, match=r"no capability lit\(z\) .*; nearest: .*lit\(a\)"):
        run.show("lit(z)")


def test_findings_show_themselves_as_sentences():
    run = assess(warehouse_problem(breaks=0.2), budget=Budget(executions=150))
    found = run.findings()
    shown = " ".join(repr(found).split())
    assert len(found) > 1
    for number, one in enumerate(found, 1):
        assert f"{number}. {' '.join(one.sentence.split())}" in shown
    shown = found._repr_html_()
    assert shown.count("<tr>") == len(found)
    assert all(html.escape(one.sentence) in shown for one in found)
    assert repr(type(found)()) == ""


def test_rules_comparisons_and_plans_show_themselves_in_words(run):
    rules = run.rules()
    assert isinstance(rules, PreformattedText)
    assert "rules of the families of requests:" in rules
    comparison = run.diff(baseline=run)
    assert repr(comparison) == "\n".join(comparison_lines(comparison))
    assert comparison._repr_html_().startswith("<pre")
    pytest.importorskip("scipy")
    plan = run.plan("lit(a)")
    assert repr(plan) == "\n".join(plan_lines(plan))
    assert "success" in plan._repr_html_()


def test_names_are_neither_markup_nor_commands_to_the_terminal():
    odd = next(i for i in ODD_INTENTS if "script" in str(i))
    model = LearnedModel.fitted(taught(ODD, ODD_INTENTS, {(0, ODD_INTENTS.index(odd), 1): 1}))
    shown = PreformattedText("\n".join(instance_lines(model, odd)))
    assert "<script>" in shown
    assert "<script>" not in shown._repr_html_()
    assert (
        PreformattedText("a\x1b[2J & <b>\nc")
        ._repr_html_()
        .endswith(">a\\x1b[2J &amp; &lt;b&gt;\nc</pre>")
    )


def test_frames_are_the_same_whether_or_not_the_run_was_kept(run, tmp_path):
    pytest.importorskip("pandas")
    made = run.frames()
    assert made.queries["executions"].sum() == 200
    assert made.transitions["times"].sum() == 200
    problem = board_problem(Board(slip=0.3))
    kept = assess(problem, budget=Budget(executions=200), run=tmp_path / "run").frames()
    assert kept.queries["executions"].sum() == 200
    assert kept.transitions.equals(made.transitions)
    assert kept.rules.equals(made.rules)
    assert kept.queries.drop(columns="seconds").equals(made.queries.drop(columns="seconds"))
