"""What an agent is asked to achieve: a conjunction of literals."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from capscope.errors import VocabularyError
from capscope.symbolic.vocabulary import Literal, LiteralTest, State, Vocabulary

# A comma outside brackets.
_COMMA = re.compile(r",(?![^()]*\))")
_SPACE_IN_ATOM = re.compile(r"\s+(?=[(),])|(?<=[(,])\s+")
_OR = re.compile(r"\s+or\s+")
_AND = re.compile(r"\s+and\s+|\s*&\s*")


@dataclass(frozen=True, slots=True, order=True)
class Intent:
    """A conjunction of literals, kept in one canonical order.

    >>> str(Intent.parse("not clear(b) and on(a,b)"))
    'not clear(b) and on(a,b)'
    """

    literals: tuple[Literal, ...]
    # Intents are looked up at every execution; hashing nested literals each time is slow.
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash(self.literals))
        if not self.literals:
            raise VocabularyError("an intent needs at least one literal")
        if len({literal.atom for literal in self.literals}) < len(self.literals):
            raise VocabularyError(f"intent {self} names an atom twice; name each once")

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[Intent], tuple[tuple[Literal, ...]]]:
        # Hashes of strings differ between processes, so the hash is not pickled.
        return Intent, (self.literals,)

    @classmethod
    def of(cls, literals: Iterable[Literal]) -> Intent:
        """Make the intent of some literals, in any order."""
        return cls(tuple(sorted(set(literals))))

    @classmethod
    def parse(cls, text: str) -> Intent:
        """Read literals joined by `and` or `&`."""
        if _COMMA.search(text) and text.count("(") == text.count(")"):
            raise VocabularyError(
                f"{text!r} has a comma between atoms; join atoms with `and`, or give them "
                "separately (repeat --intents)"
            )
        if _OR.search(text):
            raise VocabularyError(
                f"{text!r} has an `or`, and an intent is one conjunction; give the alternatives "
                "separately (repeat --intents), or ask `plan` for the goal"
            )
        return cls.of(Literal.parse(part) for part in _AND.split(text.strip()))

    def __str__(self) -> str:
        return " and ".join(map(str, self.literals))

    def holds(self, state: State, vocabulary: Vocabulary) -> bool:
        """Return whether every literal is true in a state."""
        return vocabulary.test(self.literals)(state)

    def test(self, vocabulary: Vocabulary) -> LiteralTest:
        """Return `holds` as a function of the state alone, for use on many states."""
        return vocabulary.test(self.literals)


def is_pattern(text: str) -> bool:
    """Return whether a text has a wildcard, `*` or `?`."""
    return "*" in text or "?" in text


def matching(pattern: str, intents: Iterable[Intent]) -> tuple[Intent, ...]:
    """Return the intents whose text a pattern matches as a whole.

    `*` stands for any characters and `?` for one; spaces beside brackets and commas do not matter.

    >>> known = [Intent.parse(text) for text in ("on(a,b)", "on(b,c)", "not on(a,b)")]
    >>> [str(intent) for intent in matching("on( *, c )", known)]
    ['on(b,c)']
    """
    wildcards = {"*": ".*", "?": "."}
    tidy = _SPACE_IN_ATOM.sub("", " ".join(pattern.split()))
    expression = re.compile("".join(wildcards.get(c, re.escape(c)) for c in tidy), re.DOTALL)
    return tuple(intent for intent in intents if expression.fullmatch(str(intent)))
