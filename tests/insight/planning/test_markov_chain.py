import numpy as np
import pytest
from scipy import stats

from capscope.insight.planning.markov_chain import MarkovChain
from capscope.insight.planning.mdp import most_reliable_policy
from support.naive_planning import choice, mdp


def chain_of(process, goals, start=0):
    return MarkovChain.of(most_reliable_policy(process, goals), start)


# From 0 to 1, 0 or the dead end 3; from 1 to the goal 2 or back to 0.
PROCESS = mdp(
    [choice(0, (5, 1), (3, 0), (2, 3))], [choice(1, (3, 2), (1, 0))], [], [], [choice(2, (1, 0))]
)


def simulated(process, goals, start, runs, longest=10**6):
    """Simulate the only choices; return the ends and the mean number of executions."""
    rng = np.random.default_rng(1)
    ends, steps = [], 0
    for _ in range(runs):
        state, made = start, 0
        while process.choices[state] and state not in goals and made < longest:
            (asked,) = process.choices[state]
            state = int(rng.choice(asked.successors, p=asked.probabilities))
            made += 1
        ends.append(state)
        steps += made
    return np.array(ends), steps / runs


def test_the_chain_has_exactly_the_states_that_the_policy_may_reach():
    chain = chain_of(PROCESS, {2})
    assert set(chain.nodes) == {0, 1}
    assert chain.nodes[0] == 0
    assert set(chain.ends) == {2, 3}
    assert [end for end, goal in zip(chain.ends, chain.reached, strict=True) if goal] == [2]


def test_the_chain_agrees_with_simulation():
    chain = chain_of(PROCESS, {2})
    frequencies = chain.frequencies()
    ends, steps = simulated(PROCESS, {2}, 0, 4000)
    assert chain.success(frequencies)[0] == pytest.approx((ends == 2).mean(), abs=0.03)
    assert chain.edges.visits(frequencies).sum() == pytest.approx(steps, rel=0.05)
    lost = chain.edges.arrivals(frequencies)[0][~chain.reached]
    assert lost[0] == pytest.approx((ends == 3).mean(), abs=0.03)


@pytest.mark.parametrize("longest", [0, 1, 2, 5])
def test_success_within_a_limit_agrees_with_simulation(longest):
    chain = chain_of(PROCESS, {2})
    ends, _ = simulated(PROCESS, {2}, 0, 4000, longest)
    found = chain.success(chain.frequencies(), within=longest)
    assert found[0] == pytest.approx((ends == 2).mean(), abs=0.03)


def test_success_within_a_very_high_limit_is_success_without_limit():
    chain = chain_of(PROCESS, {2})
    rows = np.vstack([chain.frequencies(), chain.sampled(20, seed=3)])
    assert chain.success(rows, within=10**6) == pytest.approx(chain.success(rows), abs=1e-8)


def test_samples_of_a_rule_have_the_distribution_of_its_interval():
    sampled = chain_of(mdp([choice(0, (30, 1))], []), {1}).sampled(4000, seed=0)
    # One outcome in 30 draws: Beta(30.5, 0.5), as in the interval of the rule.
    assert stats.kstest(sampled[:, 0], stats.beta(30.5, 0.5).cdf).pvalue > 0.01
    sampled = chain_of(mdp([choice(0, (30, 1), (10, 0))], []), {1}).sampled(4000, seed=0)
    assert stats.kstest(sampled[:, 0], stats.beta(30.5, 10.75).cdf).pvalue > 0.01
    unseen = 1 - sampled.sum(axis=1)
    assert stats.kstest(unseen, stats.beta(0.25, 41).cdf).pvalue > 0.01


def test_states_of_one_rule_share_its_samples():
    # With independent samples, the product would have less variance.
    process = mdp([choice(0, (3, 1))], [choice(0, (3, 2))], [])
    sampled = chain_of(process, {2}).sampled(50, seed=0)
    assert (sampled[:, 0] == sampled[:, 1]).all()
    apart = mdp([choice(0, (3, 1), rule=0)], [choice(0, (3, 2), rule=1)], [])
    sampled = chain_of(apart, {2}).sampled(50, seed=0)
    assert (sampled[:, 0] != sampled[:, 1]).all()


def test_the_success_of_a_sequence_is_the_product_of_its_samples():
    process = mdp([choice(0, (3, 1), rule=0)], [choice(0, (5, 2), rule=1)], [])
    chain = chain_of(process, {2})
    sampled = chain.sampled(30, seed=5)
    assert chain.success(sampled) == pytest.approx(sampled.prod(axis=1))


def test_the_seed_determines_the_samples():
    chain = chain_of(PROCESS, {2})
    assert (chain.sampled(9, seed=4) == chain.sampled(9, seed=4)).all()
    assert (chain.sampled(9, seed=4) != chain.sampled(9, seed=5)).any()


def test_solving_in_batches_gives_the_same_result(monkeypatch):
    chain = chain_of(PROCESS, {2})
    sampled = chain.sampled(50, seed=1)
    at_once = chain.success(sampled), chain.success(sampled, within=3)
    monkeypatch.setattr("capscope.model.transitions._MOST_NUMBERS", 12)
    assert chain.success(sampled) == pytest.approx(at_once[0])
    assert chain.success(sampled, within=3) == pytest.approx(at_once[1])


def test_an_inferred_choice_is_wrong_in_as_many_samples_as_it_is_doubted():
    process = mdp([choice(0, (30, 1), draws_here=0, doubt=0.2)], [])
    chain = chain_of(process, {1})
    assert chain.frequencies()[0] == pytest.approx([0.8])
    assert chain.frequencies_if_right()[0] == pytest.approx([1.0])
    sampled = chain.sampled(4000, seed=0)[:, 0]
    assert (sampled == 0).mean() == pytest.approx(0.2, abs=0.02)
    assert stats.kstest(sampled[sampled > 0], stats.beta(30.5, 0.5).cdf).pvalue > 0.01


def test_each_inferred_choice_is_wrong_on_its_own_although_the_odds_are_shared():
    inferred = {"draws_here": 0, "doubt": 0.3, "rule": 0}
    process = mdp([choice(0, (3, 1), **inferred)], [choice(0, (3, 2), **inferred)], [])
    first, second = chain_of(process, {2}).sampled(4000, seed=0).T
    both = (first > 0) & (second > 0)
    assert both.mean() == pytest.approx(0.7 * 0.7, abs=0.03)
    assert (first[both] == second[both]).all()


def test_a_wrong_inference_fails_in_every_visit_of_a_sample():
    # Asked again and again: if it is wrong it never works, if it is right it works in the end.
    process = mdp([choice(0, (1, 1), (1, 0), draws_here=0, doubt=0.25)], [])
    chain = chain_of(process, {1})
    found = chain.success(chain.sampled(4000, seed=1))
    assert (found == 0).mean() == pytest.approx(0.25, abs=0.02)
    # The success of a plan is cautious: it doubts each visit anew.
    assert chain.success(chain.frequencies())[0] == pytest.approx(0.375 / (1 - 0.375))
