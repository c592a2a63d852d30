"""Parse PPDDL files with plado, and report the line of a mistake.

The parser keeps no line numbers. So each token's text is given to it as a `TextWithLine`, and the
names in its result still have their lines when they are checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from plado.parser.parser import LookaheadStreamer, UnexpectedEndOfFile, parse_domain, parse_problem
from plado.parser.tokenizer import Category, tokenize

from capscope.errors import DomainFileError

SUPPORTED_REQUIREMENTS = frozenset(
    (
        ":strips :typing :equality :negative-preconditions :disjunctive-preconditions "
        ":existential-preconditions :universal-preconditions :quantified-preconditions :adl "
        ":conditional-effects :probabilistic-effects :rewards :fluents :mdp :action-costs"
    ).split()
)

_NAME = re.compile(r"\??[^\W\d_][\w-]*")
_NUMBER = re.compile(r"-?(\d+(\.\d*)?|\.\d+)(e-?\d+)?|\d+/[1-9]\d*")
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
    """Raise a `DomainFileError` for a line, given as a number or as a `TextWithLine`."""
    line = where if isinstance(where, int) else getattr(where, "line", 1)
    raise DomainFileError(f"{path}:{line}: {what}; {remedy}")


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
        data = path.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise DomainFileError(f"{path}: cannot be read ({reason}); check the path") from error
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
            fail(self._path, token.lno, f"{text!r} is not a number", "write it like 0.8 or 4/5")
