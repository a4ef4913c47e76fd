"""Placements in Python, a user's own or by a solver, under every rule that the core has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from shunter import InputError, Placer, Policy, QueueView, Scene, Schedule
from shunter.model.schedule import Outcome
from shunter.policies.catalog import DISPATCHES
from shunter.policies.scheduler import resolve_placement, resolve_scheduler
from shunter.simulation import Simulation, WindowRunner, simulate
from tests.properties.gpu_adapter import gpu_cluster, gpu_settings, gpu_workload
from tests.properties.gpu_strategies import failing, gpu_configs, gpu_scenes, preemptive_configs
from tests.properties.strategies import Scene as Drawn
from tests.reference.model import Config
from tests.simulation.driving import state_of
from tests.simulation.placers import CLUSTER, Answers, Declines, FirstFit, Recorder, gpu_log, write_placers
from tests.support import examples

RULES = ["strict", "greedy", "easy", "conservative", "committed", "committed-backfill", "2"]
PREEMPTIVE = ["srtf", "las?first_s=10&second_s=60"]
FAILURES: dict[str, Any] = {
    **{"failures": [(60.0, "n0", "down"), (200.0, "n0", "up")], "failed_progress": "kept"},
    **{"mtbf_s": 3000.0, "mttr_s": 60.0, "preemption_overhead_s": 2.0, "seed": 5},
}


class Aging(Policy):
    """Few cores first, waits count; an order that moves."""

    name = "aging"

    def score(self, queue: QueueView) -> NDArray[np.float64]:
        return queue.cores - queue.wait_s / 10


class Standing(Policy):
    """Few cores first; an order that does not move."""

    name = "standing"
    moves = False

    def score(self, queue: QueueView) -> NDArray[np.float64]:
        return queue.cores


def check_same(own: Schedule, built_in: Schedule) -> None:
    """Asserts that two schedules are the same, but for what the placement is called."""
    assert own.content_sha256 == built_in.content_sha256
    for name in ("outcome", "preemptions", "failures", "placement_nodes", "placement_tasks"):
        np.testing.assert_array_equal(getattr(own, name), getattr(built_in, name))
    assert (own.stops is None) == (built_in.stops is None)
    for name, column in vars(built_in.stops).items() if built_in.stops else ():
        np.testing.assert_array_equal(getattr(own.stops, name), column)


def check_first_fit(scene: Drawn, config: Config) -> None:
    """Asserts that first-fit in Python gives the schedule of the core's."""
    workload, cluster = gpu_workload(scene), gpu_cluster(scene, config)
    scheduler = gpu_settings(replace(config, placement="first-fit"))
    in_python = replace(scheduler, placement=resolve_placement(FirstFit()))
    python, core = Simulation(workload, cluster, in_python), Simulation(workload, cluster, scheduler)
    assert python.run()
    assert core.run()
    assert state_of(python) == state_of(core)
    for name, column in vars(core.stops()).items():
        np.testing.assert_array_equal(getattr(python.stops(), name), column)


@pytest.mark.every(4)
@pytest.mark.parametrize("dispatch", RULES)
@examples(20)
@given(scene=gpu_scenes(), config=gpu_configs())
def test_first_fit_in_python_is_the_cores(dispatch: str, scene: Drawn, config: Config) -> None:
    check_first_fit(scene, replace(config, dispatch=dispatch))


@examples(40)
@given(data=st.data(), scene=gpu_scenes(), config=preemptive_configs() | gpu_configs(dispatches=["easy", "greedy"]))
def test_first_fit_in_python_is_the_cores_where_jobs_are_stopped(
    data: st.DataObject, scene: Drawn, config: Config
) -> None:
    check_first_fit(scene, data.draw(failing(scene, config)))


