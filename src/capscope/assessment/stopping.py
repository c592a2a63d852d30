"""When to stop: nothing new for a while, or a budget spent."""

from __future__ import annotations

from capscope.model import Learned
from capscope.record.settings import Settings


def is_news(learned: Learned, settings: Settings) -> bool:
    """Say whether a query taught something: a new transition, or a probability that moved."""
    return learned.new_transitions > 0 or learned.largest_shift > settings.shift


def revisitation_bonus(quiet_queries: int, settings: Settings) -> float:
    """Return ξ: the longer nothing was learned, the more it pays to come back."""
    return settings.xi * min(quiet_queries, settings.patience) / settings.patience
