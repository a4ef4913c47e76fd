"""What the core is handed: clusters and jobs as columns of whole numbers, and one way to schedule as its configuration.

The core counts in milliseconds, milli-cores, MB and milli-GPUs. A placement that lives in Python becomes a callback,
which the core asks when it wants to know where a job goes.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import polars as pl

from shunter.errors import InputError
from shunter.model.access import access_of
from shunter.model.conditions import compile_conditions
from shunter.model.locality import NO_SLOWDOWN, locality_terms
from shunter.model.schedule import RejectReason
from shunter.model.settings import AUTO
from shunter.model.size import SIZE_CODES, resolved_size_by
from shunter.model.start_rules import compile_rules
from shunter.native import Handle, ffi, lib, opened, pointer, pointers
from shunter.policies.catalog import KNOWN_POLICIES
from shunter.policies.native import CorePolicy
from shunter.policies.own import Requests, Scene, check_answer, failure
from shunter.policies.pairs import ANY, Pairs, check_cluster
from shunter.simulation.rule_support import check_rules_known

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from shunter.model.access import Access
    from shunter.model.cluster import Cluster
    from shunter.model.log import Log
    from shunter.model.settings import Settings
    from shunter.model.start_rules import StartRules
    from shunter.model.workload import Workload
    from shunter.policies.own import Placer
    from shunter.policies.scheduler import Scheduler

UNKNOWN = -1
"""Stands in the core's integer columns for what the log does not say."""

MILLI = 1000

PAIRS_POLICY: Final = KNOWN_POLICIES["pairs"].code
"""The core's number for the score over pairs."""

NO_SCOPE: Final = {
    RejectReason.NO_SUCH_PARTITION: 2**31 - 1,
    RejectReason.NO_SUCH_FEATURES: 2**31 - 2,
    RejectReason.NOT_ADMITTED: 2**31 - 3,
    RejectReason.OVER_JOB_LIMIT: 2**31 - 4,
}
"""Scopes that no cluster has: their jobs are rejected for this."""


def numbers(column: pl.Series) -> NDArray[np.float64]:
    """Returns a column's values; NaN where the log does not say."""
    return column.cast(pl.Float64).fill_null(float("nan")).to_numpy()


def _whole(column: pl.Series, units: int) -> NDArray[np.int64]:
    """Returns a column in a smaller unit, rounded to the nearest; unknown where the log does not say."""
    values = numbers(column)
    known = np.isfinite(values)
    return np.where(known, np.rint(np.where(known, values, 0.0) * units), UNKNOWN).astype(np.int64)


class ClusterColumns(NamedTuple):
    """The nodes in the core's units, one value a node; `UNKNOWN` where a node has no such thing."""

    cores_milli: NDArray[np.int64]
    memory_mb: NDArray[np.int64]
    gpus: NDArray[np.int64]
    partition: NDArray[np.int64]
    gpu_type: NDArray[np.int64]
    speed_milli: NDArray[np.int64]
    rack: NDArray[np.int64]
    switch: NDArray[np.int64]


def open_tables(workload: Workload, cluster: Cluster) -> tuple[Handle, Handle]:
    """Hands a cluster and the jobs of a workload to the core."""
    access = access_of(workload.jobs, cluster)
    return open_cluster(cluster, access), open_jobs(workload, cluster, access)


def open_cluster(cluster: Cluster, access: Access) -> Handle:
    """Hands a cluster to the core.

    Args:
        cluster: The nodes.
        access: Where the jobs may go that will run on them.
    """
    nodes = cluster_columns(cluster)
    if not access.is_plain:
        # What jobs may use is told by scopes alone.
        nodes = nodes._replace(partition=np.full(len(cluster.nodes), UNKNOWN, dtype=np.int64))
    columns = pointers(*nodes)
    speeds, kinds = ffi.NULL, cluster.kinds
    if kinds is not None or cluster.slowdown != NO_SLOWDOWN:
        rows = () if kinds is None else kinds.rows
        arrays = [
            np.array(values, dtype=np.int64)
            for values in ([row.micro for row in rows], cluster.slowdown, [row.slowdown_micro for row in rows])
        ]
        names = ("kind_micro", "slowdown_micro", "kind_slowdown_micro")
        told = dict(zip(names, pointers(*arrays), strict=True))
        speeds = ffi.new("ShunterSpeeds *", {**told, "kinds": len(rows), "types": len(kinds.types) if kinds else 0})
    scopes, held = _scopes(access)
    handle = opened(lib.shunter_cluster_open, *columns, len(cluster.nodes), int(cluster.mix), speeds, scopes)
    # The core reads what these point to while it is called.
    del held
    return handle


