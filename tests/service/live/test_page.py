"""The page in a browser: nothing leaves the machine, no error in the console, and what people do with it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from shunter.model.cluster import Cluster
from shunter.service.live.controls import what_if_panel
from shunter.service.live.hub import Hub
from shunter.service.live.log_source import LogSource
from shunter.service.live.panels import (
    Bar,
    Column,
    Expected,
    Fact,
    Lane,
    Line,
    NodeState,
    bars,
    facts,
    gantt,
    lines,
    log,
    node_map,
    table,
)
from shunter.service.live.runs_source import RunsSource
from shunter.service.live.sources import Source
from shunter.service.live.what_if import Offer
from shunter.workloads.reading import read_log
from tests.browser import NARROW, WIDE, OpenPage, Watched
from tests.service.live.made import Made, wait_until
from tests.service.live.test_sources import HOSTILE, PROGRESS, schedulers
from tests.service.talking import TOKEN, Talk, serving

if TYPE_CHECKING:
    from playwright.sync_api import Page

ANSWERED_MS = 15_000


def everything(now_s: float, name: str) -> Made:
    """Returns a source with a panel of every kind, in which all names are the same."""
    source = Made(name, period_s=0.1)
    rows = [[HOSTILE, place, now_s - 60 * place] for place in range(30)]
    bar = Bar(0, 1, now_s - 600, now_s + 600, "running", HOSTILE, HOSTILE)
    expected = Expected(HOSTILE, now_s - 60, now_s + 60, now_s + 300, now_s + 900, 600.0, HOSTILE)
    source.shown = {
        "facts": facts(HOSTILE, [Fact(HOSTILE, HOSTILE, note=HOSTILE, tone="bad")], HOSTILE),
        "reasons": bars(HOSTILE, {HOSTILE: 3.0}, "jobs"),
        "nodes": node_map(HOSTILE, [NodeState(HOSTILE, 4, 2, 2, (1.0, 0.5), False, [HOSTILE])]),
        "gantt": gantt(HOSTILE, [Lane(HOSTILE, 0, 4)], [bar], [expected]),
        "table": table(HOSTILE, [Column(HOSTILE), Column("Number", "number"), Column("When", "since")], rows),
        "lines": lines(HOSTILE, [Line(HOSTILE, [1.0, 2.0, 3.0], [1.0, 0.5, 0.7])], (HOSTILE, HOSTILE)),
        "log": log(HOSTILE, [(now_s, HOSTILE, HOSTILE)]),
        "what-if": what_if_panel(Offer({HOSTILE: schedulers("sjf")["sjf"]}, 4, HOSTILE).controls, HOSTILE),
    }
    return source


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    """A service with a source of every kind of panel, a log, and a folder of runs."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "first").mkdir()
    (folder / "first" / "progress.csv").write_text(PROGRESS)
    (folder / "first" / "report.html").write_text(
        "<!doctype html><title>r</title><script>document.title=origin</script>"
    )
    crowded = read_log("generate:lublin?seed=7&jobs=400&cores=64&load=1.2", Cluster.parse("64"))
    sources: list[Source] = [
        everything(time.time(), HOSTILE),
        LogSource("lublin", crowded, schedulers("fcfs", "sjf")),
        RunsSource("runs", folder),
    ]
    with serving(token=TOKEN, hub=Hub(sources)) as talk:
        yield talk


def enter(talk: Talk, open_page: OpenPage, tab: str = "", width: int = WIDE, dark: bool = False) -> Watched:
    """Opens the page by its link, and a tab of it."""
    watched = open_page(f"http://127.0.0.1:{talk.where}/live#{TOKEN.decode()}", width=width, dark=dark)
    watched.page.set_default_timeout(ANSWERED_MS)
    watched.page.wait_for_selector("#tabs [role=tab]")
    if tab:
        watched.page.get_by_role("tab", name=tab).click()
    return watched


def seen(page: Page, key: str) -> str:
    """Returns the words of a panel of the tab that is open, when it is there."""
    place = page.locator(f".source:not([hidden]) > .panels > [data-key='{key}']")
    place.wait_for()
    return place.inner_text()


