"""A finding: something that a person should know about the agent, as counts and as a sentence.

Nothing is left out because it cannot be proved: a finding begins with what was counted. Its rate,
its condition and whether the request needed it follow if the executions tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar

import numpy as np

from capscope.logic import Intent, State
from capscope.logic.json_values import OMITTED, STATE
from capscope.model.transitions import KnownPath
from capscope.problem.counterfactual import Need
from capscope.stats.arrays import Integers
from capscope.stats.rate import Rate
from capscope.wording import ShownInWords, counted, html_table, joined, lines_of, wrapped


class Kind(StrEnum):
    """What a finding is about."""

    MORE = "does more"
    """A change beyond the request."""
    ELSE = "does something else"
    """A change instead of the request, which does not hold at the end."""
    REFUSES = "refuses"
    """Nothing changes, always or under a condition."""
    LESS = "succeeds less"
    """The request holds less often at the end under a condition."""
    CONFUSES = "confuses"
    """It does to another object what was asked for of one."""
    DRIFT = "changes over time"
    EXCEPTION = "exception"
    """One object, or a few, differ from the others."""
    PREFERS = "prefers"
    """It takes one object where others would have served as well."""


def _no_rows() -> Integers:
    return np.zeros(0, dtype=np.int64)


HARMLESS = (Need.PART, Need.ON_THE_WAY)
_NEEDS = (Need.NEEDLESS, Need.UNDECIDED, *HARMLESS)


@dataclass(frozen=True, slots=True)
class Example:
    """An execution to look at or to replay."""

    execution: int
    """Its row in the table of executions."""
    intent: Intent
    before: State = field(metadata=STATE)
    after: State = field(metadata=STATE)


@dataclass(frozen=True)
class Finding:
    """Something notable about the agent, from the first execution that showed it."""

    kind: str
    """A `Kind`, or the name of a kind of another package."""
    request: str
    """The form of the request, with variables for its objects: `archived(x)`."""
    change: str
    """The form of the change: `deleted(another mail)`; empty if it is about success."""
    intents: tuple[Intent, ...]
    """The capabilities that showed it."""
    count: int
    """The executions that showed it, of those in which the condition held."""
    possible: int
    """Those in which it could happen and the condition held."""
    when: tuple[Any, ...] = ()
    """The condition: literals over the variables of the request, as text by `str`."""
    rate: Rate | None = None
    """How often it happens; None while there is too little to say."""
    against: Rate | None = None
    """The rate without the condition, or of the other objects."""
    need: Need = Need.UNDECIDED
    lasting: bool = False
    """Whether nothing ever undid it, and no known sequence does."""
    named: bool = True
    """Whether it is about an object that the request names."""
    hazard: bool = False
    """Whether the user named it as something that must not happen."""
    harmless: bool = False
    """Whether it is no reason to watch out, such as the refusal of a wish for harm."""
    path: KnownPath | None = None
    """The shortest known path to the state of the example; None if none is known."""
    example: Example | None = None
    note: str = ""
    """Further counts for the sentence: `up to 3 at once`."""
    perhaps: tuple[Any, ...] = ()
    """What held in all executions that showed it, if that is striking but no condition yet."""
    partly: str = field(default="", repr=False, metadata=OMITTED)
    """Which of several changes nothing ever undid, if others were."""
    other: str | None = field(default=None, repr=False, metadata=OMITTED)
    """What got the change in the place of an object of the request: `another mail`."""
    shown: Integers = field(default_factory=_no_rows, repr=False, compare=False, metadata=OMITTED)
    """The executions that are counted, by their rows in the table, if they may be joined."""
    among: Integers = field(default_factory=_no_rows, repr=False, compare=False, metadata=OMITTED)
    """Those in which it could happen and the condition held."""
    likely: Integers = field(default_factory=_no_rows, repr=False, compare=False, metadata=OMITTED)
    """Those of them in which held what perhaps is a condition."""
    text: str = field(default="", repr=False, metadata=OMITTED)
    """The sentence; made of the other fields unless given."""
    json_properties: ClassVar = ("sentence", "watch")

    @property
    def watch(self) -> bool:
        """Whether it is something to watch out for."""
        return self.hazard or not (self.harmless or self.need in HARMLESS)

    @property
    def certain(self) -> bool:
        """Whether it happened whenever it could."""
        return self.count == self.possible

    @property
    def harm(self) -> tuple[Any, ...]:
        """The place in the order of findings: the least is the most important."""
        frequency = self.rate.low if self.rate else 0.0
        return (
            not self.hazard,
            not self.watch,
            not self.watch and self.kind != Kind.PREFERS,
            not self.lasting,
            self.named,
            _NEEDS.index(self.need),
            not self.certain,
            -frequency,
            -self.count / max(self.possible, 1),
            self.request,
            self.change,
        )

    @property
    def condition(self) -> str:
        """The condition, to follow the request: ` when starred(x)`."""
        return f" when {joined(self.when)}" if self.when else ""

    @property
    def count_text(self) -> str:
        """How often it was seen and what became of it: `3 of 7 executions, never undone`."""
        return ", ".join(self._counts())

    def _counts(self) -> Sequence[str]:
        times = f"{self.count:,} of {counted(self.possible, 'execution')}"
        if self.rate is not None:
            times += f" ({_percent(self.rate)})"
        parts = [times]
        if self.against is not None:
            parts.append(f"otherwise {self.against.hits or 0:,.0f} of {self.against.executions:,}")
        if self.perhaps:
            parts.append(f"so far only when {joined(self.perhaps)}")
        if self.note:
            parts.append(self.note)
        if self.change:
            parts += [] if self.need is Need.UNDECIDED else [str(self.need)]
            told = "never undone" if self.lasting else "seen undone"
            parts.append(f"never undone: {self.partly}" if self.partly else told)
        return parts

    @property
    def sentence(self) -> str:
        """What happened, how often, under which condition, and whether it was needed.

        >>> Finding(Kind.MORE, "p(x)", "q(x)", (), 2, 3).sentence
        'Asked for p(x), the agent also caused q(x) in 2 of 3 executions, seen undone.'
        """
        if self.text:
            return self.text
        asked = f"Asked for {self.request}{self.condition}, the agent "
        return f"{asked}{_does(self)} in {self.count_text}."


def _does(finding: Finding) -> str:
    """Return what the agent does, as a verb."""
    match finding.kind:
        case Kind.MORE:
            return f"also caused {finding.change}"
        case Kind.ELSE | Kind.CONFUSES:
            return f"caused {finding.change} instead"
        case Kind.REFUSES:
            return "changed nothing"
        case Kind.LESS | Kind.EXCEPTION if not finding.change:
            return "did not achieve it"
    return f"{finding.kind}: {finding.change}"


def _percent(rate: Rate) -> str:
    """Return a rate and its interval: `4.7 %, 2.5 to 8.1 %`.

    >>> _percent(Rate(0.0474, 0.0246, 0.0813, 12, 253)), _percent(Rate(1.0, 0.74, 1.0, 12, 12))
    ('4.7 %, 2.5 to 8.1 %', '100 %, 74 to 100 %')
    """
    low, high = (_digits(100 * end) for end in rate.interval)
    return f"{_digits(100 * (rate.estimate or 0.0))} %, {low} to {high} %"


def _digits(percent: float) -> str:
    return f"{percent:.{int(percent < 10)}f}".removesuffix(".0")


class FindingList(ShownInWords, list[Finding]):
    """Findings that consoles and notebooks show as numbered sentences."""

    def _repr_html_(self) -> str:
        return html_table(
            [f"{number}.", one.kind, one.sentence] for number, one in enumerate(self, 1)
        )


@lines_of.register
def _sentences(findings: FindingList) -> Iterator[str]:
    for number, finding in enumerate(findings, 1):
        yield from wrapped(f"{number}. {finding.sentence}", rest="   ")
