"""The page of a report in a real browser: what it never runs, and whom it serves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rageval.pages.page import read_report
from report_pages import ATTACK, HOSTILE, Open, browser_, opened_, pages_, texts, until  # noqa: F401


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hostile", "agents"])
def test_hostile_text_is_shown_and_never_run(pages: dict[str, Path], opened: Open, name: str) -> None:
    tab = opened(pages[name])
    for index, query in enumerate(read_report(pages[name])["queries"]["ids"]):
        tab.evaluate("query => (location.hash = 'q=' + encodeURIComponent(query))", query)
        until(tab, f"current === {index}")
        for one in tab.query_selector_all(".matrix td button, details.call > summary"):
            one.click()
        assert len(texts(tab, "mark" if name == "hostile" else ".steps .docs li.full")) > 0
        assert name == "agents" or "prompt" in "".join(texts(tab, "pre")) or index > 1
    tab.evaluate("location.hash = 'q=' + encodeURIComponent('<img src=x onerror=hacked=5>')")
    until(tab, "document.getElementById('query-title').textContent === 'No such query'")
    assert tab.evaluate("typeof hacked") == "undefined"
    assert tab.evaluate("document.querySelectorAll('img, iframe, object, [onerror]').length") == 0
    assert tab.evaluate("document.scripts.length") == 2
    addresses = tab.eval_on_selector_all("a", "all => all.map(one => one.getAttribute('href'))")
    assert all(address.startswith("#") for address in addresses)
    text = tab.evaluate("document.body.innerText")
    assert ATTACK in text
    assert "abc\\u202edcba" in text
    assert "\u202e" not in text
    assert tab.title() == HOSTILE.replace("\u202e", "\\u202e")
    assert "javascript:alert(1)" in text
    assert "__proto__" in texts(tab, "#overview tbody th")


def test_the_policy_stops_what_would_be_put_into_the_page(pages: dict[str, Path], browser: Any) -> None:
    tab = browser.new_page()
    refused: list[str] = []
    tab.on("console", lambda message: refused.append(message.text))
    tab.goto(pages["runs"].as_uri())
    later = "code => new Promise(done => setTimeout(() => { try { %s } catch { } done(typeof hacked); }))"
    for code in (
        "document.body.innerHTML = '<img src=x onerror=hacked=1>'",
        "document.head.append(Object.assign(document.createElement('script'), {text: 'hacked = 1'}))",
        "eval('hacked = 1')",
        "document.body.setAttribute('onclick', 'hacked = 1'); document.body.click()",
    ):
        assert tab.evaluate(later % code) == "undefined"
    tab.evaluate("fetch('https://example.org/').catch(() => 0)")
    assert any("Content Security Policy" in text or "TrustedScript" in text for text in refused)
    tab.close()


CONTRAST = """() => {
  const paint = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgba = (colour) => {
    paint.clearRect(0, 0, 1, 1); paint.fillStyle = colour; paint.fillRect(0, 0, 1, 1);
    return [...paint.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => {
    const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const [x, y, z] = [r, g, b].map((v) => linear(v / 255));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor);
      if (colour[3] === 255) return colour;
    }
    return [255, 255, 255, 255];
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const text = walker.currentNode.data.trim();
    if (!text || !element.checkVisibility() || element.closest("script, .unseen, :disabled")) continue;
    const [ink, ground] = [rgba(getComputedStyle(element).color), behind(element)].map(light);
    const ratio = (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05);
    found.push([ratio, `${element.tagName}.${element.className}: ${text.slice(0, 40)}`]);
  }
  return found;
}"""


@pytest.mark.parametrize("name", ["runs", "answers", "agents"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast_in_both_themes(
    pages: dict[str, Path], opened: Open, name: str, scheme: str
) -> None:
    tab = opened(pages[name], color_scheme=scheme)
    if name == "answers":
        tab.click(".matrix td button >> nth=0")
    tab.click("#theme")  # and by the switch, whatever the system prefers
    for _ in range(2):
        ratios = tab.evaluate(CONTRAST)
        assert len(ratios) > 100
        assert [text for ratio, text in ratios if ratio < 4.5] == []
        tab.click("#theme")
    dark = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    tab.click("#theme")
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") != dark


LACKING = """() => [
  ["th", (cell) => !cell.scope],
  ["table", (table) => !table.caption],
  ["input, select", (field) => !field.labels.length],
  [".chart svg", (one) => one.role !== "img" || !one.ariaLabel || !one.childNodes.length],
  ["button, a", (one) => !one.textContent.trim()],
  ["section", (one) => !document.getElementById(one.getAttribute("aria-labelledby"))],
].flatMap(([selector, lacks]) => [...document.querySelectorAll(selector)].filter(lacks))
  .map((element) => element.outerHTML.slice(0, 80))"""


@pytest.mark.parametrize("name", ["runs", "answers", "hostile", "agents"])
def test_keyboard_and_screen_reader_find_their_way(pages: dict[str, Path], opened: Open, name: str) -> None:
    tab = opened(pages[name])
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.className") == "skip"
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.id") == "main"
    assert tab.evaluate(LACKING) == []
    ids = tab.eval_on_selector_all("[id]", "all => all.map(one => one.id)")
    assert len(ids) == len(set(ids))
    tab.focus("#overview thead th:nth-child(2) button")
    tab.keyboard.press("Enter")
    assert tab.get_attribute("#overview thead th:nth-child(2)", "aria-sort") == "ascending"
    names = texts(tab, "#overview tbody th")
    tab.keyboard.press("Enter")
    assert texts(tab, "#overview tbody th") == names[::-1]


def test_it_prints_in_light_colours_without_what_only_a_screen_needs(
    pages: dict[str, Path], opened: Open
) -> None:
    tab = opened(pages["answers"], color_scheme="dark")
    assert len(tab.pdf()) > 20_000
    tab.emulate_media(media="print")
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert tab.is_hidden("nav")
    assert tab.is_hidden("#theme")
    assert tab.is_hidden("#diff-find")
    assert tab.evaluate("getComputedStyle(document.querySelector('.scroll.tall')).maxHeight") == "none"


@pytest.mark.slow
def test_without_javascript_the_tables_are_there(pages: dict[str, Path], browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto(pages["answers"].as_uri())
    assert "need JavaScript" in tab.text_content("noscript")
    assert tab.is_visible("#overview")
    assert tab.is_visible("#disagreements-0")
    assert tab.is_hidden("#queries")
    assert tab.is_hidden("#theme")
    context.close()
