import itertools
import random
from collections import Counter

import numpy as np
import pytest

from capscope.insight.earlier_findings.case import shortened
from capscope.insight.earlier_findings.context import FindingContext
from capscope.insight.earlier_findings.families import Family, Instance, Topic, overlap
from capscope.insight.earlier_findings.finding import Clause
from capscope.insight.earlier_findings.splits import EventCounts
from capscope.journal.execution_table import Transition
from capscope.logic import Atom, Literal
from support.tiny_models import learned

NAMES = tuple(map(Atom.parse, ("p()", "q()", "r()")))


def rows(bits, members=None):
    """One pair for each row of bits, drawn once."""
    bits = np.array(bits, dtype=bool)
    ones = np.ones(len(bits), dtype=np.int64)
    numbers = 0 * ones if members is None else np.array(members)
    return EventCounts(tuple((0, i) for i in range(len(bits))), ones, ones, NAMES, bits, numbers)


def holding(text):
    return Clause(tuple(map(Literal.parse, text.split(" and "))))


def test_what_follows_from_the_rest_of_a_condition_is_left_out_first_what_is_false():
    counts = rows([(1, 0, 0), (1, 0, 1), (0, 0, 1), (0, 1, 0)])
    assert shortened([holding("p and not q")], counts) == (holding("p"),)
    assert shortened([holding("not q"), holding("p and r")], counts) == (holding("p and r"),)
    assert shortened([holding("not p and not q")], counts) == (holding("not p and not q"),)


@pytest.mark.parametrize("seed", range(20))
def test_a_shortened_condition_covers_the_same_rows_and_nothing_more_can_be_left_out(seed):
    rng = random.Random(seed)
    counts = rows([[rng.random() < 0.4 for _ in NAMES] for _ in range(rng.randint(1, 8))])
    literals = [Literal(name, rng.random() < 0.5) for name in NAMES]
    unless = Clause(tuple(literals[1:]), holds=False)
    kept = shortened([Clause(tuple(literals)), unless], counts)

    def covered(clauses):
        return [
            all(
                all(row[NAMES.index(x.atom)] == x.positive for x in clause.term) == clause.holds
                for clause in clauses
            )
            for row in counts.bits.tolist()
        ]

    wanted = covered([Clause(tuple(literals)), unless])
    assert covered(kept) == wanted
    (positive,) = [c.term for c in kept if c.holds] or [()]
    for literal in positive:
        rest = tuple(x for x in positive if x != literal)
        others = [c for c in kept if not c.holds]
        assert covered([*others, Clause(rest)]) != wanted


def test_rows_of_the_same_pair_count_its_draws_once():
    counts = rows([(1, 0, 0), (0, 0, 0)], members=[0, 1])
    twice = EventCounts(
        ((0, 7), (0, 7)), np.array([4, 0]), np.array([4, 4]), NAMES, counts.bits, counts.members
    )
    assert (twice.rate.hits, twice.rate.executions, twice.rate.states) == (2, 4, 1)
    assert twice.rate.estimate == 0.5
    (left,) = twice.without(twice.where(np.array([True, False]))).members.tolist()
    assert left == 1


@pytest.mark.parametrize("caused", [*itertools.product((0, 2), (0, 4), (0, 6))])
def test_literals_of_a_family_overlap_as_often_as_one_execution_caused_them_together(caused):
    context = FindingContext(learned(Counter(Transition(0, 0, 1 | c) for c in caused)))
    family = Family(tuple(Instance(Topic(0, Literal(name, True)), {}) for name in NAMES[1:]))
    assert overlap(context, family) == max(1, *(c.bit_count() for c in caused))
