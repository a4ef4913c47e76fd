"""When will waiting jobs start? Quantiles over many futures, from a log at a time, a file, or any state."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from shunter.checks import check_name
from shunter.errors import InputError
from shunter.model.fitting import can_ever_fit
from shunter.model.schedule import Phase
from shunter.model.settings import SETTING_NAMES
from shunter.model.snapshot import NO_TIME, UNKNOWN
from shunter.model.state import State
from shunter.model.workload import DURATION_LIMIT_S
from shunter.policies.native import NativePolicy
from shunter.policies.scheduler import resolve_scheduler
from shunter.policies.trust import UntrustedError, allow_named, trusting, words_of_a_file
from shunter.simulation.foresight import NEVER, Foresight, foresee
from shunter.simulation.loading import loaded
from shunter.simulation.simulation import Simulation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster
    from shunter.model.log import Log
    from shunter.model.workload import Workload
    from shunter.policies.scheduler import Scheduler
    from shunter.simulation.asked_job import AskedJob

LOW, MIDDLE, HIGH = 0.1, 0.5, 0.9
"""The quantiles that are told: the middle, and the 80 % interval around it."""
ASKED: Final = "not submitted"
"""The id of a job that somebody thinks of submitting."""


@dataclass(frozen=True)
class StartTimes:
    """When jobs start, in many futures."""

    now_s: float
    job_ids: tuple[int | str, ...]
    wait_s: NDArray[np.float64]
    """(futures, jobs): how long from now until the start; infinity where that is beyond the horizon."""
    horizon_s: float

    def quantile(self, part: float) -> NDArray[np.float64]:
        """Returns, for each job, the time from now by which it has started in so large a part of the futures."""
        ordered = np.sort(self.wait_s, axis=0)
        # The smallest time that so many futures do not exceed: no mean with infinity is ever needed.
        return np.asarray(ordered[max(0, int(np.ceil(part * len(ordered))) - 1)])

    @cached_property
    def low_s(self) -> NDArray[np.float64]:
        """The lower end of the 80 % interval, from now."""
        return self.quantile(LOW)

    @cached_property
    def median_s(self) -> NDArray[np.float64]:
        """The median, from now."""
        return self.quantile(MIDDLE)

    @cached_property
    def high_s(self) -> NDArray[np.float64]:
        """The upper end of the 80 % interval, from now."""
        return self.quantile(HIGH)

    def within(self, seconds: float) -> NDArray[np.float64]:
        """Returns, for each job, the chance that it starts within so long."""
        return np.asarray((self.wait_s <= seconds).mean(axis=0))

    @property
    def censored(self) -> NDArray[np.float64]:
        """For each job, the part of the futures in which it has not started when the horizon is reached."""
        return np.asarray(np.isinf(self.wait_s).mean(axis=0))

    def of(self, place: int) -> dict[str, Any]:
        """Returns what is known of one job, as a plain object; None stands for beyond the horizon."""
        ends = {"low_s": self.low_s, "median_s": self.median_s, "high_s": self.high_s}
        return {
            "job_id": self.job_ids[place],
            **{name: float(ends[name][place]) if np.isfinite(ends[name][place]) else None for name in ends},
            "within_hour": float(self.within(3600)[place]),
            "within_day": float(self.within(86_400)[place]),
            "beyond_horizon": float(self.censored[place]),
        }


@dataclass(frozen=True)
class Eta:
    """When waiting jobs start, and when one would that is not submitted yet."""

    state: State
    scheduler: Scheduler
    asked: Foresight
    waiting: StartTimes
    """Those that wait, in the order of their submit times, as things are."""
    new_job: AskedJob | None = None
    new: StartTimes | None = None
    """The job that somebody thinks of submitting."""
    instead: dict[str, tuple[AskedJob, StartTimes]] | None = None
    """What else it could ask for, and what comes of that in the same futures."""

    def to_json(self) -> dict[str, Any]:
        """Returns what ``--json`` prints."""
        settings = self.scheduler.settings
        told: dict[str, Any] = {
            "now_s": self.waiting.now_s,
            "policy": settings.policy,
            "dispatch": settings.dispatch,
            "futures": self.asked.futures,
            "seed": self.asked.seed,
            "horizon_days": self.asked.horizon_days,
            "run_times": self.asked.run_times,
            "arrivals": self.asked.arrivals,
            "jobs": [self.waiting.of(place) for place in range(len(self.waiting.job_ids))],
        }
        if self.new is not None and self.new_job is not None:
            told["new"] = vars(self.new_job) | self.new.of(0)
            instead = (self.instead or {}).items()
            told["instead"] = [{"change": name, **vars(job), **times.of(0)} for name, (job, times) in instead]
        return told


def eta(
    workload: str | Path | Workload | Log | State,
    cluster: str | int | Cluster | None = None,
    *,
    at: float | None = None,
    job: int | str | None = None,
    new: AskedJob | None = None,
    foresight: Foresight | None = None,
    threads: int | None = None,
    **settings: Any,  # noqa: ANN401 - the settings by name, each with a type of its own
) -> Eta:
    """Says when those that wait will start.

    Args:
        workload: A file, a generator, what was read before, or a state. Of a log, nothing is looked at that is not
            known at the time: no later job, and no run time of a job that has not ended by then.
        cluster: A number of cores, a preset, a file, or a cluster; None: the one that the workload tells of.
        at: At which time of a log's own clock, in seconds; None: when `job` is submitted, or the last job.
        job: The id of a job, at whose submit time the question is asked.
        new: A job that somebody thinks of submitting; also half and a quarter of its time and size are tried.
        foresight: How many futures, and what they are made of.
        threads: How many cores to use; None: all. The answer does not depend on it.
        settings: The policy and other settings of the site, as in `shunter.simulate`.

    Raises:
        InputError: A name or a number is wrong, or the policy is not one that the core runs.
    """
    asked = foresight or Foresight()
    if isinstance(workload, State):
        if at is not None or job is not None:
            raise InputError("a state is of one time; give at or job with a log alone")
        scheduler = check_scheduler(_scheduler_of(workload, settings))
        return eta_of(workload, scheduler, new=new, foresight=asked, threads=threads)
    scheduler = check_scheduler(resolve_scheduler(**settings))
    from shunter.workloads.reading import read_log

    log = read_log(workload, cluster)
    state = state_at(log.workload, log.cluster, scheduler, time_of(log.workload, at, job))
    return eta_of(state, scheduler, new=new, foresight=asked, threads=threads)


def _scheduler_of(state: State, given: dict[str, Any]) -> Scheduler:
    """Returns how a state's site schedules. What the user asks for goes over the state's own settings.

    Raises:
        InputError: A setting is unknown or wrong, or the state, which may be a stranger's, names a Python file.
    """
    # A state that says trust=True of itself is not to be trusted.
    for name in state.settings:
        check_name("setting", name, SETTING_NAMES, where=f"{state.workload.name}: settings: ")
    allow_named(given)
    try:
        with words_of_a_file(), trusting(bool(given.get("trust", False))):
            return resolve_scheduler(**{**state.settings, **given})
    except UntrustedError as error:
        raise UntrustedError(f"the state's settings: {error}") from None


def time_of(workload: Workload, at: float | None, job: int | str | None) -> float:
    """Returns the time that is meant: itself, or the submit time of a job, or of the last one.

    Raises:
        InputError: There is no such job, or both are given.
    """
    submit_s = workload.jobs["submit_s"]
    if job is not None:
        if at is not None:
            raise InputError("both a time and a job are given; give one")
        # Ids are whole numbers in most logs, and text in the others.
        row = workload.jobs["job_id"].cast(pl.String).index_of(str(job))
        if row is None:
            raise InputError(f"{workload.name}: there is no job {job}; check its id")
        return float(submit_s[row])
    time_s = float(submit_s[-1]) if at is None else at
    if not float(submit_s[0]) <= time_s <= float(submit_s[-1]) + DURATION_LIMIT_S:
        first_s, last_s = float(submit_s[0]), float(submit_s[-1])
        raise InputError(
            f"{workload.name}: time {time_s:.15g} is outside the log, whose jobs come from {first_s:.15g} to "
            f"{last_s:.15g} s; give one in between"
        )
    return time_s


def check_scheduler(scheduler: Scheduler) -> Scheduler:
    """Returns the way to schedule, if the core runs all of it.

    Raises:
        InputError: A part of it lives in Python, or is a network that chooses jobs.
    """
    if not isinstance(scheduler.policy, NativePolicy):
        what = f"policy {scheduler.settings.policy!r} is no classic or tuned one"
        raise InputError(f"{what}; futures run in the core, so take one of 'shunter policies' or a tuned file")
    if scheduler.placement.make_placer is not None:
        what = f"placement {scheduler.settings.placement!r} lives in Python"
        raise InputError(f"{what}; futures run in the core, so take one of 'shunter policies'")
    if scheduler.settings.dispatch.startswith("committed"):
        what = f"dispatch {scheduler.settings.dispatch!r} goes from event to event and knows no time between"
        raise InputError(f"{what}; take easy, conservative, greedy or strict")
    return scheduler


def state_at(workload: Workload, cluster: Cluster, scheduler: Scheduler, time_s: float) -> State:
    """Returns the state of a simulated log at a time; jobs that come later are not part of it."""
    known = int(workload.jobs["submit_s"].search_sorted(time_s, side="right"))
    present = workload.window(0, known)
    simulation = Simulation(present, cluster, scheduler)
    simulation.run_until(time_s)
    return State(present, cluster, simulation.snapshot(), scheduler.settings.words())


def with_job(state: State, job: AskedJob) -> State:
    """Returns a state in which one more job has just been submitted."""
    table, shot = state.workload.jobs, state.snapshot
    now_s = shot.now_ms / 1000
    job_id: int | str = ASKED
    if table["job_id"].dtype == pl.Int64:
        job_id = int(table["job_id"].max() or 0) + 1  # type: ignore[arg-type]
    row = {**dict.fromkeys(table.columns), **job.row(), "job_id": job_id, "submit_s": now_s}
    jobs = pl.concat([table, pl.DataFrame([row], schema=table.schema)])
    added = {
        "phase": Phase.WAITING,
        "start_ms": 0,
        "end_ms": 0,
        "reserved_ms": NO_TIME,
        "done_ms": 0,
        "limit_ms": UNKNOWN,
        "start_number": UNKNOWN,
        "eligible_ms": NO_TIME,
    }
    arrays = shot.arrays()
    longer: dict[str, Any] = {name: np.append(arrays[name], arrays[name].dtype.type(added[name])) for name in added}
    for name in ("node_offsets", "device_offsets"):
        longer[name] = np.append(arrays[name], arrays[name][-1])
    # What sizes are counted in is the whole log's choice, and stays.
    window_of = state.workload.log if len(table) else None
    workload = replace(state.workload, jobs=jobs, window_of=window_of)
    return replace(state, workload=workload, snapshot=replace(shot, **longer))


def eta_of(
    state: State,
    scheduler: Scheduler,
    *,
    new: AskedJob | None = None,
    foresight: Foresight | None = None,
    threads: int | None = None,
    scores: NDArray[np.float64] | None = None,
) -> Eta:
    """Says when those that wait in a state will start.

    Args:
        state: What is known.
        scheduler: How the site schedules; `check_scheduler` has seen it.
        new: A job that somebody thinks of submitting.
        foresight: How many futures, and what they are made of.
        threads: How many cores to use; None: all.
        scores: An order of the jobs, the lowest first, that takes the place of the policy's.
    """
    asked = foresight or Foresight()
    phase = state.snapshot.phase
    waiting = np.flatnonzero((phase == Phase.WAITING) | (phase == Phase.HELD))
    times = _start_times(state, scheduler, waiting, asked, threads, scores)
    found = Eta(state, scheduler, asked, times)
    if new is None:
        return found

    def start_of(job: AskedJob) -> StartTimes:
        last = np.array([len(phase)])
        # Behind all that wait now, as long as nobody says otherwise.
        longer = None if scores is None else np.append(scores, scores.max(initial=0.0) + 1)
        grown = with_job(state, job)
        for name in (job.partition or "").split(",") if state.cluster.partitions and job.partition else ():
            check_name("partition", name, state.cluster.partitions)
        if not can_ever_fit(grown.workload.jobs.tail(1), state.cluster)[0]:
            parts = f"{job.tasks} x {job.cores / job.tasks:g} cores" + (f" and {job.gpus:g} GPUs" if job.gpus else "")
            raise InputError(f"a job of {parts} can never run on {state.cluster.label}; ask for less")
        return replace(_start_times(grown, scheduler, last, asked, threads, longer), job_ids=(ASKED,))

    instead = {name: (smaller, start_of(smaller)) for name, smaller in new.smaller().items()}
    return replace(found, new_job=new, new=start_of(new), instead=instead)


def _start_times(
    state: State,
    scheduler: Scheduler,
    jobs: NDArray[np.intp],
    asked: Foresight,
    threads: int | None,
    scores: NDArray[np.float64] | None,
) -> StartTimes:
    if len(state.workload):
        start_ms = foresee(loaded(state, scheduler, scores), jobs.astype(np.uint32), asked, threads=threads)
    else:
        start_ms = np.empty((asked.futures, 0), np.int64)
    wait_s = np.where(start_ms == NEVER, np.inf, (start_ms - state.snapshot.now_ms) / 1000)
    ids = state.workload.jobs["job_id"]
    horizon_s = asked.horizon_days * 86_400
    return StartTimes(state.snapshot.now_ms / 1000, tuple(ids[int(job)] for job in jobs), wait_s, horizon_s)
