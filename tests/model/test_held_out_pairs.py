"""Pairs that are held out: all of them once, and whole states at a time."""

import random

from capscope.model.doubt import FOLDS, MOST_PAIRS, divided, in_fold, in_half

STATES = random.Random(0).sample(range(10**6), 400)
LABELS = [{row: row % 3 for row in range(400)}, dict.fromkeys(range(0, 400, 2), 1), {}]


def merged(parts):
    return [{**one, **other} for one, other in zip(*parts, strict=True)]


def test_each_pair_is_asked_about_in_one_fold_and_known_in_the_others():
    asked = [divided(LABELS, STATES, in_fold(fold))[1] for fold in range(FOLDS)]
    for capability, labels in enumerate(LABELS):
        rows = [row for parts in asked for row in parts[capability]]
        assert sorted(rows) == sorted(labels)
    for fold in range(FOLDS):
        assert merged(divided(LABELS, STATES, in_fold(fold))) == LABELS


def test_a_fold_has_all_pairs_of_its_states():
    for fold in range(FOLDS):
        known, asked = divided(LABELS, STATES, in_fold(fold))
        assert 40 < len(asked[0]) < 130
        assert not {row for own in known for row in own} & {row for own in asked for row in own}


def test_the_two_halves_are_complements():
    one, other = (divided(LABELS, STATES, in_half(half)) for half in (0, 1))
    assert one == other[::-1]
    assert 150 < len(one[0][0]) < 250


def test_of_many_pairs_a_sample_is_divided_that_does_not_depend_on_their_order():
    rows = list(range(3 * MOST_PAIRS))
    states = [row * row for row in rows]
    first = divided([dict.fromkeys(rows, 0)], states, in_half(0))
    assert sum(len(part[0]) for part in first) == MOST_PAIRS
    assert divided([dict.fromkeys(rows[::-1], 0)], states, in_half(0)) == first
