"""What a run observed, without its directory: enough to learn its model again.

A run that starts from what another one learned keeps this in its own journal, and so depends on no
other directory. If the other run began in the same way, what it started from is part of it.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from capscope.logic import Intent, State, Vocabulary
from capscope.wording import counted

Counts = Counter[tuple[State, int, State]]
"""How often each transition was seen: state before, capability, state after."""


@dataclass(frozen=True, eq=False)
class Experience:
    """The executions of a run, counted."""

    problem: str
    """The name of its problem."""
    vocabulary: Vocabulary
    intents: tuple[Intent, ...]
    seed: int
    beginnings: tuple[State, ...]
    """The states in which it began."""
    learned: Counts
    """What its model was fitted to."""
    audited: Counts
    """What the audit of this model drew."""
    earlier: Experience | None = None
    """What the run itself started from."""

    @property
    def executions(self) -> int:
        """The number of its executions, without those that it started from."""
        return self.learned.total() + self.audited.total()

    @cached_property
    def name(self) -> str:
        """What identifies it: the problem, the executions, and a digest of all values."""
        text = json.dumps(self.as_dict(), sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        return f"{self.problem}, {counted(self.executions, 'execution')}, {digest}"

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready values; states are written once and referred to by their places."""
        groups = (self.learned, self.audited)
        ends = (s for group in groups for before, _, after in group for s in (before, after))
        place = {state: i for i, state in enumerate(dict.fromkeys([*self.beginnings, *ends]))}
        learned, audited = (
            [[place[s], capability, place[t], n] for (s, capability, t), n in group.items()]
            for group in groups
        )
        return {
            "problem": self.problem,
            "vocabulary": self.vocabulary.as_dict(),
            "intents": [intent.as_lists() for intent in self.intents],
            "seed": self.seed,
            "states": [hex(state) for state in place],
            "beginnings": len(self.beginnings),
            "learned": learned,
            "audited": audited,
            "earlier": None if self.earlier is None else self.earlier.as_dict(),
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Experience:
        """Read what `as_dict` returned; raise ValueError or TypeError for anything else."""
        vocabulary = Vocabulary.from_dict(stored["vocabulary"])
        states = [int(text, 16) for text in stored["states"]]
        width = len(vocabulary.atoms)
        if any(state < 0 or state >> width for state in states):
            raise ValueError(f"a state with more than the {width} atoms of {stored['problem']}")
        intents = tuple(map(Intent.from_lists, stored["intents"]))
        for intent in intents:
            intent.test(vocabulary)  # raises for an unknown atom
        earlier = stored["earlier"]
        return cls(
            str(stored["problem"]),
            vocabulary,
            intents,
            _whole(stored["seed"]),
            tuple(states[: _whole(stored["beginnings"])]),
            _counts(stored["learned"], states, len(intents)),
            _counts(stored["audited"], states, len(intents)),
            None if earlier is None else cls.from_dict(earlier),
        )


def _counts(rows: Iterable[Sequence[Any]], states: Sequence[State], intents: int) -> Counts:
    found: Counts = Counter()
    for row in rows:
        before, capability, after, times = map(_whole, row)
        if min(before, capability, after) < 0 or capability >= intents or times < 1:
            raise ValueError(f"an execution {row!r:.60}")
        found[states[before], capability, states[after]] = times
    return found


def _whole(value: Any) -> int:
    if type(value) is not int:
        raise TypeError(f"{value!r:.60} is not a whole number")
    return value
