import random

import pytest

from capscope.stats.rate import Rate


def test_one_draw_is_written_in_the_singular():
    assert Rate.of_pairs([(1, 1)]).text.endswith("1 execution in 1 state)")


def test_each_pair_counts_the_same_however_often_it_was_drawn():
    assert Rate.of_pairs([(99, 99), (0, 1)]).estimate == pytest.approx(0.5, abs=0.02)


def redrawn_after_hits(rng, chance, states=150, again=2):
    """Draw each state once, and after a hit again; return hits and draws, and the true mean."""
    truth = [chance(rng) for _ in range(states)]
    pairs = []
    for p in truth:
        draws = [rng.random() < p]
        draws += [rng.random() < p for _ in range(again * draws[0])]
        pairs.append((sum(draws), len(draws)))
    return pairs, sum(truth) / states


@pytest.mark.parametrize("chance", [lambda rng: 0.1, lambda rng: rng.betavariate(1, 9)])
def test_a_rate_of_one_in_ten_is_right_on_average_if_hits_are_drawn_again(chance):
    estimated, frequency = [], []
    for seed in range(200):
        pairs, truth = redrawn_after_hits(random.Random(seed), chance)
        estimated.append(Rate.of_pairs(pairs).estimate - truth)
        frequency.append(sum(h / d for h, d in pairs) / len(pairs) - truth)
    assert abs(sum(estimated)) / 200 < 0.005
    assert sum(frequency) / 200 < -0.03


def test_the_rate_of_one_pair_is_its_frequency():
    assert Rate.of_pairs([(50, 500)]).estimate == 0.1


def test_misses_are_the_rest():
    rate = Rate.of_pairs([(3, 10), (5, 5)])
    low, high = rate.interval
    assert rate.missed.estimate == pytest.approx(1 - rate.estimate)
    assert rate.missed.interval == pytest.approx((1 - high, 1 - low))


def test_a_rate_selected_from_many_has_a_wider_interval():
    one, of_many = (Rate.of_pairs([(20, 30)], selected_from=n) for n in (1, 100))
    assert of_many.interval[0] < one.interval[0] < one.interval[1] < of_many.interval[1]


def test_the_interval_holds_for_the_mean_of_the_states_under_adaptive_sampling():
    """Draws go where answers were worst so far, and stop when the mean looks low."""
    missed = 0
    for seed in range(200):
        rng = random.Random(seed)
        truth = [rng.choice((0.2, 0.5, 0.9)) for _ in range(6)]
        counts = [[0, 0] for _ in truth]
        for turn in range(120):
            worst = min(range(6), key=lambda i: ((counts[i][0] + 1) / (counts[i][1] + 2), i))
            i = turn % 6 if turn < 6 or turn % 3 else worst
            counts[i][0] += rng.random() < truth[i]
            counts[i][1] += 1
            if turn > 30 and sum(h for h, _ in counts) < 0.4 * (turn + 1):
                break
        low, high = Rate.of_pairs(map(tuple, counts)).interval
        missed += not low <= sum(truth) / 6 <= high
    assert missed <= 10
