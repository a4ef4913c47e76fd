"""Slurm's ``scontrol show node``: five nodes in both forms, repairs, and what is not recognized."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.model.cluster import Node
from shunter.workloads.machines import read_machines, scontrol
from shunter.workloads.text.source import open_source


def node(name: str, cpus: str, memory_mb: str, gres: str, partitions: str, state: str = "IDLE") -> str:
    """Returns a node on several lines, as the command prints it."""
    return f"""\
NodeName={name} Arch=x86_64 CoresPerSocket=4
   CPUAlloc=0 CPUEfctv={cpus} CPUTot={cpus} CPULoad=N/A
   AvailableFeatures=fast,big
   ActiveFeatures=fast,big
   Gres={gres}
   NodeAddr={name} NodeHostName={name} Version=23.02.6
   OS=Linux 5.14.0 #1 SMP Tue Nov 8 15:48:59 UTC 2022
   RealMemory={memory_mb} AllocMem=0 FreeMem=N/A Sockets=2 Boards=1
   State={state} ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   Partitions={partitions}
   BootTime=None SlurmdStartTime=None
   CfgTRES=cpu={cpus},mem={memory_mb}M,billing={cpus}
   AllocTRES=
   Reason=Gres=gpu:9 CPUTot=1 [root@2024-03-01T12:00:00]

"""


FIVE_NODES = (
    node("n1", "8", "16000", "(null)", "short")
    + node("n2", "8", "1", "", "short", "DOWN*+DRAIN")
    + node("g1", "64", "512000", "gpu:A100:4(S:0-1)", "gpu", "MIXED+DRAIN")
    + node("g2", "64", "512000", "gpu:4,lustre:1", "gpu")
    + node("m1", "128", "2000000", "gpu:a100:2(S:0),gpu:v100:1(S:1)", "")
)
EXPECTED = (
    Node("n1", 8.0, 16_000, 0, None, ("short",), features=("fast", "big")),
    Node("n2", 8.0, None, 0, None, ("short",), features=("fast", "big")),
    Node("g1", 64.0, 512_000, 4, "a100", ("gpu",), features=("fast", "big")),
    Node("g2", 64.0, 512_000, 4, None, ("gpu",), features=("fast", "big")),
    Node("m1", 128.0, 2_000_000, 3, None, features=("fast", "big")),
)


def write(folder: Path, text: str) -> Path:
    path = folder / "nodes.txt"
    path.write_text(text)
    return path


@pytest.mark.parametrize("is_oneliner", [False, True])
def test_five_nodes(tmp_path: Path, is_oneliner: bool) -> None:
    text = FIVE_NODES
    if is_oneliner:
        text = "".join(" ".join(part.split()) + "\n" for part in FIVE_NODES.split("\n\n") if part)
    cluster, ledger = read_machines([write(tmp_path, text)], strict=True)
    assert cluster.nodes == EXPECTED
    assert not ledger


def test_a_node_may_be_in_several_partitions(tmp_path: Path) -> None:
    text = node("n1", "8", "16000", "", "short,long") + node("n2", "8", "16000", "", "short")
    cluster, ledger = read_machines([write(tmp_path, text)], strict=True)
    assert [found.partitions for found in cluster.nodes] == [("short", "long"), ("short",)]
    assert not ledger


def test_names_in_brackets(tmp_path: Path) -> None:
    cluster, _ = read_machines([write(tmp_path, node("n[08-10],x", "8", "16000", "gpu:2", "p"))])
    assert [found.name for found in cluster.nodes] == ["n08", "n09", "n10", "x"]
    assert cluster.total_gpus == 8


@pytest.mark.parametrize(
    ("odd", "rule"),
    [
        (node("n2", "many", "16000", "", "p"), "not readable: line skipped"),
        (node("n2", "8", "much", "", "p"), "not readable: line skipped"),
        (node("n[2-", "8", "16000", "", "p"), "not readable: line skipped"),
        ("NodeName=n2 State=IDLE\n", "not readable: line skipped"),
        ("NodeName=\n", "not readable: line skipped"),
        (node("n2", "0", "16000", "", "p"), "no cores: machine skipped"),
        (node("n2", "8", "16000", "gpu:99999", "p"), "GPUs absurd: machine skipped"),
    ],
)
def test_every_repair(tmp_path: Path, odd: str, rule: str) -> None:
    path = write(tmp_path, node("n1", "8", "16000", "", "p") + odd)
    cluster, ledger = read_machines([path])
    assert [found.name for found in cluster.nodes] == ["n1"]
    assert [(entry.rule, entry.count) for entry in ledger.entries] == [(rule, 1)]
    with pytest.raises(InputError, match=rule):
        read_machines([path], strict=True)


def test_lines_before_the_first_node_are_counted(tmp_path: Path) -> None:
    path = write(tmp_path, "scontrol: hello\n" + FIVE_NODES)
    cluster, ledger = read_machines([path], format="scontrol")
    assert cluster.nodes == EXPECTED
    assert [(entry.rule, entry.count) for entry in ledger.entries] == [("not readable: line skipped", 1)]


@pytest.mark.parametrize("text", ["NodeName=a State=IDLE\n", "JobId=5 NodeName=a CPUTot=8\n", "hello\n"])
def test_what_is_not_recognized(tmp_path: Path, text: str) -> None:
    assert not scontrol.recognizes(open_source(write(tmp_path, text)))
