"""A checkpoint in the place of a policy: what it schedules."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from shunter import Cluster, InputError, Policy, QueueView, Schedule, Workload, read_workload
from shunter.agents.learned_policy import LearnedPolicy, load_policy
from shunter.agents.networks import NetworkOptions, build
from shunter.agents.training.checkpoint_files import PolicyRecord
from shunter.envs import learned, playing, register_feature
from shunter.envs.features import JobView
from shunter.envs.learned import open_windows, order_alone, run_learned_windows
from shunter.envs.network import NativeNetwork
from shunter.envs.pick_job import PickJobOptions
from shunter.model.log import Log
from shunter.model.schedule import Phase
from shunter.model.settings import Settings
from shunter.model.windows import Windows, choose_windows
from shunter.policies.scheduler import resolve_scheduler
from shunter.simulation import Simulation, WindowRunner, decide, simulate
from shunter.simulation.core_inputs import numbers
from shunter.simulation.windows import WindowResults
from tests.agents.untrained import LUBLIN, opinionated, write_policy

CLUSTER = Cluster.pool(64)
GATED = "linear?estimate=1&cores=0.4&wait=0.1&reserve_below=-4&hold_share=0.2"
"""An order with both of its gates; each holds jobs back here."""


@cache
def workload() -> Workload:
    return read_workload(LUBLIN).window(0, 250)


@cache
def hasty() -> Workload:
    """Returns jobs that ask for less time than many of them take."""
    return replace(workload(), jobs=workload().jobs.with_columns(pl.col("requested_s") * 0.3))


def same(one: Schedule, other: Schedule) -> bool:
    arrays = ("start_s", "end_s", "outcome", "placement_nodes", "placement_offsets", "estimate_basis")
    return all(np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True) for name in arrays)


@pytest.mark.parametrize(
    ("mode", "order", "dispatch", "options"),
    [
        ("reserve", "fcfs", "easy", {}),
        ("reserve", GATED, "easy", {}),
        ("feasible", "f2", "greedy", {"estimate": "posterior", "placement": "best-fit"}),
        ("committed", "saf", "committed", {"missing_request": 60}),
        ("committed-backfill", "sjf", "committed-backfill", {"reserve_by": "estimate", "estimate": "last-two"}),
    ],
)
def test_a_network_that_begins_as_its_order_schedules_as_it_does(
    tmp_path: Path, mode: str, order: str, dispatch: str, options: dict[str, Any]
) -> None:
    checkpoint = write_policy(tmp_path / "best", mode=mode, order=order, **options)
    learned = simulate(workload(), CLUSTER, policy=checkpoint)
    assert learned.settings == Settings(
        policy=checkpoint,
        dispatch=dispatch,
        placement=options.get("placement", "first-fit"),
        estimate=options.get("estimate", "requested"),
        missing_request=str(options.get("missing_request", "run-time")),
        reserve_by=options.get("reserve_by", "requested"),
        kill_at_request=False,
        max_wait_s=None,
        scan_depth=1000,
        seed=0,
    )
    assert same(learned, simulate(workload(), CLUSTER, policy=order, dispatch=dispatch, **options))


def test_the_network_decides(tmp_path: Path) -> None:
    checkpoint = write_policy(tmp_path / "best", begins_as_order=False, change=opinionated)
    schedules = [simulate(workload(), CLUSTER, policy=checkpoint) for _ in range(2)]
    assert same(*schedules)
    assert not same(schedules[0], simulate(workload(), CLUSTER))
    assert schedules[0].ended.all()


def test_what_is_not_the_policys_business_is_obeyed(tmp_path: Path) -> None:
    checkpoint = write_policy(tmp_path / "best", order="sjf", max_wait_s=50_000.0)
    plain = simulate(hasty(), CLUSTER, policy="sjf", max_wait_s=50_000.0)
    assert same(simulate(hasty(), CLUSTER, policy=checkpoint), plain)
    assert not same(simulate(hasty(), CLUSTER, policy="sjf"), plain)
    for given in ({"max_wait_s": 5000.0}, {"kill_at_request": True, "max_wait_s": 50_000.0}):
        expected = simulate(hasty(), CLUSTER, policy="sjf", **given)  # type: ignore[arg-type]
        assert same(simulate(hasty(), CLUSTER, policy=checkpoint, **given), expected)  # type: ignore[arg-type]
        assert not same(expected, plain)


def test_a_window_of_a_log(tmp_path: Path) -> None:
    checkpoint = write_policy(tmp_path / "best", order="f2", estimate="posterior")
    window = workload().window(120, 60)
    assert same(
        simulate(window, CLUSTER, policy=checkpoint), simulate(window, CLUSTER, policy="f2", estimate="posterior")
    )


def results(checkpoint: str, windows: Windows, threads: int = 1, cluster: Cluster = CLUSTER) -> WindowResults:
    return run_learned_windows(workload(), cluster, windows, resolve_scheduler(policy=checkpoint), threads)


def assert_same(one: WindowResults, other: WindowResults) -> None:
    for name in ("start_ms", "end_ms", "phase", "basis"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name


def test_windows_are_those_of_simulations_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with more windows than are played together, and on any number of threads."""
    checkpoint = write_policy(tmp_path / "best", begins_as_order=False, change=opinionated)
    windows = choose_windows(250, count=7, length=20)
    together = results(checkpoint, windows)
    monkeypatch.setattr(learned, "MOST_TOGETHER", 3)
    assert_same(results(checkpoint, windows, threads=2), together)
    for row, first in enumerate(windows.first.tolist()):
        alone = simulate(workload().window(first, 20), CLUSTER, policy=checkpoint)
        assert (together.start_ms[row] == alone.start_ms).all()
        assert (together.end_ms[row] == alone.end_ms).all()


