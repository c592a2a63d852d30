"""Executions in which the agent broke down: it raised, or chose an action that is not available.

Such an attempt has failed, and a failure is an outcome like any other. But an agent with a mistake
in its code fails everywhere in the same way, and its model then looks settled: nothing ever
changes. So whoever shows a run says how many of its executions ended like that.

Decoding every draw to count them would take seconds where nothing is wrong, which is nearly always.
The database passes over the draws that cannot hold such an ending; what is left is decoded.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

from capscope.data.chronicle import refuse_unknown_capabilities
from capscope.data.journal import ENDINGS, Journal
from capscope.data.journal_file import understood
from capscope.symbolic import Intent
from capscope.world.attempt import Ending

BREAKDOWNS = (Ending.AGENT_RAISED, Ending.INVALID_ACTION)

_NUMBERS = tuple(map(ENDINGS.index, BREAKDOWNS))
# An ending stands behind the states and the steps, and before a comma or the end of the attempt.
# Other numbers may stand so too: this only passes over what cannot be meant.
_MAY_HOLD_ONE = f"*],*,[{''.join(map(str, _NUMBERS))}][],]*"


@dataclass(frozen=True, slots=True)
class Mishap:
    """The executions that ended because the agent broke down in one way."""

    ending: Ending
    executions: int
    capability: Intent
    """What the agent was asked for in the first of them."""
    detail: str
    """The words of the first of them; untrusted."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        return {
            "ending": str(self.ending),
            "executions": self.executions,
            "capability": str(self.capability),
            "detail": self.detail,
        }


def mishaps_of(journal: Journal, queries: int | None = None) -> tuple[Mishap, ...]:
    """Read in what ways the agent broke down, in all queries of a journal or in the first ones."""
    rows = journal.select(
        "SELECT attempts FROM draws WHERE query < ? AND attempts GLOB ? ORDER BY query, draw",
        2**62 if queries is None else queries,
        _MAY_HOLD_ONE,
    )
    texts = Counter(text for (text,) in rows)
    executions: Counter[int] = Counter()
    first: dict[int, tuple[int, str]] = {}
    with understood(journal.path):
        # Texts are in the order of first sight.
        for text, times in texts.items():
            for capability, _, _, ending, *rest in json.loads(text):
                if ending in _NUMBERS:
                    executions[ending] += times
                    first.setdefault(ending, (capability, str(rest[1]) if rest else ""))
    intents = journal.intents() if first else []
    refuse_unknown_capabilities((capability for capability, _ in first.values()), len(intents))
    return tuple(
        Mishap(ENDINGS[ending], executions[ending], intents[first[ending][0]], first[ending][1])
        for ending in _NUMBERS
        if ending in first
    )
