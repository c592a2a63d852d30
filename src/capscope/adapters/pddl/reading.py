"""Parse PPDDL files with plado, check them, and report the line of a mistake.

The parser accepts any name anywhere, so names are checked against their declarations: a misspelled
predicate would look like a capability that the agent lacks. The parser also keeps no line numbers,
so each token's text is given to it as a `TextWithLine`.

A file may come from someone else. So its size, the length of its names and numbers and the number
of its declarations are limited.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

from plado import pddl
from plado.parser.parser import LookaheadStreamer, UnexpectedEndOfFile, parse_domain, parse_problem
from plado.parser.tokenizer import Category, tokenize

from capscope.errors import ProblemError
from capscope.logic.vocabulary import TYPE_ROOT

SUPPORTED_REQUIREMENTS = frozenset(
    [
        ":strips", ":typing", ":equality", ":negative-preconditions", ":disjunctive-preconditions",
        ":existential-preconditions", ":universal-preconditions", ":quantified-preconditions",
        ":adl", ":conditional-effects", ":probabilistic-effects", ":rewards", ":fluents", ":mdp",
        ":action-costs",
    ]
)  # fmt: skip

COST_FUNCTIONS = frozenset({"total-cost", "reward"})

Scope = Mapping[str, str]
"""The type of each variable and object in scope."""

_NAME = re.compile(r"\??[^\W\d_][\w-]*")
_NUMBER = re.compile(r"-?(\d+(\.\d*)?|\.\d+)(e-?\d{1,3})?|\d+/[1-9]\d*")
_LARGEST_FILE = 2_000_000
_LONGEST_NAME = 256
_LONGEST_NUMBER = 64
_MOST_DECLARED = 2_000
"""Types, objects, predicates, actions."""
_TOKEN_IN_MESSAGE = re.compile(r"<Token .* '(?P<text>.*)' @(?P<line>\d+):\d+>\W*(?P<hint>.*)")
_WORD_IN_MESSAGE = re.compile(r"Cannot parse token (?P<text>.*) at line (?P<line>\d+) and column")


class TextWithLine(str):
    """A piece of a file's text with its line."""

    __slots__ = ("line",)
    line: int

    @classmethod
    def at(cls, text: str, line: int) -> TextWithLine:
        """Make a text with its line."""
        placed = cls(text)
        placed.line = line
        return placed


def fail(path: Path, where: object, what: str, remedy: str) -> NoReturn:
    """Raise a `ProblemError` for a line, given as a number or as a `TextWithLine`."""
    line = where if isinstance(where, int) else getattr(where, "line", 1)
    raise ProblemError(f"{path}:{line}: {what}; {remedy}")


def read_domain(path: Path) -> Any:
    """Parse a domain file."""
    return _read(path, parse_domain, "(define (domain …) …)")


def read_problem(path: Path) -> Any:
    """Parse a problem file."""
    return _read(path, parse_problem, "(define (problem …) …)")


def _read(path: Path, parse: Any, shape: str) -> Any:
    tokens = _Tokens(path, _text(path))
    if tokens.is_empty():
        fail(path, 1, "the file is empty", f"write {shape}")
    streamer = LookaheadStreamer(iter(tokens))
    try:
        parsed = parse(streamer)
        rest = next(streamer, None)
    except RecursionError:
        fail(path, tokens.line, "the brackets are nested too deeply", "nest them less")
    except (UnexpectedEndOfFile, StopIteration):
        fail(path, tokens.line, "the file ends too early", "close every open bracket")
    except (ValueError, IndexError) as error:
        _fail_to_parse(path, tokens, str(error))
    if rest is not None:
        remedy = "remove it, or the ')' that closes the definition too early"
        fail(path, rest.tok, f"{str(rest.tok)!r} comes after the end of the definition", remedy)
    return parsed