@pytest.mark.parametrize(("width", "dark"), [(WIDE, False), (NARROW, True)])
def test_names_are_text_whatever_they_are_and_nothing_is_wider_than_the_window(
    live: Talk, open_page: OpenPage, width: int, dark: bool
) -> None:
    watched = enter(live, open_page, width=width, dark=dark)
    page = watched.page
    for key in ("facts", "reasons", "gantt", "table", "log", "what-if"):
        assert "<script>alert('1')</script>" in seen(page, key), key
    page.wait_for_selector(".shunter-gantt canvas")
    assert page.evaluate("document.querySelectorAll('main script').length") == 0
    assert watched.overflow() == 0
    for tab in ("lublin", "runs"):
        page.get_by_role("tab", name=tab).click()
        seen(page, "facts")
        page.wait_for_timeout(300)
        assert watched.overflow() == 0, tab


UNNAMED = """
[...document.querySelectorAll('input, select, button, svg[role=img], canvas[role], [role=region], ol.log')].filter(
  (one) => !(one.getAttribute('aria-label') || one.getAttribute('aria-labelledby') || one.labels?.length
    || (one.tagName === 'BUTTON' && one.textContent.trim()))).map((one) => one.outerHTML.slice(0, 80))
"""


def test_everything_that_is_used_or_looked_at_has_a_name(live: Talk, open_page: OpenPage) -> None:
    page = enter(live, open_page).page
    seen(page, "what-if")
    for tab in ("lublin", "runs"):
        page.get_by_role("tab", name=tab).click()
        seen(page, "facts")
    page.wait_for_timeout(500)
    assert page.evaluate(UNNAMED) == []
    assert page.locator("h1").count() == 1


def test_the_token_goes_from_the_address_and_a_reload_needs_none(live: Talk, open_page: OpenPage) -> None:
    page = enter(live, open_page).page
    assert page.url == f"http://127.0.0.1:{live.where}/live"
    page.reload()
    page.wait_for_selector("#tabs [role=tab]")
    assert not page.locator("#sign-in").is_visible()
    assert page.evaluate("document.cookie") == ""
    stored = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    assert TOKEN.decode() not in stored


def test_two_dashboards_in_one_browser_keep_out_of_each_others_way(live: Talk, open_page: OpenPage) -> None:
    page = enter(live, open_page).page
    with serving(token=TOKEN[::-1], hub=Hub([Made("another")])) as other:
        second = page.context.new_page()
        second.goto(f"http://127.0.0.1:{other.where}/live#{TOKEN[::-1].decode()}")
        second.get_by_role("tab", name="another").wait_for()
        for one in (page, second):
            one.reload()
            one.get_by_role("tab").first.wait_for()
        second.close()


def test_without_the_link_the_page_asks_for_the_token(live: Talk, open_page: OpenPage) -> None:
    watched = open_page(f"http://127.0.0.1:{live.where}/live")
    watched.expected = ["401"]
    page = watched.page
    page.locator("#token").fill("a wrong token")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_text("not the token of this service").wait_for()
    page.locator("#token").fill(TOKEN.decode())
    page.keyboard.press("Enter")
    page.wait_for_selector("#tabs [role=tab]")
    assert not page.locator("#sign-in").is_visible()


def test_tabs_and_tables_work_by_keyboard(live: Talk, open_page: OpenPage) -> None:
    page = enter(live, open_page).page
    first = page.get_by_role("tab").first
    first.focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.innerText").endswith("lublin")
    page.keyboard.press("Home")
    rows = page.locator("[data-key=table] tbody tr")
    assert rows.count() == 12
    page.locator("[data-key=table] .unfold").focus()
    page.keyboard.press("Enter")
    assert rows.count() == 30
    page.locator("[data-key=table] input[type=search]").fill("29")
    page.get_by_text("1 of 30").wait_for()
    assert rows.count() == 1
    page.locator("[data-key=table] input[type=search]").fill("")
    rows.nth(29).wait_for()
    number = page.locator("[data-key=table] th button", has_text="Number")
    number.press("Enter")
    number.press("Enter")
    assert page.locator("[data-key=table] th[aria-sort=descending]").count() == 1
    assert rows.first.locator("td").nth(1).inner_text() == "29"


