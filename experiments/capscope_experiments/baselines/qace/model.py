"""QACE's class of models: a conjunction, and one list of effects with probabilities.

If the precondition of a capability holds, one effect of its list happens; otherwise nothing does. A
compiled capability is several of these with one intent. If more than one holds they have equal
weights, like the rules of a capability model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from capscope.logic import Atom, Effect, Intent, Literal, State, Vocabulary
from capscope.model.extreme_models import Prediction


class Conjunction(NamedTuple):
    """Literals that must all hold: the bits that matter, and their values.

    >>> Conjunction(care=0b011, value=0b001).holds(0b101)
    True
    """

    care: int
    value: int

    @classmethod
    def of(cls, literals: Iterable[Literal], vocabulary: Vocabulary) -> Conjunction:
        """Return the conjunction of literals."""
        required, forbidden = vocabulary.literal_masks(literals)
        return cls(required | forbidden, required)

    def holds(self, state: State) -> bool:
        """Return whether every literal is true in a state."""
        return state & self.care == self.value

    def violated_by(self, state: State) -> int:
        """Return the bits of the literals that are false in a state."""
        return (state ^ self.value) & self.care

    def literals(self, vocabulary: Vocabulary) -> tuple[Literal, ...]:
        """List the literals in the order of the vocabulary."""
        return tuple(
            Literal(atom, bool(self.value & vocabulary.bit[atom]))
            for atom in vocabulary.holding(self.care)
        )


class ProbableEffect(NamedTuple):
    """An effect and its probability."""

    effect: Effect
    probability: float


@dataclass(frozen=True, slots=True)
class QaceCapability:
    """A learned capability: when it works, and what happens then."""

    intent: Intent
    precondition: Conjunction
    effects: tuple[ProbableEffect, ...]

    def outcomes(self, state: State) -> Prediction:
        """Return the distribution over successors of a state in which the precondition holds."""
        spread: dict[State, float] = {}
        for effect, probability in self.effects:
            after = effect.apply(state)
            spread[after] = spread.get(after, 0.0) + probability
        return spread

    def as_dict(self, vocabulary: Vocabulary) -> dict[str, Any]:
        """Return the capability as JSON-ready values."""
        return {
            "intent": str(self.intent),
            "when": [str(literal) for literal in self.precondition.literals(vocabulary)],
            "outcomes": [
                {
                    "probability": probability,
                    "adds": [str(atom) for atom in vocabulary.holding(effect.adds)],
                    "deletes": [str(atom) for atom in vocabulary.holding(effect.deletes)],
                }
                for effect, probability in self.effects
            ],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], vocabulary: Vocabulary) -> QaceCapability:
        """Read a capability back from what `as_dict` wrote."""

        def bits(atoms: Iterable[str]) -> State:
            return vocabulary.state(map(Atom.parse, atoms))

        return cls(
            Intent.parse(values["intent"]),
            Conjunction.of(map(Literal.parse, values["when"]), vocabulary),
            tuple(
                ProbableEffect(Effect(bits(o["adds"]), bits(o["deletes"])), o["probability"])
                for o in values["outcomes"]
            ),
        )


class QaceModel:
    """A capability model of what QACE learned."""

    def __init__(self, learned: Iterable[QaceCapability], complete: Iterable[Intent]) -> None:
        """Combine capabilities; every part of the `complete` intents was learned."""
        self._complete = frozenset(complete)
        self._parts: dict[Intent, list[QaceCapability]] = {i: [] for i in self._complete}
        for capability in learned:
            self._parts.setdefault(capability.intent, []).append(capability)

    @property
    def capabilities(self) -> Sequence[Intent]:
        """The intents of the model."""
        return tuple(self._parts)

    def predict(self, state: State, capability: Intent) -> Prediction:
        """Average the parts that hold in the state; if none does, nothing happens.

        If a part of the capability could not be learned, that one might hold: then there is no
        prediction.
        """
        holding = [p for p in self._parts[capability] if p.precondition.holds(state)]
        if not holding:
            return {state: 1.0} if capability in self._complete else {}
        prediction: dict[State, float] = {}
        for part in holding:
            for after, probability in part.outcomes(state).items():
                prediction[after] = prediction.get(after, 0.0) + probability / len(holding)
        return prediction
