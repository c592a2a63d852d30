"""Trees of distributions over changes, against naive twins and known agents."""

import math
import random
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln

from capscope import Budget, Settings, assess, load
from capscope.journal.execution_table import Transition
from capscope.logic import Effect
from capscope.model import LearnedModel, Provenance, StateGraph
from capscope.model.outcome_trees import (
    LeafScores,
    canonical,
    grow_pruned,
    likeliest_novelty,
    log_likelihood,
    symmetries,
)
from support.mail_worlds import careless_sorter


def naive_score(counts):
    """The log probability of draws in some order, under a Dirichlet prior that is worth one."""
    share = 1 / (len(counts) + 1)
    own = sum(gammaln(n + share) - gammaln(share) for n in counts)
    return own - gammaln(sum(counts) + 1) + gammaln(1)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=6))
def test_the_score_of_a_leaf_is_the_marginal_likelihood_of_its_draws(counts):
    scores = LeafScores(len(counts), sum(counts))
    assert scores(np.array(counts)) == pytest.approx(naive_score(counts), abs=1e-9)


def naive_tree(bits, counts, costs, depth=8):
    """Split by the literal that explains most, if its sides and its price are worth it."""
    total = counts.sum(axis=0)
    leaf = naive_score(total)
    varying = [f for f in range(bits.shape[1]) if 0 < bits[:, f].sum() < len(bits)]
    if not depth or np.count_nonzero(total) < 2 or not varying:
        return leaf, total
    found = []
    for feature in varying:
        on = bits[:, feature] > 0
        lone = 2 * math.log(len(bits)) if min(on.sum(), (~on).sum()) == 1 else 0
        price = costs[feature] + lone + math.log(len(varying))
        sides = [naive_score(counts[one].sum(axis=0)) for one in (~on, on)]
        found.append((round(sum(sides) - price, 9), -feature, on, price))
    _, feature, on, price = max(found, key=lambda one: one[:2])
    sides = [naive_tree(bits[one], counts[one], costs, depth - 1) for one in (~on, on)]
    score = sides[0][0] + sides[1][0] - price
    return (score, (-feature, sides)) if score > leaf else (leaf, total)


def as_tuples(tree, node=0):
    if tree.feature[node] < 0:
        return tuple(tree.counts[node])
    return int(tree.feature[node]), *(as_tuples(tree, child) for child in tree.child[node])


def naive_tuples(node):
    _, told = node
    if isinstance(told, tuple):
        return told[0], *map(naive_tuples, told[1])
    return tuple(told)


@pytest.mark.parametrize("seed", range(30))
def test_a_tree_is_that_of_its_naive_twin(seed):
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, (rng.integers(2, 60), 6)).astype(np.uint8)
    likely = np.where(bits[:, [0]] & bits[:, [1]], [0.1, 0.8, 0.1], [0.9, 0.05, 0.05])
    counts = np.array([rng.multinomial(rng.integers(1, 4), p) for p in likely])
    costs = np.array([0.0, 0.0, 0.5, 0.5, 1.0, 1.0])
    tree = grow_pruned(bits, counts, costs, [()] * 3)
    assert as_tuples(tree) == naive_tuples(naive_tree(bits, counts, costs))


def test_a_leaf_is_divided_by_whether_the_object_of_an_outcome_exists():
    bits = np.array([[0]] * 40 + [[1]] * 4, dtype=np.uint8)
    counts = np.array([[1, 0]] * 40 + [[1, 0], [1, 0], [1, 0], [0, 1]])
    costs = np.array([5.0])
    assert as_tuples(grow_pruned(bits, counts, costs, [(), ()])) == (43.0, 1.0)
    assert as_tuples(grow_pruned(bits, counts, costs, [(), (0,)])) == (0, (40.0, 0.0), (3.0, 1.0))


def test_changes_that_are_the_same_with_objects_exchanged_have_one_description():
    alike = (((True, "twins", (0, 1)), (True, "twins", (1, 0))),)
    assert symmetries(alike, 2) == ((0, 1), (1, 0))
    roles = ("role", 0), ("role", 1)
    assert canonical(alike, roles) == canonical(alike, roles[::-1])
    moved = (((False, "at", (0,)), (True, "at", (1,))),)
    assert symmetries(moved, 2) == ((0, 1),)
    assert canonical(moved, roles) != canonical(moved, roles[::-1])


def test_the_novelty_is_that_which_explains_best_how_often_outcomes_were_new():
    rng = random.Random(0)
    for novelty in (2.0**-3, 1.0, 4.0):
        shown = []
        for _ in range(4000):
            known = rng.randrange(1, 40)
            shown.append((known, int(rng.random() < novelty / (known + novelty)), 1))
        assert likeliest_novelty(shown) == novelty


# What a model says of an agent that takes the wrong mail now and then.


@pytest.fixture(scope="module")
def run():
    problem = careless_sorter(mails=3)
    return assess(problem, settings=Settings(audit=0.0), budget=Budget(executions=700), seed=3)


def told(run):
    """The families that a tree stands for, with the names of the rules' conditions."""
    families = zip(run.model.experts.families.all, run.model.families, strict=True)
    return {rules.name: rules for own, rules in families if own.key in run.model.trees.by_family}


def test_a_tree_stands_for_a_family_in_which_chance_decides(run):
    assert "filed(X)" in told(run)


