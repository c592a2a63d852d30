"""What is to be reached: a conjunction of literals, or several of which one will do.

An intent is what the agent is asked for, and it need not have been asked for all that one may want.
A goal is judged by capscope alone: the agent never hears of it. `on(a,b) and not holding(c)` is a
goal; `on(a,b) or on(b,a)` is one too, and `and` binds more tightly. Where a plan begins is told in
the same words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from capscope.symbolic import Intent, State, Vocabulary

_OR = re.compile(r"\s+or\s+|\s*\|\s*")


@dataclass(frozen=True)
class Goal:
    """Conjunctions of literals over a vocabulary; it holds where one of them does."""

    ways: tuple[Intent, ...]
    vocabulary: Vocabulary

    @classmethod
    def parse(cls, text: str, vocabulary: Vocabulary) -> Goal:
        """Read conjunctions joined by `or` or `|`; an unknown atom is told with its nearest kin.

        >>> words = Vocabulary.of_atoms(["open", "lit"])
        >>> str(Goal.parse("open and not lit or lit", words))
        'not lit() and open() or lit()'
        """
        ways = tuple(dict.fromkeys(Intent.parse(part) for part in _OR.split(text.strip())))
        for way in ways:
            vocabulary.literal_masks(way.literals)  # names an unknown atom
        return cls(ways, vocabulary)

    def __str__(self) -> str:
        return " or ".join(map(str, self.ways))

    def holds(self, state: State) -> bool:
        """Say whether the goal is reached in a state."""
        return any(way.holds(state, self.vocabulary) for way in self.ways)
