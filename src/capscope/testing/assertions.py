"""The assertions: each weighs the evidence and fails with all of it in the message."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from capscope.api import Result
from capscope.difference import Comparison, compare_runs
from capscope.errors import CapscopeError
from capscope.report.difference import difference_lines
from capscope.report.harmless import harmless
from capscope.report.text import counted
from capscope.symbolic import Intent, Literal, State
from capscope.testing.bounds import draws_needed, log_score, lower_bound, upper_bound
from capscope.testing.evidence import (
    Body,
    Seen,
    Source,
    When,
    gathered,
    known,
    literals_of,
    models_of,
)

_MOST_STATES = 5
_MOST_OUTCOMES = 3


def assert_capability(
    model: Source,
    capability: str | Intent,
    *,
    when: When = None,
    at_least: float = 0.8,
    confidence: float = 0.95,
    in_every_state: bool = False,
) -> None:
    """Assert that the agent achieves an intent with at least that probability.

    It speaks of the states seen in which `when` holds and the intent does not: of the mean over all
    draws made in them or, with `in_every_state`, of each of them.
    """
    __tracebackhide__ = True
    models = models_of(model)
    intent, conditions = known(models, capability), literals_of(when)
    _check("at_least", at_least, confidence)
    body = gathered(models, intent, conditions, lambda s: intent.holds(s, models.vocabulary))
    claim = Claim(f"{intent}{_when(conditions)}", "achieved it", at_least, confidence, above=True)
    _fail(claim.failure(body, in_every_state=in_every_state))


def assert_no_side_effect(
    model: Source,
    capability: str | Intent,
    literal: str | Literal,
    *,
    when: When = None,
    at_most: float = 0.01,
    confidence: float = 0.95,
) -> None:
    """Assert that asking for an intent brings a literal about with at most that probability.

    It speaks of the states seen in which `when` holds and the literal does not, whether or not the
    intent holds there: of the mean over all draws made in them.
    """
    __tracebackhide__ = True
    models = models_of(model)
    intent, conditions = known(models, capability), literals_of(when)
    unwanted = Literal.parse(literal) if isinstance(literal, str) else literal
    required, forbidden = models.vocabulary.literal_masks([unwanted])
    _check("at_most", at_most, confidence)

    def holds(state: State) -> bool:
        return state & required == required and not state & forbidden

    body = gathered(models, intent, conditions, holds)
    subject = f"{unwanted} as a side effect of {intent}{_when(conditions)}"
    claim = Claim(subject, "brought it about", at_most, confidence, above=False)
    _fail(claim.failure(body))


def assert_no_loss(
    before: Result | str | Path, after: Result | str | Path, *, error_rate: float = 0.05
) -> None:
    """Assert that nothing was lost or became less reliable from one run to the next.

    It fails when the evidence shows a loss, and when nothing at all could be compared. What is
    unknown on one side is no loss.
    """
    __tracebackhide__ = True
    comparison = compare_runs(_directory(before), _directory(after), error_rate=error_rate)
    if comparison.losses:
        _fail([*_loss_lines(comparison)])
    if not (comparison.alike or comparison.differences):
        _fail(
            ["nothing could be compared: no capability was drawn in the same states of both runs"]
        )


def _loss_lines(comparison: Comparison) -> Iterator[str]:
    number, rate = len(comparison.losses), comparison.error_rate
    yield f"{number} lost or less reliable, at an error rate of {rate:g}"
    for loss in comparison.losses:
        first, *others = difference_lines(loss)
        yield f"  {loss.change}: {first}"
        yield from (f"  {line}" for line in others)


@dataclass(frozen=True)
class Claim:
    """That a mean probability is above, or below, a bound."""

    subject: str
    hit: str
    bound: float
    confidence: float
    above: bool

    def failure(self, body: Body, *, in_every_state: bool = False) -> list[str]:
        """Return the lines of the message; none if the claim is supported."""
        if not body.seen:
            return [self._headline("no state that was seen is one it speaks of")]
        if in_every_state:
            failing = [seen for seen in body.seen if not self._supported(seen.hits, seen.draws)]
            if not failing:
                return []
            of = f"in {len(failing):,} of {counted(len(body.seen), 'state')}"
            ranked = sorted(failing, key=lambda seen: (seen.share, -seen.draws))
            told = [f"  {self._judgement(s.hits, s.draws)}: {_state(s, body)}" for s in ranked]
            return [self._headline(f"not shown {of}"), *_shortened(told)]
        if self._supported(body.hits, body.draws):
            return []
        return [
            self._headline("not shown"),
            f"  {self._judgement(body.hits, body.draws)}",
            *self._context(body),
        ]

    def _headline(self, verdict: str) -> str:
        bound = f"at {'least' if self.above else 'most'} {self.bound:g}"
        return f"{self.subject}: {bound} with confidence {self.confidence:g}: {verdict}"

    def _supported(self, hits: int, draws: int) -> bool:
        return self._score(hits, draws, self.above) >= -math.log1p(-self.confidence)

    def _score(self, hits: int, draws: int, above: bool) -> float:
        if above:
            return log_score(hits, draws, self.bound)
        return log_score(draws - hits, draws, 1 - self.bound)

    def _judgement(self, hits: int, draws: int) -> str:
        """Say whether the evidence is against the claim or too little, in numbers."""
        if not draws:
            return "not enough evidence: it was never tried"
        low = lower_bound(hits, draws, self.confidence)
        high = upper_bound(hits, draws, self.confidence)
        told = (
            f"{hits:,} of {counted(draws, 'draw')} {self.hit}: {hits / draws:.3g}, between "
            f"{low:.3g} and {high:.3g} (either bound with that confidence)"
        )
        if self._score(hits, draws, not self.above) >= -math.log1p(-self.confidence):
            return f"evidence against it: {told}"
        return f"not enough evidence: {told}{self._advice(hits, draws)}"

    def _advice(self, hits: int, draws: int) -> str:
        share = hits / draws if self.above else 1 - hits / draws
        bound = self.bound if self.above else 1 - self.bound
        needed = draws_needed(share, bound, self.confidence)
        if needed is None:
            return "; more draws like these would not show it"
        return f"; about {counted(max(needed - draws, 1), 'more draw')} like these would show it"

    def _context(self, body: Body) -> Iterator[str]:
        untried = len(body.seen) - len(body.tried)
        also = f"; {untried:,} more matching were seen and never tried" if untried else ""
        yield f"  in {counted(len(body.tried), 'matching state')}{also}"
        sign = 1 if self.above else -1
        worst = sorted(body.tried, key=lambda seen: (sign * seen.share, -seen.draws))
        if worst:
            yield "  state by state, the worst first:"
            yield from _shortened(
                [f"    {s.hits:,} of {s.draws:,}: {_state(s, body)}" for s in worst]
            )


def _state(seen: Seen, body: Body) -> str:
    """Describe a state by the atoms that set it apart, and by what happened in it."""
    constant = body.vocabulary.mask
    for other in body.seen:
        constant &= other.state
    shown = seen.state & ~constant if len(body.seen) > 1 else seen.state
    atoms = ", ".join(map(str, body.vocabulary.holding(shown))) or "none of the others' atoms"
    outcomes = [
        f"{', '.join(map(str, effect.literals(body.vocabulary))) or 'nothing changes'} ×{count:,}"
        for effect, count in seen.outcomes[:_MOST_OUTCOMES]
    ]
    more = ["…"] if len(seen.outcomes) > _MOST_OUTCOMES else []
    return f"{atoms} → {'; '.join([*outcomes, *more]) or 'never tried'}"


def _shortened(lines: Sequence[str]) -> list[str]:
    hidden = len(lines) - _MOST_STATES
    return [*lines[:_MOST_STATES], f"    and {hidden:,} more"] if hidden > 1 else [*lines]


def _when(conditions: Sequence[Literal]) -> str:
    return f" when {' and '.join(map(str, conditions))}" if conditions else ""


def _check(name: str, bound: float, confidence: float) -> None:
    for what, value in ((name, bound), ("confidence", confidence)):
        if not 0 < value < 1:
            raise CapscopeError(
                f"{what} must be between 0 and 1, not {value}; no number of draws shows certainty"
            )


def _directory(run: Result | str | Path) -> Path:
    if isinstance(run, str | Path):
        return Path(run)
    if run.run is None:
        raise CapscopeError(
            "this run was not kept, and a comparison needs its draws; assess(…, run=DIRECTORY)"
        )
    return run.run


def _fail(lines: Sequence[str]) -> None:
    __tracebackhide__ = True
    if lines:
        raise AssertionError("\n".join(harmless(line) for line in lines))
