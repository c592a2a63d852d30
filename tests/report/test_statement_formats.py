"""Answers for builds and code hosts: Markdown, JUnit and SARIF."""

import json
import re
from xml.etree import ElementTree

import pytest

from capscope import Budget, assess, load
from capscope.cli.options import Format
from capscope.report.formats import (
    RENDERERS,
    Statement,
    Status,
    Summary,
    findings_summary,
    markdown_text,
)
from support.shown_sessions import ROOT

MAIL = str(ROOT / "examples" / "mail.py:problem")
ANSWER = Summary(
    "mail & co",
    "1 finding to watch out for",
    [
        Statement("does more", "in(x)", "It also <b>deleted</b> @bo.", Status.FAILED, ("a", "b")),
        Statement("does more", "on(x)", "It is part of it.", Status.NOTED, (), "lit(x)"),
        Statement("unclear", "off(x)", "Too few executions.", Status.UNDECIDED),
        Statement("no finding", "up(x)", "No finding in 9 executions.", Status.PASSED),
    ],
    ("400 executions",),
)


def written(answer, format):
    return "\n".join(RENDERERS[format](answer))


@pytest.fixture(scope="module")
def mail(tmp_path_factory):
    directory = tmp_path_factory.mktemp("runs") / "mail"
    assess(MAIL, budget=Budget(executions=300), run=directory)
    return load(directory)


def test_a_format_is_text_json_or_has_a_renderer():
    assert {*RENDERERS, Format.TEXT, Format.JSON} == set(Format)


def test_markdown_has_each_statement_once_with_the_important_ones_unfolded():
    text = written(ANSWER, Format.MARKDOWN)
    assert text.startswith("### mail \\& co: 1 finding to watch out for\n")
    open_part, *folded = text.split("<details>")
    assert "It also \\<b\\>deleted\\</b\\> @<!-- -->bo." in open_part
    assert "  - a\n  - b" in open_part
    assert "Too few executions." in open_part
    assert ["It is part of it." in one for one in folded] == [True, False]
    assert ["No finding in 9" in one for one in folded] == [False, True]
    assert text.count("<details>") == text.count("</details>") == 2


@pytest.mark.parametrize(
    "hostile",
    ["[a](http://b)", "<img src=x>", "@everyone", "www.bad.example", "#12", "`code`", "a\u202eb"],
)
def test_no_name_becomes_markup_a_link_or_a_mention(hostile):
    shown = re.sub(r"\\.", "", markdown_text(hostile))
    assert not re.search(r"[`*\[\]]|<(?!!-- -->)|@\w|#\w|://|www\.|\u202e", shown)


def test_junit_fails_for_what_to_watch_out_for_and_skips_what_is_undecided():
    text = written(ANSWER, Format.JUNIT)
    suites = ElementTree.fromstring(text.encode())
    (suite,) = suites
    cases = list(suite)
    assert suite.get("name") == "mail & co"
    assert [[child.tag for child in case] for case in cases] == [
        ["failure"],
        ["system-out"],
        ["skipped"],
        ["system-out"],
    ]
    assert cases[0][0].get("message") == "It also <b>deleted</b> @bo."
    assert cases[1].get("name") == "on(x): does more (lit(x))"
    for one in (suites, suite):
        counts = {name: one.get(name) for name in ("tests", "failures", "skipped", "errors")}
        assert counts == {"tests": "4", "failures": "1", "skipped": "1", "errors": "0"}


def check_sarif(document):
    """Check what the standard requires of the properties that are used."""
    assert document["version"] == "2.1.0"
    assert document["$schema"].endswith("sarif-2.1.0.json")
    (run,) = document["runs"]
    assert set(run) == {"tool", "columnKind", "results"}
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["kind"] in {"pass", "open", "informational", "review", "fail"}
        # §3.27.10: if kind is not "fail", level is "none".
        assert (result["level"] == "none") is (result["kind"] != "fail")
        assert result["message"]["text"]
        for location in result["locations"]:
            assert all(one["name"] for one in location["logicalLocations"])
            place = location.get("physicalLocation")
            if place is not None:
                assert not place["artifactLocation"]["uri"].startswith(("/", "file:"))
                assert place["region"]["startLine"] >= 1
    marks = [one["partialFingerprints"]["capscope/v1"] for one in run["results"]]
    assert len(set(marks)) == len(marks)
    return run["results"]


