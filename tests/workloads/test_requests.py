"""Requests scaled, or cut to a limit."""

from __future__ import annotations

import polars as pl
import pytest

from shunter import InputError, Workload
from shunter.workloads.variants import limit_requests, scale_requests


def jobs() -> Workload:
    frame = pl.DataFrame(
        {
            "submit_s": [0.0, 1.0, 2.0, 3.0],
            "run_s": [50.0, 500.0, 500.0, 50.0],
            "requested_s": [100.0, 600.0, None, None],
        }
    )
    return Workload.from_frame(frame, name="four")


def requests(workload: Workload) -> list[float | None]:
    return workload.jobs["requested_s"].to_list()


def test_known_requests_are_scaled() -> None:
    scaled, count = scale_requests(jobs(), 0.5)
    assert requests(scaled) == [50.0, 300.0, None, None]
    assert count == 2
    assert scaled.content_sha256 != jobs().content_sha256
    assert scaled.jobs["run_s"].equals(jobs().jobs["run_s"])


@pytest.mark.parametrize("factor", [0.0, -1.0, float("nan"), float("inf"), 1e8])
def test_factors_that_nobody_means(factor: float) -> None:
    with pytest.raises(InputError, match=r"four: requests cannot be scaled by .* longest of 600 s"):
        scale_requests(jobs(), factor)


def test_a_log_without_requests_has_none_to_scale() -> None:
    workload = Workload.from_frame(pl.DataFrame({"submit_s": [0.0], "run_s": [5.0]}), name="one")
    scaled, count = scale_requests(workload, 2.0)
    assert (requests(scaled), count) == ([None], 0)


def test_longer_requests_are_cut_to_the_limit() -> None:
    """The third job has no request; its run time of 500 s stands in, and is cut too."""
    limited, count = limit_requests(jobs(), 200.0)
    assert (requests(limited), count) == ([100.0, 200.0, 200.0, None], 2)


def test_what_stands_in_for_a_request_is_cut_too() -> None:
    limited, count = limit_requests(jobs(), 200.0, missing_request="3600")
    assert (requests(limited), count) == ([100.0, 200.0, 200.0, 200.0], 3)
    untouched, none = limit_requests(jobs(), 200.0, missing_request="60")
    assert (requests(untouched), none) == ([100.0, 200.0, None, None], 1)


@pytest.mark.parametrize("limit_s", [0.0, -5.0, float("nan"), 1e10])
def test_limits_that_nobody_means(limit_s: float) -> None:
    with pytest.raises(InputError, match=r"the limit is .*; expected above 0 to 1e"):
        limit_requests(jobs(), limit_s)
