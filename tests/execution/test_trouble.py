"""When something is wrong: a full disk, a damaged journal, a stale socket, two daemons, a migration cut in two."""

from __future__ import annotations

import os
import selectors
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.execution.local.client import ask
from shunter.execution.local.folder import QueueFolder, queue_folder
from shunter.execution.local.journal import Journal
from shunter.execution.local.schema import MIGRATIONS, migrate
from shunter.execution.local.starting import start_daemon
from shunter.execution.local.verbs import open_queue
from tests.execution.box import Box, wait_for


def test_without_a_daemon_there_is_one_line_with_the_command(tmp_path: Path) -> None:
    folder = QueueFolder(tmp_path / "queue", "mine")
    with pytest.raises(
        InputError, match=r"its daemon is not running; start it with 'shunter queue start --queue mine'"
    ):
        ask(folder, "status")


def test_a_socket_that_a_killed_daemon_left_is_no_hindrance(box: Box) -> None:
    box.kill()
    assert box.folder.socket.exists()
    with pytest.raises(InputError, match="its daemon is not running"):
        box.ask("status")
    box.start()
    assert box.ask("status")["cores"] == 2


def test_two_daemons_cannot_share_a_queue(box: Box) -> None:
    with pytest.raises(InputError, match="a daemon is running already"):
        start_daemon(box.folder, {})
    assert box.ask("status")["process"] == box.process.pid  # type: ignore[union-attr]


def test_a_folder_with_a_long_path_is_served(tmp_path: Path) -> None:
    box = Box(tmp_path / ("x" * 120) / "queue")
    assert len(str(box.folder.socket)) > 108
    box.start()
    try:
        [job] = box.submit("true")
        assert box.wait(job)[job]["state"] == "done"
    finally:
        box.stop()


def test_a_folder_that_others_may_look_into_is_refused(tmp_path: Path) -> None:
    folder = QueueFolder(tmp_path / "queue", "queue")
    folder.make()
    folder.path.chmod(0o755)
    with pytest.raises(InputError, match="others may look into it; run 'chmod 700"):
        folder.make()


