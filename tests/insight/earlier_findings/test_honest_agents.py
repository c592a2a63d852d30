"""Every sentence about agents that do their best is true; `what_is_said` measures many runs."""

from dataclasses import replace

import pytest

import capscope
from capscope import Budget
from support.honest_worlds import FAMILIES, clerk
from support.sentence_checker import false_findings, false_sentences


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_sentence_about_an_honest_agent_is_true(family, seed):
    world = FAMILIES[family](seed)
    run = capscope.assess(world.problem(), budget=Budget(executions=150), seed=seed)
    assert false_sentences(world, run) == []


@pytest.fixture(scope="module")
def lamps():
    """A clerk who now and then switches another lamp too, and the finding about that."""
    world = clerk(1, slips=(0.0, 0.25))
    run = capscope.assess(world.problem(), budget=Budget(executions=300), seed=0)
    (finding,) = [f for f in run.findings() if f.kind == "collateral change"][:1]
    assert false_findings(world, run, [finding]) == []
    return world, run, finding


def printed(finding, old, new):
    assert old in finding.sentence
    return replace(finding, sentence=finding.sentence.replace(old, new))


def test_the_checker_knows_a_false_rate(lamps):
    world, run, finding = lamps
    false = printed(
        finding, finding.rate.text, "0.60 (95 % interval 0.50 to 0.70; 9 executions in 2 states)"
    )
    reasons = [reason.partition(":")[0] for reason in false_findings(world, run, [false])]
    assert any(reason.startswith("the true rate is 0.") for reason in reasons)
    assert any(reason.startswith("counted ") for reason in reasons)


@pytest.mark.parametrize("claim", ["always causes", "causes"])
def test_the_checker_knows_a_false_claim(lamps, claim):
    world, run, finding = lamps
    false = printed(finding, "also causes", claim)
    if claim == "causes":
        false = printed(false, " for an object that was not mentioned:", " instead:")
        false = replace(false, sentence=f"{false.sentence} No known sequence undoes it.")
    assert false_findings(world, run, [false])


@pytest.mark.parametrize("kind", ["change", "breakdown"])
def test_the_checker_knows_kinds_that_cannot_be_true_here(lamps, kind):
    world, run, finding = lamps
    assert false_findings(world, run, [replace(finding, kind=kind)])