@pytest.mark.parametrize("policy", [Aging(), Standing()])
@pytest.mark.parametrize("dispatch", DISPATCHES)
def test_beside_a_policy_of_ones_own(policy: Policy, dispatch: str) -> None:
    chosen: dict[str, Any] = {"policy": policy, "dispatch": dispatch, **FAILURES}
    own = simulate(gpu_log(), CLUSTER, placement=FirstFit(), **chosen)
    check_same(own, simulate(gpu_log(), CLUSTER, **chosen))
    assert own.settings.placement == "python-first-fit"


@pytest.mark.every(5)
@pytest.mark.parametrize("placement", ["milp", "milp-full?gamma=1"])
@pytest.mark.parametrize("dispatch", RULES)
def test_by_a_solver_under_every_rule(placement: str, dispatch: str) -> None:
    log = gpu_log(jobs=30)
    schedule = simulate(log, CLUSTER, placement=placement, dispatch=dispatch, **FAILURES)
    assert set(schedule.outcome.tolist()) == {Outcome.COMPLETED}
    assert np.asarray(schedule.failures).sum() > 0
    check_same(simulate(log, CLUSTER, placement=placement, dispatch=dispatch, **FAILURES), schedule)
    assert schedule.settings.placement == placement


@pytest.mark.parametrize("policy", PREEMPTIVE)
def test_by_a_solver_where_jobs_are_stopped_for_others(policy: str) -> None:
    schedule = simulate(gpu_log(), CLUSTER, placement="milp", policy=policy, **FAILURES)
    assert set(schedule.outcome.tolist()) == {Outcome.COMPLETED}
    assert np.asarray(schedule.preemptions).sum() > 0


def test_a_solver_keeps_gangs_on_few_nodes() -> None:
    """The tier of fewest nodes has an option on an empty cluster, whichever rule decides between several."""
    log = gpu_log(jobs=1)
    (offsets,) = {simulate(log, CLUSTER, placement=name).placement_offsets[-1] for name in ("milp", "milp-full")}
    assert offsets == simulate(log, CLUSTER, placement="pack").placement_offsets[-1]


def test_the_ledger_has_what_stood_in_for_the_solver() -> None:
    schedule = simulate(gpu_log(), CLUSTER, placement="milp?time_limit_s=0")
    (entry,) = (entry for entry in schedule.ledger.entries if entry.rule.startswith("milp"))
    whole = int((gpu_log().jobs["gpus_per_task"] >= 1).sum())
    assert entry.rule == "milp: no optimum in time: tiered-defrag stands in"
    assert entry.count >= whole
    assert entry.example.endswith("time_limit_s is 0")
    check_same(schedule, simulate(gpu_log(), CLUSTER, placement="tiered-defrag"))
    for dispatch in DISPATCHES:
        plain = simulate(gpu_log(jobs=30), CLUSTER, placement="milp", dispatch=dispatch)
        assert not plain.ledger, "jobs that do not fit are none of the solver's business"


def test_from_a_file(tmp_path: Path) -> None:
    path = write_placers(tmp_path)
    schedule = simulate(gpu_log(), CLUSTER, placement=f"{path}:LastFit")
    assert schedule.settings.placement == f"{path}:LastFit"
    assert schedule.placement_nodes[0] == 4
    assert set(schedule.outcome.tolist()) == {Outcome.COMPLETED}
    with pytest.raises(InputError, match=re.escape(f"defines 2 placements (LastFit, Broken); name one: {path}:Last")):
        simulate(gpu_log(), CLUSTER, placement=str(path))
    alone = tmp_path / "alone.py"
    alone.write_text(path.read_text().partition("class Broken")[0])
    check_same(simulate(gpu_log(), CLUSTER, placement=str(alone)), schedule)
    with pytest.raises(InputError, match=r"alone\.py: has no placement 'Broken'; it has: LastFit"):
        simulate(gpu_log(), CLUSTER, placement=f"{alone}:Broken")


