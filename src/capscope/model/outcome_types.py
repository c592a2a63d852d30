"""Outcome types: effects that are alternatives of one behavior, and their probabilities.

A drive that ends with or without a flat tire is one behavior with two outcomes. Two effects are
alternatives if one pair of a state and a capability has shown both. A type is a maximal set of such
effects, over all capabilities. That an execution changed nothing says little about which behavior
failed, so "nothing" is no link; a pair that has shown nothing else is of the type `NOTHING`.

**The odds of one pair** (`OddsPooling`) are its own draws, drawn towards the odds of its type.
Either a pair is like the others, then its odds are drawn from a Dirichlet distribution around those
of the type, or it is an outlier, known only from its own executions. The strength of the
distribution and the share of outliers are those of a small grid that explain the draws of the type
best; what most types of the agent say is the prior for each (empirical Bayes).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from capscope.logic import Effect, State, Vocabulary
from capscope.logic.shortest_condition import bit_matrix
from capscope.model.odds_splits import classify, leaves
from capscope.model.state_graph import PairStats
from capscope.stats.betting import log_dirichlet, log_dirichlet_mixture
from capscope.stats.error_budget import ERROR_RATE

Kind = tuple[tuple[str, bool], ...]
"""The predicates of an effect, each with whether it becomes true."""
NO_CHANGE = Effect(0, 0)
_BY_CHANCE = 0.05  # a pair of a type fails each time with at least this probability
_UNLIKELY = 0.01  # a type has fewer outcomes than others if its draws were less likely otherwise
_PEERS = 10.0, 1.0, 3.0, 30.0, 100.0, 300.0, 1000.0
"""The probabilities of the peers count as one of these numbers of draws; by default the first."""
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
        """Counts how often types were added or probabilities estimated."""
        self._kinds: dict[Effect, Kind] = {}
        self.learned: Mapping[tuple[Kind, ...], Counter[Kind]] = {}
        """What peers showed in another instance."""
        self._drawn: Mapping[int, Counter[Effect]] = {}
        self._together: dict[tuple[Kind, ...], Counter[Kind]] = {}  # of all peers
        self._number: dict[frozenset[Effect], int] = {self.effects[0]: NOTHING}
        self._several: list[frozenset[Effect]] = []  # the maximal sets of more than one effect
        self.wider: Callable[[frozenset[Effect]], Iterable[frozenset[Effect]]] = lambda _: ()
        """Returns types that are known with other objects, and include some effects."""
        self._containing: dict[Effect, list[frozenset[Effect]]] = {}

    def __len__(self) -> int:
        return len(self.effects)

    def learn(self, shown: Iterable[Effect]) -> bool:
        """Take in what one pair has shown; return whether that changes the types of others."""
        acting = frozenset(shown) - {NO_CHANGE}
        if len(acting) < 2 or any(acting <= known for known in self._several):
            return False
        # A new list, so that it tells whether anything was learned.
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
            # A behavior that fails now and then may have failed each time.
            return expected if failing**pair.total > _BY_CHANCE else NOTHING
        fitting = [known for known in self._containing.get(min(acting), ()) if acting <= known]
        fitting = fitting or [one for one in self.wider(acting) if self._explains(one, acting)]
        if len(fitting) > 1 and self.effects[expected] in fitting:
            return expected
        return self.number(fitting[0] if fitting else acting)

    def _explains(self, whole: frozenset[Effect], part: frozenset[Effect]) -> bool:
        """Return whether a type may have more outcomes than its pairs have shown so far."""
        together = self._together.get(tuple(sorted(map(self.kind, whole))))
        own = [self._drawn.get(self._number.get(one, -1), Counter()) for one in (whole, part)]
        if together is None or any(effect not in part for effect in own[0] if effect != NO_CHANGE):
            return True
        share = sum(together[self.kind(effect)] for effect in part) / together.total()
        return share ** sum(counts.total() for counts in own) > _UNLIKELY

    @property
    def several(self) -> Sequence[frozenset[Effect]]:
        """The types that a pair has shown to have more than one outcome; new when they change."""
        return self._several

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

    def estimate_odds(self, drawn: Mapping[int, Counter[Effect]], *, weigh: bool = False) -> None:
        """Set the probabilities of each type from the counts of its effects and from its peers.

        The peers of a type have effects of the same kinds. They count as a few draws or, if they
        are to be weighed, as more draws the more alike they are.
        """
        self.revision += 1
        self._drawn = drawn
        peers: dict[tuple[Kind, ...], list[int]] = {}
        for number in drawn:
            if number != NOTHING:
                peers.setdefault(self.signature(number), []).append(number)
        for alike in peers.values():
            by_kind = {number: self.by_kind(drawn[number]) for number in alike}
            together = sum(by_kind.values(), Counter())
            together.update(self.learned.get(self.signature(alike[0]), ()))
            self._together[self.signature(alike[0])] = together
            strength = _likeliest_strength(list(by_kind.values()), together) if weigh else _PEERS[0]
            for number in alike:
                counts = drawn[number]
                self.draws[number], self.peer_draws[number] = counts.total(), together.total()
                effects = sorted(counts.keys() | self.effects[number])
                # Two effects of one kind share what is known about the kind.
                of_kind = Counter(map(self.kind, effects))
                prior = {
                    e: strength * together[self.kind(e)] / of_kind[self.kind(e)] / together.total()
                    for e in effects
                }
                scale = counts.total() + sum(prior.values())
                self.odds[number] = {e: (counts[e] + prior[e]) / scale for e in effects}

    def estimate_unseen(self, numbers: Iterable[int]) -> None:
        """Set the probabilities of types that were never seen from their peers."""
        for number in numbers:
            signature = self.signature(number)
            together = self._together.get(signature) or self.learned.get(signature)
            if not self.draws[number] and together:
                effects = sorted(self.effects[number])
                if together[()] > 0:
                    effects = [NO_CHANGE, *effects]
                of_kind = Counter(map(self.kind, effects))
                shares = {e: together[self.kind(e)] / of_kind[self.kind(e)] for e in effects}
                whole = sum(shares.values())
                self.odds[number] = {e: share / whole for e, share in shares.items() if share}
                self.peer_draws[number] = together.total()

    @property
    def counts(self) -> dict[tuple[Kind, ...], Counter[Kind]]:
        """How often outcomes occurred, of types that change the same predicates."""
        return {**self.learned, **self._together}

    def signature(self, number: int) -> tuple[Kind, ...]:
        """Return what the effects of a type change; its peers have the same."""
        return tuple(sorted(map(self.kind, self.effects[number])))

    def by_kind(self, counts: Mapping[Effect, int]) -> Counter[Kind]:
        """Add the counts of effects of the same kind."""
        by_kind: Counter[Kind] = Counter()
        for effect, times in counts.items():
            by_kind[self.kind(effect)] += times
        return by_kind

    def allows(self, number: int, effect: Effect) -> bool:
        """Return whether a type has an effect among its outcomes."""
        return effect in self.odds[number] or effect in self.effects[number]

    def main_effect(self, number: int) -> Effect:
        """Return the most likely effect of a type that changes something."""
        odds = self.odds[number]
        return max(sorted(self.effects[number]), key=lambda effect: odds.get(effect, 0.0))


def _likeliest_strength(types: Sequence[Counter[Kind]], together: Counter[Kind]) -> float:
    """Return as how many draws the common probabilities count best for each of several types.

    Each type is predicted from the others: its own draws would agree with it in any case.
    """
    if len(together) < 2 or len(types) < 2:
        return _PEERS[0]

    def score(strength: float) -> float:
        total = 0.0
        for own in types:
            others = [together[kind] - own[kind] + 0.5 for kind in together]
            prior = [strength * share / sum(others) for share in others]
            total += log_dirichlet([own[kind] for kind in together], prior)
        return round(total, 9)

    return max(_PEERS, key=score)


_LEAST_PRIOR = 0.5  # an outcome that was not seen under some condition is possible there
_STRENGTHS = 10.0, 30.0, 100.0, 1000.0
_ODD_ONES = 0.2, 0.05, 0.01
_LEAST_WEIGHT = 0.01
"""Of a pooling that an interval allows for."""
EffectCounts = Mapping[Effect, int]
T = TypeVar("T")
K = TypeVar("K")


class TypeOdds(NamedTuple):
    """The probabilities of a type in some states."""

    odds: Mapping[Effect, float]
    draws: int
    """The executions behind them."""
    leaf: int = 0
    """Which of the conditions holds that the probabilities depend on."""


class OddsPooling(NamedTuple):
    """How far the probabilities of a type count for one of its pairs."""

    strength: float = _STRENGTHS[0]
    """As many draws of the pair itself."""
    odd_one_out: float = _ODD_ONES[0]
    """The prior odds that a pair differs from the others of its type."""

    def log_likelihood(self, rows: Mapping[tuple[int, ...], int], odds: Sequence[float]) -> float:
        """Return how well it explains the draws of a type; an effect is drawn only if it has odds.

        `rows` are the draws of a pair, a number for each effect, and how many pairs have them.
        """
        score = 0.0
        odd = math.log(self.odd_one_out)
        for row, times in rows.items():
            as_type = log_dirichlet(row, [self.strength * share for share in odds])
            alone = log_dirichlet_mixture(row, len(row)) + odd
            high = max(as_type, alone)
            score += times * (high + math.log(math.exp(as_type - high) + math.exp(alone - high)))
        return score - sum(rows.values()) * math.log1p(self.odd_one_out)

    def odds_of(self, counts: Mapping[T, int], odds: Mapping[T, float]) -> dict[T, float]:
        """Return the probabilities of a pair with these draws.

        The less its draws agree with the type, the less the type counts (Bayes factor).
        """
        total, alike = sum(counts.values()), self._alike(counts, odds)
        whole = total + self.strength

        def share(effect: T) -> float:
            own = counts.get(effect, 0)
            among = (own + self.strength * odds.get(effect, 0.0)) / whole
            return alike * among + (1.0 - alike) * own / total

        return {effect: share(effect) for effect in dict.fromkeys([*counts, *odds])}

    def spread(self, counts: Mapping[T, int], odds: Mapping[T, float], draws: int) -> float:
        """Return the variance of a pair's probabilities, as a part of the largest possible one.

        That of the pair around its type, and that of the type, which rests on some draws itself.
        """
        total = sum(counts.values())
        weight = self.strength / (total + self.strength)
        as_type = 1.0 / (total + self.strength + 1.0) + weight**2 / (draws + 1.0)
        alike = self._alike(counts, odds)
        return alike * as_type + (1.0 - alike) / (total + 1.0)

    def _alike(self, counts: Mapping[T, int], odds: Mapping[T, float]) -> float:
        """Return how likely a pair with these draws is like the others of its type."""
        effects = list(dict.fromkeys([*counts, *odds]))
        drawn = [counts.get(effect, 0) for effect in effects]
        prior = [self.strength * odds.get(effect, 0.0) for effect in effects]
        if any(n and not p for n, p in zip(drawn, prior, strict=True)):
            return 0.0
        as_type = log_dirichlet(drawn, prior)
        alone = log_dirichlet_mixture(tuple(drawn), len(effects))
        return 1.0 / (1.0 + self.odd_one_out * math.exp(min(alone - as_type, 700.0)))


GRID = tuple(OddsPooling(strength, odd) for strength in _STRENGTHS for odd in _ODD_ONES)
UNSURE_GRID = tuple(
    OddsPooling(strength, odd) for odd in (1.0, 5.0, *_ODD_ONES) for strength in _STRENGTHS
)
"""Where pairs may just be different from each other, as far as repeated draws do not tell."""


class PoolingFit(NamedTuple):
    """What the draws of a type say about how far its probabilities count for its pairs."""

    best: OddsPooling = OddsPooling()
    weights: tuple[float, ...] = (1.0,) + (0.0,) * (len(GRID) - 1)
    """How likely each pooling of the grid is."""
    grid: tuple[OddsPooling, ...] = GRID

    def worth(
        self, counts: Mapping[T, int], odds: Mapping[T, float], draws: int, most: int
    ) -> float:
        """Return how many executions of a pair alone would say as much about its probabilities.

        Args:
            counts: The draws of the pair.
            odds: The probabilities of its type.
            draws: The executions behind these.
            most: Those of the same request, since another one may differ from it.

        Returns:
            The number of executions; pairs with one outcome are taken to be alike.
        """
        most = max(most, sum(counts.values()))
        if len(odds) == 1 and counts.keys() <= odds.keys():
            return most
        mean, variance = self.best.odds_of(counts, odds), 0.0
        for pooling, weight in zip(self.grid, self.weights, strict=True):
            if weight >= _LEAST_WEIGHT:
                own = pooling.odds_of(counts, odds)
                apart = ((own[e] - p) ** 2 / (p * (1 - p)) for e, p in mean.items() if 0 < p < 1)
                spread = pooling.spread(counts, odds, draws)
                variance += weight * min(spread + max(apart, default=0.0), 1.0)
        return min(1.0 / variance - 1.0, most)


UNSURE = PoolingFit(UNSURE_GRID[0], (1.0,) + (0.0,) * (len(UNSURE_GRID) - 1), UNSURE_GRID)
"""What is believed before any pair was drawn again."""


def fit_poolings(
    pairs: Mapping[K, Sequence[Mapping[T, int]]],
    odds: Mapping[K, Mapping[T, float]],
    grid: tuple[OddsPooling, ...] = GRID,
) -> dict[K, PoolingFit]:
    """Return the pooling of each type that has several outcomes, given the draws of its pairs."""
    types = [number for number in pairs if len(odds[number]) > 1]
    if not types:
        return {}
    scores = np.array([_log_likelihoods(pairs[number], odds[number], grid) for number in types])
    scores -= scores.max(axis=1, keepdims=True)
    weights = np.exp(scores)
    usual = (weights / weights.sum(axis=1, keepdims=True)).sum(axis=0) + 1.0 / len(grid)
    best = (scores + np.log(usual)).round(6).argmax(axis=1)
    # Too wide an interval costs some draws; too narrow a one is wrong about many pairs.
    weights *= usual * np.array([pooling.strength**-0.5 for pooling in grid])
    shares = (weights / weights.sum(axis=1, keepdims=True)).tolist()
    return {
        number: PoolingFit(grid[i], tuple(own), grid)
        for number, i, own in zip(types, best.tolist(), shares, strict=True)
    }


def _log_likelihoods(
    pairs: Iterable[Mapping[T, int]], odds: Mapping[T, float], grid: Sequence[OddsPooling]
) -> list[float]:
    # A pair with an effect that the type lacks is an outlier, whatever the parameters.
    rows = Counter(
        tuple(counts.get(effect, 0) for effect in odds)
        for counts in pairs
        if counts.keys() <= odds.keys()
    )
    shares = list(odds.values())
    return [pooling.log_likelihood(rows, shares) for pooling in grid]


def conditional_odds(
    types: OutcomeTypes, shown: Iterable[tuple[int, State, EffectCounts]], width: int
) -> Callable[[int, State], TypeOdds]:
    """Find the atoms on which the probabilities of types depend.

    Peers are split together where the evidence shows that their outcomes differ (`odds_splits`).

    Args:
        types: The types, with the probabilities that they have on average.
        shown: For each pair its type, its state and its draws.
        width: The number of atoms.

    Returns:
        A function from a type and a state to the probabilities there; never 0 for an outcome.
    """
    rows: dict[tuple[Kind, ...], dict[State, Counter[Kind]]] = {}
    for number, state, counts in shown:
        if len(types.odds[number]) > 1:
            states = rows.setdefault(types.signature(number), {})
            states.setdefault(state, Counter()).update(types.by_kind(counts))
    parts: dict[tuple[Kind, ...], list[tuple[list[State], Counter[Kind]]]] = {}
    for signature, states in rows.items():
        kinds = sorted(set().union(*states.values()))
        order = sorted(states)
        table = np.array([[states[state][kind] for kind in kinds] for state in order])
        split = leaves(bit_matrix(order, width), table, ERROR_RATE / len(rows))
        if len(split) > 1:
            members = [[order[row] for row in leaf.tolist()] for leaf in split]
            parts[signature] = [(m, sum((states[x] for x in m), Counter())) for m in members]
    known: dict[tuple[tuple[Kind, ...], State], int] = {}

    def odds_in(number: int, state: State) -> TypeOdds:
        average, signature = types.odds[number], types.signature(number)
        if signature not in parts:
            return TypeOdds(average, types.draws[number] or types.peer_draws[number])
        if (signature, state) not in known:
            members = [states for states, _ in parts[signature]]
            known[signature, state] = classify([state], members, width)[0]
        leaf = known[signature, state]
        _, drawn = parts[signature][leaf]
        of_kind = Counter(map(types.kind, average))
        odds = {
            effect: _LEAST_PRIOR * share + drawn[types.kind(effect)] / of_kind[types.kind(effect)]
            for effect, share in average.items()
        }
        whole = sum(odds.values())
        shares = {effect: share / whole for effect, share in odds.items()}
        return TypeOdds(shares, drawn.total(), leaf)

    return odds_in
