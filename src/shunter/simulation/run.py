"""What is simulated for users: a schedule of a whole workload, a decision from a snapshot, estimates at submit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shunter.errors import InputError
from shunter.model.access import access_of
from shunter.model.cluster import Cluster
from shunter.model.conditions import has_conditions
from shunter.model.ruled_jobs import rules_without_jobs
from shunter.model.schedule import Outcome, Phase, Schedule, Stops
from shunter.model.settings import RUN_TIME
from shunter.model.size import SIZE_WORDS, job_sizes, resolved_size_by
from shunter.native import check, lib
from shunter.policies.checkpoint import Checkpoint
from shunter.policies.own import Policy, PythonPolicy, QueueView, failure
from shunter.policies.scheduler import FIRST_FIT, resolve_placement, resolve_scheduler
from shunter.simulation.core_inputs import MILLI, core_config, numbers, open_tables, user_numbers
from shunter.simulation.learned import learned_runner
from shunter.simulation.rule_support import with_rule_names
from shunter.simulation.simulation import Simulation
from shunter.simulation.states import Estimates
from shunter.workloads.reading import read_log

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import polars as pl
    from numpy.typing import NDArray

    from shunter.model.access import Access
    from shunter.model.log import Ledger, Log
    from shunter.model.settings import Settings
    from shunter.model.snapshot import Snapshot
    from shunter.model.workload import Workload
    from shunter.policies.own import Policy
    from shunter.policies.scheduler import Scheduler
    from shunter.simulation.decision import Decision
    from shunter.simulation.states import CoreStops

_OUTCOMES = np.array([Outcome.__members__.get(phase.name, Outcome.UNFINISHED) for phase in Phase], dtype=np.uint8)
"""By the core's number for a job's phase."""


def simulate(
    workload: str | Path | Workload | Log,
    cluster: str | int | Cluster | None = None,
    scheduler: Scheduler | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
    **settings: Any,  # noqa: ANN401 - the settings by name, each with a type of its own
) -> Schedule:
    """Runs a workload on a cluster to its end. ``docs/simulation.md`` says exactly what happens.

    The settings are those of `shunter.model.settings.Settings`, by name. The most important are:

    - ``policy``: the order of the queue: a name, also with parameters (``hybrid?aging=0.5``), a TOML file, a
      `shunter.Policy` of your own, a file that defines one (``my.py``, ``my.py:Class``), or the folder of a learned one
      (``runs/first``), which brings its dispatch rule, placement and estimate.
    - ``dispatch``: what happens when the next job does not fit: a name, or a number of reservations. ``easy`` unless
      the policy goes with another one.
    - ``placement``: the nodes that a job gets: a name, also with parameters, the folder of a learned one that chooses
      hosts (``runs/hosts``), a `shunter.Placer` of your own, or a file that defines one. ``first-fit`` by default.
    - ``estimate``: the run time that the policy sees: a name, also with parameters, or a TOML file with a prior.
      ``requested`` by default, or ``history`` with ``qssf``.

    Args:
        workload: A file, a generator, or what was read before; submit times are absolute.
        cluster: A number of cores, a preset, a file, or a cluster, empty at the start; None: the one that the workload
            tells of.
        scheduler: A way to schedule that is resolved already; it takes the place of the settings.
        progress: Called now and then with the number of jobs that have ended, and of all jobs.
        settings: What to do, by name.

    Raises:
        InputError: A name or a number is wrong, a file cannot be read, or the workload is empty.
    """
    if scheduler is None:
        scheduler = resolve_scheduler(**settings)
    elif settings:
        raise InputError(f"{next(iter(settings))} is given beside a scheduler; give one of the two")
    log = read_log(workload, cluster)
    workload, cluster = log.workload, log.cluster
    if len(workload) == 0:
        raise InputError(f"{workload.name}: there is no job to simulate")
    # Whoever orders the queue, what comes back is a simulation at its end: all schedules are read off in one way.
    policy = scheduler.policy
    if isinstance(policy, PythonPolicy):
        simulation = _run_own(policy.policy, workload, cluster, scheduler, progress)
    elif isinstance(policy, Checkpoint):
        simulation = learned_runner().run_learned(workload, cluster, scheduler, progress)
    else:
        simulation = Simulation(workload, cluster, scheduler)
        simulation.run_to_end(progress)
    return _schedule(simulation, workload, cluster, scheduler)


def decide(snapshot: Snapshot, workload: Workload, cluster: Cluster, scheduler: Scheduler) -> Decision:
    """Returns what a scheduler would do now with the jobs and nodes that a snapshot tells of.

    Args:
        snapshot: What is known. Run times of jobs that have not ended, and jobs to come, do not matter.
        workload: The jobs; the snapshot tells of each, in the same order.
        cluster: The nodes.
        scheduler: From `shunter.policies.scheduler.resolve_scheduler`; with ``hosts=True`` its policy may be a
            checkpoint that chooses hosts.

    Raises:
        InputError: The snapshot contradicts itself, or the jobs and nodes.
    """
    policy = scheduler.policy
    if isinstance(policy, Checkpoint):
        return learned_runner().decide_learned(snapshot, workload, cluster, scheduler)
    if isinstance(policy, PythonPolicy):
        # An order that stands still has given its scores to the simulation; one that moves is asked for this instant.
        own = OwnOrder(policy.policy, workload, cluster, scheduler)
        own.simulation.load(snapshot)
        decision = own.simulation.decide(own.order() if policy.policy.moves else None)
        return with_rule_names(decision, workload, cluster)
    simulation = Simulation(workload, cluster, scheduler)
    simulation.load(snapshot)
    return with_rule_names(simulation.decide(), workload, cluster)


def estimates_at_submit(workload: Workload, scheduler: Scheduler) -> Estimates:
    """Returns the estimate of each job at its submit time; no schedule is simulated.

    A job is known to have ended at its submit time plus its logged wait and its run time, without a logged wait at its
    submit time plus its run time. The jobs before a window are known too.

    Args:
        workload: The jobs.
        scheduler: From `shunter.policies.scheduler.resolve_scheduler`; the estimate and what stands in for unknown
            requests are what matters of it.
    """
    table = workload.whole()
    # Nothing is placed, and nothing fails, so any cluster without partitions will do.
    pool = Cluster.pool(1)
    scheduler = replace(
        scheduler,
        settings=replace(scheduler.settings, placement=FIRST_FIT, failures=None),
        placement=resolve_placement(FIRST_FIT),
    )
    _, jobs = open_tables(table, pool)
    config = core_config(scheduler, table, pool)
    count = len(table)
    estimates = Estimates.empty(count)
    estimate_ms, basis = estimates.pointers()
    check(lib.shunter_estimates_at_submit(jobs.number, config.pointer, estimate_ms, basis, count))
    first = count - len(workload)
    return Estimates(estimates.estimate_ms[first:], estimates.basis[first:])


def _run_own(
    policy: Policy,
    workload: Workload,
    cluster: Cluster,
    scheduler: Scheduler,
    progress: Callable[[int, int], None] | None,
) -> Simulation:
    own = OwnOrder(policy, workload, cluster, scheduler)
    simulation = own.simulation
    if not policy.moves:
        simulation.run_to_end(progress)
        return simulation
    decisions = 0
    while simulation.advance():
        simulation.dispatch(own.order())
        decisions += 1
        # A decision in Python takes far longer than a look at the counts, but bars need no more.
        if progress and decisions % 1000 == 0:
            status = simulation.status()
            progress(status.ended, status.jobs)
    return simulation


class OwnOrder:
    """A policy of the user's own, and the simulation that it orders."""

    def __init__(self, policy: Policy, workload: Workload, cluster: Cluster, scheduler: Scheduler) -> None:
        self.simulation = Simulation(workload, cluster, scheduler)
        self._policy = policy
        self._scheduler = scheduler
        access = access_of(workload.jobs, cluster)
        self._tier = access.tier
        self._views = _Views(workload, cluster, access, scheduler, self.simulation.estimates().estimate_ms)
        if not policy.moves:
            everyone = np.arange(len(workload), dtype=np.uint32)
            first_submit_s = float(workload.jobs["submit_s"][0])
            # An order that stands still is asked for once, for all jobs, as if all waited on an empty cluster; then the
            # core runs by these scores alone.
            scores = _scores(policy, self._views.of(everyone, first_submit_s, cluster.total_cores))
            self.simulation = Simulation(workload, cluster, scheduler, scores=scores)

    def order(self) -> NDArray[np.uint32]:
        """Returns the waiting jobs in the order of a policy that moves, the next first."""
        status = self.simulation.status()
        # As for the core's own orders that move: only those that have waited longest are looked at.
        waiting = np.sort(self.simulation.waiting())
        if self._tier is not None:
            # Those of higher tiers are looked at first; the core keeps to tiers by itself.
            waiting = waiting[np.argsort(-self._tier[waiting], kind="stable")]
        waiting = np.sort(waiting[: self._scheduler.settings.scan_depth])
        if self._scheduler.estimate.is_learned:
            self._views.refresh(self.simulation.estimates().estimate_ms)
        self._views.since(self.simulation.eligible_ms())
        scores = _scores(self._policy, self._views.of(waiting, status.now_s, status.free_cores))
        ordered: NDArray[np.uint32] = waiting[np.argsort(scores, kind="stable")]
        return ordered


