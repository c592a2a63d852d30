from capscope.logic import Intent
from capscope.model import StateGraph
from capscope_experiments.baselines.qace.compilation import compile_disjunctions, leave_uncompiled
from capscope_experiments.baselines.qace.model import Conjunction
from support.rule_worlds import bits, effect, everything_seen, rule_problem, when

EITHER = rule_problem(t=when("not t and (p and q or r and s)", (effect("t"), 1.0)))


def test_each_disjunct_of_a_rule_becomes_a_task_with_the_same_intent():
    graph = everything_seen(EITHER)
    compilation = compile_disjunctions(graph)
    terms = {task.within for task in compilation.tasks}
    not_t = bits("t")
    assert terms == {
        Conjunction(bits("pq") | not_t, bits("pq")),
        Conjunction(bits("rs") | not_t, bits("rs")),
    }
    assert {task.intent for task in compilation.tasks} == {Intent.parse("t")}
    assert compilation.capabilities == 1


def test_a_rule_that_changes_nothing_is_counted_and_not_passed_on():
    compilation = compile_disjunctions(everything_seen(EITHER))
    assert compilation.idle > 0
    assert compilation.disjuncts == len(compilation.tasks) + compilation.idle


def test_a_task_starts_where_no_single_flip_leads_into_another_disjunct():
    for task in compile_disjunctions(everything_seen(EITHER)).tasks:
        others = [b for b in compile_disjunctions(everything_seen(EITHER)).tasks if b != task]
        assert task.within.holds(task.start)
        for i in range(5):
            assert not any(other.within.holds(task.start ^ 1 << i) for other in others)


def test_an_uncompiled_capability_is_one_task_from_a_state_where_it_works():
    graph = everything_seen(EITHER)
    compilation = leave_uncompiled(graph)
    (task,) = compilation.tasks
    assert task.whole
    assert EITHER.truth.outcomes(task.start, task.intent) != {task.start: 1.0}
    assert compilation.disjuncts == compilation.capabilities == 1


def test_a_capability_that_was_never_executed_has_nothing_to_compile():
    graph = StateGraph(EITHER.vocabulary, [Intent.parse("t"), Intent.parse("p")])
    for compile_list in (compile_disjunctions, leave_uncompiled):
        compilation = compile_list(graph)
        assert compilation.capabilities == 2
        assert compilation.tried == compilation.tasks == ()