def test_windows_with_a_warmup(tmp_path: Path) -> None:
    checkpoint = write_policy(tmp_path / "best", order="saf", estimate="posterior")
    windows = choose_windows(250, count=4, length=30, warmup=40)
    settings = resolve_scheduler(policy="saf", estimate="posterior")
    expected = WindowRunner(workload(), CLUSTER).run(settings, windows.simulated_first.tolist(), 70)
    assert_same(results(checkpoint, windows), expected)


def giants() -> Workload:
    """Returns ten jobs that fit on four cores, and then ten that never do."""
    cores = [1.0, 3.0] * 5 + [5.0] * 10
    return Workload.from_frame(
        pl.DataFrame({"submit_s": range(20), "run_s": [50.0] * 20, "cores_per_task": cores}), name="giants"
    )


def test_jobs_that_never_fit(tmp_path: Path) -> None:
    """A whole workload of them, and windows with and without them."""
    checkpoint = write_policy(tmp_path / "best")
    small = Cluster.pool(4)
    windows = Windows(np.array([0, 5, 10], np.uintp), np.arange(3), length=10, warmup=0)
    learned = run_learned_windows(giants(), small, windows, resolve_scheduler(policy=checkpoint))
    assert_same(learned, WindowRunner(giants(), small).run(resolve_scheduler(), [0, 5, 10], 10))
    assert (learned.phase == Phase.REJECTED).sum(axis=1).tolist() == [0, 5, 10]
    assert simulate(giants().window(10), small, policy=checkpoint).rejected.all()
    never = Windows(np.array([10], np.uintp), np.zeros(1, np.int64), length=10, warmup=0)
    assert (
        run_learned_windows(giants(), small, never, resolve_scheduler(policy=checkpoint)).phase == Phase.REJECTED
    ).all()


def test_progress_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(playing, "TURN", 20)
    told: list[tuple[int, int]] = []
    checkpoint = write_policy(tmp_path / "best")
    simulate(workload(), CLUSTER, policy=checkpoint, progress=lambda done, total: told.append((done, total)))
    done = [one for one, _ in told]
    assert {total for _, total in told} == {250}
    assert done == sorted(done)
    assert 0 <= done[0] < done[-1] <= 250


