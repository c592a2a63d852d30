"""The assertions: each weighs the evidence and shows it in the message if it fails."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from capscope.errors import CapscopeError, VocabularyError
from capscope.insight.diff import Comparison
from capscope.insight.diff.wording import NOT_COMPARABLE, difference_lines
from capscope.logic import Effect, Intent, Literal, State, Vocabulary
from capscope.model import StateGraph
from capscope.model.state_graph import StateNode, constant_atoms
from capscope.problem import Problem
from capscope.run import Run, load
from capscope.sanitize import sanitize
from capscope.stats import mean_bounds
from capscope.stats.mean_bounds import Counts, log_score, misses
from capscope.stats.partial_pooling import mean_probability
from capscope.stats.sequential_test import SequentialTest
from capscope.testing.sequential_claim import SequentialClaim
from capscope.wording import counted

Source = Run | StateGraph | str | Path
"""A run, its state graph, or a run directory."""
When = str | Iterable[str] | None
"""A conjunction: `"holding(a) and not on(b,c)"`, or its literals."""
_MOST_STATES = 5
_MOST_OUTCOMES = 3


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
    in which it was tried, with equal weights however often each was drawn; or, with
    `in_every_state`, about each of them.
    """
    __tracebackhide__ = True
    _check("at_least", at_least, confidence)
    if isinstance(model, Problem):
        asked = capability if isinstance(capability, Intent) else Intent.parse(capability)
        test = SequentialTest(at_least - margin, at_least + margin, 1 - confidence)
        _fail(SequentialClaim(model, asked, _literals(when), test, seed).failure())
        return
    graph = _graph_of(model)
    intent, conditions = graph.resolve_capability(capability), _literals(when)
    evidence = ClaimEvidence(graph.vocabulary, _matching(graph, intent, conditions, intent))
    claim = BoundedMean(
        f"{intent}{_when(conditions)}", "achieved it", at_least, confidence, above=True
    )
    _fail(claim.failure(evidence, in_every_state=in_every_state))


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
    does: about the mean over those in which it was tried, with equal weights however often each was
    drawn. Dead ends, in which nothing ever changed whatever was asked, are excluded.
    """
    __tracebackhide__ = True
    graph = _graph_of(model)
    intent, conditions = graph.resolve_capability(capability), _literals(when)
    unwanted = Literal.parse(literal) if isinstance(literal, str) else literal
    _check("at_most", at_most, confidence)
    # If the intent holds already or nothing can be done, any side effect would look rare.
    matching = _matching(graph, intent, conditions, Intent.of([unwanted]))
    holds = intent.test(graph.vocabulary)
    open_states = [one for one in matching if not holds(one.state)]
    evidence = ClaimEvidence(
        graph.vocabulary,
        states=tuple(one for one in open_states if not one.dead_end),
        held=tuple(one for one in matching if holds(one.state)),
        dead_ends=tuple(one for one in open_states if one.dead_end),
    )
    subject = f"{unwanted} as a side effect of {intent}{_when(conditions)}"
    claim = BoundedMean(subject, "caused it", at_most, confidence, above=False)
    _fail(claim.failure(evidence))


def assert_no_loss(
    before: Run | str | Path, after: Run | str | Path, *, error_rate: float = 0.05
) -> None:
    """Assert that nothing was lost or became less reliable from one run to the next.

    It fails if the evidence shows a loss, and if no comparison was possible. What is unknown in one
    of the runs is not a loss.
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


def _loss_lines(comparison: Comparison) -> Iterator[str]:
    number, rate = len(comparison.losses), comparison.error_rate
    yield f"{number} lost or less reliable, at an error rate of {rate:g}"
    for loss in comparison.losses:
        first, *others = difference_lines(loss)
        yield f"  {loss.change}: {first}"
        yield from (f"  {line}" for line in others)


