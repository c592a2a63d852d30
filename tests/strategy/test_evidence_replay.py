"""Replayed evidence, which skips what the next refresh replaces, against evidence that does not."""

import random
from functools import cache

import pytest

from capscope.journal.execution_table import Transition
from capscope.model import StateGraph
from capscope.strategy.evidence import Evidence
from support.tiny_evidence import SETTINGS
from support.tiny_models import INTENTS, WORDS, random_world


class CountedEvidence(Evidence):
    """Notes which refreshes were skipped, and which came before their time."""

    def __init__(self, graph):
        self.refreshes = self.skipped = self.early = 0
        super().__init__(graph, SETTINGS)

    def refresh(self):
        self.early += self._executions < self._refresh_at
        super().refresh()
        self.refreshes += 1
        self.skipped += self._skipping


def begun():
    graph = StateGraph(WORDS)
    graph.extend(INTENTS)
    return graph, CountedEvidence(graph)


def show(graph, evidence, transitions):
    graph.update(dict.fromkeys(transitions, 1))
    evidence.observe((before, capability) for before, capability, _ in transitions)


@cache
def settled_way(seed):
    """Return the answers to what evidence asks for until there is nothing left to ask."""
    rng = random.Random(seed)
    world = random_world(rng)
    graph, evidence = begun()
    graph.node(0)
    show(graph, evidence, [])
    steps = [[]]
    while targets := evidence.targets(rng.randint(1, 3)):
        answers = [
            Transition(t.state, t.capability, rng.choice(world[t.state, t.capability]))
            for t in targets
        ]
        show(graph, evidence, answers)
        steps.append(answers)
    return steps, evidence


def all_of(evidence):
    """Return everything that decides what is asked next, in order."""
    return (
        [node.state for node in evidence.frontier],
        list(evidence._heap.by_gain()),
        {bucket: list(inside.pairs.values()) for bucket, inside in evidence._buckets.items()},
        list(evidence._buckets),
        evidence._openings(),
        evidence._refresh_at,
        evidence.settled(),
        evidence.verdict(),
        evidence.targets(100),
    )


@pytest.mark.parametrize("seed", range(2))
def test_replayed_evidence_asks_what_evidence_that_was_never_interrupted_asks(seed):
    steps, _ = settled_way(seed)
    known = sorted(random.Random(seed).sample(range(1, len(steps)), 5))
    replayed = {}
    for number in [*known, len(steps)]:
        graph, evidence = replayed[number] = begun()
        graph.node(0)
        evidence.expect([len(answers) for answers in steps[:number]])
        for answers in steps[:number]:
            show(graph, evidence, answers)
    graph, evidence = begun()
    graph.node(0)
    for number, answers in enumerate(steps, 1):
        show(graph, evidence, answers)
        if number in replayed:
            assert all_of(replayed[number][1]) == all_of(evidence)
        for other, (its_graph, twin) in replayed.items():
            if other < number:
                show(its_graph, twin, answers)
                assert number % 10 or twin.targets(2) == evidence.targets(2)


def test_a_replay_skips_most_refreshes_and_notices_those_before_their_time():
    early = 0
    for seed in range(2):
        steps, live = settled_way(seed)
        graph, evidence = begun()
        graph.node(0)
        evidence.expect([len(answers) for answers in steps])
        for answers in steps:
            show(graph, evidence, answers)
        assert evidence.refreshes == live.refreshes
        assert evidence.early == live.early
        assert evidence.skipped > evidence.refreshes / 2
        assert live.skipped == 0
        early += live.early
    assert early > 0
