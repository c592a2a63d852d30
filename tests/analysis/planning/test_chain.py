import numpy as np
import pytest
from scipy import stats

from capscope.analysis.planning.chain import Chain
from capscope.analysis.planning.policy import most_reliable
from support.naive_planning import choice, mdp


def chain_of(process, goals, start=0):
    return Chain.of(most_reliable(process, goals), start)


# Asked in 0: to 1 or back or lost; in 1: to the goal 2 or back to 0. State 3 is a dead end.
PROCESS = mdp(
    [choice(0, (5, 1), (3, 0), (2, 3))], [choice(1, (3, 2), (1, 0))], [], [], [choice(2, (1, 0))]
)


def simulated(process, goals, start, runs, longest=10**6):
    """Follow the only choices by dice; return the share of goals, ends and mean executions."""
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


def test_the_chain_has_the_states_that_the_policy_may_come_to_and_no_others():
    chain = chain_of(PROCESS, {2})
    assert set(chain.nodes) == {0, 1}
    assert chain.nodes[0] == 0
    assert set(chain.ends) == {2, 3}
    assert [end for end, goal in zip(chain.ends, chain.reached, strict=True) if goal] == [2]


def test_following_the_chain_comes_to_the_same_as_rolling_dice():
    chain = chain_of(PROCESS, {2})
    frequencies = chain.frequencies()
    ends, steps = simulated(PROCESS, {2}, 0, 4000)
    assert chain.success(frequencies)[0] == pytest.approx((ends == 2).mean(), abs=0.03)
    assert chain.visits(frequencies).sum() == pytest.approx(steps, rel=0.05)
    lost = chain.arrivals(frequencies)[0][~chain.reached]
    assert lost[0] == pytest.approx((ends == 3).mean(), abs=0.03)


@pytest.mark.parametrize("longest", [0, 1, 2, 5])
def test_success_within_so_many_executions_is_that_of_dice_that_stop_there(longest):
    chain = chain_of(PROCESS, {2})
    ends, _ = simulated(PROCESS, {2}, 0, 4000, longest)
    found = chain.success(chain.frequencies(), within=longest)
    assert found[0] == pytest.approx((ends == 2).mean(), abs=0.03)


def test_success_within_very_many_executions_is_success_at_any_time():
    chain = chain_of(PROCESS, {2})
    rows = np.vstack([chain.frequencies(), chain.drawn(20, seed=3)])
    assert chain.success(rows, within=10**6) == pytest.approx(chain.success(rows), abs=1e-8)


def test_what_is_drawn_for_a_rule_is_what_its_interval_is_taken_from():
    drawn = chain_of(mdp([choice(0, (30, 1))], []), {1}).drawn(4000, seed=0)
    # One outcome in 30 draws: Beta(30.5, 0.5), the interval that rules are shown with.
    assert stats.kstest(drawn[:, 0], stats.beta(30.5, 0.5).cdf).pvalue > 0.01
    drawn = chain_of(mdp([choice(0, (30, 1), (10, 0))], []), {1}).drawn(4000, seed=0)
    assert stats.kstest(drawn[:, 0], stats.beta(30.5, 10.75).cdf).pvalue > 0.01
    unseen = 1 - drawn.sum(axis=1)
    assert stats.kstest(unseen, stats.beta(0.25, 41).cdf).pvalue > 0.01


def test_states_of_one_rule_share_its_draws():
    # Twice the same rule: were the draws independent, the product would spread less.
    process = mdp([choice(0, (3, 1))], [choice(0, (3, 2))], [])
    drawn = chain_of(process, {2}).drawn(50, seed=0)
    assert (drawn[:, 0] == drawn[:, 1]).all()
    apart = mdp([choice(0, (3, 1), rule=0)], [choice(0, (3, 2), rule=1)], [])
    drawn = chain_of(apart, {2}).drawn(50, seed=0)
    assert (drawn[:, 0] != drawn[:, 1]).all()


def test_a_certain_plan_of_several_steps_is_the_product_of_its_draws():
    process = mdp([choice(0, (3, 1), rule=0)], [choice(0, (5, 2), rule=1)], [])
    chain = chain_of(process, {2})
    drawn = chain.drawn(30, seed=5)
    assert chain.success(drawn) == pytest.approx(drawn.prod(axis=1))


def test_one_seed_one_result():
    chain = chain_of(PROCESS, {2})
    assert (chain.drawn(9, seed=4) == chain.drawn(9, seed=4)).all()
    assert (chain.drawn(9, seed=4) != chain.drawn(9, seed=5)).any()


def test_many_samples_of_many_states_are_solved_part_by_part(monkeypatch):
    chain = chain_of(PROCESS, {2})
    drawn = chain.drawn(50, seed=1)
    at_once = chain.success(drawn), chain.success(drawn, within=3)
    monkeypatch.setattr("capscope.analysis.planning.chain._MOST_NUMBERS", 12)
    assert chain.success(drawn) == pytest.approx(at_once[0])
    assert chain.success(drawn, within=3) == pytest.approx(at_once[1])