class _Views:
    """Cuts views of a workload's jobs, from columns that are made once."""

    def __init__(
        self,
        workload: Workload,
        cluster: Cluster,
        access: Access,
        scheduler: Scheduler,
        estimate_ms: NDArray[np.int64],
    ) -> None:
        jobs = workload.jobs
        tasks = jobs["tasks"].to_numpy()
        self._total_cores = cluster.total_cores
        self._columns: dict[str, NDArray[Any]] = {
            "submit_s": numbers(jobs["submit_s"]),
            "eligible_s": numbers(jobs["submit_s"]),
            "estimate_s": estimate_ms / MILLI,
            "requested_s": numbers(access.requested_s(jobs)),
            "tasks": tasks,
            "cores": tasks * numbers(jobs["cores_per_task"]),
            "memory_mb": tasks * numbers(jobs["memory_mb_per_task"]),
            "gpus": tasks * numbers(jobs["gpus_per_task"]),
            "size": job_sizes(jobs, cluster, resolved_size_by(scheduler.size_by, workload, cluster)),
            "priority": numbers(jobs["priority"]),
            "user": user_numbers(jobs["user"]),
        }

    def refresh(self, estimate_ms: NDArray[np.int64]) -> None:
        """Takes over estimates that have changed."""
        self._columns["estimate_s"] = estimate_ms / MILLI

    def since(self, eligible_ms: NDArray[np.int64]) -> None:
        """Takes over since when jobs wait."""
        self._columns["eligible_s"] = eligible_ms / MILLI

    def of(self, index: NDArray[np.uint32], now_s: float, free_cores: float) -> QueueView:
        """Returns a view of these jobs."""
        columns = {name: column[index] for name, column in self._columns.items()}
        return QueueView(now_s=now_s, free_cores=free_cores, total_cores=self._total_cores, index=index, **columns)


