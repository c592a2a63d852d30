"""The kinds of findings, in the order in which they are looked for.

To add a kind, write a module that defines a `FindingKind` and add it here; a package of your own
registers one under the entry-point group `capscope.finding_kinds`. Every kind gets an
equal share of the error budget, so each additional kind makes all thresholds a little stricter.
A kind sees the findings of the kinds before it, so the order matters.
"""

from capscope.analysis.findings.breakdowns import BREAKDOWN
from capscope.analysis.findings.changes import CHANGE
from capscope.analysis.findings.collateral import COLLATERAL
from capscope.analysis.findings.context import FindingKind
from capscope.analysis.findings.drops import DROP
from capscope.analysis.findings.failures import FAILURE
from capscope.analysis.findings.side_effects import SIDE_EFFECT
from capscope.registry import Registry

_BUILT_IN = (
    COLLATERAL,
    SIDE_EFFECT,
    FAILURE,
    DROP,
    BREAKDOWN,
    CHANGE,
)
FINDING_KINDS = Registry("capscope.finding_kinds", "kind of finding", FindingKind, _BUILT_IN)


def approximate_labels() -> list[str]:
    """List the labels of the kinds whose error rate holds only approximately, each once."""
    kinds = FINDING_KINDS.all.values()
    return list(dict.fromkeys(kind.label for kind in kinds if kind.approximate))
