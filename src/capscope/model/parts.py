"""Independent parts of outcomes: changes that occur by chance beside different main changes.

Four machines that fail independently give up to sixteen joint outcomes of one request, and an
assistant that now and then deletes some other mail has an outcome for each victim. Such a change is
one *part*: literals over variables, with a probability of its own in every state in which it is
possible. What remains of an effect is its *core*; outcome types are formed from cores only, and a
prediction is the distribution over cores times that of each part.

**Independent or a choice.** Each object may change by itself (`running(z)` becomes false for every
machine that runs), or at most one of them changes in an execution ("one of the other mails").

**Rounds.** An execution that changed nothing may have gone on until something did, as of an agent
that waits for a failure. Where that explains the draws better, probabilities are by round
(`Trials`).

**Conditions.** A probability depends on a small tree of conditions on the part's objects, the
objects of the request, the rest of the state and the core, such as "at least 1 v with conn(z,v) and
not running(v)". Each split has to pay for the number of candidates.

**A part must earn its place.** The draws of a run are predicted one after the other, once by the
part (averaged over Beta(½, ½) in each leaf) and once by joint outcomes with pooled probabilities,
as in `outcome_types`. Only if the first is better by a factor does the part exist. Without
candidates, as in every deterministic world, nothing is computed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from capscope.logic import Atom, Effect, Literal, LiteralTest, State, Vocabulary
from capscope.model.outcome_types import NO_CHANGE, OddsPooling
from capscope.stats.arrays import Floats, Integers, Mask

_MOST_STEPS = 500
_CLOSE = 1e-5
VARIABLES = "?z", "?w"
OTHER = "?v"
ANY = "_"
REQUEST = "request"
INTENT = "intent"
Binding = Mapping[str, str]
"""Objects for the variables of a part, `?z` and `?w`, and of a request, `?x1`, `?x2`, …"""


@dataclass(frozen=True)
class PartCondition:
    """A condition on the state before, the core, or the objects of a part."""

    where: str
    """`state`; `added` or `deleted`: by the core; `nothing`: else changes; `achieved`: the request
    holds before; or `same`."""
    literals: tuple[Literal, ...] = ()
    """Over variables; `?v` is any object, `_` may be a different one each time."""
    least: int = 1
    """The number of objects `?v` of which the literals are true."""
    equal: tuple[str, str] = ("", "")
    """With `same`: two variables, or a variable and an object."""

    def __str__(self) -> str:
        if self.where == "nothing":
            return "nothing else changes"
        if self.where == "achieved":
            return "the request holds already"
        if self.where == "same":
            return f"{self.equal[0]} = {self.equal[1]}"
        text = " and ".join(map(str, self.literals))
        many = f"at least {self.least} {OTHER}: " if self.least > 1 else ""
        return many + text + ("" if self.where == "state" else f" {self.where}")

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables that the condition mentions, apart from `?v`."""
        if self.where == "achieved":
            return (INTENT,)
        named = [a for one in self.literals for a in one.atom.arguments] + list(self.equal)
        return tuple(sorted({a for a in named if a.startswith("?") or a == REQUEST} - {OTHER}))

    def tests(self, binding: Binding, vocabulary: Vocabulary) -> tuple[LiteralTest, ...]:
        """Return tests of a state with its core (`joined_with`); `least` of them are to hold."""
        size = len(vocabulary.atoms)
        if self.where == "nothing":
            return (LiteralTest(0, vocabulary.mask << size | vocabulary.mask << 2 * size),)
        if self.where == "achieved":
            masks = (alternative.split("/") for alternative in binding[INTENT].split("|"))
            return tuple(LiteralTest(int(held, 16), int(absent, 16)) for held, absent in masks)
        if self.where == "same":
            left, right = (binding.get(one, one) for one in self.equal)
            return (LiteralTest(0, 0),) if left == right else ()
        shift = {"state": 0, "added": size, "deleted": 2 * size}[self.where]
        tests: dict[LiteralTest, None] = {}
        arguments = [a for one in self.literals for a in one.atom.arguments]
        for other in vocabulary.objects if OTHER in arguments else ("",):
            bound = {**binding, OTHER: other}
            choices = [_groundings(one, bound, vocabulary) for one in self.literals]
            for literals in itertools.product(*choices):
                required, forbidden = vocabulary.literal_masks(literals)
                tests[LiteralTest(required << shift, forbidden << shift)] = None
        return tuple(tests)


