"""The tables, compared with the dataset, the model and the document."""

from collections import namedtuple

import pytest
from hypothesis import given, settings

from capscope import Budget, Settings, assess, load
from capscope.export.model_json import model_document
from capscope.export.tables import COLUMNS, csv_text, model_tables, run_tables
from capscope.logic import Intent, Vocabulary
from capscope.model import LearnedModel, StateGraph
from support.odd_names import ODD, odd_models, taught
from support.toy_worlds import Board, board_problem


def rows_of(table):
    """Return the rows of a table with their columns as fields."""
    return list(map(namedtuple("Row", table.columns)._make, table.rows))


SMALL = Settings(draws=3, random_length=6, walks=2, walk_steps=10, patience=3)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A loaded run and its first three tables as lists of rows."""
    path = tmp_path_factory.mktemp("kept") / "run"
    problem = board_problem(Board(slip=0.3))
    assess(problem, strategy="random", settings=SMALL, budget=Budget(executions=333), run=path)
    run = load(path)
    return run, *map(rows_of, run_tables(run)[:3])


def test_transitions_are_those_of_the_run(kept):
    run, transitions, _, _ = kept
    counts = {
        (hex(t.before), str(run.capabilities[t.capability]), hex(t.after)): n
        for t, n in run.executions.transitions().items()
    }
    assert {(row.before, row.capability, row.after): row.times for row in transitions} == counts
    assert len(transitions) == len(counts)


@given(odd_models())
@settings(max_examples=50)
def test_a_transition_has_the_probability_of_the_model(graph):
    model = LearnedModel.fitted(graph)
    transitions, rules = map(rows_of, model_tables(model))
    known = {(row.family, row.rule) for row in rules}
    for row in transitions:
        intent = next(i for i in graph.capabilities if str(i) == row.capability)
        before, after = int(row.before, 16), int(row.after, 16)
        pair = graph.pair(before, graph.index[intent])
        assert row.executions == pair.total
        assert row.share == row.times / row.executions
        assert row.held_before == intent.holds(before, ODD)
        assert row.holds_after == intent.holds(after, ODD)
        assert (row.family, row.rule) in known
        assert row.probability == model.predict(before, intent)[after]


def test_atoms_that_always_hold_are_omitted(kept):
    run, transitions, _, _ = kept
    vocabulary = run.graph.vocabulary
    for row in transitions:
        state = int(row.before, 16)
        named = Intent.parse(row.before_atoms).literals if row.before_atoms else ()
        assert vocabulary.state(literal.atom for literal in named) == state
    graph = taught(Vocabulary.of_atoms("pq"), [Intent.parse("p")], {(0b10, 0, 0b11): 1})
    (row,) = rows_of(model_tables(LearnedModel.fitted(graph))[0])
    assert (row.before_atoms, row.after_atoms, row.adds, row.deletes) == ("", "p()", "p()", "")


def test_rules_are_those_of_the_document():
    run = assess("tireworld", settings=Settings(audit=0.0), budget=Budget(executions=300))
    document = model_document(run.model, "tires")
    expected = [
        (
            family["name"], number, rule["consequence"], rule["pairs"], rule["foreseen"], place,
            effect["count"], effect["probability"], effect["meant"], len(effect["adds"]),
            len(effect["deletes"]), len(effect["where"]), bool(rule["when"]),
        )
        for family in document["families"]
        for number, rule in enumerate(family["rules"], 1)
        for place, effect in enumerate(rule["effects"], 1)
    ]  # fmt: skip
    rows = rows_of(model_tables(run.model)[1])

    def parts(text):
        return len(text.split(" and ")) if text else 0

    assert [
        (
            r.family, r.rule, r.consequence, r.pairs, r.foreseen, r.outcome, r.times,
            r.probability, r.meant, parts(r.adds), parts(r.deletes), parts(r.where), bool(r.when),
        )
        for r in rows
    ] == expected  # fmt: skip
    assert not any("not " in row.deletes.replace("not-", "") for row in rows)


def test_queries_add_up_to_the_usage_of_the_run(kept):
    run, _, _, queries = kept
    assert [row.number for row in queries] == list(range(run.usage.queries))
    for column in ("executions", "llm_tokens"):
        assert sum(getattr(row, column) for row in queries) == getattr(run.usage, column)
    walked = run.meta.discovery_steps
    assert sum(row.simulator_steps for row in queries) == run.usage.simulator_steps - walked
    assert sum(row.seconds for row in queries) == pytest.approx(run.usage.seconds)
    assert sum(row.new_pairs for row in queries) == run.graph.pairs_tried
    assert queries[0].start == hex(run.graph.first_state)


def test_an_empty_run_has_empty_tables(tmp_path):
    assess(board_problem(), settings=SMALL, budget=Budget(executions=0), run=tmp_path / "run")
    run = load(tmp_path / "run")
    *tables, success = run_tables(run)
    assert [(t.name, [*t.rows]) for t in tables] == [
        ("transitions", []),
        ("rules", []),
        ("queries", []),
    ]
    # Nothing was asked, so no rate is known: the cell is empty.
    assert csv_text(success).splitlines()[1] == "lit(a),,0.0,1.0,0,0,1"
    assert all(csv_text(t) == ",".join(COLUMNS[t.name]) + "\r\n" for t in run_tables(run)[:3])


def test_lone_surrogates_are_escaped():
    graph = StateGraph(Vocabulary.of_atoms(["\ud800"]), [Intent.parse("\ud800")])
    graph.update({(0, 0, 1): 1})
    (row,) = rows_of(model_tables(LearnedModel.fitted(graph))[0])
    assert row.capability == "\\ud800()"
