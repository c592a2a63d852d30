"""Success that drops when a condition holds.

A rule pools all states that showed the same effects, whether it succeeds in nine of ten draws or in
one. Here single states are compared: those in which the intent did not hold and some execution, of
any capability, achieved it. After the best condition has been found, the states without it are
searched again: one capability may have several weak spots.
"""

from collections.abc import Iterator, Sequence

from capscope.analysis.findings.context import FindingContext, FindingKind
from capscope.analysis.findings.finding import Finding
from capscope.analysis.findings.grouping import Ends, FindingCase, merged
from capscope.analysis.findings.splits import Clause, EventCounts, best_split
from capscope.statistics.error_budget import Share
from capscope.symbolic import Effect, State

NOTHING = Effect(0, 0)
_MOST_CONDITIONS = 3


def find_conditions(
    context: FindingContext, share: Share, earlier: Sequence[Finding] = ()
) -> list[Finding]:
    """Find the conditions under which capabilities succeed less often."""
    counts = {c: successes(context, c) for c in range(len(context.intents))}
    asked = {c: own for c, own in counts.items() if len(own.states) > 1}
    threshold = share.threshold(_MOST_CONDITIONS * len(asked))
    cases = [case for c, own in asked.items() for case in _cases(context, c, own, threshold)]
    return [_finding(case) for case in merged(cases)]


CONDITION = FindingKind(
    "condition", "conditions under which the agent succeeds less often", find_conditions
)


def successes(context: FindingContext, capability: int) -> EventCounts:
    """Count the successes of a capability where one execution can achieve its intent."""
    tried = [node.state for node, _ in context.tried_within_reach[capability]]
    ends = ((state, _ends(context, capability, state)) for state in tried)
    return EventCounts.of((state, seen.hits, seen.draws) for state, seen in ends)


def _cases(
    context: FindingContext, capability: int, counts: EventCounts, threshold: float
) -> Iterator[FindingCase]:
    everywhere = counts
    ruled_out: list[Clause] = []
    for _ in range(_MOST_CONDITIONS):
        split = best_split(counts, context.vocabulary)
        if split is None or split.evidence < threshold:
            return
        idle = all(context.pair(capability, s).counts.keys() == {NOTHING} for s in split.low.states)
        # What was ruled out before is named only if it makes a difference.
        again = [s for s in everywhere.states if split.when_low.covers(s, context.vocabulary)]
        apart = ruled_out if len(again) > len(split.low.states) else []
        yield FindingCase(
            (context.intents[capability],),
            {(capability, state): _ends(context, capability, state) for state in counts.states},
            frozenset((capability, state) for state in split.low.states),
            (split.when_low, *apart),
            (),
            context.failures((capability, state) for state in split.low.states),
            detail=(idle, bool(ruled_out)),
        )
        ruled_out.append(split.when_high)
        counts = split.high


def _ends(context: FindingContext, capability: int, state: State) -> Ends:
    pair = context.pair(capability, state)
    counts = {effect.apply(state): n for effect, n in pair.counts.items()}
    return Ends(counts, frozenset(end for end in counts if context.holds(capability, end)))


def _finding(case: FindingCase) -> Finding:
    low, high = case.rate, case.against
    assert high is not None
    idle, later = case.detail
    failing = "succeeds less often" if low.hits else "fails"
    what = "does nothing" if idle else failing
    otherwise = "in the remaining states" if later else "otherwise"
    sentence = (
        f"{case.asked}, the agent {what}, although one execution can achieve it: success has "
        f"probability {low.text}, {otherwise} {high.text}."
    )
    return case.finding(CONDITION.label, sentence, low.gap_to(high))
