"""Each mistake in a file is reported in one line, with the file and the line it is on."""

import os
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capscope.adapters.pddl import load_task
from capscope.errors import ProblemError

DOMAIN = """\
(define (domain lamps)
  (:requirements :typing :probabilistic-effects)
  (:types lamp room - object table - lamp)
  (:predicates (lit ?l - lamp) (in ?l - lamp ?r - room) (dark))
  (:functions (total-cost) (bill ?l - lamp))
  (:action light
    :parameters (?l - lamp ?r - room)
    :precondition (and (in ?l ?r) (not (lit ?l)))
    :effect (and
      (increase (total-cost) 1)
      (probabilistic
        0.5 (lit ?l)
        0.25 (dark)))))
"""
PROBLEM = """\
(define (problem evening)
  (:domain lamps)
  (:objects desk - table hall - room)
  (:init (in desk hall)
         (= (total-cost) 0))
  (:goal (lit desk)))
"""


@pytest.fixture
def load(tmp_path):
    def write_and_load(domain: str = DOMAIN, problem: str = PROBLEM):
        (tmp_path / "domain.pddl").write_text(domain, encoding="utf-8")
        (tmp_path / "problem.pddl").write_text(problem, encoding="utf-8")
        return load_task(tmp_path / "domain.pddl", tmp_path / "problem.pddl")

    return write_and_load


def test_the_text_without_a_mistake_is_read(load):
    task = load()
    assert [operator.name for operator in task.operators] == ["light(desk,hall)"]
    assert task.name == "evening"


DOMAIN_MISTAKES = {
    "undeclared predicate": ("(not (lit ?l))", "(not (lid ?l))", 8, "predicate lid is not decl"),
    "predicate in effect": ("0.25 (dark)", "0.25 (dork)", 13, "predicate dork is not declared"),
    "wrong arity": ("(in ?l ?r)", "(in ?l)", 8, "predicate in takes 2 arguments, not 1"),
    "undeclared type": ("?r - room)\n", "?r - rom)\n", 7, "undeclared type rom"),
    "type of a predicate": ("(lit ?l - lamp)", "(lit ?l - lump)", 4, "undeclared type lump"),
    "undeclared variable": ("0.5 (lit ?l)", "0.5 (lit ?k)", 12, r"variable \?k is not declared"),
    "undeclared constant": ("0.5 (lit ?l)", "0.5 (lit hall)", 12, "object hall is not declared"),
    "wrong type": ("0.5 (lit ?l)", "0.5 (lit ?r)", 12, r"\?r is of type room"),
    "type circle": ("lamp room - object", "lamp - table room", 3, "its own ancestor"),
    "type twice": ("lamp room -", "lamp lamp room -", 3, "type lamp is declared twice"),
    "predicate twice": ("(dark))\n  (:f", "(dark) (dark))\n  (:f", 4, "dark is declared twice"),
    "parameter twice": ("(?l - lamp ?r", "(?l - lamp ?l", 7, r"parameter \?l is declared twice"),
    "sum above one": ("0.25", "0.75", 13, "sum to 1.25"),
    "negative probability": ("0.25", "-0.25", 13, "probability -0.25 is negative"),
    "not a number": ("0.25", "0.2.5", 13, "'0.2.5' is not a number"),
    "number in condition": ("(in ?l ?r)", "(> (bill ?l) 3)", 8, "numbers in a condition"),
    "number equals": ("(in ?l ?r)", "(= (bill ?l) 3)", 8, "numbers in a condition"),
    "undeclared function": ("(total-cost) 1)", "(debt) 1)", 10, "function debt is not declared"),
    "requirement": (":typing ", ":non-deterministic ", 2, ":non-deterministic is not supported"),
    "near requirement": (":typing ", ":typing2 ", 2, "requirement :typing2 is not supported"),
    "derived predicate": (
        "(:action",
        "(:derived (dark) (dark))\n(:action",
        6,
        "derived predicates",
    ),
    "unknown section": ("(:functions", "(:function", 5, "':function'"),
    "bad name": ("(dark))\n  (:f", "(da,rk))\n  (:f", 4, "'da,rk' is not a name"),
    "bad character": ("(in ?l ?r)", "(in ?l %r)", 8, "cannot read '%r'"),
    "bad formula": ("(not (lit ?l))", "(not lit)", 8, "unexpected 'lit'"),
    "bad effect": ("0.25 (dark)", "(dark)", 13, "unexpected '[(]'"),
    "bracket missing": ("(dark)))))", "(dark))))", 13, "ends too early"),
    "bracket too many": ("(dark)))))", "(dark)))))\n)", 14, "after the end of the definition"),
    "no effect": (DOMAIN[DOMAIN.index("    :effect") :], "))", 9, "no effect specified|unexpected"),
}


