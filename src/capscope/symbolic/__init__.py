"""Symbolic states: vocabularies, atoms, literals, effects, intents and conditions."""

from capscope.symbolic.effect import Effect
from capscope.symbolic.exactly_one import ExactlyOne
from capscope.symbolic.expected import ExpectedEffects
from capscope.symbolic.intent import Intent, StateTest
from capscope.symbolic.phrasing import Phrasing
from capscope.symbolic.vocabulary import Atom, Literal, LiteralTest, Predicate, State, Vocabulary

__all__ = [
    "Atom",
    "Effect",
    "ExactlyOne",
    "ExpectedEffects",
    "Intent",
    "Literal",
    "LiteralTest",
    "Phrasing",
    "Predicate",
    "State",
    "StateTest",
    "Vocabulary",
]
