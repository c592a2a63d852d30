"""What a report shows in a real browser: first screen, cards, heat map, map, curve."""

from playwright.sync_api import expect

from capscope.logic import Phrasing
from capscope.report.page import report_page
from support.report_pages import drawn, focused, follow, press, shown
from support.tiny_digests import DIGEST, big, changed

pytest_plugins = ["support.visits"]

REPORT = report_page(DIGEST)


def test_the_first_screen_warns_says_what_can_be_done_and_how_sure_that_is(visit):
    page = visit(REPORT)
    first = page.locator("#verdict")
    assert first.locator("h2").all_inner_texts() == ["Watch out", "Can do"]
    cells = first.locator(".can-do tbody td").all_inner_texts()
    assert cells == ["38 (≥ 20)", "50 (≥ 30)", "warm(room) (3 of 40); or did nothing (25)"]
    text = first.inner_text()
    for part in ("flying(): did nothing (9)", "dug(hole)", "audited: at most 1 %", "1,249 exec"):
        assert part in text
    assert "report.html" not in text
    assert first.evaluate("e => e.getBoundingClientRect().bottom") <= 900
    follow(first.locator(".can-do a"))
    assert page.evaluate("location.hash") == "#capability-lit-lamp"


def test_a_card_draws_the_way_there(visit):
    page = visit(REPORT)
    card = page.locator("#finding-0")
    assert card.locator(".way-name a").all_inner_texts() == ["s1", "s0", "s2"]
    asked = card.locator(".way-asked .term").all_inner_texts()
    assert asked == ["at(switch)", "lit(lamp)"]
    assert card.locator(".way-odds").all_inner_texts() == ["9 of 9", "10 of 40"]
    assert card.locator(".way-node").nth(1).locator(".unmade").inner_text() == "lit(lamp)"
    # Only s0 has a picture.
    assert card.locator(".way-node img").count() == 1
    assert card.locator(".way-node").nth(1).locator("img").count() == 1
    expect(card).to_contain_text("in 2 requests")
    follow(card.locator(".way-name a").last)
    assert page.locator("#map-state").input_value() == "2"


def test_further_cards_are_shown_on_request_and_by_a_link(visiting):
    digest = changed(DIGEST, cards=(DIGEST["cards"][0],) * 6)
    page = visiting().open(report_page(digest))
    assert page.locator(".card:visible").count() == 4
    page.click("#all-findings")
    assert page.locator(".card:visible").count() == 6
    page = visiting().open(report_page(digest), "#finding-5")
    assert page.locator("#finding-5").is_visible()


def test_a_cell_of_the_heat_map_opens_its_rules(visit):
    page = visit(REPORT)
    cells = page.locator("#heat tbody td")
    assert cells.all_inner_texts()[3:6] == ["38", "0", "75"]
    cells.nth(4).click()
    assert page.locator(".capability.opened").get_attribute("id") == "capability-lit-lamp"
    apart = page.locator(".capability.opened .rule").evaluate_all(
        "all => all.map(r => r.classList.contains('apart'))"
    )
    assert apart == [True, False]
    assert focused(page) == "lit(lamp)"


def test_the_keyboard_moves_in_the_heat_map(visit):
    page = visit(REPORT)
    assert page.locator("#heat [tabindex='0']").count() == 1
    page.locator("#heat [tabindex='0']").focus()
    press(page, "ArrowDown", "ArrowRight", "ArrowUp", "ArrowUp", "ArrowDown")
    assert focused(page) == "0"
    assert page.locator("#heat [tabindex='0']").inner_text() == "0"
    press(page, "Enter")
    assert page.locator(".capability.opened").get_attribute("id") == "capability-lit-lamp"


def test_literals_are_shown_in_words_and_found_by_both_names(visit):
    said = changed(DIGEST, phrases=(("lit", "the {0} is lit", "the {0} is dark"),))
    page = visit(report_page(said))
    assert shown(page)[0] == "the lamp is lit"
    assert page.locator("button.open .term").first.get_attribute("title") == "lit(lamp)"
    for sought in ("lamp is lit", "lit(lamp)"):
        page.fill("#search", sought)
        assert shown(page) == ["the lamp is lit"]
    page.select_option("#map-state", "1")
    expect(page.locator("#state")).to_contain_text("the lamp is lit")


