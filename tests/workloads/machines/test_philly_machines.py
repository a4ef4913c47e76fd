"""Philly's lists of machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.model.cluster import Node
from shunter.model.ledger import Ledger
from shunter.workloads.machines import philly_machines, read_machines
from shunter.workloads.text.repairs import UNREADABLE
from shunter.workloads.text.source import open_source
from tests.support import trace, traces_folder
from tests.workloads.published_logs import write

NO_GPU = "no GPU: machine left out"
OFFICIAL = "machineId, number of GPUs, single GPU mem\n"
FIVE = OFFICIAL + "m0,2, 12GB\nm1,2, 12GB\nm7,8, 24GB\nm20,4,\nm21,1, 24GB\n"


def counts(ledger: Ledger) -> dict[str, int]:
    return {entry.rule: entry.count for entry in ledger.entries}


def test_five_machines_have_a_core_for_each_gpu(tmp_path: Path) -> None:
    cluster, ledger = read_machines([write(tmp_path, FIVE)])
    assert cluster.nodes == (
        Node("m0", 2.0, None, 2, "12GB"),
        Node("m1", 2.0, None, 2, "12GB"),
        Node("m7", 8.0, None, 8, "24GB"),
        Node("m20", 4.0, None, 4, None),
        Node("m21", 1.0, None, 1, "24GB"),
    )
    assert not ledger


def test_five_machines_of_the_revised_list(tmp_path: Path) -> None:
    text = ",machineId,number of GPUs\n0,m0,8\n1,m1,4\n2,m2,0\n3,m3,2\n4,m4,3\n"
    cluster, ledger = read_machines([write(tmp_path, text)], strict=True)
    assert cluster.nodes == tuple(
        Node(f"m{name}", float(gpus), None, gpus) for name, gpus in ((0, 8), (1, 4), (3, 2), (4, 3))
    )
    (entry,) = ledger.entries
    assert (entry.rule, entry.count, entry.example) == (NO_GPU, 1, "line 4: machine m2")


@pytest.mark.parametrize("row", ["m8,many, 12GB", "m8,-1, 12GB", "m8,2.5, 12GB", "m8,, 12GB", "m8,1025, ", ",2, 12GB"])
def test_a_line_that_tells_no_machine_is_skipped(tmp_path: Path, row: str) -> None:
    path = write(tmp_path, f"{FIVE}{row}\n")
    cluster, ledger = read_machines([path])
    assert (len(cluster.nodes), counts(ledger)) == (5, {UNREADABLE: 1})
    with pytest.raises(InputError, match=r"log\.txt:7: "):
        read_machines([path], strict=True)


def test_two_machines_with_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match='two nodes are called "m1"'):
        read_machines([write(tmp_path, f"{FIVE}m1,2, 12GB\n")])


def test_what_is_recognized(tmp_path: Path) -> None:
    for text in (FIVE, ",machineId,number of GPUs\n"):
        assert philly_machines.recognizes(open_source(write(tmp_path, text)))
    for text in ("machineId,number of GPUs\n", "m0,2,12GB\n", "{", "vc,node num\na,3\n"):
        assert not philly_machines.recognizes(open_source(write(tmp_path, text)))
    files = sorted(path for path in traces_folder().glob("**/*") if path.is_file())
    found = {path.name for path in files if philly_machines.recognizes(open_source(path))}
    assert found == ({"cluster_machine_list", "revised_machine_list.csv"} if files else set())


def test_the_published_lists() -> None:
    cluster, _ = read_machines([trace("philly/cluster_machine_list")], strict=True)
    kinds = [(node.gpus, node.gpu_type) for node in cluster.nodes]
    assert (kinds.count((2, "12GB")), kinds.count((8, "24GB")), len(kinds)) == (321, 231, 552)
    assert cluster.total_gpus == 2490
    revised, ledger = read_machines([trace("philly/revised_machine_list.csv")], strict=True)
    sizes = [node.gpus for node in revised.nodes]
    assert {size: sizes.count(size) for size in set(sizes)} == {8: 264, 4: 271, 2: 3, 3: 1}
    assert (revised.total_gpus, counts(ledger)) == (3205, {NO_GPU: 13})