def _text(path: Path) -> str:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise ProblemError(f"{path}: cannot be read (not a regular file); check the path")
        if path.stat().st_size > _LARGEST_FILE:
            fail(path, 1, f"the file has more than {_LARGEST_FILE:,} bytes", "make it smaller")
        data = path.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ProblemError(f"{path}: cannot be read ({reason}); check the path") from error
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        fail(path, line, "the text is not UTF-8", "save the file in UTF-8")


def _fail_to_parse(path: Path, tokens: _Tokens, message: str) -> NoReturn:
    if word := _WORD_IN_MESSAGE.match(message):
        line, text = int(word["line"]), word["text"]
        if tokens.in_requirements and text.startswith(":"):
            _fail_on_requirement(path, line, text)
        fail(path, line, f"cannot read {text!r}", "names start with a letter")
    if token := _TOKEN_IN_MESSAGE.search(message):
        # "Expected a name." is a remedy; "Could not parse formula." is not.
        hint = token["hint"].rstrip(".").lower()
        what = f"unexpected {token['text']!r}"
        if not hint.startswith("expected "):
            what, hint = f"{what}, {hint}" if hint else what, "fix the definition there"
        fail(path, int(token["line"]), what, hint)
    fail(path, tokens.line, message.rstrip(".").lower(), "fix the definition there")


def _fail_on_requirement(path: Path, line: int, name: str) -> NoReturn:
    known = ", ".join(sorted(SUPPORTED_REQUIREMENTS))
    fail(path, line, f"requirement {name} is not supported", f"supported are {known}")


class _Tokens:
    """The tokens of a file, checked one by one; `line` is that of the last one."""

    def __init__(self, path: Path, text: str) -> None:
        self.line = 1
        self.in_requirements = False
        self._path = path
        self._text = text

    def is_empty(self) -> bool:
        """Return whether there is nothing but white space and comments."""
        return not re.sub(r";.*", "", self._text).strip()

    def __iter__(self) -> Iterator[Any]:
        for token in tokenize(self._text):
            self.line = token.lno
            self._check(token)
            token.tok = TextWithLine.at(token.tok, token.lno)
            yield token

    def _check(self, token: Any) -> None:
        # The tokenizer only compares prefixes: `on,x` passes as a name, `:typing2` as `:typing`.
        text = token.tok
        if token.cat is Category.REQUIREMENTS:
            self.in_requirements = True
        elif token.cat is Category.RBRACK:
            self.in_requirements = False
        elif token.cat is Category.REQUIREMENT_CONSTANT and text not in SUPPORTED_REQUIREMENTS:
            _fail_on_requirement(self._path, token.lno, text)
        elif token.cat in (Category.NAME, Category.VARIABLE) and not _NAME.fullmatch(text):
            remedy = "use a letter, then letters, digits, '-' and '_'"
            fail(self._path, token.lno, f"{text!r} is not a name", remedy)
        elif token.cat is Category.CONSTANT and not _NUMBER.fullmatch(text):
            what = f"{text[:_LONGEST_NUMBER]!r} is not a number"
            fail(self._path, token.lno, what, "write it like 0.8 or 4/5")
        longest = _LONGEST_NUMBER if token.cat is Category.CONSTANT else _LONGEST_NAME
        if len(text) > longest:
            what = f"{text[:20]!r}… has more than {longest} characters"
            fail(self._path, token.lno, what, "use a shorter one")