@pytest.mark.parametrize("name", ["a b", "", "x" * 70, "-x", "ä"])
def test_names_of_queues_are_plain(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHUNTER_QUEUE", raising=False)
    if not name:
        assert queue_folder(name).path.name == "default"
        return
    with pytest.raises(InputError, match="expected a name of letters"):
        queue_folder(name)


def test_a_damaged_journal_is_one_line_with_a_way_out(tmp_path: Path) -> None:
    folder = QueueFolder(tmp_path / "queue", "queue")
    folder.make()
    folder.database.write_bytes(b"SQLite format 3\0" + b"\xff" * 4000)
    with pytest.raises(InputError, match=r"the journal is damaged \(.*\); keep a copy"):
        start_daemon(folder, {})


def test_a_fault_of_the_daemon_is_one_line_with_its_log(tmp_path: Path) -> None:
    folder = QueueFolder(tmp_path / "queue", "queue")
    folder.make()
    with pytest.raises(InputError, match=r"by a fault of its own \(TypeError: .*\); see .*daemon\.log"):
        start_daemon(folder, {"cores": "two"})


def test_a_journal_of_a_later_version_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "queue.sqlite"
    Journal(path).close()
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    connection.close()
    with pytest.raises(InputError, match=f"is of version {len(MIGRATIONS) + 1}, and this Shunter knows up to"):
        Journal(path)


MIGRATING = """
import os, signal, sqlite3, sys
from shunter.execution.local.schema import MIGRATIONS, migrate
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA journal_mode = WAL")
connection.create_function("die", 0, lambda: os.kill(os.getpid(), signal.SIGKILL))
migrate(connection, "journal", (*MIGRATIONS, "CREATE TABLE more (x); INSERT INTO more VALUES (1); SELECT die()"))
"""


def test_a_migration_that_is_killed_leaves_the_journal_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "queue.sqlite"
    Journal(path).close()
    done = subprocess.run([sys.executable, "-c", MIGRATING, str(path)])
    assert done.returncode == -signal.SIGKILL
    connection = sqlite3.connect(path, isolation_level=None)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    assert not connection.execute("SELECT * FROM sqlite_master WHERE name = 'more'").fetchall()
    # The next one who tries succeeds.
    migrate(connection, "journal", (*MIGRATIONS, "CREATE TABLE more (x)"))
    assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS) + 1,)
    connection.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes."""
    if os.getuid() != 0:
        pytest.skip("only root can mount a small file system")
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m,mode=700", "shunter-test", str(disk)])
    if mounted.returncode != 0:
        pytest.skip("this machine does not let us mount a file system")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_a_full_disk_is_told_and_nothing_acknowledged_is_lost(small_disk: Path, tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    box = Box(small_disk / "queue")
    box.start()
    try:
        [running] = box.submit(f"echo running >> {lines}; sleep 1; exit 3")
        # Only when it has begun, the room for its end is taken: on a busy machine that is later than its state says.
        wait_for(lines)
        fill = small_disk / "fill"
        with suppress(OSError), fill.open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * 4096)
        # A few may still fit into what is left of the journal's last pages.
        fillers = [f"echo filler >> {lines}"] * 500
        with pytest.raises(InputError, match="the disk is full"):
            box.submit(*fillers, hold=True)
        # The room for its end was taken when it started.
        deadline = time.monotonic() + 30
        while not list(box.folder.attempts.glob("*.end")) and time.monotonic() < deadline:
            time.sleep(0.05)
        fill.unlink()
        [later] = box.submit(f"echo later >> {lines}")
        ends = box.wait(running, later)
        assert (ends[running]["code"], ends[later]["code"]) == (3, 0)
        assert lines.read_text().split() == ["running", "later"]
        assert box.is_intact()
    finally:
        box.stop()


def test_a_restart_of_the_machine_is_noticed(tmp_path: Path) -> None:
    """The journal says that jobs run since another start of the machine."""
    box = Box(tmp_path / "queue")
    box.start()
    try:
        lines = tmp_path / "lines"
        [lost] = box.submit(f"echo lost >> {lines}; exec sleep 300")
        [again] = box.submit(f"echo again >> {lines}; exec sleep 300", on_lost="requeue")
        for job in (lost, again):
            box.until(job, "running")
        supervisors = [box.supervisor(job) for job in (lost, again)]
        box.kill()
        for process in supervisors:
            subprocess.run(["pkill", "-KILL", "-s", str(process)], check=False)
        connection = sqlite3.connect(box.folder.database)
        connection.execute("UPDATE attempts SET boot_id = 'before'")
        connection.commit()
        connection.close()
        box.start()
        assert box.show(lost)["state"] == "lost"
        assert "its supervisor or the machine was stopped" in box.show(lost)["error"]
        assert box.until(again, "running")["attempts"] == 2
    finally:
        box.stop()


@pytest.mark.every(3)
@pytest.mark.parametrize("left", [b"", b"\0" * 100, b"1 2 x\nstart_ms \n"])
def test_a_record_that_a_power_failure_has_emptied_is_none(tmp_path: Path, left: bytes) -> None:
    """The records of short jobs need not be on the disk when their supervisors end."""
    box = Box(tmp_path / "queue")
    box.start()
    try:
        [job] = box.submit("exec sleep 300")
        box.until(job, "running")
        process, attempt = box.supervisor(job), box.show(job)["tried"][0]["id"]
        box.kill()
        subprocess.run(["pkill", "-KILL", "-s", str(process)], check=False)
        box.folder.claim(attempt).rename(box.folder.record(attempt))
        box.folder.record(attempt).write_bytes(left)
        with closing(sqlite3.connect(box.folder.database)) as connection, connection:
            connection.execute("UPDATE attempts SET boot_id = 'before'")
        box.start()
        assert box.show(job)["state"] == "lost"
    finally:
        box.stop()


def test_only_its_owner_is_served(box: Box) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    # Even where the folder lets others in.
    for folder in (box.folder.path, *box.folder.path.parents[:4]):
        folder.chmod(folder.stat().st_mode | 0o055)
    box.folder.socket.chmod(0o666)
    script = (
        "import os, socket, sys; os.setuid(65534); s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n"
        "try:\n    s.sendall(b'{\"verb\": \"status\"}\\n'); print(s.recv(100))\nexcept OSError: print(b'')"
    )
    done = subprocess.run([sys.executable, "-c", script, str(box.folder.socket)], capture_output=True, text=True)
    assert done.stdout.strip() == "b''", done.stderr


def test_no_job_starts_before_its_start_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # After a crash in between, it would start a second time.
    folder = QueueFolder(tmp_path / "queue", "queue")
    folder.make()

    def on_disk() -> set[int]:
        with closing(sqlite3.connect(folder.database)) as connection:
            return {row[0] for row in connection.execute("SELECT id FROM attempts")}

    asked: list[tuple[int, bool]] = []
    with selectors.DefaultSelector() as selector:
        verbs = open_queue(folder, {"cores": 2}, selector)
        queue = verbs.queue
        monkeypatch.setattr(
            queue.supervision, "start", lambda all: asked.extend((one.attempt, one.attempt in on_disk()) for one in all)
        )
        command = {"command": ["true"], "folder": "/tmp"}
        jobs = verbs.submit([command] * 4, {"PATH": os.environ["PATH"]}, 0o022, "token")["jobs"]
        queue.flush()
        queue.prepare(jobs[:1])
        queue.flush()
        # Others are prepared while ends wait for a common commit: these are not on the disk yet.
        queue.prepare(jobs[1:])
        assert queue.flush(now=False) is not None
        for job in jobs[:2]:
            queue.start(job, 0, "it is tested")
        queue.flush(now=False)
        queue.close()
    assert len(asked) == 2
    assert all(is_there for _, is_there in asked)
