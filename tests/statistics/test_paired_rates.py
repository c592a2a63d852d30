"""Evidence that two groups differ: its value, its error rate under adaptive draws, its power."""

import itertools
import math
import random

import pytest

from capscope.statistics import paired_rates
from capscope.statistics.paired_rates import PairedCounts, evidence_of_unequal_rates


def predicted(prior, hits, draws):
    """Return the probability of a sequence, predicted draw by draw."""
    seen, chance = list(prior), 1.0
    for i in range(draws):
        miss = i >= hits
        chance *= seen[miss] / sum(seen)
        seen[miss] += 1
    return chance


def naive_evidence(pairs):
    """Multiply over pairs, one bet at a time."""
    totals = []
    for (one, other), w in itertools.product(paired_rates._BETS, paired_rates._TAKING_PART):
        total = 1.0
        for hits, draws, other_hits, other_draws in pairs:
            share = (hits + other_hits) / (draws + other_draws)
            best = share ** (hits + other_hits)
            best *= (1 - share) ** (draws + other_draws - hits - other_hits)
            apart = predicted(one, hits, draws) * predicted(other, other_hits, other_draws)
            total *= 1 - w + w * apart / best
        totals.append(total)
    return math.log(sum(totals) / len(totals))


def test_the_evidence_is_the_mean_over_all_bets():
    pairs = [PairedCounts(9, 10, 3, 12), PairedCounts(5, 5, 1, 4), PairedCounts(1, 1, 0, 1)]
    assert evidence_of_unequal_rates(pairs) == pytest.approx(naive_evidence(pairs))
    assert evidence_of_unequal_rates([]) == 0


def test_exchanging_the_groups_changes_nothing():
    pairs = [PairedCounts(9, 10, 3, 12), PairedCounts(1, 1, 0, 1)]
    exchanged = [PairedCounts(*pair[2:], *pair[:2]) for pair in pairs]
    assert evidence_of_unequal_rates(pairs) == pytest.approx(evidence_of_unequal_rates(exchanged))


def test_pairs_that_differ_from_each_other_are_no_evidence():
    """Easy states drawn often on one side, hard ones on the other: each pair is even."""
    pairs = [PairedCounts(90, 100, 9, 10), PairedCounts(1, 10, 10, 100)]
    assert evidence_of_unequal_rates(pairs) < 0


def test_a_difference_is_seen_in_pairs_drawn_once_on_each_side():
    found = 0
    for seed in range(20):
        rng = random.Random(seed)
        pairs = [PairedCounts(rng.random() < 0.85, 1, rng.random() < 0.3, 1) for _ in range(64)]
        found += evidence_of_unequal_rates(pairs) > math.log(400)
    assert found >= 18


def until(wanted, chance, rng):
    """Draw until a hit, or until a miss, at most six times; return hits and draws."""
    outcomes = []
    while len(outcomes) < 6 and wanted not in outcomes:
        outcomes.append(rng.random() < chance)
    return sum(outcomes), len(outcomes)


@pytest.mark.parametrize("wanted", [True, False])
@pytest.mark.parametrize("chances", [[0.6], [0.1, 0.5, 0.9, 1.0]], ids=["equal", "different"])
def test_a_group_that_is_drawn_until_it_hits_or_misses_seldom_looks_unequal(wanted, chances):
    false_alarms = 0
    for seed in range(100):
        rng = random.Random(seed)
        pairs = []
        for _ in range(64):
            chance = rng.choice(chances)
            pairs.append(PairedCounts(*until(wanted, chance, rng), rng.random() < chance, 1))
        false_alarms += evidence_of_unequal_rates(pairs) > math.log(20)
    assert false_alarms <= 5
