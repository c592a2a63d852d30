"""The vocabulary in which an agent is described: typed predicates over typed objects.

Grounding every predicate with all objects of the right types gives an ordered list of atoms. A
symbolic state is the set of atoms that hold: an `int` whose bit i stands for atom i, because a set
of tuples is slow to hash, compare and change. It depends on the order of the atoms, so a vocabulary
has a fingerprint.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any, NamedTuple

from capscope.errors import VocabularyError

TYPE_ROOT = "object"
TYPE_SEPARATOR = " and "
"""Joins the types of an object that has several."""

State = int
"""A symbolic state: bit i is set when atom i of the vocabulary holds."""

_MOST_SUGGESTED = 3
_SIMILARITY = 0.5  # from 0 to 1; names of objects are short, so one letter counts much
_ATOM = re.compile(r"\s*([^\s(),]+)\s*(?:\(([^()]*)\))?\s*\Z")
_VERB = re.compile(r"\b(is|are|was|were|can|will|has been|have been)\b")
_JOINED = re.compile(r"( and | or )")
_LITERAL = re.compile(r"(not )?([^\s(),]+)\(([^()]*)\)\Z")
_PLACE = re.compile(r"\{(\d+)\}")
"""The place of an argument in a phrase, counted from 0."""


@dataclass(frozen=True, slots=True, order=True)
class Atom:
    """A ground predicate.

    >>> str(Atom("on", ("a", "b")))
    'on(a,b)'
    """

    predicate: str
    arguments: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.predicate}({','.join(self.arguments)})"

    @classmethod
    def parse(cls, text: str) -> Atom:
        """Read `on(a,b)`; a predicate without arguments may omit the brackets."""
        match = _ATOM.match(text)
        if match is None:
            raise VocabularyError(f"{text!r} is not an atom; write it like on(a,b)")
        inside = (match[2] or "").strip()
        arguments = tuple(part.strip() for part in inside.split(",")) if inside else ()
        return cls(match[1], arguments)


@dataclass(frozen=True, slots=True, order=True)
class Literal:
    """An atom with a sign.

    >>> str(Literal.parse("not clear(a)"))
    'not clear(a)'
    """

    atom: Atom
    positive: bool = True

    def __str__(self) -> str:
        return str(self.atom) if self.positive else f"not {self.atom}"

    @classmethod
    def parse(cls, text: str) -> Literal:
        """Read an atom or `not atom`."""
        stripped = text.strip()
        negative = stripped.startswith("not ")
        return cls(Atom.parse(stripped[4:] if negative else stripped), not negative)


class LiteralTest(NamedTuple):
    """A conjunction of literals as bits that must be set and bits that must be clear.

    >>> holds = Vocabulary.of_atoms(["p", "q"]).test([Literal.parse("p"), Literal.parse("not q")])
    >>> holds(0b01), holds(0b11)
    (True, False)
    """

    required: int
    forbidden: int

    def __call__(self, state: State) -> bool:
        """Return whether all literals are true in a state."""
        return state & self.required == self.required and not state & self.forbidden


@dataclass(frozen=True, slots=True)
class Predicate:
    """A name and the type of each argument, and how to say it (`Phrasing`)."""

    name: str
    types: tuple[str, ...] = ()
    phrase: str = ""
    """What an atom says in words, with `{0}`, `{1}`, … for its arguments; empty if not given."""
    negated: str = ""
    """The opposite in words; without it, "not" is put into the phrase."""

    def __post_init__(self) -> None:
        for place in _PLACE.findall(self.phrase + self.negated):
            if int(place) >= len(self.types):
                raise VocabularyError(
                    f"the phrase of predicate {self.name} mentions {{{place}}}, but it has "
                    f"{len(self.types)} arguments, counted from 0"
                )


MOST_ATOMS = 20_000
"""Of a vocabulary; a state has a bit for each."""


class Vocabulary:
    """Typed predicates and objects, grounded into an ordered list of atoms.

    >>> blocks = Vocabulary([Predicate("on", ("block", "block"))], {"a": "block", "b": "block"})
    >>> [str(atom) for atom in blocks.atoms]
    ['on(a,a)', 'on(a,b)', 'on(b,a)', 'on(b,b)']
    >>> blocks.state([Atom("on", ("a", "b"))])
    2
    """

    def __init__(
        self,
        predicates: Sequence[Predicate],
        objects: Mapping[str, str | Sequence[str]],
        parents: Mapping[str, str] | None = None,
        distinct_types: Iterable[str] = (),
    ) -> None:
        """Ground predicates over objects (name → type); `parents` maps a type to its supertype.

        An object may have several types: `{"table": ("obstacle", "structure")}`.
        `distinct_types` are those whose objects are ordered or for another reason not
        interchangeable, like floors or the cells of a grid: that an agent treats two of them
        differently is not a finding. Subtypes are not included.
        """
        self.predicates = tuple(predicates)
        self.distinct_types = frozenset(distinct_types)
        self.combined_types: dict[str, tuple[str, ...]] = {}
        """The types of objects that have several, by a name for the combination."""
        self.objects = {name: self._type_name(types) for name, types in objects.items()}
        self.parents = dict(parents or {})
        self._check()
        self._groundings = {p.name: tuple(self._ground(p)) for p in self.predicates}
        self.atoms = tuple(itertools.chain.from_iterable(self._groundings.values()))
        self.bit: Mapping[Atom, int] = {atom: 1 << i for i, atom in enumerate(self.atoms)}
        # An abstraction uses the same few texts at every step; parsing them each time is slow.
        self._bit_of_text: dict[str, int] = {}

    @classmethod
    def of_atoms(cls, names: Iterable[str]) -> Vocabulary:
        """Declare propositions: atoms without arguments, in the given order."""
        return cls([Predicate(name) for name in names], {})

    def _type_name(self, types: str | Sequence[str]) -> str:
        """Return a single type unchanged, and a name for a combination of several."""
        if isinstance(types, str):
            return types
        name = TYPE_SEPARATOR.join(types)
        if len(types) > 1:
            self.combined_types[name] = tuple(types)
        return name

    def _check(self) -> None:
        names = [p.name for p in self.predicates]
        if len(set(names)) != len(names):
            twice = sorted({name for name in names if names.count(name) > 1})
            raise VocabularyError(f"predicates declared twice: {', '.join(twice)}")
        known = {TYPE_ROOT, *self.parents, *self.parents.values(), *self.objects.values()}
        known.update(itertools.chain.from_iterable(self.combined_types.values()))
        for predicate in self.predicates:
            for type_name in predicate.types:
                if type_name not in known:
                    raise VocabularyError(
                        f"predicate {predicate.name} takes a {type_name!r}, which is not a type of "
                        "any object; declare it or fix the spelling"
                    )
        for type_name in sorted(self.distinct_types - known):
            raise VocabularyError(
                f"{type_name!r} is marked as distinct and is not a type of any object; declare it "
                "or fix the spelling"
            )
        for type_name in known:
            list(self._ancestry(type_name))  # raises for a cycle
        self._check_size()

    def _check_size(self) -> None:
        """Raise before grounding if there would be too many atoms."""
        names = {type_name for predicate in self.predicates for type_name in predicate.types}
        objects = {type_name: len(self.objects_of(type_name)) for type_name in names}
        atoms = 0
        for predicate in self.predicates:
            atoms += math.prod(objects[type_name] for type_name in predicate.types)
            if atoms > MOST_ATOMS:
                raise VocabularyError(
                    f"predicate {predicate.name} with {len(predicate.types)} arguments gives more "
                    f"than {MOST_ATOMS:,} atoms; use fewer objects or arguments"
                )

    def _ancestry(self, type_name: str) -> Iterator[str]:
        met: set[str] = set()
        kind: str | None = type_name
        while kind is not None and kind != TYPE_ROOT:
            if kind in met:
                raise VocabularyError(
                    f"type {kind!r} is its own ancestor; remove one of its supertypes"
                )
            met.add(kind)
            yield kind
            kind = self.parents.get(kind)
        yield TYPE_ROOT

    def objects_of(self, type_name: str) -> tuple[str, ...]:
        """List the objects of a type and its subtypes, in the order of declaration."""
        return tuple(
            name
            for name, own in self.objects.items()
            if any(type_name in self._ancestry(t) for t in self.combined_types.get(own, (own,)))
        )

    def _ground(self, predicate: Predicate) -> Iterator[Atom]:
        for arguments in itertools.product(*(self.objects_of(t) for t in predicate.types)):
            yield Atom(predicate.name, arguments)

    def groundings(self, predicate: str) -> tuple[Atom, ...]:
        """List every type-consistent grounding of a predicate."""
        if predicate not in self._groundings:
            raise VocabularyError(
                f"no predicate {predicate!r}; the vocabulary has {', '.join(self._groundings)}"
            )
        return self._groundings[predicate]

    def state(self, atoms: Iterable[Atom | str] | Mapping[Any, Any]) -> State:
        """Encode the atoms that hold.

        Args:
            atoms: Each an `Atom` or its text, like `"on(a,b)"`; or a mapping from atoms to whether
                they hold.

        Returns:
            The state.
        """
        if isinstance(atoms, str):
            raise VocabularyError(f"{atoms!r} is a single atom; give a set or list of atoms")
        if isinstance(atoms, Mapping):
            atoms = [atom for atom, holds in atoms.items() if holds]
        state = 0
        for atom in atoms:
            state |= self.bit_of(atom)
        return state

    def bit_of(self, atom: Atom | str) -> int:
        """Return the bit of an atom; raise `VocabularyError` if it is not declared."""
        try:
            if isinstance(atom, str):
                bit = self._bit_of_text.get(atom)
                if bit is None:
                    bit = self._bit_of_text[atom] = self.bit[Atom.parse(atom)]
                return bit
            return self.bit[atom]
        except KeyError:
            near = nearest(atom, self.atoms)
            raise VocabularyError(
                f"atom {atom} is not in the vocabulary ({len(self.atoms)} atoms, {near}); fix its "
                "spelling or declare it"
            ) from None

    def holding(self, state: State) -> tuple[Atom, ...]:
        """List the atoms whose bits are set."""
        # Visits only the bits that are set: an effect has few.
        found = []
        left = state & self.mask
        while left:
            lowest = left & -left
            found.append(self.atoms[lowest.bit_length() - 1])
            left ^= lowest
        return tuple(found)

    def literal_masks(self, literals: Iterable[Literal]) -> tuple[int, int]:
        """Return the bits that must be set and the bits that must not be."""
        required = forbidden = 0
        for literal in literals:
            if literal.positive:
                required |= self.bit_of(literal.atom)
            else:
                forbidden |= self.bit_of(literal.atom)
        return required, forbidden

    def test(self, literals: Iterable[Literal]) -> LiteralTest:
        """Return a function of a state: whether all literals are true in it."""
        return LiteralTest(*self.literal_masks(literals))

    @property
    def mask(self) -> int:
        """All bits of the vocabulary."""
        return (1 << len(self.atoms)) - 1

    def as_dict(self) -> dict[str, Any]:
        """Return predicates, objects and types as JSON values; phrases and marks if there are."""
        phrases = {p.name: [p.phrase, p.negated] for p in self.predicates if p.phrase}
        several = {name: list(types) for name, types in self.combined_types.items()}
        return {
            "predicates": [[p.name, list(p.types)] for p in self.predicates],
            "objects": {name: several.get(t, t) for name, t in self.objects.items()},
            "parents": self.parents,
            **({"phrases": phrases} if phrases else {}),
            **({"distinct_types": sorted(self.distinct_types)} if self.distinct_types else {}),
        }

    @classmethod
    def from_dict(cls, parts: Mapping[str, Any]) -> Vocabulary:
        """Rebuild a vocabulary from what `as_dict` returned."""
        phrases = parts.get("phrases", {})
        predicates = [
            Predicate(name, tuple(types), *phrases.get(name, ()))
            for name, types in parts["predicates"]
        ]
        distinct = parts.get("distinct_types", ())
        return cls(predicates, parts["objects"], parts["parents"], distinct)

    @cached_property
    def fingerprint(self) -> str:
        """Hash what defines the bits: predicates with types, objects and the order of atoms."""
        parts = [f"{p.name}({','.join(p.types)})" for p in self.predicates]
        parts += [f"{name}:{kind}" for name, kind in self.objects.items()]
        parts += [f"{kind}<{parent}" for kind, parent in self.parents.items()]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)


def nearest(name: object, known: Iterable[object]) -> str:
    """Return the most similar names, or else the first ones.

    >>> nearest("att(b)", ["on(a)", "at(a)", "at(b)", "at(c)"])
    'nearest: at(b), at(c), at(a)'
    >>> nearest("xyz", ["on(a)", "at(a)"])
    'for example on(a), at(a)'
    """
    names = [str(one) for one in known]
    near = get_close_matches(str(name), names, _MOST_SUGGESTED, _SIMILARITY)
    if near:
        return f"nearest: {', '.join(near)}"
    return f"for example {', '.join(names[:_MOST_SUGGESTED])}"


class Phrasing:
    """Says literals in words, by the phrases of some predicates: name → (phrase, opposite).

    Everything that is computed, stored or typed on a command line uses the formal names; phrases
    are only for people, and a predicate without one is shown as it is written.

    >>> phrasing = Phrasing({"in": ("{0} is in the {1}", "")})
    >>> phrasing.literal("not in(lunch,archive)"), phrasing.literal("full(archive)")
    ('lunch is not in the archive', 'full(archive)')
    """

    def __init__(self, phrases: Mapping[str, Sequence[str]]) -> None:
        self.phrases = {
            name: (phrase, opposite or _negated(phrase))
            for name, (phrase, opposite) in phrases.items()
            if phrase
        }

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> Phrasing:
        """Return the phrasing of a vocabulary."""
        return cls({p.name: (p.phrase, p.negated) for p in vocabulary.predicates})

    def literal(self, text: str, names: Mapping[str, str] | None = None) -> str:
        """Say a literal in words, or several joined by `and` and `or`; unchanged without phrase.

        Args:
            text: The literals.
            names: What some arguments are called.

        Returns:
            The text.
        """
        parts = _JOINED.split(text)
        return "".join(self._said(part, names) or part for part in parts)

    def sentence(self, text: str, names: Mapping[str, str] | None = None) -> str:
        """Say the literals within a sentence in words, each in quotation marks.

        >>> Phrasing({"on": ("{0} is on {1}", "")}).sentence("Asked for not on(a,b), it slips.")
        'Asked for “a is not on b”, it slips.'
        """
        if not self.phrases:
            return text
        return self._mentioned.sub(lambda found: f"“{self._said(found[0], names)}”", text)

    @cached_property
    def _mentioned(self) -> re.Pattern[str]:
        names = "|".join(sorted(map(re.escape, self.phrases), key=len, reverse=True))
        return re.compile(rf"(?<![^\s(,])(?:not )?(?:{names})\([^()*]*\)")

    def _said(self, text: str, names: Mapping[str, str] | None) -> str | None:
        match = _LITERAL.match(text)
        if match is None or match[2] not in self.phrases:
            return None
        shown = (part.strip() for part in match[3].split(","))
        arguments = [(names or {}).get(part, part) for part in shown]
        phrase = self.phrases[match[2]][match[1] is not None]
        try:
            return _PLACE.sub(lambda place: arguments[int(place[1])], phrase)
        except IndexError:
            return None


def _negated(phrase: str) -> str:
    """Put "not" into a phrase, after its verb if that is an auxiliary.

    >>> _negated("{0} is in {1}"), _negated("{0} fits")
    ('{0} is not in {1}', 'not: {0} fits')
    """
    inserted, found = _VERB.subn(r"\1 not", phrase, count=1)
    return inserted if found else f"not: {phrase}"
