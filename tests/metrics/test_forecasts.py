"""Estimates of the later days of a log: what they are held against, and what a log without users or requests gives."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import polars as pl
import pytest

from shunter.errors import InputError
from shunter.metrics.forecasts import FITTED, Trial, check_estimable, try_estimates
from shunter.model.schedule import count_bases
from shunter.model.workload import Workload
from shunter.policies.prior import fit_prior
from shunter.report.estimates import draw_trial

JOBS = 10
COLUMNS: dict[str, list[Any]] = {
    "submit_s": [1000.0 * job for job in range(JOBS)],
    "run_s": [100.0, 200.0] * 5,
    "requested_s": [400.0] * JOBS,
    "logged_wait_s": [0.0] * JOBS,
    "user": ["a"] * JOBS,
}
NAMES = ("requested", "last-two", "posterior")


def log(**columns: list[Any] | None) -> Workload:
    """Returns a log of ten jobs that end before the next comes, with other columns, or without some."""
    kept = {name: values for name, values in (COLUMNS | columns).items() if values is not None}
    schema = {"requested_s": pl.Float64, "user": pl.String, "logged_wait_s": pl.Float64}
    schema = {name: kind for name, kind in schema.items() if name in kept}
    return Workload.from_frame(pl.DataFrame(kept, schema_overrides=schema), name="handmade")


def bases(trial: Trial) -> dict[str, dict[str, int]]:
    return {forecast.name: count_bases(forecast.basis) for forecast in trial.forecasts}


def test_the_later_jobs_are_measured() -> None:
    trial = try_estimates(log(), NAMES)
    assert (trial.training_jobs, trial.later_jobs) == (6, 4)
    assert trial.run_s.tolist() == [100, 200, 100, 200]
    assert trial.prior == fit_prior(log(), (0.0, 0.6))
    assert trial.notes == ()
    assert bases(trial) == {
        "requested": {"request": 4},
        "last-two": {"learned": 4},
        "posterior": {"learned": 4},
        FITTED: {"learned": 4},
    }
    requested, last_two, generic, fitted = trial.forecasts
    assert requested.estimate_s.tolist() == [400] * 4
    # The last two before each job ran for 100 s and 200 s.
    assert last_two.estimate_s.tolist() == [150] * 4
    assert requested.quality is not None
    # 400 s are twice 200 s, and four times 100 s.
    assert requested.quality.within_factor_two_share == 0.5
    assert (fitted.estimate_s != generic.estimate_s).all()


def test_training_never_sees_later_jobs() -> None:
    changed = [*COLUMNS["run_s"][:6], 1.0, 9999.0, 1.0, 9999.0]
    assert try_estimates(log(run_s=changed), NAMES).prior == try_estimates(log(), NAMES).prior


def test_jobs_without_a_request() -> None:
    requests = [400.0] * 8 + [None] * 2
    trial = try_estimates(log(requested_s=requests), NAMES)
    assert bases(trial)["requested"] == {"request": 2, "stand-in": 2}
    assert trial.forecasts[0].quality is not None
    assert trial.forecasts[0].quality.jobs == 2
    # The stand-in is the true run time: with it, half of the jobs would seem to be known exactly.
    assert trial.forecasts[0].quality.over_share == 1
    (note,) = trial.notes
    assert note.startswith("no requested time: 2 of 4 jobs; ")


def test_a_log_without_requests() -> None:
    trial = try_estimates(log(requested_s=None), NAMES)
    assert trial.forecasts[0].quality is None
    assert all(forecast.quality is not None for forecast in trial.forecasts[1:])
    assert trial.notes[0].startswith("no requested time: all 4 jobs; ")
    assert trial.forecasts[0].to_json() == {
        "estimate": "requested",
        "estimated_from": {"stand-in": 4},
        "quality": None,
    }
    check_estimable(trial.workload)


def test_a_log_without_users() -> None:
    trial = try_estimates(log(user=None), NAMES)
    assert bases(trial)["last-two"] == {"request": 4}
    assert bases(trial)[FITTED] == {"prior": 4}
    (note,) = trial.notes
    assert note.startswith("no user: all 4 jobs; nothing is learned for them")


def test_a_log_without_waits() -> None:
    waits = [*[0.0] * 9, None]
    (note,) = try_estimates(log(logged_wait_s=waits), NAMES).notes
    assert note.startswith("no logged wait: 1 of 10 jobs, ")


def test_a_log_that_says_nothing() -> None:
    trial = try_estimates(log(user=None, requested_s=None), NAMES)
    assert set(map(str, bases(trial).values())) == {"{'stand-in': 4}"}
    assert all(forecast.quality is None for forecast in trial.forecasts)
    (note,) = trial.notes
    assert note.startswith("the log names neither users nor requested times")
    with pytest.raises(InputError, match="neither users nor requested times"):
        check_estimable(trial.workload)
    with pytest.raises(InputError, match="handmade: there is nothing to draw"):
        draw_trial(trial)


@pytest.mark.parametrize("train", [0.0, 1.0, -0.2, 1.5, float("nan")])
def test_a_part_that_is_none(train: float) -> None:
    with pytest.raises(InputError, match="expected a part of the jobs, above 0 and below 1"):
        try_estimates(log(), NAMES, train)


@pytest.mark.parametrize("train", [0.01, 0.99])
def test_no_job_on_one_side(train: float) -> None:
    with pytest.raises(InputError, match=r"handmade: .* of its 10 jobs are .*; there must be jobs to fit on"):
        try_estimates(log(), NAMES, train)


def test_the_figure_shows_what_was_measured() -> None:
    trial = try_estimates(log(requested_s=None), NAMES)
    figure = draw_trial(trial)
    # The log has no requests: the panel shows the first estimate that it has.
    assert [panel.get_title() for panel in figure.axes[:2]] == ["each job: last-two", f"each job: {FITTED}"]
    calibration, errors = figure.axes[2:4]
    drawn = {str(line.get_label()): line for line in calibration.lines if not str(line.get_label()).startswith("_")}
    assert list(drawn) == ["last-two", "posterior", FITTED]
    fitted = trial.forecasts[-1].quality
    assert fitted is not None
    assert np.asarray(drawn[FITTED].get_ydata()).tolist() == [decile.balanced_ratio for decile in fitted.deciles]
    assert errors.get_xlabel() == "estimate / true run time"
    figure.savefig(io.BytesIO(), format="png")


def test_the_figure_of_one_estimate_that_the_log_lacks() -> None:
    figure = draw_trial(try_estimates(log(requested_s=None), ["requested"]))
    assert figure.axes[0].texts[0].get_text() == "the log does not tell it"
