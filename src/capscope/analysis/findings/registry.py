"""The kinds of findings, in the order in which they are looked for.

To add a kind, write a module that defines a `FindingKind` and add it to `BUILT_IN`; a package of
your own registers one under the entry-point group `capscope.finding_kinds`. Every kind gets an
equal share of the error budget, so each additional kind makes all thresholds a little stricter.
A kind sees the findings of the kinds before it, so the order matters.
"""

from __future__ import annotations

from importlib import metadata

from capscope.analysis.findings.conditions import CONDITION
from capscope.analysis.findings.context import FindingKind
from capscope.analysis.findings.preferences import PREFERENCE
from capscope.analysis.findings.side_effects import SIDE_EFFECT
from capscope.analysis.findings.unequal_treatment import UNEQUAL_STEPS, UNEQUAL_SUCCESS
from capscope.analysis.findings.unusual_means import MEANS
from capscope.errors import CapscopeError

ENTRY_POINTS = "capscope.finding_kinds"
BUILT_IN = (SIDE_EFFECT, CONDITION, MEANS, PREFERENCE, UNEQUAL_SUCCESS, UNEQUAL_STEPS)


def finding_kinds() -> tuple[FindingKind, ...]:
    """Return every registered kind, those of other packages last."""
    kinds = {kind.name: kind for kind in BUILT_IN}
    for entry in metadata.entry_points(group=ENTRY_POINTS):
        kind = entry.load()
        if not isinstance(kind, FindingKind):
            raise CapscopeError(
                f"the entry point {entry.name} of {ENTRY_POINTS} is a {type(kind).__name__}; it "
                "must name a capscope.analysis.findings.FindingKind"
            )
        if kind.name in kinds:
            raise CapscopeError(
                f"the entry point {entry.name} of {ENTRY_POINTS} registers the kind "
                f"{kind.name!r}, which exists already; give it another name"
            )
        kinds[kind.name] = kind
    return tuple(kinds.values())


def descriptions() -> list[str]:
    """List what the registered kinds look for, each once."""
    return list(dict.fromkeys(kind.description for kind in finding_kinds()))


def approximate_labels() -> list[str]:
    """List the labels of the kinds whose error rate holds only approximately, each once."""
    return list(dict.fromkeys(kind.label for kind in finding_kinds() if kind.approximate))
