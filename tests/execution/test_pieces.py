"""The pieces of a queue by themselves: who may start, what is free, what the core is told, cgroups, and texts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.execution.deciding import FALLBACK, MOST_FAILURES, Decider
from shunter.execution.local.board import Board, Entry
from shunter.execution.local.cgroups import make_cgroup, memory_cgroup, was_out_of_memory
from shunter.execution.local.machine import Machine
from shunter.execution.local.outputs import read_output, trim
from shunter.execution.local.records import is_revoked, read_claim, revoke
from shunter.execution.local.spec import SpecReader, command_of, memory_mb
from shunter.execution.view import SeenJob, View
from shunter.model.cluster import Cluster, Node
from shunter.native import check, lib
from tests.agents.untrained import write_policy


def seen(job: int, **words: object) -> SeenJob:
    values = {
        "submit_s": float(job),
        "cores": 1,
        "memory_mb": 0,
        "gpus": 0,
        "requested_s": 60.0,
        "kind": "k",
        "priority": 0,
    }
    return SeenJob(id=job, **{**values, **words})  # type: ignore[arg-type]


def view(*waiting: SeenJob, running: tuple[SeenJob, ...] = ()) -> View:
    here = Cluster.from_nodes((Node("here", 2.0, 1000, 1),), "here")
    return View(1000.0, here, waiting, running, ())


def test_a_board_shows_who_may_start_by_priority_and_limits() -> None:
    board = Board()
    for job in range(1, 6):
        board.add(Entry(seen(job), "default"))
    board.add(Entry(seen(6, priority=1), "default"))
    for job in range(7, 10):
        board.add(Entry(seen(job), "default", array_id=7, array_limit=2))
    board.add(Entry(seen(10), "default", needs={1}))
    assert [one.seen.id for one in board.ready(100)] == [6, 1, 2, 3, 4, 5, 7, 8]
    assert [one.seen.id for one in board.ready(3)] == [6, 1, 2]
    board.set_state(7, "running")
    assert [one.seen.id for one in board.ready(100)] == [6, 1, 2, 3, 4, 5, 8]
    board.groups["default"].most_running = 3
    assert [one.seen.id for one in board.ready(100)] == [6, 1]
    [behind] = board.remove(1)
    board.satisfy(behind, 1)
    board.groups["default"].most_running = None
    assert [one.seen.id for one in board.ready(100)] == [6, 2, 3, 4, 5, 8, 10]
    board.groups["default"].paused = True
    assert board.ready(100) == []


def test_a_machine_without_linux_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(InputError, match="on Linux only, and this is darwin"):
        Machine(1, 1000, 0)


def test_a_machine_gives_nothing_twice() -> None:
    machine = Machine(100_000, 1000, 2)
    assert not machine.is_pinned
    first, second = machine.take(2, 600, 1), machine.take(3, 0, 1)
    assert set(first.cpus).isdisjoint(second.cpus)
    assert (first.gpus, second.gpus) == ((0,), (1,))
    assert not machine.fits(1, 401, 0)
    assert not machine.fits(1, 0, 1)
    machine.release(first)
    assert machine.fits(1, 1000, 1)
    assert machine.refusal(1, 1001, 0) == "it asks for 1,001 MB of memory, and this queue has 1,000"


def test_the_core_decides_what_fits() -> None:
    decider = Decider({"policy": "fcfs"})
    plan = decider.decide(view(seen(1, cores=2), seen(2), seen(3), running=(seen(9, submit_s=0.0, start_s=990.0),)))
    # The first needs both cores, of which one is taken; the second would delay it.
    assert plan.starts == ()
    assert plan.line == (1, 2, 3)
    assert plan.reasons[1] == "it does not fit beside those that run and those that start now"
    plan = decider.decide(view(seen(1, memory_mb=600), seen(2, memory_mb=600), seen(3, gpus=1)))
    assert plan.starts == (1, 3)


def test_a_learned_policy_decides_with_what_it_was_trained_with(tmp_path: Path) -> None:
    """The order of this network is shortest first; who names no time counts as one of a day."""
    folder = write_policy(tmp_path / "best", order="sjf", missing_request="run-time")
    decider = Decider({"policy": str(folder)})
    jobs = (seen(1, requested_s=None), seen(2, requested_s=100.0), seen(3, requested_s=50.0))
    assert decider.decide(view(*jobs)).starts == (3, 2)
    assert (decider.failures, decider.has_a_line) == (0, False)


def test_a_policy_that_goes_on_failing_is_left_in_peace() -> None:
    decider = Decider({"policy": "fcfs", "dispatch": "no such rule"})
    for number in range(1, MOST_FAILURES + 3):
        plan = decider.decide(view(seen(1)))
        assert (plan.policy, plan.starts, decider.failures) == (FALLBACK, (1,), number)
        assert ("not asked after" in plan.failure) == (number > MOST_FAILURES)


def test_a_view_that_contradicts_itself_keeps_nobody_waiting() -> None:
    plan = Decider({}).decide(view(seen(1, submit_s=2000.0), running=(seen(9, start_s=3000.0),)))
    assert plan.starts[0] == 1
    assert plan.failure


def test_an_output_that_is_too_long_loses_its_beginning_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "1.log"
    lines = b"".join(b"%07d\n" % number for number in range(40_000))
    with path.open("ab", buffering=0) as job:
        job.write(lines)
        assert not trim(path, most=len(lines) + 4096)
        assert read_output(path, 0) == (lines, 0)
        if not trim(path, most=80_000):
            pytest.skip("this file system gives nothing back to the disk")
        job.write(b"more\n")
    kept, dropped = read_output(path, 0)
    assert dropped % 4096 == 0
    assert kept == lines[dropped:] + b"more\n"
    assert 40_000 <= len(kept) <= 40_000 + 2 * 4096
    assert path.stat().st_blocks * 512 <= 80_000
    assert read_output(path, len(lines)) == (b"more\n", 0)
    assert read_output(path, len(lines) + 5) == (b"", 0)


def test_only_one_can_make_a_claim(tmp_path: Path) -> None:
    path = tmp_path / "1.claim"
    assert revoke(path)
    assert revoke(path)
    assert is_revoked(path)
    assert read_claim(path) is None
    path.unlink()
    path.write_text("12 34 boot\n     ")
    assert not revoke(path)
    claimed = read_claim(path)
    assert claimed is not None
    assert (claimed.process, claimed.start_ticks, claimed.boot_id) == (12, 34, "boot")
    assert claimed.watch() is None


def test_cgroups_are_used_where_they_can_be_made(tmp_path: Path) -> None:
    base = tmp_path / "user"
    base.mkdir()
    (base / "cgroup.controllers").write_text("cpu memory pids\n")
    (base / "cgroup.subtree_control").write_text("memory\n")
    group = memory_cgroup(tmp_path, "/user")
    assert group is not None
    assert (group / "cgroup.subtree_control").read_text() == "+memory"
    job = make_cgroup(group, "7", 100)
    assert job is not None
    assert (job / "memory.max").read_text() == str(100 << 20)
    (job / "memory.events").write_text("low 0\noom_kill 1\n")
    assert was_out_of_memory(job)
    (base / "cgroup.controllers").write_text("cpu\n")
    assert memory_cgroup(tmp_path, "/user") is None
    assert memory_cgroup(tmp_path, "/nowhere") is None


@pytest.mark.parametrize(
    ("text", "expected"), [("4G", 4096), ("500M", 500), ("800", 800), ("1.5gb", 1536), ("10k", 1), ("0", 0)]
)
def test_memory_in_words(text: str, expected: int) -> None:
    assert memory_mb(text) == expected


def test_one_text_is_for_the_shell_and_words_are_not() -> None:
    assert command_of(["echo a; echo b"]) == ("/bin/sh", "-c", "echo a; echo b")
    assert command_of(["true"]) == ("true",)
    assert command_of(["exit"]) == ("/bin/sh", "-c", "exit")
    assert command_of(["echo", "a;b"]) == ("echo", "a;b")


def test_many_alike_jobs_are_checked_as_each_by_itself() -> None:
    reader = SpecReader()
    first = reader.read({"command": ["a"], "folder": "/", "cores": 2}, "job 1")
    second = reader.read({"command": ["b", "c"], "folder": "/", "cores": 2}, "job 2")
    assert (first.command, second.command, second.cores) == (("a",), ("b", "c"), 2)
    for command, expected in (([], "no command"), (["\0"], "zero byte"), ([1], "command is")):
        with pytest.raises(InputError, match=f"job 3:? .*{expected}"):
            reader.read({"command": command, "folder": "/", "cores": 2}, "job 3")


SERVING = """
import socket
from shunter.native import check, lib
from tests.agents.untrained import write_policy
own, its = socket.socketpair()
own.sendall(b"\\xff\\xff\\xff\\xff")
check(lib.shunter_spawner_serve(its.detach()))
"""


@pytest.mark.slow
def test_the_spawner_refuses_what_is_no_request() -> None:
    with pytest.raises(InputError, match="descriptor is -1"):
        check(lib.shunter_spawner_serve(-1))
    # A process that serves forgets its children, which this one needs.
    done = subprocess.run([sys.executable, "-c", SERVING], capture_output=True, text=True)
    assert done.returncode == 1
    assert "InputError: spawner: a message is too long" in done.stderr
