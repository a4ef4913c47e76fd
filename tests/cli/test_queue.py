"""``shunter queue`` as people use it: the walk through its page, files of jobs, words of other queues, and mistakes."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from shunter.execution.local.folder import VARIABLE, queue_folder
from tests.cli.conftest import Command
from tests.support import PROJECT

PAGE = (PROJECT / "docs" / "queue.md").read_text(encoding="utf-8")


@pytest.fixture
def queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for a queue, which the environment names; a daemon that runs in it is stopped."""
    path = tmp_path / "queue"
    monkeypatch.setenv(VARIABLE, str(path))
    monkeypatch.chdir(tmp_path)
    yield path
    if (connection := queue_folder(str(path)).connect()) is not None:
        connection.sendall(b'{"verb": "stop"}\n')
        connection.recv(1000)
        connection.close()


@pytest.fixture
def running(queue: Path, shunter: Command) -> Command:
    """The command line of a queue with two cores whose daemon runs."""
    assert shunter("queue", "start", "--cores", 2).code == 0
    return lambda *words: shunter("queue", *words)


def test_the_walk_through_the_page(queue: Path, tmp_path: Path) -> None:
    walk = "".join(re.findall(r"```console\n(.*?)```", PAGE, flags=re.S))
    steps = re.findall(r"^\$ (.+)\n((?:(?!\$ ).+\n)*)", walk, flags=re.M)
    assert len(steps) >= 10
    for command, printed in steps:
        words = [sys.executable, "-m", *shlex.split(command)]
        done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, timeout=120)
        assert (done.returncode, done.stderr) == (0, ""), command
        assert not printed or done.stdout == printed, command
    header = (tmp_path / "history.csv").read_text().splitlines()[0]
    assert {"job_id", "submit_s", "run_s", "requested_s", "user", "logged_wait_s"} <= set(header.split(","))


def test_history_is_a_workload(running: Command, shunter: Command, tmp_path: Path) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("".join(f"sleep 0.0{number % 5}\n" for number in range(40)))
    assert running("submit", "--file", lines, "--time", "1m").out == "Submitted 40 jobs: 1 to 40\n"
    assert running("wait", "1-40").out == "40 of 40 jobs succeeded\n"
    for name in ("history.csv", "history.parquet"):
        told = running("export", name, "--json").json()
        assert told["jobs"] == 40
        options = ("--cluster", told["cluster"], "--policy", "fcfs,sjf", "--windows", 1, "--length", 8, "--json")
        compared = shunter("compare", name, *options).json()
        assert {one["policy"] for one in compared["combinations"]} == {"fcfs", "sjf"}
    assert running("export", "history.csv").error() == (
        "history.csv: the file exists; give another name, or --force to overwrite it"
    )
    assert shunter("trace", "info", "history.csv", "--only", "completed", "--json").json()["jobs"] == 40
    tuned = shunter(
        "tune", "history.csv", "--cluster", 2, "--length", 5, "--threads", 1, "-o", "mine.toml", "--json"
    ).json()
    assert tuned["seed"] == 0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("jobs.toml", '[[job]]\ncommand = "echo $A"\ncores = 2\ntime = "90m"\n'
         '[[job]]\ncommand = ["echo", "$A"]\nmemory = "1G"'),
        ("jobs.csv", "command,cores,time,memory\necho $A,2,90m,\necho $A,,,1G\n"),
        ("jobs.jsonl", '{"command": "echo $A", "cores": 2, "time": "90m"}\n'
         '{"command": ["echo", "$A"], "memory": "1G"}\n'),
    ],
)  # fmt: skip
def test_jobs_come_from_files(running: Command, tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert running("submit", "--file", path, "--hold", "--env", "A=b", "--priority", 3, "--json").json() == {
        "jobs": [1, 2]
    }
    first, second = (running("show", job, "--json").json() for job in (1, 2))
    assert (first["cores"], first["time_s"], first["memory_mb"], first["priority"]) == (2, 5400.0, 0, 3)
    assert (second["cores"], second["time_s"], second["memory_mb"], second["state"]) == (1, None, 1024, "held")
    assert first["command"] == ["/bin/sh", "-c", "echo $A"]
    assert second["command"] == (["/bin/sh", "-c", "echo $A"] if name.endswith("csv") else ["echo", "$A"])
    running("release", "1-2")
    running("wait")
    assert running("logs", 1).out == "b\n"


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("jobs.csv", "command,after\ntrue,x\n", "jobs.csv line 2: after is 'x'; expected a whole number"),
        ("jobs.csv", "command,cores\ntrue,many\n", "jobs.csv line 2: cores is 'many'; expected a whole number"),
        ("jobs.csv", "command\ntrue,1\n", "jobs.csv line 2: has more cells than the header"),
        ("jobs.csv", 'command\n"true" x\n', "jobs.csv line 2: ',' expected after '\"'; mend it"),
        ("jobs.toml", "[[job]]\ncommand = 'x'\ncores = 'two'\n", "jobs.toml: job 1: cores is 'two'"),
        ("jobs.jsonl", '{"command": []}\n', "jobs.jsonl line 1: there is no command"),
        ("jobs.jsonl", '{"command": "true"}\n{"command": [""]}\n', "jobs.jsonl line 2: there is no command"),
        ("jobs.txt", "# nothing\n", "jobs.txt: there is no job in it; write at least one"),
    ],
)
def test_a_file_that_is_wrong_is_one_line(
    queue: Path, shunter: Command, tmp_path: Path, name: str, text: str, expected: str
) -> None:
    (tmp_path / name).write_text(text)
    assert expected in shunter("queue", "submit", "--file", name).error()


