"""Many clients at once, and what one must never be told."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from shunter.errors import InputError
from shunter.execution.local.client import ask
from tests.execution.box import Box
from tests.execution.kills import CLIENT
from tests.support import PROJECT

CLIENTS, BATCHES, BATCH = 20, 3, 2


@pytest.mark.slow
def test_twenty_clients_at_once_lose_nothing_and_jobs_start_in_order(box: Box, tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    box.ask("pause")
    each = BATCHES * BATCH
    words = [
        [str(box.folder.path), str(lines), str(number * each), str(BATCHES), str(BATCH)] for number in range(CLIENTS)
    ]
    clients = [subprocess.Popen([sys.executable, "-c", CLIENT, *one], stdout=subprocess.PIPE) for one in words]
    told = [int(word) for client in clients for word in client.communicate(timeout=120)[0].split()]
    numbers, ids = told[::2], told[1::2]
    assert sorted(numbers) == list(range(CLIENTS * each))
    assert sorted(ids) == list(range(1, CLIENTS * each + 1))
    box.ask("resume")
    box.wait()
    assert Counter(map(int, lines.read_text().split())) == dict.fromkeys(numbers, 1)
    starts = [box.show(job)["tried"][0]["id"] for job in sorted(ids)]
    # First come, first served: attempts are numbered in the order of the starts.
    assert starts == sorted(starts)


def test_shorter_jobs_go_first_under_sjf(box: Box) -> None:
    box.ask("policy", words={"policy": "sjf"})
    box.ask("pause")
    times = [50, 10, 40, 20, 30]
    jobs = [box.submit("true", cores=2, time_s=time_s)[0] for time_s in times]
    box.ask("resume")
    box.wait()
    order = sorted(jobs, key=lambda job: box.show(job)["start_s"])
    assert [times[jobs.index(job)] for job in order] == sorted(times)


def test_the_posterior_learns_from_the_queue_itself(box: Box) -> None:
    box.ask("policy", words={"policy": "sjf", "estimate": "posterior"})
    for _ in range(6):
        box.submit("sleep 0.4", name="slow")
        box.submit("true", name="quick")
    box.wait()
    box.ask("pause")
    slow = box.submit(*["sleep 0.4"] * 3, name="slow", cores=2)
    quick = box.submit(*["true"] * 3, name="quick", cores=2)
    box.ask("resume")
    box.wait()
    assert max(box.show(job)["start_s"] for job in quick) < min(box.show(job)["start_s"] for job in slow)


def test_a_policy_that_fails_is_stood_in_for_and_counted(box: Box, tmp_path: Path) -> None:
    policy = tmp_path / "bad.py"
    policy.write_text(
        "import shunter\n\nclass Bad(shunter.Policy):\n    name = 'bad'\n\n    def score(self, queue):\n"
        "        raise RuntimeError('no idea')\n"
    )
    box.ask("policy", words={"policy": str(policy)})
    [job] = box.submit("true")
    assert box.wait(job)[job]["state"] == "done"
    status = box.ask("status")
    assert status["policy_failures"] == 1
    assert "no idea" in status["last_failure"]
    assert box.show(job)["chosen_by"]["policy"] == "fcfs"
    assert "no idea" in box.show(job)["chosen_by"]["failure"]


def test_a_policy_that_is_wrong_changes_nothing(box: Box) -> None:
    with pytest.raises(InputError, match="unknown policy 'sfj'; did you mean 'sjf'"):
        box.ask("policy", words={"policy": "sfj"})
    assert box.ask("policy")["policy"] == "fcfs"


def test_the_policy_is_kept_over_a_restart(box: Box) -> None:
    box.ask("policy", words={"policy": "sjf", "max_wait_s": 60.0})
    box.kill()
    box.start()
    assert box.ask("policy")["policy"] == "sjf"
    assert box.ask("policy")["max_wait_s"] == 60.0


def test_environments_reach_the_job_and_nobody_else(box: Box) -> None:
    secret = "hunter2-secret"
    words: dict[str, Any] = {
        "jobs": [{"command": ["/bin/sh", "-c", "echo $TOKEN"], "folder": "/tmp"}],
        "umask": 18,
        "token": "once",
    }
    [job] = ask(box.folder, "submit", environment={"PATH": os.environ["PATH"], "TOKEN": secret}, **words)["jobs"]
    box.wait(job)
    assert box.folder.output(job).read_text() == f"{secret}\n"
    answers = [box.show(job), box.ask("list", states=["done"], most=10), box.ask("status")]
    assert secret not in json.dumps(answers)
    assert stat.S_IMODE(box.folder.path.stat().st_mode) == 0o700
    for path in box.folder.path.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_a_submission_that_is_repeated_happens_once(box: Box) -> None:
    words: dict[str, Any] = {
        "jobs": [{"command": ["true"], "folder": "/tmp"}],
        "environment": {},
        "umask": 18,
        "token": "twice",
    }
    assert ask(box.folder, "submit", **words) == ask(box.folder, "submit", **words)
    box.wait()
    assert box.ask("status")["counts"]["done"] == 1


@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"{", "Expecting property name"),
        (b"[]", "no object with a verb"),
        (b'{"verb": "sumbit"}', "unknown verb 'sumbit'; did you mean 'submit'"),
        (b'{"verb": "show", "job": "1"}', "job is '1'; expected a whole number"),
        (b'{"verb": "show", "shop": 1}', "unexpected keyword argument"),
        (b'{"verb": "submit", "jobs": [{"command": ["x"]}], "environment": {}, "umask": 0, "token": "t"}',
         "folder is missing"),
        (b'{"verb": "submit", "jobs": [{"command": ["x"], "folder": "/", "cores": 0}], "environment": {}, "umask": 0, '
         b'"token": "t"}', "cores is 0; expected a whole number from 1"),
        (b'{"verb": "wait", "jobs": [77]}', "job 77: there is no such job"),
    ],
)  # fmt: skip
def test_what_a_strange_client_says_is_answered_with_a_line(box: Box, line: bytes, expected: str) -> None:
    connection = box.folder.connect()
    assert connection is not None
    with connection:
        connection.sendall(line + b"\n")
        answer = json.loads(connection.recv(1 << 16))
        assert expected in answer["refusal"]
        # The connection goes on.
        connection.sendall(b'{"verb": "status"}\n')
        assert json.loads(connection.recv(1 << 16))["cores"] == 2


def test_a_client_that_does_not_read_keeps_nobody_waiting(box: Box) -> None:
    box.submit(*["true"] * 200)
    box.wait()
    lazy = box.folder.connect()
    assert lazy is not None
    with lazy:
        lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        states = json.dumps({"verb": "list", "states": ["done"], "most": 1000}).encode()
        lazy.sendall(b"\n".join([states] * 20) + b"\n")
        assert box.ask("status")["counts"]["done"] == 200


def test_a_policy_whose_file_is_gone_is_stood_in_for(box: Box, tmp_path: Path) -> None:
    policy = tmp_path / "mine.py"
    policy.write_text((PROJECT / "examples" / "my_policy.py").read_text())
    box.ask("policy", words={"policy": str(policy)})
    box.kill()
    policy.unlink()
    box.start()
    [job] = box.submit("true")
    assert box.wait(job)[job]["state"] == "done"
    status = box.ask("status")
    assert status["policy"] == str(policy)
    assert status["policy_failures"] == 1
    assert "there is no such file" in status["last_failure"]
    assert box.ask("policy", words={"policy": "sjf"})["policy"] == "sjf"


@pytest.mark.parametrize("field", ["name", "group"])
def test_a_list_with_a_job_that_cannot_be_written_is_refused_whole(box: Box, field: str) -> None:
    good = {"command": ["true"], "folder": "/tmp"}
    words: dict[str, Any] = {"environment": {"PATH": os.environ["PATH"]}, "umask": 18, "token": "once"}
    with pytest.raises(InputError, match=r"job 2: '\\udcff' is not UTF-8"):
        ask(box.folder, "submit", jobs=[good, {**good, field: "\udcff"}], **words)
    with pytest.raises(InputError, match="is not UTF-8"):
        box.ask("pause", group="\udcff")
    assert not any(box.ask("status")["counts"].values())


def test_ids_are_never_used_again(box: Box) -> None:
    for kept_over_a_restart in (False, True):
        jobs = box.submit("true", "exit 3", retries=1)
        box.wait()
        output = box.folder.output(jobs[1])
        assert (output.exists(), output.with_name(f"{output.name}.1").exists()) == (True, True)
        tried = [one["id"] for job in jobs for one in box.show(job)["tried"]]
        assert box.ask("clean")["jobs"][-2:] == jobs
        assert not list(output.parent.iterdir())
        if kept_over_a_restart:
            box.kill()
            box.start()
        [later] = box.submit("true")
        assert box.wait(later)[later]["state"] == "done"
        assert later == jobs[-1] + 1
        assert min(one["id"] for one in box.show(later)["tried"]) > max(tried)
    # Policies refuse two jobs with one id.
    assert box.ask("status")["policy_failures"] == 0


def test_a_daemon_that_is_silent_is_told_of(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shunter.execution.local.client.SILENCE_S", 0.2)
    assert box.process is not None
    box.process.send_signal(signal.SIGSTOP)
    told: list[str] = []

    def tell(text: str) -> None:
        told.append(text)
        assert box.process is not None
        box.process.send_signal(signal.SIGCONT)

    assert ask(box.folder, "status", tell=tell)["cores"] == 2
    assert told == [f"queue {box.folder.text}: its daemon has not answered for 0.2 s; waiting"]
