"""Draws as the local page replays them."""

import pytest

from capscope.errors import RunError
from capscope.problem import Ending
from capscope_view.replay import PictureBook, capability_names, find_draws, replayed_draw
from support.small_runs import draw, execution, small_run

PNG = b"\x89PNG\r\n\x1a\n"
LONG = execution(0, 0, 3, trajectory=(0, 2, 3), transcript="a\x1b[31m\nb", detail="oops")
QUERIES = [
    [draw((0, 0, 1))],
    [draw((0, 1, 2), (2, 0, 3), (3, 2, 2)), draw(LONG)],
    [draw(execution(0, 3, 0, ending=Ending.AGENT_RAISED))],
]


@pytest.fixture
def run(tmp_path):
    return small_run(tmp_path / "run", QUERIES, snapshots={0: b"dark", 2: b"b lit"})


def no_pictures(_):
    return None


def test_the_latest_draw_is_shown_unless_another_is_named(run):
    assert replayed_draw(run, None, no_pictures)["query"] == 2
    shown = replayed_draw(run, (1, 0), no_pictures)
    assert (shown["query"], shown["draw"], shown["draws"], shown["queries"]) == (1, 0, 2, 3)


def test_a_draw_has_every_step_in_order(run):
    shown = replayed_draw(run, (1, 0), no_pictures)
    states = shown["states"]
    assert [
        (one["intent"], [states[i]["atoms"] for i in one["trajectory"]], one["achieved"])
        for one in shown["executions"]
    ] == [
        ("lit(b)", [[], ["lit(b)"]], True),
        ("lit(a)", [["lit(b)"], ["lit(a)", "lit(b)"]], True),
        ("not lit(a)", [["lit(a)", "lit(b)"], ["lit(b)"]], True),
    ]


def test_an_execution_tells_how_it_went_with_its_transcript(run):
    (one,) = replayed_draw(run, (1, 1), no_pictures)["executions"]
    assert len(one["trajectory"]) == 3
    assert one["transcript"] == "a\\x1b[31m\nb"
    assert one["detail"] == "oops"
    (raised,) = replayed_draw(run, (2, 0), no_pictures)["executions"]
    assert (raised["ending"], raised["achieved"]) == (str(Ending.AGENT_RAISED), False)


@pytest.mark.parametrize("place", [(1, 2), (9, 0)])
def test_a_draw_that_was_never_made_is_refused(run, place):
    with pytest.raises(RunError, match="there is no query"):
        replayed_draw(run, place, no_pictures)


def test_pictures_show_the_start_exactly_and_other_states_by_a_kept_position(run):
    shown = replayed_draw(run, (1, 0), lambda source: lambda snapshot: PNG + snapshot)
    pictures = {one["name"]: (one["picture"] != "", one["exact"]) for one in shown["states"]}
    names = [shown["states"][i]["name"] for one in shown["executions"] for i in one["trajectory"]]
    assert pictures[names[0]] == (True, True)
    assert pictures[names[1]] == (True, False)  # b is lit
    assert pictures[names[3]] == (False, False)  # no position of this state was kept


def test_a_simulator_that_cannot_draw_gives_no_pictures(run):
    def raises(_):
        raise RuntimeError

    shown = replayed_draw(run, (1, 0), lambda source: raises)
    assert {one["picture"] for one in shown["states"]} == {""}


def test_draws_are_found_by_capability_latest_first(run):
    def places(capability):
        found = find_draws(run, capability)["draws"]
        return [(one["query"], one["draw"], one["execution"]) for one in found]

    assert capability_names(run) == ["lit(a)", "lit(b)", "not lit(a)", "broken()"]
    assert places(0) == [(1, 1, 0), (1, 0, 1), (0, 0, 0)]
    assert places(None) == [(2, 0, 0), (1, 1, 0), (1, 0, 0), (1, 0, 1), (1, 0, 2), (0, 0, 0)]
    assert places(99) == []
    first = find_draws(run, 0)["draws"][0]
    assert (first["intent"], first["achieved"], first["changes"]) == (
        "lit(a)",
        True,
        ["lit(a)", "lit(b)"],
    )


def test_a_problem_is_loaded_once_for_its_pictures(monkeypatch):
    loaded = []

    def drawer(source, wanted):
        loaded.append((source, wanted))
        return bytes.upper

    monkeypatch.setattr("capscope_view.replay.picture_drawer", drawer)
    book = PictureBook(True)
    assert [book.of("x")(b"a"), book.of("x")(b"b")] == [b"A", b"B"]
    assert loaded == [("x", True)]


def test_a_problem_that_cannot_be_loaded_has_no_pictures(monkeypatch):
    def raises(*_):
        raise ZeroDivisionError

    monkeypatch.setattr("capscope_view.replay.picture_drawer", raises)
    assert PictureBook().of("x") is None


def test_code_of_a_file_is_not_run_unless_pictures_are_wanted(tmp_path):
    file = tmp_path / "trap.py"
    file.write_text("raise SystemExit('it was run')\n")
    assert PictureBook().of(f"{file}:problem") is None
    assert PictureBook(False).of("blocksworld") is None
