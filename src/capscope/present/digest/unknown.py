"""What remains unknown after a run, in sentences with their numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from capscope.analysis.findings.finding import joined
from capscope.present.aliasing import aliasing_notes
from capscope.present.digest.capabilities import standing_of
from capscope.present.digest.record import Record
from capscope.present.digest.reliability import it, was
from capscope.present.digest.shape import Standing
from capscope.present.initial_positions import initial_position_notes
from capscope.present.text import CapabilityView, counted
from capscope.strategy.verdict import Verdict

_MOST_NAMED = 3


def unknown_sentences(record: Record, views: Sequence[CapabilityView]) -> Iterator[str]:
    """Say what was never tried, and what the evidence leaves open where something was."""
    graph = record.graph
    if not graph.pairs_tried:
        yield "Everything: nothing was executed to its end yet."
        return
    pairs = len(graph.nodes) * len(graph.capabilities)
    untried = pairs - graph.pairs_tried
    seen = f"{counted(pairs, 'pair')} of a state seen and a capability"
    if untried:
        yield (
            f"Of the {seen}, {untried:,} ({_share(untried, pairs)}) {was(untried)} never tried; "
            "what happens there is unknown."
        )
    else:
        yield f"Every one of the {seen} was tried at least once."
    never = [view for view in views if standing_of(view) is Standing.UNTRIED]
    if never:
        names = [str(view.intent) for view in never[:_MOST_NAMED]]
        more = len(never) - len(names)
        yield (
            f"{counted(len(never), 'capability')} {was(len(never))} never executed where "
            f"{it(len(never))} did not hold already: "
            f"{joined([*names, f'{more:,} more'] if more else names)}."
        )
    yield "Nothing is known of states that the run never came to."
    aliasing = aliasing_notes(record.aliasing, graph.always)
    for note in (*initial_position_notes(record.reading.initial_positions), *aliasing):
        yield f"{note[0].upper()}{note[1:]}."
    yield from _verdict(record.reading.verdict)
    cut = int(record.table.cut.sum())
    if cut:
        yield f"{counted(cut, 'execution')} {was(cut)} cut short by a budget and tell nothing."


def _verdict(verdict: Verdict) -> Iterator[str]:
    """Put what the evidence settles into words for those who never saw the method."""
    if verdict.reached:
        yield (
            "Within what was tried the evidence is settled by the run's own measure: with "
            f"probability {1 - verdict.delta:g} no outcome with a chance above "
            f"{verdict.epsilon:g} was missed, and with the same probability the probabilities of "
            f"all rules with several outcomes are known to within {verdict.precision:g}."
        )
    else:
        still = list(_still_open(verdict))
        yield (
            f"The evidence is still open by the run's own measure: {', and '.join(still)}."
            if still
            else "Where something was tried, the evidence is settled by the run's own measure; "
            "what was never tried keeps the whole of it open."
        )
    yield (
        "That measure takes a capability to be as reliable in one state as it has proved in others "
        "like it; it is no guarantee against the worst case."
    )


def _still_open(verdict: Verdict) -> Iterator[str]:
    if verdict.hidden > verdict.delta:
        number = f"{verdict.hidden:.2g}"
        yield (
            f"{number} {'outcome' if number == '1' else 'outcomes'} with a chance above "
            f"{verdict.epsilon:g} {'is' if number == '1' else 'are'} expected to have been missed"
        )
    if verdict.imprecise:
        rules = counted(verdict.imprecise, "rule")
        yield f"the probabilities of {rules} are not yet known to within {verdict.precision:g}"
    if verdict.thin:
        pairs = counted(verdict.thin, "pair")
        yield f"{pairs} {was(verdict.thin)} tried less often than was asked for (--min-draws)"


def _share(part: int, whole: int) -> str:
    """Say a share so that neither nothing nor everything is said of a part."""
    percent = 100 * part / whole
    return (
        "under 0.1 %" if percent < 0.1 else "over 99.9 %" if percent > 99.9 else f"{percent:.1f} %"
    )
