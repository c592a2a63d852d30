"""The learning curve, compared with counting everything again at each point."""

from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capscope.problem import Ending
from capscope.report.digest.learning import learning_curve
from support.small_runs import draw, execution, executions_of, run_in_memory

ENDINGS = st.sampled_from([Ending.STOPPED, Ending.STOPPED, Ending.CUT])
EXECUTIONS = st.builds(
    lambda before, c, after, ending: execution(before, c, after, ending=ending),
    st.integers(0, 2), st.integers(0, 1), st.integers(0, 2), ENDINGS,
)  # fmt: skip
QUERIES = st.lists(
    st.lists(st.lists(EXECUTIONS, max_size=6).map(lambda made: draw(*made)), max_size=3), max_size=6
)


def distributions(executions):
    """Return what each pair showed, as frequencies."""
    counts = defaultdict(Counter)
    for capability, attempt in executions:
        if attempt.ending is not Ending.CUT:
            counts[attempt.trajectory[0], capability][attempt.trajectory[-1]] += 1
    return {
        pair: {after: n / sum(seen.values()) for after, n in seen.items()}
        for pair, seen in counts.items()
    }


def agreement(known, final):
    """Compare pair by pair, an untried one at distance 1."""
    distance = 0.0
    for pair, truth in final.items():
        if pair not in known:
            distance += 1.0
            continue
        ends = truth.keys() | known[pair].keys()
        distance += sum(abs(truth.get(e, 0) - known[pair].get(e, 0)) for e in ends) / 2
    return 1 - distance / len(final) if final else 0.0


def naive_points(executions, stops):
    final = distributions(executions)
    for stop in stops:
        known = distributions(executions[:stop])
        states = {s for (s, _), ends in known.items() for s in (s, *ends)}
        yield (
            stop,
            pytest.approx(agreement(known, final), abs=1e-6),
            len(known),
            sum(map(len, known.values())),
            len(states),
        )


@given(QUERIES)
def test_the_curve_is_what_counting_again_at_each_point_gives(queries):
    executions = [made for _, made in executions_of(queries)]
    curve = learning_curve(run_in_memory(queries).executions)
    assert [point[0] for point in curve][-1:] == [len(executions)][: len(curve)]
    stops = [point[0] for point in curve]
    assert curve == list(naive_points(executions, stops))
    assert bool(curve) is bool(executions)


def test_a_long_run_has_about_sixty_points_many_of_them_early():
    made = draw(*[(n % 3, 0, (n + 1) % 3) for n in range(2000)])
    curve = learning_curve(run_in_memory([[made]]).executions)
    stops = [point[0] for point in curve]
    assert 50 <= len(stops) <= 62
    assert stops == sorted(set(stops))
    assert (stops[0], stops[-1]) == (1, 2000)
    assert sum(stop <= 200 for stop in stops) > 20
    assert sum(stop > 1000 for stop in stops) >= 12
    assert curve[-1][1] == 1.0
