"""What settles a run: the bound on missed outcomes, precise rules, and the verdict.

The bound is checked against simulated hidden outcomes and exact sums, verdicts against a recount.
"""

import math
import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from capscope import Budget, assess
from capscope.insight.notes import precision_notes
from capscope.journal.settings import Settings
from capscope.strategy.settling import MISSED_SHARE, MissBound, Requirements, Verdict, half_width
from support.answer_tables import switching
from support.tiny_evidence import coin, counted, sure_of
from support.tiny_models import learned, random_models

USUAL = MissBound(epsilon=0.1, delta=0.05)


def misses(escapes_until, bound=USUAL):
    """Return whether a run stops while one of these outcomes is hidden.

    Each is found by a certain number of draws; each counts in full once it is found.
    """
    draws = 1
    while bound.error(sum(found <= draws for found in escapes_until), draws) > bound.delta:
        draws += 1
    return any(found > draws for found in escapes_until)


@pytest.mark.parametrize("hidden", [1, 2, 5, 30, 200])
@pytest.mark.parametrize("probability", [0.1, 0.15, 0.3])
def test_outcomes_above_epsilon_are_missed_no_oftener_than_allowed(hidden, probability):
    rng = np.random.default_rng(hidden)
    runs = rng.geometric(probability, (500, hidden)).tolist()
    wrong = sum(map(misses, runs)) / len(runs)
    assert wrong <= USUAL.delta + 3 * math.sqrt(USUAL.delta / len(runs))


def test_outcomes_that_are_found_unequally_fast_are_not_missed_oftener_either():
    rng = np.random.default_rng(0)
    odds = [0.1] * 3 + [0.2] * 20 + [0.5] * 40
    runs = rng.geometric(odds, (2000, len(odds))).tolist()
    assert sum(map(misses, runs)) / len(runs) <= USUAL.delta + 0.01


@pytest.mark.parametrize("hidden", [1, 2, 3])
@pytest.mark.parametrize("delta", [0.01, 0.05, 0.3])
def test_the_error_probability_of_the_stopping_rule_is_at_most_delta_exactly(hidden, delta):
    """With draws in fine steps: an outcome escapes until a level uniform in (0, 1)."""

    def right(found, level):
        # The probability that the rest is found before the rule stops, from this level on.
        left = hidden - found
        stops = delta / (found + 1)
        if left == 0:
            return 1.0
        if level <= stops:
            return 0.0
        points, weights = np.polynomial.legendre.leggauss(12)
        levels = stops + (level - stops) * (points + 1) / 2
        density = left * (levels / level) ** (left - 1) / level
        values = [right(found + 1, at) for at in levels] if left > 1 else np.ones(len(levels))
        return float(np.sum(weights * density * values) * (level - stops) / 2)

    assert 1 - right(0, 1.0) <= delta + 1e-9


@given(st.floats(0.001, 0.999), st.floats(1e-6, 0.5), st.floats(0.0, 1e5))
def test_the_draws_needed_are_the_fewest_that_suffice(epsilon, delta, like_missed):
    bound = MissBound(epsilon, delta)
    draws = bound.needed(like_missed)
    assert bound.error(like_missed, draws) <= delta
    assert draws == 1 or bound.error(like_missed, draws - 1) > delta * (1 - 1e-9)


def test_nothing_is_above_one_and_nothing_rules_out_all():
    assert MissBound(1.0, 0.05).needed(7.0) == 1
    assert MissBound(1.0, 0.05).error(7.0, 1) == 0.0
    assert MissBound(0.0, 0.05).needed(0.0) == math.inf
    assert MissBound(0.0, 0.05).error(0.0, 10_000) == 1.0
    assert MissBound(0.0, 0.05).like_missed([{(3, 10): 2}]) == (1.0, 2.0)


def outcomes_like_missed(found):
    return USUAL.like_missed([found])[1]


def test_an_outcome_counts_the_less_the_more_frequent_it_is():
    weights = [outcomes_like_missed({(count, 40): 1}) for count in range(1, 21)]
    assert weights == sorted(weights, reverse=True)
    assert weights[0] == 1.0
    assert weights[-1] < 1e-3
    both = outcomes_like_missed({(4, 40): 3, (20, 40): 5})
    assert both == pytest.approx(3 * weights[3] + 5 * weights[19])
    assert outcomes_like_missed({}) == 0.0


def test_a_capability_counts_once_and_not_at_all_if_it_showed_many_outcomes():
    rare = (1, 40)
    found = [{rare: 2}, {rare: 4}, {}, {(20, 40): 1}]
    capabilities, outcomes = USUAL.like_missed(found)
    assert capabilities == pytest.approx(1.0, abs=1e-3)
    assert outcomes == pytest.approx(6.0, abs=1e-3)


def test_a_share_of_delta_takes_more_draws_and_a_class_without_pairs_none():
    assert USUAL.needed(0.0, 0.5) == MissBound(0.1, 0.025).needed(0.0) > USUAL.needed(0.0)
    assert USUAL.needed(5.0, 0.0) == 0


