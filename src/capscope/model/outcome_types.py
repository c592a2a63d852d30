"""Outcome types: effects that are alternatives of one behaviour.

A drive that ends with or without a flat tire is one behaviour with two outcomes. Two effects are
alternatives if one pair of a state and a capability has shown both. A type is a maximal set of such
effects, over all capabilities: what is learned about the odds of a drive holds whatever it was
asked for. That an execution changed nothing says little about which behaviour failed, so "nothing"
is no link between effects; a pair that has shown nothing else is of the type `NOTHING`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from capscope.logic import Effect, Vocabulary
from capscope.model.state_graph import PairStats

Kind = tuple[tuple[str, bool], ...]
"""The predicates of an effect, each with whether it becomes true."""
NO_CHANGE = Effect(0, 0)
_BY_CHANCE = 0.05  # a pair of a type fails each time with at least this probability
_PEERS = 10.0  # the odds of the peers count as this many draws
NOTHING = 0
"""The type of pairs in which nothing happens."""


class OutcomeTypes:
    """The types seen so far, numbered in the order in which they were found."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self.effects: list[frozenset[Effect]] = [frozenset([NO_CHANGE])]
        """The effects of each type, without the empty one except for `NOTHING`."""
        self.odds: list[dict[Effect, float]] = [{NO_CHANGE: 1.0}]
        """How often each effect occurs; the empty one too, if it occurs beside others."""
        self.draws: list[int] = [0]
        """The executions that showed each type."""
        self.peer_draws: list[int] = [0]
        """Those that showed a type of the same kind: all drives are of one kind."""
        self.revision = 0
        """Counts how often types were added or odds estimated."""
        self._kinds: dict[Effect, Kind] = {}
        self._number: dict[frozenset[Effect], int] = {self.effects[0]: NOTHING}
        self._several: list[frozenset[Effect]] = []  # the maximal sets of more than one effect
        self._containing: dict[Effect, list[frozenset[Effect]]] = {}

    def __len__(self) -> int:
        return len(self.effects)

    def learn(self, shown: Iterable[Effect]) -> bool:
        """Take in what one pair has shown; return whether that changes the types of others."""
        acting = frozenset(shown) - {NO_CHANGE}
        if len(acting) < 2 or any(acting <= known for known in self._several):
            return False
        self._several = [known for known in self._several if not known < acting] + [acting]
        self._containing = {}
        for known in self._several:
            for effect in sorted(known):
                self._containing.setdefault(effect, []).append(known)
        return True

    def of(self, pair: PairStats, expected: int = NOTHING) -> int:
        """Return the type of a tried pair; of several that fit, the expected one."""
        acting = frozenset(pair.counts) - {NO_CHANGE}
        if not acting:
            failing = self.odds[expected].get(NO_CHANGE, 0.0)
            # A behaviour that fails now and then may have failed each time.
            return expected if failing**pair.total > _BY_CHANCE else NOTHING
        fitting = [known for known in self._containing.get(min(acting), ()) if acting <= known]
        if len(fitting) > 1 and self.effects[expected] in fitting:
            return expected
        return self.number(fitting[0] if fitting else acting)

    def number(self, effects: frozenset[Effect]) -> int:
        """Return the number of a type, made if it is new; all its effects are equally likely."""
        number = self._number.get(effects)
        if number is None:
            self.revision += 1
            number = self._number[effects] = len(self.effects)
            self.effects.append(effects)
            self.odds.append({effect: 1.0 / len(effects) for effect in sorted(effects)})
            self.draws.append(0)
            self.peer_draws.append(0)
        return number

    def kind(self, effect: Effect) -> Kind:
        """Return the predicates that an effect makes true and false."""
        kind = self._kinds.get(effect)
        if kind is None:
            literals = effect.literals(self._vocabulary)
            kind = tuple(sorted((one.atom.predicate, one.positive) for one in literals))
            self._kinds[effect] = kind
        return kind

    def estimate_odds(self, drawn: Mapping[int, Counter[Effect]]) -> None:
        """Set the odds of each type: how often its effects were drawn, and those of its peers.

        The peers of a type have effects of the same kinds. Their odds count as a few draws.
        """
        self.revision += 1
        peers: dict[tuple[Kind, ...], Counter[Kind]] = {}
        signatures = {
            number: tuple(sorted(map(self.kind, self.effects[number]))) for number in drawn
        }
        for number, counts in drawn.items():
            together = peers.setdefault(signatures[number], Counter())
            for effect, times in counts.items():
                together[self.kind(effect)] += times
        for number, counts in drawn.items():
            if number == NOTHING:
                continue
            together, total = peers[signatures[number]], counts.total()
            effects = sorted(counts.keys() | self.effects[number])
            # Two effects of one kind share what is known about the kind.
            alike = Counter(map(self.kind, effects))
            self.draws[number], self.peer_draws[number] = total, together.total()
            expected = {
                e: together[self.kind(e)] / alike[self.kind(e)] / together.total() for e in effects
            }
            scale = total + _PEERS * sum(expected.values())
            self.odds[number] = {e: (counts[e] + _PEERS * expected[e]) / scale for e in effects}

    def allows(self, number: int, effect: Effect) -> bool:
        """Return whether a type has an effect among its outcomes."""
        return effect in self.odds[number] or effect in self.effects[number]

    def main_effect(self, number: int) -> Effect:
        """Return the most likely effect of a type that changes something."""
        odds = self.odds[number]
        return max(sorted(self.effects[number]), key=lambda effect: odds.get(effect, 0.0))
