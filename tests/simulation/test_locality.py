"""Kinds and locality in copies, decisions and explanations, and the form of a log that it stands for."""

from __future__ import annotations

from functools import partial

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

import shunter
from shunter.metrics.explanation import explain
from shunter.metrics.explanation_text import conclusion
from shunter.metrics.record import Record
from shunter.model.cluster import Cluster, Node
from shunter.model.locality import NO_SLOWDOWN, Slowdown
from shunter.model.workload import Workload
from shunter.policies.scheduler import resolve_scheduler
from shunter.simulation import Simulation
from shunter.simulation.decision import Reason
from tests.properties.gpu_adapter import gpu_cluster, gpu_settings, gpu_workload
from tests.properties.gpu_strategies import gpu_configs, gpu_scenes, preemptive_configs
from tests.properties.strategies import Scene
from tests.reference.model import Config
from tests.simulation.driving import drive, finish, state_of
from tests.support import examples

TWICE = (2_000_000, 2_000_000, 2_000_000)


@examples(60)
@given(scene=gpu_scenes(), config=gpu_configs() | preemptive_configs(), count=st.integers(0, 10))
def test_copies_continue_the_run(scene: Scene, config: Config, count: int) -> None:
    tables, scheduler = (gpu_workload(scene), gpu_cluster(scene, config)), gpu_settings(config)
    original = Simulation(*tables, scheduler)
    drive(original, count)
    saved, before = original.serialize(), state_of(original)
    fork, restored = original.fork(), Simulation.restore(*tables, saved)
    assert state_of(restored) == state_of(fork) == before
    assert finish(restored) == finish(fork) == finish(original) == finish(Simulation(*tables, scheduler))


@examples(40)
@given(scene=gpu_scenes(), config=gpu_configs(dispatches=["strict", "greedy", "easy", "3"]), count=st.integers(0, 10))
def test_a_snapshot_continues_the_run(scene: Scene, config: Config, count: int) -> None:
    tables, scheduler = (gpu_workload(scene), gpu_cluster(scene, config)), gpu_settings(config)
    original = Simulation(*tables, scheduler)
    drive(original, count)
    loaded = Simulation(*tables, scheduler)
    loaded.load(original.snapshot())
    assert loaded.run()
    assert original.run()
    assert loaded.job_states().end_ms.tolist() == original.job_states().end_ms.tolist()


def gangs(*rows: tuple[float, float, int]) -> Workload:
    """Returns jobs by their submit times, run times and GPUs, one task for each."""
    submit_s, run_s, tasks = zip(*rows, strict=True)
    table = {"submit_s": submit_s, "run_s": run_s, "tasks": tasks}
    frame = pl.DataFrame(table).with_columns(gpus_per_task=pl.lit(1.0), cores_per_task=pl.lit(0.0))
    return Workload.from_frame(frame, name="gangs")


def lab(nodes: int, gpus: int = 4, slowdown: Slowdown = TWICE) -> Cluster:
    """Returns like nodes on which spread gangs take twice as long, unless told otherwise."""
    each = tuple(Node(f"n{number}", 8.0, gpus=gpus) for number in range(nodes))
    return Cluster.from_nodes(each, "lab", slowdown=slowdown)


WAITING = gangs((0, 100, 2), (0, 60, 3), (0, 100, 3))
"""The third has room on both nodes together, but waits for one of them."""


def test_a_decision_says_that_a_job_waits_for_closer_nodes() -> None:
    simulation = Simulation(WAITING, lab(2), resolve_scheduler(wait_for_locality="always"))
    assert simulation.advance()
    decision = simulation.decide()
    assert [*decision.starts] == [0, 1]
    assert [held.start_s for held in decision.reservations.values()] == [60.0]
    assert decision.waiting[2].reason is Reason.LOCALITY


def test_an_explanation_says_for_what_a_job_waits() -> None:
    schedule = shunter.simulate(WAITING, lab(2), wait_for_locality="always")
    sentence = (
        "Job 3 waited 1 min because it waits for one node: what was free of the cluster was enough, but too far apart"
    )
    assert conclusion(explain(Record.of(schedule), 2)) == f"{sentence} until job 2 ended at 60 s."
    later = shunter.simulate(WAITING, lab(2), wait_for_locality="30s")
    assert conclusion(explain(Record.of(later), 2)) == f"{sentence.replace('1 min', '30 s')}."
    assert later.end_s.tolist() == [100.0, 60.0, 230.0]


def test_a_log_of_one_task_a_gpu_that_always_waits_is_placed_as_one_of_tasks_that_fill_nodes() -> None:
    log = shunter.read_workload("generate:helios-like?jobs=1500&nodes=6&seed=3&load=0.95")
    # Sizes that are powers of two up to a node, or whole nodes: only these have one form in which tasks fill nodes.
    jobs = log.jobs.filter(pl.col("tasks").is_in([1, 2, 4, 8, 16, 24, 32]))
    alone = Workload.from_frame(jobs, name="one task a GPU")
    each = pl.col("tasks").clip(upper_bound=8)
    filling = jobs.with_columns(tasks=pl.col("tasks") // each, gpus_per_task=each.cast(pl.Float64))
    together = Workload.from_frame(filling, name="tasks that fill nodes")
    cluster = lab(6, 8, NO_SLOWDOWN)
    for dispatch in ("easy", "conservative", "greedy"):
        rules = partial(shunter.simulate, cluster=cluster, policy="sjf", dispatch=dispatch, placement="best-fit")
        waiting = rules(alone, wait_for_locality="always")
        assert waiting.start_s.tolist() == rules(together).start_s.tolist()
        assert waiting.start_s.tolist() != rules(alone).start_s.tolist()