def test_what_a_placement_sees() -> None:
    recorder = Recorder()
    schedule = simulate(gpu_log(), CLUSTER, placement=recorder)
    log = gpu_log().jobs
    assert [(len(workload), cluster) for workload, cluster in recorder.begins] == [(60, CLUSTER)]
    first = recorder.scenes[0]
    assert (first.job, first.now_s) == (0, log["submit_s"][0])
    assert first.capacity.max() <= first.request.tasks * 8
    assert first.free_gpus.tolist() == first.gpus.tolist() == [4] * 5
    assert first.pool.tolist() == [0, 0, 0, 1, 1]
    assert first.free_cores_milli.tolist() == [32_000] * 5
    for scene in recorder.scenes:
        assert scene.capacity.sum() >= scene.request.tasks
        assert scene.request.tasks == log["tasks"][scene.job]
        assert scene.request.gpu_milli == log["gpus_per_task"][scene.job] * 1000
        assert scene.job not in scene.waiting.tolist()
        assert (log["submit_s"].to_numpy()[scene.waiting] <= scene.now_s).all()
        assert len(scene.waiting) <= 32
    started = [scene for scene in recorder.scenes if scene.now_s == schedule.start_s[scene.job]]
    assert {scene.job for scene in started} == set(range(60))
    assert any(len(scene.waiting) for scene in recorder.scenes)


def test_a_window_of_a_log_is_seen_as_part_of_it() -> None:
    recorder = Recorder()
    schedule = simulate(gpu_log().window(20, 10), CLUSTER, placement=recorder)
    assert [len(workload) for workload, _ in recorder.begins] == [30], "what comes after a window is not known"
    log = gpu_log().jobs
    assert {scene.job for scene in recorder.scenes} == set(range(20, 30))
    assert all(scene.request.tasks == log["tasks"][scene.job] for scene in recorder.scenes)
    check_same(schedule, simulate(gpu_log().window(20, 10), CLUSTER))


@pytest.mark.parametrize("dispatch", RULES)
def test_one_that_always_declines_leaves_all_jobs_unfinished(dispatch: str) -> None:
    schedule = simulate(gpu_log(), CLUSTER, dispatch=dispatch, placement=Declines(), **FAILURES)
    assert set(schedule.outcome.tolist()) == {Outcome.UNFINISHED}
    assert np.isnan(schedule.start_s).all()


class Picky(FirstFit):
    """Declines some jobs now and then, and one for ever."""

    name = "picky"

    def place(self, scene: Scene) -> Sequence[tuple[int, int]] | None:
        if scene.job == 11 or (scene.job + int(scene.now_s)) % 3 == 0:
            return None
        return super().place(scene)


@pytest.mark.parametrize("policy", ["fcfs", *PREEMPTIVE])
def test_one_that_declines_now_and_then_comes_to_an_end(policy: str) -> None:
    rules = ["greedy"] if policy in PREEMPTIVE else ["greedy", "easy", "conservative", "2"]
    for dispatch in rules:
        schedule = simulate(gpu_log(), CLUSTER, policy=policy, dispatch=dispatch, placement=Picky())
        assert schedule.outcome[11] == Outcome.UNFINISHED
        assert (schedule.outcome == Outcome.COMPLETED).sum() > 40
        ended = schedule.outcome == Outcome.COMPLETED
        assert (schedule.run_time_s[ended] == gpu_log().jobs["run_s"].to_numpy()[ended]).all()


WRONG: list[tuple[object, str]] = [
    (RuntimeError("no idea"), "RuntimeError: no idea)"),
    (KeyError(3), "KeyError: 3)"),
    (InputError("cluster.toml: not for me"), "cluster.toml: not for me"),
    ("nonsense", "the answer is 'nonsense'; expected pairs of node and tasks, or None"),
    ([(0, 99)], "node 0 gets 99 tasks; expected at least 1 and at most"),
    ([(99, 1)], "node 99 does not exist; expected 0 to 4"),
    ([], "0 tasks are placed; expected all"),
]


