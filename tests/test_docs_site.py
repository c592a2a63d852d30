"""The site of the documentation: it builds, its links lead somewhere, nothing public is missing."""

import ast
import doctest
import importlib
import inspect
import pydoc
import re
import subprocess
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest

import capscope
import capscope.problem
import capscope.testing
from support.doc_pages import COMMANDS, WRITTEN, every
from support.processes import SECONDS
from support.shown_sessions import PAGES, ROOT, blocks


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


@pytest.mark.parametrize("module", [capscope, capscope.problem, capscope.testing])
def test_the_reference_has_every_public_name(module, site):
    ids = Page(site / "reference" / "python.html").ids
    known = {name.rpartition(".")[2] for name in ids if name.startswith("capscope.")}
    assert [name for name in module.__all__ if name not in known | ALIASES] == []


def public_functions():
    """Yield the functions of the reference, and the methods of `Run` that take arguments."""
    text = (PAGES / "reference" / "python.md").read_text(encoding="utf-8")
    module = "capscope"
    for kind, name in re.findall(r"^\.\. (currentmodule|autofunction):: (\S+)$", text, re.M):
        if kind == "currentmodule":
            module = name
        else:
            yield name, pydoc.locate(name if name.startswith("capscope.") else f"{module}.{name}")
    for name, method in inspect.getmembers(capscope.Run, inspect.isfunction):
        if not name.startswith("_") and len(inspect.signature(method).parameters) > 1:
            yield f"Run.{name}", method


def test_a_public_function_says_what_it_takes_and_returns():
    lacking = []
    for name, function in public_functions():
        signature, text = inspect.signature(function), inspect.getdoc(function)
        missing = [p for p in signature.parameters if p != "self" and f"\n    {p}: " not in text]
        if signature.return_annotation not in (None, "None") and "\nReturns:\n" not in text:
            missing.append("Returns")
        lacking += [f"{name}: {part}" for part in missing]
    assert lacking == []


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


def test_the_reference_has_every_command_with_every_option(site):
    text = (site / "reference" / "command-line.html").read_text(encoding="utf-8")
    for name, options in COMMANDS.items():
        section = text.split(f'id="{name.replace(" ", "-")}"')[1].split("</section>")[0]
        assert [o for o in options - {"--help"} if o not in section] == [], name
