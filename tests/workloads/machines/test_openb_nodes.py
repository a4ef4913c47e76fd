"""Alibaba openb: the list of nodes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from shunter.model.cluster import Node
from shunter.workloads.machines import detect_machines, read_machines
from shunter.workloads.text.source import open_source
from tests.support import trace
from tests.workloads.published_logs import write

NODES = """\
sn,cpu_milli,memory_mib,gpu,model
node-0,32000,262144,0,
node-1,96000,786432,8,G2
node-2,94000,524288,2,T4
node-3,64000,262144,1,P100
node-4,104000,32768,4,V100M16
"""


def test_five_nodes(tmp_path: Path) -> None:
    path = write(tmp_path, NODES)
    assert detect_machines(open_source(path)) == "openb-nodes"
    cluster, ledger = read_machines([path], strict=True)
    assert cluster.nodes == (
        Node("node-0", 32.0, 262_144),
        Node("node-1", 96.0, 786_432, 8, "G2"),
        Node("node-2", 94.0, 524_288, 2, "T4"),
        Node("node-3", 64.0, 262_144, 1, "P100"),
        Node("node-4", 104.0, 32_768, 4, "V100M16"),
    )
    assert not ledger


def test_the_published_list() -> None:
    cluster, ledger = read_machines([trace("alibaba_openb_v2023/openb_node_list_all_node.csv.gz")], strict=True)
    assert not ledger
    assert (len(cluster.nodes), cluster.total_gpus, cluster.total_cores) == (1523, 6212, 125_514)
    assert cluster.total_memory_mb == 597_684 * 1024
    assert Counter((node.gpu_type, node.gpus) for node in cluster.nodes) == {
        ("G2", 8): 549,
        ("T4", 2): 387,
        ("T4", 4): 17,
        ("P100", 2): 131,
        ("P100", 1): 3,
        ("V100M16", 4): 28,
        ("V100M16", 8): 8,
        ("V100M16", 1): 19,
        ("V100M32", 8): 21,
        ("V100M32", 4): 9,
        ("G3", 8): 39,
        ("A10", 1): 2,
        (None, 0): 310,
    }
