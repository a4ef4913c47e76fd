"""Windows that run elsewhere: files go with them, chunks are cut by what was measured, results are the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shunter
from shunter.comparison import spreading
from shunter.comparison.bench import Bench
from shunter.comparison.log_windows import LogWindows, Measured, MetricsOf
from shunter.comparison.spreading import Pace
from shunter.errors import InputError, ShunterError
from shunter.model.log import Log
from shunter.model.windows import choose_windows
from shunter.policies.scheduler import Scheduler, resolve_scheduler
from shunter.workloads.reading import read_log
from tests.agents.untrained import LUBLIN, opinionated, write_host_policy, write_policy
from tests.comparison.elsewhere import ElsewhereEngine

POLICY = """
import shunter

class Other(shunter.Policy):
    def score(self, queue):
        return queue.submit_s

class Mine(shunter.Policy):
    def score(self, queue):
        return queue.estimate_s * queue.cores
"""
PLACEMENT = """
import shunter

class Last(shunter.Placer):
    def place(self, scene):
        left, nodes = scene.request.tasks, []
        for node in reversed(range(len(scene.capacity))):
            tasks = min(left, int(scene.capacity[node]))
            if tasks:
                nodes.append((node, tasks))
                left -= tasks
        return nodes
"""
METRICS = ("mean_bounded_slowdown", "mean_wait_s", "core_utilization")


class Faulty(MetricsOf):
    """A measurement with a fault of ours."""

    def of(self, part: LogWindows, scheduler: Scheduler, threads: int) -> Measured:
        raise ZeroDivisionError


@pytest.fixture
def few_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets chunks be short, so that all ways to cut occur."""
    monkeypatch.setattr(spreading, "LEAST_S", 0.001)
    monkeypatch.setattr(spreading, "MOST_S", 0.002)


def compared(engine: ElsewhereEngine, workload: str, **terms: Any) -> None:  # noqa: ANN401 - those of compare
    """Compares here and there."""
    terms |= {"windows": 5, "length": 40}
    here, there = shunter.compare(workload, **terms).to_json(), shunter.compare(workload, **terms, on=engine).to_json()
    assert {**there, "seconds": 0} == {**here, "seconds": 0}


@pytest.mark.usefixtures("few_windows")
def test_files_of_policies_go_with_them(tmp_path: Path) -> None:
    only_here = tmp_path / "files"
    only_here.mkdir()
    (only_here / "mine.py").write_text(POLICY)
    (only_here / "tuned.toml").write_text('[policy]\nkind = "hybrid"\naging = 0.5\n[settings]\nmax_wait_s = 3600.0\n')
    order = only_here / "order.toml"
    order.write_text('[policy]\nkind = "hybrid"\naging = 0.25\n')
    run = write_policy(only_here / "run", begins_as_order=False, change=opinionated, order=str(order))
    engine = ElsewhereEngine(only_here)
    compared(engine, LUBLIN, policy=["fcfs", f"{only_here}/mine.py:Mine", f"{only_here}/tuned.toml", run])
    assert engine.tasks > 6


@pytest.mark.usefixtures("few_windows")
def test_placements_and_failures_go_with_them(tmp_path: Path) -> None:
    only_here = tmp_path / "files"
    only_here.mkdir()
    (only_here / "last.py").write_text(PLACEMENT)
    hosts = write_host_policy(only_here / "hosts", opinionated)
    engine = ElsewhereEngine(only_here)
    workload, cluster = "generate:eda?hosts=4&jobs=300&seed=42", "generate:eda?hosts=4&seed=42"
    compared(engine, workload, cluster=cluster, policy="fcfs", placement=["first-fit", f"{only_here}/last.py", hosts])
    learned = write_policy(only_here / "jobs", begins_as_order=False, change=opinionated)
    compared(engine, workload, cluster=cluster, policy=learned, placement=hosts)
    node = shunter.read_cluster(cluster).nodes[0].name
    (only_here / "failures.csv").write_text(f"time_s,node,event\n5000,{node},down\n9000,{node},up\n")
    compared(engine, workload, cluster=cluster, policy=["fcfs", "sjf"], failures=f"{only_here}/failures.csv")


def bench(tmp_path: Path, engine: ElsewhereEngine | None) -> Bench:
    log = read_log(LUBLIN)
    other = Log(log.workload.window(100, 400), log.cluster)
    pairs = [(one, choose_windows(len(one.workload), count=count, length=32)) for one, count in ((log, 5), (other, 3))]
    return Bench.over(pairs, engine=engine)


@pytest.mark.usefixtures("few_windows")
def test_several_logs_are_joined_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    schedulers = [resolve_scheduler(policy=name) for name in ("fcfs", "sjf", "saf", "f2")]
    engine = ElsewhereEngine(tmp_path / "files")
    here = list(bench(tmp_path, None).each(schedulers, MetricsOf(METRICS)))
    there = bench(tmp_path, engine)
    # The second time the pace is known.
    for found in (list(there.each(schedulers, MetricsOf(METRICS))), list(there.each(schedulers, MetricsOf(METRICS)))):
        for ours, theirs in zip(here, found, strict=True):
            for name in METRICS:
                np.testing.assert_array_equal(ours[name], theirs[name])
    some = np.array([1, 2, 6])
    np.testing.assert_array_equal(
        there.take(some).measure(schedulers[1], METRICS)[METRICS[0]], here[1][METRICS[0]][some]
    )


def test_chunks_take_a_second_or_more_and_not_too_long() -> None:
    quick, slow = Pace(windows=1000, seconds=1.0), Pace(windows=1, seconds=30.0)
    assert quick.windows_in_chunk(100, workers=4) == 100, "less than a second of work is one chunk"
    assert quick.windows_in_chunk(16_000, workers=4) == 1000
    assert quick.windows_in_chunk(64_000, workers=4) == 4000, "four chunks for each worker"
    assert quick.windows_in_chunk(10_000_000, workers=4) == 10_000, "ten seconds at most"
    assert slow.windows_in_chunk(10, workers=4) == 1


def test_what_fails_elsewhere_is_told_here(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "mine.py").write_text(POLICY.replace("queue.estimate_s *", "1 / 0 *"))
    engine = ElsewhereEngine(tmp_path / "files")
    with pytest.raises(InputError, match=r"mine\.py:10: ZeroDivisionError"):
        shunter.compare(LUBLIN, policy=f"{tmp_path}/files/mine.py:Mine", windows=2, length=20, on=engine)
    scheduler = resolve_scheduler(policy="fcfs")
    with pytest.raises(ShunterError, match="a worker failed: ZeroDivisionError") as caught:
        next(bench(tmp_path, engine).each([scheduler], Faulty(METRICS)))
    assert "Traceback" in str(caught.value.__cause__)


def test_a_policy_that_cannot_be_sent_is_refused(tmp_path: Path) -> None:
    class Mine(shunter.Policy):
        moves = False
        beside = open(tmp_path / "file", "w")  # noqa: SIM115 - an open file cannot be sent

        def score(self, queue: shunter.QueueView) -> Any:  # noqa: ANN401
            return queue.submit_s

    with Mine.beside, pytest.raises(InputError, match=r"a policy cannot be sent .*; give it as a file, FILE\.py"):
        bench(tmp_path, ElsewhereEngine(tmp_path)).measure(resolve_scheduler(policy=Mine()), METRICS)