def _scopes(access: Access) -> tuple[Any, Any]:
    """Returns a pointer to where jobs may go, null where partitions say it all, and what it points to."""
    scopes = scope_numbers(access)
    if access.is_plain or not scopes:
        return ffi.NULL, None
    choices = [choice for scope in scopes for choice in scope]
    arrays = [
        np.array(values, dtype=np.uint32)
        for values in ([len(scope) for scope in scopes], [len(choice) for choice in choices], np.concatenate(choices))
    ]
    counts, lengths, nodes = pointers(*arrays)
    told = {"choices": counts, "scopes": len(scopes), "lengths": lengths, "lengths_length": len(choices)}
    told |= {"nodes": nodes, "nodes_length": len(arrays[2])}
    return ffi.new("ShunterScopes *", told), arrays


def scope_numbers(access: Access) -> dict[tuple[tuple[int, ...], ...], int]:
    """Returns a number for each list of choices that some jobs have, but for all nodes."""
    everywhere = (tuple(range(len(access.cluster.nodes))),)
    found = dict.fromkeys(route.choices for route in access.routes if route.choices not in ((), everywhere))
    return {choices: number for number, choices in enumerate(found)}


def cluster_columns(cluster: Cluster) -> ClusterColumns:
    """Returns a cluster as the core has it."""
    # The core knows names by numbers alone. Those of partitions and types must be the ones that `open_jobs` uses for
    # the same cluster; racks and switches are never named by jobs. Nodes in several partitions go by scopes.
    partitions, gpu_types = (
        {name: number for number, name in enumerate(names)} for names in (cluster.partitions, cluster.gpu_types)
    )
    nodes = cluster.nodes
    racks, switches = ([getattr(node, key) for node in nodes] for key in ("rack", "switch"))
    return ClusterColumns(
        np.array([round(node.cores * MILLI) for node in nodes], dtype=np.int64),
        np.array([UNKNOWN if node.memory_mb is None else node.memory_mb for node in nodes], dtype=np.int64),
        np.array([node.gpus for node in nodes], dtype=np.int64),
        _numbers((node.partitions[0] if node.partitions else None for node in nodes), partitions),
        _numbers((node.gpu_type for node in nodes), gpu_types),
        np.array([round(node.speed * MILLI) for node in nodes], dtype=np.int64),
        _numbers(racks, _by_appearance(racks)),
        _numbers(switches, _by_appearance(switches)),
    )


def _by_appearance(names: Iterable[str | None]) -> dict[str, int]:
    """Returns a number for each name, in the order in which they appear."""
    distinct = dict.fromkeys(name for name in names if name is not None)
    return {name: number for number, name in enumerate(distinct)}


def _numbers(names: Iterable[str | None], numbers_of: Mapping[str, int]) -> NDArray[np.int64]:
    return np.array([UNKNOWN if name is None else numbers_of[name] for name in names], dtype=np.int64)


def open_jobs(workload: Workload, cluster: Cluster, access: Access) -> Handle:
    """Hands a workload to the core.

    Args:
        workload: The jobs.
        cluster: The nodes; types and kinds are numbered as it has them.
        access: Where the jobs may go there.
    """
    jobs = workload.jobs
    columns = [
        _whole(jobs["submit_s"], MILLI),
        _whole(jobs["run_s"], MILLI),
        _whole(access.requested_s(jobs), MILLI),
        jobs["tasks"].to_numpy().astype(np.int64),
        _whole(jobs["cores_per_task"], MILLI),
        _whole(jobs["memory_mb_per_task"], 1),
        _whole(jobs["gpus_per_task"], MILLI),
        _partitions(access),
        user_numbers(jobs["user"]),
        _whole(jobs["logged_wait_s"], MILLI),
        cluster.gpu_type_masks(jobs),
        cluster.kind_rows(jobs),
    ]
    flags = access.exclusive(jobs)
    tier, exclusive = (ffi.NULL if one is None else pointer(one) for one in (access.tier, flags))
    conditions, held = _conditions(jobs, compile_rules(workload, cluster))
    # The core reads what the conditions point to, so that must live as long as the call.
    handle = opened(lib.shunter_jobs_open, *pointers(*columns), tier, exclusive, conditions, len(jobs))
    del held
    return handle


def _conditions(jobs: pl.DataFrame, rules: StartRules | None) -> tuple[Any, object]:
    """Returns a pointer to what keeps jobs from waiting or starting, null for nothing, and what it points to."""
    found = compile_conditions(jobs)
    if found is None and rules is None:
        return ffi.NULL, None
    told: dict[str, Any] = {}
    if found is not None:
        names = [field.name for field in fields(found)]
        told = dict(zip(names, pointers(*(getattr(found, name) for name in names)), strict=True))
        told |= {"arrays": len(found.array_limit), "dependencies": len(found.dependent)}
    pointer, held = (ffi.NULL, None) if rules is None else _rules(rules)
    return ffi.new("ShunterConditions *", {**told, "rules": pointer}), (found, pointer, held)


