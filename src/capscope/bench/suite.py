"""What every experiment is given, and what it hands back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from capscope.bench.order import Order, fulfil, kept_curve
from capscope.bench.plan import Case
from capscope.bench.workers import Hear, Job, Tell, carry_out, say_nothing
from capscope.evaluation.curve import Curve
from capscope.query import Settings

_LINK = re.compile(r"\]\((?=[\w.-]+\.(?:png|svg|csv)\))")


@dataclass(frozen=True)
class Bench:
    """Where experiments take their runs from and put their results, and what they compare."""

    output: Path
    runs: Path
    cases: tuple[Case, ...]
    seeds: tuple[int, ...]
    settings: Settings
    levels: tuple[float, ...]
    workers: int
    tell: Tell = say_nothing

    def curves(self, orders: Sequence[Order]) -> list[Curve]:
        """Return the curve of every run, in the order given; those not kept are made."""
        kept = {order: kept_curve(self.runs, order) for order in orders}
        missing = [RunJob(self.runs, order) for order, curve in kept.items() if curve is None]
        for order, curve in self.carry_out(missing):
            kept[order] = curve
        return [curve for order in orders if (curve := kept[order]) is not None]

    def carry_out(self, jobs: Sequence[Job]) -> Iterator[Any]:
        """Do jobs side by side; yield what they return, as they end."""
        return carry_out(jobs, self.workers, self.tell)

    def order(self, case: Case, strategy: str, seed: int) -> Order:
        """Order a run of a case with the settings of the bench."""
        return Order(case.problem, strategy, seed, self.settings, case.budget(strategy))


@dataclass(frozen=True)
class RunJob:
    """A run as a job."""

    shelf: Path
    order: Order

    @property
    def name(self) -> str:
        """The name of the run."""
        return self.order.name

    @property
    def kind(self) -> str:
        """Runs of one strategy on one problem take about as long."""
        return self.order.kind

    def __call__(self, hear: Hear) -> tuple[Order, Curve]:
        """Make the run."""
        return self.order, fulfil(self.shelf, self.order, hear)


@dataclass(frozen=True)
class Section:
    """The result of an experiment: a chapter in Markdown, and the files it wrote."""

    title: str
    body: str
    files: tuple[str, ...]

    def text(self) -> str:
        """Return the chapter with its heading."""
        return f"## {self.title}\n\n{self.body.strip()}\n"


def linked_from(text: str, prefix: str) -> str:
    """Let the links of a chapter point to its files from another folder.

    >>> linked_from("![curve](efficiency.png)", "docs/results/")
    '![curve](docs/results/efficiency.png)'
    """
    return _LINK.sub(partial(_prefixed, prefix), text)


def _prefixed(prefix: str, match: re.Match[str]) -> str:
    return match[0] + prefix