@pytest.mark.parametrize("capabilities", [1, 4, 30])
@pytest.mark.parametrize("each", [1, 3, 20])
def test_a_capability_that_hides_something_is_seldom_taken_for_a_uniform_one(capabilities, each):
    # Each hides outcomes of probability ε in so many pairs; all pairs are drawn equally often.
    rng = np.random.default_rng(each)
    wrong = 0
    for found in rng.geometric(0.1, (400, capabilities, each)):
        draws = 1
        while USUAL.error(sum(1 <= n <= 3 for n in (found <= draws).sum(1)), draws) > USUAL.delta:
            draws += 1
        wrong += bool((found.min(1) > draws).any())
    assert wrong / 400 <= USUAL.delta + 0.03


# Rules.


@pytest.mark.parametrize("p", [0.03, 0.2, 0.5])
@pytest.mark.parametrize("draws", [200, 2000])
@pytest.mark.parametrize("miss", [0.01, 0.1])
def test_a_frequency_strays_farther_than_it_may_no_oftener_than_allowed(p, draws, miss):
    heads = np.random.default_rng(draws).binomial(draws, p, 20_000)
    width = norm.isf(miss / 2)
    claimed = {int(k): half_width(coin(int(k), draws - int(k)), width) for k in set(heads)}
    strayed = np.abs(heads / draws - p) > np.array([claimed[int(k)] for k in heads])
    assert np.mean(strayed) <= 1.2 * miss
    # Nor is more claimed than is needed by far.
    assert np.mean(list(claimed.values())) <= 2 * width * math.sqrt(p * (1 - p) / draws)


@given(st.lists(st.integers(1, 500), min_size=2, max_size=3), st.floats(1.0, 5.0))
def test_no_probability_of_a_rule_is_farther_off_than_the_largest(counts, width):
    total = sum(counts)
    off = half_width(coin(*counts), width)
    for count in counts:
        share = (count + 0.5) / (total + 1)
        assert off >= width * (math.sqrt(share * (1 - share) / total) - 0.5 / total)
    assert half_width(coin(*(4 * count for count in counts)), width) < off


def test_a_rule_that_answered_always_alike_is_not_certain_yet():
    assert half_width(coin(1), 2) > half_width(coin(5), 2) > half_width(coin(500), 2) > 0.0


# Verdicts.

MISSED = "an outcome with probability above 0.1 may have been missed with probability up to"
SETTLED_AT = "(settled at 0.013; the least-tried pair was tried 38 times)"


def verdict(untried=0, hidden=0.0, imprecise=0, tried=9, thin=0, least_draws=38):
    wanted = {"epsilon": 0.1, "delta": 0.02, "precision": 0.05}
    return Verdict(tried, untried, hidden, imprecise, thin, least_draws, **wanted)


def test_a_verdict_that_is_reached_says_what_was_asked_for():
    text = str(verdict(hidden=0.013))
    assert verdict(hidden=0.013).reached
    assert "open" not in text
    for part in ("probability 0.98", "above 0.1", "within 0.05"):
        assert part in text


def test_a_claim_states_what_needs_no_assumption_about_other_pairs():
    escapes = "an outcome of probability 0.1 escapes that with probability"
    assert f"tried at least 38 times; {escapes} 0.018)" in verdict().claim
    assert f"tried at least once; {escapes} 0.9)" in verdict(least_draws=1).claim


@pytest.mark.parametrize(
    ("open_", "text"),
    [
        ({"untried": 1200}, "1,200 pairs of a state and a capability never tried"),
        ({"untried": 1}, "1 pair of a state and a capability never tried"),
        ({"hidden": 0.0201}, f"{MISSED} 0.02 {SETTLED_AT}"),
        ({"hidden": 0.0134}, f"{MISSED} 0.013 {SETTLED_AT}"),
        ({"hidden": 1.0}, f"{MISSED} 1 {SETTLED_AT}"),
        ({"imprecise": 7}, "7 rules not yet known to within 0.05"),
        ({"imprecise": 1}, "1 rule not yet known to within 0.05"),
        ({"thin": 12}, "12 pairs tried less often than --set min-draws asks for"),
        (
            {"untried": 5, "hidden": 0.5, "imprecise": 3},
            f"5 pairs of a state and a capability never tried, {MISSED} 0.5 {SETTLED_AT}, "
            "3 rules not yet known to within 0.05",
        ),
    ],
)
def test_a_verdict_that_is_not_reached_names_what_is_open_and_nothing_else(open_, text):
    assert not verdict(**open_).reached
    assert str(verdict(**open_)) == f"still open: {text}"


def test_where_nothing_was_tried_nothing_is_settled():
    assert not verdict(tried=0).reached
    assert str(verdict(tried=0)) == "still open: nothing was tried yet"