def _scores(policy: Policy, queue: QueueView) -> NDArray[np.float64]:
    """Returns what a policy of the user's own says of a queue; whatever is wrong with it is the user's to mend."""
    jobs = len(queue.index)
    try:
        scores = np.asarray(policy.score(queue), dtype=np.float64)
    except Exception as error:
        what = f"policy {policy.name!r}: score() failed on a queue of {jobs} jobs"
        raise InputError(f"{what} ({failure(error)})") from error
    if scores.shape != (jobs,):
        raise InputError(f"policy {policy.name!r} gave scores of shape {scores.shape} for {jobs} jobs; give one each")
    if not np.isfinite(scores).all():
        job = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise InputError(f"policy {policy.name!r} gave {scores[job]} as a score; give finite numbers")
    return scores


def _schedule(simulation: Simulation, workload: Workload, cluster: Cluster, scheduler: Scheduler) -> Schedule:
    states = simulation.job_states()
    ended = np.isin(_OUTCOMES[states.phase], (Outcome.COMPLETED, Outcome.KILLED, Outcome.FAILED))
    # Where jobs ran is part of what a snapshot tells.
    placed = simulation.snapshot()
    never_eligible = np.isin(states.phase, (Phase.FUTURE, Phase.HELD))
    eligible_s = np.where(never_eligible, np.nan, simulation.eligible_ms() / 1000)
    basis = simulation.estimates().basis
    stops, placing = simulation.stops(), simulation.placement_ledger()
    # A large simulation's memory is free before its schedule is measured.
    simulation.close()
    ledger = result_ledger(workload, cluster, scheduler)
    for rule, count, example in placing:
        ledger = ledger.plus(rule, count, example)
    return Schedule(
        workload=workload,
        cluster=cluster,
        settings=_recorded(scheduler),
        ledger=ledger,
        # A job that was stopped and never ended has a first start, but no latest one that it ended from.
        start_s=np.where(ended | (states.preemptions + states.failures > 0), states.start_ms / 1000, np.nan),
        latest_start_s=np.where(ended, states.latest_start_ms / 1000, np.nan),
        end_s=np.where(ended | (states.phase == Phase.CANCELLED), states.end_ms / 1000, np.nan),
        outcome=_OUTCOMES[states.phase],
        reject_reason=states.reject_reason,
        preemptions=states.preemptions.astype(np.int32),
        failures=states.failures.astype(np.int32),
        stops=_stops(stops),
        placement_offsets=placed.node_offsets,
        placement_nodes=placed.nodes,
        placement_tasks=placed.tasks,
        estimate_basis=basis,
        size_by=SIZE_WORDS[placed.size_by],
        eligible_s=eligible_s if has_conditions(workload.jobs) or cluster.rules.hold_jobs else None,
    )


