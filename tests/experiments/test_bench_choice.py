import pytest

from capscope import Budget, load
from capscope_experiments.bench import Section
from capscope_experiments.plan import CHOICES, BenchCase, case_for
from capscope_experiments.result_rows import read_rows
from capscope_experiments.suites import choice
from capscope_experiments.suites.choice import contributions, mean_agreements, measure_choice
from support.markdown_rows import cells
from support.tiny_bench import tiny_bench


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    case = case_for("choice", BenchCase("tireworld", sequences=20))
    return tiny_bench(tmp_path_factory.mktemp("choice"), cases=(case,), seeds=(0,))


@pytest.fixture(scope="module")
def section(bench):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(choice, "EXECUTIONS", (20, 60, 120))
        yield measure_choice(bench)


def test_every_choice_is_scored_by_both_models_after_the_same_executions(section, bench):
    rows = read_rows(bench.output / "choice.csv")
    assert {row["strategy"] for row in rows} == set(CHOICES)
    assert [row["executions"] for row in rows[:3]] == ["20", "60", "120"]
    assert all(int(row["made"]) <= int(row["executions"]) for row in rows)
    uniform = [row for row in rows if row["strategy"] == "uniform"]
    assert [row["made"] for row in uniform] == ["20", "60", "120"]
    assert all(0 <= float(row["table_changing_tv"]) <= 1 for row in rows)
    assert isinstance(section, Section)
    row = cells(section.body, "tireworld")
    assert all(row[choice].count("→") == 2 for choice in CHOICES)  # two models by two measures


def test_the_table_knows_the_pairs_of_the_first_executions_only(section, bench):
    # Every execution of this strategy tries a new pair: what it knows grows with each.
    rows = read_rows(bench.output / "choice.csv")
    known = [float(row["table_agreement"]) for row in rows if row["strategy"] == "uniform"]
    assert known == sorted(known) and known[0] < known[-1]
    run = next(bench.runs.glob("tireworld-uniform*"))
    assert load(run).usage.executions == 120


def test_a_smaller_budget_leaves_out_what_it_does_not_reach(tmp_path, monkeypatch):
    monkeypatch.setattr(choice, "EXECUTIONS", (10, 30))
    case = BenchCase("tireworld", ("uniform",), {"uniform": Budget(executions=10)}, sequences=20)
    measure_choice(tiny_bench(tmp_path, cases=(case,), seeds=(0,)))
    assert [r["executions"] for r in read_rows(tmp_path / "results" / "choice.csv")] == ["10"]


def row(problem, strategy, table, learned, executions=500):
    return {
        "problem": problem, "strategy": strategy, "seed": "0", "executions": str(executions),
        "table_agreement": str(table), "learned_agreement": str(learned),
    }  # fmt: skip


ROWS = [
    row("a", CHOICES[0], 0.2, 0.5),
    row("a", "uniform", 0.4, 0.7),
    row("a", "mcqs-s", 0.3, 0.25),
    row("b", CHOICES[0], 0.4, 0.7),
    row("b", "uniform", 0.6, 0.7),
    row("b", "mcqs-s", 0.5, 0.95),
    row("c", "uniform", 1.0, 1.0),
]


def test_the_sentences_say_what_questions_and_model_contribute():
    questions, model = contributions(ROWS).split(" **Model:** ")
    assert "over 2 problems from 0.300 to 0.500 (`uniform`) with the table" in questions
    assert "and from 0.600 to 0.700 (`uniform`) with the learned model." in questions
    assert "from 0.300 to 0.600 (`random, --draws 1`) and from 0.500 to 0.700" in model
    assert "the better of the two in 5 of 7 combinations" in model


def test_means_are_over_the_problems_that_have_every_choice():
    assert mean_agreements(ROWS, 500)["uniform", "table"] == pytest.approx(0.5)
    assert mean_agreements(ROWS, 100) == {}


def test_without_random_sequences_nothing_is_said():
    assert contributions([r for r in ROWS if r["strategy"] != CHOICES[0]]) == ""


def test_the_first_table_has_the_means(section):
    assert "→" in cells(section.body, "uniform")["60"]
