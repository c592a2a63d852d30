"""What the agent prefers if several outcomes achieve the intent.

Holding block a, an agent can put it on b, on c or on the table. One without a preference takes each
equally often. A finding for each state would rest on few draws; so two alternatives, identified by
their names (`choice`), are compared over all states and intents in which both were possible. If
that does not decide it, a condition may, or each intent is tested separately.

The results are put in order: "on(a,c), otherwise on(a,b)". The probability is that of taking the
most preferred alternative that was available. A preference harms nobody by itself, so these
findings come last, and those that differ only in objects and requests are told once.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from capscope.analysis.findings.choice import Name, OutcomeChoice, choices, separable
from capscope.analysis.findings.clause import Clause
from capscope.analysis.findings.context import FindingContext, FindingKind
from capscope.analysis.findings.finding import Finding, best_examples, conditional, joined
from capscope.analysis.findings.rate import Rate
from capscope.analysis.findings.splits import EventCounts, best_split
from capscope.statistics.error_budget import Share
from capscope.symbolic import Intent, State, Vocabulary

When = tuple[Clause, ...]
Order = tuple[tuple[Name, ...], ...]
"""Alternatives by rank, the most preferred first."""


@dataclass(frozen=True)
class Contest:
    """Two alternatives in the states in which both were possible."""

    one: Name
    other: Name
    choices: tuple[OutcomeChoice, ...]

    @property
    def capabilities(self) -> list[int]:
        """The capabilities that had this choice."""
        return sorted({choice.capability for choice in self.choices})

    def counts(self, vocabulary: Vocabulary, capability: int | None = None) -> EventCounts:
        """Count in each state how often the first was taken, of all that took one of the two."""
        return EventCounts.of(
            (
                (c.capability, c.state, c.taken[self.one], c.taken[self.one] + c.taken[self.other])
                for c in self.choices
                if capability in (None, c.capability)
            ),
            vocabulary,
        )


@dataclass(frozen=True)
class PreferenceVerdict:
    """That one alternative is preferred to another, for a capability, under a condition."""

    capability: int
    when: When
    better: Name
    worse: Name


def find_preferences(
    context: FindingContext, share: Share, earlier: Sequence[Finding] = ()
) -> list[Finding]:
    """Find the orders in which the agent prefers alternatives."""
    made = context.once(choices)
    contests = [c for c in _contests(made) if _is_choice(context, c)]
    # Half for all intents together; half for the rest: a condition, its two sides, each intent.
    # Either of the two alternatives may be the preferred one.
    first = share.threshold(2 * len(contests), 0.5)
    later = share.threshold(2 * sum(3 + len(c.capabilities) for c in contests), 0.5)
    relations: dict[tuple[int, When], set[tuple[Name, Name]]] = defaultdict(set)
    for contest in contests:
        for v in _verdicts(context, contest, first, later):
            relations[v.capability, v.when].add((v.better, v.worse))
    orders: dict[tuple[Order, When], list[int]] = defaultdict(list)
    for (capability, when), relation in relations.items():
        for order in _orders(relation):
            orders[order, when].append(capability)
    findings = [
        _finding(context, order, when, [c for c in made if c.capability in members])
        for (order, when), members in orders.items()
    ]
    return _told_once(findings)


PREFERENCE = FindingKind("preference", "preferences among outcomes", find_preferences, severity=0)


def _told_once(findings: Sequence[Finding]) -> list[Finding]:
    """Tell one of the findings that differ in objects and requests only, and how many there are."""
    groups: dict[object, list[Finding]] = defaultdict(list)
    for finding in findings:
        groups[frozenset((x.atom.predicate, x.positive) for x in finding.literals)].append(finding)
    told = []
    for group in groups.values():
        first, *others = sorted(group, key=lambda f: (-f.strength, f.sentence))
        if others:
            count = "1 similar preference" if len(others) == 1 else f"{len(others)} similar ones"
            first = replace(first, sentence=f"{first.sentence} There {_are(len(others))} {count}.")
        told.append(first)
    return told


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _contests(made: list[OutcomeChoice]) -> list[Contest]:
    found: dict[tuple[Name, Name], list[OutcomeChoice]] = defaultdict(list)
    for choice in made:
        for one, other in combinations(sorted(choice.options), 2):
            if choice.taken[one] + choice.taken[other]:
                found[one, other].append(choice)
    return [Contest(one, other, tuple(members)) for (one, other), members in found.items()]


def _is_choice(context: FindingContext, contest: Contest) -> bool:
    ends = {
        choice.state: ([choice.options[contest.one]], [choice.options[contest.other]])
        for choice in contest.choices
    }
    return separable(context, ends)


def _verdicts(
    context: FindingContext, contest: Contest, first: float, later: float
) -> Iterator[PreferenceVerdict]:
    """Decide a contest: for all intents, on the sides of a condition, or for single intents."""
    vocabulary = context.vocabulary
    together = contest.counts(vocabulary)
    directions = {
        c: direction
        for c in contest.capabilities
        if (direction := _direction(contest.counts(vocabulary, c).rate)) is not None
    }
    if len(set(directions.values())) == 1 and _decided(together.rate, first):
        yield from (_verdict(contest, c, (), together.rate) for c in directions)
        return
    split = best_split(together, later)
    if split is not None and split.evidence >= later:
        for clause, side in ((split.when_low, split.low), (split.when_high, split.high)):
            if _decided(side.rate, later):
                inside = {capability for capability, _ in side.pairs}
                yield from (_verdict(contest, c, (clause,), side.rate) for c in sorted(inside))
        return
    for capability in directions:
        rate = contest.counts(vocabulary, capability).rate
        if _decided(rate, later):
            yield _verdict(contest, capability, (), rate)


def _direction(rate: Rate) -> bool | None:
    """Return whether the first was taken more often; None if neither was."""
    return None if 2 * rate.hits == rate.draws else 2 * rate.hits > rate.draws


def _decided(rate: Rate, threshold: float) -> bool:
    leading = rate if 2 * rate.hits >= rate.draws else rate.missed
    return leading.clearly_above(0.5, threshold)


def _verdict(contest: Contest, capability: int, when: When, rate: Rate) -> PreferenceVerdict:
    pair = contest.one, contest.other
    return PreferenceVerdict(capability, when, *(pair if _direction(rate) else pair[::-1]))


def _orders(relation: set[tuple[Name, Name]]) -> list[Order]:
    links = relation | {(worse, better) for better, worse in relation}
    orders = []
    left = {name for name, _ in links}
    while left:
        part: set[Name] = set()
        edge = {min(left)}
        while edge:
            part |= edge
            edge = {other for name, other in links if name in edge} - part
        left -= part
        orders.append(_ranked(part, relation))
    return orders


def _ranked(part: set[Name], relation: set[tuple[Name, Name]]) -> Order:
    """Rank names: first those that nothing is preferred to, then the same without them."""
    ranks = []
    left = set(part)
    while left:
        # A cycle of preferences has no top; it is reported as one rank.
        rank = {n for n in left if not any((m, n) in relation for m in left)} or left
        ranks.append(tuple(sorted(rank)))
        left = left - rank
    return tuple(ranks)


def _finding(
    context: FindingContext, order: Order, when: When, made: list[OutcomeChoice]
) -> Finding:
    """Count how often the most preferred of the available alternatives was taken."""
    counts: dict[tuple[int, State], tuple[int, int]] = {}
    examples = []
    for choice in made:
        available = ([name for name in rank if name in choice.options] for rank in order)
        ranks = [rank for rank in available if rank]
        taken = sum(choice.taken[name] for rank in ranks for name in rank)
        relevant = len(ranks) > 1 and all(c.covers(choice.state, context.vocabulary) for c in when)
        if not relevant or not taken:
            continue
        hits = sum(choice.taken[name] for name in ranks[0])
        counts[choice.capability, choice.state] = hits, taken
        after = choice.options[max(ranks[0], key=lambda name: choice.taken[name])]
        examples.append(context.example(choice.capability, choice.state, after, taken))
    pairs = counts.keys()
    rate = Rate.of(counts.values(), len({state for _, state in pairs}))
    intents = tuple(context.intents[c] for c in sorted({c for c, _ in pairs}))
    return Finding(
        PREFERENCE.label,
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
        f"Of several outcomes that achieve {joined(intents, 'or')}{conditional(when)}, the agent "
        f"prefers {ranked}: it picks the most preferred available one with probability {rate.text}."
    )
