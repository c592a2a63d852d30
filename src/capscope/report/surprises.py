"""Findings for people: the sentence, and one outcome that stands behind it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from capscope.findings import Finding


def finding_lines(finding: Finding, width: int = 96) -> Iterator[str]:
    """Write a finding down, line by line."""
    yield str(finding.kind)
    yield from _wrapped(finding.sentence, width, "  ")
    for example in finding.examples[:1]:
        told = example.as_dict()
        changes = ", ".join(told["changes"]) or "nothing changes"
        yield from _wrapped(
            f"for example {example.count} of {example.draws}: asked for {example.intent} in "
            f"{told['state']} ({', '.join(told['holding']) or 'no atom holds'}): {changes}",
            width,
            "    ",
        )


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )
