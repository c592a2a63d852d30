"""Atoms in words: `in(lunch,archive)` as "lunch is in the archive".

A vocabulary may say how to read its predicates. Everything that is computed, stored or typed on a
command line uses the formal names; phrases are only for people, and a predicate without one is
shown as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property

from capscope.logic.vocabulary import PLACE, Vocabulary

_VERB = re.compile(r"\b(is|are|was|were|can|will|has been|have been)\b")
_JOINED = re.compile(r"( and | or )")
_LITERAL = re.compile(r"(not )?([^\s(),]+)\(([^()]*)\)\Z")


class Phrasing:
    """Says literals in words, by the phrases of some predicates: name → (phrase, opposite).

    >>> phrasing = Phrasing({"in": ("{0} is in the {1}", "")})
    >>> phrasing.literal("not in(lunch,archive)"), phrasing.literal("full(archive)")
    ('lunch is not in the archive', 'full(archive)')
    """

    def __init__(self, phrases: Mapping[str, Sequence[str]]) -> None:
        self.phrases = {
            name: (phrase, opposite or negated(phrase))
            for name, (phrase, opposite) in phrases.items()
            if phrase
        }

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> Phrasing:
        """Return the phrasing of a vocabulary."""
        return cls({p.name: (p.phrase, p.negated) for p in vocabulary.predicates})

    def literal(self, text: str) -> str:
        """Say a literal in words, or several joined by `and` and `or`; unchanged without phrase."""
        parts = _JOINED.split(text)
        return "".join(self._said(part) or part for part in parts)

    def sentence(self, text: str) -> str:
        """Say the literals within a sentence in words, each in quotation marks.

        >>> Phrasing({"on": ("{0} is on {1}", "")}).sentence("Asked for not on(a,b), it slips.")
        'Asked for “a is not on b”, it slips.'
        """
        if not self.phrases:
            return text
        return self._mentioned.sub(lambda found: f"“{self._said(found[0])}”", text)

    @cached_property
    def _mentioned(self) -> re.Pattern[str]:
        names = "|".join(sorted(map(re.escape, self.phrases), key=len, reverse=True))
        return re.compile(rf"(?<![^\s(,])(?:not )?(?:{names})\([^()*]*\)")

    def _said(self, text: str) -> str | None:
        match = _LITERAL.match(text)
        if match is None or match[2] not in self.phrases:
            return None
        arguments = [part.strip() for part in match[3].split(",")]
        phrase = self.phrases[match[2]][match[1] is not None]
        try:
            return PLACE.sub(lambda place: arguments[int(place[1])], phrase)
        except IndexError:
            return None


def negated(phrase: str) -> str:
    """Put "not" into a phrase, after its verb if that is an auxiliary.

    >>> negated("{0} is in {1}"), negated("{0} fits")
    ('{0} is not in {1}', 'not: {0} fits')
    """
    inserted, found = _VERB.subn(r"\1 not", phrase, count=1)
    return inserted if found else f"not: {phrase}"
