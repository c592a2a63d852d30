"""What the agent prefers where several outcomes would do.

Holding block a, an agent can put it on b, on c or on the table. One without a preference takes each
as often as any other. One finding for each state would be unreadable, and each would rest on few
draws; so two alternatives, known by their names (`choice.py`), are compared over all states where
both were possible, and over all intents together: the same placing serves `not holding(a)` and
`handempty(robot)`. Where that does not settle it, a condition may (the agent takes the block on the
table, whichever that is); and where it does not either, each intent is asked for itself.

What was settled is put in order: "on(a,c), otherwise on(a,b)". The probability is that of taking
the most preferred alternative that was possible.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from capscope.analysis.findings.choice import Choice, Name, separable
from capscope.analysis.findings.context import FindingContext
from capscope.analysis.findings.finding import (
    Example,
    Finding,
    Kind,
    best_examples,
    conditional,
    joined,
)
from capscope.analysis.findings.trials import Clause, Trials, best_split
from capscope.statistics.betting import Rate, bar, clearly_above
from capscope.symbolic import Intent, State

When = tuple[Clause, ...]
Order = tuple[tuple[Name, ...], ...]
"""Alternatives by rank, the most preferred first."""


@dataclass(frozen=True)
class Contest:
    """Two alternatives in the states where both were possible."""

    one: Name
    other: Name
    choices: tuple[Choice, ...]

    @property
    def capabilities(self) -> list[int]:
        """The capabilities that had this choice."""
        return sorted({choice.capability for choice in self.choices})

    def trials(self, capability: int | None = None) -> Trials:
        """Count in each state how often the first was taken, of all that took one of the two."""
        rows: dict[State, list[int]] = {}
        for choice in self.choices:
            if capability in (None, choice.capability):
                row = rows.setdefault(choice.state, [0, 0])
                row[0] += choice.taken[self.one]
                row[1] += choice.taken[self.one] + choice.taken[self.other]
        return Trials.of((state, hits, draws) for state, (hits, draws) in rows.items())


@dataclass(frozen=True)
class Verdict:
    """That one alternative is preferred to another, for a capability, under a condition."""

    capability: int
    when: When
    better: Name
    worse: Name


def preferences(context: FindingContext, made: list[Choice]) -> list[Finding]:
    """Find the orders in which the agent prefers alternatives."""
    contests = [c for c in _contests(made) if _is_choice(context, c)]
    # Half of the error rate for all intents together; half for the rest: a condition, its two
    # sides, each intent. Either of the two alternatives may come out on top.
    first = bar(2 * 2 * len(contests))
    later = bar(2 * 2 * sum(3 + len(contest.capabilities) for contest in contests))
    relations: dict[tuple[int, When], set[tuple[Name, Name]]] = defaultdict(set)
    for contest in contests:
        for v in _verdicts(context, contest, first, later):
            relations[v.capability, v.when].add((v.better, v.worse))
    orders: dict[tuple[Order, When], list[int]] = defaultdict(list)
    for (capability, when), relation in relations.items():
        for order in _orders(relation):
            orders[order, when].append(capability)
    return [
        _finding(context, order, when, [c for c in made if c.capability in members])
        for (order, when), members in orders.items()
    ]


def _contests(made: list[Choice]) -> Iterator[Contest]:
    found: dict[tuple[Name, Name], list[Choice]] = defaultdict(list)
    for choice in made:
        options = sorted(choice.options)
        for i, one in enumerate(options):
            for other in options[i + 1 :]:
                if choice.taken[one] + choice.taken[other]:
                    found[one, other].append(choice)
    for (one, other), choices in found.items():
        yield Contest(one, other, tuple(choices))


def _is_choice(context: FindingContext, contest: Contest) -> bool:
    ends = {
        choice.state: ([choice.options[contest.one]], [choice.options[contest.other]])
        for choice in contest.choices
    }
    return separable(context, ends)


def _verdicts(
    context: FindingContext, contest: Contest, first: float, later: float
) -> Iterator[Verdict]:
    """Settle a contest: for all intents, on the sides of a condition, or for single intents."""
    together = contest.trials()
    directions = {
        c: direction
        for c in contest.capabilities
        if (direction := _direction(contest.trials(c).rate)) is not None
    }
    if len(set(directions.values())) == 1 and _settled(together.rate, first):
        yield from (_verdict(contest, c, (), together.rate) for c in directions)
        return
    split = best_split(together, context.words)
    if split is not None and split.evidence >= later:
        for clause, side in ((split.when_low, split.low), (split.when_high, split.high)):
            if _settled(side.rate, later):
                inside = {c.capability for c in contest.choices if c.state in set(side.states)}
                yield from (_verdict(contest, c, (clause,), side.rate) for c in sorted(inside))
        return
    for capability in directions:
        rate = contest.trials(capability).rate
        if _settled(rate, later):
            yield _verdict(contest, capability, (), rate)


def _direction(rate: Rate) -> bool | None:
    """Say whether the first was taken more often; None if neither was."""
    return None if 2 * rate.hits == rate.draws else 2 * rate.hits > rate.draws


def _settled(rate: Rate, least: float) -> bool:
    most = max(rate.hits, rate.draws - rate.hits)
    return clearly_above(Rate(most, rate.draws, rate.states), 0.5, least)


def _verdict(contest: Contest, capability: int, when: When, rate: Rate) -> Verdict:
    pair = contest.one, contest.other
    return Verdict(capability, when, *(pair if _direction(rate) else pair[::-1]))


def _orders(relation: set[tuple[Name, Name]]) -> list[Order]:
    """Turn a relation into orders, one for each part that hangs together."""
    linked: dict[Name, set[Name]] = defaultdict(set)
    for one, other in relation:
        linked[one].add(other)
        linked[other].add(one)
    orders = []
    left = set(linked)
    while left:
        part: set[Name] = set()
        edge = {min(left)}
        while edge:
            part |= edge
            edge = {n for name in edge for n in linked[name]} - part
        left -= part
        orders.append(_ranked(part, relation))
    return orders


def _ranked(part: set[Name], relation: set[tuple[Name, Name]]) -> Order:
    """Rank names: first those that nothing is preferred to, then the same without them."""
    ranks = []
    left = set(part)
    while left:
        top = {n for n in left if not any((m, n) in relation for m in left)}
        # A circle of preferences has no top; it is told as one rank.
        rank = top or left
        ranks.append(tuple(sorted(rank)))
        left = left - rank
    return tuple(ranks)


def _finding(context: FindingContext, order: Order, when: When, made: list[Choice]) -> Finding:
    """Count how often the most preferred of those possible was taken."""
    hits = draws = 0
    pairs: set[tuple[int, State]] = set()
    examples = []
    for choice in made:
        ranks = [r for r in (_open(rank, choice.options) for rank in order) if r]
        taken = sum(choice.taken[name] for rank in ranks for name in rank)
        relevant = len(ranks) > 1 and all(c.covers(choice.state, context.words) for c in when)
        if not relevant or not taken:
            continue
        hits += sum(choice.taken[name] for name in ranks[0])
        draws += taken
        pairs.add((choice.capability, choice.state))
        best = max(ranks[0], key=lambda name: choice.taken[name])
        intent, after = context.intents[choice.capability], choice.options[best]
        count = choice.taken[best]
        examples.append(Example(intent, choice.state, after, count, taken, context.words))
    rate = Rate(hits, draws, len({state for _, state in pairs}))
    intents = tuple(context.intents[c] for c in sorted({c for c, _ in pairs}))
    return Finding(
        Kind.PREFERENCE,
        intents,
        _sentence(intents, order, when, rate),
        rate,
        None,
        when,
        tuple(literal for rank in order for name in rank for literal in name),
        best_examples(examples),
        frozenset(pairs),
        strength=max(2 * rate.interval[0] - 1, 0.0),
    )


def _sentence(intents: tuple[Intent, ...], order: Order, when: When, rate: Rate) -> str:
    ranks = [joined(map(joined, rank), "or") for rank in order]
    ranked = " to ".join(ranks) if len(ranks) == 2 else ", otherwise ".join(ranks)
    return (
        f"Asked for {joined(intents, 'or')}{conditional(when)}, where several outcomes would do, "
        f"the agent prefers {ranked}: it takes the most preferred that is possible with "
        f"probability {rate.text}."
    )


def _open(rank: tuple[Name, ...], options: Mapping[Name, State]) -> tuple[Name, ...]:
    return tuple(name for name in rank if name in options)
