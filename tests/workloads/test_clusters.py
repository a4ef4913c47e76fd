"""A cluster for a log that tells none: of its hosts, or of what was in use in all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shunter.errors import InputError
from shunter.model.cluster import Node
from shunter.model.workload import Workload
from shunter.workloads import read_workload
from shunter.workloads.clusters import infer_cluster
from shunter.workloads.hosts_used import infer_nodes
from tests.workloads.samples import SAMPLES


def _workload(**columns: list[Any]) -> Workload:
    return Workload.from_frame(pl.DataFrame(columns), name="log")


def test_the_most_cores_at_once_make_a_pool() -> None:
    """The second starts when the first ends; the third overlaps the second by ten seconds."""
    workload = _workload(
        submit_s=[0.0, 0.0, 20.0], logged_wait_s=[0.0, 10.0, 15.0], run_s=[10.0, 35.0, 50.0], tasks=[8, 5, 2],
        cores_per_task=[1.0, 1.0, 2.25],
    )  # fmt: skip
    (node,) = infer_cluster(workload)[0].nodes
    assert (node.cores, node.gpus, node.memory_mb) == (10.0, 0, None)


def test_gpus_make_nodes_of_eight() -> None:
    workload = _workload(
        submit_s=[0.0, 1.0], logged_wait_s=[0.0, None], run_s=[10.0, 10.0], tasks=[12, 8], gpus_per_task=[1, 1],
        cores_per_task=[4, 0],
    )  # fmt: skip
    cluster, _ = infer_cluster(workload)
    assert [node.gpus for node in cluster.nodes] == [8, 8, 8]
    assert {node.cores for node in cluster.nodes} == {16.0}


def test_a_larger_task_makes_a_larger_node() -> None:
    workload = _workload(
        submit_s=[0.0], logged_wait_s=[0.0], run_s=[10.0], tasks=[1], gpus_per_task=[16], cores_per_task=[90]
    )
    (node,) = infer_cluster(workload)[0].nodes
    assert (node.gpus, node.cores) == (16, 90.0)


def test_jobs_without_a_wait_start_when_they_are_submitted() -> None:
    (node,) = infer_cluster(_workload(submit_s=[0.0, 5.0], run_s=[6.0, 1.0], tasks=[2, 3]))[0].nodes
    assert node.cores == 5.0


def _at_once(hosts: list[str | None], cores: list[int], **others: list[Any]) -> Workload:
    """Returns jobs that all run at the same time, a task a job."""
    count = len(hosts)
    columns = {"tasks": [1] * count, "cores_per_task": cores, "logged_wait_s": [0] * count, **others}
    return _workload(submit_s=[0] * count, run_s=[10] * count, hosts=hosts, **columns)


def test_each_host_is_a_node_as_large_as_what_was_in_use_on_it_at_once() -> None:
    workload = _workload(
        submit_s=[0, 0, 10, 4], logged_wait_s=[0, 0, 0, 0], run_s=[10, 5, 10, 3], tasks=[2, 1, 1, 1],
        cores_per_task=[8, 8, 16, 3], hosts=["n[1-2]", "n1*8", "n2*16", "n10*3"],
    )  # fmt: skip
    used = infer_nodes(workload)
    assert used is not None
    # What ends at 10 s makes room for what starts then.
    assert [(node.name, node.cores) for node in used.nodes] == [("n1", 16), ("n2", 16), ("n10", 16)]
    assert "2 of 3 reached the same cores as a like-named one, so the sizes are plausible" in used.notes[1]


def test_cores_of_a_list_without_numbers_are_divided_evenly() -> None:
    workload = _at_once(["a[1-4]", "b1"], [32, 4])
    nodes = infer_cluster(workload)[0].nodes
    assert [(node.name, node.cores) for node in nodes] == [
        *((f"a{number}", 8.0) for number in range(1, 5)),
        ("b1", 4.0),
    ]


@pytest.mark.parametrize(
    ("seen", "sizes"),
    [
        ([36] * 8 + [20, 35], [36] * 10),
        ([36] * 8 + [20] * 2, [36] * 8 + [20] * 2),
        ([36] * 9 + [72], [36] * 9 + [72]),
        ([5, 13, 30], [32, 32, 32]),
        ([13], [16]),
        ([6, 6], [6, 6]),
        ([3], [4]),
        ([70], [72]),
        ([130], [144]),
    ],
)
def test_like_named_nodes_are_alike(seen: list[int], sizes: list[int]) -> None:
    workload = _at_once([f"r1n{number}" for number in range(len(seen))], seen)
    assert [node.cores for node in infer_cluster(workload)[0].nodes] == sizes


def test_gpus_types_memory_and_partitions() -> None:
    workload = _at_once(
        ["g1", "g1", "g2", "c1"], [8, 8, 4, 32], gpus_per_task=[2, 1, 3, 0],
        memory_mb_per_task=[90_000, 9000, 500, 1000],
        gpu_type=["a100", "a100", "a100", None], partition=["gpu", "gpu", "gpu", "cpu"],
    )  # fmt: skip
    cluster, notes = infer_cluster(workload)
    assert cluster.nodes == (
        Node("c1", 32.0, 1024, 0, None, ("cpu",)),
        Node("g1", 16.0, 131_072, 3, "a100", ("gpu",)),
        Node("g2", 16.0, 131_072, 3, "a100", ("gpu",)),
    )
    assert not any("left out" in note for note in notes)


def test_partitions_may_share_a_node() -> None:
    workload = _at_once(["n1", "n1"], [4, 4], partition=["long", "short"])
    cluster, _ = infer_cluster(workload)
    assert [(node.cores, node.partitions) for node in cluster.nodes] == [(8, ("long", "short"))]


def test_partitions_that_are_not_told_of_every_node_are_left_out() -> None:
    workload = _at_once(["n1", "n2"], [4, 4], partition=["long", None])
    cluster, notes = infer_cluster(workload)
    assert [node.partitions for node in cluster.nodes] == [(), ()]
    assert notes[-1].startswith("Partitions are not told of every node")


def test_jobs_whose_hosts_are_not_known_are_counted() -> None:
    workload = _at_once(["n1", None, "n[broken", "n1"], [4, 400, 4, 4])
    cluster, notes = infer_cluster(workload)
    assert [(node.name, node.cores) for node in cluster.nodes] == [("n1", 8.0)]
    assert "Inferred from the hosts that log names. Jobs that name some: 2. Nodes: 1." in notes[0]
    assert "Jobs that name no hosts that can be read, and do not count: 2." in notes
    assert notes[-1] == "Jobs that do not fit on it: 1."


def test_a_log_without_hosts_says_so() -> None:
    _, notes = infer_cluster(_workload(submit_s=[0], run_s=[1]))
    assert notes[-1] == "The log names no hosts, so that nodes and their sizes are not known."


def test_many_pairs_of_jobs_and_hosts_are_looked_at_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    workload = _at_once([f"n[{number}-{number + 9}]" for number in range(1, 31)], [10 + number for number in range(30)])
    whole = infer_cluster(workload)[0].nodes
    monkeypatch.setattr("shunter.workloads.hosts_used._PAIRS", 7)
    assert infer_cluster(workload)[0].nodes == whole
    assert len(whole) == 39


def test_lists_that_name_endless_hosts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shunter.workloads.hosts_used._LISTED", 100)
    with pytest.raises(
        InputError, match="log: its lists of hosts name more than 100 hosts; infer a cluster from a part"
    ):
        infer_cluster(_at_once(["n[1-50]", "n[1-51]"], [50, 51]))


@pytest.mark.parametrize(
    ("sample", "hosts"),
    [
        ("pbs", ["n1*4,n2*4"] * 3),
        ("gridengine", ["n1*4"] * 3),
        ("lsb-acct", ["host1*2"] * 3),
        ("sacct-json", ["cn1"] * 3),
        ("jobcomp", ["cn1"] * 3),
    ],
)
def test_logs_that_name_hosts(tmp_path: Path, sample: str, hosts: list[str]) -> None:
    path = tmp_path / "log"
    path.write_bytes(SAMPLES[sample][1])
    assert read_workload(path).jobs["hosts"].to_list() == hosts
