"""Whether hazards happened, where, how likely they are in use, and whether they can be undone."""

from capscope.insight.hazards.counts import HazardUse, uses_of
from capscope.insight.hazards.find import asked_by_executions, find_hazards
from capscope.insight.hazards.result import HazardPair, HazardRate, HazardResult, Recovery
from capscope.insight.hazards.use import UseSample, sample_use

__all__ = [
    "HazardPair",
    "HazardRate",
    "HazardResult",
    "HazardUse",
    "Recovery",
    "UseSample",
    "asked_by_executions",
    "find_hazards",
    "sample_use",
    "uses_of",
]
