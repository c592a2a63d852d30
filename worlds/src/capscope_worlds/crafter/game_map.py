"""The map on which a game of Crafter begins, read from a text file.

A file has one line for each row, with a sign for each cell, separated by spaces; lines that begin
with `#` are comments.

    .  grass    T  tree     W  water    S  stone    C  coal     I  iron     D  diamond
    _  path     ,  sand     L  lava     B  table    F  furnace
    ^ v < >     the player, on grass, and the direction that it faces
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path

from capscope.errors import ProblemError

SIGNS = {
    ".": "grass", "T": "tree", "W": "water", "S": "stone", "C": "coal", "I": "iron",
    "D": "diamond", "_": "path", ",": "sand", "L": "lava", "B": "table", "F": "furnace",
}  # fmt: skip
FACINGS = {"<": (-1, 0), ">": (1, 0), "^": (0, -1), "v": (0, 1)}
"""Steps in x (to the right) and y (down)."""
MOST_CELLS = 12  # one chunk of the package; creatures are counted by chunk
_LEAST_CELLS = 3


@dataclass(frozen=True)
class GameMap:
    """The terrain, and where the player is at the beginning."""

    name: str
    rows: tuple[tuple[str, ...], ...]
    """Names of materials, from top to bottom."""
    start: tuple[int, int]
    """The player's x and y, counted from 0 at the top left corner."""
    facing: tuple[int, int]

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.rows[0])

    @property
    def height(self) -> int:
        """The number of rows."""
        return len(self.rows)

    @cached_property
    def materials(self) -> tuple[str, ...]:
        """The material of every cell."""
        return tuple(material for row in self.rows for material in row)

    @cached_property
    def fingerprint(self) -> str:
        """Hash everything but the name."""
        parts = repr((self.rows, self.start, self.facing))
        return hashlib.sha256(parts.encode()).hexdigest()[:16]


def shipped_maps() -> dict[str, Path]:
    """Return the files of the maps that come with capscope, by name."""
    folder = Path(str(files(__package__))) / "maps"
    return {path.stem: path for path in sorted(folder.glob("*.txt"))}


def read_map(path: str | Path) -> GameMap:
    """Read a map; raise `ProblemError` with the line of a mistake."""
    path = Path(path)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ProblemError(f"{path} cannot be read as text: {error}") from error
    rows: list[tuple[str, ...]] = []
    player: tuple[tuple[int, int], tuple[int, int]] | None = None
    for number, line in enumerate(lines, start=1):
        signs = [] if line.startswith("#") else line.split()
        if not signs:
            continue
        for x, sign in enumerate(signs):
            if sign in FACINGS:
                if player is not None:
                    raise ProblemError(f"{path}:{number}: a second player; keep one of them")
                player = (x, len(rows)), FACINGS[sign]
            elif sign not in SIGNS:
                known = " ".join((*SIGNS, *FACINGS))
                raise ProblemError(f"{path}:{number}: unknown cell {sign!r}; use one of {known}")
        rows.append(tuple(SIGNS.get(sign, "grass") for sign in signs))
        if len(rows[-1]) != len(rows[0]):
            what = f"this row has {len(rows[-1])} cells and the first has {len(rows[0])}"
            raise ProblemError(f"{path}:{number}: {what}; make all rows the same length")
    size = (len(rows), len(rows[0]) if rows else 0)
    if min(size) < _LEAST_CELLS or max(size) > MOST_CELLS:
        bounds = f"use {_LEAST_CELLS} to {MOST_CELLS} rows and columns"
        raise ProblemError(f"{path}: the map is {size[0]} by {size[1]} cells; {bounds}")
    if player is None:
        raise ProblemError(f"{path}: the map has no player; write one of {' '.join(FACINGS)}")
    return GameMap(path.stem, tuple(rows), *player)
