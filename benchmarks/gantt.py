"""How quick the Gantt chart of a page is: frames a second while it is panned and zoomed, loading time, and sizes.

    python benchmarks/gantt.py [--jobs 100000] [--nodes 16]

It needs Chromium (make services) and playwright. The bars are 30 frames a second while panning, and 6 MB without the
packed chart.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

import shunter
from shunter.metrics.record import Record
from shunter.model.cluster import Cluster, Node
from shunter.report.page import charts
from shunter.report.page.gantt_data import pack
from shunter.report.page.parts import Chart, Gantt, Page, Section, Summary
from shunter.report.page.writing import page_html

if TYPE_CHECKING:
    from playwright.sync_api import Page as Window

ARGUMENTS: Final = ("--no-sandbox", "--headless", "--disable-gpu", "--disable-background-networking", "--no-first-run")
SECONDS: Final = 4.0
LEAST_FRAMES, MOST_MB = 30.0, 6.0
PAN: Final = "gantt.pan(Math.sin(frame / 40) * 0.01)"
DRAG: Final = "gantt.pan(frame % 2 ? 0.004 : -0.003, 0)"
ZOOM: Final = "gantt.zoom(Math.floor(frame / 30) % 2 ? 1.05 : 1 / 1.05, 0.4)"
MOVES: Final = (
    ("pan, everything in view", "gantt.fit()", PAN),
    ("pan, a tenth in view", "gantt.fit(); gantt.zoom(0.1)", DRAG),
    ("pan, a hundredth in view", "gantt.fit(); gantt.zoom(0.01)", DRAG),
    ("zoom in and out", "gantt.fit()", ZOOM),
)
"""What is done, where it begins, and what each frame does."""
MEASURE: Final = """([begin, move, seconds]) => new Promise((done) => {
  const gantt = document.querySelector("figure.gantt").gantt;
  const begun = new Function("gantt", begin), act = new Function("gantt", "frame", move);
  const times = [];
  begun(gantt);
  const step = (now) => {
    times.push(now);
    if (now - times[0] > seconds * 1000) { done(times); return; }
    act(gantt, times.length);
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})"""


def make_page(jobs: int, nodes: int) -> tuple[str, dict[str, Any], float]:
    """Returns a page with so many jobs, the packed chart, and how long packing took."""
    cluster: Any = None
    if nodes:
        cluster = Cluster.from_nodes(tuple(Node(f"node{number}", 16.0) for number in range(nodes)), "nodes")
    workload = f"generate:lublin?jobs={jobs}&cores=256&load=0.9&seed=1"
    schedule = shunter.simulate(workload, cluster, policy="sjf", dispatch="easy")
    begin = time.perf_counter()
    packed = pack(Record.of(schedule))
    seconds = time.perf_counter() - begin
    # A page with figures has Plotly's script, too.
    chart = Chart(charts.figure([charts.line("a line", [0, 1], [0, 1], "@c0")], "x", "y"), "", "a line")
    section = Section("gantt", "Jobs over time", "", (Gantt("Jobs", packed, ""), chart))
    return page_html(Page("Gantt", "benchmark", Summary(f"{jobs:,} jobs"), (section,))), packed, seconds


def measure(window: Window, name: str, begin: str, move: str) -> float:
    """Prints how one way to move went, and returns its frames a second."""
    times = np.array(window.evaluate(MEASURE, [begin, move, SECONDS]))
    lasts = np.diff(times)[2:]
    frames = 1000 / float(np.mean(lasts))
    worst = float(np.quantile(lasts, 0.99))
    print(f"{name:28} {frames:6.1f} frames/s   median {np.median(lasts):5.1f} ms   99 % {worst:5.1f} ms")
    return frames


def main() -> int:
    """Measures, prints, and returns 1 if a bar is missed."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--jobs", type=int, default=100_000)
    options.add_argument("--nodes", type=int, default=0, help="nodes of 16 cores; 0: one pool of 256 cores")
    asked = options.parse_args()
    program = shutil.which("chromium")
    if program is None:
        print("nothing measured: chromium is not installed (Debian: make services)")
        return 0
    from playwright.sync_api import sync_playwright

    text, packed, seconds = make_page(asked.jobs, asked.nodes)
    data_mb = sum(len(str(packed[name])) for name in ("bars", "jobs")) / 1e6
    rest_mb = len(text.encode()) / 1e6 - data_mb
    print(f"{asked.jobs:,} jobs: packed in {seconds:.1f} s, {data_mb:.2f} MB; the page without them {rest_mb:.2f} MB")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "gantt.html"
        # The page's own rule runs no other script; measuring needs to.
        path.write_text(text.replace("script-src", "script-src 'unsafe-eval'", 1), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        window = browser.new_page(viewport={"width": 1440, "height": 900})
        begin = time.perf_counter()
        window.goto(path.as_uri())
        window.wait_for_function("document.querySelector('figure.gantt').gantt !== undefined")
        print(f"loaded and drawn in {time.perf_counter() - begin:.2f} s")
        frames = [measure(window, *move) for move in MOVES]
        browser.close()
    missed = min(frames[:3]) < LEAST_FRAMES or rest_mb > MOST_MB
    print(
        "a bar is MISSED" if missed else f"both bars hold: {LEAST_FRAMES:.0f} frames/s while panning, {MOST_MB:.0f} MB"
    )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
