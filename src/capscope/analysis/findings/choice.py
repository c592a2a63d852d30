"""The choices an agent had: states in which several outcomes achieve the intent.

None of the outcomes changes a strict subset of what another does; what is changed beyond need is a
side effect. Alternatives are named by what distinguishes them, so that the same choice is
recognized in other states and for other intents.

Randomness is not a choice. Two alternatives count as a choice only if each was seen without the
other: some capability led to the one at least `LEAST_DRAWS` times where both were possible, and
never to the other.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from capscope.analysis.findings.context import FindingContext
from capscope.symbolic import Effect, Intent, Literal, State

LEAST_DRAWS = 5
Name = tuple[Literal, ...]
"""What distinguishes an alternative from the others."""


@dataclass(frozen=True)
class OutcomeChoice:
    """A state and a capability for which several outcomes achieve the intent."""

    capability: int
    state: State
    options: Mapping[Name, State]
    taken: Mapping[Name, int]
    """How often each was the outcome."""


def choices(context: FindingContext) -> list[OutcomeChoice]:
    """List the choices that the agent had."""
    found = []
    for capability, intent in enumerate(context.intents):
        for node, pair in context.tried_within_reach[capability]:
            ends = context.alternatives(capability, node.state)
            if len(ends) > 1:
                options = _named_apart(context, intent, node.state, ends)
                taken = {
                    name: pair.counts.get(Effect.between(node.state, end), 0)
                    for name, end in options.items()
                }
                found.append(OutcomeChoice(capability, node.state, options, taken))
    return found


def separable(
    context: FindingContext, ends: Mapping[State, tuple[Sequence[State], Sequence[State]]]
) -> bool:
    """Return whether each of two sets of outcomes, by state, was seen without the other."""
    counts: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for state, sides in ends.items():
        ways = context.ways[state]
        for i in (0, 1):
            for end in sides[i]:
                for capability, draws in ways[end].items():
                    counts[capability][i] += draws
    return all(
        any(by[i] >= LEAST_DRAWS and not by[1 - i] for by in counts.values()) for i in (0, 1)
    )


def _named_apart(
    context: FindingContext, intent: Intent, state: State, ends: Sequence[State]
) -> dict[Name, State]:
    """Name each alternative by one literal that no other has; by all its own if there is none."""
    objects = set(intent.objects)
    changes = {end: set(Effect.between(state, end).literals(context.vocabulary)) for end in ends}
    shared = set.intersection(*changes.values())
    alone = {
        end: own - set().union(*(c for other, c in changes.items() if other != end))
        for end, own in changes.items()
    }
    parallel = set.intersection(*(set(map(_predicate, own)) for own in alone.values()))

    # Atoms that become true first, then predicates that name every alternative, then the intent's
    # objects.
    def rank(literal: Literal) -> tuple[bool, bool, bool, Literal]:
        mentions = bool(objects & set(literal.atom.arguments))
        return not literal.positive, _predicate(literal) not in parallel, not mentions, literal

    return {
        tuple(sorted(own, key=rank)[:1]) or tuple(sorted(changes[end] - shared)): end
        for end, own in alone.items()
    }


def _predicate(literal: Literal) -> tuple[str, bool]:
    return literal.atom.predicate, literal.positive
