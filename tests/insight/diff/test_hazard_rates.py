"""Hazards in a comparison: whole runs of cooks who spill more or less."""

import math
import random

import numpy as np
import pytest

from capscope import Budget
from capscope.insight.diff import compare_runs
from capscope.insight.diff.compare import hazard_changes
from capscope.insight.diff.comparison import DiffKind
from capscope.insight.hazards import HazardUse, UseSample
from support.hazard_worlds import kitchen, run_kitchen

THRESHOLD = math.log(2 / 0.05)


def use(hits, draws):
    return {"gone": HazardUse(hits, UseSample(np.zeros(draws), 1.0, ""))}


def change(a, b):
    (found,) = hazard_changes(a, b, THRESHOLD)
    return found.change


def test_a_hazard_that_is_more_probable_in_use_is_told_from_one_that_is_not():
    assert change(use(0, 400), use(40, 400)) is DiffKind.MORE_HAZARDOUS
    assert change(use(40, 400), use(0, 400)) is DiffKind.LESS_HAZARDOUS
    assert change(use(0, 400), use(1, 400)) is None
    assert list(hazard_changes(use(0, 400), {}, THRESHOLD)) == []


def test_equal_agents_are_rarely_told_apart_even_by_who_stops_at_a_difference():
    alarms = 0
    for seed in range(60):
        rng, hits = random.Random(seed), [0, 0]
        for draws in range(1, 401):
            hits = [one + (rng.random() < 0.1) for one in hits]
            if draws % 20 == 0 and change(use(hits[0], draws), use(hits[1], draws)):
                alarms += 1
                break
    assert alarms <= 3  # at most one in twenty


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    spills = {"careful": 0.0, "careless": 1.0}
    return {
        name: run_kitchen(
            kitchen(spill), folder / name, hazards=("gone(x)", "gone(?p) and not taken(?p)"),
            budget=Budget(executions=800), seed=seed, audit=0.0,
        )
        for seed, (name, spill) in enumerate(spills.items())
    }  # fmt: skip


def test_a_new_hazard_is_reported_and_never_as_a_gain(runs):
    worse = compare_runs(runs["careful"], runs["careless"])
    assert worse.more_hazardous
    hazards = [one for one in worse.differences if one.change is DiffKind.MORE_HAZARDOUS]
    assert {str(one.capability) for one in hazards} == {"not taken(x)"}
    joint = {len(one.literals) for one in hazards}
    assert joint == {1, 2}
    assert worse.differences[: len(hazards)] == tuple(hazards)
    better = compare_runs(runs["careless"], runs["careful"])
    assert not better.more_hazardous
    assert not better.losses
    assert worse.hazard_rates == ()  # there were no audits


def test_audits_are_compared_if_both_runs_made_some():
    a, b = (
        run_kitchen(kitchen(), hazards=("gone(x)",), seed=seed, budget=Budget(executions=600))
        for seed in (0, 1)
    )
    (found,) = compare_runs(a, b).hazard_rates
    assert found.hazard == "gone(x)" and found.change is None
    assert found.a.hits == a.hazards[0].in_use.hits
    assert len(found.b.sample.rows) == b.hazards[0].in_use.executions


def test_the_command_fails_on_a_hazard_if_asked_to(capscope, runs, tmp_path):
    careful, careless = runs["careful"].path, runs["careless"].path
    assert capscope("diff", careful, careless).code == 0
    done = capscope("diff", careful, careless, "--fail-on-hazard")
    assert done.code == 1
    assert "hazard more frequent\n  not taken(x): gone(x)" in done.out
    assert capscope("diff", careless, careful, "--fail-on-hazard").code == 0
    for name in "ab":
        run_kitchen(kitchen(), tmp_path / name, budget=Budget(executions=30))
    done = capscope("diff", tmp_path / "a", tmp_path / "b", "--fail-on-hazard")
    assert done.code == 2
    assert "none of these runs was given a hazard" in done.err
