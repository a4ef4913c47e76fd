"""Windows in which jobs are stopped: the metrics are those of a simulation of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from shunter.comparison.bench import Bench
from shunter.metrics.table import compute_metrics, window_metrics
from shunter.metrics.window_metrics import WindowColumns, compute_window_metrics
from shunter.model.cluster import Cluster
from shunter.model.log import Log
from shunter.model.windows import Windows
from shunter.policies.scheduler import resolve_scheduler
from shunter.simulation import simulate
from tests.simulation.placers import CLUSTER, gpu_log

SPEEDS = Cluster.from_nodes(
    tuple(replace(node, speed=0.5 if node.gpu_type == "A" else 2.0) for node in CLUSTER.nodes), "two speeds"
)
STOPPING: list[dict[str, Any]] = [
    {"policy": "srtf"},
    {"policy": "srtf", "preempted_progress": "lost", "min_run_s": 20.0},
    {"policy": "las?first_s=10&second_s=60", "preemption_overhead_s": 3.0},
    {"policy": "sjf", "mtbf_s": 500.0, "mttr_s": 40.0, "placement": "milp"},
    {"policy": "fcfs", "failures": [(60.0, "n0", "down"), (200.0, "n0", "up")], "failed_progress": "kept"},
]


@pytest.mark.parametrize("words", STOPPING, ids=[" ".join(map(str, words.values()))[:40] for words in STOPPING])
@pytest.mark.parametrize("threads", [1, 3])
def test_metrics_of_windows_are_those_of_runs_of_their_own(words: dict[str, Any], threads: int) -> None:
    log, settings = gpu_log(jobs=90), resolve_scheduler(**words)
    windows = replace(Windows.whole(30), first=np.array([0, 25, 60], dtype=np.uintp), block=np.arange(3))
    (results,) = Bench.on(Log(log, SPEEDS), windows, threads).run(settings)
    metrics = compute_window_metrics(WindowColumns(log, windows, SPEEDS), results, list(window_metrics()))
    stopped = 0
    for place, first in enumerate((0, 25, 60)):
        schedule = simulate(log.window(first, 30), SPEEDS, **words)
        stopped += 0 if schedule.stops is None else len(schedule.stops)
        expected = compute_metrics(schedule)
        for name, values in metrics.items():
            if expected[name] is None:
                assert np.isnan(values[place])
            else:
                assert values[place] == pytest.approx(expected[name], rel=1e-9), name
    assert stopped > 0
