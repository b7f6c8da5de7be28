"""The report as people meet it: opened in a browser, pointed at, clicked, resized, turned dark, printed."""

import json

import pytest

SMALLEST = 320  # pixels across the smallest telephone


@pytest.fixture
def page(browser, demo_page):
    """The demo's report, just opened."""
    browser.js("try { localStorage.clear(); } catch {}")
    browser.open(demo_page.as_uri())
    return browser


def chart(name):
    return f"document.querySelector('[data-chart={name}]')"


def hover(page, selector):
    """Point at the middle of a drawn mark, and read what appears beside it."""
    x, y = page.middle(selector)
    page.point(x - 30, y - 30)
    page.point(x, y)
    page.until("document.querySelector('.hoverlayer .hovertext') !== null")
    return page.js("document.querySelector('.hoverlayer .hovertext').textContent")


def test_it_opens_without_a_word_to_anyone(page, demo_page):
    assert page.problems == []
    outside = [address for address in page.requests if not address.startswith(("data:", "blob:"))]
    assert outside == [demo_page.as_uri()]
    assert page.js("document.querySelectorAll('[data-chart] .main-svg').length > 3")


def test_it_answers_in_words_before_any_chart(page):
    first = page.js("document.querySelector('.lead').innerText")
    assert "larger batches" in first
    assert page.js(f"document.querySelector('.lead').getBoundingClientRect().bottom < {chart('curves')}.offsetTop")


def test_pointing_at_a_curve_tells_the_trial(page, demo):
    told = hover(page, "[data-chart=curves] .scatterlayer .trace:nth-child(2) .points path")
    point = page.js(f"{chart('curves')}.data[1].x[0]")
    assert f"batch size {point}" in told
    assert "won by trial" in told
    assert "learning rate" in told and "momentum" in told


def test_pointing_at_a_cloud_tells_the_trial_and_its_end(page):
    told = hover(page, "[data-chart=clouds] .subplot.xy .trace:last-child .points path")
    assert "the winner: reached the goal after" in told
    assert "learning rate" in told
    assert page.problems == []


def test_a_sparsity_is_hidden_and_shown_by_mouse_and_by_keyboard(page):
    switch = "[data-chart=curves] .legendtoggle[aria-label^='50']"
    shown = f"{chart('curves')}.data.filter((trace) => trace.legendgroup === 's1').map((trace) => trace.visible)"
    count = page.js(f"{shown}.length")
    assert count >= 1
    page.click(switch)
    page.until(f"{shown}.every((one) => one === 'legendonly')")
    page.until(f"document.querySelector({json.dumps(switch)}).getAttribute('aria-checked') === 'false'")
    page.js(f"document.querySelector({json.dumps(switch)}).focus()")
    page.press("Enter")
    page.until(f"{shown}.every((one) => one !== 'legendonly')")
    assert page.js("document.querySelector('#said').textContent") == "50\u00a0% sparse shown"
    assert page.problems == []


def test_curves_are_shown_raw_or_normalised(page):
    first = f"{chart('curves')}.data.find((trace) => trace.name === 'dense').y[0]"
    raw = page.js(first)
    assert raw > 1
    page.click(".choice label:nth-child(2)")
    page.until(f"{first} === 1")
    assert "smallest batch" in page.js(f"{chart('curves')}.layout.yaxis.title.text")
    page.click(".choice label:nth-child(1)")
    page.until(f"{first} === {raw}")
    assert page.problems == []


def test_the_clouds_follow_the_batch_size_and_the_axes(page):
    best = f"{chart('clouds')}.data.find((trace) => trace.name === 'winner').hovertext[0]"
    before = page.js(best)
    page.js("document.querySelector('[data-role=batch]').focus()")
    page.press("ArrowRight")
    page.until(f"{best} !== {json.dumps(before)}")
    assert page.js("document.querySelector('[data-role=batch]').getAttribute('aria-valuetext')") == "batch size 512"
    choose = "const e = document.querySelector('select[data-role=y]'); e.value = e.options.length - 1;"
    page.js(f"(() => {{ {choose} e.dispatchEvent(new Event('change', {{ bubbles: true }})); }})()")
    page.until(f"{chart('clouds')}.layout.yaxis.title.text === 'steps'")
    assert page.problems == []