@pytest.mark.parametrize("mode", ["reserve", "committed"])
def test_the_core_plays_as_python_does_step_by_step(tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often it comes back in between."""
    checkpoint = write_policy(tmp_path / "best", begins_as_order=False, change=opinionated, mode=mode)
    scheduler = resolve_scheduler(policy=checkpoint, max_wait_s=30_000.0)
    network = load_policy(checkpoint).evaluator
    log, windows = Log(workload(), CLUSTER), choose_windows(250, count=7, length=40)
    monkeypatch.setattr(learned, "MOST_TOGETHER", 3)
    monkeypatch.setattr(playing, "TURN", 12)

    def starts(threads: int, **listening: Any) -> list[list[int]]:  # noqa: ANN401 - arguments of `play`
        found: dict[int, list[int]] = {}

        def finished(episode: int, simulation: Simulation) -> None:
            found[episode] = simulation.job_states().start_ms.tolist()

        with open_windows(log, windows, scheduler, threads) as vector:
            playing.play(network, vector, finished=finished, **listening)
        return [found[episode] for episode in range(len(windows))]

    seen: list[playing.PlayStep] = []
    by_steps = starts(1, seen=seen.append)
    assert seen
    assert starts(1) == starts(2) == by_steps
    assert starts(2, tell=lambda: None) == by_steps


def test_pytorch_has_its_threads_back() -> None:
    options = PickJobOptions(window=4)
    policy = LearnedPolicy(
        build(NetworkOptions(), options.layout), PolicyRecord(options.layout, options, NetworkOptions())
    )
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        policy.action(np.zeros(options.layout.observation_size, np.float32), np.ones(options.layout.actions, np.bool_))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_features_of_ones_own_are_worked_out_at_every_step(tmp_path: Path) -> None:
    asked = 0

    @register_feature("asked")
    def feature(jobs: JobView) -> Any:  # noqa: ANN401 - an array
        nonlocal asked
        asked += 1
        return np.where(jobs.cores > 8, 1.0, 0.0)

    own = write_policy(tmp_path / "own", begins_as_order=False, change=opinionated, order="saf", features=("asked",))
    schedule = simulate(workload(), CLUSTER, policy=own)
    assert schedule.ended.all()
    assert asked > 100
    scheduler = resolve_scheduler(policy=own)
    simulation = Simulation(workload(), CLUSTER, order_alone(scheduler))
    simulation.run(30)
    simulation.advance()
    decision = decide(simulation.snapshot(), workload(), CLUSTER, scheduler)
    assert decision.answers
    rows = PickJobOptions(window=16, features=("asked",)).layout.split(decision.answers[0].observation)["jobs"]
    cores = numbers(workload().jobs["tasks"]) * numbers(workload().jobs["cores_per_task"])
    shown = list(decision.answers[0].jobs)
    assert rows[: len(shown), -1].tolist() == (cores[shown] > 8).tolist()
    with pytest.raises(InputError, match="features of its own, which Python works out"):
        NativeNetwork.load(Path(own)).decide(simulation, workload())


def test_a_policy_of_ones_own_may_be_called_like_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Largest(Policy):
        name = "results"

        def score(self, queue: QueueView) -> Any:  # noqa: ANN401 - an array
            return -queue.cores

    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    schedule = simulate(workload().window(0, 30), CLUSTER, policy=Largest())
    assert schedule.settings.policy == "results"
    assert schedule.ended.all()


def test_a_feature_that_nobody_registered(tmp_path: Path) -> None:
    checkpoint = write_policy(tmp_path / "best", features=("moonlight",))
    with pytest.raises(InputError, match="feature 'moonlight' is not registered"):
        simulate(workload(), CLUSTER, policy=checkpoint)