def test_a_verdict_is_written_down_with_its_answer():
    assert verdict(hidden=0.5).as_dict() == {
        "tried": 9, "untried": 0, "hidden": 0.5, "imprecise": 0, "thin": 0, "least_draws": 38,
        "epsilon": 0.1, "delta": 0.02, "precision": 0.05, "reached": False,
    }  # fmt: skip


# Enough draws that nothing of note is hidden; how precise the rule is depends on what is asked.
TRIED = [(state, c, state, 3000) for state in (0, 1) for c in range(3) if (state, c) != (0, 0)]
TOSSED = learned(counted(*TRIED, (0, 0, 0, 1000), (0, 0, 1, 1000)))
OFF = half_width(coin(1000, 1000), sure_of(1))


@pytest.mark.parametrize(("factor", "imprecise"), [(1.001, 0), (0.999, 1)])
def test_a_rule_is_precise_enough_or_not(factor, imprecise):
    found = Verdict.of(TOSSED, Settings(precision=OFF * factor))
    assert found.imprecise == imprecise
    assert found.reached == (not imprecise)


@pytest.mark.parametrize("seed", range(20))
def test_a_verdict_counts_like_a_recount(seed):
    graph = random_models(random.Random(seed), 0.7)
    settings = Settings(min_draws=3)
    found = Verdict.of(graph, settings)
    pairs = {
        (state, capability): pair
        for state, node in graph.nodes.items()
        for capability, pair in enumerate(node.pairs)
        if pair is not None
    }
    assert found.tried == len(pairs)
    assert found.untried == len(graph.nodes) * len(graph.capabilities) - len(pairs)
    assert found.least_draws == min(pair.total for pair in pairs.values())
    assert found.thin == sum(pair.total < 3 for pair in pairs.values())
    varied = {capability for (_, capability), pair in pairs.items() if len(pair.counts) > 1}
    others = {c: [] for c in varied}
    for (_, capability), pair in pairs.items():
        counts = sorted(pair.counts.values())
        others.get(capability, []).extend((count, pair.total) for count in counts[:-1])
    bound = MissBound(settings.epsilon, settings.delta * MISSED_SHARE)
    like = bound.like_missed([Counter(found) for found in others.values()])
    error = 0.0
    for several, factor in zip((False, True), like, strict=True):
        totals = [p.total for (_, c), p in pairs.items() if (c in varied) == several]
        error += bound.error(factor, min(totals)) if totals else 0.0
    assert found.hidden == pytest.approx(min(error, 1.0))
    required = Requirements.of(graph, settings)
    for (_, capability), pair in pairs.items():
        if pair.total < required.draws[capability]:
            assert not required.met_by(capability, pair)


# The types of the learned model.


@pytest.mark.parametrize("seed", range(3))
def test_the_rules_of_a_model_that_are_not_named_are_known_precisely(seed):
    answers, precision = switching(slip=0.3), 0.1
    settings = Settings(intents=tuple(map(str, answers.intents())), audit=0.0, precision=precision)
    run = assess(answers.problem(), seed=seed, settings=settings, budget=Budget(executions=1400))
    types, families, several = run.imprecise
    named = {frozenset(effects) for effects in types}
    trees = run.model.trees
    used = {
        number
        for capability in range(len(run.capabilities))
        if trees.of(capability) is None
        for number in run.model.labels_of(capability).values()
    }
    odds = [run.model.types.odds[number] for number in used]
    odds = [one for one in odds if len(one) > 1]
    planted = [f.key in trees.by_family for f in run.model.experts.families.all]
    rules = [
        (family.name, rule)
        for family, own in zip(run.model.families, planted, strict=True)
        for rule in family.rules
        if own and len(rule.effects) > 1
    ]
    assert several == len(odds) + len(rules) >= 8
    known = [max(one.values()) for one in odds if frozenset(one) not in named]
    known += [max(e.probability for e in u.effects) for name, u in rules if name not in families]
    assert known
    assert all(abs(most - 0.7) <= precision for most in known)


def test_after_few_executions_every_rule_with_several_outcomes_is_named():
    answers = switching(slip=0.3)
    settings = Settings(intents=tuple(map(str, answers.intents())), audit=0.0)
    run = assess(answers.problem(), settings=settings, budget=Budget(executions=120))
    types, families, several = run.imprecise
    assert len(types) + len(families) == several > 2
    (note,) = precision_notes(run)
    assert note.startswith(
        f"probabilities are known to within 0.05 except for {several} of {several} rules with "
        "several outcomes: "
    )
    names = note.rpartition(": ")[2].replace(" and ", ", ").split(", ")
    literals = {str(intent) for intent in answers.intents()}
    assert {name for name in names if not name.endswith(" more")} <= literals


def test_an_agent_without_chance_has_nothing_to_be_named():
    settings = Settings(intents=tuple(map(str, switching().intents())), audit=0.0)
    run = assess(switching().problem(), settings=settings, budget=Budget(executions=120))
    assert run.imprecise == ([], [], 0)
    assert list(precision_notes(run)) == []
