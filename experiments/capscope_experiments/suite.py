"""What every experiment is given, and what it hands back."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from capscope.problems import load_problem
from capscope.record.settings import Settings
from capscope.strategy.registry import RANDOM
from capscope_experiments.curve import Curve
from capscope_experiments.measure import SampleJob, Subject
from capscope_experiments.order import Order, fulfil, kept_curve
from capscope_experiments.plan import Case
from capscope_experiments.workers import Hear, Job, Tell, carry_out, say_nothing

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
        missing = [order for order, curve in kept.items() if curve is None]
        self.build_samples(
            order.subject for order in missing if load_problem(order.problem).truth is None
        )
        for order, curve in self.carry_out([RunJob(self.runs, order) for order in missing]):
            kept[order] = curve
        return [curve for order in orders if (curve := kept[order]) is not None]

    def build_samples(self, subjects: Iterable[Subject]) -> None:
        """Build the datasets that are missing; two runs must not build one at the same time."""
        list(self.carry_out([SampleJob(self.runs, s) for s in dict.fromkeys(subjects)]))

    def carry_out(self, jobs: Sequence[Job]) -> Iterator[Any]:
        """Do jobs side by side; yield what they return, as they end."""
        return carry_out(jobs, self.workers, self.tell)

    def orders(self, strategies: Collection[str] | None = None) -> list[Order]:
        """Order a run of every case, strategy and seed; Random Query has orders of its own.

        Seed by seed, so that a bench that is interrupted has something of everything.
        """
        return [
            self.order(case, strategy, seed)
            for seed in self.seeds
            for case in self.cases
            for strategy in case.strategies
            if strategy != RANDOM and (strategies is None or strategy in strategies)
            if seed in self.seeds_of(case, strategy)
        ]

    def seeds_of(self, case: Case, strategy: str) -> Sequence[int]:
        """Return the seeds of a strategy; the plan may have fewer of runs that take long."""
        return self.seeds[: case.most_seeds.get(strategy, len(self.seeds))]

    def order(self, case: Case, strategy: str, seed: int) -> Order:
        """Order a run of a case with the settings of the bench."""
        budget = case.budget(strategy)
        return Order(case.problem, strategy, seed, self.settings, budget, sequences=case.sequences)


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
