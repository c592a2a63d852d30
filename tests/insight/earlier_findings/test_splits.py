import itertools
import math
import random

import numpy as np
import pytest

from capscope import Vocabulary
from capscope.insight.earlier_findings.finding import LEAST_DIFFERENCE, Clause
from capscope.insight.earlier_findings.splits import EventCounts, best_split, narrow_down
from capscope.logic import Literal
from capscope.logic.shortest_condition import bit_matrix
from capscope.stats.betting import evidence_of_difference

WORDS = Vocabulary.of_atoms("pqrs")
STATES = range(16)
NEVER = math.inf


def covers(clause, state):
    return WORDS.test(clause.term)(state) is clause.holds


def literal(text):
    return Literal.parse(text)


def counts_of(rows, words):
    """Collect (capability, state, hits, draws), without rows that have no draws."""
    rows = [row for row in rows if row[3]]
    columns = np.array([row[2:] for row in rows], dtype=np.int64).reshape(-1, 2)
    bits = bit_matrix([row[1] for row in rows], len(words.atoms))
    pairs, members = tuple(row[:2] for row in rows), np.zeros(len(rows), dtype=np.int64)
    return EventCounts(pairs, columns[:, 0], columns[:, 1], words.atoms, bits, members)


def trials(odds, draws=40, seed=1):
    rng = random.Random(seed)
    rows = [(0, s, sum(rng.random() < odds(s) for _ in range(draws)), draws) for s in STATES]
    return counts_of(rows, WORDS)


def best_by_looking(rows):
    """Try every conjunction of one or two literals, state by state."""
    best = -math.inf
    literals = [Literal(atom, sign) for atom in WORDS.atoms for sign in (True, False)]
    groups = {}
    for x in literals:
        inside = tuple(covers(Clause((x,)), s) for _, s in rows.pairs)
        if any(inside) and not all(inside):
            groups.setdefault(inside, x)
    for length in (1, 2):
        terms = list(itertools.combinations(groups.values(), length))
        for term in terms:
            sides = [[0, 0], [0, 0]]
            for (_, state), hits, draws in zip(rows.pairs, rows.hits, rows.draws, strict=True):
                side = sides[covers(Clause(term), state)]
                side[0] += hits
                side[1] += draws
            (h0, n0), (h1, n1) = sides
            if not n0 or not n1 or abs(h0 / n0 - h1 / n1) < LEAST_DIFFERENCE:
                continue
            numbers = (np.array([x]) for x in (h0, n0, h1, n1))
            score = evidence_of_difference(*numbers)[0] - math.log(len(terms))
            best = max(best, score)
    return best


@pytest.mark.parametrize("seed", range(12))
def test_no_conjunction_of_two_literals_is_better_than_the_one_found(seed):
    rng = random.Random(seed)
    rows = [(0, s, 0, 0) for s in STATES]
    for s in rng.sample(STATES, 11):
        draws = rng.randint(1, 12)
        rows[s] = (0, s, rng.randint(0, draws), draws)
    sample = counts_of(rows, WORDS)
    # With a threshold that nothing reaches, length does not matter.
    found = best_split(sample, NEVER)
    naive = best_by_looking(sample)
    if found is None:
        assert naive == -math.inf
    else:
        assert found.evidence >= naive - 1e-9
        if len(found.when.term) < 3:
            assert found.evidence == pytest.approx(naive)


def test_the_literal_behind_a_drop_is_found():
    split = best_split(trials(lambda s: 0.4 if s & 1 else 0.8), 5.0)
    assert split.when == Clause((literal("not p()"),))
    assert split.rows.rate.estimate > 0.5
    assert split.rows.rate.states == 8


def test_a_conjunction_is_named_where_one_literal_is_not_enough():
    split = best_split(trials(lambda s: 0.1 if s & 0b11 == 0b11 else 0.9), 5.0)
    assert str(split.when) == "unless p() and q()"


def test_equal_odds_give_no_split_that_reaches_the_threshold():
    for seed in range(20):
        split = best_split(trials(lambda s: 0.8, seed=seed), math.log(20))
        assert split is None or split.evidence < math.log(20)


def test_one_state_or_draws_that_all_agree_cannot_be_split():
    assert best_split(counts_of([], WORDS), 5.0) is None
    assert best_split(counts_of([(0, 0, 3, 5)], WORDS), 5.0) is None
    assert best_split(trials(lambda s: 1.0), 5.0) is None


def test_refining_keeps_the_states_where_the_event_is_frequent():
    clauses, kept = narrow_down(trials(lambda s: 0.9 * (s & 0b101 == 0b001)), 5.0, 5.0)
    terms = {str(x) for c in clauses for x in c.term}
    assert terms == {"p()", "not r()"}
    assert all(s & 0b101 == 0b001 for _, s in kept.pairs)


def test_a_single_literal_that_does_not_hold_is_said_by_its_opposite():
    assert Clause.of((literal("p()"),), holds=False) == Clause((literal("not p()"),))


def test_a_condition_needs_no_chance_and_one_draw_of_each_state_is_enough():
    words = Vocabulary.of_atoms("pqrstu")
    rows = [(0, state, int(state & 0b11 == 0b11), 1) for state in range(64)]
    clauses, kept = narrow_down(counts_of(rows, words), 5.0, 5.0)
    assert {str(x) for clause in clauses for x in clause.term} == {"p()", "q()"}
    assert kept.pooled == (16, 16)


def test_states_that_differ_without_a_reason_hardly_ever_give_a_condition():
    words = Vocabulary.of_atoms("pqrstu")
    found = 0
    for seed in range(40):
        rng = random.Random(seed)
        odds = {state: rng.betavariate(1, 1) for state in range(64)}
        rows = [(0, s, sum(rng.random() < odds[s] for _ in range(6)), 6) for s in odds]
        split = best_split(counts_of(rows, words), math.log(100))
        found += split is not None and split.evidence >= math.log(100)
    assert found <= 1


def test_the_interval_of_a_rate_makes_up_for_the_choice_of_the_condition():
    split = best_split(trials(lambda s: 0.4 if s & 1 else 0.8), 5.0)
    assert split.rows.selected_from > 1
    assert counts_of([(0, 0, 10, 20)], WORDS).selected_from == 1
