"""The figure of a log: what is drawn is what the jobs are, and empty panels say why."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.axes import Axes
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch

from shunter.model.cluster import Cluster, Node
from shunter.model.workload import Workload
from shunter.report.workload_figure import draw_workload
from shunter.workloads.clock import Clock
from shunter.workloads.statistics import describe

MONDAY_S = 1_609_718_400.0
"""The fourth of January 2021, 0:00 UTC."""
HOUR_S, DAY_S = 3600, 86_400


def drawn(cluster: Cluster | None = None, clock: Clock | None = None, **columns: list[Any]) -> Figure:
    """Returns the figure of these jobs."""
    workload = Workload.from_frame(pl.DataFrame(columns), name="mine.csv")
    return draw_workload(workload, cluster, describe(workload, cluster, clock))


def panel(figure: Figure, title: str) -> Axes:
    (found,) = (axes for axes in figure.axes if axes.get_title().startswith(title))
    return found


def steps(axes: Axes) -> tuple[list[float], list[float]]:
    """Returns the values and the edges of a panel's only step function."""
    (patch,) = (patch for patch in axes.patches if isinstance(patch, StepPatch))
    values, edges, _ = patch.get_data()
    return values.tolist(), edges.tolist()


def bars(axes: Axes, label: str, horizontal: bool = False) -> list[float]:
    """Returns the lengths of the bars with this label."""
    (found,) = (one for one in axes.containers if isinstance(one, BarContainer) and one.get_label() == label)
    return [round(bar.get_width() if horizontal else bar.get_height(), 6) for bar in found]


def busy_hours(week: Axes) -> list[list[int]]:
    """Returns the day and the hour of all in which jobs come."""
    jobs = week.images[0].get_array()
    assert jobs is not None
    hours: list[list[int]] = np.argwhere(np.ma.filled(jobs, 0.0) > 0).tolist()
    return hours


def test_arrivals_and_load_by_hour() -> None:
    figure = drawn(
        Cluster.pool(4),
        submit_s=[100.0, 200.0, HOUR_S + 200.0, 3 * HOUR_S + 99.0],
        run_s=[3600.0, 1800.0, 3600.0, 60.0],
        # The third can never run.
        tasks=[2, 4, 5, 3],
    )
    arrivals = panel(figure, "arrivals")
    assert (arrivals.get_ylabel(), arrivals.get_xlabel()) == ("jobs per hour", "hours since the first arrival")
    values, edges = steps(arrivals)
    assert values == [2, 1, 1]
    assert edges == pytest.approx([0, 1, 2, 3])
    (load,) = (axes for axes in figure.axes if axes.get_ylabel() == "offered load by hour [%]")
    assert steps(load)[0] == pytest.approx([100.0, 0.0, 100 * 180 / (4 * 3600)])


def test_days_of_dates_begin_at_midnight() -> None:
    begin_s = MONDAY_S - HOUR_S
    figure = drawn(submit_s=[begin_s, begin_s + HOUR_S, begin_s + 30 * DAY_S], run_s=[1.0] * 3)
    assert panel(figure, "arrivals").get_ylabel() == "jobs per day"
    values, edges = steps(panel(figure, "arrivals"))
    assert (values[:2], values[-1], len(values)) == ([1, 1], 1, 31)
    assert edges[1] == MONDAY_S / DAY_S
    assert not any(axes.get_ylabel().startswith("offered load") for axes in figure.axes)


def test_hours_of_the_week() -> None:
    times_s = [MONDAY_S + 30.0, MONDAY_S + 60.0, MONDAY_S + DAY_S + 13 * HOUR_S, MONDAY_S + 7 * DAY_S]
    week = panel(drawn(submit_s=times_s, run_s=[1.0] * 4), "hours of the week")
    (image,) = week.images
    jobs = np.asarray(image.get_array())
    # The first hour lies twice in the span, with three jobs in all.
    assert (jobs[0, 0], jobs[1, 13], jobs.sum()) == (1.5, 1.0, 2.5)
    assert week.get_yticklabels()[0].get_text() == "Mon"
    assert week.get_xlabel() == "hour of the day (UTC)"


def test_hours_are_those_of_the_clock() -> None:
    clock = Clock(MONDAY_S + 5 * HOUR_S, "local standard time")
    week = panel(drawn(clock=clock, submit_s=[0.0], run_s=[1.0]), "hours of the week")
    assert busy_hours(week) == [[0, 5]]
    assert week.get_xlabel() == "hour of the day (local standard time)"


def test_a_log_without_dates_has_days_with_numbers() -> None:
    week = panel(drawn(submit_s=[25 * HOUR_S, 26 * HOUR_S], run_s=[1.0] * 2), "hours of the week")
    assert busy_hours(week) == [[1, 1], [1, 2]]
    assert week.get_yticklabels()[0].get_text() == "day 1"
    assert week.get_xlabel() == "hour of the day (counted from the log's time 0)"