def _groundings(literal: Literal, binding: Binding, vocabulary: Vocabulary) -> list[Literal]:
    """Return the literals that one over variables stands for; `_` is any object."""
    arguments = tuple(binding.get(a, a) for a in literal.atom.arguments)
    if ANY not in arguments:
        atom = Atom(literal.atom.predicate, arguments)
        return [Literal(atom, literal.positive)] if atom in vocabulary.bit else []
    return [
        Literal(atom, literal.positive)
        for atom in vocabulary.groundings(literal.atom.predicate)
        if all(a in (ANY, b) for a, b in zip(arguments, atom.arguments, strict=True))
    ]


class PartRate(NamedTuple):
    """The probability of a part under a condition."""

    condition: tuple[tuple[PartCondition, bool], ...]
    """Conditions and whether each holds; the first rate that fits is the one that counts."""
    hits: int
    """Of an independent part: instances that changed. Of a choice: executions with one."""
    draws: int
    """Instances, or executions, in which it could have happened."""
    pooling: OddsPooling | None = None
    """How far the rate counts for a pair that was tried; None if no pair was tried again."""

    @property
    def probability(self) -> float:
        """The posterior mean; 0 for what never happened."""
        return (self.hits + 0.5) / (self.draws + 1.0) if self.hits else 0.0

    def of(self, hits: int, draws: int) -> float:
        """Return the probability in a pair with these draws."""
        if not draws or self.pooling is None:
            return self.probability
        odds = {True: self.probability, False: 1.0 - self.probability}
        return self.pooling.odds_of({True: hits, False: draws - hits}, odds)[True]


Shown = tuple[int, int]
"""How often a part happened and could have happened."""


@dataclass(frozen=True)
class Part:
    """A change that occurs by chance beside different main changes."""

    literals: tuple[Literal, ...]
    """What becomes true, over the variables `?z` and `?w`; it is possible if none of it holds."""
    types: tuple[tuple[str, str], ...] = ()
    """Each variable with the type of its objects."""
    also: tuple[Literal, ...] = ()
    """What else becomes true, as far as it is not."""
    choice: bool = False
    """Whether at most one instance changes in an execution; otherwise each does by itself."""
    requested: bool = False
    """Whether it happens to what is requested too, by chance like to anything else."""
    among: tuple[tuple[PartCondition, bool], ...] = ()
    """Of a choice: conditions that each chosen instance met."""
    preferences: tuple[tuple[tuple[str, ...], float], ...] = ()
    """Of a choice: weights of objects, if the evidence shows that some are preferred."""
    rates: tuple[PartRate, ...] = ()
    """Probabilities by condition."""
    idle: tuple[PartRate, ...] = ()
    """If an execution goes on until something changes: how often nothing did, of the executions in
    which only parts could happen. The rates are then those of one round (`Trials`)."""
    occurrences: int = 0
    """How often it happened: the number of instances."""
    executions: int = 0
    """The executions in which it could have happened."""
    earlier: tuple[Shown, ...] = ()
    """For each rate, how often it happened and could have in another instance."""

    def carried_over(self) -> Part:
        """Return the part for another instance, where its numbers are what was seen before."""
        earlier = tuple((rate.hits, rate.draws) for rate in self.rates)
        return replace(self, earlier=earlier, occurrences=0, executions=0)

    def __str__(self) -> str:
        kind = "one of " if self.choice else ""
        rates = "; ".join(
            f"{rate.probability:.2f} ({rate.hits} of {rate.draws})"
            + (" if " if rate.condition else "")
            + ", ".join(str(c) if held else f"not [{c}]" for c, held in rate.condition)
            for rate in self.rates
        )
        return f"{kind}{', '.join(map(str, (*self.literals, *self.also)))}: {rates}"

    @property
    def predicates(self) -> frozenset[str]:
        """The names of the predicates that it mentions."""
        among = [*self.among, *(one for rate in self.rates for one in rate.condition)]
        conditions = (literal for one, _ in among for literal in one.literals)
        every = (*self.literals, *self.also, *conditions)
        return frozenset(literal.atom.predicate for literal in every)

    @property
    def change(self) -> tuple[object, ...]:
        """What the part changes and how, without the numbers."""
        return self.literals, self.also, self.choice


class PartInstance(NamedTuple):
    """A part with objects for its variables."""

    objects: tuple[str, ...]
    base: Effect
    """What happens only if it changes something."""
    whole: Effect
    """With what else happens then."""
    requested: bool
    """Whether it may be what was requested."""

    def possible(self, state: State, own: LiteralTest, core: Effect = NO_CHANGE) -> bool:
        """Return whether a part can happen in a state beside a core; `own` is the request."""
        adds, deletes = self.base
        return (
            not state & adds
            and state & deletes == deletes
            and (self.requested or not self.is_asked(own))
            and not (adds & core.adds or deletes & core.deletes)
        )

    def is_asked(self, own: LiteralTest) -> bool:
        """Return whether it makes a literal of the request true."""
        return bool(self.whole.adds & own.required or self.whole.deletes & own.forbidden)

    def within(self, state: State, effect: Effect) -> Effect | None:
        """Return the share of the part in an effect; None if it is not among the changes."""
        mine = Effect.between(state, self.whole.apply(state))
        return mine if mine.without(effect) == NO_CHANGE else None


