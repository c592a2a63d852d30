"""What statements rest on: pairs that were tried, pairs that the model infers, or neither."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from capscope.model import ModelCoverage
from capscope.report.digest.shape import CapabilityDigest
from capscope.sanitize import sanitize

if TYPE_CHECKING:
    from capscope.run import Run


def basis_of(run: Run) -> ModelCoverage:
    """Return the pairs tried, inferred and unknown."""
    if run.infers:
        return run.coverage
    tried = run.graph.pairs_tried
    pairs = len(run.graph.nodes) * len(run.graph.capabilities)
    return ModelCoverage(tried, 0, pairs - tried)


def with_basis(run: Run, capabilities: Sequence[CapabilityDigest]) -> list[CapabilityDigest]:
    """Add to each capability in how many states the model infers what happens."""
    if not run.infers:
        return list(capabilities)
    by_intent = zip(run.graph.capabilities, run.model.coverage_by_capability(), strict=True)
    inferred = {sanitize(str(intent)): own.inferred for intent, own in by_intent}
    return [replace(one, inferred=inferred[one.intent]) for one in capabilities]
