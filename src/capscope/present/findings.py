"""Findings for people: the sentence, and one outcome that stands behind it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from capscope.analysis.findings import Example, Finding
from capscope.symbolic import Effect, State


def finding_lines(finding: Finding, constant: State = 0, width: int = 96) -> Iterator[str]:
    """Write a finding down, line by line, its example without the atoms that are `constant`."""
    yield str(finding.kind)
    yield from _wrapped(finding.sentence, width, "  ")
    for example in finding.examples[:1]:
        yield from _wrapped(f"for {example_text(example, constant)}", width, "    ")


def example_text(example: Example, constant: State = 0, name: str | None = None) -> str:
    """Tell an example in a line; its state is called by a name, or else as in `model.json`."""
    changes = Effect.between(example.state, example.after).literals(example.vocabulary)
    holding = example.vocabulary.holding(example.state & ~constant)
    return (
        f"example {example.count:,} of {example.draws:,}: asked for {example.intent} in "
        f"{name or hex(example.state)} ({', '.join(map(str, holding)) or 'no atom holds'}): "
        f"{', '.join(map(str, changes)) or 'nothing changes'}"
    )


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )
