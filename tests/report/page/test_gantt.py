"""The Gantt chart: its data are those of the schedule, and it does what its buttons and keys say."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shunter
from shunter.metrics.record import Record
from shunter.model.workload import Workload
from shunter.report.page.gantt_data import NOT_KNOWN, pack
from shunter.report.page.parts import Gantt, Page, Section, Summary
from shunter.report.page.writing import write_page
from tests.browser import NARROW, OpenPage, Watched
from tests.report.page.test_writing import NASTY, SHOWN

POOL = "generate:lublin?seed=3&jobs=500&cores=64&load=1.1"
GPUS = "generate:bursty-gpu?jobs=400&seed=2"


def unpacked(column: Mapping[str, Any]) -> np.ndarray[Any, Any]:
    """Returns a column as the page's script has it."""
    kinds = {"u32": "<u4", "i32": "<i4"}
    values = np.frombuffer(zlib.decompress(base64.b64decode(column["data"])), kinds[column["type"]]).astype(np.int64)
    return np.cumsum(values) if column.get("steps") else values


@pytest.mark.parametrize(("log", "amount"), [(POOL, "cores"), (GPUS, "gpus")])
def test_the_data_are_those_of_the_schedule(log: str, amount: str) -> None:
    schedule = shunter.simulate(log, policy="sjf", dispatch="easy")
    packed = pack(Record.of(schedule))
    bars = {name: unpacked(one) for name, one in packed["bars"].items()}
    rows = schedule.to_frame()
    area = np.bincount(bars["job"], weights=bars["length"] * bars["height"] / 1e6, minlength=len(rows))
    assert area == pytest.approx(rows["duration_s"].to_numpy() * rows[amount].to_numpy(), rel=1e-6, abs=1e-3)
    start_s = packed["unit_s"] * unpacked(packed["jobs"]["start"]) + rows["submit_s"].min()
    assert start_s == pytest.approx(rows["start_s"].to_numpy(), abs=packed["unit_s"])
    assert unpacked(packed["jobs"]["id"]).tolist() == rows["job_id"].to_list()
    assert (np.diff(bars["start"]) >= 0).all()
    top = sum(lane["size"] for lane in packed["lanes"])
    assert ((bars["low"] + bars["height"]) / 1000).max() <= top
    assert {int(row) for row in packed["options"]["notes"]["own"]} <= set(range(len(rows)))


def test_no_two_bars_lie_on_each_other() -> None:
    packed = pack(Record.of(shunter.simulate(POOL, policy="fcfs", dispatch="easy")))
    bars = {name: unpacked(one) for name, one in packed["bars"].items()}
    low, high, start = bars["low"], bars["low"] + bars["height"], bars["start"]
    end = start + bars["length"]
    for one in range(len(start)):
        others = (start < end[one]) & (end > start[one]) & (low < high[one]) & (high > low[one])
        assert others.sum() == 1


def test_a_job_that_never_ran_has_no_bar_but_a_row() -> None:
    schedule = shunter.simulate(workload_of(["a", "b"], [1.0, 99.0]), 4)
    packed = pack(Record.of(schedule))
    assert unpacked(packed["bars"]["job"]).tolist() == [0]
    assert unpacked(packed["jobs"]["start"])[1] == NOT_KNOWN


def workload_of(users: list[str], cores: list[float]) -> Workload:
    count = len(users)
    jobs = pl.DataFrame(
        {
            "job_id": list(range(1, count + 1)),
            "user": users,
            "submit_s": [100.0 * number for number in range(count)],
            "run_s": [3600.0] * count,
            "tasks": [1] * count,
            "cores_per_task": cores,
        }
    )
    return Workload.from_frame(jobs, name="small")


def gantt_page(path: Path, schedule: shunter.Schedule) -> Path:
    gantt = Gantt("Jobs", pack(Record.of(schedule)), "caption")
    write_page(path, Page("Gantt", "test", Summary("Gantt"), (Section("gantt", "Gantt", "", (gantt,)),)))
    return path


@pytest.fixture(scope="module")
def page_of_pool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gantt") / "pool.html"
    return gantt_page(path, shunter.simulate(POOL, policy="sjf", dispatch="easy"))


def drawn(watched: Watched) -> Watched:
    watched.page.locator("figure.gantt").scroll_into_view_if_needed()
    watched.page.wait_for_selector(".shunter-gantt canvas")
    return watched


def view(watched: Watched) -> dict[str, float]:
    # A frame later, what was asked for is drawn.
    watched.page.wait_for_timeout(50)
    return dict(watched.page.evaluate("({...document.querySelector('figure.gantt').gantt.view})"))


def colors(watched: Watched) -> int:
    """Returns how many colors the canvas has."""
    watched.page.wait_for_timeout(50)
    script = """() => { const canvas = document.querySelector(".shunter-gantt canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height - 40);
    return new Set(new Uint32Array(data.buffer)).size; }"""
    return int(watched.page.evaluate(script))


def test_keys_zoom_and_move(page_of_pool: Path, open_page: OpenPage) -> None:
    watched = drawn(open_page(page_of_pool))
    whole = view(watched)
    assert colors(watched) > 4
    canvas = watched.page.locator(".shunter-gantt canvas").first
    canvas.focus()
    canvas.press("+")
    near = view(watched)
    assert near["to"] - near["from"] < 0.7 * (whole["to"] - whole["from"])
    canvas.press("ArrowRight")
    assert view(watched)["from"] > near["from"]
    canvas.press("0")
    assert view(watched) == whole


