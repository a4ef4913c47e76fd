"""Alibaba spot: node_info_df.csv."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from shunter.model.cluster import Node
from shunter.workloads.machines import detect_machines, read_machines
from shunter.workloads.text.source import open_source
from tests.support import trace
from tests.workloads.published_logs import write

NODES = """\
gpu_model,gpu_capacity_num,cpu_num,node_name
A10,1,128,17
H800,8,192,4
GPU-series-1,4,126,0
A100-SXM4-80GB,8,128,2
GPU-series-2,8,192,3
"""


def test_five_nodes(tmp_path: Path) -> None:
    path = write(tmp_path, NODES)
    assert detect_machines(open_source(path)) == "spot-nodes"
    cluster, ledger = read_machines([path], strict=True)
    assert cluster.nodes == (
        Node("17", 128.0, None, 1, "A10"),
        Node("4", 192.0, None, 8, "H800"),
        Node("0", 126.0, None, 4, "GPU-series-1"),
        Node("2", 128.0, None, 8, "A100-SXM4-80GB"),
        Node("3", 192.0, None, 8, "GPU-series-2"),
    )
    assert cluster.total_memory_mb is None
    assert not ledger


def test_the_published_list() -> None:
    cluster, ledger = read_machines([trace("alibaba_spot_v2026/node_info_df.csv.gz")], strict=True)
    assert not ledger
    assert (len(cluster.nodes), cluster.total_gpus) == (4278, 10_412)
    nodes = Counter(node.gpu_type for node in cluster.nodes)
    assert nodes == {
        "A10": 2494,
        "A100-SXM4-80GB": 432,
        "H800": 219,
        "A800-SXM4-80GB": 22,
        "GPU-series-1": 989,
        "GPU-series-2": 122,
    }
    assert sum(node.gpus for node in cluster.nodes if node.gpu_type == "GPU-series-1") == 1558
