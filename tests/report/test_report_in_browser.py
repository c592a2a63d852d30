"""The report in a real browser, opened from a file, without a network."""

import re
from dataclasses import replace

import pytest
from playwright.sync_api import expect

from capscope.report.digest.states import NO_OVERVIEW
from capscope.report.page import report_page
from capscope.wording import share
from support.report_pages import drawn, focused, follow, press, shown
from support.tiny_digests import DIGEST, big, changed, hostile

pytest_plugins = ["support.visits"]

REPORT = report_page(DIGEST)


def test_a_report_opens_and_loads_nothing(visit):
    page = visit(REPORT)
    assert page.title() == "lamp · capscope"
    assert page.locator("h1").inner_text() == "lamp"
    assert page.locator(".warnings li").inner_text().split("\n") == [
        "!! asked for lit(x): also broken(x)",
        "10 of 40, never undone",
        "path: lit(lamp)",
    ]
    assert page.locator("#learning-chart svg, #coverage-chart svg").count() == 2
    drawn(page)


def test_an_empty_report_opens(visit):
    nothing = changed(
        DIGEST,
        capabilities=(),
        learning=(),
        spending=(),
        cards=(),
        screen=replace(DIGEST["screen"], rows=(), warnings=(), declined=()),
        heat=changed(DIGEST["heat"], rows=()),
        states={},
        audit=None,
        map=changed(DIGEST["map"], states=(), edges=()),
        overview=NO_OVERVIEW,
    )
    page = visit(report_page(nothing))
    assert page.locator("#map p").inner_text() == "No state was seen."


def test_search_looks_into_intents_conditions_and_effects(visit):
    page = visit(REPORT)
    for sought, found in [
        ("LAMP", ["lit(lamp)"]),
        ("flying", ["flying()"]),
        ("not broken", ["lit(lamp)"]),
        ("warm(room)", ["lit(lamp)"]),
        ("switch", ["lit(lamp)", "at(switch)"]),
        ("no such thing", []),
    ]:
        page.fill("#search", sought)
        assert shown(page) == found
        assert page.locator("#found").inner_text() == f"{len(found)} of 4 capabilities"
        assert page.locator("#none-found").is_visible() is (not found)


def test_search_words_must_match_one_rule_and_other_rules_are_dimmed(visit):
    page = visit(REPORT)
    page.fill("#search", "warm at(switch)")
    page.locator("button.open").first.click()
    apart = page.locator(".rule").evaluate_all("all => all.map(r => r.classList.contains('apart'))")
    assert shown(page) == ["lit(lamp)"]
    assert apart[:2] == [False, True]
    page.fill("#search", "warm broken-not-there")
    assert shown(page) == []
    page.click("#show-all")
    assert len(shown(page)) == 4
    assert page.locator(".rule.apart").count() == 0


def test_filters_work_alone_and_together(visit):
    page = visit(REPORT)
    page.click(".filters [data-standing='reliable']")
    assert shown(page) == ["at(switch)"]
    page.click(".filters [data-standing='never seen']")
    assert shown(page) == ["at(switch)", "flying()"]
    page.click(".filters [data-standing='reliable']")
    assert shown(page) == ["flying()"]


def test_a_column_sorts_one_way_then_the_other_then_as_before(visit):
    page = visit(REPORT)
    as_ranked = shown(page)
    head = page.locator("th", has_text="Success")
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    # The untried one has no success, and is always last.
    assert shown(page) == ["at(switch)", "lit(lamp)", "flying()", "dug(hole)"]
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert shown(page) == ["flying()", "lit(lamp)", "at(switch)", "dug(hole)"]
    head.locator("button").click()
    assert head.get_attribute("aria-sort") is None
    assert shown(page) == as_ranked


def test_columns_sort_by_what_they_show(visit):
    page = visit(REPORT)
    for column, first, last in [
        ("Capability", "at(switch)", "lit(lamp)"),
        ("Standing", "at(switch)", "dug(hole)"),
        ("Side effects", "lit(lamp)", "dug(hole)"),
        ("Draws", "at(switch)", "dug(hole)"),
    ]:
        page.get_by_role("button", name=column, exact=True).click()
        assert [shown(page)[0], shown(page)[-1]] == [first, last]


def test_a_rule_shows_its_draws(visit):
    page = visit(REPORT)
    page.locator("button.open").first.click()
    opened = page.locator(".capability.opened .rule").first
    expect(opened).to_contain_text("✓ achieved")
    expect(opened).to_contain_text("65 % to 85 %")
    opened.locator("[data-draws]").click()
    draws = opened.locator(".draw")
    assert draws.count() == 2
    expect(draws.nth(1)).to_contain_text("query 5, draw 1, execution 0")
    assert draws.nth(1).locator(".chain a").all_inner_texts() == ["s0", "s2"]
    assert draws.nth(1).locator(".made").all_inner_texts() == ["broken(lamp)"]
    assert draws.nth(1).locator(".unmade").all_inner_texts() == ["at(switch)"]
    assert draws.nth(0).locator("img").get_attribute("src") == DIGEST["states"][0]["picture"]
    draws.nth(1).locator("summary").click()
    assert (
        draws.nth(1).locator("pre").inner_text() == "user: light\nassistant: I pressed the switch."
    )
    expect(opened).to_contain_text("capscope show DIR 'lit(lamp)' --draws")
    opened.locator("[data-draws]").click()
    assert draws.count() == 0