def test_words_of_other_queues(running: Command) -> None:
    assert running("add", "--", "sleep", "300").out == "Submitted job 1\n"
    assert running("sbatch", "--hold", "true").out == "Submitted job 2\n"
    assert [job["id"] for job in running("ls", "--json").json()["jobs"]] == [1, 2]
    assert running("priority", 2, "--priority", 7).out == "Edited job 2\n"
    assert running("scancel", 1, 2).out == "Cancelled 2 jobs: 1 to 2\n"
    assert running("wait", 1, 2).code == 1
    assert running("info", 1, "--json").json()["state"] == "cancelled"
    assert running("clean").out == "Forgot 2 jobs: 1 to 2\n"
    assert running("ls", "--all").out == "There are no jobs.\n"


def test_people_read_tables(running: Command) -> None:
    running("submit", "--name", "greeting", "echo hello; exit 3")
    assert running("wait", 1).out == "job 1: failed, exit code 3\n0 of 1 jobs succeeded\n"
    listed = running("list", "--all").out
    assert all(word in listed for word in ("greeting", "failed", "echo hello; exit 3", "code 3", "1 failed"))
    shown = running("show", 1).out
    assert "Chosen" in shown
    assert "policy fcfs chose it: decision 1 among 1 jobs" in shown
    status = running("status").out
    assert "2 of 2 free" in status
    assert "fcfs, dispatch easy, estimate requested" in status
    assert running("follow", 1).out == "hello\n"
    assert running("logs", 1, "--lines", 0).out == ""


def test_wait_says_which_limit_a_job_exceeded(running: Command) -> None:
    running("submit", "--time", "0.1", "sleep 60")
    assert running("wait", 1).out == "job 1: failed, time limit exceeded\n0 of 1 jobs succeeded\n"
    running("submit", "--", "/no/such/program")
    assert running("wait", 2).out.startswith("job 2: failed (/no/such/program: No such file or directory")
    assert "the job (sleep) can never run" in running("submit", "--cores", 3, "--", "sleep", 1).error()


def test_a_job_is_one_line_of_the_table(running: Command) -> None:
    running("submit", "--hold", "--name", "two\nlines", "echo a\n\techo b")
    _, row, _ = running("list").out.splitlines()
    assert "two\\nlines" in row
    assert row.endswith("echo a\\n echo b")


