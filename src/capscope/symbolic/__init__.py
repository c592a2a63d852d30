"""What can be said: atoms, states, effects, intents and conditions over a vocabulary."""

from capscope.symbolic.effect import Effect
from capscope.symbolic.exactly_one import ExactlyOne
from capscope.symbolic.intent import Intent
from capscope.symbolic.vocabulary import Atom, Literal, Predicate, State, Vocabulary

__all__ = ["Atom", "Effect", "ExactlyOne", "Intent", "Literal", "Predicate", "State", "Vocabulary"]
