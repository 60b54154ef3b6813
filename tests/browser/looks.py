"""What holds of every page of the console, on every screen."""

from tests.browser.visitor import PHONE, Visitor

SMALL = """() => [...document.querySelectorAll(
        "button, .button, nav a, summary, input:not([type=hidden], [type=radio], [type=checkbox]), textarea")]
    .map(item => [item.outerHTML.slice(0, 80), item.getBoundingClientRect()])
    .filter(([_, box]) => box.width && box.height && (box.height < 43.5 || box.width < 43.5))
    .map(([html, box]) => `${Math.round(box.width)}x${Math.round(box.height)} ${html}`)"""
NAMELESS = """() => [...document.querySelectorAll("a, button, summary, svg.chart, input:not([type=hidden]), textarea")]
    .filter(item => !(item.textContent.trim() || item.ariaLabel || item.labels?.length))
    .map(item => item.outerHTML.slice(0, 80))"""
TWICE = """() => { const ids = [...document.querySelectorAll("[id]")].map(item => item.id);
    return ids.filter((id, place) => ids.indexOf(id) !== place); }"""
SHIFTED = """() => new Promise(done => {
    let sum = 0;
    new PerformanceObserver(list => { for (const entry of list.getEntries()) sum += entry.value; })
        .observe({ type: "layout-shift", buffered: true });
    requestAnimationFrame(() => requestAnimationFrame(() => done(sum)));
})"""
CUT_OFF = """() => [...document.querySelectorAll("main table, main .card, main svg.chart, main pre")]
    .filter(item => item.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5)
    .map(item => item.outerHTML.slice(0, 80))"""
SPILLED = """() => [...document.querySelectorAll(".card > table, .card > figure")]
    .filter(item => item.getBoundingClientRect().right > item.parentElement.getBoundingClientRect().right - 1)
    .map(item => item.outerHTML.slice(0, 80))"""


async def check(visitor: Visitor, path: str, width: int) -> None:
    """Opens the page: it fits, everything has a name, nothing jumps, and on a phone fingers hit what they aim at."""
    await visitor.go(path)
    assert await visitor.page.evaluate("document.documentElement.scrollWidth") <= width, path
    for wrong in (NAMELESS, TWICE, CUT_OFF, SPILLED):
        assert await visitor.page.evaluate(wrong) == [], path
    assert await visitor.page.evaluate(SHIFTED) < 0.05, path
    if width == PHONE[0]:
        assert await visitor.page.evaluate(SMALL) == [], path