def test_sarif_leaves_open_what_is_undecided_and_fails_for_what_to_watch_out_for():
    results = check_sarif(json.loads(written(ANSWER, Format.SARIF)))
    assert [one["kind"] for one in results] == ["fail", "informational", "open", "pass"]


@pytest.mark.parametrize("broken", [{"level": "error"}, {"kind": "fine"}, {"ruleIndex": 2}])
def test_a_result_against_the_standard_would_be_noticed(broken):
    document = json.loads(written(ANSWER, Format.SARIF))
    document["runs"][0]["results"][1].update(broken)
    with pytest.raises((AssertionError, IndexError)):
        check_sarif(document)


def test_a_result_is_at_the_file_of_the_problem_if_that_is_below_the_current_folder(
    mail, tmp_path, monkeypatch
):
    monkeypatch.chdir(ROOT)
    for result in check_sarif(json.loads(written(findings_summary(mail, None, None), "sarif"))):
        (place,) = result["locations"]
        assert place["physicalLocation"]["artifactLocation"] == {"uri": "examples/mail.py"}
    monkeypatch.chdir(tmp_path)
    for result in check_sarif(json.loads(written(findings_summary(mail, None, None), "sarif"))):
        assert "physicalLocation" not in result["locations"][0]


def test_a_fingerprint_does_not_depend_on_what_was_counted(mail, tmp_path):
    again = assess(MAIL, seed=1, budget=Budget(executions=300), run=tmp_path / "again")
    ours, theirs = (
        {one.fingerprint: one.text for one in findings_summary(run, None, None).statements}
        for run in (mail, again)
    )
    shared = ours.keys() & theirs.keys()
    assert any(ours[mark] != theirs[mark] for mark in shared)


def test_the_statements_of_a_run_are_its_findings_and_the_requests_without_any(mail):
    answer = findings_summary(mail, None, None)
    findings = mail.findings()
    assert [one.text for one in answer.statements[: len(findings)]] == [
        finding.sentence for finding in findings
    ]
    assert len(answer.of(Status.FAILED)) == sum(finding.watch for finding in findings) > 0
    table, told = mail.executions, {finding.request for finding in findings}
    for one in answer.of(Status.PASSED):
        assert one.about not in told
        number = int(re.search(r"in ([\d,]+) execution", one.text)[1])
        # Counted again: executions of the request, which has no object, where it did not hold.
        if one.about in map(str, mail.capabilities):
            intent = mail.graph.resolve_capability(one.about)
            own = table.capability == mail.graph.index[intent]
            before = [table.states[s] for s in table.before[own & ~table.cut]]
            assert number == sum(not intent.holds(s, mail.graph.vocabulary) for s in before)
    assert "full()" in {one.about for one in answer.of(Status.PASSED)}


def test_a_capability_limits_the_statements(mail):
    wanted = mail.graph.match_capabilities("full()")
    assert [one.about for one in findings_summary(mail, wanted, None).statements] == ["full()"]


def test_a_request_of_a_run_that_shows_nothing_is_undecided(tmp_path):
    problem = ROOT / "examples" / "mail.py"
    text = problem.read_text(encoding="utf-8")
    idle = re.sub(r"FunctionAgent\(\w+\)", "FunctionAgent(lambda *_: None)", text)
    assert idle != text
    (tmp_path / "idle.py").write_text(idle, encoding="utf-8")
    source = f"{tmp_path / 'idle.py'}:problem"
    run = assess(source, budget=Budget(executions=100), run=tmp_path / "run")
    answer = findings_summary(run, None, None)
    assert run.claim_withheld is not None
    assert not answer.of(Status.PASSED)
    assert all("shows nothing" in one.text for one in answer.of(Status.UNDECIDED))


@pytest.mark.parametrize("format", ["markdown", "junit", "sarif"])
def test_show_prints_each_format_and_nothing_else(capscope, mail, format):
    done = capscope("show", str(mail.path), "--format", format)
    assert done.code == 0
    assert done.out == written(findings_summary(mail, None, None), format) + "\n"


def test_json_is_a_format_and_json_stays_its_short_form(capscope, mail):
    for more in ([], ["--findings"]):
        given = ["show", str(mail.path), *more]
        assert capscope(*given, "--format", "json").out == capscope(*given, "--json").out


def test_a_format_for_findings_refuses_what_is_about_something_else(capscope, mail):
    for flag in ("--rules", "--draws", "--json"):
        done = capscope("show", str(mail.path), "in(lunch,archive)", flag, "--format", "sarif")
        assert done.code == 2
        assert "lists findings only" in done.err
