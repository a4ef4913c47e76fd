"""What run times are estimated at when jobs are submitted, and the fit of the posterior's prior on training days."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from shunter.errors import InputError
from shunter.model.cluster import Cluster
from shunter.model.schedule import whole_milliseconds
from shunter.native import check, lib
from shunter.policies.prior import BINS, GENERIC_PRIOR, SHORTEST_S, Prior
from shunter.policies.scheduler import FIRST_FIT, resolve_placement
from shunter.simulation.core_inputs import core_config, numbers, open_jobs
from shunter.simulation.states import Estimates

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from shunter.model.workload import Workload
    from shunter.policies.scheduler import Scheduler

GENERIC_JOBS: Final = 10.0
"""The generic prior counts as so many jobs in each bin, so that a bin with few says little of its own."""


def fit_prior(workload: Workload, part: tuple[float, float] = (0.0, 0.6)) -> Prior:
    """Returns the generic prior with the means of a log's training days; no other job is looked at.

    Args:
        workload: The log.
        part: The training days, from which fraction of the log's jobs to which one.

    Raises:
        InputError: The part holds no job.
    """
    first, last = (round(fraction * len(workload)) for fraction in part)
    if not 0 <= first < last <= len(workload):
        raise InputError(
            f"{workload.name}: training on {part[0]:g} to {part[1]:g} of its {len(workload)} jobs leaves no job to "
            "learn from; choose a larger part, between 0 and 1"
        )
    jobs = workload.jobs.slice(first, last - first)
    # As the core sees them: whole milliseconds.
    run_s = whole_milliseconds(jobs["run_s"].to_numpy()) / 1000
    requested_s = whole_milliseconds(numbers(jobs["requested_s"])) / 1000
    bins = request_bins(requested_s)
    return replace(
        GENERIC_PRIOR,
        mean_run_s=_shrunk(np.fmin(run_s, requested_s), bins, GENERIC_PRIOR.mean_run_s),
        mean_inverse=_shrunk(1 / np.maximum(run_s, SHORTEST_S), bins, GENERIC_PRIOR.mean_inverse),
    )


def request_bins(requested_s: NDArray[np.float64]) -> NDArray[np.int64]:
    """Returns the bin of each request: its power of two in whole seconds; the bin after the last where it is NaN."""
    known = np.isfinite(requested_s)
    # A float is a mantissa below 1 times a power of two: one more than what is looked for.
    _, power = np.frexp(np.floor(np.where(known, requested_s, 1.0)))
    return np.where(known, np.clip(power.astype(np.int64) - 1, 0, BINS - 1), BINS)


def _shrunk(values: NDArray[np.float64], bins: NDArray[np.int64], generic: Sequence[float]) -> tuple[float, ...]:
    """Returns the mean of each bin, shrunk towards the generic one."""
    usual = np.array(generic)
    ratios = np.bincount(bins, weights=values / usual[bins], minlength=len(usual))
    counts = np.bincount(bins, minlength=len(usual))
    means = usual * (ratios + GENERIC_JOBS) / (counts + GENERIC_JOBS)
    return tuple(means.tolist())


def save_prior(prior: Prior, path: Path, comments: Sequence[str] = ()) -> None:
    """Writes a prior as a TOML file that ``--estimate`` takes; a file that is there is replaced.

    Args:
        prior: What is saved.
        path: The file; its name ends in ``.toml``.
        comments: Lines that say where the prior comes from.
    """
    from shunter.files import write_file

    text = prior_text(prior, comments)
    write_file(path, lambda file: file.write(text.encode()))


def prior_text(prior: Prior, comments: Sequence[str] = ()) -> str:
    """Returns a prior as TOML; its numbers are written so that reading them gives the same again."""
    lines = [f"# {line}" for comment in comments for line in comment.splitlines()]
    lines += ["[estimate]", 'kind = "posterior"']
    lines += [f"{name} = {value!r}" for name, value in prior.strengths().items()]
    lines.append("# By the request, from 1 s in powers of two; the last value is for jobs without a request.")
    for name in ("mean_run_s", "mean_inverse"):
        values = "".join(f"    {float(value)!r},\n" for value in getattr(prior, name))
        lines.append(f"{name} = [\n{values}]")
    return "\n".join(lines) + "\n"


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
    jobs = open_jobs(table, pool)
    config = core_config(scheduler, table, pool)
    count = len(table)
    estimates = Estimates.empty(count)
    estimate_ms, basis = estimates.pointers()
    check(lib.shunter_estimates_at_submit(jobs.number, config.pointer, estimate_ms, basis, count))
    first = count - len(workload)
    return Estimates(estimates.estimate_ms[first:], estimates.basis[first:])
