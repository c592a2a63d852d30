"""Read conjunctions of literals joined by `or`, with placeholders for objects if they are allowed.

`*` stands for any object of the right type, each time for another one. `?m` stands for one object
within a conjunction: `in(?m,archive) and not attachment(?m)` is about one and the same mail.
Matching placeholders against a state each time would be slow, so they are replaced by objects once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from capscope.errors import VocabularyError
from capscope.logic.intent import OR, Intent
from capscope.logic.vocabulary import Atom, Literal, Vocabulary

_ANY = "*"
_NAMED = "?"
_MOST = 20_000


def parse_disjunction(text: str, vocabulary: Vocabulary) -> tuple[Intent, ...]:
    """Read conjunctions joined by `or` or `|`; the error for an unknown atom suggests others."""
    ways = _ways(text)
    for way in ways:
        vocabulary.literal_masks(way.literals)  # raises for an unknown atom
    return ways


def ground_disjunction(text: str, vocabulary: Vocabulary) -> tuple[Intent, ...]:
    """Read conjunctions joined by `or`, and replace placeholders by objects in every way.

    >>> blocks = Vocabulary.from_dict(
    ...     {"predicates": [["on", ["block"] * 2]], "objects": {"a": "block"}, "parents": {}}
    ... )
    >>> [str(way) for way in ground_disjunction("on(*,a) or not on(?x,?x)", blocks)]
    ['on(a,a)', 'not on(a,a)']
    """
    found: dict[Intent, None] = {}
    for way in _ways(text):
        for ground in _groundings(way, vocabulary):
            found[ground] = None
            if len(found) > _MOST:
                raise VocabularyError(
                    f"{text!r} stands for more than {_MOST:,} conjunctions; name some of the "
                    "objects instead of using placeholders"
                )
    if not found:
        raise VocabularyError(
            f"{text!r} holds in no state: no objects match its placeholders without contradiction"
        )
    return tuple(found)


def _ways(text: str) -> tuple[Intent, ...]:
    return tuple(dict.fromkeys(Intent.parse(part) for part in OR.split(text.strip())))


def _groundings(way: Intent, vocabulary: Vocabulary) -> Iterator[Intent]:
    for literals in _bound(way.literals, {}, vocabulary):
        signs: dict[Atom, bool] = {}
        if all(signs.setdefault(one.atom, one.positive) == one.positive for one in literals):
            yield Intent.of(literals)


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