def test_new_rows_leave_what_somebody_has_typed(live: Talk, open_page: OpenPage) -> None:
    page = enter(live, open_page).page
    source = live.hub.sources[HOSTILE]
    assert isinstance(source, Made)
    page.locator("[data-key=table] input[type=search]").fill("fresh")
    page.get_by_text("No row has this.").wait_for()
    before = source.shown
    rows = [["fresh row", 1, time.time()], *[["old", 2, time.time()]] * 20]
    source.shown = {
        **before,
        "table": table("T", [Column("Name"), Column("Number", "number"), Column("When", "since")], rows),
    }
    page.get_by_text("fresh row").wait_for()
    assert page.evaluate("document.activeElement.value") == "fresh"
    source.shown = before


def test_a_job_of_the_chart_is_found_and_told(live: Talk, open_page: OpenPage) -> None:
    page = enter(live, open_page, "lublin").page
    chart = page.locator(".source:not([hidden]) .shunter-gantt")
    chart.locator("input[type=search]").fill("17")
    chart.locator(".job h4", has_text="Job 17").wait_for()
    canvas = chart.locator("canvas").first
    canvas.focus()
    page.keyboard.press("+")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("0")


def test_sliders_are_answered(live: Talk, open_page: OpenPage) -> None:
    page = enter(live, open_page, "lublin").page
    seen(page, "what-if")
    panel = page.locator(".source:not([hidden]) .panels > [data-key='what-if']").first
    began = time.monotonic()
    panel.get_by_label("Nodes").fill("150")
    panel.locator(".answer [data-key=figures]").wait_for()
    # Generous, for machines that do other things as well.
    assert time.monotonic() - began < 10
    assert "96 cores (+32)" in panel.locator(".answer [data-key=figures]").inner_text()
    page.locator("#said", has_text="The answer is there").wait_for(state="attached")
    panel.get_by_label("Policy").select_option("sjf")
    panel.get_by_text("sjf, easy").wait_for()
    panel.get_by_role("button", name="Reset").click()
    assert panel.locator(".answer [data-key=figures]").count() == 0


def test_a_log_is_played_through(live: Talk, open_page: OpenPage) -> None:
    page = enter(live, open_page, "lublin").page
    panel = page.locator(".source:not([hidden]) .panels > [data-key=replay]")
    panel.locator("[data-key=decision]").wait_for()
    before = panel.locator("output").inner_text()
    panel.get_by_label("Speed").select_option("86400")
    panel.get_by_role("button", name="Play").click()
    panel.locator("output", has_not_text=before).wait_for()
    panel.get_by_role("button", name="Pause").click()


def test_a_report_runs_in_a_box_of_its_own(live: Talk, open_page: OpenPage) -> None:
    page = enter(live, open_page, "runs").page
    link = page.get_by_role("link", name="open")
    assert link.get_attribute("rel") == "noopener"
    page.goto(f"http://127.0.0.1:{live.where}{link.get_attribute('href')}")
    # Its scripts run, and are of no origin: they cannot ask this service anything.
    wait_until(lambda: page.title() == "null", "the report to run")


@pytest.mark.slow
def test_the_page_says_that_the_connection_is_lost_and_comes_back_by_itself(
    open_page: OpenPage, tmp_path: Path
) -> None:
    source = Made()
    with serving(token=TOKEN, hub=Hub([source])) as talk:
        port = talk.where
        watched = enter(talk, open_page)
        watched.expected = ["ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_CONNECTION_RESET",
                            "ERR_EMPTY_RESPONSE"]  # fmt: skip
        page = watched.page
        page.get_by_text("Live", exact=True).wait_for()
    page.locator("#connection-words", has_text="Connection lost").wait_for(timeout=ANSWERED_MS)
    source.show(facts=42)
    assert isinstance(port, int)
    with serving(token=TOKEN, hub=Hub([source]), port=port) as talk:
        page.locator(".fact .value", has_text="42").wait_for(timeout=ANSWERED_MS)
        assert page.locator("#connection").get_attribute("data-state") == "connected"
        source.trouble = HOSTILE
        page.locator("[data-key=trouble]").get_by_text(HOSTILE[:20]).wait_for()
        source.trouble = ""
        page.locator("[data-key=trouble]").wait_for(state="detached")
        page.close()
        wait_until(lambda: not talk.hub.viewers, "the page to leave")
