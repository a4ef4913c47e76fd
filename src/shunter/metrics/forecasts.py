"""Kinds of estimates on the later days of a log, after a prior was fitted on the earlier ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shunter.errors import InputError
from shunter.metrics.estimate_errors import Quality, measure_quality, near_pairs
from shunter.model.schedule import BASES, count_bases
from shunter.policies.native import Estimate, posterior_with
from shunter.policies.prior import fit_prior
from shunter.policies.scheduler import resolve_scheduler
from shunter.simulation.run import estimates_at_submit

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    from shunter.metrics.estimate_errors import Pairs
    from shunter.model.workload import Workload
    from shunter.policies.prior import Prior

FITTED = "fitted"
"""What the posterior is called whose prior is this log's own."""
STAND_IN = BASES.index("stand-in")


@dataclass(frozen=True)
class Forecast:
    """One kind of estimate of the later jobs; arrays have a value for each of them."""

    name: str
    estimate_s: NDArray[np.float64]
    basis: NDArray[np.uint8]
    """What each rests on: a place in `BASES`."""
    quality: Quality | None
    """Over the jobs for which nothing had to stand in; None where there is no such job."""

    @property
    def measured(self) -> NDArray[np.bool_]:
        """Which jobs the quality is over: a stand-in says nothing of the estimate whose place it takes."""
        return np.asarray(self.basis != STAND_IN)

    def to_json(self) -> dict[str, Any]:
        """Returns the figures as a plain object."""
        return {
            "estimate": self.name,
            "estimated_from": count_bases(self.basis),
            "quality": self.quality.to_json() if self.quality else None,
        }


@dataclass(frozen=True)
class Trial:
    """A prior fitted on the first jobs of a log, and estimates of those after them."""

    workload: Workload
    training_jobs: int
    prior: Prior
    run_s: NDArray[np.float64]
    """The true run time of each later job."""
    forecasts: tuple[Forecast, ...]
    """As asked for, and then that of the fitted prior."""
    notes: tuple[str, ...]
    """What a reader must know of this log."""

    @property
    def later_jobs(self) -> int:
        """How many jobs the estimates are held against."""
        return len(self.run_s)


def try_estimates(workload: Workload, estimates: Sequence[str], train: float = 0.6, seed: int = 0) -> Trial:
    """Fits a prior on the first jobs of a log, and measures estimates on the later ones.

    Args:
        workload: The log.
        estimates: Names or files, as ``--estimate`` takes them; the fitted posterior is added.
        train: The part of the jobs that the prior is fitted on.
        seed: Where the pairs of jobs, and the noise of ``noisy``, come from.

    Raises:
        InputError: A name or a number is wrong, or no job is left to fit on or to measure.
    """
    check_train(train)
    training_jobs = round(train * len(workload))
    if not 0 < training_jobs < len(workload):
        raise InputError(
            f"{workload.name}: {train:g} of its {len(workload)} jobs are {training_jobs}; there must be jobs to fit on "
            "and jobs to measure: choose another --train, or a longer log"
        )
    prior = fit_prior(workload, (0.0, train))
    later = workload.jobs.slice(training_jobs)
    run_s = later["run_s"].to_numpy()
    pairs = near_pairs(len(run_s), seed)
    named: dict[str, str | Estimate] = {name: name for name in estimates} | {FITTED: posterior_with(prior)}
    forecasts = []
    for name, estimate in named.items():
        # Over the whole log: estimates that learn have seen the training days when the later ones begin.
        known = estimates_at_submit(workload, resolve_scheduler(estimate=estimate, seed=seed))
        estimate_s = known.estimate_ms[training_jobs:] / 1000
        forecasts.append(_forecast(name, estimate_s, known.basis[training_jobs:], run_s, pairs))
    return Trial(workload, training_jobs, prior, run_s, tuple(forecasts), tuple(_notes(workload.jobs, later)))


def check_train(train: float) -> None:
    """Raises an error if a part of the log cannot be one to train on."""
    if not 0 < train < 1:
        raise InputError(f"--train (train) is {train:g}; expected a part of the jobs, above 0 and below 1")


def check_estimable(workload: Workload) -> None:
    """Raises an error if no prior can be of use to a log like this one."""
    if not (_knows(workload.jobs, "requested_s") or _knows(workload.jobs, "user")):
        raise InputError(
            f"{workload.name}: names neither users nor requested times, so that a posterior knows nothing of any job; "
            "a prior fitted on it would never be used: leave --save out"
        )


def _forecast(
    name: str, estimate_s: NDArray[np.float64], basis: NDArray[np.uint8], run_s: NDArray[np.float64], pairs: Pairs
) -> Forecast:
    # Where the log has no request the run time stands in: such an estimate would be perfect, and say nothing.
    quality = measure_quality(estimate_s, run_s, np.asarray(basis != STAND_IN), pairs)
    return Forecast(name, estimate_s, basis, quality)


def _knows(jobs: pl.DataFrame, column: str) -> bool:
    return jobs[column].null_count() < jobs.height


def _notes(jobs: pl.DataFrame, later: pl.DataFrame) -> list[str]:
    """Returns what follows from what the log does not say."""
    notes = []
    without_request = later["requested_s"].null_count()
    without_user = later["user"].null_count()
    if without_request == without_user == later.height:
        notes.append(
            "the log names neither users nor requested times, from which estimates are made: something else stands in "
            "for them (here the true run time), and there is nothing to measure"
        )
    elif without_request:
        notes.append(
            f"no requested time: {_some(without_request, later.height)}; where it would be the estimate, something "
            "stands in for it, and the job is left out of that estimate's figures"
        )
    if without_user and without_request < later.height:
        notes.append(
            f"no user: {_some(without_user, later.height)}; nothing is learned for them, so that last-two is the "
            "request, and a posterior its prior"
        )
    without_wait = jobs["logged_wait_s"].null_count()
    if without_wait and _knows(jobs, "user"):
        notes.append(
            f"no logged wait: {_some(without_wait, jobs.height)}, training days included; they are taken to have "
            "started when submitted, so that what is learned may come earlier than it did"
        )
    return notes


def _some(count: int, jobs: int) -> str:
    return f"all {jobs:,} jobs" if count == jobs else f"{count:,} of {jobs:,} jobs"
