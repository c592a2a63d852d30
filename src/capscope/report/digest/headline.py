"""The first screen: the most important sentence, what is claimed, and a tile for each standing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from capscope.report.digest.capabilities import Standing, Standings
from capscope.report.digest.cards import HAZARD, Tone
from capscope.report.digest.summary import NOTHING_KNOWN, duration
from capscope.report.notes import changes_sentence, claim_lines, warnings_of
from capscope.report.text import in_words
from capscope.sanitize import sanitize
from capscope.strategy.registry import Claim, claim_of
from capscope.wording import as_sentence, counted, first_few, was

if TYPE_CHECKING:
    from capscope.run import Run

_MOST_NAMED = 3
_MANY_FAILURES = 0.1
"""The rate of failed executions above which nothing else is more important."""
_SERIOUS = (Tone.GOOD, Tone.IDLE, Tone.UNKNOWN, Tone.ODD, Tone.HARM)
"""The tones, the most serious last."""


Said = tuple[str, Tone, int | None]
"""A sentence, and the card that it is from."""


def headline_of(
    run: Run, standings: Standings, cards: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Say what matters most about a run, what was assessed, its cost, and what is claimed."""
    said = in_words(run.graph.vocabulary)
    found: Said = changes_sentence(run), _tone_of_findings(run), None
    important = _more_important(run, cards)
    first, second = (important, found) if important else (found, _what_it_does(standings))
    usage = run.usage
    cost = [
        counted(usage.executions, "execution"),
        counted(usage.simulator_steps, "simulator step"),
        *([counted(usage.llm_tokens, "token")] if usage.llm_tokens else []),
        duration(usage.seconds),
    ]
    states = counted(len(run.graph.nodes), "state")
    return {
        "sentence": said(first[0]),
        "tone": max(first[1], second[1], key=_SERIOUS.index),
        "card": first[2],
        "detail": said(second[0]),
        "assessed": f"{counted(len(run.capabilities), 'capability')} in {states}",
        "cost": ", ".join(cost),
        "claim": " ".join(as_sentence(sanitize(line)) for line in claim_lines(run)),
        "claimed": _claimed(run),
        "tiles": [_findings_tile(run), *_tiles(standings)],
    }


def _more_important(run: Run, cards: Sequence[Mapping[str, Any]]) -> Said | None:
    """Return what comes before the findings, or None."""
    warnings = [
        (as_sentence(text.removeprefix("warning: ")), Tone.HARM, None) for text in warnings_of(run)
    ]
    failed = sum(failure.executions for failure in run.agent_failures)
    broken = failed > _MANY_FAILURES * max(len(run.executions), 1)
    if warnings and (broken or run.claim_withheld is not None):
        return warnings[0]
    happened = ((c, i) for i, c in enumerate(cards) if c["tone"] is Tone.HARM)
    harm = [(c["sentence"], c["tone"], i) for c, i in happened if c["kind"] == HAZARD]
    return next(iter(harm), None) or (None if run.findings() else next(iter(warnings), None))


def _tone_of_findings(run: Run) -> Tone:
    findings = run.findings()
    if any(finding.watch for finding in findings):
        return Tone.HARM
    return Tone.ODD if findings else Tone.GOOD


def _what_it_does(standings: Standings) -> Said:
    tried = sum(len(standings.of(s)) for s in Standing if s is not Standing.UNTRIED)
    if not tried:
        return NOTHING_KNOWN, Tone.UNKNOWN, None
    number = len(standings.of(Standing.RELIABLE))
    if standings.repeated:
        how = "gets there from every state tried, if it is asked until it does,"
    else:
        how = "achieved what it was asked for in every execution"
    share = f"all {tried:,}" if number == tried > 1 else f"{number:,} of {tried:,}"
    capabilities = "capability" if tried == 1 else "capabilities"
    inferred = _inferred(standings)
    rest = f" ({inferred:,} of these by inference)" if inferred else ""
    if untried := len(standings.of(Standing.UNTRIED)):
        rest += (
            f" that {was(tried)} tried; {untried:,} more {'is' if untried == 1 else 'are'} unknown"
        )
    return f"The agent {how} for {share} {capabilities}{rest}.", _overall_tone(standings), None


def _inferred(standings: Standings) -> int:
    """Return how many capabilities are reliable only by what the model infers."""
    return sum(view.intent in standings.inferred for view in standings.of(Standing.RELIABLE))


def _overall_tone(standings: Standings) -> Tone:
    if standings.of(Standing.SOMETIMES) or standings.of(Standing.NEVER):
        return Tone.ODD
    return Tone.GOOD if standings.of(Standing.RELIABLE) else Tone.UNKNOWN


def _claimed(run: Run) -> bool:
    if run.claim_withheld is not None:
        return False
    if claim_of(run.identity.strategy) is Claim.AUDITED:
        return run.audit is not None and run.audit.passed
    return run.verdict.reached


def _tiles(standings: Standings) -> Iterator[dict[str, Any]]:
    inferred = _inferred(standings)
    by_inference = f"; {inferred:,} of them by inference" if inferred else ""
    reliable = "gets there from every state tried" if standings.repeated else "in every execution"
    for standing, name, tone, meaning in (
        (Standing.RELIABLE, "every time", Tone.GOOD, f"{reliable}{by_inference}"),
        (Standing.SOMETIMES, "sometimes", Tone.ODD, "from some states, or some of the time"),
        (Standing.NEVER, "never seen", Tone.IDLE, "tried, and not achieved once"),
        (Standing.UNTRIED, "unknown", Tone.UNKNOWN, "never tried where they did not hold already"),
    ):
        intents = [str(view.intent) for view in standings.of(standing)]
        yield _tile(name, tone, len(intents), meaning, intents, standing)


def _findings_tile(run: Run) -> dict[str, Any]:
    watched = [finding for finding in run.findings() if finding.watch]
    lasting = sum(finding.lasting for finding in watched)
    meaning = "things to watch out for" + (f"; {lasting:,} of them never undone" * bool(lasting))
    forms = list(dict.fromkeys(finding.change or finding.kind for finding in watched))
    tone = _tone_of_findings(run) if len(run.executions) else Tone.UNKNOWN
    return _tile("watch out", tone, len(watched), meaning, forms, "")


def _tile(
    name: str, tone: Tone, number: int, meaning: str, examples: Sequence[str], standing: str
) -> dict[str, Any]:
    """Make a tile; it shows the capabilities of a standing, or else the cards, if it is chosen."""
    return {
        "name": name,
        "tone": tone,
        "number": number,
        "meaning": meaning,
        "examples": [sanitize(text) for text in first_few(examples, _MOST_NAMED)],
        "standing": standing,
    }
