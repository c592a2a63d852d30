"""The states that a digest speaks of: each is written once and then spoken of by its position.

A run may see more states than anybody looks at. Listed are those on the map and those that a draw
or an example passes through. They are named by their number in the order of first sight, whether
or not all are listed, and stand in that order.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping

from capscope.assessment.reading import Reading
from capscope.model.state_graph import constant_atoms
from capscope.present.digest.shape import StateDigest
from capscope.present.digest.size_budget import SizeBudget
from capscope.record.execution_table import ExecutionTable
from capscope.record.journal import Journal
from capscope.sanitize import sanitize
from capscope.symbolic import State

Pictures = Callable[[bytes], bytes]
"""Draws the position of a snapshot as a PNG."""
_PNG = b"\x89PNG\r\n\x1a\n"


class Listing:
    """The states listed so far, by number."""

    def __init__(self, reading: Reading, table: ExecutionTable) -> None:
        self._dataset = reading.dataset
        self._vocabulary = reading.graph.vocabulary
        self._atoms = [sanitize(str(atom)) for atom in self._vocabulary.atoms]
        self._listed: dict[int, StateDigest] = {}
        self.states = table.states
        self.number = {state: number for number, state in enumerate(table.states)}
        self.constant = constant_atoms(table.states)

    def always(self) -> tuple[str, ...]:
        """Return the atoms that held in every state seen."""
        return self.holding(self.constant)

    def holding(self, state: State) -> tuple[str, ...]:
        """Return the atoms that hold in a state."""
        return tuple(atom for i, atom in enumerate(self._atoms) if state >> i & 1)

    def take(self, numbers: Iterable[int], space: SizeBudget, *values: object) -> bool:
        """List states and make room for values that speak of them, all or none."""
        new = {n: self._told(n) for n in numbers if n not in self._listed}
        if not space.take(*new.values(), *values):
            return False
        self._listed |= new
        return True

    def _told(self, number: int) -> StateDigest:
        state = self.states[number]
        atoms = self.holding(state & ~self.constant)
        return StateDigest(f"s{number}", atoms, self._dataset.departures(state), "")

    def positions(self) -> dict[int, int]:
        """Return where each state stands, by its number."""
        return {number: i for i, number in enumerate(sorted(self._listed))}

    def digest(self, pictures: Mapping[int, str]) -> tuple[StateDigest, ...]:
        """Return the states in order, each with its picture if there is one."""
        return tuple(
            StateDigest(told.name, told.atoms, told.executions, pictures.get(number, ""))
            for number, told in sorted(self._listed.items())
        )

    def most_visited(self, numbers: Iterable[int]) -> list[int]:
        """Put states into order: the beginning first, then the most visited ones."""
        departures = self._dataset.departures
        return sorted(numbers, key=lambda n: (n > 0, -departures(self.states[n]), n))


def pictures_of(
    listing: Listing, journal: Journal, draw: Pictures | None, space: SizeBudget
) -> dict[int, str]:
    """Draw a position of each listed state as far as they fit; return addresses of data."""
    drawn: dict[int, str] = {}
    if draw is not None:
        for number in listing.most_visited(listing.positions()):
            address = _picture(journal.snapshots(listing.states[number]), draw)
            if address and space.take(address):
                drawn[number] = address
    return drawn


def _picture(snapshots: list[bytes], draw: Pictures) -> str:
    try:
        png = draw(snapshots[0]) if snapshots else b""
    except Exception:
        return ""
    if not isinstance(png, bytes) or not png.startswith(_PNG):
        return ""
    return f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"
