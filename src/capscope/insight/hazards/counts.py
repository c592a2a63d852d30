"""How often hazards happened in the draws that were made as in use, to be compared with others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from capscope.insight.hazards.find import asked_by_executions, happening
from capscope.insight.hazards.use import UseSample, sample_use
from capscope.problem import Hazard

if TYPE_CHECKING:
    from capscope.insight.run_facts import RunFacts


@dataclass(frozen=True)
class HazardUse:
    """How often a hazard happened in the draws of one run that were made as in use."""

    hits: int
    sample: UseSample

    def bounds(self, error: float) -> tuple[float, float]:
        """Return an interval for the rate that is wrong with at most this probability."""
        return self.sample.lower(self.hits, error / 2), self.sample.upper(self.hits, error / 2)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        return {"hits": self.hits, "draws": len(self.sample.rows)}


def uses_of(run: RunFacts) -> dict[str, HazardUse]:
    """Count the hazards of a run in the draws that were made as in use; none without such draws."""
    texts = run.identity.settings.hazards
    sample = sample_use(run) if texts else None
    if sample is None or sample.missing:
        return {}
    hazards = [Hazard.parse(text, run.graph.vocabulary) for text in texts]
    found = {}
    for hazard, happened in zip(hazards, happening(run, hazards), strict=True):
        unasked = sample.only(~asked_by_executions(run, hazard))
        found[hazard.text] = HazardUse(int(happened[unasked.rows].sum()), unasked)
    return found
