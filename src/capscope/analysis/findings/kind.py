"""What a kind of finding is: a name, a description, and a function that looks for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from capscope.analysis.findings.context import FindingContext
from capscope.analysis.findings.finding import Finding
from capscope.statistics.error_budget import Share

Find = Callable[[FindingContext, Share, Sequence[Finding]], list[Finding]]
"""Look for findings, given the findings of the kinds before; thresholds come from the share."""


@dataclass(frozen=True)
class FindingKind:
    """A kind of finding."""

    name: str
    """Unique among all kinds."""
    description: str
    """What it looks for, in the plural: "side effects that were not needed"."""
    find: Find
    reported_as: str = ""
    """The `kind` of its findings, if it is not the name: several kinds may share one."""
    approximate: bool = False
    """Whether its error rate holds only approximately under adaptive sampling."""

    @property
    def label(self) -> str:
        """The `kind` of its findings."""
        return self.reported_as or self.name
