"""What the documentation names exists: commands, options, extras and files."""

import ast
import re
import tomllib
from functools import cache
from urllib.parse import unquote, urlsplit

import capscope
from capscope.testing.plugin import BUDGET_OPTION
from support.doc_pages import COMMANDS, READ_FIRST, WRITTEN, every
from support.shown_sessions import PAGES, ROOT, blocks

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
        # Quoted words are values, for example strategies with options of their own.
        for option in OPTION.findall(re.sub(r"'[^']*'", "", call)):
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


def extras_of(distribution):
    """Return the extras of what a page installs from a clone or by name."""
    folder = ROOT / "worlds" if distribution.endswith("worlds") else ROOT
    with (folder / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)["project"]["optional-dependencies"].keys()


@every([*WRITTEN, *READ_FIRST])
def test_every_extra_that_a_page_installs_exists(page):
    text = page.read_text(encoding="utf-8")
    wanted = re.findall(r"'(\S*?)\[([a-z,-]+)\]'", " ".join(re.findall("pip install.*", text)))
    assert [f"{at}[{e}]" for at, es in wanted for e in set(es.split(",")) - extras_of(at)] == []


@every([*WRITTEN, *READ_FIRST, ROOT / "RESULTS.md"])
def test_every_file_that_a_page_links_to_exists(page):
    text = re.sub("```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
    here = [link for link in links if not urlsplit(link).scheme]
    assert [link for link in here if not (page.parent / unquote(link)).exists()] == []


PLACES = [ROOT, ROOT / "src/capscope", ROOT / "worlds/src/capscope_worlds"]
PLACES.append(ROOT / "viewer/src/capscope_view")


@every([PAGES / "design.md", ROOT / "CONTRIBUTING.md"])
def test_every_source_file_that_a_page_names_exists(page):
    named = [code for code in code_of(page) if re.fullmatch(r"\w+(/\w+)+(/|\.py)", code)]
    assert [name for name in named if not any((place / name).exists() for place in PLACES)] == []


@every(WRITTEN)
def test_the_python_of_a_page_can_be_parsed(page):
    for block in blocks(page):
        if block.language == "python":
            ast.parse(block.text)


def test_the_version_is_that_of_no_release_while_changes_are_unreleased():
    first, *released = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    if first == "Unreleased":
        assert capscope.__version__ not in released
    else:
        assert capscope.__version__ == first


def test_the_citation_names_the_version():
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {capscope.__version__}\n" in citation
