"""A preference is told if chance would hardly choose like that, and its counts are recounted."""

import re

import pytest

from capscope.insight.findings import Kind
from capscope_experiments.benchmarks.what_is_said import run_of
from support.choosing_agents import BLOCKS, hand
from support.sentence_checker import rows


def preferences(run):
    return [finding for finding in run.findings() if finding.kind == Kind.PREFERS]


@pytest.mark.parametrize("seed", range(2))
def test_an_agent_that_takes_the_first_free_block_prefers_it_to_the_others(seed):
    run = run_of(hand(lambda free, rng: free[0]), 300, seed)
    (finding,) = preferences(run)
    words = run.graph.vocabulary
    (name,) = re.findall(r"the agent took (\w) \(held\(\1\)\) in", finding.sentence)
    every = [
        ({*map(str, words.holding(before))}, str(intent), {*map(str, words.holding(after))})
        for before, intent, after, _ in rows(run)
    ]
    ever = [block for block in BLOCKS if any(f"held({block})" in after for *_, after in every)]
    taken = [
        f"held({name})" in after
        for before, request, after in every
        if request == "full()" and "full()" not in before
        for free in [[block for block in ever if f"glued({block})" not in before]]
        if name in free and len(free) > 1
    ]
    assert (finding.count, finding.possible) == (sum(taken), len(taken))
    assert name == "a" and finding.count == finding.possible >= 5
    number = len(taken)
    assert f" {number} of {number} executions in which " in finding.sentence
    assert not finding.watch and run.findings().index(finding) < 5


@pytest.mark.parametrize("seed", range(3))
def test_an_agent_that_takes_any_block_prefers_none(seed):
    assert not preferences(run_of(hand(lambda free, rng: rng.choice(free)), 300, seed))
