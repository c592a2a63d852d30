"""Make a problem of a tool world, predicates, asks and an agent.

Predicates are functions of the state: `{"archived(mail)": lambda box, mail: …}`. An ask says how to
request an intent: `ask("archived(m)", "Archive the mail from {m}.")` stands for one intent for each
object that `m` may be. An argument that names an object is that object; any other is a variable,
and different variables stand for different objects.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import string
import typing
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from capscope.adapters.tools.agents import OwnLoopAgent, ToolCallingAgent, ToolCallingSettings
from capscope.adapters.tools.world import ToolWorld
from capscope.errors import ProblemError, VocabularyError
from capscope.logic import Atom, Intent, Literal, Predicate, State, Vocabulary
from capscope.problem import Agent, Limits, Problem
from capscope.problem.tool_calls import ToolObservation

if TYPE_CHECKING:
    from capscope.adapters.mcp import McpWorld


@dataclass(frozen=True)
class Ask:
    """An intent with variables, its phrasings, and what belongs to it."""

    intent: str
    phrasings: tuple[str, ...]
    also: tuple[str, ...] = ()

    def grounded(self, vocabulary: Vocabulary) -> Iterator[tuple[Intent, Ask]]:
        """Yield the ask for all objects that its variables may stand for."""
        intent = Intent.parse(self.intent)
        types = _variables(intent, vocabulary)
        for phrasing in self.phrasings:
            self._check_places(phrasing, types, vocabulary)
        choices = (vocabulary.objects_of(kind) for kind in types.values())
        for chosen in itertools.product(*choices):
            if len(set(chosen)) == len(chosen):
                objects = dict(zip(types, chosen, strict=True))
                grounded = intent.renamed(partial(_replaced, objects=objects))
                phrasings = tuple(phrasing.format(**objects) for phrasing in self.phrasings)
                also = tuple(_replaced_text(text, objects) for text in self.also)
                yield grounded, Ask(str(grounded), phrasings, also)

    def _check_places(
        self, phrasing: str, types: Mapping[str, str], vocabulary: Vocabulary
    ) -> None:
        try:
            places = [place for _, place, _, _ in string.Formatter().parse(phrasing) if place]
        except ValueError as error:
            raise ProblemError(f"{phrasing!r} cannot be filled in: {error}") from None
        for place in places:
            if place not in types:
                known = ", ".join(types) or "none"
                raise ProblemError(
                    f"{phrasing!r} mentions {{{place}}}, which is not a variable of {self.intent} "
                    f"(variables: {known})"
                )


def ask(intent: str, *phrasings: str, also: Sequence[str] = ()) -> Ask:
    """Declare how to ask for an intent.

    Args:
        intent: An intent with variables, such as `archived(m)`.
        phrasings: One or several prompts in which `{m}` stands for the object.
        also: Consequences that belong to the intent and are not side effects; `*` stands for any
            object, as in `read(*)`.

    Returns:
        An ask for `tool_problem`.
    """
    if not phrasings:
        raise ProblemError(f"the ask for {intent} needs at least one phrasing")
    if isinstance(also, str):
        raise ProblemError(f"`also` is a list, like [{also!r}]")
    return Ask(intent, phrasings, tuple(also))


def _variables(intent: Intent, vocabulary: Vocabulary) -> dict[str, str]:
    """Return the variables of an intent and the types of objects they stand for."""
    declared = {predicate.name: predicate.types for predicate in vocabulary.predicates}
    found: dict[str, str] = {}
    for atom in (literal.atom for literal in intent.mentioned):
        if len(declared.get(atom.predicate, ())) != len(atom.arguments):
            vocabulary.groundings(atom.predicate)  # raises for an unknown predicate
            raise VocabularyError(
                f"{atom} has {len(atom.arguments)} arguments; {atom.predicate} takes "
                f"{len(declared[atom.predicate])}"
            )
        for name, kind in zip(atom.arguments, declared[atom.predicate], strict=True):
            if name not in vocabulary.objects and found.setdefault(name, kind) != kind:
                raise VocabularyError(
                    f"{name} in {intent} is both a {found[name]} and a {kind}; use two variables"
                )
    return found


def _replaced(atom: Atom, objects: Mapping[str, str]) -> Atom:
    return Atom(atom.predicate, tuple(objects.get(name, name) for name in atom.arguments))


def _replaced_text(text: str, objects: Mapping[str, str]) -> str:
    literal = Literal.parse(text)
    return str(Literal(_replaced(literal.atom, objects), literal.positive))


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
        self.undefined: State = 0
        """The atoms that are false because the states lack their objects."""

    def where_defined(
        self, observation: ToolObservation, needed: Collection[Atom]
    ) -> StateAbstraction:
        """Return an abstraction for states that lack objects: atoms about these are false.

        Args:
            observation: One of these states; an atom that cannot be evaluated there is left out.
            needed: Atoms that must not be left out.
        """
        found = copy(self)
        found._tests = []
        for bit, atom, test in self._tests:
            try:
                test(observation.state, *atom.arguments)
            except Exception as error:
                if atom in needed:
                    raise ProblemError(
                        f"{atom} cannot be evaluated there ({type(error).__name__}: {error}); name "
                        "objects that the position has"
                    ) from error
                found.undefined |= bit
            else:
                found._tests.append((bit, atom, test))
        return found

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


ToolAgent = Callable[..., Any]
"""A function of (prompt, tools, llm), or of the first of these."""


Phrasings = typing.Literal["drawn", "factor"]


def tool_problem(
    world: ToolWorld | McpWorld,
    *,
    predicates: Mapping[str, Callable[..., Any]],
    objects: Mapping[str, Sequence[str]],
    asks: Sequence[Ask],
    agent: ToolAgent | None = None,
    model: str | None = None,
    settings: ToolCallingSettings | None = None,
    max_tool_calls: int = 20,
    phrasings: Phrasings = "drawn",
    hazards: Sequence[str] = (),
    name: str = "tools",
) -> Problem:
    """Return the problem of an agent that is asked to do things with tools.

    Args:
        world: The state and the tools.
        predicates: Maps `archived(mail)` to a function of the state and the objects.
        objects: Maps a type to the names of its objects.
        asks: What the agent is asked for, and in which words.
        agent: A function that runs its own loop; the built-in agent unless given.
        model: The name of the language model; the environment names it unless given.
        settings: Of the built-in agent.
        max_tool_calls: The largest number of tool calls in an execution.
        phrasings: `drawn` for each execution; as a `factor`, resets draw the phrasing and it is an
            atom, `wording(2)`, that conditions can name (assess with several `--resets`).
        hazards: Events that must not happen.
        name: The name of the problem.

    Returns:
        The problem.
    """
    wordings = max((len(one.phrasings) for one in asks), default=0)
    if not wordings:
        raise ProblemError("a tool problem needs at least one ask")
    factor = wordings if phrasings == "factor" and wordings > 1 else 0
    if factor:
        world = world.with_wordings(factor)
    abstraction = StateAbstraction(predicates, objects, factor)
    grounded = _grounded(asks, abstraction)
    prompts = {intent: one.phrasings for intent, one in grounded.items()}
    tools = tuple(world.tools.values())
    chosen: Agent
    if agent is None:
        chosen = ToolCallingAgent(prompts, tools, model, settings or ToolCallingSettings())
        identity = chosen.fingerprint
    else:
        if settings is not None:
            raise ProblemError("`settings` belong to the built-in agent; give either, not both")
        chosen, identity = OwnLoopAgent(agent, prompts, tools, model), model or ""
    parts = [
        world.fingerprint,
        identity,
        [(one.intent, one.phrasings) for one in grounded.values()],
    ]
    return Problem(
        name=name,
        simulator=world,
        agent=chosen,
        abstraction=abstraction,
        limits=Limits(temporal_length=None, horizon=max_tool_calls),
        description=f"an agent with the tools {', '.join(world.tools)}",
        fingerprint=hashlib.sha256(repr(parts).encode()).hexdigest()[:16],
        hazards=tuple(hazards),
        intents=tuple(one.intent for one in grounded.values()),
        expected=tuple(
            f"{one.intent}: {' and '.join(one.also)}" for one in grounded.values() if one.also
        ),
    )


def _grounded(asks: Sequence[Ask], abstraction: StateAbstraction) -> dict[Intent, Ask]:
    found: dict[Intent, Ask] = {}
    for one in asks:
        for intent, grounded in one.grounded(abstraction.vocabulary):
            if found.setdefault(intent, grounded) is not grounded:
                raise ProblemError(f"two asks are about {intent}; join their phrasings")
    return found
