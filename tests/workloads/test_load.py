"""Offered load: worked out by hand, and workloads scaled to it."""

from __future__ import annotations

import math

import polars as pl
import pytest

from shunter.errors import InputError
from shunter.model.cluster import Cluster, Node
from shunter.model.log import Ledger
from shunter.model.workload import Workload
from shunter.workloads import read_workload
from shunter.workloads.load import offered_load, scale_arrivals, scale_to_load

GPU_NODES = Cluster.from_nodes((Node("a", 8.0, 1000, gpus=2), Node("b", 8.0, 1000, gpus=2, partitions=("p",))), "two")


def three_jobs(**columns: list[object]) -> Workload:
    """Three jobs in 100 s: 4 x 10 + 2 x 20 + 1 x 30 = 110 core-seconds."""
    frame = pl.DataFrame({"submit_s": [50.0, 80.0, 150.0], "run_s": [10.0, 20.0, 30.0], "tasks": [4, 2, 1], **columns})
    return Workload.from_frame(frame, name="three", cluster_spec="4", ledger=Ledger().plus("before", 1, "line 1"))


def test_work_over_capacity() -> None:
    assert offered_load(three_jobs(), Cluster.pool(4)) == 110 / (4 * 100)
    assert offered_load(three_jobs(cores_per_task=[0.5, 1.0, 2.0]), Cluster.pool(4)) == (20 + 40 + 60) / (4 * 100)


def test_jobs_that_never_fit_do_not_count() -> None:
    """Without the first, 70 core-seconds in the 70 s from the second to the third."""
    assert offered_load(three_jobs(), Cluster.pool(3)) == 70 / (3 * 70)
    assert offered_load(three_jobs(partition=["q", "p", None]), GPU_NODES) == 70 / (16 * 70)


def test_the_larger_share_of_cores_and_gpus() -> None:
    """The last two jobs have 2 x 20 + 1 x 30 = 70 GPU-seconds; the first does not ask for any."""
    assert offered_load(three_jobs(gpus_per_task=[0, 1, 1]), GPU_NODES) == 70 / (4 * 100)
    assert offered_load(three_jobs(gpus_per_task=[0.0, 0.25, 0.0]), GPU_NODES) == 110 / (16 * 100)


def test_no_span_no_load() -> None:
    assert offered_load(three_jobs(), Cluster.pool(1)) is None
    assert offered_load(three_jobs().window(1, 1), Cluster.pool(4)) is None
    assert offered_load(three_jobs(run_s=[0, 0, 0]), Cluster.pool(4)) == 0


def test_scaling_arrivals() -> None:
    workload = three_jobs(logged_wait_s=[0, 1, 2])
    scaled = scale_arrivals(workload, 2.5)
    assert scaled.jobs["submit_s"].to_list() == [50.0, 125.0, 300.0]
    assert scaled.jobs["logged_wait_s"].null_count() == 3
    rest = ["submit_s", "logged_wait_s"]
    assert scaled.jobs.drop(rest).equals(workload.jobs.drop(rest))
    assert scaled.jobs.schema == workload.jobs.schema
    assert (scaled.ledger, scaled.cluster_spec) == (workload.ledger, "4")
    assert scaled.name == "three stretched 2.5-fold"


def test_scaling_a_window_scales_what_came_before_it() -> None:
    scaled = scale_arrivals(three_jobs().window(1), 2.0)
    assert scaled.jobs["submit_s"].to_list() == [80.0, 220.0]
    assert scaled.whole().jobs["submit_s"].to_list() == [20.0, 80.0, 220.0]


def test_the_hash_is_that_of_the_source_and_the_factor() -> None:
    hashes = {scale_arrivals(three_jobs(), factor).content_sha256 for factor in (0.5, 2.0, 2.0)}
    assert len(hashes | {three_jobs().content_sha256}) == 3


@pytest.mark.parametrize("load", [0.001, 0.5, 3.0, 10.0])
def test_scaling_to_a_load(load: float) -> None:
    cluster = Cluster.pool(3)
    scaled = scale_to_load(three_jobs(), cluster, load)
    assert offered_load(scaled, cluster) == pytest.approx(load, rel=1e-9)
    # The first job stays, though it does not fit.
    assert scaled.jobs["submit_s"][0] == 50
    assert scaled.name == f"three at load {load:.15g}"


def test_late_arrivals_lose_no_order() -> None:
    submit_s = [1.7e9 + 0.001 * number for number in range(1000)]
    workload = Workload.from_frame(pl.DataFrame({"submit_s": submit_s, "run_s": [1.0] * 1000}), name="late")
    scaled = scale_to_load(workload, Cluster.pool(1), 0.7)
    assert scaled.jobs["submit_s"].is_sorted()
    assert offered_load(scaled, Cluster.pool(1)) == pytest.approx(0.7, rel=1e-6)


@pytest.mark.parametrize("load", [0, -1, math.nan, math.inf, 10.1])
def test_loads_that_nobody_means(load: float) -> None:
    with pytest.raises(InputError, match=r"--load \(load\) is .*; expected 0.001 to 10"):
        scale_to_load(three_jobs(), Cluster.pool(4), load)


def test_workloads_that_have_no_load() -> None:
    for workload, cores in ((three_jobs(), 1), (three_jobs(run_s=[0, 0, 0]), 4), (three_jobs().window(0, 1), 4)):
        with pytest.raises(InputError, match=rf"cannot be scaled to a load on {cores}: no work, or no two arrival"):
            scale_to_load(workload, Cluster.pool(cores), 0.5)


@pytest.mark.parametrize("factor", [0, -1, math.nan, math.inf, 1e11])
def test_factors_that_cannot_be(factor: float) -> None:
    with pytest.raises(InputError, match="three: arrivals cannot be stretched"):
        scale_arrivals(three_jobs(), factor)


def test_a_generators_load_is_the_same_load() -> None:
    """Lublin's arrivals are cut to whole seconds, so the factor that is left is not quite 1."""
    workload = read_workload("generate:lublin?jobs=3000&cores=200&load=0.9")
    last_s = workload.jobs["submit_s"][-1]
    assert scale_to_load(workload, Cluster.pool(200), 0.9).jobs["submit_s"][-1] == pytest.approx(last_s, rel=1e-5)
