"""How likely a hazard is when the agent is used, from draws that were made as in use.

A strategy draws where it expects to learn, and with hazards where it expects harm, so the share of
all executions in which a hazard happened estimates nothing. The draws of an audit do: sequences of
random capabilities from an initial position, of which the last execution counts
(`capscope.stats.audit`). When an audit is made depends on earlier draws, what it draws does
not, so all rounds are one sequence of independent samples, and a betting score bounds the rate at
whatever moment it is looked at.

If capabilities were discovered meanwhile, later rounds request others, and only the samples since
then count. Each such restart spends its own part of the error rate, as each round of an audit does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

import numpy as np

from capscope.journal.execution_table import ExecutionTable
from capscope.logic import Effect, Intent, Vocabulary
from capscope.stats import mean_bounds
from capscope.stats.arrays import Integers, Mask
from capscope.stats.audit import error_of_round, upper_bound
from capscope.strategy.registry import Claim, claim_of

if TYPE_CHECKING:
    from capscope.insight.run_facts import RunFacts

_NEVER = 7 / 8  # the part of an error rate that is for bounds without hits


@dataclass(frozen=True)
class UseSample:
    """The executions that were drawn as in use."""

    rows: Integers
    """Of the table of executions."""
    share: float
    """The part of an error rate that these may spend."""
    executions: str
    """Which executions they are a sample of."""
    missing: str = ""
    """Why there are none; empty if there are."""

    def only(self, kept: Mask) -> UseSample:
        """Restrict it to some executions, chosen by what they asked for."""
        return replace(self, rows=self.rows[kept[self.rows]])

    def upper(self, hits: int, error: float) -> float:
        """Return what the rate is at most, but for the given error rate.

        The bet of an audit is best without hits, and poor with some of them.
        """
        if not hits:
            return self.upper_if_never(_NEVER * error)
        confidence = 1.0 - self.share * (1.0 - _NEVER) * error
        return mean_bounds.upper_bound([(hits, len(self.rows))], confidence)

    def upper_if_never(self, error: float) -> float:
        """Return what the rate is at most, for who claims nothing if there are hits."""
        return upper_bound(len(self.rows), 0, self.share * error)

    def lower(self, hits: int, error: float) -> float:
        """Return what the rate is at least, but for the given error rate."""
        if not hits:
            return 0.0
        confidence = 1.0 - self.share * error
        return mean_bounds.lower_bound([(hits, len(self.rows))], confidence)


def sample_use(run: RunFacts) -> UseSample:
    """Return the executions of a run that were drawn as in use."""
    settings = run.identity.settings
    length = settings.use_length
    missing = run.claim_withheld or ""
    if claim_of(run.identity.strategy) is not Claim.AUDITED:
        missing = f"only audits draw as in use, and the strategy {run.identity.strategy} makes none"
    elif not settings.audit:
        missing = "only audits draw as in use, and --audit 0 asks for none"
    elif not length:
        missing = "with --audit-length 0 the audit does not start from the beginning"
    table, none = run.executions, np.empty(0, dtype=np.int64)
    if missing:
        return UseSample(none, 1.0, "", missing)
    with run.open_journal() as journal:
        cut = journal.cut_draws()
    rows = _last_of_audits(table, cut)
    grown = _growths(run)
    audits = table.query[rows]
    rows = rows[audits > max(grown, default=-1)]
    earlier = {sum(at < query for at in grown) for query in audits.tolist()} - {len(grown)}
    # A list given by the user does not grow, so nothing need be kept for a restart.
    share = 1.0 if settings.intents else error_of_round(1 + len(earlier), 1.0)
    if not len(rows):
        return UseSample(none, share, "", "the run stopped before its audit had begun")
    many = f"in sequences of 1 to {length} random capabilities"
    of = "of a random capability" if length == 1 else many
    return UseSample(rows, share, f"{of} from the beginning")


def _last_of_audits(table: ExecutionTable, cut: set[tuple[int, int]]) -> Integers:
    """Return the last execution of each draw of an audit, unless a budget cut the draw short."""
    last = np.append(table.number[1:] == 0, True)[: len(table)]
    rows = np.flatnonzero(last & ~table.queries.informative[table.query])
    whole = [(int(table.query[row]), int(table.draw[row])) not in cut for row in rows]
    kept: Integers = rows[np.array(whole, dtype=bool)]
    return kept


def _growths(run: RunFacts) -> list[int]:
    """Return the queries that discovered capabilities."""
    if run.identity.settings.intents:
        return []
    vocabulary, found = run.graph.vocabulary, run.executions.distinct
    known = _signs(run.capabilities[: run.meta.discovered or 0], vocabulary)
    states, grown = run.executions.states, []
    columns = (found.first.tolist(), found.before.tolist(), found.after.tolist())
    for row, before, after in zip(*columns, strict=True):
        effect = Effect.between(states[before], states[after])
        new = Effect(effect.adds & ~known.adds, effect.deletes & ~known.deletes)
        if new != Effect(0, 0):
            grown.append(int(run.executions.query[row]))
            more = _signs([Intent.of([one]) for one in new.literals(vocabulary)], vocabulary)
            known = Effect(known.adds | more.adds, known.deletes | more.deletes)
    return sorted(set(grown))


def _signs(intents: Sequence[Intent], vocabulary: Vocabulary) -> Effect:
    """Return the groundings of the predicates that intents make true, and of those they delete."""
    names = {
        (literal.atom.predicate, literal.positive) for one in intents for literal in one.mentioned
    }

    def groundings(positive: bool) -> int:
        atoms = (vocabulary.groundings(name) for name, sign in names if sign is positive)
        return reduce(or_, (vocabulary.state(some) for some in atoms), 0)

    return Effect(groundings(True), groundings(False))