def test_the_page_and_its_scripts_say_literals_identically(visit):
    phrases = (("in", "{0} is in {1}", "{0} is not in {1}"), ("odd", "{1} {0}", "none"))
    page = visit(report_page(changed(DIGEST, phrases=phrases)))
    texts = ["in(a,b)", "not in(a,b)", "in(a)", "odd(x,y)", "not odd()", "out(a)", "in(a,b) and p"]
    said = Phrasing({name: rest for name, *rest in phrases}).literal
    assert page.evaluate("all => all.map(capscope.said)", texts) == [said(t) for t in texts]


def test_the_map_shows_groups_or_states(visit):
    page = visit(REPORT)
    states = drawn(page)
    assert page.locator("[data-view='states']").get_attribute("aria-pressed") == "true"
    page.click("[data-view='groups']")
    assert drawn(page) != states
    page.select_option("#map-state", "1")
    panel = page.locator("#state")
    expect(panel).to_contain_text("1 state, in which 49 executions started.")
    follow(panel.locator("a", has_text="− broken(lamp)"))
    expect(panel).to_contain_text("The run began here.")
    follow(panel.locator(".members a").last)
    page.wait_for_selector("[data-view='states'][aria-pressed='true']")
    assert page.locator("#map-state").input_value() == "1"
    expect(panel).to_contain_text("lit(lamp)")


def test_many_states_are_shown_as_groups_first(visit):
    page = visit(report_page(changed(DIGEST, map=changed(DIGEST["map"], omitted=1500))))
    assert page.locator("[data-view='groups']").get_attribute("aria-pressed") == "true"
    drawn(page)


def test_the_audit_is_marked_in_the_learning_curve(visit):
    page = visit(REPORT)
    expect(page.locator("#learning-chart")).to_contain_text("audit, passed")
    expect(page.locator("#learning")).to_contain_text("300 executions scored, 0 surprises, passed")


def test_a_map_of_one_state_is_drawn(visit):
    alone = changed(DIGEST["map"], states=(0,), edges=())
    page = visit(report_page(changed(DIGEST, map=alone)))
    painted = "(c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(x => x))"
    drawn(page)
    assert page.evaluate(f"{painted}(document.querySelector('#map-chart canvas'))")


def test_a_state_is_chosen_from_the_list_or_by_a_link_and_described(visit):
    page = visit(REPORT)
    page.select_option("#map-state", "2")
    state = page.locator("#state")
    expect(state).to_contain_text("broken(lamp)")
    assert state.locator("tr").all_inner_texts() == ["at(switch)\ts0\t100 %\t9 executions"]
    follow(state.locator("a", has_text="s0"))
    assert page.locator("#map-state").input_value() == "0"
    assert state.locator("img").count() == 1
    assert [text.split("\t")[1:3] for text in state.locator("tr").all_inner_texts()] == [
        ["s1", "75 %"],
        ["s2", "25 %"],
    ]


def test_the_map_is_the_same_each_time_and_changes_with_the_capability(visiting):
    visits = visiting()
    pictures = [drawn(visits.open(report_page(big(6, 2, 40)))) for _ in range(2)]
    assert pictures[0] == pictures[1]
    page = visits.context.pages[-1]
    page.select_option("#map-capability", "2")
    one = drawn(page)
    assert one != pictures[0]
    page.click("[data-zoom='1.4']")
    assert drawn(page) != one
    page.click("[data-zoom='reset']")
    assert drawn(page) == one


def test_the_learning_curve_can_be_drawn_over_a_logarithm(visit):
    page = visit(REPORT)
    chart = page.locator("#learning-chart")
    before = chart.locator("svg").inner_html()
    page.check("#log-axis")
    page.wait_for_function(
        "old => document.querySelector('#learning-chart svg').innerHTML != old", arg=before
    )
    expect(chart).to_contain_text("agreement with the final model")
