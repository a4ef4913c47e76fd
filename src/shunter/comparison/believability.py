"""Whether to believe a result: does the description explain the log's own waits, and do people wait as they would?"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from shunter.comparison.bench import Bench
from shunter.errors import InputError
from shunter.metrics.calibration import measure_calibration
from shunter.metrics.calibration_verdict import Verdict, judge
from shunter.metrics.labels import brief_seconds
from shunter.metrics.logged_waits import compare_waits
from shunter.policies.native import NativePolicy
from shunter.policies.scheduler import resolve_scheduler
from shunter.simulation.run import simulate
from shunter.workloads.clock import read_clock

if TYPE_CHECKING:
    from shunter.comparison.combinations import Combination
    from shunter.model.log import Log
    from shunter.model.schedule import Schedule
    from shunter.model.windows import Windows
    from shunter.policies.scheduler import Scheduler

MOST_JOBS: Final = 50_000
"""So many jobs in a row are simulated for it: more would take longer than a comparison."""
QUIET: Final = 1.005
"""A mean bounded slowdown below this is printed as 1.00: hardly anybody waits."""
BEGINNINGS: Final = {
    Verdict.EXPLAINS: "this description explains the log's waits",
    Verdict.ROUGHLY: "this description explains the log's waits only roughly",
    Verdict.DOES_NOT: "this description does NOT explain the log's waits",
}
MORE_LOAD: Final = "more load (--load 110%)"
"""What makes people wait on any log."""
COLD: Final = 10.0
"""Where jobs wait so many times as long after a warm-up, windows without one tell of a cluster that fills up."""
COLD_S: Final = 60.0
"""Differences of less do not matter to anybody."""


@dataclass(frozen=True)
class Believability:
    """Whether a simulation of the site's own policy gives the waits that the log tells."""

    verdict: Verdict
    because: str
    """The grounds, as part of a sentence."""
    rank_correlation: float | None
    """Of simulated and logged waits; None where one side is constant."""
    mean_wait_s: tuple[float, float]
    """Simulated and logged."""
    policy: str
    """What was simulated: ``fcfs/easy``."""
    jobs: int
    """How many jobs were simulated."""
    of_jobs: int
    """How many the log has."""
    command: str
    """What tells more, with the same log and cluster."""

    @property
    def line(self) -> str:
        """What a reader must know before any result."""
        of = "" if self.jobs == self.of_jobs else f" of {self.of_jobs:,}"
        where = f"({self.policy} on {self.jobs:,}{of} jobs)"
        grounds = [] if self.rank_correlation is None else [f"rank correlation {self.rank_correlation:.2f}"]
        # A good correlation says enough; where there is none, or a bad one, means say more.
        if self.verdict != Verdict.EXPLAINS or not grounds:
            simulated_s, logged_s = self.mean_wait_s
            grounds.append(f"mean wait {simulated_s:,.0f} s simulated and {logged_s:,.0f} s logged")
        line = f"{BEGINNINGS[self.verdict]}: {', '.join(grounds)} {where}"
        if self.verdict == Verdict.EXPLAINS:
            return line
        warning = "What is better here may not be better on the machine"
        return f"{line}. {warning}; to see why, with the same files: {self.command}"

    def to_json(self) -> dict[str, Any]:
        """Returns it as a plain object."""
        return {
            "verdict": self.verdict.words,
            "because": self.because,
            "rank_correlation": self.rank_correlation,
            "policy": self.policy,
            "jobs": self.jobs,
            "of_jobs": self.of_jobs,
            "command": self.command,
        }


def believe(log: Log, scheduler: Scheduler | None, end: int) -> Believability | None:
    """Simulates a log, or a part of a large one, and says whether the waits are those that it tells.

    Args:
        log: The log and its cluster.
        scheduler: What the site has; None, or one that would take long (in Python, or learned): fcfs under easy.
        end: The place behind the last job that matters; of a log of more than `MOST_JOBS`, so many before it are
            simulated.

    Returns:
        None where the log does not tell when jobs started.
    """
    # The whole log, if it is not too long: a simulation begins on an empty cluster, which the site's was not.
    part = log.workload
    if len(part) > MOST_JOBS:
        start = max(0, end - MOST_JOBS)
        part = part.window(start, end - start)
    if part.jobs["logged_wait_s"].null_count() == len(part):
        return None
    quick = scheduler is not None and isinstance(scheduler.policy, NativePolicy) and not scheduler.placement.make_placer
    schedule = simulate(part, log.cluster, scheduler if quick else resolve_scheduler())
    return believe_schedule(log, schedule)


