import pytest

from capscope.insight.diff import table_of
from capscope.insight.diff.wording import table_lines
from capscope.logic import Intent, Vocabulary
from capscope.report.page.difference import table_page
from support.tiny_run_data import drawn, run_data, tried

STATES = (0b000, 0b010, 0b100, 0b110)


def version(share, seed, elsewhere=None):
    """A run that asks for p; where q holds, it may achieve it with another probability."""
    shares = {s: share if s & 2 or elsewhere is None else elsewhere for s in STATES}
    rows = [r for s in STATES for r in drawn(0, s, s | 1, s, shares[s], 60, seed * 10 + s)]
    return run_data([*rows, *tried(1, 0, [2] * 20)], seed=seed)


@pytest.fixture
def table():
    return table_of([version(0.95, 1), version(0.6, 2), version(0.95, 3), version(0.5, 4, 0.95)])


def test_each_capability_is_a_line_with_a_rate_for_each_run_and_marks(table):
    lines = list(table_lines(table))
    heading = next(i for i, line in enumerate(lines) if line.startswith("capability "))
    assert lines[heading].split() == ["capability", "A", "B", "C", "D", "D", "against", "A"]
    p = lines[heading + 1]
    assert p.startswith("p()") and p.count("[") == 4
    assert p.count("▼ ") == 1 and p.count("▲") == 1 and p.count("▼*") == 1
    assert p.endswith("less reliable*")
    # Columns are aligned.
    columns = [lines[heading].index(f" {name} ") for name in "BCD"]
    assert all(p[column : column + 2] == " 0" for column in columns)


def test_every_comparison_is_summarized_and_the_last_against_the_first_in_detail(table):
    text = " ".join(" ".join(table_lines(table)).split())
    assert "B against A: 1 difference in 1 capability" in text
    assert "D against A: 1 difference in 1 capability; 1 capability could not be compared" in text
    assert "less reliable: p(), when q() [2 of 4 states compared]" in text
    assert "error rate 0.05 for all of these comparisons." in text


def test_what_no_run_tried_has_no_rate(table):
    (line,) = (line for line in table_lines(table) if line.startswith("not r()"))
    assert line.split() == ["not", "r()", "–", "–", "–", "–"]


def test_the_page_has_the_table_and_escapes_hostile_names(table):
    page = table_page(table)
    assert "Comparison of 4 runs" in page and "less reliable*" in page
    hostile = "<script>alert(1)</script>"
    words = Vocabulary.of_atoms([hostile, "q"])
    run = run_data(tried(0, 0b00, [0b10] * 30), words, [Intent.parse("q")])
    bad = run_data(tried(0, 0b00, [0b01] * 30), words, [Intent.parse("q")])
    page = table_page(table_of([run, bad, bad]))
    assert "<script>alert" not in page and "lost" in page


def test_more_runs_than_letters_are_numbered():
    runs = [version(0.9, 1)] * 27
    assert "run 27 against run 1" in " ".join(table_lines(table_of(runs)))
