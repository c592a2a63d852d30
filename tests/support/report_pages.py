"""What a report shows in a browser."""


def shown(page):
    """The capabilities in the table, from top to bottom."""
    return page.locator("tbody.capability:visible button.open").all_inner_texts()


def focused(page):
    return page.evaluate("document.activeElement.textContent || document.activeElement.id")


def follow(link):
    """Click a link to a place in the page, and wait until the page's scripts have followed it."""
    page = link.page
    event = "new Promise((done) => addEventListener('hashchange', () => done(), { once: true }))"
    page.evaluate(f"() => {{ window.followed = {event} }}")
    link.click()
    page.evaluate("() => window.followed")


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def drawn(page):
    """Wait for the map; return its picture."""
    page.locator("#map").scroll_into_view_if_needed()
    page.wait_for_selector("#map-chart canvas")
    # ECharts paints with the next frame; two later it has.
    return page.evaluate(
        """() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() =>
        done(document.querySelector("#map-chart canvas").toDataURL()))))"""
    )
