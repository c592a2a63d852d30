"""Predicates as functions of the state: `{"archived(mail)": lambda box, mail: …}`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from capscope.errors import ProblemError
from capscope.logic import Atom, Predicate, State, Vocabulary
from capscope.problem.tool_calls import ToolObservation

Test = Callable[..., Any]
WORDING = "wording"
_NAME = re.compile(r"[^\s(),]+")


class StateAbstraction:
    """An abstraction by one function for each predicate, of the state and the objects.

    With `wordings`, the wording that a reset has drawn is an atom as well: `wording(2)`.
    """

    def __init__(
        self,
        predicates: Mapping[str, Test],
        objects: Mapping[str, Sequence[str]],
        wordings: int = 0,
    ) -> None:
        numbers = [str(i + 1) for i in range(wordings)]
        if wordings:
            objects = {**objects, WORDING: numbers}
        named: dict[str, str] = {}
        for kind, names in objects.items():
            for name in names:
                if not isinstance(name, str) or not _NAME.fullmatch(name):
                    raise ProblemError(
                        f"{name!r} cannot name an object; use a text without spaces, commas and "
                        "brackets"
                    )
                if named.setdefault(name, kind) != kind:
                    raise ProblemError(f"{name} is both a {named[name]} and a {kind}")
        declared = {Atom.parse(text): test for text, test in predicates.items()}
        own = [Predicate(WORDING, (WORDING,))] if wordings else []
        self.vocabulary = Vocabulary(
            [*(Predicate(atom.predicate, atom.arguments) for atom in declared), *own], named
        )
        tests = {atom.predicate: test for atom, test in declared.items()}
        self._tests = [
            (bit, atom, tests[atom.predicate])
            for atom, bit in self.vocabulary.bit.items()
            if atom.predicate in tests
        ]
        self._wordings = [self.vocabulary.bit[Atom(WORDING, (number,))] for number in numbers]

    def __call__(self, observation: ToolObservation) -> State:
        """Return the atoms that hold."""
        state = 0
        if observation.wording is not None:
            state = self._wordings[observation.wording]
        for bit, atom, test in self._tests:
            try:
                holds = test(observation.state, *atom.arguments)
            except Exception as error:
                raise ProblemError(
                    f"the predicate {atom.predicate} raised {type(error).__name__}: {error} for "
                    f"{atom}; it must be true or false in every state"
                ) from error
            if holds:
                state |= bit
        return state
