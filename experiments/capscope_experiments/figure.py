"""Figures by Matplotlib, as PNG and SVG. Line styles and shades differ, so they print in gray."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from capscope.errors import CapscopeError


class Style(NamedTuple):
    """How a strategy is drawn."""

    color: str
    line: Any
    hatch: str


STYLES = {
    "exhaustive": Style("#00402f", "solid", ""),
    "mcqs-s": Style("#1f6fb4", (0, (5, 1.5)), "//"),
    "mcqs-e": Style("#e08214", "dashdot", ".."),
    "random": Style("#9a9a9a", "dotted", "xx"),
}
_OTHER = Style("#5e3c99", "solid", "--")
VARIANT = ","
"""Separates the name of a strategy from what is changed about it."""


def style_of(strategy: str) -> Style:
    """Return the style of a strategy; a variant has the same, but paler (`opacity`)."""
    return STYLES.get(strategy.partition(VARIANT)[0], _OTHER)


def opacity(strategy: str) -> float:
    """Return how opaque a strategy is drawn; variants are half transparent."""
    return 0.45 if VARIANT in strategy else 1.0


def pyplot() -> ModuleType:
    """Return Matplotlib for drawing into files."""
    try:
        import matplotlib as mpl
    except ModuleNotFoundError:
        raise CapscopeError(
            "figures need matplotlib: pip install --editable '.[experiments]'"
        ) from None
    mpl.use("Agg")
    # The same figure gives the same file: no random names, no date.
    mpl.rcParams["svg.hashsalt"] = "capscope"
    from matplotlib import pyplot as plt

    return plt


def save(figure: Any, folder: Path, name: str) -> tuple[str, ...]:
    """Write a figure as PNG and SVG and close it; return the names of the files."""
    plt = pyplot()
    figure.savefig(folder / f"{name}.png", dpi=130)
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)
    return f"{name}.png", f"{name}.svg"
