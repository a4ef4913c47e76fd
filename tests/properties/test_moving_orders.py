"""Orders that move: the core gives the reference's schedule for every policy, dispatch rule and scan depth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.simulation import WindowRunner
from tests.properties.core_adapter import cluster_of, run_core, workload_of
from tests.properties.crowds import crowd, crowd_config
from tests.properties.observed import run_reference
from tests.properties.strategies import DISPATCHES, GATED, MOVING, POOL, Scene, random_configs, random_scenes
from tests.reference.model import Config, RefJob, RefNode
from tests.simulation.driving import settings_of
from tests.support import examples

PLAIN_RULES = ["strict", "greedy", "easy"]
SITE = """
[policy]
kind = "multifactor"
age = 4
size = 3
fair_share = 2.5
partition = 6
qos = 2
priority = 0.5
max_age_s = 20
half_life_s = 7
favor_small = true

[policy.partitions]
left = 1.0
nowhere = 3

[policy.queues]
high = 2
low = 0.3

[policy.shares]
ann = 2
eve = 0.25
stranger = 9
"""
SHARES = '[policy]\nkind = "fair-share"\nhalf_life_s = 4\n[policy.shares]\nbob = 0.5\n'


def check_equal(scene: Scene, config: Config) -> None:
    """Asserts that both simulators give the same schedule."""
    assert run_core(scene.jobs, scene.nodes, config) == run_reference(scene.jobs, scene.nodes, config)


@pytest.mark.every(6)
@pytest.mark.parametrize("dispatch", DISPATCHES)
@pytest.mark.parametrize("policy", [*MOVING, *GATED])
def test_policy_and_dispatch_in_crowds(policy: str, dispatch: str) -> None:
    random = Random(f"{policy} {dispatch}")
    for _ in range(10):
        check_equal(crowd(random), replace(crowd_config(random, dispatch), policy=policy))


@examples(250)
@given(scene=random_scenes(), config=random_configs(policies=[*MOVING, *GATED]))
def test_everything_at_once(scene: Scene, config: Config) -> None:
    check_equal(scene, config)


@examples(120)
@given(scene=random_scenes(palettes=(POOL,)), config=random_configs(dispatches=PLAIN_RULES, policies=[*MOVING, *GATED]))
def test_on_a_pool(scene: Scene, config: Config) -> None:
    """The core has a way of its own where cores alone bind."""
    check_equal(scene, config)


@examples(80)
@given(scene=random_scenes(), config=random_configs(policies=[*MOVING, *GATED]), depth=st.integers(1, 5))
def test_scan_depth(scene: Scene, config: Config, depth: int) -> None:
    check_equal(scene, replace(config, scan_depth=depth))


@examples(60)
@given(
    scene=random_scenes(),
    config=random_configs(policies=[*MOVING, *GATED]),
    max_wait_ms=st.sampled_from([0, 1000, 3000, 8000]),
)
def test_starvation_guard(scene: Scene, config: Config, max_wait_ms: int) -> None:
    check_equal(scene, replace(config, max_wait_ms=max_wait_ms))


@examples(60)
@given(scene=random_scenes(), config=random_configs(dispatches=["greedy"]), depth=st.sampled_from([2, 1000]))
def test_random_feasible(scene: Scene, config: Config, depth: int) -> None:
    check_equal(scene, replace(config, policy="random-feasible", scan_depth=depth))


@pytest.mark.parametrize("text", [SITE, SHARES], ids=["multifactor", "fair-share"])
@examples(60)
@given(scene=random_scenes(), config=random_configs())
def test_policies_from_files(tmp_path_factory: pytest.TempPathFactory, text: str, scene: Scene, config: Config) -> None:
    path: Path = tmp_path_factory.getbasetemp() / f"{len(text)}.toml"
    path.write_text(text)
    check_equal(scene, replace(config, policy=str(path)))


def weights(*choices: float) -> st.SearchStrategy[float]:
    """Draws a weight."""
    return st.sampled_from([0.0, *choices])


@st.composite
def random_linear(draw: st.DrawFn) -> str:
    """Draws a linear policy, often with a threshold or a gate that acts in small scenes."""
    parameters = {
        "estimate": draw(weights(1, -0.5, 0.31)),
        "size": draw(weights(1, -0.7)),
        "wait": draw(weights(360, 2000)),
        "wait_ratio": draw(weights(0.25, -0.1)),
        "free_estimate": draw(weights(0.8, -2)),
        "free_size": draw(weights(1.3)),
        "queue_estimate": draw(weights(90, -40)),
        "queue_size": draw(weights(30)),
        "reserve_below": draw(st.sampled_from([float("inf"), 0, -2, -5, -9, -11])),
        "hold_share": draw(weights(0.1, 0.4)),
        "hold_from_s": draw(st.sampled_from([0.5, 2, 6])),
        "hold_patience_s": draw(st.sampled_from([float("inf"), 0, 4, 10])),
    }
    return "linear?" + "&".join(f"{name}={value}" for name, value in parameters.items())


@pytest.mark.every(4)
@pytest.mark.parametrize("dispatch", DISPATCHES)
@examples(40)
@given(scene=random_scenes(), config=random_configs(), policy=random_linear())
def test_linear(dispatch: str, scene: Scene, config: Config, policy: str) -> None:
    check_equal(scene, replace(config, policy=policy, dispatch=dispatch))


@pytest.mark.parametrize("dispatch", PLAIN_RULES)
@examples(60)
@given(scene=random_scenes(palettes=(POOL,)), config=random_configs(), policy=random_linear())
def test_linear_on_a_pool(dispatch: str, scene: Scene, config: Config, policy: str) -> None:
    check_equal(scene, replace(config, policy=policy, dispatch=dispatch))


@pytest.mark.parametrize(("age", "ann_is_first"), [(800, False), (900, True)])
def test_shares_are_those_of_the_users_so_far(age: int, ann_is_first: bool) -> None:
    """Ann has used everything, so that her factor is 1/8 among three users; a wait of 10 s counts age/1000 for her."""
    jobs = [
        RefJob(0, 1000, user="eve"),
        RefJob(10_000, 1_000_000, user="ann"),
        RefJob(20_000, 5000, user="ann"),
        RefJob(30_000, 5000, user="bob"),
        RefJob(9_000_000, 1000, user="zoe"),
    ]
    nodes = (RefNode(1000),)
    config = Config(policy=f"multifactor?age={age}&max_age_s=10000&size=0&fair_share=1", dispatch="strict")
    starts_ms = [10_000, 1_010_000, 1_015_000] if ann_is_first else [10_000, 1_015_000, 1_010_000]
    assert [job.start_ms for job in run_reference(jobs[1:4], nodes, config, before=jobs[:1])] == starts_ms
    assert [job.start_ms for job in run_core(jobs[1:4], nodes, config, before=jobs[:1])] == starts_ms
    windows = WindowRunner(workload_of(jobs), cluster_of(nodes))
    assert windows.run(settings_of(config), [1], 3).start_ms.tolist() == [starts_ms]
