"""Runs GPU scenes through the Rust core, and shows what came of it as the reference simulator does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shunter.model.cluster import Cluster, Node
from shunter.model.kinds import KindTable
from shunter.model.locality import LEVELS, Slowdown
from shunter.model.schedule import Outcome, Phase, RejectReason
from shunter.model.workload import Workload
from shunter.policies.scheduler import Scheduler, resolve_scheduler
from shunter.simulation import Simulation
from tests.properties.core_adapter import workload_of
from tests.properties.strategies import Scene
from tests.reference.model import Allocation, Config, Preempt, Result, Share, Stop

OUTCOMES = [Outcome.__members__.get(phase.name, Outcome.UNFINISHED) for phase in Phase]
"""By the number of a job's phase."""
TYPE_NAMES = "ABCDE"
UNKNOWN_TYPE = "Z"


@dataclass(frozen=True)
class Seen:
    """What can be compared of a result."""

    start_ms: list[int | None]
    end_ms: list[int | None]
    outcome: list[Outcome]
    reject_reason: list[RejectReason]
    nodes: list[tuple[tuple[int, int], ...]]
    """Of the jobs that have ended: (node, tasks), by node number."""
    devices: list[tuple[tuple[int, ...], ...]]
    """Of the jobs that have ended: the milli-GPUs of each device, by node number."""
    failures: list[int]
    preemptions: list[int]
    stops: list[tuple[int, int, int, tuple[tuple[int, int], ...], bool]]


def gpu_type_words(mask: int) -> str | None:
    """Returns a mask as the column of a workload has it."""
    if mask == 0:
        return None
    names = [name for number, name in enumerate(TYPE_NAMES) if mask >> number & 1]
    return "|".join(names or [UNKNOWN_TYPE])


def gpu_workload(scene: Scene) -> Workload:
    """Returns the jobs as a workload."""
    types = pl.Series("gpu_type", [gpu_type_words(job.gpu_types) for job in scene.jobs], dtype=pl.String)
    kinds = pl.Series("kind", [job.kind for job in scene.jobs], dtype=pl.String)
    return Workload.from_frame(workload_of(scene.jobs).jobs.with_columns(types, kinds), name="property")


def gpu_cluster(scene: Scene, config: Config) -> Cluster:
    """Returns the nodes as a cluster."""
    nodes = tuple(
        Node(
            node_name(number),
            node.cores_milli / 1000,
            node.memory_mb,
            node.gpus,
            gpu_type=None if node.gpu_type is None else TYPE_NAMES[node.gpu_type],
            partitions=(node.partition,) if node.partition else (),
            speed=node.speed_milli / 1000,
            rack=None if node.rack is None else f"rack {node.rack}",
            switch=None if node.switch is None else f"switch {node.switch}",
        )
        for number, node in enumerate(scene.nodes)
    )
    slowdown = config.slowdown_micro
    return Cluster.from_nodes(nodes, "property", config.mix, kind_table(scene, slowdown), slowdown)


def kind_table(scene: Scene, slowdown: Slowdown) -> KindTable | None:
    """Returns the speeds of kinds as a cluster has them."""
    if not scene.kinds:
        return None
    types = TYPE_NAMES[: len(scene.kinds[0].speed_micro)]
    rows: list[tuple[str, dict[str, object]]] = []
    for row in scene.kinds:
        cells: dict[str, object] = {"kind": row.kind, "gpus": row.gpus}
        cells |= {f"speed_{name}": micro / 1_000_000 for name, micro in zip(types, row.speed_micro, strict=True)}
        for name, own in zip(types, row.slowdown_micro or (), strict=False):
            told = zip(LEVELS, own, strict=True)
            cells |= {f"slowdown_{level}_{name}": micro / 1_000_000 for level, micro in told}
        rows.append((f"row {len(rows)}", cells))
    return KindTable.of(rows, types, "property", slowdown=slowdown)


def locality_words(config: Config) -> str:
    """Returns how long jobs wait for nodes that are close together, as the command line has it."""
    if config.locality_wait_ms == 0:
        return "never"
    if config.locality_wait_ms is not None:
        return f"{config.locality_wait_ms / 1000:g}"
    loss_micro = config.locality_loss_micro
    return "always" if loss_micro is None else f"{loss_micro / 10_000:g}%"


def pair_words(config: Config) -> str:
    """Returns which types jobs take, as the command line has it."""
    if config.pairs != "price":
        return config.pairs
    prices = [f"{name}={price!r}" for name, price in zip(TYPE_NAMES, config.prices, strict=False)]
    return "&".join([f"price?factor={config.price_factor!r}", *prices])


def node_name(number: int) -> str:
    """Returns the name of a node."""
    return f"n{number}"


