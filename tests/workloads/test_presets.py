"""The presets of published logs, against what is published of these logs and of their machines."""

from __future__ import annotations

from collections import Counter

import polars as pl
import pytest

from shunter.model.cluster import Node
from shunter.model.fitting import can_ever_fit
from shunter.model.workload import Workload
from shunter.workloads import read_cluster
from tests.workloads.machines.published_kinds import kinds_of, published_kinds

STATED = {
    "sdsc-blue": (1152, 144, 1152),
    "nasa-ipsc": (128, 128, 128),
    "llnl-thunder": (4008, 1002, 3860),
    "cea-curie": (93_312, 5544, 79_920),
    "ricc": (8192, 1024, 8192),
    "lcg": (24_515, None, 1),
}
"""Processors and nodes as the headers of the archive's logs state them, and the processors of the largest job."""


@pytest.mark.parametrize("name", STATED)
def test_machines_have_the_stated_processors_and_hold_every_job(name: str) -> None:
    cluster, (cores, nodes, largest) = read_cluster(name), STATED[name]
    assert cluster.total_cores == cores
    assert nodes in (None, len(cluster.nodes))
    assert can_ever_fit(workload_of([largest]).jobs, cluster).tolist() == [True]
    assert can_ever_fit(workload_of([cores + 1]).jobs, cluster).tolist() == [False]


def workload_of(tasks: list[int], partitions: list[str] | None = None) -> Workload:
    """Returns a job for each number of tasks, of a core or, if partitions are named, of a GPU."""
    frame = pl.DataFrame({"submit_s": [0.0] * len(tasks), "run_s": [1.0] * len(tasks), "tasks": tasks})
    if partitions:
        frame = frame.with_columns(partition=pl.Series(partitions), cores_per_task=0.0, gpus_per_task=1.0)
    return Workload.from_frame(frame, name="largest")


def test_curie_has_nodes_of_three_kinds() -> None:
    found = kinds_of(read_cluster("cea-curie").nodes)
    assert {cores: count for (cores, *_), count in found.items()} == {16: 5040, 32: 360, 8: 144}


@pytest.mark.parametrize(
    ("name", "published"), [("philly", "philly"), ("alibaba-pai", "pai"), ("alibaba-openb", "openb")]
)
def test_machines_are_those_of_the_published_list(name: str, published: str) -> None:
    assert kinds_of(read_cluster(name).nodes) == published_kinds(published)


def test_philly_of_rltune() -> None:
    cluster = read_cluster("philly-rltune")
    assert Counter(node.gpus for node in cluster.nodes) == {2: 16, 8: 20}


@pytest.mark.parametrize(
    ("name", "nodes", "gpus", "mean_gpus"),
    [("venus", 133, 1064, 1022), ("earth", 143, 1144, 997), ("saturn", 262, 2096, 2080), ("uranus", 264, 2112, 2119)],
)
def test_helios(name: str, nodes: int, gpus: int, mean_gpus: int) -> None:
    """Over the months of the log there were a few more or fewer."""
    cluster = read_cluster(f"helios-{name}")
    assert (len(cluster.nodes), cluster.total_gpus) == (nodes, gpus)
    assert cluster.total_gpus == pytest.approx(mean_gpus, rel=0.15)


def test_the_virtual_clusters_of_the_slice_hold_every_job_of_theirs() -> None:
    cluster = read_cluster("helios-venus-2vc")
    assert Counter(node.partitions for node in cluster.nodes) == {("vcvGl",): 20, ("vcvlY",): 2}
    # The largest jobs of the log.
    assert can_ever_fit(workload_of([144, 16], ["vcvGl", "vcvlY"]).jobs, cluster).all()
    assert not can_ever_fit(workload_of([161, 17], ["vcvGl", "vcvlY"]).jobs, cluster).any()


def test_nodes_of_one_kind_stand_together() -> None:
    cluster = read_cluster("philly")
    assert cluster.nodes[0] == Node("two0", 2.0, None, 2, "12GB")
    assert cluster.nodes[-1] == Node("eight230", 8.0, None, 8, "24GB")