@pytest.mark.parametrize("mistake", DOMAIN_MISTAKES)
def test_a_mistake_in_the_domain_names_file_and_line(load, mistake):
    right, wrong, line, message = DOMAIN_MISTAKES[mistake]
    assert DOMAIN.count(right) == 1
    with pytest.raises(ProblemError) as caught:
        load(domain=DOMAIN.replace(right, wrong))
    text = str(caught.value)
    assert re.search(rf"domain\.pddl:{line}: .*({message}).*; \S", text), text
    assert "\n" not in text


PROBLEM_MISTAKES = {
    "other domain": (
        "(:domain lamps)",
        "(:domain lumps)",
        2,
        "belongs to domain lumps, not to lamps",
    ),
    "undeclared object": ("(in desk hall)", "(in dusk hall)", 4, "object dusk is not declared"),
    "undeclared predicate": ("(in desk hall)", "(at desk hall)", 4, "predicate at is not declared"),
    "wrong arity": ("(in desk hall)", "(in desk)", 4, "takes 2 arguments, not 1"),
    "wrong type": ("(in desk hall)", "(in hall hall)", 4, "hall is of type room"),
    "undeclared type": ("hall - room", "hall - roam", 3, "undeclared type roam"),
    "object twice": ("hall - room", "hall hall - room", 3, "object hall is declared twice"),
    "goal": ("(lit desk)", "(lid desk)", 6, "predicate lid is not declared"),
    "number of what": ("(= (total-cost) 0)", "(= (cost) 0)", 5, "function cost is not declared"),
    "negative fact": ("(in desk hall)", "(not (in desk hall))", 4, "unexpected 'not'"),
    "no goal": ("  (:goal (lit desk))", "", 6, "no goal"),
    "bracket missing": ("(lit desk)))", "(lit desk))", 6, "ends too early"),
    "a domain": ("(problem evening)", "(domain evening)", 1, "unexpected 'domain'"),
}


@pytest.mark.parametrize("mistake", PROBLEM_MISTAKES)
def test_a_mistake_in_the_problem_names_file_and_line(load, mistake):
    right, wrong, line, message = PROBLEM_MISTAKES[mistake]
    assert PROBLEM.count(right) == 1
    with pytest.raises(ProblemError) as caught:
        load(problem=PROBLEM.replace(right, wrong))
    text = str(caught.value)
    assert re.search(rf"problem\.pddl:{line}: .*({message}).*; \S", text), text


@pytest.mark.parametrize("content", ["", "\n\n", "; only a remark\n"])
def test_an_empty_file_is_reported(load, content):
    with pytest.raises(ProblemError, match=r"domain\.pddl:1: the file is empty; write"):
        load(domain=content)


def test_a_missing_file_is_reported(tmp_path):
    with pytest.raises(ProblemError, match=r"none\.pddl: cannot be read .*; check the path"):
        load_task(tmp_path / "none.pddl", tmp_path / "none.pddl")


def test_a_directory_is_reported(tmp_path):
    with pytest.raises(ProblemError, match=r"cannot be read .*; check the path"):
        load_task(tmp_path, tmp_path)


def test_a_file_that_is_not_utf_8_is_reported_with_the_line_of_the_first_bad_byte(tmp_path):
    (tmp_path / "domain.pddl").write_bytes(b"(define\n; \xff\n")
    with pytest.raises(ProblemError, match=r"domain\.pddl:2: the text is not UTF-8; save"):
        load_task(tmp_path / "domain.pddl", tmp_path / "domain.pddl")


