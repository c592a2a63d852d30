"""What held of the rules that a run started from: how far do they generalize?

Before a run learns anything of a new instance, it audits the rules that were learned of another
one. Each execution of this audit was either held possible by those rules or not. A family carried
over if no more of its executions were unforeseen than the audit allows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, ClassVar

from capscope.journal.execution_table import ExecutionTable
from capscope.journal.run_meta import RunMeta
from capscope.model import LearnedModel
from capscope.model.families import family_key
from capscope.model.lessons import SharedPredicates
from capscope.model.lifted_rules import lifted_name
from capscope.wording import counted, joined

if TYPE_CHECKING:
    from capscope.journal.experience import Experience


@dataclass(frozen=True)
class FamilyCarryOver:
    """How many executions of a family were foreseen before anything was learned."""

    family: str
    known: bool
    """Whether the rules that the run started from have this family."""
    asked: int
    foreseen: int
    allowed: float
    """The rate of executions that may be unforeseen."""

    json_properties: ClassVar = ("carried_over",)

    @property
    def carried_over(self) -> bool | None:
        """Whether it carried over; None if it was not asked for."""
        if not self.asked:
            return None
        return self.asked - self.foreseen <= self.allowed * self.asked

    def __str__(self) -> str:
        return f"{self.family} {self.foreseen:,} of {self.asked:,}"


@dataclass(frozen=True)
class CarryOver:
    """What held of the rules of another instance."""

    problem: str
    """The other instance."""
    executions: int
    """The executions that its rules were learned from."""
    holds: bool
    """Whether the audit of these rules passed, so that nothing had to be learned."""
    families: tuple[FamilyCarryOver, ...]
    predicates: SharedPredicates

    json_properties: ClassVar = ("asked", "foreseen")

    @property
    def asked(self) -> int:
        """The executions before anything was learned here."""
        return sum(one.asked for one in self.families)

    @property
    def foreseen(self) -> int:
        """Those whose outcome the rules held possible."""
        return sum(one.foreseen for one in self.families)

    @classmethod
    def of(
        cls, meta: RunMeta, source: Experience, model: LearnedModel, table: ExecutionTable
    ) -> CarryOver:
        """Judge the rules of another instance, as a model to which nothing was added yet.

        Args:
            meta: What the journal says about the run.
            source: What the rules were learned from.
            model: The model of these rules; it has the intents that the run began with.
            table: The executions of the run.

        Returns:
            What held of them.
        """
        asked, foreseen = foreseen_before_learning(model, table)
        names = {family_key(i): lifted_name(i, meta.vocabulary) for i in model.capabilities[::-1]}
        there = set(map(family_key, source.intents))
        keys = [family_key(intent) for intent in model.capabilities]
        allowed = meta.identity.settings.audit
        return cls(
            source.problem,
            source.executions,
            meta.audit is not None and meta.audit.passed and meta.audit.since_query == 0,
            tuple(
                FamilyCarryOver(
                    names[key],
                    key in there,
                    sum(compress(asked, (own == key for own in keys))),
                    sum(compress(foreseen, (own == key for own in keys))),
                    allowed,
                )
                for key in dict.fromkeys(keys)
            ),
            SharedPredicates.of(source.vocabulary, meta.vocabulary),
        )

    def lines(self) -> Iterator[str]:
        """Say what carried over, with the counts."""
        of = f"{self.problem} ({counted(self.executions, 'execution')})"
        first = f"started from what was learned about {of}"
        if self.holds:
            first = f"what was learned about {of} holds here"
        if not self.asked:
            yield f"{first}; none of its rules was audited before others were learned here"
        else:
            yield (
                f"{first}: {self.foreseen:,} of {counted(self.asked, 'execution')} were foreseen "
                "before anything was learned here"
            )
        for said, value in (
            ("carried over", True), ("did not carry over", False), ("not asked for", None),
        ):  # fmt: skip
            families = [one for one in self.families if one.carried_over is value]
            if families:
                texts = (one.family if value is None else str(one) for one in families)
                yield f"{said}: {', '.join(texts)}"
        yield from self._predicate_lines()

    def _predicate_lines(self) -> Iterator[str]:
        """Say which predicates only one of the instances has."""
        if self.predicates.only_there:
            yield (
                f"rules about {joined(self.predicates.only_there)} were left behind: there is no "
                "such predicate here"
            )
        if self.predicates.only_here:
            yield f"nothing was known about {joined(self.predicates.only_here)}"


def foreseen_before_learning(
    model: LearnedModel, table: ExecutionTable
) -> tuple[Sequence[int], Sequence[int]]:
    """Count, for each capability, the executions before learning and those that were foreseen.

    The first queries that are not predicted to be informative are those of the first audit.
    """
    asked, foreseen = Counter[int](), Counter[int]()
    informative = table.queries.informative.tolist()
    for learns, transitions in zip(informative, table.transitions_by_query(), strict=True):
        if learns:
            break
        model.anticipate(sorted({before for before, _, _ in transitions}))
        for transition, times in transitions.items():
            asked[transition.capability] += times
            foreseen[transition.capability] += times * model.foresees(*transition)
    every = range(len(model.capabilities))
    return [asked[i] for i in every], [foreseen[i] for i in every]
