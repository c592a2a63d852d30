"""Rules in words: short, in the reader's words, and true."""

import re

import pytest

from capscope import Budget, Settings, assess
from capscope.insight.rule_wording import (
    OTHERWISE,
    PURSUES,
    RuleWriter,
    family_lines,
    instance_lines,
    model_lines,
    states_tried,
    telling_families,
)
from capscope.logic import Predicate, Vocabulary
from capscope.model.lifted_rules import (
    Consequence,
    FamilyRules,
    LiftedBehavior,
    LiftedEffect,
    LiftedLiteral,
    LiftedRule,
)

BLOCKS = Vocabulary(
    [
        Predicate("on", ("block", "block"), "{0} is on {1}"),
        Predicate("clear", ("block",)),
        Predicate("handempty"),
    ],
    {"a": "block", "b": "block"},
)
WRITER = RuleWriter(BLOCKS)


def literal(*atoms, positive=True):
    return LiftedLiteral(tuple((name, tuple(arguments)) for name, arguments in atoms), positive)


CLEAR = literal(("clear", "X"))
ON = literal(("on", "XY"))


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (CLEAR, "clear(X)"),
        (literal(("handempty", ""), positive=False), "not handempty()"),
        (literal(("on", "XY"), positive=False), "X is not on Y"),
        (literal(("on", "·X")), "some z with z is on X"),
        (literal(("on", "··"), positive=False), "no z and x with z is on x"),
        (literal(("on", "zX"), ("clear", "z"), positive=False), "no z with z is on X and clear(z)"),
        (literal(("=", "Xa"), positive=False), "X is not a"),
    ],
)
def test_a_literal_in_words(said, text):
    assert WRITER.literal(said) == text


def test_no_object_has_the_name_of_a_further_one():
    words = Vocabulary([Predicate("on", ("b", "b"))], dict.fromkeys("zxy", "b"))
    assert RuleWriter(words).literal(literal(("on", "·z"))) == "some u with on(u,z)"


def test_outcomes_have_probabilities_and_further_objects_are_defined():
    where = (("Z", literal(("on", "XZ"))),)
    effects = (
        LiftedEffect((CLEAR, literal(("clear", "Z"))), where, 3, 0.75),
        LiftedEffect((), (), 1, 0.25),
        LiftedEffect((ON,), (), 0, 0.0),
        LiftedEffect((ON,), (), 5, 1.0, meant=False),
    )
    rule = LiftedRule((CLEAR,), Consequence.ACT, effects, 4, 3)
    family = FamilyRules("clear(X)", ("X",), (), (rule,))
    assert list(family_lines(family, WRITER)) == [
        "  clear(X)   (0 capabilities, 9 executions)",
        "    when clear(X):  [3 of 4 pairs]",
        "      0.75 (3 of 4)  clear(X), clear(Z); Z: the one with X is on Z",
        "      0.25 (1 of 4)  nothing changes",
        "      ?    (0 of 4, seen elsewhere)  X is on Y",
        "      seen besides: X is on Y (5)",
    ]


def test_only_doubts_about_the_objects_of_a_behavior_that_say_more_are_named():
    far = literal(("on", "·X"))
    behavior = LiftedBehavior(
        effects=(LiftedEffect((CLEAR,), (), 5, 1.0),),
        when=(ON, literal(("clear", "X"), positive=False)),
        doubtful=(literal(("clear", "Y")), far, literal(("handempty", ""))),
        executions=5,
        only_seen=True,
        variables=("X", "Y"),
        seen=(("a", "b"),),
        telling=(literal(("clear", "Y")), far),
    )
    assert list(WRITER.behavior(behavior).lines("")) == [
        "when X is on Y: clear(X)  [5 executions]",
        "  only with X = a, Y = b",
        "  seen only when clear(Y) (and 2 more literals)",
    ]


@pytest.fixture(scope="module", params=["couriers", "tireworld"])
def run(request):
    return assess(request.param, settings=Settings(audit=0.0), budget=Budget(executions=300))


def test_every_rule_is_told_once_and_pursuit_once_a_family(run):
    text = " ".join(" ".join(model_lines(run.model, "RUN", every=True)).split())
    rules = text.partition("rules of the families of requests:")[2]
    for family in run.model.families:
        assert f" {family.name}" in rules
    others = [u for f in telling_families(run.model) for u in f.rules
              if u.consequence is not Consequence.PURSUE]  # fmt: skip
    assert len(re.findall(r" when .*? pairs?\]", rules)) == len(others)
    mixed = [f for f in telling_families(run.model)
             if any(u.consequence is Consequence.PURSUE for u in f.rules)]  # fmt: skip
    assert rules.count(f"{OTHERWISE}: {PURSUES}") == len(mixed)
    pairs = sum(int(n.replace(",", "")) for n in re.findall(r"of ([\d,]+) pairs?\]", rules))
    assert pairs == run.graph.pairs_tried


def test_what_a_capability_showed_is_counted_under_the_rules_that_apply(run):
    for family in run.model.families:
        for member in family.members:
            index = run.graph.index[member]
            total = sum(
                pair.total for node in run.graph.nodes.values() if (pair := node.pairs[index])
            )
            lines = "\n".join(instance_lines(run.model, member))
            shown = re.findall(r"^    [+!-] ([\d,]+) of ([\d,]+)  ", lines, re.MULTILINE)
            if "other outcomes" not in lines:
                assert sum(int(count) for count, _ in shown) == total
            states = states_tried(run.model, family, member)
            assert sum(map(len, states.values())) == sum(
                node.pairs[index] is not None for node in run.graph.nodes.values()
            )


def test_what_a_behavior_needs_is_true_wherever_it_happened(run):
    graph, vocabulary = run.graph, run.graph.vocabulary
    for behavior in run.model.behaviors:
        (first, *_) = behavior.effects
        for objects in behavior.seen:
            binding = dict(zip(behavior.variables, objects, strict=True))
            for state, node in graph.nodes.items():
                effect = first.at(binding, state, vocabulary)
                showed = [p for p in node.pairs if p is not None and effect in p.counts]
                if showed and len(behavior.effects) == 1:
                    literals = (*behavior.when, *behavior.doubtful)
                    assert all(one.holds(binding, state, vocabulary) for one in literals)
