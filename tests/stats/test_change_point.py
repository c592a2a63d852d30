"""Evidence of a common change: its value, its error rate under adaptive draws, its power."""

import math
import random
from collections import Counter

import numpy as np
import pytest

from capscope.stats import change_point
from capscope.stats.change_point import ArmDraws, change_times, evidence_of_change

ENOUGH = math.log(20)


def arm_draws(draws, family, families=None):
    """Make draws of ⟨arm, hit⟩, one at each time."""
    arm, hit = np.array(draws, dtype=np.int64).reshape(-1, 2).T
    whose = np.array(family, dtype=np.int64)
    known = max(family, default=-1) + 1 if families is None else families
    return ArmDraws(np.arange(len(arm)), arm, hit == 1, whose, known)


def log_evidence(draws, family, families=None):
    found = evidence_of_change(arm_draws(draws, family, families))
    return -math.inf if found is None else found.evidence


def predicted(prior, hits):
    """Return the probability of a sequence, predicted draw by draw."""
    seen, chance = list(prior), 1.0
    for hit in hits:
        chance *= seen[not hit] / sum(seen)
        seen[not hit] += 1
    return chance


def naive_evidence(draws, family, families):
    """Sum over everything, one arm at a time."""
    arms = range(len(family))
    total = 0.0
    for time in change_times(len(draws) - 1):
        for before, after in change_point._CHANGES:
            for w in change_point._TAKING_PART:
                scores = []
                for arm in arms:
                    own = [(t, hit) for t, (a, hit) in enumerate(draws) if a == arm]
                    share = sum(hit for _, hit in own) / max(len(own), 1)
                    best = math.prod(share if hit else 1 - share for _, hit in own)
                    early = predicted(before, [hit for t, hit in own if t < time])
                    late = predicted(after, [hit for t, hit in own if t >= time])
                    known = any(t < time for t, _ in own)
                    scores.append(1 - w + w * early * late / best if known else 1.0)
                single = [
                    math.prod(scores[arm] for arm in arms if family[arm] == f)
                    for f in range(families)
                ]
                total += math.prod(scores) / 2 + sum(single) / families / 2
    number = len(change_point._CHANGES) * len(change_point._TAKING_PART)
    return math.log(total / number / change_point._OCTAVES / change_point._PER_OCTAVE)


@pytest.mark.parametrize("seed", range(6))
def test_the_evidence_is_the_mean_over_all_changes(seed):
    rng = random.Random(seed)
    family = [rng.randrange(3) for _ in range(4)]
    draws = [(rng.randrange(4), rng.random() < (0.9 if t < 20 else 0.3)) for t in range(35)]
    for families in (3, 2):  # the third may have been found later
        assert log_evidence(draws, family, families) == pytest.approx(
            naive_evidence(draws, family, families)
        )


def test_too_few_draws_are_no_evidence():
    assert evidence_of_change(arm_draws([], [])) is None
    assert evidence_of_change(arm_draws([(0, True)] * 16, [0])) is None


def test_constant_arms_are_no_evidence():
    assert log_evidence([(t % 9, True) for t in range(500)], [0] * 9) < 0


