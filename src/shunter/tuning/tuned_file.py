"""The file of a tuned policy: ``--policy tuned.toml --estimate tuned.toml`` is all that production needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from shunter.files import toml_value
from shunter.policies.native import resolve_estimate
from shunter.policies.prior import fit_prior, prior_text

if TYPE_CHECKING:
    from pathlib import Path

    from shunter.model.log import Log
    from shunter.policies.native import Estimate, Spec
    from shunter.policies.prior import Prior

Value = str | float | Sequence[str]
"""What a section holds."""


def estimate_section(given: str | Estimate, logs: Sequence[Log], train: tuple[float, float]) -> str:
    """Returns the ``[estimate]`` section for an estimate; the prior of a posterior is fitted on training days.

    Args:
        given: The estimate as the user gave it; a prior that comes from a file is taken as it is.
        logs: Whose run times are learned from.
        train: From which fraction of each log's jobs to which one.
    """
    estimate = resolve_estimate(given)
    if estimate.kind != "posterior":
        return section("estimate", {"kind": estimate.kind, **estimate.spec.parameters})
    prior = estimate.prior
    # A prior that the user brings is taken as it is: it may come from more logs than these.
    if estimate.file is None:
        fitted = _pooled_prior(logs, train)
        prior = replace(prior, mean_run_s=fitted.mean_run_s, mean_inverse=fitted.mean_inverse)
    return prior_text(prior)


def _pooled_prior(logs: Sequence[Log], train: tuple[float, float]) -> Prior:
    """Returns one prior for all logs, fitted on the training days of all of them together, each job counting once."""
    training = []
    for log in logs:
        first, last = (round(fraction * len(log.workload)) for fraction in train)
        training.append(log.workload.jobs.slice(first, last - first).select("run_s", "requested_s"))
    # All logs as one table; only run times and requests are looked at.
    return fit_prior(replace(logs[0].workload, jobs=pl.concat(training)), (0.0, 1.0))


def tuned_text(
    policy: Spec,
    settings: Mapping[str, Value],
    estimate: str,
    facts: Mapping[str, Value],
    logs: Sequence[Mapping[str, Value]],
    comments: Sequence[str],
    size_by: str,
) -> str:
    """Returns the whole file; its numbers are written so that reading them gives the same again.

    Args:
        policy: What was found: a score with its weights, or a classic.
        settings: What the file brings beside it: the dispatch rule, and a starvation guard.
        estimate: From `estimate_section`.
        facts: What a reader should know of the tuning; no program reads it.
        logs: The same of each log.
        comments: Lines at the top: what this is, and how to use it.
        size_by: What sizes are counted in on the logs.
    """
    parts = ["".join(f"# {line}\n" for line in comments)]
    written: dict[str, Value] = {"kind": policy.kind, **policy.written, "size_by": size_by}
    parts += [section("policy", written), section("settings", settings), estimate]
    parts += [section("tuned", facts), *(section("[tuned.logs]", log) for log in logs)]
    return "\n".join(parts)


def section(name: str, values: Mapping[str, Value]) -> str:
    """Returns a section of a TOML file."""
    return f"[{name}]\n" + "".join(f"{key} = {toml_value(value)}\n" for key, value in values.items())


def write_tuned(path: Path, text: str) -> None:
    """Writes the file; one that is there is replaced."""
    from shunter.files import write_file

    write_file(path, lambda file: file.write(text.encode()))
