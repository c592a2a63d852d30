"""The one disjunctive form: conjunctions of literals joined by `or`.

Intents, goals, hazards and the conditions of rules are written in it: `on(a,b) or on(a,c) and
clear(b)`. An intent is achieved when one of its *alternatives* holds; what belongs to any of them
was asked for and is not a side effect.

A condition may be read with placeholders, which are replaced by objects once: `*` stands for any
object of the right type, `?m` for one object within a conjunction.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from capscope.errors import VocabularyError
from capscope.logic.vocabulary import Atom, Literal, LiteralTest, State, Vocabulary

Term = tuple[Literal, ...]
"""A conjunction; without literals it always holds."""
# A comma outside brackets.
_COMMA = re.compile(r",(?![^()]*\))")
_SPACE_IN_ATOM = re.compile(r"\s+(?=[(),])|(?<=[(,])\s+")
_OR = re.compile(r"\s+or\s+|\s*\|\s*")
_AND = re.compile(r"\s+and\s+|\s*&\s*")
_ANY = "*"
_NAMED = "?"
_MOST_TERMS = 20_000


StateTest = LiteralTest | Callable[[State], bool]
"""Whether a condition holds in a state."""


@dataclass(frozen=True, slots=True, order=True)
class Condition:
    """Conjunctions of literals joined by `or`; without any, the condition never holds.

    >>> str(Condition.parse("open and not lit or lit"))
    'not lit() and open() or lit()'
    """

    terms: tuple[Term, ...]

    @classmethod
    def parse(cls, text: str, vocabulary: Vocabulary | None = None) -> Self:
        """Read literals joined by `and` or `&`, and such conjunctions joined by `or` or `|`.

        Args:
            text: The condition.
            vocabulary: If given, unknown atoms are refused, and the error suggests others.

        Returns:
            The condition.
        """
        if _COMMA.search(text) and text.count("(") == text.count(")"):
            raise VocabularyError(
                f"{text!r} has a comma between atoms; join atoms with `and`, or give them "
                "separately (repeat --intents)"
            )
        parts = (map(Literal.parse, _AND.split(part.strip())) for part in _OR.split(text.strip()))
        condition = cls.of(*parts)
        if vocabulary is not None:
            condition.tests(vocabulary)
        return condition

    @classmethod
    def of(cls, *terms: Iterable[Literal]) -> Self:
        """Make a condition of some conjunctions; each is kept once, its literals in order."""
        return cls(tuple(dict.fromkeys(_in_order(term) for term in terms)))

    def __str__(self) -> str:
        return " or ".join(" and ".join(map(str, term)) for term in self.terms)

    def __iter__(self) -> Iterator[Term]:
        return iter(self.terms)

    def __len__(self) -> int:
        return len(self.terms)

    @property
    def mentioned(self) -> tuple[Literal, ...]:
        """The literals of all conjunctions, each once."""
        return tuple(dict.fromkeys(literal for term in self.terms for literal in term))

    @property
    def objects(self) -> tuple[str, ...]:
        """The objects that are mentioned, each once, in their order."""
        return tuple(dict.fromkeys(o for x in self.mentioned for o in x.atom.arguments))

    def renamed(self, atom: Callable[[Atom], Atom]) -> Self:
        """Return the condition with each atom replaced by another."""
        return self.of(*((Literal(atom(x.atom), x.positive) for x in term) for term in self.terms))

    def tests(self, vocabulary: Vocabulary) -> tuple[LiteralTest, ...]:
        """Return the test of each conjunction; raise `VocabularyError` for an unknown atom."""
        return tuple(vocabulary.test(term) for term in self.terms)

    def test(self, vocabulary: Vocabulary) -> StateTest:
        """Return `holds` as a function of the state alone, for use on many states."""
        tests = self.tests(vocabulary)
        if len(tests) == 1:
            return tests[0]
        return lambda state: any(test(state) for test in tests)

    def holds(self, state: State, vocabulary: Vocabulary) -> bool:
        """Return whether a conjunction, with every literal, is true in a state."""
        return self.test(vocabulary)(state)


def _in_order(literals: Iterable[Literal]) -> Term:
    """Sort the literals of a conjunction; raise if it is empty or names an atom twice."""
    term = tuple(sorted(set(literals)))
    if not term:
        raise VocabularyError("an intent needs at least one literal")
    if len({literal.atom for literal in term}) < len(term):
        named = " and ".join(map(str, term))
        raise VocabularyError(f"{named} names an atom twice; name each once")
    return term


@dataclass(frozen=True, slots=True, order=True)
class Intent(Condition):
    """What an agent is asked to achieve, kept in one canonical order.

    >>> str(Intent.parse("not clear(b) and on(a,b)"))
    'not clear(b) and on(a,b)'
    >>> str(Intent.parse("on(a,c) and clear(b) or on(a,b)"))
    'clear(b) and on(a,c) or on(a,b)'
    """

    # Intents are looked up at every execution; hashing nested literals each time is slow.
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash(self.terms))
        if not self.terms or not all(self.terms):
            raise VocabularyError("an intent needs at least one literal")
        single = {one[0] for one in self.terms if len(one) == 1}
        for literal in single:
            if Literal(literal.atom, not literal.positive) in single:
                raise VocabularyError(f"intent {self} holds in every state; drop one alternative")

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[Intent], tuple[Any, ...]]:
        # Hashes of strings differ between processes, so the hash is not pickled.
        return Intent, (self.terms,)

    @classmethod
    def of(cls, *terms: Iterable[Literal]) -> Intent:
        """Make the intent of some literals, or of several conjunctions, in any order.

        A conjunction that contains another adds nothing, and is left out.
        """
        given = {frozenset(_in_order(term)) for term in terms}
        kept = (one for one in given if not any(other < one for other in given))
        return cls(tuple(sorted(map(_in_order, kept))))

    @property
    def alternatives(self) -> tuple[Term, ...]:
        """Conjunctions; the intent is achieved when one of them holds."""
        return self.terms

    @property
    def literals(self) -> Term:
        """The literals of a conjunction; raises `VocabularyError` if there are alternatives.

        Otherwise an agent that reads only these would pursue another intent than the requested one.
        """
        if len(self.terms) > 1:
            raise VocabularyError(
                f"{self} has {len(self.terms)} alternatives; read `Intent.alternatives`"
            )
        return self.terms[0]

    def pursuable(self, can: Callable[[Literal], bool]) -> Term:
        """Return the first alternative whose literals an agent can pursue; the first if none."""
        able = (one for one in self.terms if all(map(can, one)))
        return next(able, self.terms[0])

    def as_lists(self) -> list[Any]:
        """Return JSON values: the texts of the literals, in one list for each alternative.

        A single conjunction is a list of texts, not a list of lists.

        >>> Intent.parse("p and not q").as_lists(), Intent.parse("p or not q").as_lists()
        (['p()', 'not q()'], [['p()'], ['not q()']])
        """
        lists = [list(map(str, one)) for one in self.terms]
        return lists if len(lists) > 1 else lists[0]

    @classmethod
    def from_lists(cls, lists: Sequence[Any]) -> Intent:
        """Read what `as_lists` returned."""
        several = [lists] if not lists or isinstance(lists[0], str) else lists
        return cls.of(*(map(Literal.parse, one) for one in several))


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


def ground(text: str, vocabulary: Vocabulary) -> Condition:
    """Read a condition, and replace its placeholders by objects in every possible way.

    >>> blocks = Vocabulary.from_dict(
    ...     {"predicates": [["on", ["block"] * 2]], "objects": {"a": "block"}, "parents": {}}
    ... )
    >>> str(ground("on(*,a) or not on(?x,?x)", blocks))
    'on(a,a) or not on(a,a)'
    """
    found: dict[Term, None] = {}
    for pattern in Condition.parse(text):
        for literals in _bound(pattern, {}, vocabulary):
            signs: dict[Atom, bool] = {}
            if all(signs.setdefault(one.atom, one.positive) == one.positive for one in literals):
                found[_in_order(literals)] = None
            if len(found) > _MOST_TERMS:
                raise VocabularyError(
                    f"{text!r} stands for more than {_MOST_TERMS:,} conjunctions; name some of the "
                    "objects instead of using placeholders"
                )
    if not found:
        raise VocabularyError(
            f"{text!r} holds in no state: no objects match its placeholders without contradiction"
        )
    return Condition(tuple(found))


def _bound(
    literals: Sequence[Literal], binding: Mapping[str, str], vocabulary: Vocabulary
) -> Iterator[tuple[Literal, ...]]:
    """Yield the literals with objects for their placeholders, consistent with a binding."""
    if not literals:
        yield ()
        return
    first, *rest = literals
    for atom, extended in _matches(first.atom, binding, vocabulary):
        for others in _bound(rest, extended, vocabulary):
            yield Literal(atom, first.positive), *others


def _matches(
    pattern: Atom, binding: Mapping[str, str], vocabulary: Vocabulary
) -> Iterator[tuple[Atom, Mapping[str, str]]]:
    if not any(one.startswith((_ANY, _NAMED)) for one in pattern.arguments):
        vocabulary.bit_of(pattern)  # raises for an unknown atom
        yield pattern, binding
        return
    atoms = vocabulary.groundings(pattern.predicate)
    if atoms and len(atoms[0].arguments) != len(pattern.arguments):
        raise VocabularyError(
            f"{pattern} has {len(pattern.arguments)} arguments; {pattern.predicate} takes "
            f"{len(atoms[0].arguments)}"
        )
    for atom in atoms:
        extended = dict(binding)
        if all(
            wanted == _ANY
            or (extended.setdefault(wanted, given) if wanted.startswith(_NAMED) else wanted)
            == given
            for wanted, given in zip(pattern.arguments, atom.arguments, strict=True)
        ):
            yield atom, extended
