"""The local page in a real browser."""

from contextlib import ExitStack, closing

import pytest

from capscope.journal.draws import QueryRecord, Start
from capscope.journal.journal import Journal
from capscope_view.server import serving
from support import view_server
from support.small_runs import DARK, draw, execution, small_run

pytest_plugins = ["support.visits"]
served = view_server.served  # a fixture

HOSTILE = "<img src=x onerror='window.pwned=1'>"
SAID = execution(0, 0, 3, trajectory=(0, 2, 3), transcript=f"user: light\n{HOSTILE}")
QUERIES = [[draw((0, 0, 1)), draw((0, 0, 0))], [draw((0, 1, 2), (2, 0, 3))], [draw(SAID)]]


@pytest.fixture
def run(tmp_path):
    return small_run(tmp_path / "runs" / "one", QUERIES)


@pytest.fixture
def browse(chromium):
    """Return a function that opens an address; the console must stay empty."""
    complaints = []
    with ExitStack() as stack:

        def browse(address, **options):
            options = {"viewport": {"width": 1200, "height": 800}} | options
            context = chromium.new_context(**options)
            stack.callback(context.close)
            page = context.new_page()
            page.set_default_timeout(60_000)
            page.on("console", lambda told: complaints.append(f"{told.type}: {told.text}"))
            page.on("pageerror", lambda error: complaints.append(f"uncaught: {error}"))
            page.goto(address)
            page.complaints = complaints
            return page

        yield browse
    assert complaints == []


def grow(run, number, *executions):
    with closing(Journal.open(run / "journal.sqlite")) as journal:
        start = Start(0, DARK)
        journal.begin_query(number, QueryRecord(start, 0, 0.0, 1.0, True))
        journal.add_draw((number, 0), start, draw(*executions), {})


def report(page):
    return page.frame_locator("iframe.shown")


def open_report(page):
    page.get_by_role("link", name="one").click()
    report(page).locator("h1").first.wait_for()


def await_version(page, executions):
    page.frame_locator(f"iframe.shown[data-executions='{executions}']").locator("h1").wait_for()


def test_a_run_is_chosen_from_the_list_and_its_report_is_shown(served, run, browse):
    page = browse(served(run.parent).address)
    assert page.locator("#runs tbody tr").all_inner_texts()[0].startswith("one")
    open_report(page)
    assert report(page).locator("h1").inner_text() == "lamps"
    assert "incomplete · 5 executions in 3 queries" in page.locator("#message").inner_text()


def test_the_list_shows_a_run_that_begins_while_it_is_open(served, run, browse):
    page = browse(served(run.parent).address)
    small_run(run.parent / "two", QUERIES)
    page.get_by_role("link", name="two").wait_for()


def test_a_newer_report_takes_its_place_with_all_that_the_reader_did(served, run, browse):
    page = browse(served(run.parent).address)
    open_report(page)
    shown = report(page)
    opened = shown.locator("#capability-lit-b button.open")
    opened.click()
    shown.locator("#capability-lit-b [data-draws]").first.click()
    shown.locator("#search").fill("lit")
    shown.get_by_role("button", name="Draws", exact=True).click()
    shown.locator("#theme").click()
    place = "e => e.getBoundingClientRect().top"
    opened.evaluate("e => window.scrollBy(0, e.getBoundingClientRect().top - 200)")
    before = opened.evaluate(place)
    dark = shown.locator("#theme").get_attribute("aria-pressed")
    grow(run, 3, (0, 0, 1), (1, 3, 5))
    await_version(page, 7)
    assert page.locator("iframe").count() == 1
    assert opened.get_attribute("aria-expanded") == "true"
    assert shown.locator("#capability-lit-b .draw").count() >= 1
    assert shown.locator("#search").input_value() == "lit"
    assert shown.locator("#found").inner_text() != ""
    assert shown.locator("th", has_text="Draws").get_attribute("aria-sort") == "descending"
    assert shown.locator("#theme").get_attribute("aria-pressed") == dark
    assert abs(opened.evaluate(place) - before) < 5
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert shown.locator("#capability-lit-a.opened").count() == 0