def _recorded(scheduler: Scheduler) -> Settings:
    """Returns the settings of a result, in which a policy of the user's own goes by the name that it gives itself."""
    policy = scheduler.policy
    if isinstance(policy, PythonPolicy):
        return replace(scheduler.settings, policy=policy.policy.name)
    return scheduler.settings


def _stops(stops: CoreStops) -> Stops | None:
    """Returns the runs that did not end their jobs; None if there are none."""
    if len(stops.job) == 0:
        return None
    return Stops(
        job=stops.job.astype(np.int32),
        start_s=stops.start_ms / 1000,
        end_s=stops.end_ms / 1000,
        node_offsets=stops.node_offsets,
        nodes=stops.nodes,
        tasks=stops.tasks,
        by_failure=stops.by_failure.astype(np.bool_),
    )


def result_ledger(workload: Workload, cluster: Cluster, scheduler: Scheduler) -> Ledger:
    """Returns the workload's ledger, and what stood in for what the log does not say."""
    ledger, missing = workload.ledger, scheduler.settings.missing_request
    stand_in = "the run time" if missing == RUN_TIME else f"{missing} s"
    unknown = access_of(workload.jobs, cluster).requested_s(workload.jobs).is_null()
    defaults = workload.jobs["requested_s"].is_null() & ~unknown
    ledger = _plus(ledger, workload, defaults, "no requested time: the default of its partition stands in")
    without = _without_request(workload, scheduler, unknown)
    ledger = _plus(ledger, workload, without, f"no requested time: {stand_in} stands in")
    if any(node.memory_mb is not None for node in cluster.nodes):
        no_memory = workload.jobs["memory_mb_per_task"].is_null()
        ledger = _plus(ledger, workload, no_memory, "no memory request: memory does not bind")
    for rule, touched in (cluster.kinds.stand_ins(workload.jobs) if cluster.kinds else {}).items():
        ledger = _plus(ledger, workload, touched, rule)
    order = scheduler.policy.order
    for column, rule in [*(order.stand_ins() if order else {}).items(), *scheduler.estimate.stand_ins().items()]:
        ledger = _plus(ledger, workload, workload.jobs[column].is_null(), rule)
    for table, names in (order.names_without_jobs(workload) if order else {}).items():
        ledger = ledger.plus(f"policy.{table}: a name that no job has changes nothing", len(names), names[0])
    for rule, places in (rules_without_jobs(workload, cluster) | scheduler.pairs.without_effect(cluster)).items():
        ledger = ledger.plus(rule, len(places), places[0])
    return ledger


def _without_request(workload: Workload, scheduler: Scheduler, unknown: pl.Series) -> pl.Series:
    """Returns for which of the jobs without a known request something may stand in for it."""
    # Reservations need a request of every job; with reserve_by = "estimate" only some estimates fall back on it.
    if scheduler.settings.reserve_by == "requested":
        return unknown
    kind = scheduler.estimate.kind
    if kind == "posterior":
        # Its prior has a bin for jobs without a request, unless these have no user either.
        return unknown & workload.jobs["user"].is_null()
    return unknown & (kind not in ("perfect", "noisy", "history"))


def _plus(ledger: Ledger, workload: Workload, touched: pl.Series, rule: str) -> Ledger:
    # The place of the first true value; a ledger leaves out rules that touched nobody.
    first = workload.jobs["job_id"][touched.arg_max() or 0]
    return ledger.plus(rule, int(touched.sum()), f"job {first}")