def test_the_change_is_found_when_and_where_it_was():
    draws = [(t % 12, t < 300 or t % 12 != 5) for t in range(600)]
    found = evidence_of_change(arm_draws(draws, [arm // 4 for arm in range(12)]))
    assert found.evidence > ENOUGH
    assert abs(found.time - 300) <= 32
    assert found.family == 1
    assert found.arms.argmax() == 5


def test_a_change_is_seen_in_pairs_drawn_once_before_it_among_many_that_are_new():
    rng = random.Random(0)
    draws = [(arm, True) for arm in range(100)]
    draws += [(arm, rng.random() < 0.3) for _ in range(2) for arm in range(100)]
    draws += [(100 + arm, rng.random() < 0.3) for arm in range(500)]
    assert log_evidence(draws, [0] * 600) > math.log(1000)


@pytest.mark.parametrize(("before", "after", "again"), [(1.0, 0.3, 30), (0.95, 0.25, 60)])
def test_a_drop_to_a_low_rate_is_seen_in_arms_drawn_once_before_it(before, after, again):
    found = 0
    for seed in range(10):
        rng = random.Random(seed)
        draws = [(arm, rng.random() < before) for arm in range(400)]
        draws += [(arm, rng.random() < after) for arm in range(again) for _ in range(1 + arm % 6)]
        found += log_evidence(draws, [0] * 400) > math.log(400)
    assert found >= 9


@pytest.mark.parametrize("chance", [0.2, 0.35, 0.5])
def test_arms_that_seldom_hit_and_are_drawn_again_if_they_did_do_not_look_changed(chance):
    # A test that compares early with late draws of the same arms sees a drop from 1 to `chance`.
    false_alarms = 0
    for seed in range(40):
        rng = random.Random(seed)
        chances = [chance if arm % 3 else 1.0 for arm in range(500)]
        draws = [(arm, rng.random() < chances[arm]) for arm in range(500)]
        draws += [(arm, rng.random() < chance) for arm, hit in draws if arm % 3 and hit]
        false_alarms += log_evidence(draws, [arm % 3 for arm in range(500)]) > ENOUGH
    assert false_alarms <= 1


def test_a_change_of_everything_is_not_ascribed_to_one_family():
    found = evidence_of_change(arm_draws([(t % 12, t < 300) for t in range(600)], [*range(12)]))
    assert found.family is None


def test_leaving_out_change_times_only_lowers_the_evidence(monkeypatch):
    draws = arm_draws([(t % 12, t < 1500 or t % 37 > 9) for t in range(2000)], [0] * 12)
    whole = evidence_of_change(draws)
    monkeypatch.setattr(change_point, "_MOST_CELLS", 100)
    some = evidence_of_change(draws)
    assert ENOUGH < some.evidence <= whole.evidence
    assert abs(some.time - 1500) < 300


def until_a_miss(history, rng):
    return history[-1] if history and history[-1][1] else None


def again_after_a_miss(history, rng):
    return history[-1] if history and not history[-1][1] else None


def where_answers_vary(history, rng):
    """Repeat the arm of the last draws that has shown hits and misses."""
    recent = Counter(arm for arm, _ in history[-40:])
    seen = {arm: {hit for a, hit in history if a == arm} for arm in recent}
    varied = [arm for arm in recent if len(seen[arm]) > 1]
    return (rng.choice(varied), None) if varied and rng.random() < 0.7 else None


@pytest.mark.parametrize("repeat", [until_a_miss, again_after_a_miss, where_answers_vary])
def test_draws_chosen_by_what_was_seen_seldom_look_like_a_change(repeat):
    # Drawn until it misses, every arm ends with a miss; in any order test the agent gets worse.
    false_alarms = 0
    for seed in range(40):
        rng = random.Random(seed)
        chances = [rng.choice([1.0, 0.97, 0.9, rng.random()]) for _ in range(30)]
        history = []
        for _ in range(400):
            chosen = repeat(history, rng)
            arm = rng.randrange(30) if chosen is None else chosen[0]
            history.append((arm, rng.random() < chances[arm]))
        false_alarms += log_evidence(history, [arm % 5 for arm in range(30)]) > ENOUGH
    assert false_alarms <= 1


def test_the_score_is_at_most_one_in_the_mean():
    # One arm, drawn until its first miss; all such runs, with their probabilities.
    for chance in (0.05, 0.5, 0.9, 0.99):
        mean = 0.0
        for length in range(1, 80):
            last = length == 79
            hits = [(0, True)] * length + [(0, False)] * (not last)
            mean += chance**length * (1 if last else 1 - chance) * math.exp(log_evidence(hits, [0]))
        assert mean <= 1