def test_the_policy_can_be_changed(running: Command, tmp_path: Path) -> None:
    assert running("policy", "sjf", "--max-wait", "2h").out == (
        "sjf, dispatch easy, estimate requested, nobody waits longer than 7200 s\n"
    )
    own = tmp_path / "mine.py"
    own.write_text((PROJECT / "examples" / "my_policy.py").read_text())
    # The daemon runs in another folder.
    assert str(own) in running("policy", "mine.py").out
    assert running("submit", "true").code == running("wait", 1).code == 0
    assert str(own) in running("show", 1).out
    assert "unknown policy 'sfj'" in running("policy", "sfj").error()
    assert "policy 'srtf' stops running jobs" in running("policy", "srtf").error()
    assert "go with a policy" in running("policy", "--dispatch", "easy").error()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["submit"], "give a command behind --, or --file with jobs: shunter queue submit -- sleep 10"),
        (["submit", " "], "there is no command; give one behind --"),
        (["cancel", "5-1"], "job '5-1': expected the lower id first, and at most a million"),
        (["submit", "--memory", "4X", "true"], "memory is '4X'; write 4G, 500M, or a number of megabytes"),
        (["submit", "--time", "soon", "true"], "--time is 'soon'; write 90m, 36h, 1d, 2h30m, or a number of seconds"),
        (["submit", "--cores", "0", "true"], "the job: cores is 0; expected a whole number from 1 to 1000000"),
        (["submit", "--array", "5-1", "true"], "the job: array is '5-1'; expected 1 to 100,000 jobs"),
        (["submit", "--after", "x", "true"], "job 'x': expected an id, as in 12, 12,13 or 20-29"),
        (["submit", "--env", "A", "true"], "--env is 'A'; write NAME=VALUE"),
        (["submit", "--file", "none.toml"], "none.toml: no such file of jobs; check the path"),
        (["list", "--queue", "a b"], "queue 'a b': expected a name of letters, digits"),
        (["lits"], "unknown verb of queue 'lits'; did you mean 'list'?"),
        (["start", "--policy", "sfj"], "unknown policy 'sfj'; did you mean 'sjf'?"),
        (["start", "--cores", "-1"], "--cores is -1; expected 1 to 100,000"),
        (["export", "x.csv"], "there is none at"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line(queue: Path, shunter: Command, words: list[str], expected: str) -> None:
    assert expected in shunter("queue", *words).error()


def test_submitting_loads_nothing_heavy(running: Command, tmp_path: Path) -> None:
    script = (
        "import sys; from shunter.cli import app\ntry:\n    app(['queue', 'submit', '--hold', 'true'])\n"
        "except SystemExit: print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=os.environ)
    said, loaded = done.stdout.splitlines()
    assert said == "Submitted job 1"
    assert set(loaded.split()).isdisjoint({"numpy", "polars", "torch", "matplotlib", "shunter._core"})


def test_submit_starts_the_daemon_if_asked_to(queue: Path, shunter: Command) -> None:
    assert "its daemon is not running; start it with 'shunter queue start" in shunter("queue", "submit", "true").error()
    assert shunter("queue", "submit", "--start", "true").out == "Submitted job 1\n"
    assert shunter("queue", "submit", "--start", "true").out == "Submitted job 2\n"
    ended = shunter("queue", "wait", "1-2", "--json").json()
    assert [job["state"] for job in ended["jobs"]] == ["done", "done"]


def test_many_at_once_start_one_daemon(queue: Path, shunter: Command) -> None:
    words = [sys.executable, "-m", "shunter", "queue", "submit", "--start", "true"]
    clients = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for _ in range(4)]
    said = sorted(client.communicate(timeout=120)[0] for client in clients)
    assert said == [f"Submitted job {number}\n" for number in range(1, 5)]


def test_stop_returns_when_the_daemon_has_ended(running: Command) -> None:
    process = running("status", "--json").json()["process"]
    assert running("stop").out == f"Stopped (process {process})\n"
    stat = Path(f"/proc/{process}/stat")
    # It is a child of this process, which does not wait for it.
    assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"


def test_environments_are_not_exported(running: Command, tmp_path: Path) -> None:
    running("submit", "--env", "TOKEN=hunter2-secret", "true")
    running("wait")
    running("export", "history.csv")
    assert "hunter2-secret" not in (tmp_path / "history.csv").read_text()
    assert "hunter2-secret" not in json.dumps(running("show", 1, "--json").json())
