"""The lifted rules say what the model predicts, in every state and of every capability."""

import random
from collections import Counter
from itertools import product

import pytest

from capscope import Budget, Settings, assess
from capscope.logic import Effect, Predicate, Vocabulary
from capscope.model.lifted_rules import Consequence, LiftedEffect, LiftedLiteral, _merged
from support.quirky_worlds import World
from support.quirky_worlds import problem as quirky_problem
from support.toy_worlds import WORDS, Board, Presser, Pressing, Seen, board_problem

BLOCKS = Vocabulary.from_dict(
    {
        "predicates": [["on", ["block", "block"]], ["clear", ["block"]]],
        "objects": {"a": "block", "b": "block", "z": "block"},
        "parents": {},
    }
)


class StubbornPressing(Pressing):
    """Presses the third switch while only the second is lit, whatever is asked for."""

    def act(self, observation):
        if observation & 0b110 == 0b010:
            self.done = True
            return "c"
        return None if getattr(self, "done", False) else super().act(observation)


class Stubborn(Presser):
    def begin(self, intent, seed):
        return StubbornPressing(intent)


class SeenWithPower(Seen):
    vocabulary = Vocabulary([*WORDS.predicates, Predicate("powered")], WORDS.objects)

    def __call__(self, observation):
        return super().__call__(observation) | self.vocabulary.bit_of("powered()")


def stubborn():
    return board_problem(Board(slip=0.2), Stubborn(), SeenWithPower())


LOCK_ACTIONS = {
    "turn": ("not open()", "turned()"),
    "turn back": ("turned() & not open()", "not turned()"),
    "pull": ("turned() & not jammed()", "open()"),
    "push": ("open()", "not open()"),
    "kick": ("not jammed() & not open()", "jammed()"),
    "oil": ("jammed()", "not jammed()"),
}
LOCK = World("lock", [("open",), ("turned",), ("jammed",)], {}, LOCK_ACTIONS, "")


def lock():
    """A world without objects, and an agent that gives up now and then."""
    return quirky_problem(LOCK, success=0.9)


WORLDS = {
    "blocksworld": 150,
    "couriers": 300,
    "tireworld": 400,
    "minigrid-q": 150,
    "stubborn": 200,
    "lock": 150,
}


@pytest.fixture(scope="module", params=WORLDS)
def run(request):
    made = {"stubborn": stubborn, "lock": lock}
    problem = made.get(request.param, lambda: request.param)()
    budget = Budget(executions=WORLDS[request.param])
    return assess(problem, settings=Settings(audit=0.0), budget=budget)


def pairs(run):
    model, vocabulary = run.model, run.graph.vocabulary
    for family in model.families:
        for member, state in product(family.members, run.graph.nodes):
            applying = family.applying(member, state, vocabulary)
            yield family, member, state, [family.rules[number] for number in applying]


def naive(literal, binding, state, vocabulary):
    """Try all objects for the further ones."""
    if literal.atoms[0][0] == "=":
        ((_, (role, name)),) = literal.atoms
        return (binding[role] == name) is literal.positive
    true = {(one.predicate, one.arguments) for one in vocabulary.holding(state)}
    places = []
    marked = []
    for predicate, arguments in literal.atoms:
        own = []
        for argument in arguments:
            if argument == "·":
                own.append(f"?{len(places)}")
            elif argument == "z" and len(literal.atoms) > 1:
                own.append("?z")
            else:
                own.append(binding.get(argument, argument))
            if own[-1].startswith("?") and own[-1] not in places:
                places.append(own[-1])
        marked.append((predicate, own))
    free = [name for name in vocabulary.objects if name not in binding.values()]
    found = any(
        all((p, tuple({**dict(zip(places, chosen, strict=True))}.get(a, a) for a in own)) in true
            for p, own in marked)
        for chosen in product(free, repeat=len(places))
    )  # fmt: skip
    return found is literal.positive


def test_exactly_one_rule_applies_to_each_pair(run):
    for family, member, state, rules in pairs(run):
        assert len(rules) == 1, (family.name, member)
        vocabulary, binding = run.graph.vocabulary, family.binding(member)
        for rule in family.rules:
            holds = all(naive(one, binding, state, vocabulary) for one in rule.when)
            assert (holds and rule.capability in (None, member)) is (rule is rules[0])


def test_what_a_rule_says_is_what_the_model_predicts(run):
    told = Counter()
    for family, member, state, (rule,) in pairs(run):
        predicted = set(run.model.predict_untried(state, member))
        if not predicted:
            continue
        vocabulary = run.graph.vocabulary
        if rule.consequence is Consequence.PURSUE:
            if member.holds(state, vocabulary):
                assert predicted == {state}
            told["pursue"] += 1
            continue
        effects = [one.at(family.binding(member), state, vocabulary) for one in rule.meant]
        meant = {effect.apply(state) for effect in effects if effect is not None}
        # Where a relation picks out no object, or several, nothing is said.
        meant = meant or {state}
        # An alternative may fail for some objects only.
        assert predicted in (meant, meant - {state}), (family.name, member)
        told[rule.consequence] += 1
    assert told


