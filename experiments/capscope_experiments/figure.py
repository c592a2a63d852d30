"""Pictures by Matplotlib, as PNG and as SVG, told apart by line and shade: they must print grey."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from capscope.errors import CapscopeError


class Style(NamedTuple):
    """How the line of a strategy looks; shades differ, so that grey paper tells them apart."""

    color: str
    line: Any
    hatch: str


STYLES = {
    "adaptive": Style("#00402f", "solid", ""),
    "mcqs-s": Style("#1f6fb4", (0, (5, 1.5)), "//"),
    "mcqs-e": Style("#e08214", "dashdot", ".."),
    "random": Style("#9a9a9a", "dotted", "xx"),
}
_OTHER = Style("#5e3c99", "solid", "--")


VARIANT = ","
"""What stands between the name of a strategy and what is changed about it."""


def style_of(strategy: str) -> Style:
    """Return the style of a strategy; a variant looks like it, but paler (`paleness`)."""
    return STYLES.get(strategy.partition(VARIANT)[0], _OTHER)


def paleness(strategy: str) -> float:
    """Return how opaque a strategy is drawn: a variant is half transparent."""
    return 0.45 if VARIANT in strategy else 1.0


def pyplot() -> ModuleType:
    """Return Matplotlib without a screen, or say what to install."""
    try:
        import matplotlib as mpl
    except ModuleNotFoundError:
        raise CapscopeError(
            "figures need matplotlib: pip install --editable '.[experiments]'"
        ) from None
    mpl.use("Agg")
    # The same picture gives the same file: no random names, no date.
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
