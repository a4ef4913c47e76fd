"""What jobs are estimated at when they are submitted: nothing is known before it has happened."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl

from shunter.model.schedule import BASES
from shunter.model.workload import Workload
from shunter.policies.native import posterior_with
from shunter.policies.prior import GENERIC_PRIOR, save_prior
from shunter.policies.scheduler import resolve_scheduler
from shunter.simulation.run import estimates_at_submit

LOG = Workload.from_frame(
    pl.DataFrame(
        {
            "submit_s": [0.0, 10.0, 20.0, 50.0, 51.0, 90.0],
            "run_s": [30.0, 20.0, 5.0, 8.0, 40.0, 9.0],
            "requested_s": [100.0, 100.0, 100.0, 100.0, 100.0, None],
            "logged_wait_s": [0.0, 20.0, 0.0, 30.0, 0.0, 0.0],
            "user": ["a", "a", "b", "a", "a", "b"],
        }
    ),
    name="handmade",
)
"""Of user a, jobs have ended at 30 s, 50 s, 88 s and 91 s; of user b, at 25 s."""


def last_two(workload: Workload) -> tuple[list[float], list[str]]:
    known = estimates_at_submit(workload, resolve_scheduler(estimate="last-two"))
    return (known.estimate_ms / 1000).tolist(), [BASES[basis] for basis in known.basis]


def test_last_two_knows_what_has_ended() -> None:
    """The fourth job comes as the second ends, the fifth before the fourth has ended; the last has no request."""
    estimates, bases = last_two(LOG)
    assert estimates == [100, 100, 100, 25, 25, 9]
    assert bases == ["request", "request", "request", "learned", "learned", "stand-in"]


def test_a_window_knows_the_jobs_before_it() -> None:
    assert last_two(LOG.window(3, 2)) == ([25, 25], ["learned", "learned"])


def test_without_a_logged_wait_a_job_starts_when_submitted() -> None:
    jobs = LOG.jobs.with_columns(pl.lit(None, dtype=pl.Float64).alias("logged_wait_s"))
    estimates, _ = last_two(replace(LOG, jobs=jobs))
    # Both of a's jobs have ended by 30 s; of those with the same end, the first of the table was the first.
    assert estimates[3] == 25
    assert estimates[4] == 25


def test_a_posterior_with_a_given_prior(tmp_path: Path) -> None:
    """A first job has the prior alone: √(mean run time / mean inverse) of its request's bin, 64 to 127 s."""
    prior = replace(GENERIC_PRIOR, mean_run_s=(40.0,) * 24, mean_inverse=(0.1,) * 24)
    given = estimates_at_submit(LOG, resolve_scheduler(estimate=posterior_with(prior)))
    assert given.estimate_ms[0] == 20_000
    assert [BASES[basis] for basis in given.basis] == ["prior", "prior", "prior", "learned", "learned", "learned"]
    save_prior(prior, tmp_path / "prior.toml")
    loaded = estimates_at_submit(LOG, resolve_scheduler(estimate=str(tmp_path / "prior.toml")))
    assert loaded.estimate_ms.tolist() == given.estimate_ms.tolist()
    generic = estimates_at_submit(LOG, resolve_scheduler(estimate="posterior"))
    assert generic.estimate_ms.tolist() != given.estimate_ms.tolist()