def test_a_rule_foresees_the_tried_pairs_of_which_it_would_predict_the_same_untried(run):
    found = Counter()
    for family, member, state, (rule,) in pairs(run):
        if run.graph.pair(state, run.graph.index[member]) is not None:
            ways = run.model.predict, run.model.predict_untried
            known, untried = (way(state, member).support.rule for way in ways)
            found[family.name, family.rules.index(rule)] += known == untried
    for family in run.model.families:
        for number, rule in enumerate(family.rules):
            assert rule.foreseen == found[family.name, number], (family.name, number)


def test_a_spread_is_that_of_the_predictions(run):
    shares = {}
    for family, member, state, (rule,) in pairs(run):
        if run.graph.pair(state, run.graph.index[member]) is None or rule.capability is not None:
            continue
        predicted = run.model.predict_untried(state, member)
        for place, effect in enumerate(rule.meant if predicted else ()):
            if effect.spread is not None:
                after = effect.at(family.binding(member), state, run.graph.vocabulary)
                if after is not None:
                    key = family.name, family.rules.index(rule), place
                    shares.setdefault(key, []).append(predicted.get(after.apply(state), 0.0))
    rules = [u for f in run.model.families for u in f.rules if u.capability is None]
    assert bool(shares) is any(u.foreseen for u in rules if u.consequence is Consequence.ACT)
    for (name, number, place), own in shares.items():
        effect = run.model.rules(name)[number].meant[place]
        assert effect.spread == pytest.approx((min(own), max(own)))


def test_counts_are_those_of_the_pairs_tried(run):
    seen = {}
    for family, member, state, (rule,) in pairs(run):
        pair = run.graph.pair(state, run.graph.index[member])
        if pair is not None:
            counts = seen.setdefault((family.name, family.rules.index(rule)), Counter())
            counts.update(pairs=1, executions=pair.total)
    for family in run.model.families:
        for number, rule in enumerate(family.rules):
            counts = seen[family.name, number]
            assert counts == {"pairs": rule.pairs, "executions": rule.executions}
            assert rule.foreseen <= rule.pairs
            meant = [effect for effect in rule.effects if effect.meant]
            if any(effect.count for effect in meant):
                assert sum(effect.probability for effect in meant) == pytest.approx(1)


def test_the_outcomes_of_a_behavior_are_those_of_its_executions(run):
    for behavior in run.model.behaviors:
        assert sum(effect.count for effect in behavior.effects) == behavior.executions
        assert set(behavior.telling) <= set(behavior.doubtful)
        assert behavior.seen


def test_agents_that_do_not_pursue_have_rules_that_act():
    run = assess(stubborn(), settings=Settings(audit=0.0), budget=Budget(executions=200))
    rules = [rule for family in run.model.families for rule in family.rules]
    assert any(rule.consequence is Consequence.ACT for rule in rules)


@pytest.mark.parametrize(
    ("atoms", "binding", "held", "expected"),
    [
        ((("on", ("·", "X")),), {"X": "a"}, ["on(b,a)"], True),
        ((("on", ("·", "X")),), {"X": "a", "Y": "b"}, ["on(b,a)"], False),
        ((("on", ("z", "X")), ("clear", ("z",))), {"X": "a"}, ["on(b,a)", "clear(z)"], False),
        ((("on", ("z", "X")), ("clear", ("z",))), {"X": "a"}, ["on(b,a)", "clear(b)"], True),
        ((("on", ("z", "a")),), {}, ["on(z,a)"], True),
        ((("on", ("z", "a")),), {}, ["on(b,a)"], False),
        ((("=", ("X", "a")),), {"X": "b"}, [], False),
    ],
)
def test_a_further_object_is_none_of_the_roles(atoms, binding, held, expected):
    state = BLOCKS.state(held)
    for positive in (True, False):
        literal = LiftedLiteral(atoms, positive)
        assert literal.holds(binding, state, BLOCKS) is (expected is positive)
        assert naive(literal, binding, state, BLOCKS) is (expected is positive)


def test_an_effect_of_two_further_objects_needs_two():
    below, above = (LiftedLiteral((("on", pair),)) for pair in (("X", "Y"), ("Z", "X")))
    changes = LiftedLiteral((("clear", ("Y",)),)), LiftedLiteral((("clear", ("Z",)),), False)
    effect = LiftedEffect(changes, (("Y", below), ("Z", above)), 1, 1.0)
    apart, same = BLOCKS.state(["on(a,b)", "on(z,a)"]), BLOCKS.state(["on(a,b)", "on(b,a)"])
    found = effect.at({"X": "a"}, apart, BLOCKS)
    assert found == Effect(BLOCKS.state(["clear(b)"]), BLOCKS.state(["clear(z)"]))
    assert effect.at({"X": "a"}, same, BLOCKS) is None


def test_alternatives_are_merged_into_equal_shorter_ones():
    rng = random.Random(0)
    names = "pqrs"
    for _ in range(200):
        paths = [
            tuple(LiftedLiteral(((name, ()),), rng.random() < 0.5) for name in names
                  if rng.random() < 0.7)
            for _ in range(rng.randrange(1, 7))
        ]  # fmt: skip
        merged = _merged(paths)
        for values in product((False, True), repeat=len(names)):
            known = dict(zip(names, values, strict=True))
            before, after = (
                any(all(known[one.atoms[0][0]] is one.positive for one in path) for path in some)
                for some in (paths, merged)
            )
            assert before is after
        assert sum(map(len, merged)) <= sum(map(len, paths))