def test_its_rules_name_the_condition_of_each_bug_and_its_rate(run):
    rules = told(run)["filed(X)"].rules
    alone = [u for u in rules if "not twins(X,·)" in map(str, u.when)]
    wrong = [
        (u, e)
        for u in rules
        for e in u.effects
        if any(str(c) == "filed(Y)" or str(c).startswith("filed(Y") for c in e.changes)
    ]
    assert wrong and all(any("twins" in str(x) for x in u.when) for u, _ in wrong)
    taken = sum(e.count for _, e in wrong)
    could = sum(u.executions for u, _ in wrong)
    assert 0.15 < taken / could < 0.5
    assert alone and all(len(u.effects) == 1 for u in alone)


def test_rules_count_what_the_pairs_have_shown(run):
    index = run.graph.index
    for family in told(run).values():
        for number, rule in enumerate(family.rules):
            shown = Counter()
            for member in family.members:
                for state, node in run.graph.nodes.items():
                    pair = node.pairs[index[member]]
                    if pair is not None and family.applying(
                        member, state, run.graph.vocabulary
                    ) == [number]:
                        shown["pairs"] += 1
                        shown["executions"] += pair.total
            assert shown == {"pairs": rule.pairs, "executions": rule.executions}


def test_predictions_of_untried_pairs_are_the_rule_and_those_of_tried_ones_keep_their_draws(run):
    model, words = run.model, run.graph.vocabulary
    for family in told(run).values():
        for member, state in product(family.members, run.graph.nodes):
            (number,) = family.applying(member, state, words)
            rule = family.rules[number]
            untried = model.predict_untried(state, member)
            ends = [e.at(family.binding(member), state, words) for e in rule.effects]
            shares = Counter()
            for effect, end in zip(rule.effects, ends, strict=True):
                if end is not None:
                    shares[end.apply(state)] += effect.probability
            assert set(untried) in (set(shares), set())
            for end, share in untried.items():
                assert share == pytest.approx(shares[end] / shares.total())
            pair = run.graph.pair(state, run.graph.index[member])
            if pair is not None:
                predicted = model.predict(state, member)
                assert predicted.provenance is Provenance.TRIED
                assert {e.apply(state) for e in pair.counts} <= predicted.keys()


def test_held_out_executions_are_foretold_better_than_by_a_table_and_by_no_change(run):
    fresh = assess(
        careless_sorter(mails=3),
        settings=Settings(audit=0.0),
        budget=Budget(executions=300),
        seed=8,
    )
    scores = Counter()
    for state, node in fresh.graph.nodes.items():
        for intent, pair in zip(fresh.capabilities, node.pairs, strict=True):
            if pair is None:
                continue
            own = run.graph.pair(state, run.graph.index[intent])
            table = {} if own is None else {e: n / own.total for e, n in own.counts.items()}
            model = {
                Effect.between(state, end): p for end, p in run.model.predict(state, intent).items()
            }
            scores["model"] += log_likelihood(pair.counts, model)
            scores["table"] += log_likelihood(pair.counts, table)
            scores["nothing changes"] += log_likelihood(pair.counts, {Effect(0, 0): 1.0})
    assert scores["model"] > scores["table"] + 100
    assert scores["model"] > scores["nothing changes"] + 100


def test_what_was_learned_about_few_mails_is_known_of_many(run):
    many = careless_sorter(mails=7)
    carried = run.model.transfer(many.vocabulary)
    asked = [one for one in carried.capabilities if "filed" in str(one)]
    assert len(asked) == 14
    rng = random.Random(1)
    state, foreseen = many.abstraction(many.simulator.reset(0)), []
    for _ in range(400):
        intent = rng.choice(carried.capabilities)
        ends = many.truth.outcomes(state, intent)
        if intent in asked:  # of three mails, any two that are twins share one with any request
            predicted = carried.predict(state, intent)
            foreseen.append(sum(p for end, p in ends.items() if predicted.get(end)))
        state = rng.choices(list(ends), list(ends.values()))[0]
    assert sum(foreseen) / len(foreseen) > 0.95


def test_executions_of_an_audit_count_for_rates_and_change_nothing_that_is_held_possible(run):
    graph, draws = StateGraph(run.graph.vocabulary, run.capabilities), []
    for state, node in run.graph.nodes.items():
        graph.node(state)
        for number, pair in enumerate(node.pairs):
            if pair is not None:
                draws += [
                    (Transition(state, number, e.apply(state)), n) for e, n in pair.counts.items()
                ]
    random.Random(0).shuffle(draws)
    graph.update(dict(draws[: len(draws) // 2]))
    model = LearnedModel.fitted(graph.copy())
    untried = [
        (s, c) for s, node in graph.nodes.items() for c, p in enumerate(node.pairs) if p is None
    ]
    untried = [(s, run.capabilities[c]) for s, c in untried if run.graph.pair(s, c) is None]

    def possible():
        predictions = {one: model.predict(*one) for one in untried}
        return {one: (set(told), told.doubt) for one, told in predictions.items()}

    before = possible()
    leaves = {key: tree.tree.counts.sum() for key, tree in model.trees.by_family.items()}
    assert leaves
    model.follow(run.graph.copy())
    assert before == possible()
    assert any(tree.tree.counts.sum() > leaves[key] for key, tree in model.trees.by_family.items())


def test_a_run_that_is_loaded_again_has_the_same_rules(run, tmp_path):
    saved = assess(
        careless_sorter(mails=3), settings=Settings(audit=0.0), budget=Budget(executions=150),
        run=tmp_path / "run",
    )  # fmt: skip
    assert load(tmp_path / "run").model.families == saved.model.families
