"""What a command found, in the formats of other tools: Markdown, JUnit and SARIF.

Each command that finds something turns it into statements about requests; every format is written
from these, so that a build, a code host and a person read the same sentences. What is undecided is
never written as passed: JUnit skips it, and SARIF leaves it open.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from capscope.insight.findings import Finding
from capscope.insight.findings.context import FindingContext
from capscope.insight.findings.requests import requests
from capscope.logic import Intent
from capscope.report.overview import about, heading_lines
from capscope.report.text import finding_details
from capscope.sanitize import sanitize
from capscope.version import __version__
from capscope.wording import counted

if TYPE_CHECKING:
    from capscope.run import Run

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_MARKUP = re.compile(r"[\\`*_\[\]<>#|~!&]")
_LINK = re.compile(r"[@#](?=\w)|:(?=//)|www(?=\.)")
"""What a code host turns into a link unless something stands in between."""


class Status(StrEnum):
    """What a statement means for a build; the values are the kinds of SARIF."""

    FAILED = "fail"
    """Something to watch out for."""
    NOTED = "informational"
    UNDECIDED = "open"
    PASSED = "pass"


@dataclass(frozen=True)
class Statement:
    """A sentence about a request."""

    rule: str
    """What kind of statement it is: `does more`."""
    about: str
    """The form of the request: `archived(x)`."""
    text: str
    status: Status
    details: tuple[str, ...] = ()
    """Further lines: an example, the path to it."""
    identity: str = ""
    """What distinguishes it from others of its kind about the request, without any count."""

    @property
    def fingerprint(self) -> str:
        """Identify the statement, whatever was counted."""
        known = (self.rule, self.about, self.identity)
        return hashlib.sha256(repr(known).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Summary:
    """What a command found, for all formats."""

    name: str
    """What it is about: the name of the problem."""
    title: str
    """What was found, in one line."""
    statements: Sequence[Statement]
    remarks: Sequence[str] = ()
    """Sentences to read before the statements."""
    source: str = ""
    """What the problem was loaded from: `agent.py:problem`."""

    def of(self, status: Status) -> list[Statement]:
        """Return the statements of one status."""
        return [one for one in self.statements if one.status is status]


def markdown_text(line: str) -> str:
    r"""Escape a line for Markdown, so that no name becomes a link, markup or a mention.

    >>> print(markdown_text("on(a_1,*) @all"))
    on(a\_1,\*) @<!-- -->all
    """
    escaped = _MARKUP.sub(lambda found: f"\\{found[0]}", sanitize(line))
    return _LINK.sub(lambda found: f"{found[0]}<!-- -->", escaped)


_HEADINGS = {
    Status.FAILED: "To watch out for",
    Status.UNDECIDED: "Undecided",
    Status.NOTED: "Further findings",
    Status.PASSED: "No finding",
}
_MARKS = {
    Status.FAILED: "❌",
    Status.UNDECIDED: "❔",
    Status.NOTED: "•",
    Status.PASSED: "✓",
}


def markdown(summary: Summary) -> Iterator[str]:
    """Write a summary for a comment on a pull request."""
    yield f"### {markdown_text(summary.name)}: {markdown_text(summary.title)}"
    for line in summary.remarks:
        yield from ("", markdown_text(line))
    for status, heading in _HEADINGS.items():
        own = summary.of(status)
        if not own:
            continue
        folded = status in (Status.NOTED, Status.PASSED)
        title = f"{heading} ({len(own):,})"
        yield from ("", f"<details><summary>{title}</summary>" if folded else f"**{title}**", "")
        for one in own:
            yield f"- {_MARKS[status]} {markdown_text(one.text)}"
            yield from (f"  - {markdown_text(line)}" for line in one.details)
        if folded:
            yield from ("", "</details>")


def junit(summary: Summary) -> Iterator[str]:
    """Write a summary as a JUnit report: a test case for each statement."""
    failed, open_ = (len(summary.of(one)) for one in (Status.FAILED, Status.UNDECIDED))
    counts = {"tests": len(summary.statements), "failures": failed, "errors": 0, "skipped": open_}
    totals = {name: str(number) for name, number in counts.items()}
    suites = ElementTree.Element("testsuites", totals)
    suite = ElementTree.SubElement(suites, "testsuite", {"name": sanitize(summary.name), **totals})
    for one in summary.statements:
        name = f"{one.about}: {one.rule}" if one.about else one.rule
        if one.identity:
            name += f" ({one.identity})"
        known = {"classname": "capscope", "name": sanitize(name), "time": "0"}
        case = ElementTree.SubElement(suite, "testcase", known)
        _add_result(case, one)
    ElementTree.indent(suites)
    yield '<?xml version="1.0" encoding="utf-8"?>'
    yield from ElementTree.tostring(suites, "unicode").split("\n")


def _add_result(case: ElementTree.Element, one: Statement) -> None:
    text = sanitize(one.text)
    rest = "\n".join(map(sanitize, (one.text, *one.details)))
    if one.status is Status.FAILED:
        known = {"message": text, "type": one.rule}
        ElementTree.SubElement(case, "failure", known).text = rest
    elif one.status is Status.UNDECIDED:
        ElementTree.SubElement(case, "skipped", {"message": text})
    else:
        ElementTree.SubElement(case, "system-out").text = rest


def sarif(summary: Summary) -> Iterator[str]:
    """Write a summary as SARIF 2.1.0; a result is at the file that makes the problem."""
    rules = list(dict.fromkeys(one.rule for one in summary.statements))
    tool = {
        "name": "capscope",
        "version": __version__,
        "rules": [{"id": _rule_id(rule), "shortDescription": {"text": rule}} for rule in rules],
    }
    place = _location(summary.source)
    results = [
        {
            "ruleId": _rule_id(one.rule),
            "ruleIndex": rules.index(one.rule),
            "kind": str(one.status),
            "level": "warning" if one.status is Status.FAILED else "none",
            "message": {"text": "\n".join(map(sanitize, (one.text, *one.details)))},
            "locations": [{**place, "logicalLocations": [{"name": sanitize(one.about)}]}],
            "partialFingerprints": {"capscope/v1": one.fingerprint},
        }
        for one in summary.statements
    ]
    run = {"tool": {"driver": tool}, "columnKind": "unicodeCodePoints", "results": results}
    document = {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}
    yield from json.dumps(document, indent=2).split("\n")


def _rule_id(rule: str) -> str:
    return re.sub(r"\W+", "-", rule).strip("-") or "finding"


def _location(source: str) -> dict[str, Any]:
    """Return where the problem is made, if that is a file below the current directory."""
    file, colon, _ = source.rpartition(":")
    path = Path(file if colon and file.endswith(".py") else "").absolute()
    if not (colon and file.endswith(".py") and path.is_relative_to(Path.cwd())):
        return {}
    uri = Path(path.relative_to(Path.cwd())).as_posix()
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": 1}}}


RENDERERS: Mapping[str, Callable[[Summary], Iterable[str]]] = {
    "markdown": markdown,
    "junit": junit,
    "sarif": sarif,
}
"""What writes the lines of a summary, by format; a command has its own text and JSON."""


def findings_summary(run: Run, wanted: Collection[Intent] | None, limit: int | None) -> Summary:
    """Return the findings, and the requests without one, for the formats of other tools."""
    found = about(run.findings(), wanted)
    told = [_statement(run, finding) for finding in found[:limit]]
    watched = sum(finding.watch for finding in found)
    amount = counted(watched, "finding") if watched else "nothing"
    return Summary(
        run.problem,
        f"{amount} to watch out for",
        [*told, *_without_finding(run, {one.request for one in run.findings()}, wanted)],
        tuple(heading_lines(run)),
        run.identity.source,
    )


def _statement(run: Run, finding: Finding) -> Statement:
    return Statement(
        str(finding.kind),
        finding.request,
        finding.sentence,
        Status.FAILED if finding.watch else Status.NOTED,
        tuple(finding_details(run, finding)),
        f"{finding.change}{finding.condition}".strip(),
    )


def _without_finding(
    run: Run, told: Collection[str], wanted: Collection[Intent] | None
) -> Iterator[Statement]:
    """Say of each form of request without a finding in how many executions it was asked for."""
    why, capabilities = run.claim_withheld, run.capabilities
    for form in requests(FindingContext(run)):
        asked = {capabilities[number] for number in form.capabilities}
        if form.text in told or not (wanted is None or asked.intersection(wanted)):
            continue
        text = f"Asked for {form.text}: no finding in {counted(len(form.rows), 'execution')}."
        undecided = why and f"{text[:-1]}, which shows nothing: {why}."
        status = Status.UNDECIDED if undecided else Status.PASSED
        yield Statement("no finding", form.text, undecided or text, status)
