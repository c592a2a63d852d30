"""The PPDDL export, read back by plado, by our own reader and by other tools."""

import itertools
import json
import random
import re
from fractions import Fraction
from types import SimpleNamespace

import pytest
from hypothesis import given, settings

from capscope import Budget, assess, load
from capscope.adapters.pddl import PddlSimulator, load_task
from capscope.errors import VocabularyError
from capscope.export.ppddl import ppddl_files
from capscope.export.rules import GroundModel, decimal_shares
from capscope.logic import Intent, Predicate, Vocabulary
from capscope.model import LearnedModel, StateGraph
from support.odd_names import BREAKOUT, ODD, odd_models, tossed_models
from support.rule_models import predicted_if_tried
from support.toy_worlds import Board, board_problem

plado = pytest.importorskip("plado.pddl")

from plado.parser.parser import LookaheadStreamer, parse_domain, parse_problem  # noqa: E402
from plado.parser.tokenizer import tokenize  # noqa: E402

COMMENT = re.compile(r'^  ; (".*"), rule (\d+)\n  ;.*\n  \(:action (\S+)$', re.MULTILINE)
RENAMED = re.compile(r'^;   (\w+) (\S+) is (".*")$', re.MULTILINE)


# The naive twin: the definition of PPDDL, on sets of facts.


def parsed(files):
    """Read both files with plado, and the comments as anyone would who only has the files."""
    domain = parse_domain(LookaheadStreamer(tokenize(files["domain.pddl"])))
    problem = parse_problem(LookaheadStreamer(tokenize(files["problem.pddl"])))
    renamed = {
        (kind, new): json.loads(old) for kind, new, old in RENAMED.findall(files["domain.pddl"])
    }
    return SimpleNamespace(
        domain=domain,
        problem=problem,
        old=lambda kind, name: renamed.get((kind, name), name),
        intent={name: json.loads(text) for text, _, name in COMMENT.findall(files["domain.pddl"])},
        actions={action.name: action for action in domain.actions},
    )


def fact(atom):
    return (str(atom.name), *(str(argument.name) for argument in atom.arguments))


def true(formula, facts):
    match formula:
        case plado.Atom():
            return fact(formula) in facts
        case plado.Negation():
            return not true(formula.sub_formula, facts)
        case plado.Conjunction():
            return all(true(part, facts) for part in formula.sub_formulas)
        case plado.Disjunction():
            return any(true(part, facts) for part in formula.sub_formulas)
    raise AssertionError(formula)


def changes(effect):
    """Return what an effect adds and deletes."""
    match effect:
        case plado.AtomEffect():
            return {fact(effect)}, set()
        case plado.NegativeEffect():
            return set(), {fact(effect.atom)}
        case plado.ConjunctiveEffect():
            parts = [changes(part) for part in effect.effects]
            return set().union(*(a for a, _ in parts)), set().union(*(d for _, d in parts))
    raise AssertionError(effect)


def successors(action, facts):
    effect = action.effect
    if isinstance(effect, plado.ProbabilisticEffect):
        outcomes = [(Fraction(o.probability.value_str), o.effect) for o in effect.outcomes]
    else:
        outcomes = [(Fraction(1), effect)]
    found = {}
    for probability, outcome in outcomes:
        adds, deletes = changes(outcome)
        after = frozenset(facts - deletes | adds)
        found[after] = found.get(after, 0) + probability
    return found


def facts_of(state, graph, read):
    """Name the facts of a state as the file does."""
    new = {}
    for predicate in read.domain.predicates:
        new["predicate", read.old("predicate", str(predicate.name))] = str(predicate.name)
    for constant in read.domain.constants:
        new["object", read.old("object", str(constant.name))] = str(constant.name)
    return frozenset(
        (new["predicate", atom.predicate], *(new["object", name] for name in atom.arguments))
        for atom in graph.vocabulary.holding(state)
    )


def check_same_model(model, files):
    read, graph = parsed(files), model.graph
    facts = {state: facts_of(state, graph, read) for state in GroundModel.of(model).states}
    assert len(set(facts.values())) == len(facts)
    assert set(read.intent) == set(read.actions) - {"do-nothing"}
    for state, intent in itertools.product(facts, graph.capabilities):
        expected = predicted_if_tried(model, state, intent)
        own = [read.actions[name] for name, text in read.intent.items() if text == str(intent)]
        found = [a for a in own if true(a.precondition, facts[state])]
        if not expected:
            assert not found
            continue
        (action,) = found
        after = successors(action, facts[state])
        assert sum(after.values()) == 1
        assert after.keys() == {facts[s] for s in expected}
        for s, probability in expected.items():
            assert abs(after[facts[s]] - Fraction(probability)) < Fraction(1, 10**9)
    began = graph.first_state
    initial = frozenset(map(fact, read.problem.initial))
    assert initial == (frozenset() if began is None else facts[began])


