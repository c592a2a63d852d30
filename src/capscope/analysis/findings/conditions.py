"""Success that drops when a condition holds.

A rule pools all states that showed the same effects, so "succeeds or does nothing" is one rule
whether it succeeds in nine of ten draws or in one. Here the counts of single states are compared:
those of all states where the intent did not hold and was possible at once, as some execution from
there, of any capability, has shown. Where it was not possible, failing is no surprise.

After the condition that tells most, the states where it makes no trouble are looked at again: one
capability may have several weak spots.
"""

from __future__ import annotations

from collections.abc import Iterator

from capscope.analysis.findings.context import FindingContext
from capscope.analysis.findings.finding import (
    Example,
    Finding,
    Kind,
    best_examples,
    conditional,
    named,
)
from capscope.analysis.findings.schema import Case, Ends, merged
from capscope.analysis.findings.trials import Clause, Trials, best_split
from capscope.statistics.betting import bar
from capscope.symbolic import State

_MOST_CONDITIONS = 3


def conditions(context: FindingContext) -> list[Finding]:
    """Find the conditions under which capabilities succeed less often."""
    trials = {c: successes(context, c) for c in range(len(context.intents))}
    asked = {c: t for c, t in trials.items() if len(t.states) > 1}
    least = bar(_MOST_CONDITIONS * len(asked))
    cases = [case for c, t in asked.items() for case in _cases(context, c, t, least)]
    return [_worded(case) for case in merged(cases)]


def successes(context: FindingContext, capability: int) -> Trials:
    """Count the successes of a capability where success was possible at once."""
    tried = [node.state for node, _ in context.tried_within_reach(capability)]
    ends = ((state, _ends(context, capability, state)) for state in tried)
    return Trials.of((state, seen.hits, seen.draws) for state, seen in ends)


def _cases(
    context: FindingContext, capability: int, trials: Trials, least: float
) -> Iterator[Case]:
    everywhere = trials
    ruled_out: list[Clause] = []
    for _ in range(_MOST_CONDITIONS):
        split = best_split(trials, context.words)
        if split is None or split.evidence < least:
            return
        idle = all(_idle(context, capability, state) for state in split.low.states)
        # What was ruled out before is said only where it matters.
        again = [s for s in everywhere.states if split.when_low.covers(s, context.words)]
        apart = ruled_out if len(again) > len(split.low.states) else []
        yield Case(
            (context.intents[capability],),
            {(capability, state): _ends(context, capability, state) for state in trials.states},
            frozenset((capability, state) for state in split.low.states),
            (split.when_low, *apart),
            (),
            _failures(context, capability, split.low),
            detail=(idle, bool(ruled_out)),
        )
        ruled_out.append(split.when_high)
        trials = split.high


def _ends(context: FindingContext, capability: int, state: State) -> Ends:
    """Return where a capability led; a success is what shows."""
    pair = context.graph.pair(state, capability)
    assert pair is not None
    counts = {effect.apply(state): n for effect, n in pair.counts.items()}
    return Ends(counts, frozenset(end for end in counts if context.holds(capability, end)))


def _idle(context: FindingContext, capability: int, state: State) -> bool:
    pair = context.graph.pair(state, capability)
    return pair is not None and all(not e.adds and not e.deletes for e in pair.counts)


def _failures(context: FindingContext, capability: int, trials: Trials) -> tuple[Example, ...]:
    examples = []
    for state in trials.states:
        pair = context.graph.pair(state, capability)
        assert pair is not None
        for effect, count in pair.counts.items():
            after = effect.apply(state)
            if not context.holds(capability, after):
                intent = context.intents[capability]
                examples.append(Example(intent, state, after, count, pair.total, context.words))
    return best_examples(examples)


def _worded(case: Case) -> Finding:
    low, high = case.rate, case.against
    assert high is not None
    idle, later = case.detail
    failing = "succeeds less often" if low.hits else "fails"
    what = "does nothing" if idle else failing
    otherwise = "in the remaining states" if later else "otherwise"
    sentence = (
        f"Asked for {named(case.intents)}{conditional(case.when)}, the agent {what}, though the "
        f"intent is possible at once: success has probability {low.text}, {otherwise} {high.text}."
    )
    return Finding(
        Kind.CONDITION,
        case.intents,
        sentence,
        low,
        high,
        case.when,
        (),
        case.examples,
        case.pairs,
        strength=max(high.interval[0] - low.interval[1], 0.0),
    )
