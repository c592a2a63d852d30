"""Intents achieved in an unusual way although the usual way was available.

How an intent is achieved shows in what else changes. Written with roles for the intent's objects,
such a signature is the same for all intents of one schema. The usual one is that of at least half
of the successful draws, with equal weight for each pair; one at most half as common is unusual.

An unusual way is reported if it is taken more often than by a uniform choice between the two, or
less often but not almost never, where both were available and are a choice (`choice`).
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from capscope.analysis.findings.choice import Name, OutcomeChoice, choices, separable
from capscope.analysis.findings.context import FindingContext, FindingKind
from capscope.analysis.findings.finding import Finding, best_examples, joined
from capscope.analysis.findings.grouping import (
    Ends,
    FindingCase,
    effect_signature,
    merged,
    schema_of,
)
from capscope.analysis.findings.rate import LEAST_RATE, Rate
from capscope.analysis.findings.splits import EventCounts, narrow_down
from capscope.statistics.error_budget import Share
from capscope.symbolic import Effect, State

USUAL = 0.5
RARE = 0.5
"""How common an unusual way may be at most, relative to the usual one."""
Signature = Hashable


@dataclass(frozen=True)
class Fork:
    """A choice between the usual way and an unusual one."""

    choice: OutcomeChoice
    usual: tuple[Name, ...]
    unusual: tuple[Name, ...]

    def ends_of(self, names: Sequence[Name]) -> list[State]:
        """Return where some of the options end."""
        return [self.choice.options[name] for name in names]

    @property
    def row(self) -> tuple[State, int, int]:
        """The state, the draws that took the unusual way, and those that took either."""
        return self.choice.state, self.ends.hits, self.ends.draws

    @cached_property
    def ends(self) -> Ends:
        """Where the draws ended that took either way."""
        options, taken = self.choice.options, self.choice.taken
        counts = {options[name]: taken[name] for name in (*self.usual, *self.unusual)}
        return Ends(counts, frozenset(self.ends_of(self.unusual)))

    @property
    def uniform(self) -> float:
        """How often a uniform choice among the options of both ways takes the unusual one."""
        return len(self.unusual) / (len(self.unusual) + len(self.usual))


class Signatures:
    """The schemas of intents, and the signatures of effects that achieve them."""

    def __init__(self, context: FindingContext) -> None:
        intents, vocabulary = context.intents, context.vocabulary
        self.schemas = [schema_of(intent) for intent in intents]
        # The same few effects occur in many states.
        self.of: Callable[[int, Effect], Signature] = cache(
            lambda capability, effect: effect_signature(intents[capability], effect, vocabulary)
        )


def find_unusual_means(
    context: FindingContext, share: Share, earlier: Sequence[Finding] = ()
) -> list[Finding]:
    """Find the unusual ways in which intents are achieved."""
    signatures = Signatures(context)
    usual, rare = _usual_and_rare(context, signatures)
    forks: dict[tuple[int, Signature], list[Fork]] = defaultdict(list)
    for choice in context.once(choices):
        for signature, fork in _forks(choice, signatures, usual, rare):
            forks[choice.capability, signature].append(fork)
    # Four questions for each: more often, less often, not almost never, and the condition.
    threshold = share.threshold(4 * len(forks))
    cases = [_case(context, group, threshold) for group in forks.values()]
    return [_finding(case) for case in merged(case for case in cases if case is not None)]


MEANS = FindingKind("means", "intents achieved by unusual means", find_unusual_means)


def _usual_and_rare(
    context: FindingContext, signatures: Signatures
) -> tuple[dict[Hashable, Signature], set[tuple[Hashable, Signature]]]:
    """Return the usual signature of each schema of intents, and those that are rare."""
    shares: dict[Hashable, dict[Signature, float]] = defaultdict(lambda: defaultdict(float))
    for capability in range(len(context.intents)):
        own = shares[signatures.schemas[capability]]
        for node, pair in context.tried_within_reach[capability]:
            ends = context.alternatives(capability, node.state)
            achieved = {e: n for e, n in pair.counts.items() if e.apply(node.state) in ends}
            total = sum(achieved.values())
            for effect, n in achieved.items():
                own[signatures.of(capability, effect)] += n / total
    usual: dict[Hashable, Signature] = {}
    rare: set[tuple[Hashable, Signature]] = set()
    for schema, by_signature in shares.items():
        if not by_signature:
            continue
        most = max(by_signature, key=lambda signature: by_signature[signature])
        if by_signature[most] >= USUAL * sum(by_signature.values()):
            usual[schema] = most
            common = RARE * by_signature[most]
            rare |= {(schema, s) for s, share in by_signature.items() if share <= common}
    return usual, rare


def _forks(
    choice: OutcomeChoice,
    signatures: Signatures,
    usual: dict[Hashable, Signature],
    rare: set[tuple[Hashable, Signature]],
) -> Iterator[tuple[Signature, Fork]]:
    """Yield the unusual ways among the options, if the usual one is among them too."""
    schema = signatures.schemas[choice.capability]
    names: dict[Signature, list[Name]] = defaultdict(list)
    for name, end in choice.options.items():
        effect = Effect.between(choice.state, end)
        names[signatures.of(choice.capability, effect)].append(name)
    ordinary = names.get(usual.get(schema))
    if ordinary:
        for signature, unusual in names.items():
            if (schema, signature) in rare:
                yield signature, Fork(choice, tuple(ordinary), tuple(unusual))


def _case(context: FindingContext, forks: list[Fork], threshold: float) -> FindingCase | None:
    capability = forks[0].choice.capability
    ends = {f.choice.state: (f.ends_of(f.usual), f.ends_of(f.unusual)) for f in forks}
    everywhere = EventCounts.of(f.row for f in forks)
    if not everywhere.states or not separable(context, ends):
        return None
    when, counts = narrow_down(everywhere, context.vocabulary, threshold)
    within = set(counts.states)
    inside = [f for f in forks if f.choice.state in within]
    uniform = [f.uniform for f in inside]
    if not _surprising(counts.rate, min(uniform), max(uniform), threshold):
        return None
    shown = sorted(inside, key=lambda f: (-f.row[1], f.row))
    examples = [
        context.example(capability, f.choice.state, f.choice.options[name], f.row[2])
        for f in shown
        for name in f.unusual
        if f.choice.taken[name]
    ]
    return FindingCase(
        (context.intents[capability],),
        {(capability, f.choice.state): f.ends for f in forks if f.row[2]},
        frozenset((capability, state) for state in within),
        tuple(when),
        shown[0].unusual[0],
        best_examples(examples),
        detail=shown[0].usual[0],
    )


def _surprising(rate: Rate, least: float, most: float, threshold: float) -> bool:
    """Return whether the rate differs from every uniform choice and is not almost zero."""
    if rate.clearly_above(most, threshold):
        return True
    usual = Rate(rate.draws - rate.hits, rate.draws, rate.states)
    rarer = usual.clearly_above(1 - least, threshold)
    return rarer and rate.surely_above(LEAST_RATE, threshold)


def _finding(case: FindingCase) -> Finding:
    available = f"although the usual way, by {joined(case.detail)}, was available"
    what = f"achieves it by {case.named_literals}, {available}"
    return case.finding(MEANS.label, case.sentence(what), case.rate.interval[0])
