"""A real Chromium for the tests of pages: `pytest_plugins = ["support.visits"]`.

Without Chromium these tests are skipped, or fail if CI is set. A page is opened from a file, as a
user opens it. Console messages and network requests are collected, and at the end of the test there
must be none.
"""

import os
import shutil
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
QUIETLY = [
    *["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"],
    *["--disable-component-update", "--disable-sync"],
]


@dataclass
class Visits:
    """Pages opened in a test, with their console messages and network requests."""

    context: object
    folder: object
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def open(self, html, anchor=""):
        """Open a page."""
        file = self.folder / "page.html"
        file.write_text(html, encoding="utf-8")
        page = self.context.new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda told: self.complaints.append(f"{told.type}: {told.text}"))
        page.on("pageerror", lambda error: self.complaints.append(f"uncaught: {error}"))
        page.on("request", lambda request: self._note(request.url, file.as_uri()))
        page.on("dialog", lambda dialog: self.complaints.append(f"dialog: {dialog.message}"))
        page.goto(file.as_uri() + anchor)
        return page

    def _note(self, address, own):
        if address.partition("#")[0] != own and not address.startswith("data:"):
            self.requests.append(address)


@pytest.fixture(scope="module")
def chromium():
    # Until it is closed, its event loop runs in this thread, which tests of other modules may need.
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        missing = (
            f"none of {', '.join(NAMES)} is on PATH; `make browser` installs one on Debian as root "
            "(apt-get install chromium)"
        )
        (pytest.fail if os.environ.get("CI") else pytest.skip)(missing)
    with sync_playwright() as playwright:
        # Root has no sandbox, nor do other users in many containers; the pages are our own.
        browser = playwright.chromium.launch(
            executable_path=program, args=QUIETLY, chromium_sandbox=False, timeout=120_000
        )
        yield browser
        browser.close()


@pytest.fixture
def visiting(chromium, tmp_path):
    """Return a function that makes `Visits` with options of a browser's context."""
    made = []

    def visiting(**options):
        options = {"viewport": {"width": 1200, "height": 900}} | options
        made.append(Visits(chromium.new_context(**options), tmp_path))
        return made[-1]

    yield visiting
    for visits in made:
        visits.context.close()
        assert visits.complaints == []
        assert visits.requests == []


@pytest.fixture
def visit(visiting):
    """Return a function that opens a page."""
    return visiting().open
