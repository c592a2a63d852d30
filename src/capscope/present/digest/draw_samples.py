"""The draws that are shown: where they passed, how they ended, what the agent wrote down."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from capscope.present.digest.choice import Slot
from capscope.present.digest.record import Record
from capscope.present.digest.shape import DrawDigest
from capscope.present.digest.size_budget import SizeBudget, shortened
from capscope.present.digest.states import Listing
from capscope.present.draws import ExecutionId, lines_unlike
from capscope.record.execution_table import Flags
from capscope.record.journal import Draw
from capscope.sanitize import sanitize_text
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
    def place(self) -> ExecutionId:
        """Where in the run it was made."""
        return ExecutionId(self.digest.query, self.digest.draw, self.digest.execution)


def shown_draws(
    record: Record,
    chosen: Sequence[tuple[Slot, int]],
    written: Flags,
    listing: Listing,
    space: SizeBudget,
) -> list[Shown]:
    """Read the chosen executions, with the states they pass through, as far as they fit."""
    shown = []
    read: dict[int, list[Draw]] = {}
    table = record.table
    for slot, execution in chosen:
        columns = (table.query, table.draw, table.number)
        place = ExecutionId(*(int(column[execution]) for column in columns))
        if place.query not in read:
            read[place.query] = record.journal.draws(place.query)
        attempt = read[place.query][place.draw].executions[place.execution].attempt
        digest = _digest(place, slot.outcome, attempt, listing)
        if written[execution]:
            digest = replace(digest, transcript=NO_ROOM)
        if listing.take(digest.trajectory, space, digest):
            shown.append(Shown(slot, digest))
    return shown


def _digest(place: ExecutionId, outcome: int, attempt: Attempt, listing: Listing) -> DrawDigest:
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


def with_transcripts(record: Record, shown: Sequence[Shown], space: SizeBudget) -> Iterator[Shown]:
    """Add what the agent wrote down, as far as it fits; what it always writes only once."""
    earlier: list[str] = []
    first: ExecutionId | None = None
    for one in shown:
        if one.digest.transcript:
            lines = record.journal.transcript(*one.place).splitlines()
            text = "\n".join(lines_unlike(lines, earlier, first))
            text = _fit_to_show(text, _LONGEST_TRANSCRIPT)
            if space.take(text):
                if first is None:
                    earlier, first = lines, one.place
                yield replace(one, digest=replace(one.digest, transcript=text))
                continue
        yield one


def _fit_to_show(text: str, most: int) -> str:
    # Shortened first: spelling out a million characters that do not show takes its time.
    return sanitize_text(shortened(text, most))
