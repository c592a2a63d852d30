"""Agents with a planted quirk, and clean ones, assessed by whole runs in small worlds."""

import pytest

from capscope import Budget, Settings, assess
from capscope.insight.earlier_findings import find_findings
from capscope.logic import to_json
from support.quirky_worlds import (
    FRAGILE_HOUSE,
    HOUSE,
    SHELVES,
    WOOD,
    flings_the_key,
    opens_the_door,
    problem,
    slack_with_the_key,
    stays_with_the_key,
)

# What each needs to be sure of a quirk in these worlds. Findings need repeated draws of a pair, so
# MCQS repeats every query 25 times, as the paper prints it.
STRATEGIES = {"exhaustive": 4000, "mcqs-s": 4500}
SMALL = Settings(iterations=30)


def found(world, quirk=None, success=1.0, *, strategy="exhaustive", seed=0, share=1.0, length=1):
    """Assess an agent and look for findings."""
    result = assess(
        problem(world, quirk, success, length),
        strategy=strategy,
        seed=seed,
        settings=SMALL,
        budget=Budget(executions=int(share * STRATEGIES[strategy])),
    )
    return find_findings(result.graph)


def contains(interval, truth):
    return interval[0] <= truth <= interval[1]


def texts(parts):
    return [str(part) for part in parts]


def test_a_door_opened_in_the_same_execution_as_the_key_is_taken_is_a_side_effect():
    (finding,) = found(HOUSE, opens_the_door, length=None)
    assert finding.kind == "side effect"
    assert texts(finding.intents) == ["holding(key)"]
    assert texts(finding.literals) == ["open()"]
    assert texts(finding.when) == ["when at(nw)"]
    assert "also causes open()" in finding.sentence
    assert contains(finding.rate.interval, 0.5)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_door_opened_whenever_the_key_is_dropped_is_told_although_it_always_happens(strategy):
    (finding,) = found(FRAGILE_HOUSE, flings_the_key, strategy=strategy)
    assert finding.kind == "side effect"
    assert texts(finding.literals) == ["open()"]
    assert texts(finding.when) == ["when at(nw)"]
    assert finding.rate.estimate == 1
    assert "the agent also causes open()" in finding.sentence


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("success", [1.0, 0.8])
def test_a_condition_that_halves_success_is_named(strategy, success):
    (finding,) = found(HOUSE, slack_with_the_key, success, strategy=strategy)
    assert finding.kind == "drop"
    assert texts(finding.intents) == ["open()"]
    assert texts(finding.when) == ["when holding(key)"]
    assert contains(finding.rate.interval, success / 2)
    assert contains(finding.against.interval, success)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_condition_of_two_literals_that_stops_the_agent_is_named(strategy):
    (finding,) = found(HOUSE, stays_with_the_key, strategy=strategy)
    assert finding.kind == "failure"
    assert texts(finding.intents) == ["at(sw)"]
    assert {str(x) for clause in finding.when for x in clause.term} == {"open()", "holding(key)"}
    assert finding.rate.hits == 0
    assert "never achieves it, although asking for not at(nw) does at once" in finding.sentence


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("success", [1.0, 0.8])
@pytest.mark.parametrize("world", [HOUSE, SHELVES, WOOD], ids=lambda world: world.name)
def test_a_clean_agent_gives_no_finding(world, success, strategy):
    for seed in range(2):
        assert found(world, success=success, strategy=strategy, seed=seed, share=0.2) == []


def test_a_clean_agent_of_many_changes_gives_no_finding():
    for world in (HOUSE, SHELVES):
        assert found(world, success=0.8, length=None, share=0.5) == []


def test_a_finding_says_its_numbers_and_can_be_written_as_json():
    (finding,) = found(HOUSE, slack_with_the_key)
    written = to_json(finding)
    rate = written["rate"]
    interval = f"(95 % interval {rate['low']:.2f} to {rate['high']:.2f}"
    assert f"{rate['estimate']:.2f} {interval}" in finding.sentence
    assert f"{rate['executions']} executions in {rate['states']} state" in finding.sentence
    assert written["kind"] == "drop"
    assert written["against"]["estimate"] == 1
    example = written["examples"][0]
    assert example["holding"] == ["at(sw)", "holding(key)"]
    assert example["changes"] == []
    assert 0 < example["count"] < example["draws"]
    assert [step["intent"] for step in written["way"]] in (
        ["at(sw)", "holding(key)"],
        ["not at(nw)", "holding(key)"],
        ["holding(key)", "holding(key)"],
    )
