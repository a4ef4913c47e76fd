"""The prior of the posterior: what is believed of a job's run time before any job of its user has ended.

A prior is fitted to the training days of a log, written to a TOML file, and read from one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shunter.errors import InputError
from shunter.files import write_file
from shunter.model.schedule import whole_milliseconds
from shunter.policies.catalog import ESTIMATE_PARAMETERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from shunter.model.workload import Workload

BINS: Final = 23
"""Requests are told apart by powers of two of seconds, up to 2²³ s."""
SHORTEST_S: Final = 10.0
"""Shorter jobs count as this long in the mean inverse, as in the bounded slowdown."""

GENERIC_JOBS: Final = 10.0
"""How many jobs the generic prior counts as in each bin, so that a bin with few jobs of its own stays near it."""

STRENGTHS: Final = tuple(ESTIMATE_PARAMETERS["posterior"])
"""The parameters that are single numbers."""


@dataclass(frozen=True)
class Prior:
    """Means over training days, and how strongly they are believed; see ``docs/policies.md``."""

    user_decay: float
    decay: float
    user_strength: float
    request_strength: float
    size_strength: float
    mean_run_s: tuple[float, ...]
    """For each bin of requests; the last is for jobs without a request."""
    mean_inverse: tuple[float, ...]
    """Of 1 / max(run time, 10 s), in the same bins."""

    def strengths(self) -> dict[str, float]:
        """Returns the parameters that are single numbers."""
        return {name: float(getattr(self, name)) for name in STRENGTHS}

    def tables(self) -> dict[str, list[float]]:
        """Returns the parameters that are lists, as a TOML file has them."""
        return {"mean_run_s": list(self.mean_run_s), "mean_inverse": list(self.mean_inverse)}

    def numbers(self) -> NDArray[np.float64]:
        """Returns the prior as the core takes it."""
        pairs = np.column_stack([self.mean_run_s, self.mean_inverse]).ravel()
        return np.concatenate([list(self.strengths().values()), pairs]).astype(np.float64)


_SHARES: Final = (
    *[0.31] * 5, 0.29, 0.28, 0.23, 0.22, 0.23, 0.24, 0.24, 0.27, 0.37, 0.43, 0.41, 0.37, 0.33, *[0.32] * 5,
)  # fmt: skip
"""Mean run time as a part of the request, by bin: pooled over the first 60 % of eight public logs, smoothed."""
_INVERSES: Final = (
    *[0.1] * 6, 0.0744, 0.0550, 0.0339, 0.0235, 0.0183, 0.0142, 0.0104, 0.0076, 0.0072, 0.0079, 0.0083, 0.0083,
    *[0.0078] * 5,
)  # fmt: skip
"""Mean of 1 / max(run time, 10 s), of the same jobs. Long requests die early as often as short ones."""
_NO_REQUEST: Final = 11
"""A job without a request is taken for one that asks for about an hour."""


def _generic() -> Prior:
    """Returns a prior for no site in particular."""
    # A bin covers a factor of two; its middle is half a power above its beginning.
    run_s = [share * 2.0 ** (bin + 0.5) for bin, share in enumerate(_SHARES)]
    return Prior(
        **ESTIMATE_PARAMETERS["posterior"],
        mean_run_s=(*run_s, run_s[_NO_REQUEST]),
        mean_inverse=(*_INVERSES, _INVERSES[_NO_REQUEST]),
    )


GENERIC_PRIOR: Final = _generic()


def prior_from_tables(parameters: Mapping[str, float], tables: Mapping[str, Any], where: str) -> Prior:
    """Returns the prior that a spec gives, the rest being the generic one's.

    Raises:
        InputError: A value is out of its range.
    """
    strengths: dict[str, Any] = dict(parameters)
    prior = replace(GENERIC_PRIOR, **strengths)
    for name in STRENGTHS:
        value = getattr(prior, name)
        high = 1.0 if name.endswith("decay") else 1e6
        # A decay of 0 forgets at once; a strength of 0 would divide by nothing where no job has ended.
        if not 0 <= value <= high or (high > 1 and value == 0):
            raise InputError(f"{where}: {name} is {value:g}; expected {'0' if high == 1 else 'above 0'} to {high:g}")
    for name in tables:
        if name not in ("mean_run_s", "mean_inverse"):
            raise InputError(f"{where}: {name} is unknown in a prior; it knows mean_run_s and mean_inverse")
    columns: dict[str, Any] = {name: _means(name, tables[name], where) for name in tables}
    prior = replace(prior, **columns)
    if len(prior.mean_run_s) != len(prior.mean_inverse) or len(prior.mean_run_s) < 2:
        raise InputError(f"{where}: mean_run_s and mean_inverse need the same number of values, at least 2")
    return prior


def _means(name: str, values: object, where: str) -> tuple[float, ...]:
    if not isinstance(values, list) or not all(isinstance(value, int | float) and 0 < value < 1e12 for value in values):
        raise InputError(f"{where}: {name} is not a list of positive numbers")
    return tuple(float(value) for value in values)


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
    requested_s = whole_milliseconds(jobs["requested_s"].to_numpy()) / 1000
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