@given(odd_models())
@settings(max_examples=50)
def test_any_model_with_any_names_is_the_same_model_again(graph):
    model = LearnedModel.fitted(graph)
    check_same_model(model, ppddl_files(model, 'a "name"\n'))


def test_types_objects_and_arities_are_kept():
    graph = StateGraph(ODD, [])
    read = parsed(ppddl_files(LearnedModel.fitted(graph), "odd"))
    types = {read.old("type", t.name): read.old("type", t.parent_type_name)
             for t in read.domain.types}  # fmt: skip
    assert {k: v for k, v in types.items() if k != "object"} == ODD.parents
    declared = [t.name for t in read.domain.types]
    assert declared.index("thing") < declared.index("sm-rg-s")
    objects = {read.old("object", c.name): read.old("type", c.type_name)
               for c in read.domain.constants}  # fmt: skip
    assert objects == ODD.objects
    for predicate, known in zip(read.domain.predicates, ODD.predicates, strict=True):
        assert read.old("predicate", predicate.name) == known.name
        kinds = tuple(read.old("type", p.type_name) for p in predicate.parameters)
        assert kinds == known.types
    assert list(read.actions) == ["do-nothing"]


def test_no_name_gets_out_of_its_comment():
    text = ppddl_files(LearnedModel.fitted(StateGraph(ODD, [])), BREAKOUT)["domain.pddl"]
    assert "(:action evil" in text
    lines = [line for line in text.splitlines() if not line.lstrip().startswith(";")]
    assert [line for line in lines if ":action" in line] == ["  (:action do-nothing"]


def test_types_above_the_root_are_ignored():
    vocabulary = Vocabulary([Predicate("p", ("t",))], {"a": "t"}, {"t": "object", "object": "t"})
    assert (
        "  (:types\n    t - object\n  )\n"
        in ppddl_files(LearnedModel.fitted(StateGraph(vocabulary)), "round")["domain.pddl"]
    )


def test_objects_of_several_types_are_written_without_types():
    predicates = [Predicate("near", ("obstacle",)), Predicate("built", ("structure",))]
    graph = StateGraph(
        Vocabulary(predicates, {"tree": "obstacle", "table": ("obstacle", "structure")})
    )
    domain = parsed(ppddl_files(LearnedModel.fitted(graph), "garden")).domain
    assert [t.name for t in domain.types if t.name != "object"] == []
    assert {o.name: o.type_name for o in domain.constants} == {"tree": "object", "table": "object"}


def test_names_of_all_kinds_differ_for_parsers_with_one_namespace():
    vocabulary = Vocabulary.from_dict(
        {"predicates": [["robot", ["robot"]]], "objects": {"robot": "robot"}, "parents": {}}
    )
    text = ppddl_files(LearnedModel.fitted(StateGraph(vocabulary, [])), "one name")["domain.pddl"]
    assert "    robot-2 - robot-3\n" in text
    assert "    (robot ?x1 - robot-3)\n" in text


@pytest.fixture(scope="module")
def tireworld(tmp_path_factory):
    """A run with much chance in it, read back; its files, and the task they compile to."""
    path = tmp_path_factory.mktemp("tireworld")
    assess("tireworld", budget=Budget(executions=1500), run=path / "run")
    run = load(path / "run")
    return run.model, *compiled(ppddl_files(run.model, run.problem), path)


def compiled(files, path):
    (path / "domain.pddl").write_text(files["domain.pddl"])
    (path / "problem.pddl").write_text(files["problem.pddl"])
    return files, load_task(path / "domain.pddl", path / "problem.pddl")


def operators_of(task, files):
    intents = parsed(files).intent
    found = {}
    for operator in task.operators:
        found.setdefault(intents[operator.name.partition("(")[0]], []).append(operator)
    return found


def test_our_own_reader_gives_the_same_distributions(tireworld):
    model, files, task = tireworld
    graph = model.graph
    # Types and names are kept, so that the bits mean the same.
    assert task.vocabulary.atoms == graph.vocabulary.atoms
    assert task.initial_state == graph.first_state
    operators = operators_of(task, files)
    stochastic = 0
    for state, intent in itertools.product(graph.nodes, graph.capabilities):
        expected = predicted_if_tried(model, state, intent)
        own = [o for o in operators.get(str(intent), []) if o.applicable(state)]
        assert len(own) == bool(expected)
        if own:
            after = {s: p for p, s in own[0].outcomes(state)}
            assert after == pytest.approx(expected, abs=1e-9)
            stochastic += len(after) > 1
    assert stochastic > 10