def test_side_effects_are_marked(visit):
    page = visit(REPORT)
    page.locator("button.open").first.click()
    sign = "e => getComputedStyle(e, '::before').content"
    effects = page.locator(".capability.opened .changes > span")
    signs = effects.evaluate_all(
        f"all => Object.fromEntries(all.map(e => [e.innerText, ({sign})(e)]))"
    )
    assert "▲" in signs["warm(room)"]
    assert "▲" not in signs["lit(lamp)"]


def test_a_rule_whose_intent_held_already_claims_no_success(visiting):
    page = visiting().open(REPORT, "#capability-at-switch")
    achieved, held = page.locator(".capability.opened .rule").all_inner_texts()
    assert "achieved" in achieved
    assert "The intent held already, and nothing changed." in held
    assert "achieved" not in held


def test_the_keyboard_is_enough(visit):
    page = visit(REPORT)
    press(page, "Tab")
    assert focused(page) == "Skip to content"
    press(page, "/", *"lit", "ArrowDown")
    assert focused(page) == "lit(lamp)"
    press(page, "Enter")
    assert page.locator(".rule").first.is_visible()
    assert page.locator("button.open").first.get_attribute("aria-expanded") == "true"
    press(page, "Tab", "Enter")
    assert page.locator(".draw").count() == 2
    press(page, "/", "Escape")
    assert shown(page) == [capability["intent"] for capability in DIGEST["capabilities"]]
    press(page, "ArrowDown", "ArrowDown")
    assert focused(page) == "at(switch)"
    press(page, "ArrowUp")
    assert focused(page) == "lit(lamp)"
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


def test_every_control_has_a_name(visit):
    page = visit(REPORT)
    page.click("#open-all")
    nameless = page.locator("button, select, input").evaluate_all(
        """all => all.filter(e => !(e.textContent.trim() || e.ariaLabel || e.labels?.length))
        .map(e => e.outerHTML)"""
    )
    assert nameless == []


def test_a_link_to_a_capability_opens_it(visiting):
    page = visiting().open(REPORT, "#capability-at-switch")
    assert page.locator(".capability.opened").get_attribute("id") == "capability-at-switch"
    page.fill("#search", "flying")
    follow(page.locator("#findings .links a"))
    assert "lit(lamp)" in shown(page)
    assert page.locator(".capability.opened").count() == 2
    assert focused(page) == "lit(lamp)"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colors_follow_the_system_until_the_button_is_used(visiting, scheme):
    page = visiting(color_scheme=scheme).open(REPORT)
    lightness = """() => { const [r, g, b] = getComputedStyle(document.body).backgroundColor
        .match(/[\\d.]+/g).map(Number); return (r + g + b) / 765 }"""
    assert (page.evaluate(lightness) > 0.5) is (scheme == "light")
    page.click("#theme")
    assert (page.evaluate(lightness) > 0.5) is (scheme != "light")


def test_in_print_everything_is_expanded_and_there_are_no_controls(visiting):
    page = visiting(color_scheme="dark").open(REPORT)
    page.fill("#search", "flying")
    page.emulate_media(media="print")
    assert all(rule.is_visible() for rule in page.locator(".rule").all())
    assert page.get_by_text("For example 10 of 40.").is_visible()
    assert (
        not page.locator("#search, #theme, #map-state, [data-draws]").filter(visible=True).count()
    )
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(26, 31, 36)"


def test_a_printed_report_has_pages_with_the_map_on_them(visiting):
    page = visiting(color_scheme="dark").open(REPORT)
    paper = page.pdf(format="A4")
    assert len(re.findall(rb"/Type\s*/Page\b", paper)) >= 3
    assert page.locator("#map-chart canvas").count() == 1
    assert page.evaluate("document.documentElement.dataset.theme") is None


def test_without_scripts_all_rules_can_be_read(visiting):
    page = visiting(java_script_enabled=False).open(REPORT)
    assert page.locator(".rule:visible").count() == 5
    assert not page.locator("#search").is_visible()
    assert not page.locator("#map-chart").is_visible()
    expect(page.locator("#learning")).to_contain_text("need JavaScript")