def gpu_settings(config: Config) -> Scheduler:
    """Returns a configuration of the reference as checked settings."""
    assert isinstance(config.policy, str)
    return resolve_scheduler(
        policy=config.policy,
        dispatch=config.dispatch,
        placement=config.placement,
        estimate=config.estimate,
        missing_request="run-time" if config.missing_request_ms is None else config.missing_request_ms / 1000,
        reserve_by=config.reserve_by,
        kill_at_request=config.kill_at_request,
        max_wait_s=None if config.max_wait_ms is None else config.max_wait_ms / 1000,
        size_by=config.size_by,
        wait_for_locality=locality_words(config),
        pairs=pair_words(config),
        scan_depth=config.scan_depth,
        seed=config.seed,
        min_run_s=config.minimum_run_ms / 1000,
        preemption_overhead_s=config.preemption_overhead_ms / 1000,
        preemption_overhead_per_gb_s=config.preemption_overhead_per_gb_ms / 1000,
        preempted_progress="kept" if config.keep_progress else "lost",
        failed_progress="kept" if config.failure_keeps_progress else "lost",
        failures=tuple(
            (time_ms / 1000, node_name(node), "up" if up else "down") for time_ms, node, up in config.failures
        ),
        mtbf_s=None if config.mtbf_ms is None else config.mtbf_ms / 1000,
        mttr_s=None if config.mttr_ms is None else config.mttr_ms / 1000,
    )


def run_core(scene: Scene, config: Config) -> tuple[Result, list[int]]:
    """Runs the core to the end; returns its result and how often each job was preempted."""
    simulation = Simulation(gpu_workload(scene), gpu_cluster(scene, config), gpu_settings(config))
    assert simulation.run()
    states, placed = simulation.job_states(), simulation.snapshot()
    outcomes = [OUTCOMES[phase] for phase in states.phase.tolist()]
    result = Result.blank(len(scene.jobs))
    result.start_ms = known(states.start_ms)
    result.latest_start_ms = known(states.latest_start_ms)
    result.end_ms = known(states.end_ms)
    result.outcome = outcomes
    result.reject_reason = [RejectReason(reason) for reason in states.reject_reason.tolist()]
    result.failures = states.failures.tolist()
    result.estimate_ms = list(simulation.estimates().estimate_ms.tolist())
    for job in range(len(scene.jobs)):
        nodes = pairs(placed.node_offsets, placed.nodes, placed.tasks, job)
        devices = pairs(placed.device_offsets, placed.devices, placed.millis, job)
        result.allocation[job] = tuple(Share(node, tasks, on_node(scene, node, devices)) for node, tasks in nodes)
    stops = simulation.stops()
    for place, job in enumerate(stops.job.tolist()):
        nodes = pairs(stops.node_offsets, stops.nodes, stops.tasks, place)
        allocation: Allocation = tuple(Share(node, tasks) for node, tasks in nodes)
        times = int(stops.start_ms[place]), int(stops.end_ms[place])
        result.stops.append(Stop(job, *times, allocation, bool(stops.by_failure[place])))
    return result, states.preemptions.tolist()


def known(times_ms: NDArray[np.int64]) -> list[int | None]:
    """Returns times, None where there is none; no scene begins before 0."""
    return [None if time_ms < 0 else time_ms for time_ms in times_ms.tolist()]


def pairs(
    offsets: NDArray[np.int64], first: NDArray[np.int32], second: NDArray[np.int32], place: int
) -> list[tuple[int, int]]:
    """Returns the entries of one place, sorted."""
    entries = slice(offsets[place], offsets[place + 1])
    return sorted(zip(first[entries].tolist(), second[entries].tolist(), strict=True))


def on_node(scene: Scene, node: int, devices: list[tuple[int, int]]) -> tuple[int, ...]:
    """Returns how many milli-GPUs a job holds of each device of a node, by the numbers of devices in the cluster."""
    first = sum(one.gpus for one in scene.nodes[:node])
    numbers = range(first, first + scene.nodes[node].gpus)
    return tuple(sum(milli for device, milli in devices if device == number) for number in numbers)


def preemptions_of(result: Result) -> list[int]:
    """Returns how often each job was preempted in the reference."""
    stopped = [event.job for event in result.events if isinstance(event, Preempt)]
    return [stopped.count(job) for job in range(len(result.outcome))]


def seen(result: Result, preemptions: list[int]) -> Seen:
    """Returns what can be compared; where a job that waits for ever was last is nobody's business."""
    ended = [one in (Outcome.COMPLETED, Outcome.KILLED) for one in result.outcome]
    shares = [
        sorted(allocation, key=lambda share: share.node) if has_ended else []
        for allocation, has_ended in zip(result.allocation, ended, strict=True)
    ]
    return Seen(
        start_ms=result.start_ms,
        end_ms=result.end_ms,
        outcome=result.outcome,
        reject_reason=result.reject_reason,
        nodes=[tuple((share.node, share.tasks) for share in one) for one in shares],
        devices=[tuple(share.devices for share in one) for one in shares],
        failures=result.failures,
        preemptions=preemptions,
        stops=sorted((stop.job, stop.start_ms, stop.end_ms, nodes_of(stop), stop.by_failure) for stop in result.stops),
    )


def nodes_of(stop: Stop) -> tuple[tuple[int, int], ...]:
    """Returns the (node, tasks) pairs of a segment, by node number."""
    return tuple(sorted((share.node, share.tasks) for share in stop.allocation))
