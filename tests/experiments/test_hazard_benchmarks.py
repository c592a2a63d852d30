from capscope.problem import Hazard
from capscope_experiments.benchmarks import hazard_bounds, hazard_search


def test_a_named_hazard_is_found_and_what_cannot_happen_is_not():
    found = hazard_search.found_after(("gone(x)",), seed=0, executions=400)
    assert found is not None and found > len(hazard_search.STEPS)
    assert hazard_search.found_after(("gone(x)",), seed=0, executions=100, spill=0.0) is None


def test_the_bounds_are_compared_with_the_truth():
    problem, _ = hazard_search.kitchen(1.0, pots=hazard_bounds.POTS)
    hazard = Hazard.parse("gone(x)", problem.vocabulary)
    # Four of 12 capabilities in order; of at most four requests, one in ten scored is the fourth.
    assert hazard_bounds.rate_in_use(problem, hazard, 3) == 0.0
    four = hazard_bounds.rate_in_use(problem, hazard, 4)
    assert abs(four - 0.1 * 12**-4) < 1e-12
    (line,) = hazard_bounds.measure(2, 120)
    assert line.startswith("2 runs: 0 with a false statement {}; ")
