"""How far the probabilities of a type count for one of its pairs."""

import math
import random

import pytest

from capscope.logic import Effect
from capscope.model.outcome_types import GRID, OddsPooling, PoolingFit, fit_poolings

DONE, LOST = Effect(1, 0), Effect(2, 0)
ODDS = {DONE: 0.7, LOST: 0.3}


def drawn(rng: random.Random, share: float, draws: int) -> dict[Effect, int]:
    done = sum(rng.random() < share for _ in range(draws))
    return {e: n for e, n in ((DONE, done), (LOST, draws - done)) if n}


def test_counts_that_a_type_has_never_shown_are_not_drawn_towards_it():
    pooling = OddsPooling()
    assert pooling.odds_of({LOST: 3}, {DONE: 1.0}) == {LOST: 1.0, DONE: 0.0}
    even = pooling.odds_of({DONE: 5, LOST: 5}, {DONE: 1.0})
    assert even == pytest.approx({DONE: 0.5, LOST: 0.5})


@pytest.mark.parametrize("pooling", GRID)
def test_the_more_draws_speak_against_the_odds_of_the_type_the_less_these_count(pooling):
    odds = {DONE: 0.8, LOST: 0.2}
    assert pooling.odds_of({DONE: 8, LOST: 2}, odds) == pytest.approx(odds)
    few, many = (pooling.odds_of({DONE: draws}, odds)[LOST] for draws in (1, 200))
    assert 0.15 < few < 0.2
    assert many < 0.01
    assert pooling.odds_of({DONE: 2, LOST: 100}, odds)[LOST] == pytest.approx(100 / 102, abs=0.01)


@pytest.mark.parametrize("pooling", GRID)
def test_the_likelihood_of_draws_is_the_product_of_the_predictions_of_each(pooling):
    # The naive twin: draw by draw, each hypothesis predicts the next one from those before.
    def as_type(done: int, lost: int) -> float:
        return (pooling.strength * 0.7 + done) / (pooling.strength + done + lost)

    def alone(done: int, lost: int) -> float:
        return (0.5 + done) / (1.0 + done + lost)

    for row in [(0, 1), (2, 0), (3, 2), (0, 6)]:
        likelihoods = []
        for predict in (as_type, alone):
            done = lost = 0
            likelihood = 1.0
            for is_done in [True] * row[0] + [False] * row[1]:
                share = predict(done, lost)
                likelihood *= share if is_done else 1.0 - share
                done, lost = done + is_done, lost + (not is_done)
            likelihoods.append(likelihood)
        together, own = likelihoods
        odd = pooling.odd_one_out / (1.0 + pooling.odd_one_out)
        expected = math.log((1.0 - odd) * together + odd * own)
        assert pooling.log_likelihood({row: 3}, [0.7, 0.3]) == pytest.approx(3 * expected)


def test_pairs_that_behave_alike_share_their_draws():
    rng = random.Random(1)
    pairs = [drawn(rng, 0.7, 3) for _ in range(300)]
    ((pooling, weights, _),) = fit_poolings({0: pairs}, {0: ODDS}).values()
    assert sum(weights) == pytest.approx(1.0)
    assert pooling.strength >= 100
    assert pooling.odd_one_out <= 0.05
    assert 0.3 < pooling.odds_of({LOST: 2}, ODDS)[LOST] < 0.45


def test_pairs_that_differ_keep_to_their_own_draws():
    rng = random.Random(1)
    pairs = [drawn(rng, rng.choice([0.95, 0.45]), 20) for _ in range(100)]
    ((pooling, weights, _),) = fit_poolings({0: pairs}, {0: ODDS}).values()
    assert sum(weights) == pytest.approx(1.0)
    assert pooling.strength == 10
    assert pooling.odds_of({DONE: 20}, ODDS)[DONE] > 0.88


def test_a_type_with_few_draws_is_pooled_as_most_types_of_the_agent_are():
    rng = random.Random(1)
    pairs = {t: [drawn(rng, 0.7, 3) for _ in range(300)] for t in range(5)}
    fitted = fit_poolings({**pairs, 5: [{DONE: 1}, {LOST: 1}]}, dict.fromkeys(range(6), ODDS))
    assert fitted[5].best.strength >= 100
    assert fit_poolings({0: [{DONE: 1}, {LOST: 1}]}, {0: ODDS})[0].best == GRID[0]


def test_a_type_with_one_outcome_needs_no_pooling():
    assert fit_poolings({0: [{DONE: 4}]}, {0: {DONE: 1.0}}) == {}


@pytest.mark.parametrize("pooling", GRID)
def test_evidence_is_worth_more_the_more_alike_pairs_are_and_at_most_what_was_drawn(pooling):
    one = tuple(float(other == pooling) for other in GRID)
    fit, counts = PoolingFit(pooling, one), {DONE: 7, LOST: 3}
    assert 9.9 <= fit.worth(counts, ODDS, 10, 10) <= 10
    assert 10 < fit.worth(counts, ODDS, 400, 400) <= 400
    assert fit.worth(counts, ODDS, 400, 15) <= 15
    # An outlier is known from its own draws only.
    assert fit.worth({LOST: 20}, {DONE: 0.99, LOST: 0.01}, 400, 400) == pytest.approx(20, abs=1)
    assert fit.worth({DONE: 2}, {DONE: 1.0}, 50, 9) == 9


def test_what_is_not_known_of_the_strength_makes_evidence_worth_less():
    counts, unsure = {DONE: 10}, tuple(1 / len(GRID) for _ in GRID)
    best = GRID[-1]
    sure = tuple(float(pooling == best) for pooling in GRID)
    worth = [PoolingFit(best, own).worth(counts, ODDS, 400, 400) for own in (unsure, sure)]
    assert worth[0] < worth[1] / 2
