"""Symbolic states: vocabularies, atoms, literals, effects, intents and conditions."""

from capscope.logic.condition import Condition, Intent, StateTest, Term
from capscope.logic.effect import Effect, ExactlyOne, ExpectedEffects, changes_text
from capscope.logic.json_values import OMITTED, STATE, from_json, to_json
from capscope.logic.vocabulary import (
    Atom,
    Literal,
    LiteralTest,
    Phrasing,
    Predicate,
    State,
    Vocabulary,
)

__all__ = [
    "OMITTED",
    "STATE",
    "Atom",
    "Condition",
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
    "Term",
    "Vocabulary",
    "changes_text",
    "from_json",
    "to_json",
]
