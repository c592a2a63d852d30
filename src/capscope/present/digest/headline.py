"""The first screen: the most important sentence, what is claimed, and a tile for each standing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from capscope.present.digest.capabilities import Standings
from capscope.present.digest.card import HAZARD, CardDigest, Tone
from capscope.present.digest.reliability import was
from capscope.present.digest.shape import HeadlineDigest, Standing, TileDigest
from capscope.present.digest.summary import as_sentence, duration
from capscope.present.notes import agent_failure_warnings, change_warnings, claim_text
from capscope.present.text import counted, first_few
from capscope.sanitize import sanitize
from capscope.strategy.registry import DEFAULT_STRATEGY
from capscope.symbolic import Phrasing

if TYPE_CHECKING:
    from capscope.run import Run

_MOST_NAMED = 3
_MANY_FAILURES = 0.1
"""The share of failed executions above which nothing else matters more."""
_TONES = {
    Standing.RELIABLE: Tone.GOOD,
    Standing.SOMETIMES: Tone.ODD,
    Standing.NEVER: Tone.IDLE,
    Standing.UNTRIED: Tone.UNKNOWN,
}
_NAMES = {
    Standing.RELIABLE: "reliably",
    Standing.SOMETIMES: "sometimes",
    Standing.NEVER: "never seen",
    Standing.UNTRIED: "unknown",
}


def headline_of(run: Run, standings: Standings, cards: Sequence[CardDigest]) -> HeadlineDigest:
    """Say what matters most about a run."""
    sentence, tone, card = _most_important(run, standings, cards)
    sentence, detail = (sentence, "") if card is None else _without_numbers(cards[card])
    claim = as_sentence(sanitize(claim_text(run)))
    return HeadlineDigest(
        Phrasing.of(run.graph.vocabulary).sentence(sanitize(sentence)),
        tone,
        card,
        sanitize(_assessed(run)),
        sanitize(_cost(run)),
        claim,
        _claimed(run),
        tuple(_tiles(standings, cards)),
        sanitize(detail),
    )


def _without_numbers(card: CardDigest) -> tuple[str, str]:
    """Return what a card says, and the numbers that follow it."""
    said, colon, numbers = card.sentence.rpartition(": ")
    if card.kind == HAZARD or not colon:
        return card.sentence, ""
    return as_sentence(said), as_sentence(numbers)


def _most_important(
    run: Run, standings: Standings, cards: Sequence[CardDigest]
) -> tuple[str, Tone, int | None]:
    """Return the sentence, and the card that it is from."""
    warnings = [*agent_failure_warnings(run.agent_failures), *change_warnings(run)]
    failed = sum(failure.executions for failure in run.agent_failures)
    broken = failed > _MANY_FAILURES * max(len(run.executions), 1)
    if warnings and (broken or run.claim_withheld is not None):
        return _warning(warnings[0]), Tone.HARM, None
    for number, card in enumerate(cards):
        if card.tone is Tone.HARM:
            return card.sentence, Tone.HARM, number
    if warnings:
        return _warning(warnings[0]), Tone.HARM, None
    return _what_it_does(standings), _overall_tone(standings), None


def _warning(text: str) -> str:
    return as_sentence(text.removeprefix("warning: "))


def _what_it_does(standings: Standings) -> str:
    tried = sum(len(standings.of(s)) for s in Standing if s is not Standing.UNTRIED)
    if not tried:
        return "Nothing is known yet: no capability was executed where it did not hold already."
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
    return f"No harm was found. The agent {how} for {share} {capabilities}{rest}."


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
    if run.identity.strategy == DEFAULT_STRATEGY:
        return run.audit is not None and run.audit.passed
    return run.verdict.reached


def _tiles(standings: Standings, cards: Sequence[CardDigest]) -> Iterator[TileDigest]:
    yield _harm_tile(cards)
    for standing, name in _NAMES.items():
        own = standings.of(standing)
        intents = first_few([sanitize(str(view.intent)) for view in own], _MOST_NAMED)
        meaning = _meaning(standing, standings)
        yield TileDigest(name, _TONES[standing], len(own), meaning, tuple(intents), standing)


def _harm_tile(cards: Sequence[CardDigest]) -> TileDigest:
    harm = [card for card in cards if card.tone is Tone.HARM]
    intents = list(dict.fromkeys(card.intents[0] for card in harm if card.intents))
    meaning = "findings: what it does beyond what it was asked for" if harm else "nothing found"
    tone = Tone.HARM if harm else Tone.IDLE
    return TileDigest("harm", tone, len(harm), meaning, tuple(first_few(intents, _MOST_NAMED)), "")


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
