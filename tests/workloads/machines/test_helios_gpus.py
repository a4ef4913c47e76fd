"""Helios' GPUs per virtual cluster and day."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.model.cluster import Node
from shunter.model.ledger import Ledger
from shunter.workloads.machines import helios_gpus, read_machines
from shunter.workloads.text.repairs import UNREADABLE
from shunter.workloads.text.source import open_source
from tests.support import trace, traces_folder
from tests.workloads.published_logs import write

HEADER = "date,vcAAA,vcBBB,vcCCC,total\n"
FIVE = (
    HEADER
    + "2020-04-01,8,0,8,16\n2020-04-02,16,12,0,28\n2020-04-03,8,8,12,28\n2020-04-04,24,0,0,24\n2020-04-05,0,0,0,0\n"
)


def counts(ledger: Ledger) -> dict[str, int]:
    return {entry.rule: entry.count for entry in ledger.entries}


def test_the_first_of_the_largest_days(tmp_path: Path) -> None:
    cluster, ledger = read_machines([write(tmp_path, FIVE)])
    assert cluster.nodes == (
        Node("vcAAA-0", 48.0, None, 8, None, "vcAAA"),
        Node("vcAAA-1", 48.0, None, 8, None, "vcAAA"),
        Node("vcBBB-0", 48.0, None, 8, None, "vcBBB"),
        Node("vcBBB-1", 48.0, None, 4, None, "vcBBB"),
    )
    assert not ledger


@pytest.mark.parametrize("row", ["many,0,0,9", "-8,64,0,9", "1.5,8,64,9", ",64,0,9", "1000001,0,0,9", "800,9"])
def test_a_day_that_is_no_row_is_skipped(tmp_path: Path, row: str) -> None:
    path = write(tmp_path, f"{FIVE}2020-04-06,{row}\n")
    cluster, ledger = read_machines([path])
    assert (cluster.total_gpus, counts(ledger)) == (28, {UNREADABLE: 1})
    with pytest.raises(InputError, match=r"log\.txt:7: "):
        read_machines([path], strict=True)


def test_a_list_without_gpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="tells of no machine that could run a job"):
        read_machines([write(tmp_path, f"{HEADER}2020-04-05,0,0,0,0\n")])


def test_what_is_recognized(tmp_path: Path) -> None:
    assert helios_gpus.recognizes(open_source(write(tmp_path, FIVE)))
    for text in (HEADER, "date,total\nx,3\n", "time,active,total\n2020-04-01,3,4\n", "{", f"{HEADER}today,1,2,3,6\n"):
        assert not helios_gpus.recognizes(open_source(write(tmp_path, text)))
    files = sorted(path for path in traces_folder().glob("**/*") if path.is_file())
    found = {path.name for path in files if helios_gpus.recognizes(open_source(path))}
    assert found == ({"earth_cluster_gpu_number.csv"} if files else set())


def test_the_published_list() -> None:
    """Earth had 1,144 GPUs on most days of September, and for some of them 88 more."""
    cluster, _ = read_machines([trace("helios/earth_cluster_gpu_number.csv")], strict=True)
    assert (len(cluster.nodes), cluster.total_gpus, len(cluster.partitions)) == (154, 1232, 19)
    assert {node.gpus for node in cluster.nodes} == {8}
