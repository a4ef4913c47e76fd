"""The prior of the posterior: fitted by hand and by the program, saved and loaded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shunter.errors import InputError
from shunter.model.workload import Workload
from shunter.policies.native import resolve_estimate
from shunter.policies.prior import GENERIC_PRIOR, fit_prior, request_bins, save_prior

HOUR_BIN = 11
"""An hour lies between 2¹¹ and 2¹² seconds."""
NO_REQUEST = 23


def workload(run_s: list[float], requested_s: list[float | None]) -> Workload:
    columns = {"submit_s": [float(job) for job in range(len(run_s))], "run_s": run_s, "requested_s": requested_s}
    return Workload.from_frame(pl.DataFrame(columns, schema_overrides={"requested_s": pl.Float64}), name="handmade")


def test_bins_are_powers_of_two() -> None:
    requests_s = [0, 0.5, 1, 1.999, 2, 3.999, 4, 3600, 2**22 - 1, 2**22, 2**23, 1e9, np.nan]
    assert request_bins(np.array(requests_s)).tolist() == [0, 0, 0, 0, 1, 1, 2, 11, 21, 22, 22, 22, 23]


def test_means_are_shrunk_towards_the_generic_ones() -> None:
    """To 1 800 s, 3 600 s (its request) and 4 s of three jobs that ask for an hour come ten jobs as usual."""
    log = workload([1800, 7200, 4, 500, 99, 99, 99, 99, 99, 99], [3600, 3600, 3600, None, *[3600] * 6])
    prior = fit_prior(log, (0.0, 0.4))
    usual_s, usual_inverse = GENERIC_PRIOR.mean_run_s, GENERIC_PRIOR.mean_inverse
    assert prior.mean_run_s[HOUR_BIN] == pytest.approx((1800 + 3600 + 4 + 10 * usual_s[HOUR_BIN]) / 13)
    inverses = 1 / 1800 + 1 / 7200 + 1 / 10
    assert prior.mean_inverse[HOUR_BIN] == pytest.approx((inverses + 10 * usual_inverse[HOUR_BIN]) / 13)
    assert prior.mean_run_s[NO_REQUEST] == pytest.approx((500 + 10 * usual_s[NO_REQUEST]) / 11)
    assert prior.mean_inverse[NO_REQUEST] == pytest.approx((1 / 500 + 10 * usual_inverse[NO_REQUEST]) / 11)
    others = [number for number in range(24) if number not in (HOUR_BIN, NO_REQUEST)]
    assert [prior.mean_run_s[number] for number in others] == [usual_s[number] for number in others]
    assert prior.strengths() == GENERIC_PRIOR.strengths()


def test_only_training_days_are_looked_at() -> None:
    before, after = (
        fit_prior(workload([60.0] * 10, [600.0] * 10)),
        fit_prior(workload([60.0] * 6 + [1.0] * 4, [600.0] * 10)),
    )
    assert before == after
    assert before != fit_prior(workload([60.0] * 5 + [1.0] * 5, [600.0] * 10))


def test_a_part_in_the_middle() -> None:
    log = workload([1.0, 1.0, 100.0, 100.0, 1.0], [600.0] * 5)
    assert fit_prior(log, (0.4, 0.8)) == fit_prior(workload([100.0, 100.0], [600.0] * 2), (0.0, 1.0))


@pytest.mark.parametrize("part", [(0.0, 0.04), (0.6, 0.6), (0.8, 0.2), (0.0, 1.2), (-0.5, 0.5)])
def test_a_part_without_jobs(part: tuple[float, float]) -> None:
    with pytest.raises(InputError, match=r"handmade: training on .* of its 10 jobs leaves no job"):
        fit_prior(workload([60.0] * 10, [600.0] * 10), part)


def test_what_is_saved_is_what_is_loaded(tmp_path: Path) -> None:
    prior = fit_prior(workload([3.7, 123.456, 86_400.0, 7.0], [60.0, 300.0, 90_000.0, None]), (0.0, 1.0))
    path = tmp_path / "prior.toml"
    save_prior(prior, path, ["of a log", "two\nlines"])
    assert path.read_text().splitlines()[:4] == ["# of a log", "# two", "# lines", "[estimate]"]
    loaded = resolve_estimate(str(path))
    assert loaded.prior == prior
    assert loaded.parameters.tolist() == prior.numbers().tolist()
    assert loaded.is_learned
    assert [entry.name for entry in tmp_path.iterdir()] == ["prior.toml"]
