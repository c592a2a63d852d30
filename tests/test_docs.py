"""What the documentation shows is what happens, and the page of formats is true."""

import contextlib
import json
import re
import shutil
import sqlite3

import pytest

from capscope.export.tables import COLUMNS
from capscope.journal.journal_file import FORMAT_VERSION, SCHEMA
from capscope.problem import Ending
from support.doc_pages import COMMANDS, WRITTEN, every
from support.shown_sessions import (
    PAGES,
    ROOT,
    TUTORIAL,
    Exchange,
    Session,
    agrees,
    blocks,
    exchanges,
    has_sessions,
    shortened,
    updated,
)

WITH_SESSIONS = [
    page for page in (*WRITTEN, ROOT / "README.md") if page != TUTORIAL and has_sessions(page)
]


@pytest.fixture(scope="module")
def after_tutorial(tmp_path_factory):
    """Return the folder of a reader who did the tutorial, and the outputs that differed."""
    folder = tmp_path_factory.mktemp("reader")
    return folder, Session(folder).follow(TUTORIAL)


def test_the_tutorial_does_what_it_shows(after_tutorial):
    assert after_tutorial[1] == []


def test_only_installing_is_left_to_the_reader_of_the_tutorial():
    by_language = {}
    for block in blocks(TUTORIAL):
        by_language.setdefault(block.language, []).append(block)
    assert len(by_language.pop("sh")) == 1
    assert set(by_language) <= {"console", "pycon", "python"}
    assert all(block.caption for block in by_language["python"])


def test_the_front_page_shows_what_the_tutorial_shows():
    (front,) = (block for block in blocks(PAGES / "index.md") if block.language == "text")
    shown = TUTORIAL.read_text(encoding="utf-8").split("\n")
    assert [line for line in front.text.split("\n") if line not in shown] == []


def test_the_readme_shows_what_the_page_about_tools_shows():
    (shown,) = (b.text for b in blocks(ROOT / "README.md") if b.language == "text")
    page = (PAGES / "how-to" / "tool-agent.md").read_text(encoding="utf-8")
    parts = [part.strip() for part in re.split("[…\n]", shown)]
    assert [part for part in parts if part not in page] == []


def test_the_readme_shows_what_the_demo_prints(capscope):
    (shown,) = (b.text for b in blocks(ROOT / "README.md") if b.language == "output")
    target = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\ndemo:")[2]
    command = re.search(r"\$\(BIN\)/capscope (assess .*)", target)[1]
    given = command.replace("examples/", f"{ROOT}/examples/").split()
    done = capscope(*given)
    assert done.code == 0, done.err
    assert agrees(shown, done.out)


def test_the_tutorial_calls_gone_only_what_its_comparison_calls_gone():
    text = TUTORIAL.read_text(encoding="utf-8")
    assert "side effect is gone" not in text or "\nside effect gone\n" in text


@every([*WRITTEN, ROOT / "README.md"])
def test_a_comparison_in_python_names_its_baseline(page):
    for given in re.findall(r"\brun\.diff\((.*)", page.read_text(encoding="utf-8")):
        assert given.startswith("baseline="), given


@every(WITH_SESSIONS)
def test_a_page_does_what_it_shows(page, after_tutorial, tmp_path):
    folder = shutil.copytree(after_tutorial[0], tmp_path / "reader")
    assert Session(folder).follow(page) == []


def test_an_output_that_differs_would_be_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```console\n$ capscope check nothing\nall is well\n$ echo $?\n0\n```\n")
    wrong = Session(tmp_path).follow(page)
    assert len(wrong) == 2
    assert "no problem 'nothing'" in wrong[0]


def test_a_command_that_fails_unasked_would_be_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```console\n$ capscope show nowhere\n…\n```\n")
    assert "failed with 2" in Session(tmp_path).follow(page)[0]


def test_dots_stand_for_a_part_of_a_line_or_for_lines():
    assert agrees("in … s", "in 1.2 s\n")
    assert agrees("a\n…\nz", "a\nb\nc\nz\n")
    assert not agrees("in … s", "in 1.2 s\nand more\n")
    assert not agrees("a", "b\n")


def test_an_update_leaves_out_what_was_left_out():
    shown = ["carrying()   (4 draws)", "…", "  + 0.57 [0.23, 0.86]  at(r3c3)", "…"]
    printed = ["carrying()   (95 draws)", "more", "  + 0.61 [0.50, 0.72]  at(r3c3)", "end"]
    assert updated(shown, "\n".join(printed)) == [printed[0], "…", printed[2], "…"]
    assert updated(["a", "b 1"], "a\nb 2") == ["a", "b 2"]
    assert updated(["in … s"], "in 1.2 s") == ["in … s"]


def test_an_update_shows_all_of_an_output_that_differs_in_more_than_numbers():
    assert updated(["a", "…", "c 1"], "a\nb\nd 1\nin 1.2 s") == ["a", "b", "d 1", "in … s"]
    assert shortened(["…", "at(r3c3) 1"], ["at(r3c4) 1"]) is None
    assert shortened(["a", "…", "b", "c"], ["c"]) is None


