import csv
import statistics
from dataclasses import replace
from functools import partial

import pytest

from capscope import Budget, load
from capscope.insight.evaluation.reference import enumerate_truth
from capscope.model import ExtremeModels
from capscope.problems import load_problem
from capscope_experiments.plan import BenchCase
from capscope_experiments.saved_runs import snapshots_of
from capscope_experiments.suites.reachability import (
    LENGTH,
    SEED,
    RouteCounts,
    RouteGrower,
    check_run,
    measure_reachability,
    pooled_spread,
    reachability,
)
from support.markdown_rows import cells, links
from support.tiny_bench import section_and_jobs, tiny_bench

SIZE = RouteCounts(routes=6, executions=4)
TIRES = BenchCase(
    "tireworld", ("mcqs-s", "exhaustive", "random"),
    {"exhaustive": Budget(executions=1000), "mcqs-s": Budget(executions=2)}, sequences=20,
)  # fmt: skip


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return tiny_bench(tmp_path_factory.mktemp("bench"), cases=(TIRES,))


@pytest.fixture(scope="module")
def section(bench):
    return measure_reachability(bench, SIZE)


@pytest.fixture(scope="module")
def every_run(section, bench):
    with (bench.output / "reachability.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_run_except_random_query_has_a_row_even_without_a_sequence(every_run):
    assert [(row["strategy"], row["seed"], row["routes"]) for row in every_run] == [
        ("exhaustive", "0", "limited doubt"), ("exhaustive", "1", "limited doubt"),
        ("mcqs-s", "0", "as printed"), ("mcqs-s", "0", "limited doubt"),
        ("mcqs-s", "1", "as printed"), ("mcqs-s", "1", "limited doubt"),
    ]  # fmt: skip
    for row in every_run:
        if row["routes"] == "as printed":
            # Of two executions one asked for what held: asked for again and again, it holds.
            assert (row["sequences"], row["consistent"], row["expected"]) == ("6", "1.0", "")
        elif row["strategy"] == "mcqs-s":  # knows two executions
            assert (row["sequences"], row["consistent"], row["deviation"]) == ("0", "", "")
        else:
            # Of the 600 attempts about 0.8 % reach full length, as the next test computes.
            assert 3 <= int(row["sequences"]) <= 6
            assert 0.5 < float(row["consistent"]) <= 1


def test_a_sequence_of_full_length_is_rare_in_tireworld_however_much_is_known():
    # Where the intents that do not hold yet soon cannot be achieved, a sequence ends.
    problem = load_problem("tireworld")
    truth = enumerate_truth(problem.truth)
    grower = RouteGrower(truth, problem.vocabulary)

    def grown(state, further):
        """Return the probability that this many capabilities more can be achieved."""
        chosen = grower.achievable(state)
        if not further or not chosen:
            return float(not further)
        return statistics.fmean(
            sum(p * grown(after, further - 1) for after, p in truth.predict(state, one).items())
            for one in chosen
        )

    full = [grown(state, LENGTH) for state in truth.states]
    assert (len(full), sum(share > 0 for share in full)) == (20, 1)
    assert statistics.fmean(full) == pytest.approx(0.008)


def test_the_table_pools_the_sequences_of_all_runs(section, every_run):
    row = cells(section.body, "tireworld", "exhaustive")
    shares = [float(run["consistent"]) for run in every_run if run["strategy"] == "exhaustive"]
    assert row["consistent"].split(" ± ")[0] == f"{statistics.fmean(shares):.1%}"
    sequences = sum(int(run["sequences"]) for run in every_run if run["strategy"] == "exhaustive")
    assert row["sequences (runs)"] == f"{sequences} (2)"
    nothing = cells(section.body, "tireworld", "mcqs-s", "limited doubt")
    assert nothing["consistent"] == "none offered"
    assert nothing["sequences (runs)"] == "0 (2)"


def test_pooling_the_runs_gives_the_spread_over_all_their_sequences():
    runs = [[0.5, 1.0, 0.9], [], [0.0], [0.7, 0.8]]
    rows = [
        {
            "sequences": str(len(shares)),
            "consistent": str(statistics.fmean(shares)) if shares else "",
            "deviation": str(statistics.pstdev(shares)) if shares else "",
        }
        for shares in runs
    ]
    everything = [share for shares in runs for share in shares]
    naive = statistics.fmean(everything), statistics.pstdev(everything)
    assert pooled_spread(rows) == pytest.approx(naive)


def test_the_papers_strategies_are_tested_as_printed_and_variants_have_rows_of_their_own(bench):
    tries = Budget(executions=2000)
    case = BenchCase("tireworld", ("mcqs-s", "mcqs-s, --paper"), {"mcqs-s": tries}, sequences=20)
    other = replace(bench, cases=(case,), seeds=(0,), runs=bench.runs.parent / "other")
    section = measure_reachability(replace(other, output=other.runs), SIZE)
    assert "earlier version" not in section.body
    for label in case.strategies:
        row = cells(section.body, "tireworld", label, "as printed")
        assert (row["expected"], row["sequences (runs)"]) == ("", "6 (1)")
        run = other.planned_run(case, label, 0)
        made, problem = load(other.runs / run.name), load_problem("tireworld")
        table = ExtremeModels(made.graph).pessimistic
        naive = reachability(problem, table, snapshots_of(made), SIZE, SEED, as_printed=True)
        assert row["consistent"].split(" ± ")[0] == f"{naive.mean:.1%}"
    assert cells(section.body, "tireworld", "mcqs-s", "limited doubt")
    assert not cells(section.body, "tireworld", "mcqs-s, --paper", "limited doubt")


def test_kept_rows_of_an_earlier_version_are_explained(bench, tmp_path):
    heads = "problem,strategy,seed,sequences,consistent,deviation,agreement"
    old = f"{heads}\ndepot,mcqs-s,0,100,0.9,0.1,0.97\n"
    (tmp_path / "reachability.csv").write_text(old)
    kept = measure_reachability(replace(bench, output=tmp_path, cases=(), keep=True))
    row = cells(kept.body, "depot", "mcqs-s")
    assert (row["consistent"], row["expected"]) == ("90.0% ± 10.0%", "")
    assert "Rows without *routes* are from an earlier version" in kept.body


def test_rows_come_in_the_order_of_the_strategies(section):
    assert section.body.index("| exhaustive |") < section.body.index("| mcqs-s |")
    assert "Rows without *routes*" not in section.body
    assert "random" not in section.body


def test_the_section_says_what_was_done_and_where_all_results_are(section, bench):
    assert section.title == "E3: reachability"
    text = " ".join(section.body.split())
    assert "For every run, 6 sequences of 5 capabilities are sampled" in text
    assert "agent executes each sequence 4 times" in text
    assert links(section.body) == list(section.files) == ["reachability.csv"]


def test_a_second_time_gives_the_same_result_with_the_saved_runs(section, bench):
    again, names = section_and_jobs(partial(measure_reachability, counts=SIZE), bench)
    assert again == section
    assert all(name.startswith("reachability of tireworld-") for name in names)
    assert len(names) == 4


def test_every_run_is_tested_by_itself(section, bench, every_run):
    run = bench.planned_run(TIRES, "exhaustive", 1)
    found = check_run(bench.runs / run.name, run, SIZE)["limited doubt"]
    assert str(found.mean) == every_run[1]["consistent"]
