"""Stops: segments, the hash, and the folder of a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shunter.metrics.record import Record
from shunter.metrics.run import result_object
from shunter.metrics.run_folder import RUN_FILES, STOPS, build_manifest, read_stops, write_run
from shunter.metrics.table import compute_metrics
from shunter.model.cluster import Node
from shunter.model.schedule import Outcome, Schedule
from shunter.report.schedule_figure import pack_rectangles
from tests.metrics.handmade import Row, Stop, cluster, make_schedule

ON = cluster(Node("n0", 4, None, 2), Node("n1", 4, None, 2))


@pytest.fixture
def schedule() -> Schedule:
    """Returns a job that was preempted and then lost a node, one that was left alone, and one that never ended."""
    stops = [Stop(0, 10, {0: 1, 1: 1}), Stop(20, 30, {0: 2}, by_failure=True)]
    rows = [
        Row(0, 40, 55, {1: 2}, gpus=1, stops=stops, run=20),
        Row(0, 10, 20, {0: 1}),
        Row(5, None, None, gpus=1, outcome=Outcome.UNFINISHED, stops=[Stop(30, 35, {1: 1}, by_failure=True)]),
    ]
    return make_schedule(rows, ON)


def test_segments_are_in_the_order_of_jobs_and_times(schedule: Schedule) -> None:
    segments = schedule.segments
    assert segments.job.tolist() == [0, 0, 0, 1, 2]
    assert segments.start_ms.tolist() == [0, 20_000, 40_000, 10_000, 30_000]
    assert segments.last.tolist() == [False, False, True, True, False]
    assert segments.by_failure.tolist() == [False, True, False, False, True]
    assert segments.nodes.tolist() == [0, 1, 0, 1, 0, 1]
    assert segments.tasks.tolist() == [1, 1, 2, 2, 1, 1]
    assert segments.entry.tolist() == [0, 0, 1, 2, 3, 4]


def test_run_times_leave_out_what_was_lost(schedule: Schedule) -> None:
    assert schedule.duration_s.tolist()[:2] == [55, 10]
    # The 10 s before the node failed are lost.
    assert schedule.run_time_s.tolist()[:2] == pytest.approx([25, 10])
    assert np.isnan(schedule.run_time_s[2])
    assert schedule.bounded_slowdown[0] == pytest.approx(55 / 25)


def test_the_hash_sees_stops(schedule: Schedule) -> None:
    stops = schedule.stops
    assert stops is not None
    without = replace(schedule, stops=None)
    none = replace(stops, **{name: getattr(stops, name)[:0] for name in ("job", "start_s", "end_s", "by_failure")})
    empty = replace(none, nodes=stops.nodes[:0], tasks=stops.tasks[:0], node_offsets=stops.node_offsets[:1])
    assert replace(schedule, stops=empty).content_sha256 == without.content_sha256
    others = [
        replace(schedule, stops=replace(stops, end_s=stops.end_s + 0.001)),
        replace(schedule, stops=replace(stops, nodes=stops.nodes[::-1].copy())),
        replace(schedule, stops=replace(stops, by_failure=~stops.by_failure)),
    ]
    assert len({each.content_sha256 for each in (schedule, without, *others)}) == 5


def test_every_segment_is_drawn(schedule: Schedule) -> None:
    rectangles, owner = pack_rectangles(schedule)
    area = (rectangles[:, 1] - rectangles[:, 0]) / 1000 * (rectangles[:, 3] - rectangles[:, 2])
    assert np.bincount(owner, weights=area).tolist() == [2 * 35, 10, 5]


def write(folder: Path, schedule: Schedule) -> None:
    resolved = {"policy": "fcfs", "estimate": "requested", "workload": "x", "cluster": "y", "seed": 0}
    resolved |= {"dispatch": "easy", "placement": "first-fit", "failures": None}
    result = result_object(schedule, compute_metrics(schedule), 0.1)
    write_run(folder, schedule, result, build_manifest(schedule, {}, resolved, {}))


def test_a_run_folder_keeps_stops(schedule: Schedule, tmp_path: Path) -> None:
    write(tmp_path, schedule)
    assert {path.name for path in tmp_path.iterdir()} == set(RUN_FILES)
    stops = read_stops(tmp_path)
    assert stops is not None
    assert stops.row(0, named=True) == {
        "job_id": 1,
        "start_s": 0.0,
        "end_s": 10.0,
        "nodes": [{"node": "n0", "tasks": 1}, {"node": "n1", "tasks": 1}],
        "by_failure": False,
    }
    segments = Record.read(tmp_path).segments
    assert segments.to_bytes() == schedule.segments.to_bytes()


def test_stops_of_an_overwritten_run_do_not_stay(schedule: Schedule, tmp_path: Path) -> None:
    write(tmp_path, schedule)
    write(tmp_path, make_schedule([Row(0, 0, 1, {0: 1})], ON))
    assert not (tmp_path / STOPS).exists()
    assert read_stops(tmp_path) is None
