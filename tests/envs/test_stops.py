"""Stopping running jobs as an action: nobody is stopped unasked, and srtf can be played by it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from shunter.envs import PickJobEnv, PickJobOptions
from shunter.errors import InputError
from shunter.metrics.table import compute_metrics
from shunter.model.cluster import Cluster, Node
from shunter.model.log import Log
from shunter.model.schedule import Phase, Schedule
from shunter.model.workload import Workload
from shunter.simulation import simulate
from tests.agents.untrained import write_policy
from tests.envs.small import MODES, crowded_log
from tests.envs.test_failures import OFTEN, played_by_the_order

CORES = 8
WHOLE: dict[str, Any] = {"part": (0, 1), "length": 50}
COUNTS = ("steps", "waits")


def cores_log(seed: int, jobs: int = 50) -> Log:
    """Returns jobs of a few cores each, of which many wait; what they ask for is only near what they take."""
    random = np.random.default_rng(seed)
    run_s = random.choice([2.0, 20.0, 90.0, 300.0], jobs)
    frame = pl.DataFrame(
        {
            "submit_s": np.cumsum(random.integers(0, 60, jobs)).astype(np.float64),
            "run_s": run_s,
            "requested_s": run_s * random.choice([1.0, 1.5, 0.8], jobs),
            "cores_per_task": random.integers(1, CORES, jobs, endpoint=True),
        }
    )
    return Log(Workload.from_frame(frame, name="cores"), Cluster.parse(str(CORES)))


class Srtf:
    """Plays srtf by actions on a pool of cores, as ``docs/simulation.md`` has it."""

    def __init__(self, env: PickJobEnv, log: Log) -> None:
        self.env = env
        self.cores = log.workload.jobs["cores_per_task"].to_numpy()
        self.min_run_ms = round(env.vector.options.min_run_s * 1000)  # type: ignore[attr-defined]
        self.overhead_ms = round(env.vector.options.preemption_overhead_s * 1000)  # type: ignore[attr-defined]
        self.now_ms, self.tried, self.to_stop = -1, set[int](), list[int]()

    def choose(self, info: dict[str, Any]) -> int:
        """Returns the next action."""
        simulation = self.env.vector.simulation(0)
        told, stopped = simulation.snapshot(), simulation.job_states().preemptions > 0
        estimate_ms = simulation.estimates().estimate_ms
        if told.now_ms != self.now_ms:
            self.now_ms, self.tried, self.to_stop = told.now_ms, set(), []
        running = np.flatnonzero(told.phase == Phase.RUNNING).tolist()
        ran_ms = {job: told.now_ms - int(told.start_ms[job]) for job in running}
        done_ms = told.done_ms.copy()
        for job in running:
            done_ms[job] += max(ran_ms[job] - (self.overhead_ms if stopped[job] else 0), 0)
        key = {job: (max(int(estimate_ms[job] - done_ms[job]), 0), job) for job in range(len(told.phase))}
        free = CORES - sum(self.cores[job] for job in running)
        if self.to_stop:
            return self._row(info, self.to_stop.pop(0))
        waiting = np.flatnonzero(told.phase == Phase.WAITING).tolist()
        for job in sorted((job for job in waiting if job not in self.tried), key=lambda job: key[job]):
            self.tried.add(job)
            behind = [one for one in running if key[one] > key[job] and ran_ms[one] >= self.min_run_ms]
            victims = self._victims(job, sorted(behind, key=lambda one: key[one], reverse=True), free)
            if victims is None:
                continue
            if victims:
                # The job has its turn again when there is room.
                self.tried.discard(job)
                self.to_stop = victims[1:]
                return self._row(info, victims[0])
            return self._row(info, job)
        return 0

    def _victims(self, job: int, behind: list[int], free: float) -> list[int] | None:
        """Returns whom the job has to stop, the worst first; None: all of them are not enough."""
        stopped: list[int] = []
        while free + sum(self.cores[one] for one in stopped) < self.cores[job]:
            if len(stopped) == len(behind):
                return None
            stopped.append(behind[len(stopped)])
        for one in reversed(stopped.copy()):
            if free + sum(self.cores[other] for other in stopped if other != one) >= self.cores[job]:
                stopped.remove(one)
        return stopped

    @staticmethod
    def _row(info: dict[str, Any], job: int) -> int:
        action = int(np.flatnonzero(info["jobs"] == job)[0]) + 1
        assert info["action_mask"][action]
        return action


def same_stops(env: PickJobEnv, schedule: Schedule) -> None:
    """Asserts that an episode went as a schedule did, stop by stop."""
    simulation = env.vector.simulation(0)
    states, stops = simulation.job_states(), simulation.stops()
    assert schedule.stops is not None
    assert len(schedule.stops) > 5
    assert stops.job.tolist() == schedule.stops.job.tolist()
    assert (stops.end_ms / 1000).tolist() == schedule.stops.end_s.tolist()
    assert states.start_ms.tolist() == schedule.start_ms.tolist()
    assert states.end_ms.tolist() == schedule.end_ms.tolist()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "conditions",
    [
        {},
        {"preemption_overhead_s": 7.0},
        {"preempted_progress": "lost", "min_run_s": 40.0},
        {"preemption_overhead_s": 3.0, "min_run_s": 25.0},
    ],
)
def test_srtf_played_is_srtf_simulated(conditions: dict[str, Any], seed: int) -> None:
    log = cores_log(seed)
    shown: dict[str, Any] = {"window": 60, "stops": 60, "mode": "feasible"}
    env = PickJobEnv(log.workload, log.cluster, **WHOLE, **shown, **conditions)
    _, info = env.reset(options={"episode": 0})
    player, terminated = Srtf(env, log), False
    while not terminated:
        _, _, terminated, _, info = env.step(player.choose(info))
        assert not info["invalid_action"]
    schedule = simulate(log.workload, log.cluster, policy="srtf?outlived=ends", **conditions)
    same_stops(env, schedule)
    metrics = compute_metrics(schedule)
    assert info["totals"]["wait"] == pytest.approx(metrics["mean_wait_s"])
    assert info["totals"]["turnaround"] == pytest.approx(metrics["mean_turnaround_s"])
    assert info["totals"]["bounded_slowdown"] == pytest.approx(metrics["mean_bounded_slowdown"])


@pytest.mark.parametrize("failing", [{}, OFTEN])
@pytest.mark.parametrize("mode", ["reserve", "feasible"])
def test_never_to_stop_is_the_environment_without_the_option(mode: str, failing: dict[str, Any]) -> None:
    log = crowded_log(jobs=50, hosts=3)
    plain, stopping = (
        PickJobEnv(log.workload, log.cluster, **WHOLE, mode=mode, order="sjf", stops=stops, **failing)
        for stops in (0, 5)
    )
    # The order's own play passes over rows that are held back, as all running jobs' are.
    totals, others = played_by_the_order(plain), played_by_the_order(stopping)
    assert {**totals, **dict.fromkeys(COUNTS)} == {**others, **dict.fromkeys(COUNTS)}
    assert others["steps"] > totals["steps"]
    ends = [env.vector.simulation(0).job_states().end_ms.tolist() for env in (plain, stopping)]
    assert ends[0] == ends[1]


def test_rows_of_running_jobs() -> None:
    log = cores_log(1)
    env = PickJobEnv(log.workload, log.cluster, **WHOLE, window=60, stops=3, mode="feasible", min_run_s=10.0)
    observation, info = env.reset(options={"episode": 0})
    assert env.action_space.n == 64  # type: ignore[attr-defined]
    names = env.layout.job_features
    for _ in range(40):
        rows = env.layout.split(observation)["jobs"]
        present, running = rows[:, names.index("present")] > 0, rows[:, names.index("running")] > 0
        count = int(present.sum())
        # Filled rows come first, those that wait before those that run; of these, the most left to do first.
        assert present[:count].all()
        assert not running[: count - int(running.sum())].any()
        stoppable = running & info["action_mask"][1:]
        assert (rows[stoppable][:, names.index("served")] >= np.log1p(10.0) / 14 - 1e-6).all()
        left = rows[stoppable][:, names.index("remaining")]
        assert (np.diff(left) <= 0).all()
        assert (rows[running][:, names.index("held_back")] == 1).all()
        states = env.vector.simulation(0).job_states()
        assert (states.phase[info["jobs"][:count][running[:count]]] == Phase.RUNNING).all()
        action = int(info["action_mask"].nonzero()[0][-1])
        observation, _, terminated, _, info = env.step(action)
        assert not terminated
    assert env.vector.simulation(0).job_states().preemptions.sum() > 3


def test_a_job_that_is_stopped_and_chosen_again_moves() -> None:
    """To where the placement puts it now: so that there is room on one node for a job that needs a whole one."""
    frame = pl.DataFrame(
        {
            "submit_s": [0.0, 0.0, 0.0, 20.0],
            "run_s": [1000.0, 10.0, 1000.0, 50.0],
            "cores_per_task": [2, 2, 2, 4],
            "tasks": [1, 1, 1, 1],
        }
    )
    cluster = Cluster.from_nodes((Node("n0", 4.0), Node("n1", 4.0)), "two")
    log = Log(Workload.from_frame(frame, name="moving"), cluster)
    shown: dict[str, Any] = {"window": 4, "stops": 4, "mode": "feasible", "placement": "pack"}
    env = PickJobEnv(log.workload, log.cluster, part=(0, 1), length=4, preemption_overhead_s=5.0, **shown)
    _, info = env.reset(options={"episode": 0})
    for job in (0, 1, 2, 2, 2, 3):
        while info["action_mask"][0] and job not in info["jobs"][info["action_mask"][1:]]:
            _, _, _, _, info = env.step(0)
        _, _, terminated, _, info = env.step(Srtf._row(info, job))
    assert terminated
    simulation = env.vector.simulation(0)
    states, placed = simulation.job_states(), simulation.snapshot()
    assert placed.nodes.tolist() == [0, 0, 0, 1]
    assert states.latest_start_ms.tolist() == [0, 0, 20_000, 20_000]
    # Its work was kept, and the start after the stop cost five seconds.
    assert states.end_ms.tolist() == [1_000_000, 10_000, 1_005_000, 70_000]


def test_a_policy_that_may_stop_and_begins_as_its_order_stops_nobody(tmp_path: Path) -> None:
    log = cores_log(2)
    checkpoint = write_policy(tmp_path / "best", order="sjf", stops=4, history=2, min_run_s=5.0)
    learned = simulate(log.workload, log.cluster, policy=checkpoint)
    assert np.array_equal(learned.end_s, simulate(log.workload, log.cluster, policy="sjf").end_s)


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode.startswith("committed")])
def test_committed_jobs_cannot_be_stopped(mode: str) -> None:
    with pytest.raises(InputError, match="no running job can be stopped; leave stops out, or choose the mode reserve"):
        PickJobOptions(mode=mode, stops=2)
