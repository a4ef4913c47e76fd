"""How a machine is used over time, on a page: what is in use, how many wait, and how free GPUs lie over nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shunter.metrics.labels import percent, short
from shunter.metrics.sizes import CORES, GPUS, Resource
from shunter.metrics.usage import ScatteredGpus, queue_changes, scattered_gpus
from shunter.report.page import charts
from shunter.report.page.parts import Chart, Part, Section
from shunter.report.page.runs import MILLI, ShownRun, TimeAxis, stepped
from shunter.report.page.words import metric_value

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.metrics.record import Record


def over_time_section(runs: Sequence[ShownRun]) -> Section:
    """Returns how busy the machine is and how many jobs wait, over time."""
    axis = TimeAxis(runs)
    resources = [
        one for one in (CORES, GPUS) if one.total(runs[0].record.cluster) and any(run.amount(one).any() for run in runs)
    ]
    parts: list[Part] = [_use_chart(runs, axis, resource) for resource in resources]
    lead = "How busy the machine is, and how many jobs wait; means over short stretches of time."
    return Section("use", "Use and queue", lead, (*parts, _queue_chart(runs, axis)))


def _use_chart(runs: Sequence[ShownRun], axis: TimeAxis, resource: Resource) -> Chart:
    traces, means = [], []
    for place, run in enumerate(runs):
        segments = run.record.segments
        used = run.amount(resource)[segments.job]
        time_ms = np.concatenate([segments.start_ms, segments.end_ms])
        level = 100 * axis.means(time_ms, np.concatenate([used, -used])) / resource.total(run.record.cluster)
        means.append(f"{run.name} {percent(float(level.mean()) / 100)}")
        traces.append(stepped(run, axis, level, place, len(runs)))
    drawn = charts.figure(traces, axis.axis, charts.axis(f"{resource.unit} in use [%]", range=[0, 104]), 280)
    caption = f"{resource.unit} in use. On average over the time that is drawn: {', '.join(means)}."
    return Chart(drawn, caption[0].upper() + caption[1:], caption)


def _queue_chart(runs: Sequence[ShownRun], axis: TimeAxis) -> Chart:
    traces, most = [], []
    for place, run in enumerate(runs):
        level = axis.means(*_queue(run.record))
        most.append(f"{run.name} {short(float(level.max()))}")
        traces.append(stepped(run, axis, level, place, len(runs)))
    drawn = charts.figure(traces, axis.axis, charts.axis("waiting jobs", rangemode="tozero"), 280)
    caption = f"Jobs that wait. At the most: {', '.join(most)}."
    return Chart(drawn, caption, caption)


def _queue(record: Record) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    outcome = record.rows["outcome"].fill_null("").to_numpy()
    waits = (outcome != "rejected") & np.isfinite(record.eligible_ms)
    end_ms = record.rows["end_s"].cast(pl.Float64).fill_null(np.nan).to_numpy() * MILLI
    left_ms = end_ms[(outcome == "cancelled") & np.isfinite(end_ms)]
    return queue_changes(record.eligible_ms[waits], record.segments, left_ms)


def _scattered(run: ShownRun) -> ScatteredGpus | None:
    """Returns how free GPUs lie over nodes; None where there is one node, or no job has GPUs."""
    total = np.array([node.gpus for node in run.record.cluster.nodes], dtype=np.int64)
    if len(total) < 2 or not total.any() or not run.record.milli_gpus.any():
        return None
    segments = run.record.segments
    return scattered_gpus(segments, segments.start_ms, segments.end_ms, run.record.milli_gpus, total)


def fragmentation_section(every: Sequence[ShownRun]) -> Section | None:
    """Returns how free GPUs lie over nodes, over time; None where no run has several nodes with GPUs."""
    known = [(run, found) for run in every if (found := _scattered(run)) is not None]
    if not known:
        return None
    runs = [run for run, _ in known]
    axis = TimeAxis(runs)
    shares: list[dict[str, Any]] = []
    partly: list[dict[str, Any]] = []
    for place, (run, found) in enumerate(known):
        for level, traces, factor in (
            (found.share, shares, 100.0),
            (found.partly_used.astype(np.float64), partly, 1.0),
        ):
            means = factor * axis.means(found.time_ms, np.diff(level, prepend=0.0))
            traces.append(stepped(run, axis, means, place, len(runs)))
    told = [metric_value("mean_fragmentation", run.result.get("metrics", {}).get("mean_fragmentation")) for run in runs]
    caption = (
        "Which part of the free whole GPUs stand on partly used nodes: a job that wants whole nodes cannot have "
        f"them. On average: {', '.join(told)}."
    )
    nodes = "Nodes some of whose GPUs are in use."
    scales = charts.axis("fragmentation [%]", range=[0, 104]), charts.axis("partly used nodes", rangemode="tozero")
    parts = (
        Chart(charts.figure(shares, axis.axis, scales[0], 280), caption, caption),
        Chart(charts.figure(partly, axis.axis, scales[1], 260), nodes, nodes),
    )
    return Section("gpus", "GPUs and fragmentation", "How free GPUs lie over the nodes.", parts)
