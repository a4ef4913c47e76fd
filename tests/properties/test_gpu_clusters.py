"""GPU clusters: the core gives the reference's schedule, segment by segment, and neither loses or doubles anything."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.model.schedule import Outcome
from tests.properties.gpu_strategies import (
    FRACTIONS,
    PLACEMENTS,
    PREEMPTIVE,
    WHOLE,
    failing,
    given_failures,
    gpu_configs,
    gpu_scenes,
    preemptive_configs,
)
from tests.properties.strategies import DISPATCHES, Scene
from tests.reference.conservation import check_conservation
from tests.reference.model import Config, RefJob, RefNode, Result
from tests.reference.simulator import simulate
from tests.support import examples

INSTANTS = [rule for rule in DISPATCHES if not rule.startswith("committed")]
RESERVING = ["easy", "conservative", "2", "3"]


def check_reference(scene: Scene, config: Config) -> Result:
    """Asserts that the reference's result is sound, and returns it."""
    result = simulate(scene.jobs, scene.nodes, config)
    check_conservation(scene.jobs, scene.nodes, config, result)
    return result


def check_equal(scene: Scene, config: Config) -> None:
    """Asserts that both simulators give the same segments, and that the core's own are sound."""
    from tests.properties.gpu_adapter import preemptions_of, run_core, seen

    result = check_reference(scene, config)
    core, preemptions = run_core(scene, config)
    assert seen(core, preemptions) == seen(result, preemptions_of(result))
    started = [job for job, start_ms in enumerate(result.start_ms) if start_ms is not None]
    assert {job: core.estimate_ms[job] for job in started} == {job: result.estimate_ms[job] for job in started}
    check_conservation(scene.jobs, scene.nodes, config, core)


@examples(60)
@given(data=st.data(), scene=gpu_scenes(), config=gpu_configs(dispatches=INSTANTS) | preemptive_configs())
def test_the_reference_loses_nothing(data: st.DataObject, scene: Scene, config: Config) -> None:
    check_reference(scene, data.draw(failing(scene, config)))


@pytest.mark.every(6)
@pytest.mark.parametrize("placement", PLACEMENTS)
@examples(14)
@given(scene=gpu_scenes(), config=gpu_configs())
def test_placement(placement: str, scene: Scene, config: Config) -> None:
    check_equal(scene, replace(config, placement=placement))


@pytest.mark.parametrize("placement", ["tiered-defrag", "tiered-balance", "tiered-lex", "fgd", "topology", "pack"])
@examples(10)
@given(scene=gpu_scenes(WHOLE), config=gpu_configs(["fcfs"], ["greedy"]))
def test_gangs_of_whole_gpus(placement: str, scene: Scene, config: Config) -> None:
    check_equal(scene, replace(config, placement=placement))


@examples(40)
@given(scene=gpu_scenes(FRACTIONS), config=gpu_configs(["fcfs"], placements=["fgd", "fgd", "pack", "spread"]))
def test_fractions(scene: Scene, config: Config) -> None:
    check_equal(scene, config)


@pytest.mark.every(4)
@pytest.mark.parametrize("dispatch", DISPATCHES)
@examples(14)
@given(scene=gpu_scenes(), config=gpu_configs())
def test_dispatch_at_several_speeds(dispatch: str, scene: Scene, config: Config) -> None:
    check_equal(scene, replace(config, dispatch=dispatch))


@pytest.mark.parametrize("policy", PREEMPTIVE)
@examples(40)
@given(scene=gpu_scenes(), config=preemptive_configs())
def test_preemption(policy: str, scene: Scene, config: Config) -> None:
    check_equal(scene, replace(config, policy=policy))


@examples(40)
@given(scene=gpu_scenes(), config=gpu_configs(["qssf", "sjf", "saf"]))
def test_means_of_the_jobs_that_have_ended(scene: Scene, config: Config) -> None:
    check_equal(scene, replace(config, estimate="history"))


@pytest.mark.parametrize("dispatch", INSTANTS)
@examples(12)
@given(data=st.data(), scene=gpu_scenes(), config=gpu_configs(["fcfs", "sjf"]))
def test_given_failures(dispatch: str, data: st.DataObject, scene: Scene, config: Config) -> None:
    failures = data.draw(given_failures(scene))
    keeps = data.draw(st.booleans())
    check_equal(scene, replace(config, dispatch=dispatch, failures=failures, failure_keeps_progress=keeps))


@examples(25)
@given(data=st.data(), scene=gpu_scenes(), config=gpu_configs(["fcfs"], ["committed", "committed-backfill"]))
def test_given_failures_under_a_commitment(data: st.DataObject, scene: Scene, config: Config) -> None:
    check_equal(scene, replace(config, failures=data.draw(given_failures(scene))))


@examples(60)
@given(data=st.data(), scene=gpu_scenes(), config=gpu_configs(dispatches=INSTANTS))
def test_failures_given_and_drawn(data: st.DataObject, scene: Scene, config: Config) -> None:
    check_equal(scene, data.draw(failing(scene, config)))


@examples(60)
@given(data=st.data(), scene=gpu_scenes(), config=preemptive_configs())
def test_failures_under_preemption(data: st.DataObject, scene: Scene, config: Config) -> None:
    check_equal(scene, data.draw(failing(scene, config)))


def test_a_job_that_fails_a_thousand_times_ends() -> None:
    from tests.properties.gpu_adapter import run_core

    scene = Scene((RefNode(1000, gpus=1),), (RefJob(0, 5, gpu_milli=1000),))
    config = Config(failures=tuple((time_ms, 0, time_ms % 2 == 0) for time_ms in range(1, 2100)))
    core, _ = run_core(scene, config)
    assert (core.outcome, core.end_ms, core.failures) == ([Outcome.FAILED], [1999], [1000])
