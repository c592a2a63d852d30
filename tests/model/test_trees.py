"""Trees and committees, against twins in plain Python that count example by example."""

import math
from collections import Counter

import numpy as np
import pytest

from capscope.model.trees import Tree, grow, grow_committee, information_gains

SEEDS = range(8)


def random_examples(seed, number=40, width=7, classes=3):
    """Draw distinct states, whose class depends on two bits and now and then on nothing."""
    rng = np.random.default_rng(seed)
    states = rng.permutation(2**width)[:number]
    bits = (states[:, None] >> np.arange(width) & 1).astype(np.uint8)
    labels = bits[:, 0] + bits[:, 1] * (classes - 2)
    odd = rng.random(number) < 0.15
    return bits, np.where(odd, rng.integers(0, classes, number), labels).astype(np.int64)


# The twins: a node is {"counts": …} or has a feature and two children as well.


def entropy(labels):
    times = Counter(labels)
    return -sum(n * math.log(n / len(labels)) for n in times.values())


def gain(rows, labels, feature):
    sides = [
        [label for row, label in zip(rows, labels, strict=True) if row[feature] == value]
        for value in (0, 1)
    ]
    return entropy(labels) - sum(map(entropy, sides))


def naive_tree(rows, labels):
    node = {"counts": Counter(labels)}
    gains = [round(gain(rows, labels, i), 9) for i in range(len(rows[0]))]
    best = max(range(len(gains)), key=gains.__getitem__)
    if len(node["counts"]) > 1 and gains[best] > 1e-9:
        node["feature"] = best
        for value in (0, 1):
            inside = [(r, c) for r, c in zip(rows, labels, strict=True) if r[best] == value]
            node[value] = naive_tree(*zip(*inside, strict=True))
    return node


def naive_leaf(node, row):
    while "feature" in node:
        node = node[row[node["feature"]]]
    return node


def unfolded(tree, node=0):
    """Return a tree in the form of the twin."""
    counts = Counter({c: int(n) for c, n in enumerate(tree.counts[node]) if n})
    if tree.feature[node] < 0:
        return {"counts": counts}
    children = {value: unfolded(tree, int(tree.child[node, value])) for value in (0, 1)}
    return {"counts": counts, "feature": int(tree.feature[node]), **children}


# Single trees.


@pytest.mark.parametrize("seed", SEEDS)
def test_the_gain_of_a_feature_is_the_entropy_that_its_split_saves(seed):
    bits, labels = random_examples(seed)
    examples = np.eye(3)[labels]
    found = information_gains(bits.astype(float), examples, examples.sum(axis=0))
    expected = [gain(bits.tolist(), labels.tolist(), i) for i in range(bits.shape[1])]
    assert found == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_tree_is_grown_greedily(seed):
    bits, labels = random_examples(seed)
    assert unfolded(grow(bits, labels, 3)) == naive_tree(bits.tolist(), labels.tolist())


@pytest.mark.parametrize("seed", SEEDS)
def test_a_row_ends_in_the_leaf_that_its_bits_lead_to(seed):
    bits, labels = random_examples(seed)
    tree, twin = grow(bits, labels, 3), naive_tree(bits.tolist(), labels.tolist())
    everywhere = np.array([[i >> k & 1 for k in range(7)] for i in range(128)], dtype=np.uint8)
    for row, leaf in zip(everywhere.tolist(), tree.leaves(everywhere).tolist(), strict=True):
        assert unfolded(tree, leaf) == naive_leaf(twin, row)


def shares(tree: Tree, bits):
    return tree.believed()[tree.leaves(bits)]


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_leaves_of_states_that_differ_are_pure(seed, noisy):
    bits, labels = random_examples(seed)
    random = np.random.default_rng(seed) if noisy else None
    tree = grow(bits, labels, 3, random)
    assert (np.count_nonzero(tree.counts[tree.feature < 0], axis=1) == 1).all()
    assert (shares(tree, bits).argmax(axis=1) == labels).all()


def test_equal_states_of_different_classes_share_a_leaf_and_the_belief():
    bits = np.array([[0, 1], [0, 1], [0, 1], [1, 1]], dtype=np.uint8)
    tree = grow(bits, np.array([0, 0, 1, 1]), 2)
    assert shares(tree, bits)[0] == pytest.approx([2 / 3.5, 1 / 3.5])
    assert shares(tree, bits)[3] == pytest.approx([0, 1 / 1.5])


