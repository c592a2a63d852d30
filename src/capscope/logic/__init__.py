"""Symbolic states: vocabularies, atoms, literals, effects, intents and conditions."""

from capscope.logic.effect import Effect, changes_text
from capscope.logic.exactly_one import ExactlyOne
from capscope.logic.expected import ExpectedEffects
from capscope.logic.intent import Intent, StateTest
from capscope.logic.json_values import OMITTED, STATE, from_json, to_json
from capscope.logic.phrasing import Phrasing
from capscope.logic.vocabulary import Atom, Literal, LiteralTest, Predicate, State, Vocabulary

__all__ = [
    "OMITTED",
    "STATE",
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
    "changes_text",
    "from_json",
    "to_json",
]
