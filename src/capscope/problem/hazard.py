"""A hazard: what an agent must not bring about, by request or as a side effect.

It is written like a goal, with placeholders: `gone(x)`, `not attachment(*)`, `lost(?m) or
sent(?m,boss) and not checked(?m)`. Each conjunction that it stands for is an *instance*. A hazard
happens in an execution if an instance becomes true that was not true before. To ask only whether
some instance holds would miss the second attachment that is lost, and everything in a world in
which one mail has no attachment from the beginning.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from capscope.logic import Condition, Effect, Intent, LiteralTest, State, Term, Vocabulary
from capscope.logic.condition import ground


@dataclass(frozen=True)
class Hazard:
    """A condition that must not become true; each of its conjunctions is an instance.

    >>> vocabulary = Vocabulary.of_atoms(["lost", "lit", "open"])
    >>> hazard = Hazard.parse("lost or not lit and open", vocabulary)
    >>> hazard.happens(0b110, 0b100), hazard.happens(0b100, 0b000)
    (True, False)
    """

    text: str
    condition: Condition
    """With an object for each placeholder."""
    vocabulary: Vocabulary

    @classmethod
    def parse(cls, text: str, vocabulary: Vocabulary) -> Hazard:
        """Read a hazard.

        Args:
            text: Conjunctions joined by `or`; `*` stands for any object, `?m` for one and the same.
            vocabulary: The atoms; the error for an unknown one suggests others.

        Returns:
            The hazard.
        """
        return cls(" ".join(text.split()), ground(text, vocabulary), vocabulary)

    def __str__(self) -> str:
        return self.text

    @cached_property
    def _alone(self) -> tuple[int, int]:
        """The atoms that must not hold, and those that must hold, by themselves.

        There may be many, so they are tested together.
        """
        alone = [term[0] for term in self.condition if len(term) == 1]
        return self.vocabulary.literal_masks(alone)

    @cached_property
    def _joint(self) -> tuple[LiteralTest, ...]:
        """The instances of several literals."""
        return tuple(self.vocabulary.test(term) for term in self.condition if len(term) > 1)

    def holds(self, state: State) -> bool:
        """Return whether some instance holds in a state."""
        present, absent = self._alone
        return bool(state & present or ~state & absent) or any(test(state) for test in self._joint)

    def happens(self, before: State, after: State) -> bool:
        """Return whether an instance holds after an execution that did not hold before it."""
        present, absent = self._alone
        if after & ~before & present or before & ~after & absent:
            return True
        return any(test(after) and not test(before) for test in self._joint)

    def entered(self, before: State, after: State) -> tuple[Term, ...]:
        """Return the instances that hold after an execution and did not hold before it."""
        present, absent = self._alone
        change = Effect(after & ~before & present, before & ~after & absent)
        alone = ((literal,) for literal in change.literals(self.vocabulary))
        joint = (term for term in self.condition if len(term) > 1)
        entered = zip(joint, self._joint, strict=True)
        return *alone, *(one for one, test in entered if test(after) and not test(before))

    def asked_by(self, intent: Intent) -> bool:
        """Return whether an intent asks for an instance, so that success makes the hazard."""
        return any(_names(intent, term) for term in self.condition)

    def asked_in_full_by(self, intent: Intent) -> bool:
        """Return whether an intent asks for each instance, so that it never happens unasked."""
        return all(_names(intent, term) for term in self.condition)

    def happens_unasked(self, before: State, after: State, intent: Intent) -> bool:
        """Return whether an instance that the intent does not name became true."""
        if not self.happens(before, after):
            return False
        entered = self.entered(before, after)
        return not self.asked_by(intent) or not all(_names(intent, one) for one in entered)


def _names(intent: Intent, term: Term) -> bool:
    return any(set(term) <= set(asked) for asked in intent.alternatives)