def test_two_atoms_that_matter_only_together_are_not_found_if_neither_gains_anything():
    # Greedy growth stops here; in random states one of them gains a little by chance.
    bits = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.uint8)
    tree = grow(bits, np.array([0, 1, 1, 0]), 2)
    assert tree.feature.tolist() == [-1]


def test_a_leaf_with_more_examples_is_believed_more_and_never_wholly():
    beliefs = []
    for number in (1, 2, 10, 1000):
        tree = grow(np.zeros((number, 3), dtype=np.uint8), np.zeros(number, dtype=np.int64), 1)
        (share,) = shares(tree, np.zeros((1, 3), dtype=np.uint8))[0]
        beliefs.append(share)
    assert beliefs == sorted(set(beliefs))
    assert 0.5 < beliefs[0] < beliefs[-1] < 1.0


# Committees.


def same_tree(one: Tree, other: Tree):
    return unfolded(one) == unfolded(other)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_committee_agrees_where_its_examples_are(seed):
    bits, labels = random_examples(seed)
    committee = grow_committee(bits, labels, 3, 5, seed)
    assert len(committee.trees) == 5
    for tree in committee.trees:
        assert (shares(tree, bits).argmax(axis=1) == labels).all()
    mean = committee.shares(bits)
    assert (mean.argmax(axis=1) == labels).all()
    assert (mean >= 0).all()
    assert (mean.sum(axis=1) < 1).all()
    # No member believes anything in another class there.
    assert np.count_nonzero(mean, axis=1).tolist() == [1] * len(labels)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_committee_believes_what_its_members_believe_on_average(seed):
    bits, labels = random_examples(seed)
    committee = grow_committee(bits, labels, 3, 5, seed)
    new, _ = random_examples(seed + 100, number=128)
    one_by_one = np.mean([shares(tree, new) for tree in committee.trees], axis=0)
    assert np.array_equal(committee.shares(new), one_by_one)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_first_member_is_the_greedy_tree_and_some_other_is_not(seed):
    bits, labels = random_examples(seed)
    first, *others = grow_committee(bits, labels, 3, 5, seed).trees
    assert same_tree(first, grow(bits, labels, 3))
    assert not all(same_tree(first, other) for other in others)


def test_a_committee_is_less_sure_away_from_its_examples():
    inside = outside = 0.0
    for seed in SEEDS:
        bits, labels = random_examples(seed)
        committee = grow_committee(bits, labels, 3, 5, seed)
        new, _ = random_examples(seed + 100, number=128)
        inside += committee.shares(bits).max(axis=1).mean()
        outside += committee.shares(new).max(axis=1).mean()
    assert outside < inside - 0.05 * len(SEEDS)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_of_the_examples_decides_nothing(seed):
    bits, labels = random_examples(seed)
    shuffled = np.random.default_rng(seed).permutation(len(labels))
    one = grow_committee(bits, labels, 3, 4, seed)
    other = grow_committee(bits[shuffled], labels[shuffled], 3, 4, seed)
    assert all(map(same_tree, one.trees, other.trees))


def test_one_seed_one_committee():
    bits, labels = random_examples(0)
    one, again, other = (grow_committee(bits, labels, 3, 4, seed) for seed in (1, 1, 2))
    assert all(map(same_tree, one.trees, again.trees))
    assert not all(map(same_tree, one.trees, other.trees))


def test_a_single_class_needs_a_single_leaf():
    bits, _ = random_examples(0)
    committee = grow_committee(bits, np.zeros(len(bits), dtype=np.int64), 1, 4, 0)
    assert [len(tree.feature) for tree in committee.trees] == [1]


@pytest.mark.parametrize("seed", SEEDS)
def test_bits_that_never_vary_change_no_tree_but_its_numbering(seed):
    bits, labels = random_examples(seed)
    wider = np.insert(bits, [0, 3, 3], [1, 0, 1], axis=1)
    plain, wide = grow(bits, labels, 3), grow(wider, labels, 3)
    places = np.array([1, 2, 3, 6, 7, 8, 9])
    inner = plain.feature >= 0
    assert np.array_equal(wide.feature[inner], places[plain.feature[inner]])
    assert np.array_equal(wide.counts, plain.counts)
