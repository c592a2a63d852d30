"""What a notebook shows of an assessment."""

import pytest

from capscope import Budget, assess
from capscope.errors import CapscopeError
from capscope.insight.rule_wording import instance_lines
from capscope.model import LearnedModel
from capscope.report.notebook import PreformattedText, graph_html
from capscope.report.notes import claim_lines
from capscope.report.overview import model_lines
from capscope.report.text import capability_lines, rates_text
from support.odd_names import ODD, ODD_INTENTS, taught
from support.toy_worlds import Board, board_problem


@pytest.fixture(scope="module")
def run():
    return assess(board_problem(Board(slip=0.3)), budget=Budget(executions=200))


def test_a_run_shows_what_was_assessed_at_what_cost_and_the_table(run):
    text = run._repr_html_()
    assert text.startswith("<p><b>board: 6 capabilities, 8 states seen</b></p>")
    assert "<p>200 executions in " in text
    assert all(f"<p>{line}</p>" in text for line in claim_lines(run))
    assert text.endswith(run.show()._repr_html_() + graph_html(run.graph))


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


def test_the_rules_are_shown_where_no_capability_is_named(run):
    shown = run.show()
    assert shown in "\n".join(model_lines(run, None, None))
    assert isinstance(shown, PreformattedText)


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
