"""A claim about a mean over states: the evidence for it, and why it fails."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from capscope.logic import Effect, Intent, Literal, State, Vocabulary
from capscope.model import StateGraph
from capscope.model.state_graph import StateNode, constant_atoms
from capscope.stats import mean_bounds
from capscope.stats.mean_bounds import Counts, log_score, misses
from capscope.stats.partial_pooling import mean_probability
from capscope.wording import counted, first_few

_MOST_STATES = 5
_MOST_OUTCOMES = 3


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


def matching_states(
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


@dataclass(frozen=True)
class BoundedMean:
    """The claim that a mean over states is above, or below, a bound."""

    subject: str
    hit: str
    bound: float
    confidence: float
    above: bool
    vocabulary: Vocabulary
    states: Sequence[StateDraws]
    """The states that the claim is about."""
    excluded: Mapping[str, Sequence[StateDraws]] = field(default_factory=dict)
    """Other states in which the condition holds, by the reason for leaving them out."""

    def failure(self, *, in_every_state: bool = False) -> list[str]:
        """Return the lines of the message; none if the evidence supports the claim."""
        tried = [state for state in self.states if state.draws]
        if not self.states:
            return [self._headline("no state that was seen matches"), *self._exclusions()]
        if in_every_state:
            failing = [state for state in self.states if not self._reached([state], self.above)]
            if not failing:
                return []
            of = f"in {len(failing):,} of {counted(len(self.states), 'state')}"
            ranked = sorted(failing, key=lambda state: (state.share, -state.draws))
            lines = [f"  {self._judgement([s])}: {self._state(s)}" for s in ranked]
            return [self._headline(f"not shown {of}"), *_shortened(lines)]
        if self._reached(tried, self.above):
            return []
        return [self._headline("not shown"), f"  {self._judgement(tried)}", *self._context(tried)]

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
        drawn = f"{hits:,} of {counted(draws, 'execution')} {self.hit}"
        share = f"{_mean(counts):.3g}, between {low:.3g} and {high:.3g} (either bound with that"
        numbers = f"{drawn}: {share} confidence)"
        if len(counts) > 1:
            numbers = (
                f"a mean of {share} confidence), over {len(counts):,} states with equal weights; "
                f"{drawn}"
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
            return "; more executions like these would not show it"
        more = max(needed - int(sum(draws for _, draws in counts)), 1)
        drawn = f"about {counted(more, 'more execution')} like these would show it"
        return f"; {drawn} (`capscope assess --until settled --set min-draws=N` makes more)"

    def _context(self, tried: Sequence[StateDraws]) -> Iterator[str]:
        untried = len(self.states) - len(tried)
        also = f"; {untried:,} more matching were seen and never tried" if untried else ""
        yield f"  in {counted(len(tried), 'matching state')}{also}"
        yield from self._exclusions()
        alive = [state for state in tried if not state.dead_end]
        number = len(tried) - len(alive)
        if number and alive:  # in the claim they count, in a report they do not
            dead = "one is a dead end" if number == 1 else f"{number:,} are dead ends"
            yield (
                f"  {dead}, where nothing ever changed, whatever was asked: the mean is "
                f"{_mean(_counts(alive)):.3g} elsewhere, as in the report; use `when` to claim "
                "only that"
            )
        if tried:
            yield "  state by state, the worst first:"
            yield from _shortened(
                [
                    f"    {state.hits:,} of {state.draws:,}: {self._state(state)}"
                    for state in sorted(tried, key=self._support)
                ]
            )

    def _support(self, draws: StateDraws) -> tuple[float, int]:
        """Rank states: first those most against the claim, last those most in favor of it."""
        success = draws.share if self.above else 1 - draws.share
        return success, draws.draws if success == 1 else -draws.draws

    def _exclusions(self) -> Iterator[str]:
        for why, states in self.excluded.items():
            drawn = [state.draws for state in states if state.draws]
            if drawn:
                where = f"{counted(sum(drawn), 'execution')} in {counted(len(drawn), 'state')}"
                yield f"  excluded: {where} ({why})"

    def _state(self, draws: StateDraws) -> str:
        """Describe a state by the atoms that distinguish it, and by what happened in it."""
        constant = constant_atoms([other.state for other in self.states])
        shown = self.vocabulary.holding(draws.state & ~constant)
        atoms = ", ".join(map(str, shown)) or "none of the others' atoms"
        outcomes = [
            f"{', '.join(map(str, effect.literals(self.vocabulary))) or 'nothing changes'} ×{n:,}"
            for effect, n in draws.outcomes[:_MOST_OUTCOMES]
        ]
        more = ["…"] if len(draws.outcomes) > _MOST_OUTCOMES else []
        return f"{atoms} → {'; '.join([*outcomes, *more]) or 'never tried'}"


def _shortened(lines: Sequence[str]) -> list[str]:
    return first_few(lines, _MOST_STATES, "    and {:,} more")