@pytest.mark.parametrize("digest", [DIGEST, hostile()], ids=["usual", "hostile"])
def test_nothing_overflows_a_narrow_screen(visiting, digest):
    page = visiting(viewport={"width": 360, "height": 740}).open(report_page(digest))
    page.click("#open-all")
    page.locator("[data-draws]").first.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


NARROW = {"width": 400, "height": 800}


def smallest_text(page):
    """Return the smallest size of text in the section of the map, in pixels."""
    return page.locator("#map *:visible").evaluate_all(
        """all => Math.min(...all.filter(e => [...e.childNodes].some(c => c.nodeType === 3
        && c.textContent.trim())).map(e => parseFloat(getComputedStyle(e).fontSize)))"""
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_narrow_screen_a_large_map_is_a_list(visiting, scheme):
    digest = changed(big(capabilities=10, states=1000), overview=DIGEST["overview"])
    page = visiting(viewport=NARROW, color_scheme=scheme).open(report_page(digest))
    entries = page.locator("#map-list details")
    assert not page.locator("#map-chart, .zoom").filter(visible=True).count()
    assert entries.locator(".map-name").all_inner_texts() == [
        "none of the atoms (the beginning)",
        "broken(lamp)",
    ]
    entries.first.locator("summary").click()
    assert entries.first.locator("tbody tr").count() == 1
    page.click('[data-view="states"]')
    assert 10 < entries.count() <= 30
    assert page.get_by_text(f"{1000 - entries.count()} more can be chosen below.").is_visible()
    assert smallest_text(page) >= 11
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]


def test_the_list_follows_links_and_choices(visiting):
    page = visiting(viewport=NARROW).open(REPORT, "#group-0")
    entries = page.locator("#map-list details")
    assert entries.first.get_attribute("open") is not None
    follow(entries.first.get_by_role("link", name="broken"))
    assert entries.last.locator("tbody tr").count() == 1
    assert entries.last.get_attribute("open") is not None
    page.select_option("#map-state", "0")
    assert entries.first.locator("tbody tr").is_visible()


def test_a_map_that_fits_and_a_wide_screen_have_no_list(visiting):
    page = visiting(viewport=NARROW).open(REPORT)
    page.click('[data-view="states"]')
    assert drawn(page)
    assert not page.locator("#map-list").is_visible()
    page.click('[data-view="groups"]')
    assert page.locator("#map-list").is_visible()
    page.set_viewport_size({"width": 1200, "height": 800})
    assert drawn(page)
    assert page.locator("#map-chart").is_visible()
    assert not page.locator("#map-list").is_visible()


def test_hostile_text_runs_nothing_and_is_shown_literally(visiting):
    digest = hostile()
    page = visiting().open(report_page(digest))
    page.click("#open-all")
    page.locator("[data-draws]").first.click()
    page.locator(".draw summary").click()
    page.select_option("#map-state", "1")
    drawn(page)
    for place in ("#learning-chart", "#coverage-chart", "#spending-chart", "#map-chart"):
        page.locator(place).hover()
    assert page.evaluate("window.pwned") is None
    literally = digest["problem"].replace("\u202e", "\\u202e").replace("\x1b", "\\x1b")
    first, second = literally.split("\u2028")
    assert page.locator("h1").inner_text() == f"{first} {second}"
    expect(page.locator("h1")).to_contain_text("{{7*7}}")
    expect(page.locator(".draw pre")).to_contain_text(first)
    expect(page.locator(".capability .changes .term").first).to_contain_text(first)
    assert page.locator("#state .atoms li").inner_text().startswith(first)
    assert page.locator("main img, main script").count() == 0
    assert not page.locator("a").evaluate_all("all => all.filter(a => !a.hash).map(a => a.href)")


def test_a_script_injected_into_the_page_does_not_run(visiting):
    visits = visiting()
    smuggled = "<script>window.pwned=1</script><img src=x onerror='window.pwned=1'>"
    page = visits.open(REPORT.replace("<h1>", f"{smuggled}<h1>"))
    page.evaluate("location.href = 'javascript:window.pwned=1'")
    while sum("Content Security Policy" in text for text in visits.complaints) < 3:
        page.wait_for_event("console")
    assert page.evaluate("window.pwned") is None
    visits.complaints.clear()
    visits.requests.clear()


def test_search_works_in_a_big_report(visit):
    page = visit(report_page(big()))
    page.fill("#search", "room-7)")
    assert page.locator("#found").inner_text() == "100 capabilities"
    page.fill("#search", "at(robot,room-77)")
    assert shown(page) == ["at(robot,room-77)"]


def test_the_page_and_its_scripts_format_shares_identically(visit):
    page = visit(REPORT)
    values = [0, 0.0001, 0.0049, 0.012, 0.25, 0.5, 0.985, 0.9951, 0.9987, 0.99949, 0.99999, 1]
    assert page.evaluate("all => all.map(capscope.share)", values) == [share(v) for v in values]
