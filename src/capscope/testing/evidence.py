"""The evidence for an assertion: the states it is about, and what was drawn in each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from capscope.errors import CapscopeError
from capscope.model import StateGraph
from capscope.model.state_graph import PairStats, StateNode
from capscope.run import Run, load
from capscope.symbolic import Effect, Intent, Literal, State, Vocabulary

Source = Run | StateGraph | str | Path
"""A run, its state graph, or a run directory."""
When = str | Iterable[str] | None
"""A conjunction: `"holding(a) and not on(b,c)"`, or its literals."""


@dataclass(frozen=True)
class StateDraws:
    """What was drawn in one state."""

    state: State
    hits: int
    draws: int
    outcomes: tuple[tuple[Effect, int], ...]
    dead_end: bool = False
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


def counts_of(states: Iterable[StateDraws]) -> list[tuple[int, int]]:
    """Return hits and draws of each state that has draws."""
    return [(state.hits, state.draws) for state in states if state.draws]


def models_of(source: Source) -> StateGraph:
    """Return the model behind whatever an assertion was given."""
    if isinstance(source, str | Path):
        return load(source).graph
    found = source if isinstance(source, StateGraph) else getattr(source, "graph", None)
    if not isinstance(found, StateGraph):
        raise CapscopeError(
            f"a {type(source).__name__} is not a run; give what assess() or load() returned, or a "
            "run directory"
        )
    return found


def literals_of(when: When) -> tuple[Literal, ...]:
    """Parse a condition."""
    if when is None:
        return ()
    parts = [when] if isinstance(when, str) else list(when)
    return tuple(literal for part in parts for literal in Intent.parse(part).literals)


def achieving(graph: StateGraph, intent: Intent, when: tuple[Literal, ...]) -> ClaimEvidence:
    """Collect the states in which the condition holds and the intent does not hold already."""
    return ClaimEvidence(graph.vocabulary, _matching(graph, intent, when, intent.literals))


def bringing_about(
    graph: StateGraph, intent: Intent, unwanted: Literal, when: tuple[Literal, ...]
) -> ClaimEvidence:
    """Collect the states in which the condition holds and asking for an intent could do harm.

    If the intent holds already, an agent has nothing to do, and in a dead end nothing can be done:
    draws from there would make any side effect look rare.
    """
    vocabulary = graph.vocabulary
    matching = _matching(graph, intent, when, [unwanted])
    held = tuple(one for one in matching if intent.holds(one.state, vocabulary))
    rest = [one for one in matching if not intent.holds(one.state, vocabulary)]
    dead_ends = tuple(one for one in rest if one.dead_end)
    alive = tuple(one for one in rest if not one.dead_end)
    return ClaimEvidence(vocabulary, alive, held, dead_ends)


def _matching(
    graph: StateGraph, intent: Intent, when: Iterable[Literal], event: Iterable[Literal]
) -> tuple[StateDraws, ...]:
    """Return the states in which the condition holds and an event does not hold already."""
    number = graph.index[intent]
    given, hit = _test(graph.vocabulary, when), _test(graph.vocabulary, event)
    return tuple(
        _draws(node, node.pairs[number], hit)
        for state, node in graph.nodes.items()
        if given(state) and not hit(state)
    )


def _test(vocabulary: Vocabulary, literals: Iterable[Literal]) -> Callable[[State], bool]:
    required, forbidden = vocabulary.literal_masks(literals)
    return lambda state: state & required == required and not state & forbidden


def _draws(node: StateNode, pair: PairStats | None, event: Callable[[State], bool]) -> StateDraws:
    counts = {} if pair is None else pair.counts
    hits = sum(count for effect, count in counts.items() if event(effect.apply(node.state)))
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return StateDraws(node.state, hits, sum(counts.values()), tuple(ranked), node.sink)
