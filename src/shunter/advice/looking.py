"""The first stages: is the simulation believable, and how well are run times known?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shunter.comparison.believability import MOST_JOBS
from shunter.errors import InputError
from shunter.metrics.calibration_report import calibrate
from shunter.metrics.calibration_verdict import Verdict
from shunter.metrics.forecasts import try_estimates
from shunter.workloads.clock import read_clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from shunter.advice.kept import Object
    from shunter.advice.site import Site

UNKNOWN: Final = "unknown"
"""The verdict where the log does not tell when jobs started."""
IS_ENOUGH: Final = (Verdict.EXPLAINS.words, Verdict.ROUGHLY.words, UNKNOWN)
ESTIMATES: Final = ("requested", "last-two")


def calibration_stage(site: Site, progress: Callable[[int, int], None]) -> Object:
    """Returns what ``shunter calibrate --json`` prints of the days before the later ones, or why there is nothing."""
    workload = site.early.workload
    start = max(0, len(workload) - MOST_JOBS)
    try:
        report = calibrate(
            site.early,
            scheduler=site.today.scheduler,
            start=start,
            clock=read_clock(workload, None),
            arguments={"workload": workload.name, "cluster": site.early.cluster.name, "start": start},
            progress=progress,
        )
    except InputError as error:
        if workload.jobs["logged_wait_s"].null_count() < len(workload):
            raise
        return {"verdict": UNKNOWN, "because": str(error), "hints": [], "checks": []}
    return report.to_json()


def estimates_stage(site: Site) -> Object:
    """Returns how good estimates of run times are on the days on which the choice is made."""
    jobs = site.early.workload.jobs
    known = {"requested": "requested_s", "last-two": "user"}
    names = [name for name in ESTIMATES if jobs[known[name]].is_not_null().any()]
    trial = try_estimates(site.early.workload, names, site.days.first[1], site.shared.settings.seed)
    found: dict[str, Any] = {
        "training_jobs": trial.training_jobs,
        "later_jobs": trial.later_jobs,
        "estimates": [one.to_json() for one in trial.forecasts],
        "notes": list(trial.notes),
    }
    return found
