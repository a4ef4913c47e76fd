"""Slurm's ``sinfo``: five nodes as tables and as JSON, repairs and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.model.cluster import Node
from shunter.workloads.machines import read_machines, sinfo
from shunter.workloads.machines.sinfo import COMMAND
from shunter.workloads.text.source import open_source

BLANKS = """\
NODELIST CPUS MEMORY GRES PARTITION
n[1-2] 8 16000 (null) short*
g1 64 512000 gpu:A100:4(S:0-1) gpu
g2 64 512000 gpu:4 gpu
m1 128 1 gpu:a100:2,gpu:v100:1 big
"""
BARS = "".join(line.replace(" ", " | ") + "\n" for line in BLANKS.splitlines())
LONG = """\
Fri Mar 01 12:00:00 2024
NODELIST   NODES PARTITION       STATE CPUS    S:C:T MEMORY TMP_DISK WEIGHT AVAIL_FE GRES                  REASON
n1             1    short*        idle 8      2:4:1  16000        0      1   (null) (null)                none
n2             1    short*       down* 8      2:4:1  16000        0      1   (null) (null)                Not responding

g1             1       gpu       mixed 64    2:32:1 512000        0      1   (null) gpu:A100:4(S:0-1)     none
g2             1       gpu    drained* 64    2:32:1 512000        0      1   (null) gpu:4                 new disk, 2nd
m1             1       big  allocated 128    4:32:1      1        0      1   (null) gpu:a100:2,gpu:v100:1 none
"""
JSON = {
    "meta": {"plugin": {}},
    "errors": [],
    "nodes": [
        {"name": "n1", "cpus": 8, "real_memory": 16000, "gres": "", "partitions": ["short"], "state": "idle"},
        {"name": "n2", "cpus": 8, "real_memory": 16000, "gres": None, "partitions": ["short"], "state": ["DOWN"]},
        {"name": "g1", "cpus": 64, "real_memory": 512000, "gres": "gpu:A100:4(S:0-1)", "partitions": ["gpu"]},
        {"name": "g2", "cpus": 64, "real_memory": 512000, "gres": "gpu:4", "partitions": ["gpu"]},
        {"name": "m1", "cpus": 128, "real_memory": 1, "gres": "gpu:a100:2,gpu:v100:1", "partitions": ["big"]},
    ],
}
EXPECTED = (
    Node("n1", 8.0, 16_000, 0, None, ("short",)),
    Node("n2", 8.0, 16_000, 0, None, ("short",)),
    Node("g1", 64.0, 512_000, 4, "a100", ("gpu",)),
    Node("g2", 64.0, 512_000, 4, None, ("gpu",)),
    Node("m1", 128.0, None, 3, None, ("big",)),
)


def write(folder: Path, text: str) -> Path:
    path = folder / "nodes.txt"
    path.write_text(text)
    return path


@pytest.mark.parametrize("text", [BLANKS, BARS, LONG, json.dumps(JSON), json.dumps(JSON, indent=2)])
def test_five_nodes(tmp_path: Path, text: str) -> None:
    cluster, ledger = read_machines([write(tmp_path, text)], strict=True)
    assert cluster.nodes == EXPECTED
    assert not ledger


def test_a_node_is_listed_once_for_each_partition(tmp_path: Path) -> None:
    text = "HOSTNAMES CPUS PARTITION\na 4 x\na 4 y\nb 4 x\n"
    cluster, ledger = read_machines([write(tmp_path, text)], strict=True)
    assert cluster.nodes == (Node("a", 4.0, partitions=("x", "y")), Node("b", 4.0, partitions=("x",)))
    assert not ledger


def test_features_of_a_table_and_of_json(tmp_path: Path) -> None:
    text = "NODELIST|CPUS|AVAIL_FEATURES\na|4|ib,avx\nb|4|(null)\n"
    cluster, _ = read_machines([write(tmp_path, text)], strict=True)
    assert [node.features for node in cluster.nodes] == [("ib", "avx"), ()]
    nodes = [{"name": "a", "cpus": 4, "real_memory": 9, "features": "ib,avx", "active_features": ["ib"]}]
    cluster, _ = read_machines([write(tmp_path, json.dumps({"nodes": nodes}))], strict=True)
    assert cluster.nodes[0].features == ("ib",)


@pytest.mark.parametrize(
    "odd", ["n9 many 16000 (null) short", "n9 8 lots (null) short", "n9 8", "n[9 8 16000 (null) short"]
)
def test_every_repair(tmp_path: Path, odd: str) -> None:
    path = write(tmp_path, BLANKS + odd + "\n")
    cluster, ledger = read_machines([path])
    assert cluster.nodes == EXPECTED
    (entry,) = ledger.entries
    assert (entry.rule, entry.count) == ("not readable: line skipped", 1)
    assert entry.example.split(": ")[0].endswith("6")
    with pytest.raises(InputError, match="not readable: line skipped"):
        read_machines([path], strict=True)


def test_the_least_of_nodes_that_differ_is_taken(tmp_path: Path) -> None:
    cluster, ledger = read_machines([write(tmp_path, BLANKS + "n[8-9] 8+ 16000+ (null) short\n")])
    assert [(node.name, node.cores, node.memory_mb) for node in cluster.nodes[-2:]] == [
        ("n8", 8, 16000),
        ("n9", 8, 16000),
    ]
    assert not ledger


def test_a_list_of_mostly_unreadable_lines_is_refused(tmp_path: Path) -> None:
    header = "NODELIST CPUS MEMORY GRES PARTITION\n"
    with pytest.raises(InputError, match=r"2 lines are not readable, and 1 machines are: the first at line 2: node a"):
        read_machines([write(tmp_path, header + "a x 1 (null) p\nb y 1 (null) p\nc 4 1000 (null) p\n")])


def test_nodes_of_json_with_odd_values(tmp_path: Path) -> None:
    odd = [{"name": "\ud800", "cpus": 1, "real_memory": 9}, {"cpus": 8}, {"name": "z", "cpus": [], "partitions": "p"}]
    path = write(tmp_path, json.dumps({"nodes": [*JSON["nodes"], *odd]}))
    cluster, ledger = read_machines([path])
    assert cluster.nodes == (*EXPECTED, Node("?", 1.0, 9))
    assert [(entry.rule, entry.count) for entry in ledger.entries] == [("not readable: line skipped", 2)]


def test_refusals(tmp_path: Path) -> None:
    default = "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\nshort*       up   infinite      2   idle n[1-2]\n"
    with pytest.raises(InputError) as caught:
        read_machines([write(tmp_path, default)])
    assert str(caught.value).endswith(f"nodes.txt: does not tell the CPUs of each node; run {COMMAND}")
    with pytest.raises(InputError, match="tells of groups of nodes, not of nodes; run 'scontrol show nodes --json'"):
        read_machines([write(tmp_path, '{"sinfo": [{"nodes": {"total": 5}}]}')])


@pytest.mark.parametrize(
    "text",
    [
        "HOST_NAME STATUS JL/U MAX\n",
        "NODELIST\n",
        '{"nodes": ["a"]}',
        '{"jobs": [{"nodes": "a"}]}',
        "nodelist cpus\n",
        "{",
    ],
)
def test_what_is_not_recognized(tmp_path: Path, text: str) -> None:
    assert not sinfo.recognizes(open_source(write(tmp_path, text)))