class DomainCheck:
    """Checks a domain, then a problem of it."""

    def __init__(self, domain: Any, path: Path) -> None:
        self._domain = domain
        self._path = path
        self.parents: dict[str, str] = {}
        self.constants: dict[str, str] = {}
        self.predicates: dict[str, tuple[str, ...]] = {}
        self.functions: dict[str, tuple[str, ...]] = {}
        self._declare()
        for action in self._once("action", domain.actions):
            scope = {**self.constants, **self.scope(action.parameters)}
            if action.precondition is not None:
                self.check_formula(action.precondition, scope, path, action.name)
            self._check_effect(action.effect, scope)

    def _declare(self) -> None:
        domain = self._domain
        for derived in domain.derived_predicates:
            what, name = "derived predicates are not supported", derived.predicate.name
            fail(self._path, name, what, "write out the condition where it is used")
        for declared in self._once("type", domain.types):
            if declared.name != TYPE_ROOT:
                self.parents[str(declared.name)] = str(declared.parent_type_name)
        for name in self.parents:
            self._check_ancestry(next(t.name for t in domain.types if t.name == name))
        self.constants = self.scope(domain.constants, kind="object")
        self.predicates = self._signatures("predicate", domain.predicates)
        self.functions = self._signatures("function", domain.functions)

    def _once(self, kind: str, declared: Iterable[Any], path: Path | None = None) -> Iterable[Any]:
        path = path or self._path
        seen: set[str] = set()
        for item in declared:
            if len(seen) == _MOST_DECLARED:
                what = f"there are more than {_MOST_DECLARED:,} declarations of a {kind}"
                fail(path, item.name, what, "use fewer")
            if item.name in seen:
                what = f"{kind} {item.name} is declared twice"
                fail(path, item.name, what, "remove or rename one of them")
            seen.add(str(item.name))
            yield item

    def _check_ancestry(self, name: str) -> None:
        parent = self.parents.get(name)
        for _ in self.parents:
            if parent == name:
                what = f"type {name} is its own ancestor"
                fail(self._path, name, what, "remove one of the supertypes in the cycle")
            parent = self.parents.get(parent or TYPE_ROOT)

    def _signatures(self, kind: str, declared: Iterable[Any]) -> dict[str, tuple[str, ...]]:
        return {
            str(item.name): tuple(self.scope(item.parameters).values())
            for item in self._once(kind, declared)
        }

    def scope(
        self, declared: Iterable[Any], kind: str = "parameter", path: Path | None = None
    ) -> dict[str, str]:
        """Return the type of each name in a typed list; undeclared types are errors."""
        path = path or self._path
        known = {TYPE_ROOT, *self.parents, *self.parents.values()}
        types: dict[str, str] = {}
        for item in self._once(kind, declared, path):
            if item.type_name not in known:
                what = f"{kind} {item.name} has the undeclared type {item.type_name}"
                fail(path, item.name, what, "declare it under :types or fix its spelling")
            types[str(item.name)] = str(item.type_name)
        return types

    def is_a(self, type_name: str, ancestor: str) -> bool:
        """Return whether a type is another one or a subtype of it."""
        while type_name != ancestor and type_name in self.parents:
            type_name = self.parents[type_name]
        return type_name == ancestor or ancestor == TYPE_ROOT

    def check_atom(self, atom: Any, scope: Scope, path: Path, kind: str = "predicate") -> None:
        """Check the name of a predicate or function, and the number and types of its arguments."""
        declared = self.predicates if kind == "predicate" else self.functions
        if atom.name not in declared:
            remedy = f"declare it under :{kind}s or fix its spelling"
            fail(path, atom.name, f"{kind} {atom.name} is not declared", remedy)
        types = declared[atom.name]
        if len(types) != len(atom.arguments):
            what = f"{kind} {atom.name} takes {len(types)} arguments, not {len(atom.arguments)}"
            fail(path, atom.name, what, "give it as many as declared")
        self._check_arguments(atom, types, scope, path)

    def _check_arguments(self, atom: Any, types: Iterable[str], scope: Scope, path: Path) -> None:
        for argument, type_name in zip(atom.arguments, types, strict=True):
            if argument.name not in scope:
                kind = "variable" if argument.is_variable() else "object"
                remedy = "declare it or fix its spelling"
                fail(path, argument.name, f"{kind} {argument.name} is not declared", remedy)
            if not self.is_a(scope[argument.name], type_name):
                what = (
                    f"{argument.name} is of type {scope[argument.name]}, but {atom.name} takes "
                    f"{type_name} there"
                )
                fail(path, argument.name, what, "use an object of that type or a subtype")

    def check_formula(
        self, formula: Any, scope: Scope, path: Path, where: str, numeric: bool = False
    ) -> None:
        """Check a condition; comparisons of numbers are allowed only if `numeric`."""
        match formula:
            case pddl.Atom(name="="):
                self._check_arguments(formula, [TYPE_ROOT] * 2, scope, path)
            case pddl.Atom():
                self.check_atom(formula, scope, path)
            case pddl.Negation():
                self.check_formula(formula.sub_formula, scope, path, where, numeric)
            case pddl.BooleanConnector():
                for part in formula.sub_formulas:
                    self.check_formula(part, scope, path, where, numeric)
            case pddl.Quantification():
                inner = {**scope, **self.scope(formula.parameters, path=path)}
                self.check_formula(formula.sub_formula, inner, path, where, numeric)
            case pddl.NumericComparison() if not numeric:
                place = getattr(formula.lhs, "name", getattr(formula.rhs, "name", where))
                what = "numbers in a condition are not supported"
                fail(path, place, what, "use a predicate for each value that matters")

    def _check_effect(self, effect: Any, scope: Scope) -> None:
        match effect:
            case pddl.AtomEffect():
                self.check_atom(effect, scope, self._path)
            case pddl.NegativeEffect():
                self.check_atom(effect.atom, scope, self._path)
            case pddl.ConjunctiveEffect():
                for part in effect.effects:
                    self._check_effect(part, scope)
            case pddl.ConditionalEffect():
                self.check_formula(effect.condition, scope, self._path, "")
                self._check_effect(effect.effect, scope)
            case pddl.UniversalEffect():
                self._check_effect(effect.effect, {**scope, **self.scope(effect.parameters)})
            case pddl.ProbabilisticEffect():
                self._check_probabilities(effect)
                for outcome in effect.outcomes:
                    self._check_effect(outcome.effect, scope)
            case pddl.NumericEffect():
                self._check_number(effect.variable, scope, self._path)

    def _check_number(self, call: Any, scope: Scope, path: Path) -> None:
        # No condition reads numbers, so their values do not matter.
        if call.name not in COST_FUNCTIONS or call.name in self.functions:
            self.check_atom(call, scope, path, kind="function")

    def _check_probabilities(self, effect: Any) -> None:
        total = Fraction(0)
        for outcome in effect.outcomes:
            text = outcome.probability.value_str
            if Fraction(text) < 0:
                what = f"probability {text} is negative"
                fail(self._path, text, what, "give one between 0 and 1")
            total += Fraction(text)
            if total > 1:
                what = (
                    f"the probabilities of one effect sum to {float(min(total, Fraction(10**9))):g}"
                )
                fail(self._path, text, what, "make them sum to at most 1")

    def check_problem(self, problem: Any, path: Path) -> dict[str, str]:
        """Check a problem of this domain; return the type of each of its objects."""
        if problem.domain_name != self._domain.name:
            name = problem.domain_name
            what = f"the problem belongs to domain {name}, not to {self._domain.name}"
            fail(path, name, what, "give the matching domain file")
        objects = self.scope(problem.objects, kind="object", path=path)
        for item in problem.objects:
            if self.constants.get(item.name, objects[item.name]) != objects[item.name]:
                what = f"object {item.name} is a constant of another type in the domain"
                fail(path, item.name, what, "rename the object")
        objects = {**self.constants, **objects}
        for fact in problem.initial:
            if isinstance(fact, pddl.Atom):
                self.check_atom(fact, objects, path)
            else:
                self._check_number(fact.variable, objects, path)
        self.check_formula(problem.goal, objects, path, problem.name, numeric=True)
        return objects
