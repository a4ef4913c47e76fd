"""Alibaba PAI: pai_machine_spec."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from shunter.model.cluster import Node
from shunter.workloads.machines import detect_machines, read_machines
from shunter.workloads.text.source import open_source
from tests.support import trace
from tests.workloads.published_logs import write

MACHINES = """\
0a1b2c3d4e5f0a1b2c3d4e5f,CPU,96,512,0
1a1b2c3d4e5f0a1b2c3d4e5f,T4,96,512,2
2a1b2c3d4e5f0a1b2c3d4e5f,V100M32,96,384,8
3a1b2c3d4e5f0a1b2c3d4e5f,MISC,64,512,8
4a1b2c3d4e5f0a1b2c3d4e5f,P100,64,512,2
"""


@pytest.mark.parametrize("header", ["", "machine,gpu_type,cap_cpu,cap_mem,cap_gpu\n"])
def test_five_machines(tmp_path: Path, header: str) -> None:
    path = write(tmp_path, header + MACHINES)
    assert detect_machines(open_source(path)) == "pai-machines"
    cluster, ledger = read_machines([path], strict=True)
    assert cluster.nodes == (
        Node("0a1b2c3d4e5f0a1b2c3d4e5f", 96.0, 524_288),
        Node("1a1b2c3d4e5f0a1b2c3d4e5f", 96.0, 524_288, 2, "T4"),
        Node("2a1b2c3d4e5f0a1b2c3d4e5f", 96.0, 393_216, 8, "V100M32"),
        Node("3a1b2c3d4e5f0a1b2c3d4e5f", 64.0, 524_288, 8, "MISC"),
        Node("4a1b2c3d4e5f0a1b2c3d4e5f", 64.0, 524_288, 2, "P100"),
    )
    assert not ledger


def test_the_published_list() -> None:
    cluster, ledger = read_machines([trace("alibaba_gpu_v2020/pai_machine_spec.csv.gz")], strict=True)
    assert not ledger
    assert (len(cluster.nodes), cluster.total_gpus) == (1897, 6742)
    assert Counter((node.gpu_type, node.gpus) for node in cluster.nodes) == {
        ("T4", 2): 497,
        ("MISC", 8): 280,
        ("P100", 2): 798,
        ("V100", 8): 104,
        ("V100M32", 8): 135,
        (None, 0): 83,
    }
    assert {node.cores for node in cluster.nodes} == {64, 96}