def test_our_own_simulator_draws_from_the_same_distribution(tireworld):
    model, files, task = tireworld
    graph = model.graph
    simulator = PddlSimulator(task)
    place = next(p for p in graph.nodes.values() for pair in p.pairs if pair and not pair.only)
    capability = next(i for i, pair in enumerate(place.pairs) if pair and not pair.only)
    intent = graph.capabilities[capability]
    (operator,) = (o for o in operators_of(task, files)[str(intent)] if o.applicable(place.state))
    rng = random.Random(5)
    seen = {}
    for _ in range(4000):
        simulator.restore(simulator.snapshot_of(place.state), rng.getrandbits(32))
        after = simulator.step(operator)
        seen[after] = seen.get(after, 0) + 1 / 4000
    assert seen == pytest.approx(predicted_if_tried(model, place.state, intent), abs=0.03)


def test_an_exported_run_can_itself_be_assessed(tmp_path):
    found = assess(board_problem(Board(slip=0.3)), budget=Budget(executions=400))
    files, task = compiled(ppddl_files(found.model, "board"), tmp_path)
    check_same_model(found.model, files)
    assert len(task.operators) == sum(map(len, GroundModel.of(found.model).rules.values()))


@pytest.mark.parametrize("intents", [[], [Intent.parse("p")]])
def test_an_empty_run_is_valid(intents, tmp_path):
    graph = StateGraph(Vocabulary.of_atoms("pq"), intents)
    files, task = compiled(ppddl_files(LearnedModel.fitted(graph), "empty"), tmp_path)
    assert [(o.name, o.outcomes(0)) for o in task.operators] == [("do-nothing()", ((1.0, 0),))]
    assert "the initial state is unknown" in files["problem.pddl"]
    assert ":requirements :strips)" in files["domain.pddl"]


def test_a_goal_is_written_into_the_problem_and_must_be_of_the_vocabulary(tmp_path):
    model = LearnedModel.fitted(tossed_models())
    files, _ = compiled(ppddl_files(model, "toss", goal=Intent.parse("p and not q")), tmp_path)
    assert "(:goal (and (p) (not (q))))" in files["problem.pddl"]
    with pytest.raises(VocabularyError, match="atom z"):
        ppddl_files(model, "toss", goal=Intent.parse("z"))


def test_only_what_is_used_is_required():
    chance = ppddl_files(LearnedModel.fitted(tossed_models()), "toss")["domain.pddl"]
    assert ":negative-preconditions :probabilistic-effects)" in chance
    assert ":typing" not in chance


@pytest.mark.parametrize("counts", [[1], [2, 1], [1] * 7, [999_999, 1], [5, 5, 3, 1, 1, 1, 1]])
def test_shares_sum_to_one_and_have_a_negligible_error(counts):
    shares = list(map(Fraction, decimal_shares(counts)))
    assert sum(shares) == 1
    for share, count in zip(shares, counts, strict=True):
        assert share > 0
        assert abs(share - Fraction(count, sum(counts))) < Fraction(len(counts), 10**12)


# Readers of others, where they are installed. None of them but PDDLGym knows chance.


@pytest.mark.filterwarnings("ignore")
def test_pddlgym_reads_it(tireworld, tmp_path):
    reader = pytest.importorskip("pddlgym.parser", exc_type=ImportError)
    _, files, task = tireworld
    compiled(files, tmp_path)
    domain = reader.PDDLDomainParser(
        str(tmp_path / "domain.pddl"), expect_action_preds=False, operators_as_actions=True
    )
    names = domain.types, domain.predicates, domain.actions, domain.constants
    problem = reader.PDDLProblemParser(str(tmp_path / "problem.pddl"), domain.domain_name, *names)
    assert len(domain.operators) == len(task.operators)
    assert len(problem.initial_state) == task.initial_state.bit_count()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("package", ["pddl", "tarski", "unified_planning"])
def test_classical_planning_parsers_read_a_deterministic_model(package, tmp_path):
    pytest.importorskip(package)
    found = assess(board_problem(), budget=Budget(executions=100))
    _, task = compiled(ppddl_files(found.model, "board"), tmp_path)
    domain, problem = str(tmp_path / "domain.pddl"), str(tmp_path / "problem.pddl")
    if package == "pddl":
        from pddl import parse_domain as pddl_domain

        actions = pddl_domain(domain).actions
    elif package == "tarski":
        from tarski.io import PDDLReader

        reader = PDDLReader(raise_on_error=True)
        reader.parse_domain(domain)
        actions = reader.parse_instance(problem).actions
    else:
        from unified_planning.io import PDDLReader

        actions = PDDLReader().parse_problem(domain, problem).actions
    assert len(list(actions)) == len(task.operators)