def test_updates_can_be_paused(served, run, browse):
    page = browse(served(run.parent).address)
    open_report(page)
    page.get_by_role("button", name="Pause updates").click()
    grow(run, 3, (0, 0, 1))
    page.get_by_text("report after 6 executions").or_(
        page.locator("#message", has_text="6 executions in 4 queries")
    ).wait_for()
    assert page.locator("iframe").count() == 1
    page.get_by_role("button", name="Pause updates").click()
    await_version(page, 6)


def test_a_draw_is_replayed_step_by_step_with_what_the_agent_said(served, run, browse):
    page = browse(served(run.parent).address)
    open_report(page)
    page.get_by_role("link", name="Draws").first.click()
    page.locator("#where", has_text="step 1 of 4").wait_for()
    assert "asked for lit(a)" in page.locator("#step").inner_text()
    assert page.locator("#said pre").inner_text() == f"user: light\n{HOSTILE}"
    page.get_by_role("button", name="Next step").click()
    assert page.locator("#step .made").all_inner_texts() == ["lit(b)"]
    page.keyboard.press("ArrowRight")
    assert page.locator("#step .made").all_inner_texts() == ["lit(a)"]
    page.keyboard.press("ArrowRight")
    assert "achieved" in page.locator("#step").inner_text()
    assert page.get_by_role("button", name="Next step").is_disabled()
    page.keyboard.press("ArrowLeft")
    assert page.locator("#where").inner_text() == "step 3 of 4"
    assert page.evaluate("window.pwned") is None


def test_a_draw_is_found_by_its_capability_or_its_number(served, run, browse):
    page = browse(served(run.parent).address)
    open_report(page)
    page.get_by_role("link", name="Draws").first.click()
    page.select_option("#capability", label="lit(b)")
    page.locator("#found li:only-child button", has_text="query 1").click()
    page.locator("h2", has_text="Query 1, draw 0").wait_for()
    page.fill("#query", "0")
    page.fill("#number", "1")
    page.get_by_role("button", name="Show").click()
    page.locator("h2", has_text="Query 0, draw 1 (2 draws)").wait_for()
    page.reload()
    page.locator("h2", has_text="Query 0, draw 1 (2 draws)").wait_for()
    page.click("#latest")
    page.locator("h2", has_text="Query 2, draw 0").wait_for()


def test_playing_goes_through_the_steps_by_itself(served, run, browse):
    page = browse(served(run.parent).address)
    open_report(page)
    page.get_by_role("link", name="Draws").first.click()
    page.locator("#where", has_text="step 1 of 4").wait_for()
    page.get_by_role("button", name="Play").click()
    page.locator("#where", has_text="step 4 of 4").wait_for()
    page.locator("#play[aria-pressed='false']").wait_for()


def test_a_page_whose_server_has_ended_says_so_and_keeps_the_report(served, run, browse):
    with serving(run.parent) as server:
        page = browse(server.address)
        open_report(page)
    page.locator("#message", has_text="The server has ended").wait_for()
    assert report(page).locator("h1").inner_text() == "lamps"
    page.complaints.clear()  # the requests that failed


def test_a_folder_that_is_a_run_leads_to_its_report(served, run, browse):
    page = browse(served(run).address)
    report(page).locator("h1").first.wait_for()
    assert not page.locator("#all-runs").is_visible()


@pytest.mark.parametrize("path", ["", "run/{}/", "run/{}/draws"])
def test_nothing_overflows_a_narrow_screen(served, run, browse, path):
    server = served(run.parent)
    (status,) = server.viewer.folder.statuses()
    page = browse(server.address + path.format(status.id), viewport={"width": 400, "height": 800})
    page.wait_for_timeout(500)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