def test_what_is_copied_fits_a_spreadsheet(page):
    page.js(
        "(() => { const clipboard = { writeText: async (text) => { window.copied = text; } };"
        "Object.defineProperty(navigator, 'clipboard', { value: clipboard, configurable: true }); })()"
    )
    page.click(".tables .copy")
    page.until("window.copied !== undefined")
    rows = [row.split("\t") for row in page.js("window.copied").splitlines()]
    names = ["dense", "dense, 95\u00a0%", "50\u00a0% sparse", "50\u00a0% sparse, 95\u00a0%"]
    assert [name.replace("95 %", "95\u00a0%") for name in rows[0]] == ["batch size", *names]
    assert [row[0] for row in rows[1:]] == ["32", "128", "512"]
    assert all(cell.isdigit() for row in rows[1:] for cell in (row[1], row[3]))
    assert all(cell.startswith("[") for row in rows[1:] for cell in (row[2], row[4]))


def brightness(page, what, of="document.body"):
    """0 is black, 1 is white."""
    text = page.js(f"getComputedStyle({of}).{what}")
    return sum(float(part) for part in text[text.index("(") + 1 : -1].split(",")[:3]) / 3 / 255


def test_dark_and_light_by_the_system_and_by_hand(page):
    label = f"{chart('curves')}.querySelector('.legendtext')"
    assert brightness(page, "backgroundColor") > 0.9 and brightness(page, "fill", label) < 0.3
    page.media(dark=True)
    page.until(
        f"{chart('curves')}.layout.font.color === getComputedStyle(document.documentElement)"
        ".getPropertyValue('--ink').trim()"
    )
    assert brightness(page, "backgroundColor") < 0.2 and brightness(page, "fill", label) > 0.7
    page.click("[data-role=theme]")
    assert page.js("document.documentElement.dataset.theme") == "light"
    assert brightness(page, "backgroundColor") > 0.9 and brightness(page, "fill", label) < 0.3
    assert page.problems == []


@pytest.mark.parametrize("width", [1280, 420, SMALLEST])
def test_nothing_sticks_out_at_the_side(page, demo_page, width):
    page.size(width, 900, phone=width < 500)
    page.open(demo_page.as_uri())
    assert page.js("document.documentElement.scrollWidth") <= width
    assert page.problems == []


def test_it_prints_with_everything_unfolded_and_then_folds_it_again(page):
    page.js(
        "addEventListener('beforeprint', () => { window.seen = ["
        "document.documentElement.dataset.theme, [...document.querySelectorAll('details')].every((part) => part.open),"
        f"{chart('curves')}.layout.width]; }})"
    )
    folded = page.js("document.querySelectorAll('details:not([open])').length")
    assert folded
    printed = page.pdf()
    assert printed.startswith(b"%PDF") and len(printed) > 20_000
    assert page.js("window.seen") == ["light", True, 680]
    assert page.js("document.querySelectorAll('details:not([open])').length") == folded
    assert page.problems == []


def test_every_control_has_a_name_that_can_be_read_out(page):
    roles = {"button", "radio", "slider", "combobox", "switch", "link", "region", "table", "img"}
    nodes = page("Accessibility.getFullAXTree")["nodes"]
    controls = [node for node in nodes if not node["ignored"] and node["role"]["value"] in roles]
    assert {"button", "radio", "slider", "combobox", "switch", "link", "table"} <= {
        n["role"]["value"] for n in controls
    }
    assert [node for node in controls if not node.get("name", {}).get("value", "").strip()] == []


def test_without_scripts_the_words_and_the_tables_are_there(browser, demo_page):
    browser("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser("Page.navigate", url=demo_page.as_uri())
        browser.until("document.querySelector('footer') !== null")
        assert browser.js("document.querySelector('.lead').innerText.length > 50")
        assert browser.js("document.querySelector('.tables table').innerText.includes('512')")
        assert "needs a browser that runs scripts" in browser.js("document.querySelector('[data-chart]').innerText")
    finally:
        browser("Emulation.setScriptExecutionDisabled", value=False)
