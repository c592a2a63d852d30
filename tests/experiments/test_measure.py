import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope import Settings, WorkerSettings
from capscope.insight.evaluation.evaluate import DATASETS
from capscope.insight.evaluation.reference import Reference, TrueModel, enumerate_truth
from capscope.logic import Intent
from capscope.problems import load_problem
from capscope_experiments import measure
from capscope_experiments.measure import (
    MeasuredProblem,
    NothingChanges,
    agreements,
    build_dataset,
    exact_distance,
    least_executions,
)

INTENTS = tuple(map(Intent.parse, ("p()", "not p()", "q()")))


def random_truth(rng):
    """Three capabilities in eight states; an effect flips one of three bits, or none."""
    table = {}
    for state, intent in itertools.product(range(8), INTENTS):
        flips = rng.sample(range(4), rng.choice([1, 1, 2]))
        ends = [state ^ (1 << flip) & 0b111 for flip in flips]
        first = rng.choice([0.5, 0.7, 0.9])
        shares = [first, 1 - first] if len(ends) == 2 else [1.0]
        table[state, intent] = dict(zip(ends, shares, strict=True))
    return TrueModel(INTENTS, tuple(range(8)), table)


def counted_one_by_one(truth):
    """Ask every pair once, then pairs of each block until its probability is known."""
    asked = len(truth.table)
    blocks = {}
    for (state, intent), outcomes in truth.table.items():
        if len(outcomes) > 1:
            changes = frozenset((state & ~end, end & ~state) for end in outcomes)
            blocks.setdefault((intent, changes), []).append(max(outcomes.values()))
    for largest in blocks.values():
        p, draws = max(largest), len(largest)
        while p * (1 - p) / draws > 0.05**2 + 1e-12:
            draws += 1
            asked += 1
    return asked, len(blocks)


@given(st.integers(0, 10**6))
def test_the_lower_bound_is_what_asking_one_by_one_needs(seed):
    truth = random_truth(random.Random(seed))
    counted, blocks = counted_one_by_one(truth)
    # Draws come whole, block by block; the bound adds up what is missing and rounds once.
    assert counted - blocks <= least_executions(truth) <= counted


@pytest.mark.parametrize(
    ("problem", "least"),
    [("blocksworld", 880), ("tireworld", 1709), ("first-responders", 19_624)],
)
def test_the_lower_bounds_of_the_built_in_problems(problem, least):
    assert least_executions(enumerate_truth(load_problem(problem).truth)) == least


def test_workers_build_the_same_dataset_and_are_not_started_for_one_that_is_complete(
    tmp_path, monkeypatch
):
    measured = MeasuredProblem("tireworld", Settings(), sequences=6)
    workers = WorkerSettings(2, "processes")
    build_dataset(measured, tmp_path / "workers", workers=workers)
    build_dataset(measured, tmp_path / "here")
    [built], [here] = (list((tmp_path / name / DATASETS).iterdir()) for name in ("workers", "here"))
    assert built.read_bytes() == here.read_bytes()
    monkeypatch.setattr(measure, "start_workers", None)
    build_dataset(measured, tmp_path / "workers", workers=workers)


def test_each_transition_once_is_the_exact_agreement():
    problem = load_problem("tireworld")
    truth = enumerate_truth(problem.truth)
    reference = Reference.of_truth(truth, problem.vocabulary)
    half = dict(list(truth.table.items())[::2])
    model = TrueModel(truth.capabilities, truth.states, half)
    found = agreements(model, reference, reference)
    assert found["agreement"] == pytest.approx(1 - exact_distance(model, truth))
    assert found["once"] == pytest.approx(found["agreement"])
    # Here the data weigh each transition once, too; the filter keeps what achieves its intent.
    assert found["by_data"] == pytest.approx(found["once"])
    kept = reference.achieving()
    assert 0 < len(kept.before) < len(reference.before)
    assert found["filtered"] != pytest.approx(found["once"])


def naive_total_variation(model, truth, counts):
    """Average the distance of the pairs that count, one by one."""
    apart = []
    for (state, intent), outcomes in truth.table.items():
        if counts(state, outcomes):
            said = model.predict(state, intent)
            gaps = [abs(said.get(s, 0.0) - outcomes.get(s, 0.0)) for s in {**said, **outcomes}]
            apart.append((sum(gaps) + 1 - sum(said.values())) / 2)
    return sum(apart) / len(apart)


def changes(state, outcomes):
    return set(outcomes) != {state}


def stochastic(state, outcomes):
    return len(outcomes) > 1


def test_total_variation_counts_only_pairs_that_change_something_or_are_stochastic():
    problem = load_problem("tireworld")
    truth = enumerate_truth(problem.truth)
    reference = Reference.of_truth(truth, problem.vocabulary)
    half = TrueModel(truth.capabilities, truth.states, dict(list(truth.table.items())[::2]))
    for model in (half, NothingChanges(truth.capabilities)):
        found = agreements(model, reference, reference)
        for name, counts in (("changing_tv", changes), ("stochastic_tv", stochastic)):
            expected = naive_total_variation(model, truth, counts)
            assert found[name] == pytest.approx(expected)
    assert agreements(truth, reference, reference)["changing_tv"] == pytest.approx(0.0)


def test_a_deterministic_problem_has_no_total_variation_over_stochastic_pairs():
    problem = load_problem("blocksworld")
    truth = enumerate_truth(problem.truth)
    sure = {pair: {max(ends): 1.0} for pair, ends in truth.table.items()}
    reference = Reference.of_truth(
        TrueModel(truth.capabilities, truth.states, sure), problem.vocabulary
    )
    found = agreements(NothingChanges(truth.capabilities), reference, reference)
    assert found["stochastic_tv"] is None
    assert found["changing_tv"] == pytest.approx(1.0)