def test_exchanges_may_go_over_several_lines(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```console\n$ echo a \\\n    b\na b\n```\n")
    (block,) = blocks(page)
    assert exchanges(block) == [Exchange(["$ echo a \\", "    b"], ["a b"])]
    assert Session(tmp_path).follow(page) == []


# The page of formats


def sections(page, mark):
    """Return the sections of a page under headings that begin with a mark, by the rest of it."""
    parts = re.split(rf"^{re.escape(mark)}", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {part.partition("\n")[0]: part.partition("\n")[2].split("\n#")[0] for part in parts[1:]}


def keys(section):
    """Return the names in the first column of the first table of a section."""
    rows = re.search(r"^\|---.*\n((?:\|.*\n?)+)", section, re.MULTILINE)
    cells = re.findall(r"^\|([^|]*)\|", rows[1], re.MULTILINE)
    return [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


FORMATS = PAGES / "formats.md"


def test_the_tables_of_the_journal_are_as_the_page_says():
    created = {
        name: re.findall(r"(?:^|,)\s*([a-z_]+) (?:INTEGER|TEXT|REAL|BLOB)", columns)
        for name, columns in re.findall(
            r"CREATE TABLE (?:IF NOT EXISTS )?(\w+) \((.*?)\)(?: WITHOUT ROWID)?\s*;",
            SCHEMA,
            re.DOTALL,
        )
    }
    told = {name: keys(text) for name, text in sections(FORMATS, "### Table ").items()}
    assert told == created
    assert f"`user_version` {FORMAT_VERSION}" in FORMATS.read_text(encoding="utf-8")


def test_the_entries_about_a_run_are_as_the_page_says(after_tutorial):
    run = after_tutorial[0] / RUN
    summary = json.loads((run / "run.json").read_text(encoding="utf-8"))
    assert keys(sections(FORMATS, "## ")["run.json"]) == list(summary)
    with contextlib.closing(sqlite3.connect(run / "journal.sqlite")) as journal:
        stored = {key for (key,) in journal.execute("SELECT key FROM meta")}
    told = keys(sections(FORMATS, "### Table ")["meta"].split("| entry |")[1])
    # Those of runs with an interrupted draw, and of runs that started from another one.
    assert set(told) == stored | {"unrecorded_cost", "experience"}


def test_the_tables_that_are_exported_are_as_the_page_says():
    told = {name: keys(text) for name, text in sections(FORMATS, "### File ").items()}
    assert told == {name: list(columns) for name, columns in COLUMNS.items()}


def test_the_endings_are_as_the_pages_say():
    journal = re.search(r"`ending` counts from 0: ([^.]*)\.", FORMATS.read_text(encoding="utf-8"))
    assert journal[1].split(", ") == list(Ending)
    why = (PAGES / "how-to" / "why.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([a-z ]+) \|", why.split("| ending |")[1], re.MULTILINE)
    assert rows == list(Ending)


CALLS = {
    "list": "",
    "settings": "",
    "assess": "courier.py:problem --max-executions 50 --run runs/json",
    "show": "{run}",
    "show --findings": "{run}",
    "show --draws": "{run} carrying() --limit 1",
    "explain": "{run}",
    "evaluate": "{run} --trust --sequences 10",
    "report": "{run}",
    "hazards": "{run} carrying()",
    "compare": "courier.py:problem --against {run} --max-executions 20 --run runs/compared",
    "diff": "{run} {run}",
    "plan": "{run} --goal carrying()",
    "export": "{run} --to csv --output tables",
    "repro": "{run} --all --trust --output tests",
    "check": "courier.py:problem",
}
# They measure for hours, download, serve, or need a tool world.
NOT_CALLED = {"bench", "llm fetch", "llm serve", "view", "suggest"}
RUN = "runs/courier-problem-adaptive-0"


def test_every_command_has_its_json_on_the_page():
    told = {heading.removesuffix(" --json") for heading in sections(FORMATS, "### capscope ")}
    assert told == {*CALLS, *NOT_CALLED}
    commands = {name.removeprefix("capscope ") for name in COMMANDS} - {"capscope"}
    assert commands - {*CALLS, *NOT_CALLED} == {"resume"}  # told with assess


@pytest.mark.parametrize("command", CALLS)
def test_the_json_of_a_command_is_as_the_page_says(command, after_tutorial, tmp_path):
    folder = shutil.copytree(after_tutorial[0], tmp_path / "reader")
    word, *options = command.split()
    words = ["capscope", word, *CALLS[command].format(run=RUN).split(), *options, "--json"]
    printed = Session(folder).printed_by(Exchange(["$ " + " ".join(f"'{w}'" for w in words)], []))
    section = sections(FORMATS, "### capscope ")[f"{command} --json"]
    if command == "show":
        section = sections(FORMATS, "## ")["model.json"]
    assert set(keys(section)) == set(json.loads(printed))


def test_the_parts_of_the_model_are_as_the_page_says(after_tutorial):
    document = json.loads((after_tutorial[0] / RUN / "model.json").read_text(encoding="utf-8"))
    texts = sections(FORMATS, "## ")["model.json"].split("\n\nA")
    tables = [text for text in texts if "\n|---|" in text]
    family = next(one for one in document["families"] if one["rules"])
    rule = family["rules"][0]
    parts = [document, family, rule, rule["effects"][0]]
    parts += [document["behaviors"][0], document["capabilities"][0]]
    assert [keys(table) for table in tables] == [list(part) for part in parts]
