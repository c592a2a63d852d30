import numpy as np
import pytest

from capscope import Predicate, Vocabulary
from capscope.insight.conditions import (
    LiftedFeatures,
    TermScope,
    find_condition,
    striking_condition,
)
from capscope.logic import Atom
from capscope_experiments.benchmarks.conditions import (
    NONE,
    PLANTED,
    WORDS,
    executions,
    rate,
    told,
)


def literals(text):
    return sorted(text.split(" and "))


@pytest.mark.parametrize("name", PLANTED)
@pytest.mark.parametrize("seed", [100, 101])
def test_a_planted_condition_is_told_and_no_other(name, seed):
    wanted, condition, inside, outside = PLANTED[name]
    *_, (_, text) = told(rate(condition, inside, outside), seed)
    assert literals(text) == literals(wanted)


@pytest.mark.parametrize("name", [name for name in NONE if name != "mails differ"])
@pytest.mark.parametrize("seed", [100, 101])
def test_where_nothing_matters_no_condition_is_told(name, seed):
    assert not any(text for _, text in told(NONE[name](seed), seed, 0.5))


@pytest.mark.parametrize("seed", range(100, 104))
def test_mails_that_differ_are_told_by_name(seed):
    texts = {text for _, text in told(NONE["mails differ"](seed), seed) if text}
    assert all("=" in literal for text in texts for literal in literals(text))


@pytest.mark.parametrize("name", PLANTED)
def test_the_counts_are_those_inside_and_outside(name):
    _, condition, inside, outside = PLANTED[name]
    states, mails, hits = executions(rate(condition, inside, outside), 640, 7)
    found = find_condition(LiftedFeatures.of(WORDS, states, mails), hits)
    within = [condition(s, m) for s, (m,) in zip(states, mails, strict=True)]
    assert found.inside.tolist() == within
    pairs = list(zip(within, hits.tolist(), strict=True))
    assert found.counts == (pairs.count((True, True)), within.count(True))
    assert found.counts_outside == (pairs.count((False, True)), within.count(False))


def test_what_always_happens_has_no_condition_and_what_never_does_none_at_all():
    states, mails, hits = executions(lambda state, mail: 1.0, 16, 0)
    features = LiftedFeatures.of(WORDS, states, mails)
    always = find_condition(features, hits)
    assert always.when == () and always.counts == (16, 16)
    assert find_condition(features, ~hits) is None


def test_what_held_whenever_it_happened_is_striking_until_it_happens_without():
    def starred(state, mail):
        return bool(state & WORDS.bit_of(Atom("starred", (mail,))))

    states, mails, _ = executions(lambda state, mail: 1.0, 60, 3)
    features = LiftedFeatures.of(WORDS, states, mails)
    inside = np.array([starred(s, m) for s, (m,) in zip(states, mails, strict=True)])
    hits = inside & (np.arange(60) % 2 > 0)
    (literal,) = striking_condition(features, hits)
    assert str(literal) == "starred(x)"
    hits[np.flatnonzero(~inside)[0]] = True
    assert "starred(x)" not in map(str, striking_condition(features, hits))
    assert striking_condition(features, np.zeros(60, dtype=bool)) == ()
    assert striking_condition(features, np.ones(60, dtype=bool)) == ()


def test_the_rows_of_several_forms_have_the_states_that_they_share():
    states, mails, _ = executions(lambda state, mail: 0.5, 40, 5)
    numbers = np.array([sorted(set(states)).index(state) for state in states])
    whole = LiftedFeatures.of(WORDS, states, mails, numbers)
    parts = [
        LiftedFeatures.of(WORDS, states[own], mails[own], numbers[own])
        for own in (slice(20), slice(20, None))
    ]
    together = LiftedFeatures.joined(parts)
    assert together.states.tolist() == numbers.tolist()
    shared = [whole.literals.index(literal) for literal in together.literals]
    assert (together.values == whole.values[:, shared]).all()


CRATES = Vocabulary(
    [Predicate("heavy", ("crate",)), Predicate("on", ("crate", "shelf")), Predicate("open")],
    dict.fromkeys(("a", "b", "c"), "crate") | dict.fromkeys(("low", "top"), "shelf"),
)


def state_of(*names):
    bits = {str(atom): CRATES.bit[atom] for atom in CRATES.atoms}
    return sum(bits[name] for name in names)


def test_what_the_executions_cannot_tell_apart_is_one_choice():
    states = [state_of("heavy(c)", *(["open()"] if i % 2 else [])) for i in range(60)]
    bindings = [("abc"[i % 3],) for i in range(60)]
    hits = np.array([name == "c" for (name,) in bindings])
    found = find_condition(LiftedFeatures.of(CRATES, states, bindings), hits)
    assert list(map(str, found.when)) == ["heavy(x)"]
    assert "x = c" in list(map(str, found.equivalents[0]))
    assert "not heavy(another crate)" in list(map(str, found.equivalents[0]))


def test_literals_are_written_with_the_variables_of_the_request():
    states = [state_of("on(a,low)"), state_of("on(b,top)", "heavy(b)", "open()"), state_of()]
    bindings = [("a",), ("a",), ("b",)]
    features = LiftedFeatures.of(CRATES, states, bindings)
    by_scope = {scope: set() for scope in TermScope}
    for scope, literal in zip(features.scopes, features.literals, strict=True):
        by_scope[scope].add(str(literal))
    assert by_scope[TermScope.REQUEST] == {"open()"}
    assert by_scope[TermScope.CONSTANT] == {"x = a", "x = b"}
    assert by_scope[TermScope.RELATED] == {"on(x,some shelf)"}
    assert {"heavy(another crate)", "on(another crate,some shelf)"} < by_scope[TermScope.BYSTANDER]
    assert "on(a,low)" in by_scope[TermScope.BYSTANDER]
    holding = {
        str(literal): values.tolist()
        for literal, values in zip(features.literals, features.values.T, strict=True)
    }
    assert holding["heavy(another crate)"] == [False, True, False]
    assert holding["on(x,some shelf)"] == [True, False, False]