@pytest.mark.parametrize(("answer", "message"), WRONG, ids=[message[-30:] for _, message in WRONG])
@pytest.mark.parametrize("dispatch", ["strict", "easy", "conservative", "committed"])
def test_what_is_wrong_with_one_is_an_error(answer: object, message: str, dispatch: str) -> None:
    for policy in ("sjf", Aging(), Standing()):
        with pytest.raises(InputError, match=re.escape(message)) as error:
            simulate(gpu_log(), CLUSTER, policy=policy, dispatch=dispatch, placement=Answers(answer))
        assert "\n" not in str(error.value)


def test_an_interruption_is_no_mistake() -> None:
    with pytest.raises(KeyboardInterrupt):
        simulate(gpu_log(), CLUSTER, placement=Answers(KeyboardInterrupt()))


@pytest.mark.every(4)
@pytest.mark.parametrize("placement", ["milp", "my.py:LastFit"])
@pytest.mark.parametrize("policy", ["fcfs", "srtf"])
def test_windows_on_several_threads(
    placement: str, policy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_placers(tmp_path)
    monkeypatch.chdir(tmp_path)
    chosen = resolve_scheduler(policy=policy, placement=placement)
    first, length = [0, 5, 20, 35], 25
    runner = WindowRunner(gpu_log(), CLUSTER)
    results = [runner.run(chosen, first, length, threads=threads) for threads in (1, 3, 4)]
    for name, column in vars(results[0]).items():
        for other in results[1:]:
            np.testing.assert_array_equal(getattr(other, name), column)
    for place, begin in enumerate(first):
        alone = simulate(gpu_log().window(begin, length), CLUSTER, policy=policy, placement=placement)
        np.testing.assert_array_equal(results[0].end_ms[place], alone.end_ms)


@pytest.mark.parametrize("threads", [1, 3])
def test_one_that_fails_in_a_window(threads: int, tmp_path: Path) -> None:
    broken = resolve_scheduler(placement=f"{write_placers(tmp_path)}:Broken")
    runner = WindowRunner(gpu_log(), CLUSTER)
    for _ in range(2):
        with pytest.raises(InputError, match=r"place\(\) failed \(.*my.py:28: RuntimeError: no idea\)"):
            runner.run(broken, [0, 20], 20, threads=threads)


@pytest.mark.parametrize("policy", ["fcfs", *PREEMPTIVE])
def test_a_copy_goes_on_by_itself(policy: str) -> None:
    recorder = Recorder()
    simulation = Simulation(gpu_log(), CLUSTER, resolve_scheduler(policy=policy, placement=recorder))
    assert not simulation.run(12)
    copies = [simulation.fork() for _ in range(2)]
    asked = len(recorder.scenes)
    simulation.close()
    del simulation
    states = []
    for copy in copies:
        assert copy.run()
        states.append(state_of(copy))
    assert states[0] == states[1]
    assert len(recorder.scenes) > asked
    whole = simulate(gpu_log(), CLUSTER, policy=policy)
    np.testing.assert_array_equal(states[0]["end_ms"], whole.end_ms)


def test_one_cannot_be_saved() -> None:
    message = "placement 'python-first-fit' lives in Python: a simulation with it has no bytes"
    simulation = Simulation(gpu_log(), CLUSTER, resolve_scheduler(placement=FirstFit()))
    with pytest.raises(InputError, match=message):
        simulation.serialize()
    with pytest.raises(InputError, match=message):
        simulation.fork().serialize()
    by_name = Simulation(gpu_log(), CLUSTER, resolve_scheduler(placement="milp"))
    with pytest.raises(InputError, match="placement 'milp' lives in Python"):
        by_name.serialize()


def test_a_placement_must_be_one() -> None:
    assert issubclass(FirstFit, Placer)
    with pytest.raises(TypeError, match="place"):
        Placer()  # type: ignore[abstract]
