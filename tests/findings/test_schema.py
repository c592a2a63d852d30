from capscope.findings.schema import Case, effect_signature, lifted, merged, roles_of, schema_of
from capscope.findings.statistics import Rate
from capscope.findings.trials import Clause
from capscope.symbolic import Intent, Literal, Predicate, Vocabulary

WORDS = Vocabulary(
    [Predicate("on", ("block", "block")), Predicate("lit")], dict.fromkeys("abc", "block")
)


def case(intent, when, change, hits, state=0):
    return Case(
        (Intent.parse(intent),),
        Rate(hits, 100, 1),
        None,
        (Clause((Literal.parse(when),)),),
        (Literal.parse(change),),
        (),
        frozenset({(0, state)}),
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
    assert effect_signature(intent, 0, after, WORDS) == (("lit", True, ()),)


def test_cases_that_differ_in_objects_only_are_told_together():
    cases = [
        case("on(a,b)", "on(b,a)", "lit", 50),
        case("on(b,a)", "on(a,b)", "lit", 55, state=1),
    ]
    (told,) = merged(cases)
    assert [str(intent) for intent in told.intents] == ["on(a,b)", "on(b,a)"]
    assert told.rate == Rate(105, 200, 2)


def test_a_state_that_several_intents_share_counts_once():
    (told,) = merged([case("on(a,b)", "lit", "lit", 50), case("on(a,c)", "lit", "lit", 50)])
    assert told.rate == Rate(100, 200, 1)


def test_cases_whose_rates_differ_are_told_apart():
    assert len(merged([case("on(a,b)", "lit", "lit", 10), case("on(b,a)", "lit", "lit", 90)])) == 2


def test_cases_under_different_conditions_are_told_apart():
    assert (
        len(merged([case("on(a,b)", "lit", "lit", 9), case("on(b,a)", "not lit", "lit", 9)])) == 2
    )


def test_the_same_change_with_other_objects_is_the_like():
    (told,) = merged([case("lit", "lit", "on(a,b)", 50), case("lit", "lit", "on(b,c)", 50)])
    assert told.likewise
    assert [str(intent) for intent in told.intents] == ["lit()"]
