"""Executions in which the agent broke down: it raised, or chose an action that is not available.

Such an attempt has failed, and a failure is an outcome like any other. But an agent with a mistake
in its code fails everywhere in the same way, and its model then looks settled: nothing ever
changes. So whoever shows a run says how many of its executions ended like that: of those in which
the agent had to act. Where the intent held already many an agent stops before it can break down.

Decoding every draw to count them would take seconds where nothing is wrong, which is nearly always.
The database passes over the draws that cannot hold such an ending; what is left is decoded.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from capscope.record.execution_table import ExecutionTable
from capscope.record.journal import ENDINGS, Journal
from capscope.record.journal_file import understood
from capscope.symbolic import Intent, Vocabulary
from capscope.world.attempt import Ending

FAILURES = (Ending.AGENT_RAISED, Ending.INVALID_ACTION)

_NUMBERS = tuple(map(ENDINGS.index, FAILURES))
# An ending stands behind the states and the steps, and before a comma or the end of the attempt.
# Other numbers may stand so too: this only passes over what cannot be meant.
_MAY_HOLD_ONE = f"*],*,[{''.join(map(str, _NUMBERS))}][],]*"


@dataclass(frozen=True, slots=True)
class AgentFailure:
    """The executions that ended because the agent broke down in one way."""

    ending: Ending
    executions: int
    acting: int
    """Executions of the run in which the agent had to act, or broke down though it had not to."""
    capability: Intent
    """What the agent was asked for in the first of them."""
    detail: str
    """The words of the first of them; untrusted."""

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready values."""
        return {
            "ending": str(self.ending),
            "executions": self.executions,
            "had_to_act": self.acting,
            "capability": str(self.capability),
            "detail": self.detail,
        }


def agent_failures_of(journal: Journal, queries: int | None = None) -> tuple[AgentFailure, ...]:
    """Read in what ways the agent broke down, in all queries of a journal or in the first ones."""
    most = 2**62 if queries is None else queries
    rows = journal.select(
        "SELECT attempts FROM draws WHERE query < ? AND attempts GLOB ? ORDER BY query, draw",
        most,
        _MAY_HOLD_ONE,
    )
    texts = Counter(text for (text,) in rows)
    broken: Counter[tuple[int, int, int]] = Counter()
    first: dict[int, tuple[int, str]] = {}
    with understood(journal.path):
        # Texts are in the order of first sight.
        for text, times in texts.items():
            for capability, states, _, ending, *rest in json.loads(text):
                if ending in _NUMBERS:
                    broken[ending, capability, states[0]] += times
                    first.setdefault(ending, (capability, str(rest[1]) if rest else ""))
    return tuple(_mishaps(journal, most, broken, first)) if first else ()


def _mishaps(
    journal: Journal,
    queries: int,
    broken: Counter[tuple[int, int, int]],
    first: dict[int, tuple[int, str]],
) -> Iterator[AgentFailure]:
    """Count the breakdowns by ⟨ending, capability, state⟩, and say in how many it had to act."""
    intents = journal.intents()
    table = ExecutionTable.of(journal, queries, len(intents))
    words = Vocabulary.from_dict(journal.read_meta()["vocabulary"])
    asked = Counter(zip(table.capability.tolist(), table.before.tolist(), strict=True))
    held = {
        (capability, state)
        for capability, state in asked
        if intents[capability].holds(table.states[state], words)
    }
    to_act = sum(times for pair, times in asked.items() if pair not in held)
    for ending in (number for number in _NUMBERS if number in first):
        own = {(c, s): times for (e, c, s), times in broken.items() if e == ending}
        capability, detail = first[ending]
        idly = sum(times for pair, times in own.items() if pair in held)
        total = sum(own.values())
        yield AgentFailure(ENDINGS[ending], total, to_act + idly, intents[capability], detail)