def test_times_are_those_that_are_told() -> None:
    figure = drawn(submit_s=[0.0, 1.0], run_s=[10.0, 0.5], requested_s=[100.0, None])
    times = panel(figure, "times")
    lines = {str(line.get_label()): line for line in times.lines}
    assert list(lines) == ["requested time", "run time"]
    seconds, share = (np.asarray(values) for values in lines["run time"].get_data())
    assert (seconds[0], seconds[-1]) == (1.0, 10.0)
    assert share[seconds > 1.0].min() == pytest.approx(50.2)
    assert panel(figure, "requests").get_ylabel() == "run time"


def test_sizes_in_cores() -> None:
    sizes = panel(drawn(submit_s=[0.0] * 4, run_s=[10.0, 10.0, 10.0, 5.0], tasks=[1, 3, 2, 8]), "sizes")
    assert [label.get_text() for label in sizes.get_xticklabels()] == ["≤ 1", "2", "4", "8"]
    assert bars(sizes, "jobs") == [25, 50, 0, 25]
    assert bars(sizes, "core-hours") == [10, 50, 0, 40]


def test_sizes_in_gpus() -> None:
    cluster = Cluster.from_nodes((Node("a", 16.0, gpus=4),), "gpus")
    gpus = [0.0, 0.5, 1.0]
    figure = drawn(cluster, submit_s=[0.0, 1.0, 2.0], run_s=[10.0] * 3, tasks=[4, 1, 2048], gpus_per_task=gpus)
    names = [label.get_text() for label in panel(figure, "sizes").get_xticklabels()]
    assert names == ["0", "≤ 1", "2", "4", "8", "16", "32", "64", "128", "256", "512", "1k", "2k"]
    assert bars(panel(figure, "sizes"), "jobs") == pytest.approx([100 / 3, 100 / 3, *[0] * 10, 100 / 3], abs=1e-5)
    assert "16 cores, 4 GPUs" in str(figure.get_suptitle())
    by_size = panel(figure, "run time by size")
    assert "the log tells no requested times" in by_size.get_title()
    assert "GPUs of the job" in by_size.get_xlabel()


def test_users_with_the_most_work() -> None:
    names = [f"user{number}" for number in range(14)]
    figure = drawn(submit_s=[0.0] * 14, run_s=[float(number + 1) for number in range(14)], user=names)
    users = panel(figure, "users with the most work")
    labels = [label.get_text() for label in users.get_yticklabels()]
    assert labels == [*names[:3:-1], "4 others"]
    assert bars(users, "of the work", horizontal=True)[0] == pytest.approx(100 * 14 / 105)
    assert bars(users, "of the work", horizontal=True)[-1] == pytest.approx(100 * 10 / 105)
    assert bars(users, "of the jobs", horizontal=True)[-1] == pytest.approx(100 * 4 / 14)


def test_statuses_where_there_are_no_users() -> None:
    figure = drawn(submit_s=[0.0] * 2, run_s=[30.0, 10.0], status=[None, "completed"])
    statuses = panel(figure, "statuses (the log tells no users)")
    assert [label.get_text() for label in statuses.get_yticklabels()] == ["unknown", "completed"]
    assert bars(statuses, "of the work", horizontal=True) == [75, 25]


def test_an_empty_panel_says_why() -> None:
    users = panel(drawn(submit_s=[0.0], run_s=[1.0]), "users")
    assert [text.get_text() for text in users.texts] == ["the log tells neither users nor statuses"]


def test_title() -> None:
    figure = drawn(Cluster.pool(2), submit_s=[MONDAY_S, MONDAY_S + 1200 * DAY_S], run_s=[1200.0 * DAY_S] * 2)
    expected = "mine.csv on 2 cores\n2 jobs in 1,200 days · 2021-01-04 to 2024-04-18 · offered load 100 %"
    assert figure.get_suptitle() == expected
    assert panel(figure, "arrivals").get_ylabel() == "jobs per week"


@pytest.mark.parametrize("submit_s", [[0.0, 0.0], [0.0, 1e12], [-1e12, 1e12]])
def test_odd_spans_are_drawn(submit_s: list[float]) -> None:
    figure = drawn(Cluster.pool(1), submit_s=submit_s, run_s=[1.0, 1e9], cores_per_task=[0.0, 0.0])
    assert sum(steps(panel(figure, "arrivals"))[0]) == 2
    figure.savefig(io.BytesIO(), format="png", dpi=30)


@pytest.mark.slow
def test_every_kind_of_panel_can_be_saved() -> None:
    figure = drawn(
        Cluster.pool(1),
        submit_s=[MONDAY_S, MONDAY_S + 1.0],
        run_s=[1.0, 9.0],
        requested_s=[5.0, 5.0],
        user=["$\\no$", "c"],
    )
    for format_ in ("png", "svg", "pdf"):
        file = io.BytesIO()
        figure.savefig(file, format=format_, dpi=30)
        assert file.tell() > 0
