"""The first screen: the most important sentence, what is claimed, and a tile for each standing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from capscope.insight.agent_failures import agent_failure_warnings
from capscope.insight.changes import headline
from capscope.logic import Phrasing
from capscope.report.digest.capabilities import Standing, Standings
from capscope.report.digest.cards import HAZARD, CardDigest, Tone
from capscope.report.digest.summary import duration
from capscope.report.notes import change_warnings, claim_text
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
_TONES = {
    Standing.RELIABLE: Tone.GOOD,
    Standing.SOMETIMES: Tone.ODD,
    Standing.NEVER: Tone.IDLE,
    Standing.UNTRIED: Tone.UNKNOWN,
}
_NAMES = {
    Standing.RELIABLE: "every time",
    Standing.SOMETIMES: "sometimes",
    Standing.NEVER: "never seen",
    Standing.UNTRIED: "unknown",
}


@dataclass(frozen=True, slots=True)
class TileDigest:
    """How many capabilities, or findings, are of a kind."""

    name: str
    tone: Tone
    number: int
    meaning: str
    examples: tuple[str, ...]
    """Some of the intents."""
    standing: str
    """The capabilities to show when the tile is chosen; empty for the cards."""


@dataclass(frozen=True, slots=True)
class HeadlineDigest:
    """The first screen: what matters most, what was assessed, its cost, and what is claimed."""

    sentence: str
    tone: Tone
    card: int | None
    """The card that the sentence is from."""
    assessed: str
    cost: str
    claim: str
    claimed: bool
    """Whether the claim is a statement with a confidence, and not that there is none."""
    tiles: tuple[TileDigest, ...]
    detail: str = ""
    """The numbers behind the sentence."""


def headline_of(run: Run, standings: Standings, cards: Sequence[CardDigest]) -> HeadlineDigest:
    """Say what matters most about a run."""
    said = Phrasing.of(run.graph.vocabulary).sentence
    changed = headline(run.unrequested_changes, len(run.executions.complete), run.groups_relied_on)
    first = _more_important(run, cards)
    if first is None:
        first, second = Said(changed, _tone_of_changes(run)), _what_it_does(standings)
    else:
        # Whatever comes first, the first screen says what changed beyond the requests.
        second = Said(changed, _tone_of_changes(run))
    return HeadlineDigest(
        said(sanitize(first.sentence)),
        max(first.tone, second.tone, key=_SERIOUS.index),
        first.card,
        sanitize(_assessed(run)),
        sanitize(_cost(run)),
        as_sentence(sanitize(claim_text(run))),
        _claimed(run),
        (_changes_tile(run), *_tiles(standings)),
        said(sanitize(second.sentence)),
    )


class Said(NamedTuple):
    """A sentence, and the card that it is from."""

    sentence: str
    tone: Tone
    card: int | None = None


def _more_important(run: Run, cards: Sequence[CardDigest]) -> Said | None:
    """Return the warning that comes before the changes beyond the request, or None."""
    warnings = [*agent_failure_warnings(run.agent_failures), *change_warnings(run)]
    failed = sum(failure.executions for failure in run.agent_failures)
    broken = failed > _MANY_FAILURES * max(len(run.executions), 1)
    if warnings and (broken or run.claim_withheld is not None):
        return _warning(warnings[0])
    harm = [Said(c.sentence, c.tone, i) for i, c in enumerate(cards) if c.tone is Tone.HARM]
    hazards = [one for one in harm if cards[one.card or 0].kind == HAZARD]
    if hazards:
        return hazards[0]
    if _tone_of_changes(run) is Tone.HARM:
        return None
    if harm:
        return harm[0]
    return _warning(warnings[0]) if warnings else None


def _warning(text: str) -> Said:
    return Said(as_sentence(text.removeprefix("warning: ")), Tone.HARM)


def _tone_of_changes(run: Run) -> Tone:
    changes = run.unrequested_changes
    if any(not change.undone for change in changes):
        return Tone.HARM
    return Tone.ODD if changes else Tone.GOOD


def _what_it_does(standings: Standings) -> Said:
    tried = sum(len(standings.of(s)) for s in Standing if s is not Standing.UNTRIED)
    if not tried:
        nothing = "Nothing is known yet: no capability was executed where it did not hold already."
        return Said(nothing, Tone.UNKNOWN)
    number = len(standings.of(Standing.RELIABLE))
    if standings.repeated:
        how = "gets there from every state tried, if it is asked until it does,"
    else:
        how = "achieved what it was asked for in every execution"
    share = f"all {tried:,}" if number == tried > 1 else f"{number:,} of {tried:,}"
    capabilities = "capability" if tried == 1 else "capabilities"
    inferred = sum(view.intent in standings.inferred for view in standings.of(Standing.RELIABLE))
    rest = f" ({inferred:,} of these by inference)" if inferred else ""
    if untried := len(standings.of(Standing.UNTRIED)):
        rest += (
            f" that {was(tried)} tried; {untried:,} more {'is' if untried == 1 else 'are'} unknown"
        )
    sentence = f"The agent {how} for {share} {capabilities}{rest}."
    return Said(sentence, _overall_tone(standings))


def _overall_tone(standings: Standings) -> Tone:
    others = (s for s in (Standing.SOMETIMES, Standing.NEVER) if standings.of(s))
    if not standings.of(Standing.RELIABLE):
        return Tone.ODD if any(others) else Tone.UNKNOWN
    return Tone.ODD if any(others) else Tone.GOOD


def _assessed(run: Run) -> str:
    states = counted(len(run.graph.nodes), "state")
    return f"{counted(len(run.capabilities), 'capability')} in {states}"


def _cost(run: Run) -> str:
    usage = run.usage
    parts = [counted(usage.executions, "execution")]
    parts.append(counted(usage.simulator_steps, "simulator step"))
    if usage.llm_tokens:
        parts.append(counted(usage.llm_tokens, "token"))
    return ", ".join([*parts, duration(usage.seconds)])


def _claimed(run: Run) -> bool:
    if run.claim_withheld is not None:
        return False
    if claim_of(run.identity.strategy) is Claim.AUDITED:
        return run.audit is not None and run.audit.passed
    return run.verdict.reached


def _tiles(standings: Standings) -> Iterator[TileDigest]:
    for standing, name in _NAMES.items():
        own = standings.of(standing)
        intents = first_few([sanitize(str(view.intent)) for view in own], _MOST_NAMED)
        meaning = _meaning(standing, standings)
        yield TileDigest(name, _TONES[standing], len(own), meaning, tuple(intents), standing)


def _changes_tile(run: Run) -> TileDigest:
    changes = run.unrequested_changes
    lasting = sum(not change.undone for change in changes)
    meaning = "kinds of changes that were not asked for"
    if lasting:
        meaning += f"; {lasting:,} of them never undone"
    forms = first_few(list(dict.fromkeys(change.change for change in changes)), _MOST_NAMED)
    tone = _tone_of_changes(run) if len(run.executions) else Tone.UNKNOWN
    return TileDigest(
        "beyond the request", tone, len(changes), meaning, tuple(map(sanitize, forms)), ""
    )


def _meaning(standing: Standing, standings: Standings) -> str:
    if standing is Standing.UNTRIED:
        return "never tried where they did not hold already"
    if standing is Standing.NEVER:
        return "tried, and not achieved once"
    if standing is Standing.SOMETIMES:
        return "from some states, or some of the time"
    if not standings.repeated:
        return "in every execution"
    inferred = sum(view.intent in standings.inferred for view in standings.of(standing))
    rest = f"; {inferred:,} of them by inference" if inferred else ""
    return f"gets there from every state tried{rest}"
