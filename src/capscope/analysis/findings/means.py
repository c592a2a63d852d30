"""Intents achieved in an unusual way although the usual way was open.

How an intent is achieved shows in what else changes: moving away from a tree changes the place,
felling it ends the tree. Written with roles for the intent's objects, such a signature is the same
for all intents of one predicate and sign, so what is usual is learned from all of them: the
signature with at least half of the achieving draws, each pair of state and intent counting alike.
One that is at most half as common is unusual.

An unusual way is no surprise where there was no other, nor where it is taken as often as an even
choice between the two would take it. Reported is what is taken more often than that, or less often
but not never, where both were open (seen from that state) and both are a choice (`choice.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from capscope.analysis.findings.choice import Choice, Name, separable
from capscope.analysis.findings.context import FindingContext
from capscope.analysis.findings.finding import (
    Example,
    Finding,
    Kind,
    best_examples,
    joined,
)
from capscope.analysis.findings.schema import Case, Ends, effect_signature, merged, schema_of
from capscope.analysis.findings.trials import Trials, refined
from capscope.statistics.betting import (
    LEAST_RATE,
    Rate,
    bar,
    clearly_above,
    evidence_above,
)
from capscope.symbolic import Effect, State

USUAL = 0.5
RARE = 0.5
"""The most that an unusual way may be as common as the usual one."""
Signature = Hashable


@dataclass(frozen=True)
class Fork:
    """A choice between the usual way and an unusual one."""

    choice: Choice
    usual: tuple[Name, ...]
    unusual: tuple[Name, ...]

    @property
    def row(self) -> tuple[State, int, int]:
        """The state, the draws that took the unusual way, and those that took either."""
        taken = self.choice.taken
        hits = sum(taken[name] for name in self.unusual)
        return self.choice.state, hits, hits + sum(taken[name] for name in self.usual)

    @property
    def ends(self) -> Ends:
        """Where the draws ended that took either way."""
        options, taken = self.choice.options, self.choice.taken
        counts = {options[name]: taken[name] for name in (*self.usual, *self.unusual)}
        return Ends(counts, frozenset(options[name] for name in self.unusual))

    @property
    def even(self) -> float:
        """How often an even choice among the options of both ways takes the unusual one."""
        return len(self.unusual) / (len(self.unusual) + len(self.usual))


class Signatures:
    """The signatures of effects; the same few effects are met in many states."""

    def __init__(self, context: FindingContext) -> None:
        self._intents, self._words = context.intents, context.words
        self._schemas = [schema_of(intent) for intent in context.intents]
        self._known: dict[tuple[int, Effect], Signature] = {}

    def schema(self, capability: int) -> Hashable:
        """Return the schema of a capability's intent."""
        return self._schemas[capability]

    def of(self, capability: int, effect: Effect) -> Signature:
        """Return the signature of an effect that achieves the intent of a capability."""
        if (capability, effect) not in self._known:
            found = effect_signature(self._intents[capability], effect, self._words)
            self._known[capability, effect] = found
        return self._known[capability, effect]


def means(context: FindingContext, made: list[Choice]) -> list[Finding]:
    """Find the unusual ways in which intents are achieved."""
    signatures = Signatures(context)
    usual, rare = _habits(context, signatures)
    forks: dict[tuple[int, Signature], list[Fork]] = defaultdict(list)
    for choice in made:
        for signature, fork in _forks(choice, signatures, usual, rare):
            forks[choice.capability, signature].append(fork)
    least = bar(4 * len(forks))
    cases = [_case(context, group, least) for group in forks.values()]
    return [_worded(case) for case in merged(case for case in cases if case is not None)]


def _habits(
    context: FindingContext, signatures: Signatures
) -> tuple[dict[Hashable, Signature], set[tuple[Hashable, Signature]]]:
    """Return the usual signature of each schema of intents, and those that are rare."""
    shares: dict[Hashable, dict[Signature, float]] = defaultdict(lambda: defaultdict(float))
    for capability in range(len(context.intents)):
        own = shares[signatures.schema(capability)]
        for node, pair in context.tried_within_reach(capability):
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
    choice: Choice,
    signatures: Signatures,
    usual: dict[Hashable, Signature],
    rare: set[tuple[Hashable, Signature]],
) -> Iterator[tuple[Signature, Fork]]:
    """Yield the unusual ways among the options, if the usual one is among them too."""
    schema = signatures.schema(choice.capability)
    names: dict[Signature, list[Name]] = defaultdict(list)
    for name, end in choice.options.items():
        effect = Effect.between(choice.state, end)
        names[signatures.of(choice.capability, effect)].append(name)
    ordinary = names.get(usual.get(schema))
    if ordinary:
        for signature, unusual in names.items():
            if (schema, signature) in rare:
                yield signature, Fork(choice, tuple(ordinary), tuple(unusual))


def _case(context: FindingContext, forks: list[Fork], least: float) -> Case | None:
    capability = forks[0].choice.capability
    ends = {
        f.choice.state: (
            [f.choice.options[name] for name in f.usual],
            [f.choice.options[name] for name in f.unusual],
        )
        for f in forks
    }
    everywhere = Trials.of(f.row for f in forks)
    if not everywhere.states or not separable(context, ends):
        return None
    when, trials = refined(everywhere, context.words, least)
    within = set(trials.states)
    evens = [f.even for f in forks if f.choice.state in within]
    if not _surprising(trials.rate, min(evens), max(evens), least):
        return None
    intent = context.intents[capability]
    shown = sorted((f for f in forks if f.choice.state in within), key=lambda f: (-f.row[1], f.row))
    first = shown[0]
    examples = [
        Example(
            intent,
            f.choice.state,
            f.choice.options[name],
            f.choice.taken[name],
            f.row[2],
            context.words,
        )
        for f in shown
        for name in f.unusual
        if f.choice.taken[name]
    ]
    return Case(
        (intent,),
        {(capability, f.choice.state): f.ends for f in forks if f.row[2]},
        frozenset((capability, state) for state in within),
        tuple(when),
        first.unusual[0],
        best_examples(examples),
        detail=first.usual[0],
    )


def _surprising(rate: Rate, least_even: float, most_even: float, least: float) -> bool:
    """Say whether the rate differs from every even choice and is not next to nothing."""
    if clearly_above(rate, most_even, least):
        return True
    usual = Rate(rate.draws - rate.hits, rate.draws, rate.states)
    seldom = clearly_above(usual, 1 - least_even, least)
    return seldom and evidence_above(rate, LEAST_RATE) >= least


def _worded(case: Case) -> Finding:
    usual = joined(case.detail)
    what = f"achieves it by {case.named_literals}, though the usual way, by {usual}, was open"
    return case.told(Kind.MEANS, what)
