"""From a workload, a cluster and some names to a schedule."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from shunter.errors import InputError
from shunter.model.schedule import Outcome, Schedule, Settings
from shunter.model.segments import Stops
from shunter.policies.checkpoint_path import checkpoint_order, is_checkpoint
from shunter.policies.native_estimate import estimate_spec, estimate_stand_ins, native_estimate
from shunter.policies.native_policy import names_without_jobs, stand_ins
from shunter.policies.own import Policy, QueueView, Views
from shunter.policies.placements.placer import Placer
from shunter.policies.policy_file import load_policy, python_path
from shunter.policies.settings import check_settings
from shunter.simulation.simulation import Simulation
from shunter.simulation.states import CoreStops

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster
    from shunter.model.failures import FailureEvent
    from shunter.model.ledger import Ledger
    from shunter.model.workload import Workload

CALL_S = 0.1
"""About so long a call of the core lasts: progress is smooth, and Ctrl-C is answered at once."""

_OUTCOMES = np.array(
    [Outcome.UNFINISHED] * 3 + [Outcome.COMPLETED, Outcome.KILLED, Outcome.REJECTED, Outcome.FAILED], dtype=np.uint8
)
"""By the core's number for a job's phase."""


def simulate(
    workload: Workload,
    cluster: Cluster,
    *,
    policy: str | Policy = "fcfs",
    dispatch: str | int | None = None,
    placement: str | Placer | None = None,
    estimate: str | None = None,
    missing_request: str | float = "run-time",
    reserve_by: str = "requested",
    kill_at_request: bool = False,
    max_wait_s: float | None = None,
    scan_depth: int = 1000,
    seed: int = 0,
    preemption_overhead_s: float = 0.0,
    preempted_progress: str = "kept",
    min_run_s: float = 0.0,
    failures: str | Sequence[FailureEvent] | None = None,
    mtbf_s: float | None = None,
    mttr_s: float | None = None,
    failed_progress: str = "lost",
    progress: Callable[[int, int], None] | None = None,
) -> Schedule:
    """Runs a workload on a cluster to its end. `docs/simulation.md` says exactly what happens.

    Args:
        workload: The jobs; submit times are absolute.
        cluster: The nodes, empty at the start.
        policy: Who is next: a name, also with parameters (``hybrid?aging=0.5``), a TOML file, a `Policy` of your own,
            a file that defines one (``my.py``, ``my.py:Class``), or the folder of a learned one (``runs/first``), which
            brings its dispatch rule, placement and estimate.
        dispatch: What happens when the next job does not fit: a name, or a number of reservations; ``easy`` unless said
            otherwise, or ``greedy`` if the policy never waits.
        placement: Which nodes it gets: a name, also with parameters (``milp?alpha=2``), a `Placer` of your own, or a
            file that defines one; first-fit unless said otherwise.
        estimate: The run time that the policy may see: a name, also with parameters, or a TOML file with a prior;
            ``requested`` unless said otherwise, or ``history`` with ``qssf``.
        missing_request: What stands in for a request that the log does not have: ``run-time``, or seconds.
        reserve_by: Which run time reservations go by.
        kill_at_request: Whether a job that outlives its request is killed at it.
        max_wait_s: A job that has waited so long goes first.
        scan_depth: How many waiting jobs a pass with several reservations, or with a moving order, looks at.
        seed: Where every random choice comes from.
        preemption_overhead_s: What each start after a stop costs before progress is made.
        preempted_progress: Whether a job that is stopped for another goes on from where it was: ``kept`` or ``lost``.
        min_run_s: A job that has not run for so long since its latest start is not stopped for another.
        failures: Which nodes go down and come up when: a CSV file, or ``(time_s, node, "down" or "up")`` tuples.
        mtbf_s: How long a node is up on average, if failures are drawn from the seed.
        mttr_s: How long it is down then.
        failed_progress: Whether a job whose node fails goes on from where it was: ``kept`` or ``lost``.
        progress: Called now and then with the number of jobs that have ended, and of all jobs.

    Raises:
        InputError: A name or a number is wrong, or the workload is empty.
    """
    if len(workload) == 0:
        raise InputError(f"{workload.name}: there is no job to simulate")
    if isinstance(policy, str) and python_path(policy):
        policy = load_policy(policy)
    settings = check_settings(
        policy=policy.name if isinstance(policy, Policy) else policy,
        dispatch=dispatch,
        placement=placement.name if isinstance(placement, Placer) else placement,
        own_placement=isinstance(placement, Placer),
        estimate=estimate,
        missing_request=missing_request,
        reserve_by=reserve_by,
        kill_at_request=kill_at_request,
        max_wait_s=max_wait_s,
        scan_depth=scan_depth,
        seed=seed,
        preemption_overhead_s=preemption_overhead_s,
        preempted_progress=preempted_progress,
        min_run_s=min_run_s,
        failures=failures,
        mtbf_s=mtbf_s,
        mttr_s=mttr_s,
        failed_progress=failed_progress,
        own_policy=isinstance(policy, Policy),
    )
    placer = placement if isinstance(placement, Placer) else None
    if isinstance(policy, Policy):
        simulation = _run_own(policy, workload, cluster, settings, placer, progress)
    elif is_checkpoint(policy):
        from shunter.agents.learned_run import run_learned

        simulation = run_learned(workload, cluster, settings, progress)
    else:
        simulation = Simulation(workload, cluster, settings, placer=placer)
        _run(simulation, progress)
    return _schedule(simulation, workload, cluster, settings)


def _run(simulation: Simulation, progress: Callable[[int, int], None] | None) -> None:
    decisions = 16
    begin = time.perf_counter()
    while not simulation.run(decisions):
        elapsed_s = time.perf_counter() - begin
        # Decisions grow dearer with the queue, so their number follows the clock: at most doubled, cut at once.
        decisions = max(1, min(2 * decisions, int(decisions * CALL_S / max(elapsed_s, 1e-9))))
        if progress:
            status = simulation.status()
            progress(status.ended, status.jobs)
        begin = time.perf_counter()


def _run_own(
    policy: Policy,
    workload: Workload,
    cluster: Cluster,
    settings: Settings,
    placer: Placer | None,
    progress: Callable[[int, int], None] | None,
) -> Simulation:
    simulation = Simulation(workload, cluster, settings, own_order=True, placer=placer)
    views = Views(workload, simulation.estimates().estimate_ms, cluster.total_cores)
    if not policy.moves:
        everyone = np.arange(len(workload), dtype=np.uint32)
        first_submit_s = float(workload.jobs["submit_s"][0])
        scores = _scores(policy, views.of(everyone, first_submit_s, cluster.total_cores))
        simulation = Simulation(workload, cluster, settings, scores=scores, placer=placer)
        _run(simulation, progress)
        return simulation
    learned = native_estimate(settings.estimate).is_learned
    decisions = 0
    while simulation.advance():
        status = simulation.status()
        # As for the core's own orders that move: only those that have waited longest are looked at.
        waiting = np.sort(simulation.waiting())[: settings.scan_depth]
        if learned:
            views.refresh(simulation.estimates().estimate_ms)
        scores = _scores(policy, views.of(waiting, status.now_s, status.free_cores))
        simulation.dispatch(waiting[np.argsort(scores, kind="stable")])
        decisions += 1
        if progress and decisions % 1000 == 0:
            progress(status.ended, status.jobs)
    return simulation


def _scores(policy: Policy, queue: QueueView) -> NDArray[np.float64]:
    """Returns what a policy of the user's own says of a queue; whatever is wrong with it is the user's to mend."""
    jobs = len(queue.index)
    try:
        scores = np.asarray(policy.score(queue), dtype=np.float64)
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise InputError(f"policy {policy.name!r}: score() failed on a queue of {jobs} jobs ({what})") from error
    if scores.shape != (jobs,):
        raise InputError(f"policy {policy.name!r} gave scores of shape {scores.shape} for {jobs} jobs; give one each")
    if not np.isfinite(scores).all():
        job = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise InputError(f"policy {policy.name!r} gave {scores[job]} as a score; give finite numbers")
    return scores


def _schedule(simulation: Simulation, workload: Workload, cluster: Cluster, settings: Settings) -> Schedule:
    states = simulation.job_states()
    ended = np.isin(_OUTCOMES[states.phase], (Outcome.COMPLETED, Outcome.KILLED, Outcome.FAILED))
    placed = simulation.snapshot()
    basis = simulation.estimates().basis
    stops = simulation.stops()
    ledger = result_ledger(workload, cluster, settings)
    for rule, count, example in simulation.placement_ledger():
        ledger = ledger.plus(rule, count, example)
    simulation.close()
    return Schedule(
        workload=workload,
        cluster=cluster,
        settings=settings,
        ledger=ledger,
        start_s=np.where(ended | (states.preemptions + states.failures > 0), states.start_ms / 1000, np.nan),
        latest_start_s=np.where(ended, states.latest_start_ms / 1000, np.nan),
        end_s=np.where(ended, states.end_ms / 1000, np.nan),
        outcome=_OUTCOMES[states.phase],
        reject_reason=states.reject_reason,
        preemptions=states.preemptions.astype(np.int32),
        failures=states.failures.astype(np.int32),
        stops=_stops(stops),
        placement_offsets=placed.node_offsets,
        placement_nodes=placed.nodes,
        placement_tasks=placed.tasks,
        estimate_basis=basis,
    )


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


def result_ledger(workload: Workload, cluster: Cluster, settings: Settings) -> Ledger:
    """Returns the workload's ledger, and what stood in for what the log does not say."""
    ledger = workload.ledger
    order = checkpoint_order(settings.policy)
    stand_in = "the run time" if settings.missing_request == "run-time" else f"{settings.missing_request} s"
    ledger = _plus(ledger, workload, _without_request(workload, settings), f"no requested time: {stand_in} stands in")
    if any(node.memory_mb is not None for node in cluster.nodes):
        no_memory = workload.jobs["memory_mb_per_task"].is_null()
        ledger = _plus(ledger, workload, no_memory, "no memory request: memory does not bind")
    for column, rule in [*stand_ins(order).items(), *estimate_stand_ins(settings.estimate).items()]:
        ledger = _plus(ledger, workload, workload.jobs[column].is_null(), rule)
    for table, names in names_without_jobs(order, workload).items():
        ledger = ledger.plus(f"policy.{table}: a name that no job has changes nothing", len(names), names[0])
    return ledger


def _without_request(workload: Workload, settings: Settings) -> pl.Series:
    """Returns for which jobs something may stand in for a request."""
    unknown = workload.jobs["requested_s"].is_null()
    if settings.reserve_by == "requested":
        return unknown
    kind = estimate_spec(settings.estimate).kind
    if kind == "posterior":
        # Its prior has a bin for jobs without a request, unless these have no user either.
        return unknown & workload.jobs["user"].is_null()
    return unknown & (kind not in ("perfect", "noisy", "history"))


def _plus(ledger: Ledger, workload: Workload, touched: pl.Series, rule: str) -> Ledger:
    first = workload.jobs["job_id"][touched.arg_max() or 0]
    return ledger.plus(rule, int(touched.sum()), f"job {first}")
