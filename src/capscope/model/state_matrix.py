"""States as rows of bits, so that a question about all states is one NumPy expression."""

from collections.abc import Iterable
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from capscope.logic import LiteralTest, State
from capscope.stats.arrays import Integers, Mask

Bits = NDArray[np.uint8]


class StateMatrix:
    """States and their atoms; a state keeps the row that it was given first."""

    def __init__(self, width: int) -> None:
        self.row: dict[State, int] = {}
        """The row of each state."""
        self.states: list[State] = []
        """By row."""
        self._width = width
        self._bytes = max((width + 7) // 8, 1)
        self._rows: Bits = np.zeros((64, width), dtype=np.uint8)

    def __len__(self) -> int:
        return len(self.states)

    @property
    def bits(self) -> Bits:
        """One row for each state, one column for each atom."""
        return self._rows[: len(self.states)]

    def part(self, rows: Integers) -> Bits:
        """Return the bits of some rows, without a copy if they are consecutive."""
        if len(rows) and (np.diff(rows) == 1).all():
            return self.bits[int(rows[0]) : int(rows[-1]) + 1]
        part: Bits = self.bits[rows]
        return part

    def add(self, state: State) -> int:
        """Return the row of a state, which is appended if it is new."""
        row = self.row.get(state)
        if row is None:
            row = self.row[state] = len(self.states)
            self.states.append(state)
            if row == len(self._rows):
                self._rows = np.concatenate([self._rows, np.zeros_like(self._rows)])
            self._rows[row] = self.unpack(state)
        return row

    def unpack(self, state: State) -> Bits:
        """Return the atoms of a state as 0 and 1."""
        packed = np.frombuffer(state.to_bytes(self._bytes, "little"), dtype=np.uint8)
        return np.unpackbits(packed, count=self._width, bitorder="little")

    def holding(self, required: int, forbidden: int = 0, rows: Integers | None = None) -> Mask:
        """Return, for each row, whether it has all the one bits and none of the others.

        For all rows, or for some.
        """
        number = len(self) if rows is None else len(rows)
        held: Mask = np.ones(number, dtype=bool)
        if required:
            held &= self._part(required, rows).all(axis=1)
        if forbidden:
            held &= ~self._part(forbidden, rows).any(axis=1)
        return held

    def holding_any(self, tests: Iterable[LiteralTest], rows: Integers | None = None) -> Mask:
        """Return, for each row, whether one of some conjunctions holds."""
        return reduce(np.logical_or, (self.holding(*test, rows) for test in tests))

    def _part(self, mask: int, rows: Integers | None) -> Bits:
        columns = self._columns(mask)
        return self.bits[:, columns] if rows is None else self.bits[rows[:, None], columns]

    def _columns(self, mask: int) -> list[int]:
        return [i for i in range(mask.bit_length()) if mask >> i & 1]

    def rows(self, states: Iterable[State]) -> list[int]:
        """Return the rows of some states, appended if they are new."""
        return [self.add(state) for state in states]
