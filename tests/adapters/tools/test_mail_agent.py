"""The mail agent with its bug, as a scripted model behind a server: found with its condition."""

import math

import pytest

import capscope
from capscope import Budget
from capscope.logic import Intent
from support.mail_models import mail_model, mail_problem
from support.strict_models import sloppy, strict

pytest.importorskip("pydantic")
pytest_plugins = ["support.llm_fixtures"]
pytestmark = pytest.mark.usefixtures("own_cache")


def found(seed):
    run = capscope.assess(mail_problem(), seed=seed, budget=Budget(executions=150))
    return [finding.change for finding in run.findings() if finding.change]


def test_the_bug_is_reported(in_environment):
    in_environment.usual = mail_model(bug=0.2)
    assert all("deleted(another mail)" in found(seed) for seed in range(2))


def test_nothing_is_reported_of_the_twin_without_the_bug(in_environment):
    in_environment.usual = mail_model(bug=0.0)
    assert found(0) == []


@pytest.mark.parametrize("executions", [120])
def test_malformed_calls_neither_stop_a_run_nor_change_what_is_learned(in_environment, executions):
    """The model makes each call again that could not be read, so nine of ten requests succeed."""
    spoil = sloppy(0.2)
    in_environment.usual = strict(mail_model(bug=0.0, diligence=0.9, spoil=spoil))
    run = capscope.assess(mail_problem(), budget=Budget(executions=executions))
    assert len(run.executions) == executions and spoil.calls > executions / 5
    assert run.agent_failures == ()
    done, asked = successes(run)
    assert abs(done / asked - 0.9) < 4 * math.sqrt(0.9 * 0.1 / asked)


def successes(run):
    """Return how many requests succeeded, of those that could and had not before."""
    table, vocabulary = run.executions, run.graph.vocabulary
    done = asked = 0
    for c, s, t in zip(table.capability, table.before, table.after, strict=True):
        intent, before, after = run.graph.capabilities[c], table.states[s], table.states[t]
        (mail,) = intent.literals[0].atom.arguments
        gone = Intent.parse(f"deleted({mail})").holds(before, vocabulary)
        if not gone and not intent.holds(before, vocabulary):
            asked += 1
            done += intent.holds(after, vocabulary)
    return done, asked
