from dataclasses import replace

from capscope import Intent
from capscope.analysis.diff import compare_sides
from capscope.present.agent_failures import agent_failure_warnings
from capscope.present.difference import comparison_lines
from capscope.present.digest.facts import facts_of
from capscope.present.digest.record import opened_record
from capscope.present.digest.summary import summary_of
from capscope.present.page.difference import difference_page
from capscope.record.agent_failures import AgentFailure
from capscope.world import Ending
from support.small_runs import draw, execution, small_run
from support.tiny_sides import side, tried

RAISED = AgentFailure(Ending.AGENT_RAISED, 1234, 5678, Intent.parse("not lit(a)"), "KeyError: 'b'")


def test_a_warning_has_the_numbers_the_first_words_and_the_way_to_the_rest():
    refused = AgentFailure(Ending.INVALID_ACTION, 1, 1, Intent.parse("lit(a)"), "")
    assert list(agent_failure_warnings([RAISED, refused], "my runs/a")) == [
        "warning: 1,234 of 5,678 executions in which it had to act ended because the agent raised; "
        "the first: KeyError: 'b' (capscope show 'my runs/a' 'not lit(a)' --draws lists those of "
        "not lit(a))",
        "warning: 1 of 1 execution in which it had to act ended because the agent chose an action "
        "that is not available; the first said nothing (capscope show 'my runs/a' 'lit(a)' --draws "
        "lists those of lit(a))",
    ]


def test_words_that_speak_to_the_terminal_or_never_end_are_tamed():
    (line,) = agent_failure_warnings([replace(RAISED, detail="\x1b[2J\n" + "ha" * 5000)])
    assert line.isprintable()
    assert r"the first: \x1b[2J\nhaha" in line
    assert len(line) < 450


def test_an_agent_that_always_breaks_down_is_said_to():
    (line,) = agent_failure_warnings([replace(RAISED, acting=1234)])
    assert line.startswith("warning: all 1,234 executions in which it had to act ended because")


def test_the_report_warns_and_has_the_number_among_its_facts(tmp_path):
    raised = execution(0, 1, 0, ending=Ending.AGENT_RAISED, detail="KeyError: <b>")
    run = small_run(tmp_path / "run", [[draw((0, 0, 1)), draw(raised), draw((1, 0, 1))]])
    with opened_record(run) as record:
        said = {passage.heading: passage.sentences for passage in summary_of(record, [], [])}
        facts = dict(facts_of(record))
    first, second = said["What surprised"]
    assert first == (
        "Warning: 1 of 2 executions in which it had to act ended because the agent raised; the "
        "first: KeyError: <b> (capscope show DIR 'lit(b)' --draws lists those of lit(b))."
    )
    assert second.startswith("Nothing else that was seen stands out")
    assert str(said).count("Warning") == 1
    assert facts["executions in which the agent raised"] == "1"


def test_a_report_of_an_agent_that_copes_warns_of_nothing(tmp_path):
    with opened_record(small_run(tmp_path / "run", [[draw((0, 0, 1))]])) as record:
        said = str(summary_of(record, [], []))
        facts = dict(facts_of(record))
    assert "Warning" not in said
    assert not [name for name in facts if name.startswith("executions in which")]


def test_a_comparison_warns_of_the_side_that_broke_down():
    a, b = side(tried(0, 0, [1] * 9)), side(tried(0, 0, [0] * 9))
    comparison = compare_sides(a, replace(b, agent_failures=(replace(RAISED, detail="<b>\x1b"),)))
    text = " ".join(comparison_lines(comparison))
    assert "B: warning: 1,234 of 5,678 executions in which it had to act ended because" in text
    assert r"the agent raised; the first: <b>\x1b" in text
    assert "A: warning" not in text
    page = difference_page(comparison)
    assert "the first: &lt;b&gt;\\x1b" in page
    assert comparison.as_dict()["scope"]["mishaps a"] == []
    assert comparison.as_dict()["scope"]["mishaps b"][0]["executions"] == 1234
