"""A page is one file that asks nobody for anything, and shows every text as it is."""

from __future__ import annotations

from html import unescape
from pathlib import Path

import pytest

from shunter.report.page.charts import chart_text, figure, line
from shunter.report.page.parts import Chart, Commands, Details, Fact, Page, Prose, Section, Summary, Table
from shunter.report.page.writing import page_html, write_page
from tests.browser import NARROW, WIDE, OpenPage

NASTY = """<script>alert(1)</script> "quoted" 'q' $x$ & </title> <b>bold</b> \u202eleft {{ 7 * 7 }} ]]> <!-- %{x}"""
"""What a user, a job or a log may be called."""
SHOWN = NASTY.replace("\u202e", "\\u202e")
"""Marks that turn the direction of writing are written out."""


def nasty_page() -> Page:
    chart = Chart(
        figure([line(chart_text(NASTY, 200), [1, 2, 3], [1.0, 4.0, 2.0], "@c0")], "time [h]", "jobs"), NASTY, NASTY
    )
    table = Table((NASTY, "number"), ((NASTY, 1), (NASTY, 2.5)), NASTY)
    parts = (Prose(NASTY), table, chart, Commands((NASTY,), NASTY), Details(NASTY, (Prose(NASTY),)))
    summary = Summary(NASTY, (NASTY,), (Fact(NASTY, NASTY, NASTY),), (Commands((NASTY,)),))
    return Page(NASTY, NASTY, summary, (Section("nasty", NASTY, NASTY, parts),))


@pytest.fixture
def nasty(tmp_path: Path) -> Path:
    path = tmp_path / "nasty.html"
    write_page(path, nasty_page())
    return path


def test_texts_are_shown_as_they_are(nasty: Path, open_page: OpenPage) -> None:
    watched = open_page(nasty)
    page = watched.page
    page.on("dialog", lambda dialog: watched.errors.append(f"a text was run as a script: {dialog.message}"))
    assert page.locator("h1").inner_text() == SHOWN
    assert page.locator("td").first.inner_text() == SHOWN
    assert page.title().startswith(SHOWN)
    assert page.locator("main b, main script:not([type])").count() == 0


def test_a_chart_shows_names_as_they_are(nasty: Path, open_page: OpenPage) -> None:
    watched = open_page(nasty)
    watched.scroll_through()
    watched.page.wait_for_selector(".plot svg")
    watched.page.locator("details.numbers > summary").click()
    numbers = watched.page.locator("details.numbers td").first
    assert numbers.inner_text() == SHOWN
    assert watched.page.locator(".plot text b, .plot text [style*=bold]").count() == 0


def test_a_page_is_one_file_with_a_rule_that_lets_nothing_out(nasty: Path) -> None:
    text = nasty.read_text(encoding="utf-8")
    head = unescape(text[: text.index("<style")])
    assert text.startswith("<!DOCTYPE html>")
    assert "default-src 'none'" in head
    assert "script-src 'sha256-" in head
    assert "unsafe-inline' " not in head.split("style-src-attr")[0]
    for attribute in ("src=", 'href="http', "@import"):
        assert attribute not in head


def test_the_rule_stops_scripts_that_are_not_ours(nasty: Path, open_page: OpenPage) -> None:
    watched = open_page(nasty)
    watched.expected.append("Content Security Policy")
    ran = watched.page.evaluate(
        """() => { const one = document.createElement("script"); one.textContent = "window.ran = true";
        document.body.append(one); return window.ran === true; }"""
    )
    assert not ran
    assert watched.errors


@pytest.mark.parametrize("width", [NARROW, WIDE])
@pytest.mark.parametrize("dark", [False, True])
def test_a_page_fits_the_window(nasty: Path, open_page: OpenPage, width: int, dark: bool) -> None:
    watched = open_page(nasty, width=width, dark=dark)
    watched.scroll_through()
    assert watched.overflow() == 0


def test_the_theme_can_be_switched(nasty: Path, open_page: OpenPage) -> None:
    page = open_page(nasty).page
    color = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(color)
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate(color) != light
    assert page.get_by_role("button", name="Dark").get_attribute("aria-pressed") == "true"
    page.get_by_role("button", name="Light").click()
    assert page.evaluate(color) == light


def test_a_page_without_figures_is_small() -> None:
    page = Page("a", "b", Summary("c"), (Section("d", "D", "e", (Prose("f"),)),))
    assert len(page_html(page)) < 60_000


@pytest.mark.slow
def test_paper_is_light_whatever_the_screen_is(nasty: Path, open_page: OpenPage) -> None:
    page = open_page(nasty, dark=True).page
    color = "getComputedStyle(document.body).color"
    on_screen = page.evaluate(color)
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.evaluate(color) == "rgb(0, 0, 0)"
    page.locator(".plot svg").first.wait_for(state="attached")  # Also those that nobody has scrolled to are drawn.
    page.emulate_media(media="screen")
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(color) == on_screen
