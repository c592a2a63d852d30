"""The first sentence about a run: what to watch out for, or that there is nothing."""

from __future__ import annotations

from collections.abc import Sequence

from capscope.insight.findings.finding import Finding
from capscope.wording import counted, first_few, joined

_MOST_GROUPS = 3


def headline(findings: Sequence[Finding], executions: int, left_out_by: Sequence[str] = ()) -> str:
    """Say what to watch out for, or that nothing changed beyond the requests.

    Args:
        findings: All of a run, the most important first.
        executions: The executions that were not cut short.
        left_out_by: The groups by which others were left out, as `groups_relied_on` names them.
    """
    if not executions:
        return "Nothing was executed yet."
    changes, watched = (
        sum(bool(getattr(one, name)) for one in findings) for name in ("change", "watch")
    )
    if not changes:
        number = counted(executions, "execution")
        nothing = f"Nothing changed beyond the requests in {number}{proviso(left_out_by)}."
        return " ".join([nothing, *(one.sentence for one in findings[:1])])
    if not watched:
        kinds = f"{counted(changes, 'kind')} of change"
        return f"{kinds} came with the requests, each a part of them or on the way."
    if watched == 1:
        return findings[0].sentence
    verb = "is" if watched == 2 else "are"
    return f"{findings[0].sentence} {counted(watched - 1, 'more finding')} {verb} listed."


def proviso(left_out_by: Sequence[str]) -> str:
    """Say on which groups it rests that nothing changed.

    >>> proviso(["locked(…)"])
    ', except what follows if exactly one of locked(…) must hold'
    """
    if not left_out_by:
        return ""
    names = [f"one of {name}" for name in left_out_by]
    shown = joined(first_few(names, _MOST_GROUPS, "of {} more sets"))
    return f", except what follows if exactly {shown} must hold"
