from dataclasses import replace

import pytest

from capscope.errors import CapscopeError
from capscope_experiments.curve import Curve, Point, Shares
from capscope_experiments.curve_rows import combined_curves, curves_of
from capscope_experiments.result_rows import read_rows
from support.tiny_bench import tiny_bench

POINTS = (Point(1, 2, 30, 0.25, 0.5), Point(4, 8, 90, 0.123456789, 1.5, 0.5, None, 0.125))
CURVE = Curve("tireworld", "mcqs-s, --paper", 3, POINTS, "no news", Shares(2, 1, 0, 5), 880)


def test_curves_come_back_from_their_rows_to_six_places_with_shares_of_executions(tmp_path):
    sampled = replace(CURVE, seed=4, measure="sampled", shares=Shares())
    first, second = combined_curves(tiny_bench(tmp_path), "some", [CURVE, sampled])
    points = (POINTS[0], replace(POINTS[1], agreement=0.123457))
    assert first == replace(CURVE, points=points, shares=Shares(0.25, 0.125, 0, 0.625))
    assert second == replace(sampled, points=points)


def test_the_files_have_a_row_for_every_point_and_for_every_run(tmp_path):
    bench = tiny_bench(tmp_path)
    combined_curves(bench, "some", [CURVE])
    points, runs = (read_rows(bench.output / name) for name in ("some.csv", "some-runs.csv"))
    assert [row["simulator_steps"] for row in points] == ["30", "90"]
    assert [(row["strategy"], row["stopped_because"]) for row in runs] == [
        ("mcqs-s, --paper", "no news")
    ]
    assert curves_of(points, runs)[0].points[0] == POINTS[0]
    with pytest.raises(CapscopeError, match="mcqs-s, --paper on tireworld, seed 3, has points but"):
        curves_of(points, [])
