"""What comes of asking for the same thing until it holds.

Where an execution ends with the first change, most capabilities take several: a success rate of one
execution then says little about what the agent can do. What it says is in the counts all the same:
following the frequencies of one capability from state to state gives the chance that its intent
holds at last. A state where the capability was never tried counts as lost, and so does one from
which nothing was seen to lead on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from capscope.model import StateGraph

_ROUNDS = 1_000
_SMALLEST_GAIN = 1e-6

Chances = NDArray[np.float64]


def chances_of_getting_there(graph: StateGraph) -> list[list[float]]:
    """Return of each capability the chances from the states where its intent does not hold.

    Only states in which the capability was tried are counted.
    """
    nodes = list(graph.nodes.values())
    position = {id(node): i for i, node in enumerate(nodes)}
    edges: list[tuple[int, int, float]] = []
    wanted: list[int] = []
    starts: list[list[int]] = []
    for c, intent in enumerate(graph.capabilities):
        begin = c * len(nodes)
        holds = intent.test(graph.vocabulary)
        holding = [holds(node.state) for node in nodes]
        wanted += [begin + i for i, held in enumerate(holding) if held]
        starts.append([])
        for i, node in enumerate(nodes):
            pair = node.pairs[c]
            if pair is None or holding[i]:
                continue
            starts[-1].append(begin + i)
            for effect, after in zip(pair.group.effects, pair.successors, strict=True):
                share = pair.counts[effect] / pair.total
                edges.append((begin + i, begin + position[id(after)], share))
    chances = _absorbed(edges, wanted, len(nodes) * len(graph.capabilities))
    return [chances[own].tolist() for own in starts]


def _absorbed(edges: list[tuple[int, int, float]], wanted: list[int], nodes: int) -> Chances:
    """Return of each node the chance to end in a wanted one; wanted ones have no edges."""
    source, target = np.array([edge[:2] for edge in edges], dtype=np.int64).reshape(-1, 2).T
    share = np.array([edge[2] for edge in edges])
    certain = np.zeros(nodes)
    certain[wanted] = 1.0
    chances = certain
    for _ in range(_ROUNDS):
        onwards = np.bincount(source, weights=share * chances[target], minlength=nodes)
        # From below: each round allows one more execution.
        before, chances = chances, onwards + certain
        if np.abs(chances - before).max(initial=0.0) < _SMALLEST_GAIN:
            break
    return chances
