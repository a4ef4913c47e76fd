"""What LSF says of a job: requirements, reasons of termination, and hosts."""

from __future__ import annotations

import pytest

from shunter.workloads.formats.lsf import LsfHosts, LsfJob, parse_requirement, status_word


@pytest.mark.parametrize(
    ("text", "memory", "gpus"),
    [
        ("", None, None),
        ("rusage[]", None, None),
        ("select[mem>4000 && ngpus>0] order[mem]", None, None),
        ("rusage[mem=4000.00,lic=1.00:duration=1m:decay=0] span[hosts=1]", (4000, "host"), None),
        ("rusage[lic=1:mem=2G]", (2048, "host"), None),
        ("rusage[swp=10, mem = 512KB/job]", (0.5, "job"), None),
        ("rusage[mem=1T/task]", (1048576, "task"), None),
        ("rusage[mem=(400 900 350):duration=(10 15):decay=0]", (900, "host"), None),
        ("rusage[mem=20] || rusage[mem=50]", (20, "host"), None),
        ("rusage[maxmem=20]", None, None),
        ("rusage[ngpus_physical=2.00:gmodel=V100,mem=16.00]", (16, "host"), (2, "host")),
        ("rusage[ngpus_excl_p=1/task]", None, (1, "task")),
        ("rusage[mem=1.2.3]", None, None),
    ],
)
def test_requirements(text: str, memory: tuple[float, str] | None, gpus: tuple[float, str] | None) -> None:
    assert parse_requirement(text) == (memory, gpus)


@pytest.mark.parametrize(
    ("status", "reason", "word"),
    [
        (64, 0, "completed"),
        (192, 0, "completed"),
        (32, 0, "failed"),
        (32, 17, "failed"),
        (32, 5, "timeout"),
        (32, 12, "timeout"),
        (32, 16, "out_of_memory"),
        (32, 14, "cancelled"),
        (32, 15, "cancelled"),
        (32, 1, "preempted"),
        (32, 22, "node_fail"),
        (4, 0, None),
    ],
)
def test_how_a_job_ended(status: int, reason: int, word: str | None) -> None:
    assert status_word(status, reason) == word


@pytest.mark.parametrize(
    ("names", "places"),
    [
        ([], None),
        (["a"], (1, 1, True)),
        (["a", "b", "a", "b"], (2, 4, True)),
        (["a", "b", "a"], (2, 3, False)),
        (["16*a", "16*b@east"], (2, 32, True)),
        (["2*a", "a"], (1, 3, True)),
        (["x*y"], (1, 1, True)),
        (["9999999999*y"], (1, 1, True)),
    ],
)
def test_lists_of_hosts(names: list[str], places: tuple[int, int, bool] | None) -> None:
    found = LsfHosts.of(names)
    assert (found and found[:3]) == places


def test_a_list_of_hosts_as_text() -> None:
    found = LsfHosts.of(["2*a", "b", "a"])
    assert found is not None
    assert found.text == "a*3,b*1"


@pytest.mark.parametrize(
    ("hosts", "requirement", "shape"),
    [
        ("a a b b", "rusage[mem=10/task]", (2, 2, 20, 0)),
        ("a a b b", "rusage[mem=10/job]", (2, 2, 5, 0)),
        ("a a b", "rusage[mem=15/host]", (3, 1, 10, 0)),
        ("a b", "rusage[ngpus_physical=0.5]", (2, 1, None, 0.5)),
        ("a a", "rusage[ngpus_physical=1/task]", (1, 2, None, 2)),
        ("a b", "rusage[ngpus_physical=3/job]", (3, 2 / 3, None, 1)),
        ("a a b", "rusage[ngpus_physical=0.25]", (3, 1, None, 0.5 / 3)),
    ],
)
def test_shapes(hosts: str, requirement: str, shape: tuple[float, ...]) -> None:
    row = LsfJob(1, start_s=1, end_s=2, places=LsfHosts.of(hosts.split()), requirement=requirement).row()
    assert row[5:9] == shape
