"""A few of the damaged files that the benchmarks make by the hundreds."""

from capscope_experiments.benchmarks import damaged_journals, hostile_runs, mutated_domains


def test_damaged_journals_are_refused_or_answer_as_before():
    counts, _ = damaged_journals.measure(16, seed=1)
    assert counts.total() == 16
    assert damaged_journals.unacceptable(counts) == {}


def test_mutated_domains_are_loaded_or_refused():
    outcomes, _ = mutated_domains.measure(30, seed=1)
    assert outcomes.total() == 30
    assert set(outcomes) <= {"loaded", "refused"}


def test_hostile_run_directories_are_read_or_refused_without_harm():
    some = [
        "run.json is a pipe",
        "a view that never ends",
        "a Python file by a relative path",
        "deeply nested JSON",
    ]
    results = hostile_runs.measure(some)
    assert [(result.name, result.problems) for result in results] == [(name, ()) for name in some]


def test_mutated_copies_of_a_run_change_no_answer():
    assert hostile_runs.measure_copies(6, seed=1) == 0
