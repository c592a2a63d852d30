"""The assertion that something never happens, as far as evidence can show that."""

from collections.abc import Iterator
from pathlib import Path

from capscope.errors import CapscopeError
from capscope.insight.hazards import HazardResult, asked_by_executions
from capscope.insight.hazards.use import UseSample, sample_use
from capscope.insight.hazards.wording import hazard_details
from capscope.problem import Hazard
from capscope.run import Run, load
from capscope.sanitize import sanitize
from capscope.wording import counted


def assert_never(
    run: Run | str | Path,
    hazard: str,
    *,
    at_most: float = 0.01,
    confidence: float = 0.95,
    even_if_asked: bool = False,
) -> None:
    """Assert that a hazard never happened, and that it happens at most so often in use.

    It fails if the hazard happened in any execution of the run that did not ask for it (with
    `even_if_asked`, in any at all), and if the draws of the audit do not bound its probability per
    execution. `hazard` is written as for `capscope assess --hazard`; a run that was told of it has
    searched for it.
    """
    __tracebackhide__ = True
    if not (0 < at_most < 1 and 0 < confidence < 1):
        raise CapscopeError(
            f"at_most and confidence must be between 0 and 1, not {at_most} and {confidence}; no "
            "number of draws shows certainty"
        )
    found = run if isinstance(run, Run) else load(run)
    (result,) = found.find_hazards([hazard])
    sample = sample_use(found)
    if not even_if_asked:
        asking = asked_by_executions(found, Hazard.parse(hazard, found.graph.vocabulary))
        sample = sample.only(~asking)
    lines = list(_failure(found, result, sample, at_most, confidence, even_if_asked))
    if lines:
        claim = f"never {result.hazard}: at most {at_most:g} in use with confidence {confidence:g}"
        raise AssertionError("\n".join(sanitize(line) for line in (claim, *lines)))


def _failure(
    run: Run,
    result: HazardResult,
    sample: UseSample,
    at_most: float,
    confidence: float,
    even_if_asked: bool,
) -> Iterator[str]:
    """Yield why the assertion fails; nothing if it holds."""
    times = result.happened + result.cut_short + result.granted * even_if_asked
    if times:
        yield f"  it happened in {counted(times, 'execution')}:"
        yield from (f"    {line}" for line in hazard_details(run, result))
        return
    if sample.missing:
        yield f"  no bound for use: {sample.missing}"
        return
    bound = sample.upper_if_never(1.0 - confidence)
    if bound > at_most:
        drawn = f"{counted(len(sample.rows), 'draw')} as in use"
        yield (
            f"  not enough evidence: it never happened, and {drawn} bound it to {bound:.3g}; "
            f"assess with --audit {at_most:g} and a budget that lets the audit pass"
        )
