"""The documentation: it builds, its links lead somewhere, and what it shows is what happens."""

import ast
import contextlib
import doctest
import importlib
import json
import pydoc
import re
import shutil
import sqlite3
import subprocess
import sys
import tomllib
from functools import cache
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest
import typer

import capscope
import capscope.testing
import capscope.world
from capscope.cli.main import app
from capscope.export.tables import QueryRow, RuleRow, SuccessRow, TransitionRow
from capscope.record.journal_file import FORMAT_VERSION, SCHEMA
from capscope.testing.plugin import BUDGET_OPTION
from capscope.world import Ending
from support.processes import SECONDS
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

WRITTEN = [p for p in sorted(PAGES.rglob("*.md")) if not p.is_relative_to(PAGES / "results")]
READ_FIRST = [
    ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
]
WITH_SESSIONS = [
    page for page in (*WRITTEN, ROOT / "README.md") if page != TUTORIAL and has_sessions(page)
]


def named(page):
    return str(page.relative_to(ROOT))


def every(pages):
    return pytest.mark.parametrize("page", pages, ids=named)


# The site


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site as `make docs` does."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-E", "-n", "-W", "--keep-going"]
    done = subprocess.run(
        [*command, "-d", str(folder / "doctrees"), str(PAGES), str(folder / "html")],
        capture_output=True,
        text=True,
        timeout=2 * SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return folder / "html"


class Page(HTMLParser):
    """The links of a page of the site, and the ids that can be linked to."""

    def __init__(self, path):
        super().__init__()
        self.links, self.fetched, self.ids = [], [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids |= {given.get("id"), given.get("name") if tag == "a" else None} - {None}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") not in ("index", "search", "next", "prev"):
            self.fetched.append(given["href"])
        self.fetched += [given[key] for key in ("src", "data", "poster") if given.get(key)]


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


def test_the_site_has_every_page_that_was_written(site):
    for page in WRITTEN:
        assert (site / page.relative_to(PAGES)).with_suffix(".html").is_file(), page


def test_every_link_of_the_site_leads_somewhere(pages):
    lost = []
    for path, page in pages.items():
        for link in [*page.links, *page.fetched]:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchored = not parts.fragment or parts.fragment in getattr(
                pages.get(target), "ids", {parts.fragment}
            )
            if not target.is_file() or not anchored:
                lost.append(f"{path.name}: {link}")
    assert not lost


def test_a_page_fetches_nothing_from_elsewhere(site, pages):
    addresses = {f"{path.name}: {a}" for path, page in pages.items() for a in page.fetched}
    assert not {a for a in addresses if re.search(r": (https?:)?//", a)}
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        assert not re.search(r"(@import|url\()\s*['\"]?(https?:)?//", text), sheet


ALIASES = {"Action", "Observation", "Snapshot"}  # whatever simulator and agent agree on


@pytest.mark.parametrize("module", [capscope, capscope.world, capscope.testing])
def test_the_reference_has_every_public_name(module, site):
    ids = Page(site / "reference" / "python.html").ids
    known = {name.rpartition(".")[2] for name in ids if name.startswith("capscope.")}
    assert [name for name in module.__all__ if name not in known | ALIASES] == []


def imports_of(code):
    """Yield module and name of everything that Python code imports from capscope."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "capscope":
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            yield from ((name, None) for name in names if name.split(".")[0] == "capscope")


def python_of(page):
    """Yield the Python code that a page shows."""
    for block in blocks(page):
        if block.language == "python":
            yield block.text
        elif block.language == "pycon":
            examples = doctest.DocTestParser().get_examples(block.text)
            yield "".join(example.source for example in examples)


def undocumented(codes, documented):
    """List what some Python code imports from capscope that the reference does not have."""
    found = {imported for code in codes for imported in imports_of(code)}
    return sorted(
        ".".join(filter(None, (module, name)))
        for module, name in found - {("capscope", None)}
        if name is None or id(getattr(importlib.import_module(module), name)) not in documented
    )


@pytest.fixture(scope="module")
def documented(site):
    """Return the ids of all objects in the reference, whatever their names."""
    names = (pydoc.locate(i) for i in Page(site / "reference" / "python.html").ids if "." in i)
    return {id(found) for found in names if found is not None}


@every([*WRITTEN, ROOT / "README.md"])
def test_a_page_imports_only_what_is_in_the_reference(page, documented):
    assert undocumented(python_of(page), documented) == []


@every(sorted((ROOT / "examples").glob("*.py")))
def test_an_example_imports_only_what_is_in_the_reference(page, documented):
    assert undocumented([page.read_text(encoding="utf-8")], documented) == []


def test_an_import_of_something_private_would_be_noticed(documented):
    code = """
from capscope import Run
from capscope.export.prism import prism_program
import capscope.seeds
"""
    private = ["capscope.export.prism.prism_program", "capscope.seeds"]
    assert undocumented([code], documented) == private


def test_the_export_format_of_the_reference_can_be_written(after_tutorial):
    [block] = [b for b in blocks(PAGES / "reference" / "python.md") if b.caption]
    names = {}
    exec(block.text, names)
    text = names["YAML"].write(capscope.load(after_tutorial[0] / RUN))
    assert "robot-at(dock)" in json.loads(text)["capabilities"]


def test_the_reference_has_every_command_with_every_option(site):
    text = (site / "reference" / "command-line.html").read_text(encoding="utf-8")
    for name, options in COMMANDS.items():
        section = text.split(f'id="{name.replace(" ", "-")}"')[1].split("</section>")[0]
        assert [o for o in options - {"--help"} if o not in section] == [], name


# What the pages name


def _commands(command, name):
    inner = getattr(command, "commands", {})
    found = {}
    if command.params or not inner:
        # `bench` is a placeholder that its context replaces by the command of the experiments.
        command = command.make_context(name, [], resilient_parsing=True).command
        options = [p for p in command.params if p.param_type_name == "option"]
        found[name] = {"--help", *(o for p in options for o in (*p.opts, *p.secondary_opts))}
    for word, command in inner.items():
        found |= _commands(command, f"{name} {word}")
    return found


COMMANDS = _commands(typer.main.get_command(app), "capscope")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


@cache
def code_of(page):
    """Return the pieces of code of a page: its spans, and the lines of its blocks."""
    text = page.read_text(encoding="utf-8")
    spans = re.findall(
        r"(?<!`)`([^`\n]+)`(?!`)", re.sub(r"^(`{3,}).*?^\1", "", text, flags=re.M | re.S)
    )
    lines = [
        line.removeprefix("$ ")
        for block in blocks(page)
        if block.language in ("console", "sh", "")
        for line in block.text.replace("\\\n", " ").split("\n")
    ]
    return [*spans, *lines]


def mistakes_of_calls(code):
    """Find calls of commands that do not exist, or with options they do not have."""
    for call in re.findall(r"(?:^|\s|/)capscope ([a-z][^`#|]*)", code):
        words = call.split()
        name = next(
            (n for k in (2, 1) if (n := " ".join(["capscope", *words[:k]])) in COMMANDS), None
        )
        if name is None:
            # `capscope llm fetch|serve`, or a family of commands named as one.
            if not any(known.startswith(f"capscope {words[0]} ") for known in COMMANDS):
                yield f"no command: capscope {call}"
            continue
        for option in OPTION.findall(call):
            if option not in COMMANDS[name]:
                yield f"{name} has no {option}"


@every([*WRITTEN, *READ_FIRST])
def test_every_command_that_a_page_names_exists(page):
    assert [wrong for code in code_of(page) for wrong in mistakes_of_calls(code)] == []


@every([*WRITTEN, *READ_FIRST])
def test_every_option_that_a_page_names_exists(page):
    known = set().union(*COMMANDS.values(), [BUDGET_OPTION])  # the latter is one of pytest
    spans = [code for code in code_of(page) if code.startswith("--")]
    assert [o for code in spans for o in OPTION.findall(code) if o not in known] == []


def test_a_wrong_command_or_option_would_be_noticed():
    assert list(mistakes_of_calls("capscope asess tireworld")) != []
    assert list(mistakes_of_calls("capscope show DIR --sequences 3")) != []
    assert list(mistakes_of_calls("capscope llm fetch --json")) == []


@every([*WRITTEN, *READ_FIRST])
def test_every_extra_that_a_page_installs_exists(page):
    with (ROOT / "pyproject.toml").open("rb") as file:
        extras = set(tomllib.load(file)["project"]["optional-dependencies"])
    text = page.read_text(encoding="utf-8")
    wanted = re.findall(r"pip install '(?:capscope|\.)\[([a-z,-]+)\]'", text)
    assert {extra for words in wanted for extra in words.split(",")} <= extras


@every([*WRITTEN, *READ_FIRST, ROOT / "RESULTS.md"])
def test_every_file_that_a_page_links_to_exists(page):
    text = re.sub("```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
    here = [link for link in links if not urlsplit(link).scheme]
    assert [link for link in here if not (page.parent / unquote(link)).exists()] == []


@every(WRITTEN)
def test_the_python_of_a_page_can_be_parsed(page):
    for block in blocks(page):
        if block.language == "python":
            ast.parse(block.text)


# What the pages show


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


# The page of formats


def sections(page, mark):
    """Return the sections of a page under headings that begin with a mark, by the rest of it."""
    parts = re.split(rf"^{re.escape(mark)}", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {part.partition("\n")[0]: part.partition("\n")[2].split("\n#")[0] for part in parts[1:]}


def keys(section):
    """Return the first column of the first table of a section."""
    rows = re.search(r"^\|---.*\n((?:\|.*\n?)+)", section, re.MULTILINE)
    return re.findall(r"^\| `([^`]+)`", rows[1], re.MULTILINE)


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
    assert set(told) == stored | {"unrecorded_cost"}  # only if a draw was interrupted


def test_the_tables_that_are_exported_are_as_the_page_says():
    told = {name: keys(text) for name, text in sections(FORMATS, "### File ").items()}
    kinds = {
        "transitions": TransitionRow,
        "rules": RuleRow,
        "queries": QueryRow,
        "success": SuccessRow,
    }
    assert told == {name: list(kind._fields) for name, kind in kinds.items()}


def test_the_endings_are_as_the_pages_say():
    journal = re.search(r"`ending` counts from 0: ([^.]*)\.", FORMATS.read_text(encoding="utf-8"))
    assert journal[1].split(", ") == list(Ending)
    why = (PAGES / "how-to" / "why.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([a-z ]+) \|", why.split("| ending |")[1], re.MULTILINE)
    assert rows == list(Ending)


CALLS = {
    "list": "",
    "assess": "courier.py:problem --max-executions 50 --run runs/json",
    "show": "{run}",
    "show --surprises": "{run}",
    "show --draws": "{run} carrying() --limit 1",
    "explain": "{run}",
    "evaluate": "{run} --trust --sequences 10",
    "report": "{run}",
    "hazards": "{run} carrying()",
    "diff": "{run} {run}",
    "plan": "{run} --goal carrying()",
    "export": "{run} --to csv --output tables",
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
    assert keys(section) == list(json.loads(printed))


def test_the_parts_of_the_model_are_as_the_page_says(after_tutorial):
    document = json.loads((after_tutorial[0] / RUN / "model.json").read_text(encoding="utf-8"))
    tables = sections(FORMATS, "## ")["model.json"].split("\n\nA")
    capability = document["capabilities"][0]
    rule = capability["rules"][0]
    parts = (document, capability, rule, rule["outcomes"][0])
    assert [keys(table) for table in tables] == [list(part) for part in parts]


def test_exchanges_may_go_over_several_lines(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```console\n$ echo a \\\n    b\na b\n```\n")
    (block,) = blocks(page)
    assert exchanges(block) == [Exchange(["$ echo a \\", "    b"], ["a b"])]
    assert Session(tmp_path).follow(page) == []
