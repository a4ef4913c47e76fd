"""Kinds that generators draw: by their shares, beside everything else, and with a hash of their own."""

from __future__ import annotations

import polars as pl
import pytest

from shunter import read_workload
from shunter.errors import InputError
from shunter.workloads.generators.kinds import KINDS

GENERATORS = ("bursty-gpu", "helios-like", "philly-like")


@pytest.mark.parametrize("generator", GENERATORS)
def test_kinds_change_nothing_else(generator: str) -> None:
    plain = read_workload(f"generate:{generator}?jobs=3000&seed=5")
    drawn = read_workload(f"generate:{generator}?jobs=3000&seed=5&kinds=gavel-like")
    assert "kind" not in plain.jobs.columns
    assert drawn.jobs.drop("kind").equals(plain.jobs)
    assert drawn.content_sha256 != plain.content_sha256
    assert set(drawn.jobs["kind"]) == set(KINDS["gavel-like"])


def test_kinds_have_their_shares() -> None:
    jobs = read_workload("generate:helios-like?jobs=50000&kinds=gavel-like").jobs
    counts = dict(jobs["kind"].value_counts().iter_rows())
    for kind, share in KINDS["gavel-like"].items():
        assert counts[kind] / 50_000 == pytest.approx(share, abs=0.006)


def test_a_burst_is_of_one_kind() -> None:
    # Without gaps within bursts, those of one user, size and time are one burst.
    jobs = read_workload("generate:bursty-gpu?jobs=2000&burst_gap_s=0&kinds=gavel-like").jobs
    kinds = jobs.group_by("submit_s").agg(pl.col("kind").n_unique())
    assert kinds["kind"].to_list() == [1] * kinds.height


def test_unknown_kinds_are_refused() -> None:
    with pytest.raises(InputError, match="unknown kinds 'gavel'; did you mean 'gavel-like'"):
        read_workload("generate:helios-like?kinds=gavel")
