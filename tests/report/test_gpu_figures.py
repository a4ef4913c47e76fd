"""Figures of clusters of GPUs: what is drawn is counted in GPUs where GPUs bind."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.patches import StepPatch

import shunter
from shunter import read_cluster, read_workload, simulate
from shunter.metrics.sizes import GPUS
from shunter.model.cluster import Node
from shunter.report import schedule_figure as figures
from shunter.report.comparison_figure import draw_comparison
from shunter.report.schedule_figure import draw_schedule, pack_rectangles
from tests.metrics.handmade import Row, cluster, make_schedule

ON = cluster(Node("a", 64, gpus=4), Node("b", 64, gpus=4))
ROWS = [Row(0, 0, 10, {0: 2}, gpus=1), Row(0, 0, 20, {0: 1, 1: 1}, gpus=2), Row(0, 10, 30, {1: 1}, gpus=0.5)]


def test_rectangles_are_as_high_as_jobs_have_gpus() -> None:
    schedule = make_schedule(ROWS, ON)
    rectangles, owner = pack_rectangles(schedule, GPUS)
    area = (rectangles[:, 1] - rectangles[:, 0]) / 1000 * (rectangles[:, 3] - rectangles[:, 2])
    np.testing.assert_allclose(np.bincount(owner, weights=area), [2 * 10, 4 * 20, 0.5 * 20])


def test_the_gantt_chart_counts_gpus() -> None:
    use, _, gantt = draw_schedule(make_schedule(ROWS, ON)).axes
    assert [line.get_label() for line in use.lines] == ["GPUs", "cores"]
    np.testing.assert_allclose(np.asarray(use.lines[0].get_ydata())[0], 100 * 6 / 8)
    assert gantt.get_ylabel() == "GPUs of each node"
    assert gantt.get_ylim() == (0, 8)
    (jobs,) = [each for each in gantt.collections if isinstance(each, PolyCollection)]
    # The second job goes on from node a to node b.
    assert len(jobs.get_paths()) == 3


def test_the_heat_map_counts_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "OUTLINED_JOBS", 2)
    figure = draw_schedule(make_schedule(ROWS, ON))
    gantt, bar = figure.axes[2:]
    assert bar.get_ylabel() == "GPUs in use [%]"
    (image,) = gantt.get_images()
    shares = np.asarray(image.get_array())
    # Node a has all its GPUs in use for a third of the time, and half of them for the next.
    np.testing.assert_allclose([shares[0, 10], shares[0, 500], shares[0, 900]], [100, 50, 0])


def test_an_empty_queue_is_drawn_as_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    """Starts at odd places of many bins: their fractions must cancel exactly."""
    monkeypatch.setattr(figures, "EXACT_CHANGES", 10)
    rows = [Row(0.1 * number, 0.1 * number, 0.1 * number + 7.3, {0: 1}) for number in range(300)]
    queue = draw_schedule(make_schedule(rows, cluster(Node("a", 100)))).axes[1]
    assert set(np.asarray(queue.lines[0].get_ydata()).tolist()) == {0.0}
    assert queue.get_ylim() == (0, 1)


def test_a_comparison_is_drawn_in_gpus_with_its_marks() -> None:
    log = "generate:bursty-gpu?seed=42&jobs=400&load=0.9"
    compared = shunter.compare(log, policy=["fcfs", "las"], windows=5, length=70)
    figure = draw_comparison(compared)
    boxes, sizes, use = figure.axes
    assert [tick.get_text() for tick in sizes.get_xticklabels()] == ["1", "2", "3–4", "5–8"]
    assert (sizes.get_xlabel(), use.get_ylabel()) == ("GPUs of the job", "GPUs in use")
    names = [tick.get_text() for tick in boxes.get_yticklabels()]
    assert "las/greedy ‡" in names
    assert figure.get_supxlabel().startswith("§ plans by true run times")
    # What a stopped job does not hold is not in use.
    steps = [one for one in use.patches if isinstance(one, StepPatch)]
    assert max(float(np.nanmax(one.get_data()[0])) for one in steps) <= 1.0 + 1e-9


def test_a_calibration_counts_gpus() -> None:
    jobs = read_workload("generate:bursty-gpu?seed=42&jobs=400&load=0.9")
    on = read_cluster("generate:bursty-gpu?nodes=8")
    waits = simulate(jobs, on).queue_wait_s
    frame = jobs.jobs.with_columns(logged_wait_s=waits)
    told = shunter.calibrate(shunter.Workload.from_frame(frame, name="gpus"), on).to_json()
    assert told["sizes_of"] == "gpus"
    assert [group["label"] for group in told["by_gpus"]] == ["1", "2", "3–4", "5–8"]
    assert told["logged_load"]["cluster_gpus"] == 64
    assert told["logged"]["gpu_utilization"] == pytest.approx(told["simulated"]["gpu_utilization"])
    assert not {"by_cores", "core_utilization", "capacity"} & {*told, *told["logged"], *told["logged_load"]}
