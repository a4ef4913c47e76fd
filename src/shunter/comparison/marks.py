"""Marks: what makes a result better than a scheduler could have it: true run times, and stops that cost nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from shunter.model.schedule import MB_IN_A_GB
from shunter.model.settings import RUN_TIME
from shunter.policies.catalog import BLIND
from shunter.policies.checkpoint import Checkpoint
from shunter.policies.native import NativePolicy

if TYPE_CHECKING:
    import polars as pl

    from shunter.model.workload import Workload
    from shunter.policies.scheduler import Scheduler

RESTART_S: Final = 30.0
"""What each restart costs in the row that stands beside a policy that stops jobs for free."""
LEAST_SHARE: Final = 0.01
"""From this share of jobs without a request on, the run times that stand in for it count."""


LARGE_RESTART: Final = 0.25
"""From this part of the shortest run on, what a restart costs is not small."""


@dataclass(frozen=True)
class Mark:
    """Something that no real scheduler has."""

    name: str
    """As JSON has it."""
    symbol: str
    """What stands behind a label in tables and figures."""
    words: str
    """What whoever carries it does, as part of a sentence."""

    @property
    def line(self) -> str:
        """The line that explains the symbol below a table or a figure."""
        return f"{self.symbol} {self.words}"


TRUE_TIMES: Final = Mark("true-run-times", "†", "sees true run times, which no scheduler knows")
TRUE_PLANS: Final = Mark(
    "true-plans",
    "§",
    "plans by true run times, which no scheduler knows (--missing-request or --reserve-by changes that)",
)
FREE_STOPS: Final = Mark(
    "free-preemption", "‡", "stops jobs at no cost, which no cluster can (--preemption-overhead gives it a cost)"
)
MARKS: Final = (TRUE_TIMES, TRUE_PLANS, FREE_STOPS)

Marks = tuple[Mark, ...]


def marks_of(
    scheduler: Scheduler, jobs: pl.DataFrame, estimated_from: Mapping[str, int], *, is_learned: bool = False
) -> Marks:
    """Returns the marks of one way to schedule.

    Args:
        scheduler: The way to schedule.
        jobs: What it scheduled.
        estimated_from: How many jobs were estimated on what, as `shunter.model.schedule.count_bases` counts them.
        is_learned: Whether a network decides which job starts, in the place of the scheduler's own policy.
    """
    stand_ins = estimated_from.get("stand-in", 0) / max(sum(estimated_from.values()), 1)
    without_request = jobs["requested_s"].null_count() / max(len(jobs), 1)
    policy = scheduler.policy
    # What a policy in Python or a learned one looks at is not known: it may look at everything.
    is_blind = not is_learned and isinstance(policy, NativePolicy) and policy.kind in BLIND
    settings = scheduler.settings
    request_is_true = settings.missing_request == RUN_TIME and without_request >= LEAST_SHARE
    # A posterior, say, may rest on the user's own jobs although no job has a request.
    is_true = scheduler.estimate.kind in ("perfect", "noisy") or (request_is_true and stand_ins >= LEAST_SHARE)
    # Whatever its rule, a network is shown when running jobs are expected to end.
    plans = is_learned or isinstance(policy, Checkpoint)
    plans = plans or scheduler.dispatch.reservations > 0 or settings.dispatch == "committed-backfill"
    carried = {
        TRUE_TIMES: is_true and not is_blind,
        TRUE_PLANS: plans and (is_true if settings.reserve_by == "estimate" else request_is_true),
        FREE_STOPS: not is_learned and stops_for_free(scheduler),
    }
    return tuple(mark for mark, carries in carried.items() if carries)


def stops_for_free(scheduler: Scheduler) -> bool:
    """Returns whether a policy stops jobs without losing anything by it."""
    policy, settings = scheduler.policy, scheduler.settings
    preempts = isinstance(policy, NativePolicy) and policy.known.preempts
    cost_s = settings.preemption_overhead_s + settings.preemption_overhead_per_gb_s
    return preempts and cost_s == 0 and settings.preempted_progress == "kept"


def restart_warning(schedulers: Iterable[Scheduler], workload: Workload) -> str | None:
    """Returns that jobs may spend much of their time restarting; None where restarts are free, or cost little."""
    tasks, memory_mb = workload.jobs["tasks"], workload.jobs["memory_mb_per_task"].fill_null(0.0)
    largest_mb = (tasks * memory_mb).max() if len(workload) else 0.0
    largest_gb = float(largest_mb or 0.0) / MB_IN_A_GB  # type: ignore[arg-type]
    for scheduler in schedulers:
        policy, settings = scheduler.policy, scheduler.settings
        restart_s = settings.preemption_overhead_s + settings.preemption_overhead_per_gb_s * largest_gb
        preempts = isinstance(policy, NativePolicy) and policy.known.preempts
        if preempts and restart_s > LARGE_RESTART * settings.min_run_s:
            cost = f"{'up to ' if settings.preemption_overhead_per_gb_s else ''}{restart_s:g} s"
            what = f"a restart costs {cost}, which is not small against --min-run ({settings.min_run_s:g} s)"
            advice = f"give --min-run {restart_s / LARGE_RESTART:.0f}s or more"
            return f"{what}: {policy.label} may stop jobs before they have got ahead; {advice}"
    return None


def shared_marks(every: Iterable[Marks]) -> Marks:
    """Returns the marks that all carry, which are told once."""
    marks = list(every)
    return tuple(mark for mark in MARKS if marks and all(mark in each for each in marks))


def marked(label: str, marks: Iterable[Mark], shared: Sequence[Mark] = ()) -> str:
    """Returns a label with the symbols of the marks behind it that not all share: ``srtf/greedy ‡``."""
    symbols = "".join(mark.symbol for mark in marks if mark not in shared)
    return f"{label} {symbols}" if symbols else label


def mark_lines(every: Iterable[Marks], shared: Sequence[Mark] = ()) -> list[str]:
    """Returns a line for each mark that some carry and not all."""
    carried = {mark for marks in every for mark in marks}
    return [mark.line for mark in MARKS if mark in carried and mark not in shared]


def shared_lines(shared: Iterable[Mark]) -> list[str]:
    """Returns a line for each mark that all share."""
    return [f"every row {mark.words}" for mark in shared]
