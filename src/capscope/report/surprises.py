"""Findings for people: the sentence, and one outcome that stands behind it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from functools import reduce
from operator import and_

from capscope.findings import Finding
from capscope.model import Models
from capscope.symbolic import State


def always_holding(models: Models) -> State:
    """Return the atoms that held in every state seen: they tell states apart for nobody."""
    return reduce(and_, models.places) if models.places else 0


def finding_lines(finding: Finding, constant: State = 0, width: int = 96) -> Iterator[str]:
    """Write a finding down, line by line, its example without the atoms that are `constant`."""
    yield str(finding.kind)
    yield from _wrapped(finding.sentence, width, "  ")
    for example in finding.examples[:1]:
        told = example.as_dict()
        changes = ", ".join(told["changes"]) or "nothing changes"
        holding = ", ".join(map(str, example.vocabulary.holding(example.state & ~constant)))
        yield from _wrapped(
            f"for example {example.count} of {example.draws}: asked for {example.intent} in "
            f"{told['state']} ({holding or 'no atom holds'}): {changes}",
            width,
            "    ",
        )


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )
