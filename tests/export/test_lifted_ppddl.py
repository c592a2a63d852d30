"""The lifted rules in PPDDL and PDDL: the same in the states seen, and usable with more objects."""

import re
from collections import deque
from itertools import product

import pytest

from capscope import Budget, Settings, assess
from capscope.adapters.pddl import load_task, shipped_files
from capscope.errors import CapscopeError
from capscope.export.lifted_ppddl import lifted_files
from capscope.insight.rule_wording import model_lines, used_behaviors
from capscope.logic import Intent, Predicate, Vocabulary
from capscope.model import LearnedModel, StateGraph
from capscope.model.lifted_rules import Consequence
from support.odd_names import BREAKOUT, ODD, ODD_INTENTS, taught

pytest.importorskip("plado.pddl")


def compiled(files, path, problem=None):
    (path / "domain.pddl").write_text(files["domain.pddl"])
    (path / "problem.pddl").write_text(problem or files["problem.pddl"])
    return load_task(path / "domain.pddl", path / "problem.pddl")


def learned(name, executions):
    return assess(name, settings=Settings(audit=0.0), budget=Budget(executions=executions))


@pytest.fixture(scope="module", params=[("blocksworld", 150), ("couriers", 300),
                                        ("tireworld", 400), ("minigrid-q", 300)])  # fmt: skip
def run(request):
    if request.param[0] == "minigrid-q":
        pytest.importorskip("minigrid")
    return learned(*request.param)


def translated(task, vocabulary):
    """Return functions from states of one vocabulary into the other; names were not changed."""
    assert set(task.vocabulary.bit) <= set(vocabulary.bit)
    there = {vocabulary.bit[atom]: bit for atom, bit in task.vocabulary.bit.items()}

    def into(state):
        return sum(bit for old, bit in there.items() if state & old)

    return into


def applicable(task, state, prefix):
    return {o.name: o for o in task.operators if o.name.startswith(prefix) and o.applicable(state)}


def test_a_rule_that_acts_is_an_action_with_its_outcomes(run, tmp_path):
    task = compiled(lifted_files(run.model, run.problem), tmp_path)
    vocabulary = run.graph.vocabulary
    into = translated(task, vocabulary)
    checked = 0
    for family in run.model.families:
        title = re.sub("[^a-z0-9-]+", "-", family.name.lower()).strip("-")
        for number, rule in enumerate(family.rules, 1):
            if rule.consequence is not Consequence.ACT or rule.capability is not None:
                continue
            for member, state in product(family.members, run.graph.nodes):
                binding = family.binding(member)
                effects = [e.at(binding, state, vocabulary) for e in rule.meant if e.count]
                applies = family.applying(member, state, vocabulary) == [number - 1]
                prefix = f"{title}--{number}({','.join(member.objects)}"
                own = applicable(task, into(state), prefix)
                if not applies or None in effects:
                    assert not own
                    continue
                (operator,) = own.values()
                expected = {into(effect.apply(state)) for effect in effects if effect}
                assert {after for _, after in operator.outcomes(into(state))} == expected
                checked += 1
    acting = [u for f in run.model.families for u in f.rules if u.consequence is Consequence.ACT]
    assert checked or not acting


def test_a_behavior_is_an_action_where_its_conditions_hold(run, tmp_path):
    task = compiled(lifted_files(run.model, run.problem), tmp_path)
    vocabulary = run.graph.vocabulary
    into = translated(task, vocabulary)
    for number, behavior in enumerate(used_behaviors(run.model), 1):
        for objects, state in product(behavior.seen, run.graph.nodes):
            binding = dict(zip(behavior.variables, objects, strict=True))
            holds = all(one.holds(binding, state, vocabulary) for one in behavior.when) and (
                not behavior.either
                or any(all(x.holds(binding, state, vocabulary) for x in path)
                       for path in behavior.either)
            )  # fmt: skip
            own = [o for name, o in applicable(task, into(state), f"b{number}-").items()
                   if name.partition("(")[2] == ",".join(objects) + ")"]  # fmt: skip
            assert len(own) == holds
            if own:
                after = {into(e.at(binding, state, vocabulary).apply(state))
                         for e in behavior.effects if e.count}  # fmt: skip
                assert {s for _, s in own[0].outcomes(into(state))} == after


def test_in_pddl_each_outcome_is_an_action_of_its_own(run, tmp_path):
    chances = compiled(lifted_files(run.model, run.problem), tmp_path)
    files = lifted_files(run.model, run.problem, determinized=True)
    assert "probabilistic" not in files["domain.pddl"]
    task = compiled(files, tmp_path)
    into = translated(task, chances.vocabulary)
    back = translated(chances, run.graph.vocabulary)
    for state in map(back, run.graph.nodes):
        by_chance = {s for o in chances.operators if o.applicable(state)
                     for _, s in o.outcomes(state)}  # fmt: skip
        sure = [o.outcomes(into(state)) for o in task.operators if o.applicable(into(state))]
        assert all(len(outcomes) == 1 for outcomes in sure)
        # Outcomes that were seen elsewhere only have no probability, and are possible here.
        assert {into(s) for s in by_chance} - {into(state)} <= {o[0][1] for o in sure}


def six_blocks():
    names = "a b c d e f"
    atoms = " ".join(f"(clear {x}) (ontable {x})" for x in names.split())
    return (
        "(define (problem six) (:domain {}) (:objects "
        f"{names} - block robot - {{}}) (:init {atoms} (handempty robot)) (:goal (and)))"
    )


def planned(task, goal):
    """Search breadth first; return the states on the way."""
    wanted = goal.test(task.vocabulary)
    before = {task.initial_state: None}
    pending = deque(before)
    while pending:
        state = pending.popleft()
        if wanted(state):
            path = [state]
            while before[path[-1]] is not None:
                path.append(before[path[-1]])
            return path[::-1]
        for operator in task.operators:
            if operator.applicable(state):
                for _, after in operator.outcomes(state):
                    if after not in before:
                        before[after] = state
                        pending.append(after)
    return None


@pytest.mark.parametrize("determinized", [False, True])
def test_the_rules_of_three_blocks_plan_for_six(determinized, tmp_path):
    run = learned("blocksworld", 150)
    files = lifted_files(run.model, run.problem, determinized=determinized)
    assert ":constants" not in files["domain.pddl"]
    problem = six_blocks().format("blocksworld-learned", "robot-2")
    task = compiled(files, tmp_path, problem)
    true_domain, _ = shipped_files("blocksworld")
    (tmp_path / "true.pddl").write_text(six_blocks().format("blocksworld", "robot"))
    truth = load_task(true_domain, tmp_path / "true.pddl")
    into = translated(truth, task.vocabulary)
    for goal, steps in (("on(a,b) and on(b,c)", 4), ("holding(f)", 1), ("on(f,a) and on(e,d)", 4)):
        path = planned(task, Intent.parse(goal))
        assert len(path) == steps + 1
        for before, after in zip(map(into, path), map(into, path[1:]), strict=False):
            possible = [o for o in truth.operators if o.applicable(before)]
            assert after in {s for o in possible for _, s in o.outcomes(before)}


def test_every_action_of_six_blocks_is_one_of_the_world(tmp_path):
    run = learned("blocksworld", 150)
    problem = six_blocks().format("blocksworld-learned", "robot-2")
    task = compiled(lifted_files(run.model, run.problem), tmp_path, problem)
    true_domain, _ = shipped_files("blocksworld")
    (tmp_path / "true.pddl").write_text(six_blocks().format("blocksworld", "robot"))
    truth = load_task(true_domain, tmp_path / "true.pddl")
    into = translated(truth, task.vocabulary)
    states, pending = {task.initial_state}, [task.initial_state]
    while pending and len(states) < 300:
        state = pending.pop(0)
        own = {s for o in task.operators if o.applicable(state) for _, s in o.outcomes(state)}
        true = {s for o in truth.operators if o.applicable(into(state))
                for _, s in o.outcomes(into(state))}  # fmt: skip
        assert set(map(into, own)) == true
        pending += own - states
        states |= own


def test_any_names_are_read_back(tmp_path):
    model = LearnedModel.fitted(taught(ODD, ODD_INTENTS, {(0, 0, 1): 3, (0, 2, 4): 2}))
    for determinized in (False, True):
        files = lifted_files(model, BREAKOUT, determinized=determinized)
        task = compiled(files, tmp_path)
        assert not any(o.name.startswith("evil") for o in task.operators)
        assert len(task.vocabulary.atoms) == len(ODD.atoms)


def test_a_run_without_executions_has_an_action_that_does_nothing(tmp_path):
    run = assess("blocksworld", budget=Budget(executions=0))
    task = compiled(lifted_files(run.model, run.problem), tmp_path)
    assert [o.name for o in task.operators] == ["do-nothing()"]


def test_the_goal_is_written_and_objects_of_several_types_are_refused(tmp_path):
    run = learned("blocksworld", 60)
    goal = Intent.parse("on(a,b) and not clear(c)")
    text = lifted_files(run.model, run.problem, goal)["problem.pddl"]
    assert "(:goal (and (not (clear c)) (on a b)))" in text
    predicates = [Predicate("near", ("obstacle",)), Predicate("built", ("structure",))]
    words = Vocabulary(predicates, {"tree": "obstacle", "table": ("obstacle", "structure")})
    graph = StateGraph(words, [Intent.parse("near(tree)")])
    graph.update({(0, 0, 1): 1})
    with pytest.raises(CapscopeError, match="--ground"):
        lifted_files(LearnedModel.fitted(graph), "garden")


def test_what_was_carried_over_is_printed_and_written_before_anything_is_tried(run):
    known = run.graph.vocabulary
    if known.combined_types or not used_behaviors(run.model):
        pytest.skip("nothing is done by behaviors")
    more = {f"more-{name}": kind for name, kind in known.objects.items()}
    larger = run.model.transfer(
        Vocabulary(known.predicates, {**known.objects, **more}, known.parents)
    )
    conditions = {(one.effects[0].changes, one.when) for one in used_behaviors(larger)}
    for behavior in used_behaviors(run.model):
        told = behavior.effects[0].changes, behavior.when
        assert behavior.only_seen or told in conditions
    for behavior in larger.behaviors:
        assert behavior.executions == 0
        assert sum(effect.probability for effect in behavior.effects) == pytest.approx(1.0)
    rules = {family.name: family.rules for family in run.model.families}
    for family in larger.families:
        own = any(rule.capability for rule in rules[family.name])
        assert family.rules or own or not rules[family.name]
    text = "\n".join(model_lines(larger, "run", every=True))
    assert "[not tried here]" in text and "[0 " not in text
    written = lifted_files(larger, "larger")["domain.pddl"]
    assert len(re.findall(r"\(:action b\d+-", written)) == len(used_behaviors(larger))
