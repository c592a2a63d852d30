"""What executions were spent on, compared with counting them query by query."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from capscope.problem import Ending
from capscope.report.digest.learning import spending_parts
from support.small_runs import draw, execution, executions_of, run_in_memory

TRIPLES = st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 2))
QUERIES = st.lists(
    st.lists(st.lists(TRIPLES, max_size=5).map(lambda made: draw(*made)), max_size=3), max_size=6
)


def spent(queries, strategy):
    executions = run_in_memory(queries).executions
    return {part["name"]: part["executions"] for part in spending_parts(executions, strategy)}


def spent_on(draws, tried):
    """Count the executions of one query; `tried` are the pairs known before, and is updated."""
    pairs = [(attempt.trajectory[0], c) for one in draws for c, attempt in one.executions]
    new = set(pairs) - tried
    tried |= new
    if not new:
        return Counter({"nothing new to try": len(pairs)})
    of_new = sum(pair in new for pair in pairs)
    return Counter({
        "first tries": len(new),
        "repeats of first tries": of_new - len(new),
        "on the way": len(pairs) - of_new,
    })  # fmt: skip


@given(QUERIES)
def test_the_papers_strategies_spend_what_counting_query_by_query_gives(queries):
    tried = set()
    assert spent(queries, "mcqs-s") == sum((spent_on(q, tried) for q in queries), Counter())


@given(QUERIES)
def test_the_exhaustive_strategy_tries_checks_and_measures(queries):
    made = [one for _, one in executions_of(queries)]
    pairs = [(a.trajectory[0], c) for c, a in made]
    ends = {pair: set() for pair in pairs}
    for pair, (_, attempt) in zip(pairs, made, strict=True):
        ends[pair].add(attempt.trajectory[-1])
    varied = sum(len(ends[pair]) > 1 for pair in pairs) - sum(len(e) > 1 for e in ends.values())
    expected = {
        "first tries": len(ends),
        "checks": len(pairs) - len(ends) - varied,
        "measuring probabilities": varied,
    }
    assert spent(queries, "exhaustive") == {name: n for name, n in expected.items() if n}


def test_executions_that_were_cut_are_counted_separately_and_last():
    cut = execution(0, 0, 1, ending=Ending.CUT)
    queries = [[draw(cut, (0, 0, 1), (0, 0, 1), cut)]]
    assert list(spent(queries, "exhaustive").items()) == [
        ("first tries", 1), ("checks", 1), ("cut short", 2),
    ]  # fmt: skip
    assert spent(queries, "random") == {
        "first tries": 1, "repeats of first tries": 1, "cut short": 2,
    }  # fmt: skip


def test_a_run_without_executions_spent_nothing():
    assert spent([], "exhaustive") == spent([], "mcqs-e") == {}
