"""LSF's lists of hosts: each alone and joined, what is left out, and the public samples."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.model.cluster import Node
from shunter.workloads.machines import read_machines
from shunter.workloads.machines.lshosts import recognizes
from shunter.workloads.text.source import open_source

LSHOSTS = """HOST_NAME      type    model  cpuf ncpus maxmem maxswp server RESOURCES
n1           X86_64 Intel_E5  12.5     4  15.5G      -    Yes (mg mpich2)
n2           X86_64 Intel_E5  12.5     8 16046M 16378M    Dyn ()
login1       X86_64 Intel_E5  12.5     4  15.5G      -     No ()
gpu1         X86_64 AMD_EPYC  55.0   128     1T     4G    Yes (mg)
old1        UNKNOWN UNKNOWN_   1.0     -      -      -    Yes ()
"""
BHOSTS = """HOST_NAME          STATUS       JL/U    MAX  NJOBS    RUN  SSUSP  USUSP    RSV
n1                 ok              -      8      0      0      0      0      0
n2                 closed_Full     -      -      8      8      0      0      0
gpu1               unavail         -    120      0      0      0      0      0
"""
BHOSTS_GPU = """HOST_NAME              ID           MODEL     MUSED      MRSV  NJOBS    RUN   SUSP    RSV
gpu1                    0 NVIDIA_A100          0M        0M      0      0      0      0
                        1 NVIDIA_A100         30G        0M      1      1      0      0
"""
LSHOSTS_GPU = """HOST_NAME   gpu_id       gpu_model   gpu_driver   gpu_factor      numa_id
n1               0               -       396.37          7.0            8
"""
BHOSTS_JSON = """{ "COMMAND":"bhosts", "HOSTS":2, "RECORDS":[
 {"HOST_NAME":"n1", "STATUS":"ok", "MAX":"4", "NJOBS":"0"},
 {"HOST_NAME":"n2", "STATUS":"ok", "MAX":"-", "NJOBS":"0"}
]}"""


def write(folder: Path, *texts: str) -> list[Path]:
    paths = []
    for number, text in enumerate(texts):
        paths.append(folder / f"hosts{number}.txt")
        paths[-1].write_text(text)
    return paths


def read(folder: Path, *texts: str) -> tuple[tuple[Node, ...], dict[str, int]]:
    cluster, ledger = read_machines(write(folder, *texts))
    return cluster.nodes, {entry.rule: entry.count for entry in ledger.entries}


CLIENT = "client, which runs no jobs: left out"
UNKNOWN = "neither processors nor slots told, or none: host left out"


def test_lshosts_alone(tmp_path: Path) -> None:
    assert read(tmp_path, LSHOSTS) == (
        (Node("n1", 4.0, 15872), Node("n2", 8.0, 16046), Node("gpu1", 128.0, 1048576)),
        {CLIENT: 1, UNKNOWN: 1},
    )


def test_bhosts_alone(tmp_path: Path) -> None:
    assert read(tmp_path, BHOSTS) == ((Node("n1", 8.0), Node("gpu1", 120.0)), {UNKNOWN: 1})
    assert read(tmp_path, BHOSTS_JSON) == ((Node("n1", 4.0),), {UNKNOWN: 1})


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 0, 2), (1, 2, 3, 0)])
def test_lists_are_joined_by_name(tmp_path: Path, order: tuple[int, ...]) -> None:
    """Slots go before processors, and what bhosts does not have runs no jobs."""
    lists = (LSHOSTS, BHOSTS, BHOSTS_GPU, LSHOSTS_GPU)
    nodes, rules = read(tmp_path, *(lists[number] for number in order))
    assert nodes == (
        Node("n1", 8.0, 15872, 1),
        Node("n2", 8.0, 16046),
        Node("gpu1", 120.0, 1048576, 2, "NVIDIA_A100"),
    )
    assert rules == {CLIENT: 1, "not in bhosts, so that it runs no jobs: left out": 1}


def test_json_is_joined_as_well(tmp_path: Path) -> None:
    assert read(tmp_path, LSHOSTS, BHOSTS_JSON)[0] == (Node("n1", 4.0, 15872), Node("n2", 8.0, 16046))


def test_names_that_are_cut_short_are_numbered(tmp_path: Path) -> None:
    row = "verylonghos  X86_64 Intel_E5  12.5     4  15.5G      -    Yes (mg)\n"
    text = LSHOSTS.splitlines(keepends=True)[0] + 3 * row
    nodes, rules = read(tmp_path, text)
    assert [node.name for node in nodes] == ["verylonghos", "verylonghos#2", "verylonghos#3"]
    assert rules == {"name cut short, or that of an earlier host: numbered anew; print the list with -w": 2}
    with pytest.raises(InputError, match=r"hosts0\.txt:3: host_name verylonghos"):
        read_machines(write(tmp_path, text), strict=True)


def test_lines_that_are_no_rows_are_skipped(tmp_path: Path) -> None:
    nodes, rules = read(tmp_path, BHOSTS + "n9 is down\n\n" + BHOSTS.splitlines()[0])
    assert len(nodes) == 2
    assert rules == {"not readable: line skipped": 1, UNKNOWN: 1}
    nodes, rules = read(tmp_path, BHOSTS_JSON.replace('"n2", "STATUS":"ok", ', '"n2", '))
    assert rules == {"not readable: line skipped": 1}


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ((BHOSTS_GPU,), "tells GPUs but no cores"),
        ((LSHOSTS, BHOSTS.replace("n1 ", "m1 ").replace("n2 ", "m2 ").replace("gpu1 ", "gpu9 ")), "no host in common"),
        ((LSHOSTS, "HOST_NAME status\nn1 ok\n"), "is none of LSF's lists"),
        ((BHOSTS_JSON.replace("RECORDS", "ROWS"),), 'has no "RECORDS"'),
        ((BHOSTS_JSON[:-3],), "cut short"),
        ((LSHOSTS.splitlines()[0],), "tells of no machine"),
    ],
)
def test_refusals(tmp_path: Path, texts: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_machines(write(tmp_path, *texts))


def test_what_the_manuals_show(tmp_path: Path) -> None:
    """A model that is not known, hosts that come and go, closed ones, and a list that is printed wider."""
    lists = LSHOSTS.replace("Intel_E5", "!       ").replace("Yes (mg mpich2)", "Dyn (mpich2)")
    wide = BHOSTS_GPU.replace("              ID", "          GPU_ID").replace(
        "                        1", "gpu1                    1"
    )
    hosts = BHOSTS.replace("unavail    ", "closed_Adm ")
    nodes, rules = read(tmp_path, lists, hosts, wide)
    assert nodes == (
        Node("n1", 8.0, 15872),
        Node("n2", 8.0, 16046),
        Node("gpu1", 120.0, 1048576, 2, "NVIDIA_A100"),
    )
    assert rules == {CLIENT: 1, "not in bhosts, so that it runs no jobs: left out": 1}


@pytest.mark.parametrize("text", ["x", "HOST_NAME", "HOST_NAME status load", '{"COMMAND":"bjobs"}', "\x01"])
def test_what_is_not_recognized(tmp_path: Path, text: str) -> None:
    assert not recognizes(open_source(write(tmp_path, text)[0]))
