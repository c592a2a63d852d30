"""What a new version of an agent does that its baseline did not: the verdict of a comparison."""

from capscope.insight.compare.verdict import (
    AgentChange,
    ComparisonVerdict,
    VersionComparison,
    compared,
    comparison_settings,
    joined_experience,
)

__all__ = [
    "AgentChange",
    "ComparisonVerdict",
    "VersionComparison",
    "compared",
    "comparison_settings",
    "joined_experience",
]