def _rules(rules: StartRules) -> tuple[Any, object]:
    """Returns a pointer to a site's rules, and what it points to."""
    columns = rules.columns
    counts = {
        "stretches": len(columns["hours"]),
        "counters": len(columns["capacity"]),
        "takes": len(columns["take_job"]),
        "queued_counters": len(columns["queued_capacity"]),
        "queued_takes": len(columns["queued_job"]),
        "windows": len(columns["window_start_ms"]),
        "closed": len(columns["closed_node"]),
        "classes": len(columns["binds"]),
    }
    arrays = [np.ascontiguousarray(column) for column in columns.values()]
    told = dict(zip(columns, pointers(*arrays), strict=True))
    return ffi.new("ShunterRules *", {**told, **counts, "week_offset_ms": rules.week_offset_ms}), arrays


def user_numbers(users: pl.Series) -> NDArray[np.int64]:
    """Returns a number for each user, in the order of their names; unknown where the log does not say."""
    return (users.rank("dense").cast(pl.Int64) - 1).fill_null(UNKNOWN).to_numpy()


def _partitions(access: Access) -> NDArray[np.int64]:
    """Returns the number of where each job may go: that of a partition, or of a scope."""
    if access.is_plain:
        known: dict[tuple[str, ...], int] = {(name,): at for at, name in enumerate(access.cluster.partitions)}
        numbers = [NO_SCOPE[route.reason] if route.reason else known.get(route.partitions) for route in access.routes]
    else:
        scopes = scope_numbers(access)
        numbers = [NO_SCOPE[route.reason] if route.reason else scopes.get(route.choices) for route in access.routes]
    # A job that may go anywhere has none.
    of_route = np.array([UNKNOWN if number is None else number for number in numbers], dtype=np.int64)
    return of_route[access.route]


@dataclass(frozen=True)
class CoreConfig:
    """The core's configuration; the arrays that it points to live as long as this object does."""

    pointer: Any
    policy: CorePolicy
    estimate_parameters: NDArray[np.float64]
    columns: tuple[NDArray[Any], ...]
    """When which nodes go down or come up, and what types of GPUs cost."""
    asked: AskedPlacer | None
    """The placement that lives in Python, if there is one."""
    host_policy: Handle | None
    """The network that places jobs, if one does."""


def _prices(pairs: Pairs, cluster: Cluster, *, over_pairs: bool) -> NDArray[np.float64]:
    """Returns the prices of the cluster's types, where jobs choose among types.

    Raises:
        InputError: Jobs cannot choose among the types of this cluster, or one of them has no price.
    """
    if pairs.kind == ANY and not over_pairs:
        return np.empty(0)
    what = f"--pairs {pairs.kind}" if pairs.kind != ANY else "policy pairs"
    check_cluster(what, cluster)
    return pairs.for_core(cluster)


def core_config(
    scheduler: Scheduler, workload: Workload, cluster: Cluster, *, policy: CorePolicy | None = None
) -> CoreConfig:
    """Returns the core's configuration for one way to schedule a workload.

    Args:
        scheduler: From `shunter.policies.scheduler.resolve_scheduler`.
        workload: The jobs that the core is handed.
        cluster: The nodes that it is handed.
        policy: What takes the place of the scheduler's policy, if anything does: scores of the user's own.
    """
    if policy is None:
        order = scheduler.policy.order
        policy = CorePolicy.given(None) if order is None else order.for_core(workload, cluster)
    estimate, estimate_parameters = scheduler.estimate.code, scheduler.estimate.parameters
    make_placer, network = scheduler.placement.make_placer, scheduler.placement.network
    asked = None if make_placer is None else AskedPlacer(make_placer(), workload, cluster)
    events = _node_events(scheduler.settings, cluster)
    wait_ms, loss_micro = locality_terms(scheduler.settings.wait_for_locality)
    check_rules_known(scheduler, cluster, over_pairs=policy.code == PAIRS_POLICY)
    pairs = scheduler.pairs
    prices = _prices(pairs, cluster, over_pairs=policy.code == PAIRS_POLICY)
    columns = pointers(policy.parameters, estimate_parameters, *events, prices)
    config = ffi.new(
        "ShunterConfig *",
        {
            **scheduler.settings.core_fields(),
            "policy": policy.code,
            "policy_parameters": columns[0],
            "policy_parameters_length": len(policy.parameters),
            "dispatch": scheduler.dispatch.code,
            "reservation_depth": scheduler.dispatch.reservations,
            "placement": scheduler.placement.code,
            "estimate": estimate,
            "estimate_parameters": columns[1],
            "estimate_parameters_length": len(estimate_parameters),
            "node_event_ms": columns[2],
            "node_event_node": columns[3],
            "node_event_up": columns[4],
            "node_events_length": len(events[0]),
            "placer": ffi.NULL if asked is None else asked.callback,
            "origin_ms": log_begin_ms(workload),
            "size_by": SIZE_CODES[resolved_size_by(scheduler.size_by, workload, cluster)],
            "host_policy": 0 if network is None else network.number,
            "locality_wait_ms": wait_ms,
            "locality_loss_micro": loss_micro,
            "pairs": pairs.code,
            "type_prices": columns[5],
            "type_prices_length": len(prices),
            "price_factor": pairs.factor,
        },
    )
    # The core reads what the configuration points to, so that must live as long as it does.
    return CoreConfig(config, policy, estimate_parameters, (*events, prices), asked, network)


