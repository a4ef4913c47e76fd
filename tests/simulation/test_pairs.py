"""Types of GPUs that jobs refuse: in copies, in snapshots and in decisions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from shunter.simulation import Simulation
from shunter.simulation.decision import Reason
from tests.golden.test_pairs import KINDS, PRICED, TWO, of_kind
from tests.properties.gpu_adapter import gpu_cluster, gpu_settings, gpu_workload
from tests.properties.gpu_strategies import gpu_configs, gpu_scenes
from tests.properties.strategies import Scene
from tests.reference.model import Config
from tests.simulation.driving import drive, finish, state_of
from tests.support import examples

RULES = [("sjf", "price"), ("sjf", "eft"), ("wfp3", "eft"), ("pairs?accept=0.3&accept_wait=400&free=1", "price")]
"""Policies, with the types that their jobs take."""


@pytest.mark.every(4)
@pytest.mark.parametrize(("policy", "pairs"), RULES)
@examples(15)
@given(scene=gpu_scenes(), config=gpu_configs(dispatches=["greedy", "easy"]), count=st.integers(0, 10))
def test_copies_continue_the_run(policy: str, pairs: str, scene: Scene, config: Config, count: int) -> None:
    assume(all(node.gpu_type is not None for node in scene.nodes if node.gpus))
    config = replace(config, policy=policy, pairs=pairs, prices=(3.0, 1.0, 2.0, 1.0, 5.0), mix=False)
    tables, scheduler = (gpu_workload(scene), gpu_cluster(scene, config)), gpu_settings(config)
    original = Simulation(*tables, scheduler)
    drive(original, count)
    saved, before = original.serialize(), state_of(original)
    fork, restored = original.fork(), Simulation.restore(*tables, saved)
    loaded = Simulation(*tables, scheduler)
    loaded.load(original.snapshot())
    assert state_of(restored) == state_of(fork) == before
    assert finish(restored) == finish(fork) == finish(original) == finish(Simulation(*tables, scheduler))
    assert loaded.run()
    assert loaded.job_states().end_ms.tolist() == original.job_states().end_ms.tolist()


@pytest.mark.parametrize(
    ("config", "promised_s"),
    [
        (replace(PRICED, dispatch="easy"), [8.0]),
        (replace(PRICED, dispatch="greedy"), []),
        (replace(PRICED, policy="pairs", dispatch="easy"), [8.0]),
        (replace(PRICED, policy="pairs", dispatch="greedy"), []),
    ],
)
def test_a_decision_says_that_a_job_refuses_what_is_free(config: Config, promised_s: list[float]) -> None:
    """As C comes, A runs on the second type, where a broad job costs least, and the first is free."""
    jobs = (of_kind("broad", 0, 4), of_kind("broad", 1, 4), of_kind("broad", 1, 5))
    scene = Scene(TWO, jobs, KINDS)
    simulation = Simulation(gpu_workload(scene), gpu_cluster(scene, config), gpu_settings(config))
    assert simulation.advance()
    # On the empty cluster a score refuses nothing, so that the first is put where prices would put it.
    simulation.start(0, [1], [1])
    assert simulation.advance()
    decision = simulation.decide()
    assert not decision.starts
    assert [held.start_s for held in decision.reservations.values()] == promised_s
    held = len(promised_s)
    assert {decision.waiting[job].reason for job in range(1 + held, 3)} == {Reason.REFUSED}
