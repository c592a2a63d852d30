import dataclasses

import pytest

from capscope_experiments.curve import CONSTANT, Curve, Point, Shares
from capscope_experiments.figure import draw_curves, draw_paper_figure, legible, style_of

LEVELS = (0.9, 0.99)
PNG = b"\x89PNG\r\n\x1a\n"


def curve(strategy, seed, *points, problem="blocks"):
    """Make a curve of (steps, agreement), the same under the paper's filter."""
    made = tuple(Point(i, steps, steps, a, 0.0, a, a, a) for i, (steps, a) in enumerate(points))
    return Curve(problem, strategy, seed, made, "no news", Shares())


CURVES = [
    curve("mcqs-s", 0, (10, 0.1), (100, 0.9), (200, 0.995)),
    curve("mcqs-s", 1, (10, 0.1), (140, 0.9), (280, 0.999)),
    curve("mcqs-e", 0, (10, 0.1), (500, 0.9)),
    curve("random", 0, (10, 0.1), (4000, 0.91), (5000, 0.92)),
    curve("random", 1, (10, 0.1), (7000, 0.93)),
    curve(CONSTANT, 0, (0, 0.6)),
]


@pytest.mark.parametrize(
    "curves",
    [
        CURVES,
        CURVES[:1],
        [*CURVES, curve("mcqs-s", 0, (0, 0.0), problem="other")],
        [dataclasses.replace(c, strategy="a strategy of one's own") for c in CURVES[:2]],
    ],
    ids=["all", "one run", "a run without a step", "an unknown strategy"],
)
def test_the_figure_is_a_png_and_an_svg(curves, tmp_path):
    assert draw_curves(curves, LEVELS, tmp_path, "picture") == ("picture.png", "picture.svg")
    picture = (tmp_path / "picture.png").read_bytes()
    assert picture.startswith(PNG)
    assert len(picture) > 5000
    assert "<svg" in (tmp_path / "picture.svg").read_text("utf-8")


def test_the_same_curves_give_the_same_svg(tmp_path):
    texts = []
    for name in ("one", "two"):
        draw_curves(CURVES, LEVELS, tmp_path, name)
        texts.append((tmp_path / f"{name}.svg").read_text("utf-8"))
    assert texts[0] == texts[1]


def test_a_figure_shows_few_lines_and_the_papers_strategies_as_printed_if_asked():
    labels = ["mcqs-s", "mcqs-s, --paper", "mcqs-e", "exhaustive", "random", "random, --draws 3"]
    curves = [curve(label, 0, (10, 0.1)) for label in labels]
    assert [c.strategy for c in legible(curves)] == ["mcqs-s", "mcqs-e", "random"]
    printed = [c.strategy for c in legible(curves, as_printed=True)]
    assert printed == ["mcqs-s, --paper", "mcqs-e", "random"]


def test_the_papers_figure_is_drawn_with_what_was_measured(tmp_path):
    curves = [*CURVES, curve("mcqs-s, --paper", 0, (50, 0.9), problem="tireworld")]
    names = draw_paper_figure(curves, LEVELS, tmp_path, "picture")
    text = (tmp_path / names[1]).read_text("utf-8")
    assert "tireworld" in text and "blocks" not in text
    assert (
        "blocks" in (tmp_path / draw_paper_figure(CURVES, LEVELS, tmp_path, "own")[1]).read_text()
    )


def test_a_variant_without_a_style_has_that_of_its_strategy():
    assert style_of("mcqs-s, --xi 0") == style_of("mcqs-s")
    assert style_of("random, --draws 1") != style_of("random")
