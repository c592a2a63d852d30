"""Assertions for tests of your own agent: what it can do, its side effects, what it lost.

    from capscope.testing import assert_capability

    def test_it_stacks(model):
        assert_capability(model, "on(a,b)", when="holding(a)", at_least=0.8)

An assertion passes if the evidence supports it. It fails if the evidence is against it and also if
there is too little: a test that passes because nothing was tried is worth nothing. The message says
which of the two it is, and what to do.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from capscope.errors import CapscopeError, VocabularyError
from capscope.insight.diff import Comparison
from capscope.insight.diff.wording import NOT_COMPARABLE, difference_lines
from capscope.insight.hazards import cannot_happen_unasked, sample_use
from capscope.insight.hazards.wording import hazard_details
from capscope.logic import Intent, Literal
from capscope.model import StateGraph
from capscope.problem import Hazard, Problem
from capscope.run import Run, load
from capscope.sanitize import sanitize
from capscope.stats.sequential_test import SequentialTest
from capscope.testing.claim import BoundedMean, matching_states
from capscope.testing.sequential_claim import run_until_decided, when_text
from capscope.wording import counted

__all__ = ["assert_capability", "assert_never", "assert_no_loss", "assert_no_side_effect"]

Source = Run | StateGraph | str | Path
"""A run, its state graph, or a run directory."""
When = str | Iterable[str] | None
"""A conjunction: `"holding(a) and not on(b,c)"`, or its literals."""


def assert_capability(
    model: Source | Problem,
    capability: str | Intent,
    *,
    when: When = None,
    at_least: float = 0.8,
    confidence: float = 0.95,
    in_every_state: bool = False,
    margin: float = 0.1,
    seed: int = 0,
) -> None:
    """Assert that the agent achieves an intent with at least the given probability.

    A `Problem` is run: from resets in which `when` holds and the intent does not, until a
    sequential test decides between `at_least` + `margin` and `at_least` - `margin`; an agent
    beyond either is judged wrongly with probability 1 - `confidence` at most.

    A run in which the agent changed, or never changed anything, supports no claim. The claim is
    about the states seen in which `when` holds and the intent does not: about the mean over those
    in which it was tried, with equal weights.

    Args:
        model: A run, its state graph, a run directory, or a problem to run.
        capability: The intent.
        when: A conjunction, or its literals.
        at_least: The probability to show.
        confidence: A false claim passes with probability 1 - `confidence` at most.
        in_every_state: Whether the claim is about each state instead of the mean.
        margin: Of the sequential test; only for a problem.
        seed: Of the executions; only for a problem.
    """
    __tracebackhide__ = True
    _check("at_least", at_least, confidence)
    conditions = _literals(when)
    if isinstance(model, Problem):
        intent = capability if isinstance(capability, Intent) else Intent.parse(capability)
        test = SequentialTest(at_least - margin, at_least + margin, 1 - confidence)
        _fail(run_until_decided(model, intent, conditions, test, seed))
        return
    graph = _graph_of(model)
    intent = graph.resolve_capability(capability)
    states = matching_states(graph, intent, conditions, intent)
    subject = f"{intent}{when_text(conditions)}"
    claim = BoundedMean(
        subject, "achieved it", at_least, confidence, True, graph.vocabulary, states
    )
    _fail(claim.failure(in_every_state=in_every_state))


def assert_no_side_effect(
    model: Source,
    capability: str | Intent,
    literal: str | Literal,
    *,
    when: When = None,
    at_most: float = 0.01,
    confidence: float = 0.95,
) -> None:
    """Assert that asking for an intent causes a literal with at most the given probability.

    The claim is about the states seen in which `when` holds and neither the literal nor the intent
    does: about the mean over those in which it was tried, with equal weights. Dead ends, in which
    no request ever changed anything, are excluded.

    Args:
        model: A run, its state graph or a run directory.
        capability: The intent that is asked for.
        literal: The side effect.
        when: A conjunction, or its literals.
        at_most: The probability to show.
        confidence: A false claim passes with probability 1 - `confidence` at most.
    """
    __tracebackhide__ = True
    graph = _graph_of(model)
    intent, conditions = graph.resolve_capability(capability), _literals(when)
    unwanted = Literal.parse(literal) if isinstance(literal, str) else literal
    _check("at_most", at_most, confidence)
    # If the intent holds already or nothing can be done, any side effect would look rare.
    matching = matching_states(graph, intent, conditions, Intent.of([unwanted]))
    holds = intent.test(graph.vocabulary)
    open_states = [one for one in matching if not holds(one.state)]
    alive = [one for one in open_states if not one.dead_end]
    excluded = {
        "the intent held there already": [one for one in matching if holds(one.state)],
        "dead ends, where nothing ever changed, whatever was asked": [
            one for one in open_states if one.dead_end
        ],
    }
    subject = f"{unwanted} as a side effect of {intent}{when_text(conditions)}"
    claim = BoundedMean(
        subject, "caused it", at_most, confidence, False, graph.vocabulary, alive, excluded
    )
    _fail(claim.failure())


def assert_no_loss(
    before: Run | str | Path, after: Run | str | Path, *, error_rate: float = 0.05
) -> None:
    """Assert that nothing was lost or became less reliable from one run to the next.

    It fails if the evidence shows a loss, and if no comparison was possible. What is unknown in one
    of the runs is not a loss.

    Args:
        before: The baseline, or its directory.
        after: The run to check, or its directory.
        error_rate: The probability of failing for two identical agents, at most.
    """
    __tracebackhide__ = True
    earlier = before if isinstance(before, Run) else load(before)
    later = after if isinstance(after, Run) else load(after)
    for run in (earlier, later):
        # A run without any change is compared: the agent may have lost everything.
        if run.drift is not None:
            _refuse_withheld(run)
    comparison = later.diff(baseline=earlier, error_rate=error_rate)
    if comparison.losses:
        _fail([*_loss_lines(comparison)])
    if not (comparison.unchanged or comparison.differences):
        _fail([NOT_COMPARABLE])


def assert_never(
    run: Run | str | Path,
    hazard: str,
    *,
    at_most: float = 0.01,
    confidence: float = 0.95,
    even_if_asked: bool = False,
) -> None:
    """Assert that a hazard never happened and that its rate in use is bounded.

    It fails if the hazard happened, and if the executions of the audit do not bound its rate.

    Args:
        run: A run or a run directory.
        hazard: Written as for `capscope assess --hazard`; a run that was given it searched for it.
        at_most: The rate per execution to show.
        confidence: A false claim passes with probability 1 - `confidence` at most.
        even_if_asked: Whether executions that asked for the hazard count too.
    """
    __tracebackhide__ = True
    _check("at_most", at_most, confidence)
    found = run if isinstance(run, Run) else load(run)
    (result,) = found.find_hazards([hazard])
    claim = f"never {result.hazard}: at most {at_most:g} in use with confidence {confidence:g}"
    times = result.happened + result.cut_short + result.granted * even_if_asked
    if times:
        details = (f"    {line}" for line in hazard_details(found, result))
        _fail([claim, f"  it happened in {counted(times, 'execution')}:", *details])
    sample = sample_use(found)
    if not even_if_asked:
        closed = cannot_happen_unasked(found, Hazard.parse(hazard, found.graph.vocabulary))
        sample = sample.only(~closed)
    if sample.missing:
        _fail([claim, f"  no bound for use: {sample.missing}"])
    bound = sample.upper_if_never(1.0 - confidence)
    if bound > at_most:
        drawn = f"{counted(len(sample.rows), 'execution')} as in use"
        advice = f"assess with --audit {at_most:g} and a budget that lets the audit pass"
        why = f"not enough evidence: it never happened, and {drawn} bound it to {bound:.3g}"
        _fail([claim, f"  {why}; {advice}"])


def _loss_lines(comparison: Comparison) -> Iterator[str]:
    number, rate = len(comparison.losses), comparison.error_rate
    yield f"{number} lost or less reliable, at an error rate of {rate:g}"
    for loss in comparison.losses:
        first, *others = difference_lines(loss)
        yield f"  {loss.change}: {first}"
        yield from (f"  {line}" for line in others)


def _graph_of(source: Source) -> StateGraph:
    __tracebackhide__ = True
    if isinstance(source, str | Path):
        source = load(source)
    if isinstance(source, Run):
        _refuse_withheld(source)
    found = source if isinstance(source, StateGraph) else getattr(source, "graph", None)
    if not isinstance(found, StateGraph):
        raise CapscopeError(
            f"a {type(source).__name__} is not a run; give what assess() or load() returned, or a "
            "run directory"
        )
    return found


def _refuse_withheld(run: Run) -> None:
    __tracebackhide__ = True
    if run.claim_withheld is not None:
        _fail([f"nothing can be shown by {run.path}: {run.claim_withheld}", *run.notes()])


def _literals(when: When) -> tuple[Literal, ...]:
    parts = [when] if isinstance(when, str) else when or ()
    intents = [Intent.parse(part) for part in parts]
    for intent in intents:
        if len(intent.alternatives) > 1:
            raise VocabularyError(
                f"the condition {intent} has an `or`; make one assertion for each alternative"
            )
    return tuple(literal for intent in intents for literal in intent.literals)


def _check(name: str, bound: float, confidence: float) -> None:
    for what, value in ((name, bound), ("confidence", confidence)):
        if not 0 < value < 1:
            raise CapscopeError(
                f"{what} must be between 0 and 1, not {value}; no number of executions shows "
                "certainty"
            )


def _fail(lines: Sequence[str]) -> None:
    __tracebackhide__ = True
    if lines:
        raise AssertionError("\n".join(sanitize(line) for line in lines))