@dataclass(frozen=True)
class StateDraws:
    """What was drawn in one state."""

    state: State
    hits: int
    draws: int
    outcomes: tuple[tuple[Effect, int], ...]
    dead_end: bool
    """Every capability was tried here, and nothing ever changed."""

    @property
    def share(self) -> float:
        """The fraction of hits; 2 without draws, so that such states are sorted last."""
        return self.hits / self.draws if self.draws else 2.0


@dataclass(frozen=True)
class ClaimEvidence:
    """All states that an assertion is about."""

    vocabulary: Vocabulary
    states: tuple[StateDraws, ...]
    held: tuple[StateDraws, ...] = ()
    """States that were excluded because the intent held already."""
    dead_ends: tuple[StateDraws, ...] = ()
    """States that were excluded because they are dead ends."""

    @property
    def tried(self) -> tuple[StateDraws, ...]:
        """The states with draws."""
        return tuple(state for state in self.states if state.draws)


def _matching(
    graph: StateGraph, intent: Intent, when: Sequence[Literal], event: Intent
) -> tuple[StateDraws, ...]:
    """Return the states in which the condition holds and an event does not hold already."""
    hit = event.test(graph.vocabulary)
    required, forbidden = graph.vocabulary.literal_masks(when)

    def draws(node: StateNode) -> StateDraws:
        pair = node.pairs[graph.index[intent]]
        counts = {} if pair is None else pair.counts
        hits = sum(count for effect, count in counts.items() if hit(effect.apply(node.state)))
        ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        return StateDraws(node.state, hits, sum(counts.values()), tuple(ranked), node.sink)

    return tuple(
        draws(node)
        for state, node in graph.nodes.items()
        if state & required == required and not state & forbidden and not hit(state)
    )


def _counts(states: Iterable[StateDraws]) -> list[tuple[int, int]]:
    return [(state.hits, state.draws) for state in states if state.draws]


def _mean(counts: Counts) -> float:
    return mean_probability([(hits, draws, 1) for hits, draws in counts])


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


@dataclass(frozen=True)
class BoundedMean:
    """That a mean over states is above, or below, a bound."""

    subject: str
    hit: str
    bound: float
    confidence: float
    above: bool

    def failure(self, evidence: ClaimEvidence, *, in_every_state: bool = False) -> list[str]:
        """Return the lines of the message; none if the evidence supports the claim."""
        if not evidence.states:
            return [self._headline("no state that was seen matches"), *_excluded(evidence)]
        if in_every_state:
            failing = [state for state in evidence.states if not self._reached([state], self.above)]
            if not failing:
                return []
            of = f"in {len(failing):,} of {counted(len(evidence.states), 'state')}"
            ranked = sorted(failing, key=lambda state: (state.share, -state.draws))
            lines = [f"  {self._judgement([s])}: {_state(s, evidence)}" for s in ranked]
            return [self._headline(f"not shown {of}"), *_shortened(lines)]
        if self._reached(evidence.tried, self.above):
            return []
        return [
            self._headline("not shown"),
            f"  {self._judgement(evidence.tried)}",
            *self._context(evidence),
        ]

    def _headline(self, verdict: str) -> str:
        bound = f"at {'least' if self.above else 'most'} {self.bound:g}"
        return f"{self.subject}: {bound} with confidence {self.confidence:g}: {verdict}"

    def _reached(self, tried: Sequence[StateDraws], above: bool) -> bool:
        """Return whether the evidence shows the mean to be above the bound, or below."""
        counts = _counts(tried)
        enough = -math.log1p(-self.confidence)
        return bool(counts) and log_score(*self._oriented(counts, above)) >= enough

    def _judgement(self, tried: Sequence[StateDraws]) -> str:
        """Describe in numbers whether the evidence is against the claim or too little."""
        counts = _counts(tried)
        if not counts:
            return "not enough evidence: it was never tried"
        low = mean_bounds.lower_bound(counts, self.confidence)
        high = mean_bounds.upper_bound(counts, self.confidence)
        hits, draws = map(sum, zip(*counts, strict=True))
        drawn = f"{hits:,} of {counted(draws, 'draw')} {self.hit}"
        share = f"{_mean(counts):.3g}, between {low:.3g} and {high:.3g}"
        numbers = f"{drawn}: {share} (either bound with that confidence)"
        if len(counts) > 1:
            numbers = (
                f"a mean of {share} (either bound with that confidence), over "
                f"{len(counts):,} states with equal weights; {drawn}"
            )
        if self._reached(tried, not self.above):
            return f"evidence against it: {numbers}"
        return f"not enough evidence: {numbers}{self._advice(counts)}"

    def _oriented(self, counts: Counts, above: bool) -> tuple[Counts, float]:
        """Express that a mean is below a bound as a claim that something is above one."""
        return (counts, self.bound) if above else (misses(counts), 1 - self.bound)

    def _advice(self, counts: Counts) -> str:
        needed = mean_bounds.draws_needed(*self._oriented(counts, self.above), self.confidence)
        if needed is None:
            return "; more draws like these would not show it"
        more = max(needed - int(sum(draws for _, draws in counts)), 1)
        drawn = f"about {counted(more, 'more draw')} like these would show it"
        return f"; {drawn} (`capscope assess --until settled --min-draws N` makes more)"

    def _doubt(self, draws: StateDraws) -> tuple[float, int]:
        """Rank states: first those most against the claim, last those most in favor of it."""
        success = draws.share if self.above else 1 - draws.share
        return success, draws.draws if success == 1 else -draws.draws

    def _context(self, evidence: ClaimEvidence) -> Iterator[str]:
        untried = len(evidence.states) - len(evidence.tried)
        also = f"; {untried:,} more matching were seen and never tried" if untried else ""
        yield f"  in {counted(len(evidence.tried), 'matching state')}{also}"
        yield from _excluded(evidence)
        yield from _dead_ends(evidence)
        worst = sorted(evidence.tried, key=self._doubt)
        if worst:
            yield "  state by state, the worst first:"
            yield from _shortened(
                [f"    {s.hits:,} of {s.draws:,}: {_state(s, evidence)}" for s in worst]
            )