def test_buttons_and_the_wheel_zoom(page_of_pool: Path, open_page: OpenPage) -> None:
    watched = drawn(open_page(page_of_pool))
    page = watched.page
    whole = view(watched)
    page.get_by_role("button", name="Zoom in").click()
    near = view(watched)
    assert near["to"] - near["from"] == pytest.approx(0.5 * (whole["to"] - whole["from"]), rel=0.1)
    page.get_by_role("button", name="Show all").click()
    page.locator(".shunter-gantt canvas").first.hover(position={"x": 400, "y": 200})
    page.keyboard.down("Control")
    page.mouse.wheel(0, -300)
    page.keyboard.up("Control")
    assert view(watched)["to"] - view(watched)["from"] < whole["to"] - whole["from"]


def test_dragging_moves_time(page_of_pool: Path, open_page: OpenPage) -> None:
    watched = drawn(open_page(page_of_pool))
    page = watched.page
    page.get_by_role("button", name="Zoom in").click()
    before = view(watched)
    box = page.locator(".shunter-gantt canvas").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 500, box["y"] + 200)
    page.mouse.down()
    page.mouse.move(box["x"] + 300, box["y"] + 200, steps=4)
    page.mouse.up()
    assert view(watched)["from"] > before["from"]


def test_a_search_by_id_shows_the_job(page_of_pool: Path, open_page: OpenPage) -> None:
    watched = drawn(open_page(page_of_pool))
    page = watched.page
    page.get_by_label("Search a job by its id, or a user").fill("123")
    card = page.locator(".shunter-gantt .job")
    card.wait_for()
    assert "Job 123" in card.inner_text()
    assert page.locator(".shunter-gantt .found").inner_text() == "1 job"
    assert "waited" in card.inner_text()
    assert "It started as soon as it came." in card.inner_text() or "When it came" in card.inner_text()
    page.locator(".shunter-gantt canvas").first.press("Escape")
    assert card.is_hidden()


def test_a_click_tells_of_the_job_that_is_there(page_of_pool: Path, open_page: OpenPage) -> None:
    watched = drawn(open_page(page_of_pool))
    page = watched.page
    # The middle of the bar with the largest area, as it is drawn.
    where = page.evaluate(
        """() => { const gantt = document.querySelector("figure.gantt").gantt, { bars } = gantt;
        let best = 0;
        const area = (at) => (bars.end[at] - bars.start[at]) * (bars.high[at] - bars.low[at]);
        for (let at = 0; at < bars.count; at++) if (area(at) > area(best)) best = at;
        const x = gantt.xOf((bars.start[best] + bars.end[best]) / 2);
        const y = gantt.yOf((bars.low[best] + bars.high[best]) / 2);
        return { x, y, id: gantt.idOf(bars.job[best]) }; }"""
    )
    page.locator(".shunter-gantt canvas").first.click(position={"x": where["x"], "y": where["y"]})
    assert page.locator(".shunter-gantt .job h4").inner_text() == f"Job {where['id']}"


def test_names_are_shown_as_they_are(tmp_path: Path, open_page: OpenPage) -> None:
    schedule = shunter.simulate(workload_of([NASTY, "bob", NASTY], [4.0, 2.0, 2.0]), 4)
    watched = drawn(open_page(gantt_page(tmp_path / "nasty.html", schedule)))
    page = watched.page
    assert SHOWN in page.locator(".shunter-gantt .legend").inner_text()
    search = page.get_by_label("Search a job by its id, or a user")
    search.fill("<script>")
    page.locator(".shunter-gantt .found", has_text="2 jobs").wait_for()
    search.press("Enter")
    assert SHOWN in page.locator(".shunter-gantt .job").inner_text()


def test_it_fits_a_phone_and_a_dark_page(page_of_pool: Path, open_page: OpenPage) -> None:
    light, dark = (drawn(open_page(page_of_pool, width=NARROW, dark=dark)) for dark in (False, True))
    pixel = (
        """() => [...document.querySelector(".shunter-gantt canvas").getContext("2d").getImageData(2, 2, 1, 1).data]"""
    )
    for watched in (light, dark):
        assert watched.overflow() == 0
        assert colors(watched) > 4
    assert sum(light.page.evaluate(pixel)) > sum(dark.page.evaluate(pixel))


@pytest.mark.slow
def test_predicted_bars_now_and_more_data(page_of_pool: Path, open_page: OpenPage) -> None:
    """What the dashboard does with it: lanes by name, a line at now, predicted starts, new data in the same view."""
    watched = drawn(open_page(page_of_pool))
    found = watched.page.evaluate(
        """() => { const place = document.createElement("div");
        document.querySelector("main").append(place);
        const bars = { lane: [0, 1], start: [0, 60], end: [40, 90], job: [0, 1],
          predicted: [0, 1], earliest: [0, 55], latest: [0, 80] };
        const gantt = new Gantt(place, { lanes: ["a", "b"], now: 50, jobs: { id: [7, 8] }, bars }, { height: 120 });
        gantt.show(10, 50);
        const before = JSON.stringify(gantt.view);
        const more = { lane: [0], start: [50], end: [70], job: [0], predicted: [0], earliest: [0], latest: [0] };
        gantt.append({ jobs: { id: [9] }, bars: more });
        gantt.paint();
        const kept = JSON.stringify(gantt.view) === before;
        gantt.find("9");
        return { count: gantt.bars.count, kept, selected: gantt.idOf(gantt.selected), lanes: gantt.lanesOf(2) }; }"""
    )
    assert found == {"count": 3, "kept": True, "selected": "9", "lanes": ["a"]}