def log_begin_ms(workload: Workload) -> int:
    """Returns when the log begins that a workload is, or is a window of."""
    return round(float(workload.log.jobs["submit_s"][0]) * MILLI)


def common_size_by(scheduler: Scheduler, logs: Iterable[Log]) -> str:
    """Returns what sizes are counted in on all of these logs; ``auto`` if the logs differ."""
    found = {resolved_size_by(scheduler.size_by, log.workload, log.cluster) for log in logs}
    return found.pop() if len(found) == 1 else AUTO


def _node_events(settings: Settings, cluster: Cluster) -> tuple[NDArray[Any], ...]:
    """Returns when which nodes go down or come up."""
    if settings.failures is None:
        return np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0, np.uint8)
    from shunter.model.failures import given_failures

    failures = given_failures(settings.failures, cluster)
    return failures.time_ms, failures.node.astype(np.uint32), failures.up.astype(np.uint8)


_SIGNATURE: Final = "uintptr_t(uint64_t, struct ShunterScene const *, uint32_t *, uint32_t *, uintptr_t)"
"""``ShunterPlacer`` in the core's header."""


class AskedPlacer:
    """A placement as the core sees it. It must live as long as the core may ask."""

    def __init__(self, placer: Placer, workload: Workload, cluster: Cluster) -> None:
        self.placer = placer
        self.callback = ffi.callback(_SIGNATURE, self._answer)
        self.failure: BaseException | None = None
        """What went wrong while the core asked; the core itself knows of no exceptions."""
        # The core may ask from several threads; no placement has to be ready for that.
        self._lock = Lock()
        self._columns = cluster_columns(cluster)
        self._mix = cluster.mix
        self._requests = Requests.of(workload)
        placer.begin(workload, cluster)

    def raise_failure(self) -> None:
        """Raises what went wrong since the last call, if anything did."""
        error, self.failure = self.failure, None
        if error is None:
            return
        if isinstance(error, InputError) or not isinstance(error, Exception):
            raise error
        raise InputError(f"placement {self.placer.name!r}: place() failed ({failure(error)})") from error

    def _answer(self, _context: int, told: Any, nodes: Any, tasks: Any, capacity: int) -> int:  # noqa: ANN401
        # After a failure nothing is asked any more: the core comes back soon, and the first cause is what counts.
        if self.failure is not None:
            return 0
        try:
            pairs = self._pairs(told)
            for place, (node, count) in enumerate(pairs[:capacity]):
                nodes[place], tasks[place] = node, count
        # Ctrl-C too: it would be lost in the core otherwise.
        except BaseException as error:
            self.failure = error
            return 0
        return len(pairs)

    def _pairs(self, told: Any) -> Sequence[tuple[int, int]]:  # noqa: ANN401
        count = told.nodes
        job = int(told.job)
        scene = Scene(
            job=job,
            now_s=told.now_ms / 1000,
            request=self._requests[job],
            capacity=_array(told.capacity, count, np.uint32),
            free_cores_milli=_array(told.cores_milli, count, np.int64),
            free_memory_mb=_array(told.memory_mb, count, np.int64),
            # Signed, so that a placement may subtract without wrapping around.
            free_gpus=_array(told.whole_gpus, count, np.uint32).astype(np.int32),
            waiting=_array(told.waiting, told.waiting_length, np.uint64).astype(np.uint32),
            gpus=self._columns.gpus,
            pool=self._columns.gpu_type,
            cores_milli=self._columns.cores_milli,
            memory_mb=self._columns.memory_mb,
            mix=self._mix,
            requests=self._requests,
        )
        with self._lock:
            answer = self.placer.place(scene)
        return () if answer is None else check_answer(scene, answer, self.placer.name)


def _array(values: Any, count: int, dtype: type[np.generic]) -> NDArray[Any]:  # noqa: ANN401
    """Returns a copy of the core's values, which live only as long as its call."""
    if count == 0:
        return np.empty(0, dtype)
    return np.frombuffer(ffi.buffer(values, count * np.dtype(dtype).itemsize), dtype).copy()
