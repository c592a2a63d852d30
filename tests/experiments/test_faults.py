"""A few of the damaged files that the benchmarks make by the hundreds."""

from capscope_experiments.benchmarks import damaged_journals, mutated_domains


def test_damaged_journals_are_refused_or_answer_as_before():
    counts, _ = damaged_journals.measure(16, seed=1)
    assert counts.total() == 16
    assert damaged_journals.unacceptable(counts) == {}


def test_mutated_domains_are_loaded_or_refused():
    outcomes, _ = mutated_domains.measure(30, seed=1)
    assert outcomes.total() == 30
    assert set(outcomes) <= {"loaded", "refused"}