@pytest.mark.parametrize("depth", [100, 350, 100_000])
def test_deep_nesting_is_read_or_reported(load, depth):
    deep = DOMAIN.replace("(not (lit ?l))", "(and " * depth + ")" * depth)
    try:
        load(domain=deep)
    except ProblemError as error:
        assert re.search(r"domain\.pddl:\d+: .*nested too deeply; nest", str(error))
        assert depth > 100


TOKENS = ["(", ")", "?l", "lit", "-", "=", "not", "0.5", ":init", "either", "$", "\n", ";", "\0"]


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), in_domain=st.booleans())
def test_a_file_with_a_random_edit_is_read_or_reported(load, data, in_domain):
    text = DOMAIN if in_domain else PROBLEM
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(start + 12, len(text))))
    edited = text[:start] + data.draw(st.sampled_from(["", *TOKENS])) + text[end:]
    try:
        load(domain=edited) if in_domain else load(problem=edited)
    except ProblemError as error:
        assert re.search(r"(domain|problem)\.pddl:\d+: .+; .+", str(error))


def test_a_condition_with_too_many_terms_is_reported(load):
    lamps = " ".join(f"l{i}" for i in range(20))
    condition = "(forall (?k - lamp) (or (lit ?k) (and (dark) (not (lit ?k))) (burnt ?k)))"
    domain = DOMAIN.replace("(dark))\n", "(dark) (burnt ?l - lamp))\n", 1)
    domain = domain.replace("(not (lit ?l))", condition).replace("0.5 (lit ?l)", "0.5 (burnt ?l)")
    domain = domain.replace("0.25 (dark)", "0.25 (and (dark) (lit ?l))")
    with pytest.raises(ProblemError, match=r"domain\.pddl:6: .*more than 4096 terms"):
        load(domain=domain, problem=PROBLEM.replace("desk - table", f"desk - table {lamps} - lamp"))


PARAMETERS = " ".join(f"?x{i}" for i in range(12))
OBJECTS = " ".join(f"o{i}" for i in range(8))
EXPLODING = {
    "twelve parameters": f":parameters ({PARAMETERS}) :effect (q ?x0)",
    "twelve variables": f":parameters (?x) :precondition (forall ({PARAMETERS}) (q ?x0)) "
    ":effect (q ?x)",
    "an absurd exponent": ":parameters (?x) :effect (probabilistic 0.5e-99999999 (q ?x))",
    "a number of many digits": f":parameters (?x) :effect (probabilistic 0.{'5' * 5000} (q ?x))",
    "a long name": f":parameters (?{'x' * 5000}) :effect (q ?x)",
}


@pytest.mark.parametrize("action", EXPLODING.values(), ids=EXPLODING)
def test_what_would_explode_is_refused(tmp_path, monkeypatch, action):
    monkeypatch.setattr("capscope.adapters.pddl.grounding.MOST_WORK", 20_000)
    assert "domain.pddl:" in _refused(tmp_path, f"(:predicates (q ?x)) (:action a {action})")


def test_predicates_of_many_arguments_are_refused(tmp_path):
    text = f"(:predicates (q ?x) (r {PARAMETERS})) (:action a :parameters (?x) :effect (q ?x))"
    assert "with 12 arguments gives more than 20,000 atoms" in _refused(tmp_path, text)


def test_a_pipe_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ProblemError, match="not a regular file"):
        load_task(tmp_path / "pipe", tmp_path / "pipe")


def _refused(folder, content):
    domain, problem = folder / "domain.pddl", folder / "problem.pddl"
    domain.write_text(f"(define (domain d) (:requirements :adl :probabilistic-effects) {content})")
    problem.write_text(
        f"(define (problem p) (:domain d) (:objects {OBJECTS}) (:init) (:goal (q o0)))"
    )
    with pytest.raises(ProblemError) as refused:
        load_task(domain, problem)
    return str(refused.value)
