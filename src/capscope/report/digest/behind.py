"""The draws that are shown: where they passed, how they ended, what the agent wrote down."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from capscope.data.chronicle import Flags
from capscope.data.journal import Draw
from capscope.report.digest.choice import Slot
from capscope.report.digest.record import Record
from capscope.report.digest.room import Room, shortened
from capscope.report.digest.shape import DrawDigest
from capscope.report.digest.states import Listing
from capscope.report.draws import Place, lines_unlike
from capscope.report.harmless import harmless_lines
from capscope.world import Attempt

NO_ROOM = "[left out for want of room]"
_LONGEST_TRANSCRIPT = 8_000
_LONGEST_DETAIL = 400


@dataclass(frozen=True)
class Shown:
    """A draw that is shown; its trajectory is one of numbers of states as yet."""

    slot: Slot
    digest: DrawDigest

    @property
    def place(self) -> Place:
        """Where in the run it was made."""
        return Place(self.digest.query, self.digest.draw, self.digest.execution)


def shown_draws(
    record: Record,
    chosen: Sequence[tuple[Slot, int]],
    written: Flags,
    listing: Listing,
    room: Room,
) -> list[Shown]:
    """Read the chosen executions, with the states they pass through, as far as they fit."""
    shown = []
    read: dict[int, list[Draw]] = {}
    chronicle = record.chronicle
    for slot, execution in chosen:
        columns = (chronicle.query, chronicle.draw, chronicle.number)
        place = Place(*(int(column[execution]) for column in columns))
        if place.query not in read:
            read[place.query] = record.journal.draws(place.query)
        attempt = read[place.query][place.draw].executions[place.execution].attempt
        digest = _digest(place, slot.outcome, attempt, listing)
        if written[execution]:
            digest = replace(digest, transcript=NO_ROOM)
        if listing.take(digest.trajectory, room, digest):
            shown.append(Shown(slot, digest))
    return shown


def _digest(place: Place, outcome: int, attempt: Attempt, listing: Listing) -> DrawDigest:
    return DrawDigest(
        *place,
        outcome=outcome,
        trajectory=tuple(listing.number[state] for state in attempt.trajectory),
        ending=str(attempt.ending),
        simulator_steps=attempt.simulator_steps,
        llm_tokens=attempt.llm_tokens,
        detail=_fit_to_show(attempt.detail, _LONGEST_DETAIL),
        transcript="",
    )


def with_transcripts(record: Record, shown: Sequence[Shown], room: Room) -> Iterator[Shown]:
    """Add what the agent wrote down, as far as it fits; what it always writes only once."""
    earlier: list[str] = []
    first: Place | None = None
    for one in shown:
        if one.digest.transcript:
            lines = record.journal.transcript(*one.place).splitlines()
            text = "\n".join(lines_unlike(lines, earlier, first))
            text = _fit_to_show(text, _LONGEST_TRANSCRIPT)
            if room.take(text):
                if first is None:
                    earlier, first = lines, one.place
                yield replace(one, digest=replace(one.digest, transcript=text))
                continue
        yield one


def _fit_to_show(text: str, most: int) -> str:
    # Shortened first: spelling out a million characters that do not show takes its time.
    return "\n".join(harmless_lines(shortened(text, most)))
