"""The presets of published logs, against the logs and what is published of their machines."""

from __future__ import annotations

import csv
import gzip
from collections import Counter

import polars as pl
import pytest

from shunter.model.cluster import Cluster, Node
from shunter.model.fitting import can_ever_fit
from shunter.workloads import read_cluster, read_workload
from shunter.workloads.formats.swf_header import read_header
from shunter.workloads.machines import read_machines
from tests.support import trace

SWF = {
    "sdsc-blue": "SDSC-BLUE-2000-4.2-cln.first30000.swf.gz",
    "nasa-ipsc": "NASA-iPSC-1993-3.1-cln.swf.gz",
    "llnl-thunder": "LLNL-Thunder-2007-1.1-cln.swf.gz",
    "cea-curie": "CEA-Curie-2011-2.1-cln.first30000.swf.gz",
    "ricc": "RICC-2010-2.first30000.swf.gz",
    "lcg": "LCG-2005-1.first20000.swf.gz",
}


def kinds(cluster: Cluster) -> Counter[tuple[float, int | None, int, str | None]]:
    """Returns how many nodes there are of each kind."""
    return Counter((node.cores, node.memory_mb, node.gpus, node.gpu_type) for node in cluster.nodes)


@pytest.mark.parametrize("name", SWF)
def test_machines_have_the_processors_of_the_header_and_hold_every_job(name: str) -> None:
    path, cluster = trace(f"swf/{SWF[name]}"), read_cluster(name)
    with gzip.open(path) as file:
        told = read_header(file.read(100_000))
    if name != "ricc":
        assert cluster.total_cores == int(told["MaxProcs"])
    if "MaxNodes" in told:
        assert len(cluster.nodes) == int(told["MaxNodes"])
    shapes = read_workload(path, format="swf").jobs.unique("tasks")
    assert all(can_ever_fit(shapes, cluster))


def test_curie_has_nodes_of_three_kinds() -> None:
    found = kinds(read_cluster("cea-curie"))
    assert {cores: count for (cores, *_), count in found.items()} == {16: 5040, 32: 360, 8: 144}


def test_philly() -> None:
    listed, _ = read_machines([trace("philly/cluster_machine_list")])
    assert kinds(read_cluster("philly")) == kinds(listed)


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
    with trace("helios/helios_cluster_summary.csv").open(encoding="utf-8") as file:
        told = {row["id"]: int(row["gpu_num"]) for row in csv.DictReader(file)}
    assert told[name.capitalize()] == mean_gpus


def test_the_virtual_clusters_of_the_slice_hold_every_job_of_theirs() -> None:
    cluster = read_cluster("helios-venus-2vc")
    assert Counter(node.partitions for node in cluster.nodes) == {("vcvGl",): 20, ("vcvlY",): 2}
    shapes = read_workload(trace("helios/helios_venus_2vc_sept.csv"), format="helios").jobs.unique(
        ["tasks", "partition"]
    )
    assert all(can_ever_fit(shapes, cluster))


def table(name: str, columns: list[str] | None = None) -> pl.DataFrame:
    """Returns the columns of a list of machines, by their position if it has no header."""
    frame = pl.read_csv(trace(name), has_header=columns is None, infer_schema_length=None)
    return frame if columns is None else frame.rename(dict(zip(frame.columns, columns, strict=True)))


def test_alibaba_pai() -> None:
    columns = ["machine", "gpu_type", "cores", "memory_gb", "gpus"]
    rows = table("alibaba_gpu_v2020/pai_machine_spec.csv.gz", columns).iter_rows(named=True)
    expected = Counter(
        (row["cores"], row["memory_gb"] * 1024, row["gpus"], row["gpu_type"] if row["gpus"] else None) for row in rows
    )
    cluster = read_cluster("alibaba-pai")
    assert kinds(cluster) == expected
    assert (len(cluster.nodes), cluster.total_gpus) == (1897, 6742)


def test_alibaba_openb() -> None:
    rows = table("alibaba_openb_v2023/openb_node_list_all_node.csv.gz").iter_rows(named=True)
    expected = Counter((row["cpu_milli"] / 1000, row["memory_mib"], row["gpu"], row["model"]) for row in rows)
    cluster = read_cluster("alibaba-openb")
    assert kinds(cluster) == expected
    sizes = (len(cluster.nodes), cluster.total_gpus, cluster.total_cores, cluster.total_memory_mb)
    assert sizes == (1523, 6212, 125_514, 597_684 * 1024)


def test_nodes_of_one_kind_stand_together() -> None:
    cluster = read_cluster("philly")
    assert cluster.nodes[0] == Node("two0", 2.0, None, 2, "12GB")
    assert cluster.nodes[-1] == Node("eight230", 8.0, None, 8, "24GB")