def believe_schedule(log: Log, schedule: Schedule) -> Believability | None:
    """Returns the same for what was simulated already.

    Args:
        log: The whole log and its cluster.
        schedule: A part of it under the site's own policy.
    """
    try:
        waits = compare_waits(schedule)
    except InputError:
        # No start is logged, or no job that has one can run here: there is nothing to hold the simulation against.
        return None
    calibration = measure_calibration(schedule, waits, read_clock(schedule.workload, None))
    judgment, settings = judge(calibration, schedule), schedule.settings
    words = ["shunter", "calibrate", *log.words, "--policy", settings.policy, "--dispatch", settings.dispatch]
    return Believability(
        verdict=judgment.verdict,
        because=judgment.because,
        rank_correlation=calibration.agreement.rank_correlation,
        mean_wait_s=(calibration.simulated.mean_wait_s, calibration.logged.mean_wait_s),
        policy=f"{settings.policy}/{settings.dispatch}",
        jobs=len(schedule),
        of_jobs=len(log.workload),
        command=shlex.join(words),
    )


def quiet_note(slowdown: float | None, longest_s: float | None, remedy: str) -> str | None:
    """Returns that there is too little waiting for policies to differ; None where there is enough.

    Args:
        slowdown: The worst mean bounded slowdown of any policy; None if no job ran.
        longest_s: The longest wait under any policy; None if no job ran.
        remedy: What to take, by the verb's own options.
    """
    if slowdown is None or longest_s is None or slowdown >= QUIET:
        return None
    who = "nobody waits" if longest_s == 0 else f"hardly anybody waits (the longest wait is {longest_s:,.0f} s)"
    return f"{who}: these days cannot rank policies; {remedy}"


@dataclass(frozen=True)
class ColdStart:
    """That jobs hardly wait in windows only because these begin on an empty cluster."""

    policy: str
    """What was simulated."""
    cold_s: float
    """The mean wait in the windows as they are."""
    warm_s: float
    """The mean wait in the same windows, after a warm-up."""
    warmup: int
    """How many jobs before each window were simulated for that."""

    @property
    def line(self) -> str:
        """What a reader must know before any result."""
        return (
            f"these windows begin on an empty cluster, on which {self.policy} has a mean wait of "
            f"{brief_seconds(self.cold_s)}; with the {self.warmup:,} jobs before each window simulated too it has "
            f"{brief_seconds(self.warm_s)}"
        )

    def to_json(self) -> dict[str, Any]:
        """Returns it as a plain object."""
        return {"policy": self.policy, "cold_s": self.cold_s, "warm_s": self.warm_s, "warmup": self.warmup}


def find_cold_start(log: Log, windows: Windows, combination: Combination) -> ColdStart | None:
    """Simulates windows once more after a warm-up, and says whether jobs wait much longer then.

    Args:
        log: The whole log and its cluster.
        windows: Of the log.
        combination: Whose waits are looked at.

    Returns:
        None where they do not, where windows have a warm-up already, where few windows have jobs before them, and where
        the simulation would take long (a policy or placement in Python, or a learned one).
    """
    scheduler = combination.scheduler
    if windows.warmup or not isinstance(scheduler.policy, NativePolicy) or scheduler.placement.make_placer:
        return None
    for warmup in (4 * windows.length, 2 * windows.length, windows.length):
        later = windows.first >= warmup
        if 2 * later.sum() >= len(windows):
            break
    else:
        return None
    cold = windows.take(later)
    cold_s, warm_s = (
        float(Bench.on(log, each).measure(scheduler, ["mean_wait_s"])["mean_wait_s"].mean())
        for each in (cold, replace(cold, warmup=warmup))
    )
    is_cold = warm_s > COLD * cold_s and warm_s - cold_s > COLD_S
    return ColdStart(combination.label, cold_s, warm_s, warmup) if is_cold else None
