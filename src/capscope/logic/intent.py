"""What an agent is asked to achieve: a conjunction of literals, or one of several.

`on(a,b) or on(a,c) and clear(b)` is achieved when one of its *alternatives* holds, whichever it is.
What belongs to any of them was asked for and is no side effect.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from capscope.errors import VocabularyError
from capscope.logic.vocabulary import Atom, Literal, LiteralTest, State, Vocabulary

# A comma outside brackets.
_COMMA = re.compile(r",(?![^()]*\))")
_SPACE_IN_ATOM = re.compile(r"\s+(?=[(),])|(?<=[(,])\s+")
OR = re.compile(r"\s+or\s+|\s*\|\s*")
"""What joins alternatives."""
_AND = re.compile(r"\s+and\s+|\s*&\s*")


class AnyTest(NamedTuple):
    """Whether one of several conjunctions holds in a state."""

    tests: tuple[LiteralTest, ...]

    def __call__(self, state: State) -> bool:
        """Return whether one of the conjunctions is true in a state."""
        return any(test(state) for test in self.tests)


StateTest = LiteralTest | AnyTest
"""A function of a state: whether an intent holds in it."""


@dataclass(frozen=True, slots=True, order=True)
class Intent:
    """A conjunction of literals, or several joined by `or`, kept in one canonical order.

    >>> str(Intent.parse("not clear(b) and on(a,b)"))
    'not clear(b) and on(a,b)'
    >>> str(Intent.parse("on(a,c) and clear(b) or on(a,b)"))
    'clear(b) and on(a,c) or on(a,b)'
    """

    alternatives: tuple[tuple[Literal, ...], ...]
    """Conjunctions; the intent is achieved when one of them holds."""
    # Intents are looked up at every execution; hashing nested literals each time is slow.
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash(self.alternatives))
        if not self.alternatives or not all(self.alternatives):
            raise VocabularyError("an intent needs at least one literal")
        for one in self.alternatives:
            if len({literal.atom for literal in one}) < len(one):
                raise VocabularyError(f"intent {self} names an atom twice; name each once")
        single = {one[0] for one in self.alternatives if len(one) == 1}
        for literal in single:
            if Literal(literal.atom, not literal.positive) in single:
                raise VocabularyError(f"intent {self} holds in every state; drop one alternative")

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[Intent], tuple[Any, ...]]:
        # Hashes of strings differ between processes, so the hash is not pickled.
        return Intent, (self.alternatives,)

    @classmethod
    def of(cls, *alternatives: Iterable[Literal]) -> Intent:
        """Make the intent of some literals, or of several conjunctions, in any order.

        A conjunction that contains another adds nothing, and is left out.
        """
        given = {frozenset(one) for one in alternatives}
        kept = (one for one in given if not any(other < one for other in given))
        return cls(tuple(sorted(tuple(sorted(one)) for one in kept)))

    @classmethod
    def parse(cls, text: str) -> Intent:
        """Read literals joined by `and` or `&`, and such conjunctions joined by `or` or `|`."""
        if _COMMA.search(text) and text.count("(") == text.count(")"):
            raise VocabularyError(
                f"{text!r} has a comma between atoms; join atoms with `and`, or give them "
                "separately (repeat --intents)"
            )
        return cls.of(
            *(map(Literal.parse, _AND.split(part.strip())) for part in OR.split(text.strip()))
        )

    def __str__(self) -> str:
        return " or ".join(" and ".join(map(str, one)) for one in self.alternatives)

    @property
    def literals(self) -> tuple[Literal, ...]:
        """The literals of a conjunction; raises `VocabularyError` if there are alternatives.

        An agent that reads only these would otherwise be asked for something else than it is told.
        """
        if len(self.alternatives) > 1:
            raise VocabularyError(
                f"{self} has {len(self.alternatives)} alternatives; read `Intent.alternatives`"
            )
        return self.alternatives[0]

    @property
    def mentioned(self) -> tuple[Literal, ...]:
        """The literals of all alternatives, each once."""
        return tuple(dict.fromkeys(x for one in self.alternatives for x in one))

    @property
    def objects(self) -> tuple[str, ...]:
        """The objects that are mentioned, each once, in their order."""
        return tuple(dict.fromkeys(o for x in self.mentioned for o in x.atom.arguments))

    def pursuable(self, can: Callable[[Literal], bool]) -> tuple[Literal, ...]:
        """Return the first alternative whose literals an agent can pursue; the first if none."""
        able = (one for one in self.alternatives if all(map(can, one)))
        return next(able, self.alternatives[0])

    def renamed(self, atom: Callable[[Atom], Atom]) -> Intent:
        """Return the intent with each atom replaced by another."""
        return Intent.of(
            *((Literal(atom(x.atom), x.positive) for x in one) for one in self.alternatives)
        )

    def as_lists(self) -> list[Any]:
        """Return JSON values: the texts of the literals, in one list for each alternative.

        A single conjunction is a list of texts, not a list of lists.

        >>> Intent.parse("p and not q").as_lists(), Intent.parse("p or not q").as_lists()
        (['p()', 'not q()'], [['p()'], ['not q()']])
        """
        lists = [list(map(str, one)) for one in self.alternatives]
        return lists if len(lists) > 1 else lists[0]

    @classmethod
    def from_lists(cls, lists: Sequence[Any]) -> Intent:
        """Read what `as_lists` returned."""
        several = [lists] if not lists or isinstance(lists[0], str) else lists
        return cls(tuple(tuple(map(Literal.parse, one)) for one in several))

    def tests(self, vocabulary: Vocabulary) -> tuple[LiteralTest, ...]:
        """Return the test of each alternative; raise `VocabularyError` for an unknown atom."""
        return tuple(vocabulary.test(one) for one in self.alternatives)

    def test(self, vocabulary: Vocabulary) -> StateTest:
        """Return `holds` as a function of the state alone, for use on many states."""
        tests = self.tests(vocabulary)
        return tests[0] if len(tests) == 1 else AnyTest(tests)

    def holds(self, state: State, vocabulary: Vocabulary) -> bool:
        """Return whether an alternative, with every literal, is true in a state."""
        return self.test(vocabulary)(state)


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
