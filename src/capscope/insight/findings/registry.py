"""The kinds of findings, in the order in which they are looked for.

To add a kind, write a module that defines a `FindingKind` and add it here; a package of your own
registers one under the entry-point group `capscope.finding_kinds`. Every kind gets an
equal share of the error budget, so each additional kind makes all thresholds a little stricter.
A kind sees the findings of the kinds before it, so the order matters.
"""

from capscope.insight.findings.breakdowns import BREAKDOWN
from capscope.insight.findings.changes import CHANGE
from capscope.insight.findings.collateral import COLLATERAL
from capscope.insight.findings.context import FindingKind
from capscope.insight.findings.drops import DROP
from capscope.insight.findings.failures import FAILURE
from capscope.insight.findings.side_effects import SIDE_EFFECT
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
