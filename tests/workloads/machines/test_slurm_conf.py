"""Nodes from slurm.conf."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.model.cluster import Node
from shunter.workloads.machines import detect_machines, read_machines
from shunter.workloads.machines.slurm_conf import FUTURE, INCLUDED
from shunter.workloads.text.repairs import UNREADABLE
from shunter.workloads.text.source import open_source

CONFIGURATION = """\
# slurm.conf
ClusterName=lab
SlurmctldHost=head
Include /etc/slurm/cgroup.conf
NodeName=DEFAULT RealMemory=64000 State=UNKNOWN
NodeName=n[01-02] CPUs=32   # both alike
nodename=g1 Boards=1 SocketsPerBoard=2 CoresPerSocket=16 ThreadsPerCore=2 \\
  RealMemory=512000 Gres=gpu:a100:4
NodeName=old Sockets=2 CoresPerSocket=4
NodeSet=accelerated Nodes=g1
PartitionName=DEFAULT MaxTime=24:00:00
PartitionName=batch Nodes=n[01-02],old Default=YES
PartitionName=gpu Nodes=accelerated
"""


def _read(tmp_path: Path, text: str) -> tuple[tuple[Node, ...], dict[str, tuple[int, str]]]:
    path = tmp_path / "slurm.conf"
    path.write_text(text)
    assert detect_machines(open_source(path)) == "slurm-conf"
    cluster, ledger = read_machines([path])
    return cluster.nodes, {entry.rule: (entry.count, entry.example) for entry in ledger.entries}


def test_a_configuration(tmp_path: Path) -> None:
    nodes, ledger = _read(tmp_path, CONFIGURATION)
    assert nodes == (
        Node("n01", 32.0, 64_000, 0, None, ("batch",)),
        Node("n02", 32.0, 64_000, 0, None, ("batch",)),
        Node("g1", 64.0, 512_000, 4, "a100", ("gpu",)),
        Node("old", 8.0, 64_000, 0, None, ("batch",)),
    )
    assert ledger == {INCLUDED: (1, "line 4: Include /etc/slurm/cgroup.conf")}


def test_partitions_that_share_nodes(tmp_path: Path) -> None:
    nodes, ledger = _read(tmp_path, CONFIGURATION + "PartitionName=all Nodes=ALL\n")
    assert [node.partitions for node in nodes] == [("batch", "all"), ("batch", "all"), ("gpu", "all"), ("batch", "all")]
    assert ledger == {INCLUDED: (1, "line 4: Include /etc/slurm/cgroup.conf")}


def test_nodes_to_come_are_left_out(tmp_path: Path) -> None:
    nodes, ledger = _read(tmp_path, "NodeName=n1 CPUs=8\nNodeName=n[2-9] CPUs=8 State=FUTURE\n")
    assert [node.name for node in nodes] == ["n1"]
    assert ledger == {FUTURE: (1, "line 2: NodeName n[2-9]")}


def test_what_cannot_be_read_is_skipped(tmp_path: Path) -> None:
    nodes, ledger = _read(tmp_path, "NodeName=n[1-2] CPUs=8\nNodeName=n[ CPUs=8\nNodeName=x Sockets=two\n")
    assert [node.name for node in nodes] == ["n1", "n2"]
    assert ledger == {UNREADABLE: (2, "line 2: node n[, CPUs 8, memory None")}


def test_nodes_in_an_included_file(tmp_path: Path) -> None:
    path, nodes = tmp_path / "slurm.conf", tmp_path / "nodes.conf"
    path.write_text("Include nodes.conf\nPartitionName=batch Nodes=n1\n")
    nodes.write_text("NodeName=n1 CPUs=4\n")
    with pytest.raises(InputError, match="tells of no machine that could run a job"):
        read_machines([path])
    cluster, _ = read_machines([path, nodes])
    assert cluster.nodes == (Node("n1", 4.0, None, 0, None, ("batch",)),)
