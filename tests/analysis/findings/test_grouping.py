import random

from capscope.analysis.findings.grouping import (
    Ends,
    FindingCase,
    effect_signature,
    lifted,
    merged,
    roles_of,
    schema_of,
)
from capscope.analysis.findings.rate import Rate
from capscope.analysis.findings.splits import Clause
from capscope.symbolic import Effect, Intent, Literal, Predicate, Vocabulary

WORDS = Vocabulary(
    [Predicate("on", ("block", "block")), Predicate("lit")], dict.fromkeys("abc", "block")
)


CAPABILITIES = ("lit", "on(a,b)", "on(b,a)", "on(a,c)")
HIT, MISS = 1000, 1001


def case(intent, when, change, hits, state=0):
    pair = CAPABILITIES.index(intent), state
    ends = Ends({HIT: hits, MISS: 100 - hits}, frozenset({HIT}))
    return case_of(intent, when, change, {pair: ends}, {pair})


def case_of(intent, when, change, seen, pairs):
    return FindingCase(
        (Intent.parse(intent),),
        seen,
        frozenset(pairs),
        (Clause((Literal.parse(when),)),),
        (Literal.parse(change),),
        (),
    )


def test_intents_of_one_predicate_and_sign_share_a_schema():
    schemas = [schema_of(Intent.parse(t)) for t in ("on(a,b)", "on(b,c)", "on(a,a)", "not on(a,b)")]
    assert schemas[0] == schemas[1]
    assert len(set(schemas)) == 3


def test_roles_take_the_place_of_the_intents_objects():
    roles = roles_of(Intent.parse("on(a,b)"))
    assert lifted([Literal.parse("on(b,c)")], roles) == (("on", True, ("?1", "c")),)
    assert lifted([Literal.parse("on(b,c)")], roles, "*") == (("on", True, ("?1", "*")),)


def test_the_means_leave_out_the_intent_itself():
    intent = Intent.parse("on(a,b)")
    after = WORDS.literal_masks([Literal.parse("on(a,b)"), Literal.parse("lit")])[0]
    assert effect_signature(intent, Effect(after, 0), WORDS) == (("lit", True, ()),)


def test_cases_that_differ_only_in_objects_are_merged():
    cases = [
        case("on(a,b)", "on(b,a)", "lit", 50),
        case("on(b,a)", "on(a,b)", "lit", 55, state=1),
    ]
    (merged_case,) = merged(cases)
    assert [str(intent) for intent in merged_case.intents] == ["on(a,b)", "on(b,a)"]
    assert merged_case.rate == Rate(105, 200, 2)


def test_a_state_that_several_intents_share_counts_once():
    (merged_case,) = merged([case("on(a,b)", "lit", "lit", 50), case("on(a,c)", "lit", "lit", 50)])
    assert merged_case.rate == Rate(100, 200, 1)


def test_cases_whose_rates_differ_are_not_merged():
    assert len(merged([case("on(a,b)", "lit", "lit", 10), case("on(b,a)", "lit", "lit", 90)])) == 2


def test_cases_under_different_conditions_are_not_merged():
    assert (
        len(merged([case("on(a,b)", "lit", "lit", 9), case("on(b,a)", "not lit", "lit", 9)])) == 2
    )


def test_the_same_change_with_other_objects_is_similar():
    (merged_case,) = merged([case("lit", "lit", "on(a,b)", 50), case("lit", "lit", "on(b,c)", 50)])
    assert merged_case.similar
    assert [str(intent) for intent in merged_case.intents] == ["lit()"]


def test_a_draw_that_shows_either_of_two_changes_counts_once():
    counts = {1: 15, 2: 15, 3: 70}
    cases = [
        case_of("lit", "lit", change, {(0, 0): Ends(counts, frozenset({end}))}, {(0, 0)})
        for change, end in (("on(a,b)", 1), ("on(b,c)", 2))
    ]
    (merged_case,) = merged(cases)
    assert merged_case.rate == Rate(30, 100, 1)


def test_a_third_change_is_merged_although_two_are_likelier_than_one():
    counts = {1: 200, 2: 200, 3: 200, 4: 400}
    cases = [
        case_of("lit", "lit", change, {(0, 0): Ends(counts, frozenset({end}))}, {(0, 0)})
        for change, end in (("on(a,b)", 1), ("on(b,c)", 2), ("on(c,a)", 3))
    ]
    (merged_case,) = merged(cases)
    assert merged_case.rate == Rate(600, 1000, 1)


def test_an_end_that_shows_both_changes_is_one_hit():
    counts = {1: 10, 2: 10, 3: 30, 4: 50}
    shown = {"on(a,b)": {1, 3}, "on(b,c)": {2, 3}}
    cases = [
        case_of("lit", "lit", change, {(0, 0): Ends(counts, frozenset(ends))}, {(0, 0)})
        for change, ends in shown.items()
    ]
    (merged_case,) = merged(cases)
    assert merged_case.rate == Rate(50, 100, 1)


def test_a_merged_case_is_not_compared_with_its_own_states():
    seen = {
        (0, state): Ends({HIT: n, MISS: 50 - n}, frozenset({HIT}))
        for state, n in enumerate((20, 20, 10))
    }
    one = case_of("lit", "on(a,b)", "lit", seen, {(0, 0)})
    other = case_of("lit", "on(b,c)", "lit", {p: seen[p] for p in ((0, 1), (0, 2))}, {(0, 1)})
    (merged_case,) = merged([one, other])
    assert (merged_case.rate, merged_case.against) == (Rate(40, 100, 2), Rate(10, 50, 1))


def test_draws_are_counted_as_one_would_by_looking_at_each():
    rng = random.Random(7)
    together = 0
    for _ in range(50):
        # Each draw is (capability, state, end); each case says which ends show its change.
        draws = [(rng.randrange(4), rng.randrange(3), rng.randrange(5)) for _ in range(200)]
        cases, claims = [], []
        for change in ("on(a,b)", "on(b,c)", "on(c,a)"):
            ends = frozenset(rng.sample(range(5), 2))
            inside = set(rng.sample(range(3), 2))
            seen = {
                (0, s): Ends({e: draws.count((0, s, e)) for e in range(5)}, ends) for s in range(3)
            }
            cases.append(case_of("lit", "lit", change, seen, {(0, s) for s in inside}))
            claims.append((ends, inside))
        found = merged(cases)
        if len(found) > 1:
            continue
        together += 1
        states = set().union(*(inside for _, inside in claims))
        shown = set().union(*(ends for ends, _ in claims))
        within = [end for c, state, end in draws if c == 0 and state in states]
        without = [end for c, state, end in draws if c == 0 and state not in states]
        assert found[0].rate == Rate(sum(e in shown for e in within), len(within), len(states))
        expected = Rate(sum(e in shown for e in without), len(without), 3 - len(states))
        assert found[0].against == (expected if len(states) < 3 else None)
    assert together > 10