def _excluded(evidence: ClaimEvidence) -> Iterator[str]:
    for states, why in (
        (evidence.held, "the intent held there already"),
        (evidence.dead_ends, "dead ends, where nothing ever changed, whatever was asked"),
    ):
        drawn = [state.draws for state in states if state.draws]
        if drawn:
            where = f"{counted(sum(drawn), 'draw')} in {counted(len(drawn), 'state')}"
            yield f"  excluded: {where} ({why})"


def _dead_ends(evidence: ClaimEvidence) -> Iterator[str]:
    """Give the mean without dead ends, as in a report; in the claim they count."""
    alive = [state for state in evidence.tried if not state.dead_end]
    number = len(evidence.tried) - len(alive)
    if number and alive:
        mean = _mean(_counts(alive))
        dead = "one is a dead end" if number == 1 else f"{number:,} are dead ends"
        yield (
            f"  {dead}, where nothing ever changed, whatever was asked: the mean is {mean:.3g} "
            "elsewhere, as in the report; use `when` to claim only that"
        )


def _state(draws: StateDraws, evidence: ClaimEvidence) -> str:
    """Describe a state by the atoms that distinguish it, and by what happened in it."""
    vocabulary = evidence.vocabulary
    constant = constant_atoms([other.state for other in evidence.states])
    shown = vocabulary.holding(draws.state & ~constant)
    atoms = ", ".join(map(str, shown)) or "none of the others' atoms"
    outcomes = [
        f"{', '.join(map(str, effect.literals(vocabulary))) or 'nothing changes'} ×{count:,}"
        for effect, count in draws.outcomes[:_MOST_OUTCOMES]
    ]
    more = ["…"] if len(draws.outcomes) > _MOST_OUTCOMES else []
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


def _fail(lines: Sequence[str]) -> None:
    __tracebackhide__ = True
    if lines:
        raise AssertionError("\n".join(sanitize(line) for line in lines))
