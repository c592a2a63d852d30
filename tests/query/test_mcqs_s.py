"""MCQS-S against expectimax, and its policy graph against sampled worlds."""

import random
from collections import Counter
from textwrap import dedent, indent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capscope.data.dataset import Transition
from capscope.model import Models
from capscope.query import Settings
from capscope.query.mcqs_s import (
    McqsSampled,
    PolicyGraph,
    SampledGame,
    draw_successor,
    extract_policy,
)
from capscope.query.policy import SequencePolicy
from capscope.query.uct import Edge, Node, SearchBudget, best_edge, search
from capscope.symbolic import Intent, Vocabulary

WORDS = Vocabulary.of_atoms("pqr")
INTENTS = [Intent.parse(text) for text in ("p", "q", "not r")]
ALL = range(2 ** len(WORDS.atoms))


def learned(transitions, intents=INTENTS):
    models = Models(WORDS, intents)
    models.update(transitions)
    return models


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


def searched(models, start, config, xi=0.0, seed=0):
    """Search as the strategy does and hand out the tree."""
    game = SampledGame(len(models.capabilities), config, xi)
    budget = SearchBudget(config.iterations, config.exploration)
    root = game.node(models.place(start), 0)
    return search(root, game, game.backup, budget, random.Random(seed)), game


def best_policy_twin(models, state, depth, xi=0.0, discount=1.0):
    """Return the best chance of meeting an untried pair, by trying every policy to its end."""
    if not depth:
        return 0.0
    values = []
    for capability, intent in enumerate(models.capabilities):
        pair = models.pair(state, capability)
        if pair is None:
            values.append(1.0)
            continue
        beyond = sum(
            probability * best_policy_twin(models, successor, depth - 1, xi, discount)
            for successor, probability in models.pessimistic.predict(state, intent).items()
        )
        missing = xi / (1 + pair.total)
        values.append(missing + (1 - missing) * discount * beyond)
    return max(values)


def dump(node):
    """Write a tree as text: state (visits, value), below it capability (visits, value)."""
    lines = [f"{node.content.state:02b} ({node.visits}, {node.value:.4g})"]
    for edge in node.edges:
        lines.append(f"  {'abc'[edge.capability]} ({edge.visits}, {edge.value:.4g})")
        lines += [indent(dump(child), "    ") for child in edge.children.values()]
    return "\n".join(lines)


def nodes_below(node):
    yield node
    for edge in node.edges:
        for child in edge.children.values():
            yield from nodes_below(child)


# Golden trees.

TWO = INTENTS[:2]


def test_golden_tree_of_a_stochastic_step_towards_something_untried():
    models = learned(
        {
            Transition(0b00, 0, 0b01): 3,
            Transition(0b00, 0, 0b00): 1,
            Transition(0b00, 1, 0b00): 4,
            Transition(0b01, 0, 0b00): 4,
        },
        TWO,
    )
    root, _ = searched(models, 0, Settings(depth=2, discount=1, iterations=8))
    assert dump(root) == dedent(GOLDEN_STEP).strip()


def test_golden_tree_with_a_discount_values_the_nearer_disagreement_higher():
    models = learned({Transition(0b00, 0, 0b01): 1, Transition(0b01, 0, 0b00): 1}, TWO)
    root, _ = searched(models, 0, Settings(depth=3, discount=0.5, iterations=9))
    assert dump(root) == dedent(GOLDEN_DISCOUNT).strip()


def test_golden_tree_of_a_bonus_where_everything_was_tried():
    models = learned(
        {Transition(s, c, s ^ 1 if c == 0 else s): 1 + s for s in (0, 1) for c in (0, 1)}, TWO
    )
    root, _ = searched(models, 0, Settings(depth=2, discount=1, iterations=8), xi=0.5)
    assert dump(root) == dedent(GOLDEN_BONUS).strip()


GOLDEN_STEP = ""
GOLDEN_DISCOUNT = ""
GOLDEN_BONUS = ""
