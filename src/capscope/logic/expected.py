"""Consequences that belong to an intent: changes that are expected, and so are no side effects.

Deleting a mail also takes it out of the archive. That is what deleting means, but nothing in a
vocabulary says so. So the user may: `deleted(lunch): not archived(lunch)`. Both parts may have
wildcards, `deleted(*): read(*)`; the literals join with `and`. What is expected of
one alternative of an intent is expected of the intent.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from capscope.errors import VocabularyError
from capscope.logic.effect import Effect
from capscope.logic.intent import Intent, matching
from capscope.logic.vocabulary import Literal, Vocabulary


class ExpectedEffects:
    """What each intent may change besides what it asks for.

    >>> vocabulary = Vocabulary.of_atoms(["deleted", "archived"])
    >>> expected = ExpectedEffects(["deleted(): not archived()"], vocabulary)
    >>> expected.of(Intent.parse("deleted"))
    Effect(adds=0, deletes=2)
    """

    def __init__(self, texts: Sequence[str], vocabulary: Vocabulary) -> None:
        every = [Literal(atom, sign) for atom in vocabulary.atoms for sign in (True, False)]
        known = [Intent.of([literal]) for literal in every]
        self._rules: list[tuple[str, Effect]] = []
        for text in texts:
            intent, colon, consequences = text.partition(":")
            if not colon:
                raise VocabularyError(
                    f"{text!r} does not say what is expected; write it like "
                    "'deleted(x): not archived(x)'"
                )
            adds = deletes = 0
            for part in consequences.split(" and "):
                found = matching(part.strip(), known)
                if not found:
                    raise VocabularyError(
                        f"{part.strip()!r}, which is expected of {intent}, matches no atom of the "
                        "vocabulary"
                    )
                for one in found:
                    required, forbidden = vocabulary.literal_masks(one.literals)
                    adds, deletes = adds | required, deletes | forbidden
            self._rules.append((intent.strip(), Effect(adds, deletes)))
        self.of = cache(self._of)
        """Returns what an intent may change."""

    def _of(self, intent: Intent) -> Effect:
        adds = deletes = 0
        for pattern, effect in self._rules:
            if matching(pattern, [intent, *map(Intent.of, intent.alternatives)]):
                adds, deletes = adds | effect.adds, deletes | effect.deletes
        return Effect(adds, deletes)
