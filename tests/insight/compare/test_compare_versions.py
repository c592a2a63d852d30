"""Comparisons of a new version with its baseline, where the truth is known."""

import math
from dataclasses import replace

import numpy as np
import pytest

from capscope import Budget, assess, load
from capscope.errors import CapscopeError
from capscope.insight.compare import ComparisonVerdict, compared
from capscope.insight.compare.wording import comparison_lines
from capscope.stats.betting import evidence_of_change
from capscope_experiments.benchmarks.version_mutants import DOMAINS, MUTANTS, judge, version

MUTANT = {mutant.name: mutant for mutant in MUTANTS}
BUDGET = Budget(executions=350)


@pytest.fixture(scope="module")
def baseline():
    return assess(version(DOMAINS["mail"]))


def compare(baseline, name, seed=0, **given):
    problem = version(DOMAINS["mail"], MUTANT[name])
    return baseline.compare(problem, seed=seed, budget=BUDGET, **given)


@pytest.fixture(scope="module")
def ignores(baseline, tmp_path_factory):
    """Return a comparison with a version that ignores 30 % of the requests to read a mail."""
    return compare(baseline, "ignores reading", run=tmp_path_factory.mktemp("v2") / "run")


def test_a_version_that_ignores_requests_is_named_with_its_request(ignores):
    assert ignores.verdict is ComparisonVerdict.CHANGED
    assert ignores.exit_code == 1
    assert [(one.request, one.change, one.more) for one in ignores.changes] == [
        ("read(x)", "", False)
    ]


def test_the_sentence_has_the_counts_of_the_executions_that_it_is_about(ignores, baseline):
    def achieved(table, intents, vocabulary):
        asked = [(i, one.test(vocabulary)) for i, one in enumerate(intents)]
        tests = {i: test for i, test in asked if str(intents[i]).startswith("read(")}
        made = [
            (tests[c](after), n)
            for (before, c, after), n in table.transitions().items()
            if c in tests and not tests[c](before)
        ]
        return sum(n for did, n in made if did), sum(n for _, n in made)

    (change,) = ignores.changes
    words = baseline.graph.vocabulary
    before = achieved(baseline.executions, baseline.capabilities, words)
    after = achieved(ignores.run.executions, ignores.run.capabilities, words)
    assert (change.before.hits, change.before.executions) == before
    assert (change.after.hits, change.after.executions) == after
    line = next(line for line in comparison_lines(ignores) if "read(x)" in line)
    assert f"{after[0]} of {after[1]} executions" in line
    assert f"{before[0]} of {before[1]} executions" in line


def test_a_request_ignored_under_a_condition_is_found_with_it(baseline):
    found = compare(baseline, "ignores moves at night")
    assert judge(MUTANT["ignores moves at night"], found).condition
    (change,) = found.changes
    assert change.after.hits == 0
    assert change.before.hits == change.before.executions


def test_a_change_beyond_the_request_is_told_rather_than_what_was_held_impossible(baseline):
    found = compare(baseline, "stars what it moves")
    assert {(one.request, one.change) for one in found.changes} == {("in(x,y)", "starred(x)")}


def test_the_same_agent_is_unchanged(baseline):
    found = baseline.compare(version(DOMAINS["mail"]), seed=5, budget=BUDGET)
    assert found.verdict is ComparisonVerdict.UNCHANGED
    assert found.exit_code == 0
    assert found.bound <= found.within
    assert not found.changes


def test_a_comparison_without_enough_executions_is_undecided(baseline):
    budget = Budget(executions=20)
    found = baseline.compare(version(DOMAINS["mail"]), budget=budget)
    assert found.verdict is ComparisonVerdict.UNDECIDED
    assert found.exit_code == 3
    assert found.more_needed > 100


def test_a_loaded_comparison_says_the_same(ignores):
    again = compared(load(ignores.run.path))
    assert replace(again, run=None) == replace(ignores, run=None)


def test_the_next_version_is_compared_with_the_last_one(ignores):
    old = version(DOMAINS["mail"])
    fixed = ignores.run.compare(old, budget=BUDGET)
    assert {(one.request, one.more) for one in fixed.changes} == {("read(x)", True)}


def test_versions_of_different_vocabularies_are_refused(baseline):
    with pytest.raises(CapscopeError, match="different predicates or objects"):
        baseline.compare(version(DOMAINS["desk"]), budget=BUDGET)


def test_the_score_is_an_e_value_where_places_have_different_probabilities():
    rng = np.random.default_rng(0)
    places = np.array([0.0] * 30 + [0.5] * 6 + [1.0] * 4)
    scores = []
    for _ in range(4000):
        hits = (rng.random(len(places)) < places).sum()
        own = (rng.random(25) < rng.choice(places, 25)).sum()
        counts = tuple(np.array([n]) for n in (hits, len(places), own, 25))
        scores.append(evidence_of_change(counts)[0])
    scores = np.exp(scores)
    assert scores.mean() < 1 + 3 * scores.std() / math.sqrt(len(scores))
    assert (scores >= 20).mean() <= 0.05
