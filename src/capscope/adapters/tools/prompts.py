"""What an agent is told: the phrasings of each intent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from capscope.errors import ProblemError
from capscope.logic import Intent
from capscope.problem.tool_calls import ToolObservation
from capscope.seeds import child_seed

_PHRASING = -1  # child of the attempt's seed


@dataclass(frozen=True)
class Prompts:
    """The phrasings of the intents that an agent can be asked for."""

    phrasings: Mapping[Intent, tuple[str, ...]]

    def check(self, intent: Intent) -> None:
        """Raise `ProblemError` for an intent without a phrasing."""
        if intent not in self.phrasings:
            known = ", ".join(sorted(map(str, self.phrasings))[:5])
            raise ProblemError(
                f"no ask says how to request {intent}; add one to `asks` (there are asks for "
                f"{known}, …)"
            )

    def prompt(self, intent: Intent, observation: ToolObservation, seed: int) -> str:
        """Return the phrasing of the observation's wording, or else one drawn by the seed."""
        known = self.phrasings[intent]
        wording = observation.wording
        number = child_seed(seed, _PHRASING) if wording is None else wording
        return known[number % len(known)]
