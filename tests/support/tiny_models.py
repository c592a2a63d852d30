"""Models over three atoms and three capabilities, small enough to be searched exhaustively."""

import random
from collections import Counter

from capscope.journal.execution_table import Transition
from capscope.logic import Intent, Vocabulary
from capscope.model import ExtremeModels, StateGraph
from capscope.strategy.paper.mcqs_e import ExactGame
from capscope.strategy.paper.uct import search

WORDS = Vocabulary.of_atoms("pqr")
INTENTS = [Intent.parse(text) for text in ("p", "q", "not r")]
TWO = INTENTS[:2]
ALL = range(2 ** len(WORDS.atoms))


def learned(transitions, intents=INTENTS):
    graph = StateGraph(WORDS, intents)
    graph.update(transitions)
    return graph


def everything_tried():
    """Return a graph of two states in which both capabilities were tried; one does nothing."""
    tried = {Transition(s, c, s ^ 1 if c == 0 else s): 1 + s for s in (0, 1) for c in (0, 1)}
    return learned(tried, TWO)


def random_world(rng, flips=(0, 0, 1, 2, 4, 3)):
    """Draw where each capability leads from each state, a successor as often as it is listed."""
    return {
        (state, c): [state ^ rng.choice(flips) for _ in range(rng.randint(1, 4))]
        for state in ALL
        for c in range(len(INTENTS))
    }


def random_models(rng, share, world=None):
    """Draw models that have seen a share of all pairs."""
    transitions = Counter()
    for (state, c), ends in (world or random_world(rng)).items():
        if rng.random() < share:
            transitions.update(Transition(state, c, end) for end in ends)
    return learned(transitions)


def nodes_below(node):
    """Yield a node of a search tree and all that follow it."""
    yield node
    for edge in node.edges:
        for child in edge.children.values():
            yield from nodes_below(child)


def search_exactly(graph, start, config, xi=0.0, seed=0, *, to_the_end=True):
    """Search and hand out the tree; the strategy does not go on to the last iteration."""
    game = ExactGame(ExtremeModels(graph), config.depth, xi)
    if to_the_end:
        game.settled = lambda root: False
    root, rng = game.root(start), random.Random(seed)
    return search(root, game, config.iterations, config.exploration, rng), game


def replayed(policy, world, start, rng, longest=50):
    """Walk a policy through a world; return the states seen and the capabilities asked for."""
    walk, state, seen, asked = policy.walk(), start, [start], []
    while len(asked) < longest and (capability := walk(state)) is not None:
        asked.append(capability)
        state = rng.choice(world[state, capability])
        seen.append(state)
    return seen, asked