def bound(instance: PartInstance, binding: Binding) -> Binding:
    """Return the objects of a request together with those of a part."""
    return {**binding, **dict(zip(VARIABLES, instance.objects, strict=False))}


def renamed(literal: Literal, names: Mapping[str, str]) -> Literal:
    """Replace objects by variables, or the reverse."""
    arguments = tuple(names.get(a, a) for a in literal.atom.arguments)
    return Literal(Atom(literal.atom.predicate, arguments), literal.positive)


def joined_with(state: State, core: Effect, size: int) -> int:
    """Return a state and a core as one number, for the tests of conditions."""
    return state | core.adds << size | core.deletes << 2 * size


def instances(part: Part, vocabulary: Vocabulary) -> list[PartInstance]:
    """Return a part for all objects that its variables may stand for."""
    found = []
    choices = [vocabulary.objects_of(kind) for _, kind in part.types]
    for objects in itertools.product(*choices):
        if len(set(objects)) == len(objects):
            binding = dict(zip(VARIABLES, objects, strict=False))
            base, more = (
                [x for one in literals for x in _groundings(one, binding, vocabulary)]
                for literals in (part.literals, part.also)
            )
            if len(base) == len(part.literals):
                first = Effect(*vocabulary.literal_masks(base))
                whole = first.joined(Effect(*vocabulary.literal_masks(more)))
                found.append(PartInstance(objects, first, whole, part.requested))
    return found


def split(
    choice: bool, every: Iterable[PartInstance], state: State, own: LiteralTest, effect: Effect
) -> tuple[list[PartInstance], Effect]:
    """Return the instances of a part among the changes of an effect, and the other changes.

    Of a choice, several instances are not its doing.
    """
    hits, rest = [], effect
    for one in every:
        if one.possible(state, own):
            mine = one.within(state, effect)
            if mine is not None:
                hits.append(one)
                rest = rest.without(mine)
    return ([], effect) if choice and len(hits) > 1 else (hits, rest)


class Trials(NamedTuple):
    """What could have happened in some executions: a row for each instance of a part.

    If executions go on until something changes, the instances are independent in each round, but
    not in an execution. The rates by round that explain the executions best are found by
    expectation maximization: given rates, an execution took on average `1 / (1 - none)` rounds,
    where `none` is the probability of a round without change.
    """

    of: Integers
    """The execution of each row, or several that went alike."""
    hits: Integers
    """How often the instance changed."""
    times: Integers
    """How often each execution occurred; 0 if it does not tell about the rates."""
    went_on: Mask
    """Of each execution: whether nothing else changed, so that it may have had more rounds."""

    def rounds(self, rates: Floats) -> Floats:
        """Return the expected number of rounds of each execution, given the rate of each row."""
        sizes = len(self.times)
        with np.errstate(divide="ignore"):
            none = np.exp(np.bincount(self.of, np.log1p(-np.minimum(rates, 1.0)), minlength=sizes))
        changes = np.where(self.went_on, 1.0 - none, 1.0)
        return 1.0 / np.maximum(changes, _CLOSE)

    def rates(self, leaf: Integers) -> tuple[Floats, Floats]:
        """Return the rates by round.

        Args:
            leaf: The number of the rate of each row.

        Returns:
            The rates, and the expected rounds of each execution.
        """
        size = int(leaf.max(initial=-1)) + 1
        times = self.times
        hits = np.bincount(leaf, np.where(times[self.of], self.hits, 0), minlength=size)
        draws = np.bincount(leaf, times[self.of], minlength=size)
        rates, rounds = _posterior(hits, draws), np.ones(len(times))
        for _ in range(_MOST_STEPS if self.went_on.any() else 0):
            rounds = self.rounds(rates[leaf])
            draws = np.bincount(leaf, (times * rounds)[self.of], minlength=size)
            before, rates = rates, _posterior(hits, draws)
            if np.abs(rates - before).max(initial=0.0) < _CLOSE:
                break
        return rates, rounds


def _posterior(hits: Floats | Integers, draws: Floats | Integers) -> Floats:
    return np.where(hits > 0, (hits + 0.5) / (draws + 1.0), 0.0)
