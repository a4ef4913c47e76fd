"""Tables of machines: what is skipped, whatever list it is of."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.model.cluster import Node
from shunter.workloads.machines import read_machines
from tests.workloads.formats.published_logs import write

HEADER = "sn,cpu_milli,memory_mib,gpu,model\n"
GOOD = "n1,32000,262144,0,\n"
SKIPPED = {
    ",32000,262144,0,": "machine without a name: skipped",
    "n2,,262144,0,": "no cores: machine skipped",
    "n2,400,262144,0,": "no cores: machine skipped",
    "n2,nan,262144,0,": "not readable: line skipped",
    "n2,32000,0,0,": "no memory: machine skipped",
    "n2,1e15,262144,0,": "cores absurd: machine skipped",
    "n2,32000,1e15,0,": "memory absurd: machine skipped",
    "n2,32000,262144,2000,T4": "GPUs absurd: machine skipped",
    "n2,32000,262144,-1,T4": "GPUs absurd: machine skipped",
    "n1,64000,262144,0,": "machine named before: skipped",
    "n2,many,262144,0,": "not readable: line skipped",
    "n2,32000": "not readable: line skipped",
}


@pytest.mark.parametrize("line", SKIPPED)
def test_a_machine_that_is_skipped(tmp_path: Path, line: str) -> None:
    path = write(tmp_path, f"{HEADER}{GOOD}{line}\n")
    cluster, ledger = read_machines([path])
    assert cluster.nodes == (Node("n1", 32.0, 262_144),)
    assert [(entry.rule, entry.count) for entry in ledger.entries] == [(SKIPPED[line], 1)]
    with pytest.raises(InputError, match=r"log\.txt:3: .*run without --strict"):
        read_machines([path], strict=True)


def test_parts_of_cores_and_memory_are_rounded(tmp_path: Path) -> None:
    cluster, ledger = read_machines([write(tmp_path, f"{HEADER}n1,31600,1000.4,,\n")])
    assert cluster.nodes == (Node("n1", 32.0, 1000),)
    assert not ledger


def test_a_list_without_machines_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="tells of no machine that could run a job"):
        read_machines([write(tmp_path, HEADER)])
