"""The table of the paper's statements names code that exists and the numbers that the code has."""

import math
import re

import pytest

from capscope import Settings
from capscope.journal.settings import PAPER
from capscope.problems import load_problem
from capscope_worlds.problems import GRID_LIMITS, KITCHEN_LIMITS, TABLE_LIMITS
from support.shown_sessions import PAGES, ROOT

PACKAGE = ROOT / "src/capscope"
ELSEWHERE = {
    "(bench)": ROOT / "experiments/capscope_experiments",
    "(worlds)": ROOT / "worlds/src/capscope_worlds",
}
TEXT = (PAGES / "method.md").read_text(encoding="utf-8").split("## Paper and program\n")[1]


def rows():
    """Return the rows of all tables: statement, code, verdict, difference."""
    lines = [line for line in TEXT.splitlines() if line.startswith("|") and "---" not in line]
    cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines]
    return [[cell.strip() for cell in row] for row in cells if row[0].strip() != "paper"]


def paths(cell):
    return re.findall(r"`([^`]+\.py)`", cell)


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0][:40])
def test_a_row_names_code_that_exists(row):
    _, code, verdict, difference = row
    folder = next((place for mark, place in ELSEWHERE.items() if mark in code), PACKAGE)
    assert paths(code)
    named = [*paths(code), *paths(difference)]
    assert [path for path in named if not any(folder.rglob(path))] == []
    assert verdict in ("faithful", "reading", "departure", "stays")
    assert difference or verdict == "faithful"


@pytest.mark.parametrize("line", re.findall("^As printed: .*$", TEXT, re.MULTILINE))
def test_a_statement_that_is_as_printed_names_code_that_exists(line):
    named = re.findall(r"\(`([^`]+\.py)`(?:, (\w+))?\)", line)
    assert named
    places = {**{mark.strip("()"): place for mark, place in ELSEWHERE.items()}, "": PACKAGE}
    assert [path for path, mark in named if not any(places[mark].rglob(path))] == []


def test_every_setting_that_departs_has_a_row():
    shown = " ".join(difference for _, _, verdict, difference in rows() if verdict == "departure")
    assert [name for name in PAPER if f"`--set {name}`" not in shown] == []


def test_every_departing_row_names_a_setting_of_the_paper():
    named = [
        set(re.findall(r"`--set ([a-z-]+)`", difference))
        for _, _, verdict, difference in rows()
        if verdict == "departure"
    ]
    assert all(found & PAPER.keys() for found in named)


def test_the_hyperparameters_are_those_of_the_paper():
    found = Settings().as_in_paper()
    assert (found.draws, found.depth, found.iterations, found.patience) == (25, 20, 1000, 25)
    assert (found.random_length, found.shift, found.xi) == (30, 0.05, 1e-5)
    assert found.exploration == math.sqrt(2)


def test_the_limits_are_those_of_the_table():
    for limits, horizon in ((GRID_LIMITS, 100), (KITCHEN_LIMITS, 60), (TABLE_LIMITS, 20)):
        assert (limits.temporal_length, limits.horizon) == (None, horizon)
    planning = [load_problem(name).limits for name in ("tireworld", "first-responders")]
    assert [limits.reset_every for limits in planning] == [None, 100]
    assert {(limits.temporal_length, limits.horizon) for limits in planning} == {(1, 100)}


def test_crafter_is_reset_and_changes_up_to_four_times_if_it_is_stochastic():
    pytest.importorskip("crafter")
    for options, length in (("", 1), (":stochastic=yes", 4)):
        limits = load_problem(f"crafter-steve{options}").limits
        assert (limits.temporal_length, limits.horizon, limits.reset_every) == (length, 15, 100)
