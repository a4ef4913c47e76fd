"""The doors of the product that users have: the command line, a queue, HTTP on a socket, programs of a scheduler."""

from __future__ import annotations

import io
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from http.client import HTTPConnection
from pathlib import Path
from socket import AF_UNIX, socket
from tempfile import TemporaryDirectory
from typing import Any

from shunter.cli import app
from tests.outcomes.cases import Case
from tests.outcomes.checkpoint import write_checkpoints
from tests.support import PROJECT

INPUTS = Path(__file__).with_name("inputs")
PATIENCE_S = 120.0
SOCKET = "serve.sock"
SERVED = ("sjf=sjf", "wfp3=wfp3", "own=my_policy.py", "tuned=cautious.toml", "learned=runs/jobs")
"""The policies of the service."""
TIMES = ("submit_time", "eligible_time", "start_time")
"""The fields of a job of Slurm that hold seconds since 1970."""
PATIENT = "deadline_s = 60.0\ntimeout_s = 120.0"
"""On a busy machine all takes longer than usual; the fallback must not decide for that."""


class Doors:
    """Runs cases in a folder with a copy of all inputs; what is dear is made once, when the first case needs it."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._checkpoints: Path | None = None
        self._service: Path | None = None

    def __enter__(self) -> Doors:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def result(self, case: Case) -> Any:  # noqa: ANN401 - JSON values
        """Runs a case; returns what its command answers."""
        with TemporaryDirectory() as name, working_in(Path(name)):
            self._fill(Path(name), needs_checkpoints="runs/" in " ".join((*case.before, case.words)))
            if case.command == "queue":
                return decided_by_queue(case)
            if case.command == "operate":
                return decided_beside_scheduler(case)
            for line in case.before:
                shunter(line)
            if case.command == "serve":
                return self._decided_by_service(*shlex.split(case.words))
            if case.command == "simulate":
                return simulated(case.words)
            if case.command == "run":
                return ran(case.words)
            return json.loads(shunter(f"{case.command} {case.words} --json"))

    def _fill(self, folder: Path, *, needs_checkpoints: bool) -> None:
        shutil.copytree(INPUTS, folder, dirs_exist_ok=True)
        shutil.copy(PROJECT / "examples" / "my_policy.py", folder)
        if needs_checkpoints:
            if self._checkpoints is None:
                self._checkpoints = Path(self._stack.enter_context(TemporaryDirectory()))
                write_checkpoints(self._checkpoints)
            shutil.copytree(self._checkpoints, folder / "runs")

    def _decided_by_service(self, policy: str, snapshot: str) -> Any:  # noqa: ANN401 - JSON values
        """Returns the answer of ``POST /v1/decide``."""
        body = {"policy": policy, "snapshot": json.loads(Path(snapshot).read_text())}
        if self._service is None:
            self._service = Path(self._stack.enter_context(TemporaryDirectory()))
            self._fill(self._service, needs_checkpoints=True)
            self._stack.enter_context(service_in(self._service))
        status, answer = asked(self._service / SOCKET, "POST", "/v1/decide", body)
        assert status == 200, answer
        return answer


@contextmanager
def working_in(folder: Path) -> Iterator[None]:
    """Makes a folder the working one, so that no result has an absolute path."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def shunter(line: str) -> str:
    """Runs a command line in this process; returns what it prints."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code: str | int | None = None
        try:
            app(shlex.split(line))
        except SystemExit as ended:
            code = ended.code
    assert code == 0, f"shunter {line}: {err.getvalue() or out.getvalue()}"
    return out.getvalue()


def simulated(words: str) -> dict[str, Any]:
    """Returns the object of a simulation, and the rows of its schedule."""
    told = json.loads(shunter(f"simulate {words} --json --out run"))
    rows = Path("run/schedule.jsonl").read_text().splitlines()
    return {**told, "schedule": [json.loads(row) for row in rows]}


def ran(words: str) -> list[dict[str, Any]]:
    """Returns the rows of the metrics of ``shunter run``."""
    shunter(f"run {words} --json --out metrics")
    [file] = Path("metrics").glob("metrics_*.jsonl")
    return [json.loads(row) for row in file.read_text().splitlines()]


def decided_by_queue(case: Case) -> dict[str, Any]:
    """Lets a paused queue go on; returns its jobs by id, as ``queue show`` tells of them after the next decision."""
    shunter(f"queue start --queue ./queue {case.words}")
    try:
        for line in case.before:
            on_queue(line)
            if line.startswith("submit --cores"):
                until(lambda: "running" in states().values(), "the first job runs")
        before = states()
        on_queue("resume")
        until(lambda: list(states().values()).count("running") > list(before.values()).count("running"), "a job starts")
        return {job: json.loads(on_queue(f"show {job} --json")) for job in states()}
    finally:
        # A job that has just been chosen can still start: the queue is stopped when all have ended.
        for job in states():
            on_queue(f"cancel {job}")
        until(lambda: set(states().values()) <= {"cancelled"}, "all jobs are cancelled")
        on_queue("stop")


def on_queue(line: str) -> str:
    """Runs a verb of the queue."""
    verb, _, words = line.partition(" ")
    return shunter(f"queue {verb} --queue ./queue {words}")


def states() -> dict[str, str]:
    """The state of each job of the queue, by its id."""
    return {str(job["id"]): job["state"] for job in json.loads(on_queue("list --all --json"))["jobs"]}


def until(is_so: Callable[[], bool], what: str) -> None:
    """Waits until something is so."""
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < end, f"waited in vain: {what}"
        time.sleep(0.02)


def decided_beside_scheduler(case: Case) -> dict[str, Any]:
    """Returns the last line of the audit of ``shunter operate``, and what the command printed."""
    scheduler = case.words.split()[0]
    programs = Path("programs").absolute()
    if scheduler == "slurm":
        write_slurm(programs, json.loads(Path("slurm-snapshot.json").read_text()))
    else:
        programs = emulated_lsf()
    Path("operate.toml").write_text("\n".join((f'programs = "{programs}"', PATIENT, *case.before)))
    printed = shunter(f"operate {case.words} --once --config operate.toml --state state")
    audit = Path("state/audit.jsonl").read_text().splitlines()
    return {**json.loads(audit[-1]), "printed": printed.replace(f"{programs}/", "")}


def write_slurm(programs: Path, recorded: Mapping[str, Any]) -> None:
    """Writes programs that answer as Slurm's did when the reading was recorded, as if it had been just now."""
    passed_s = int(time.time()) - recorded["now_s"]
    jobs = [
        {name: value + passed_s if name in TIMES else value for name, value in job.items()}
        for job in recorded["squeue"]["jobs"]
    ]
    config = "SelectTypeParameters = CR_CORE\\nPriorityType = priority/multifactor\\n"
    factors = "".join(f"{job['job_id']} 0\\n" for job in jobs if job["job_state"] == "PENDING")
    answers = {
        "squeue": f"cat {programs}/jobs.json",
        "sinfo": f"cat {programs}/nodes.json",
        "sprio": f"printf '{factors}'",
        "scontrol": f"printf '{config}'",
    }
    programs.mkdir()
    (programs / "jobs.json").write_text(json.dumps({"jobs": jobs}))
    (programs / "nodes.json").write_text(json.dumps(recorded["sinfo"]))
    for name, text in answers.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)


def emulated_lsf() -> Path:
    """Makes an LSF in which jobs wait in three queues; returns the folder of its programs."""
    from tests.execution.lsf.emulation import EmulatedLsf

    lsf = EmulatedLsf(Path.cwd())
    lsf.crowd(90, 1, 25)
    lsf.crowd(10, queue="plain")
    lsf.crowd(5, queue="short")
    return lsf.programs


@contextmanager
def service_in(folder: Path) -> Iterator[None]:
    """Runs ``shunter serve`` on a socket in a folder."""
    policies = [word for policy in SERVED for word in ("--policy", policy)]
    command = [sys.executable, "-m", "shunter", "serve", *policies, "--socket", SOCKET, "--deadline", "60s"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    try:
        until(lambda: process.poll() is not None or is_up(folder / SOCKET), "the service starts")
        assert process.poll() is None, (folder / "log").read_text()
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def is_up(path: Path) -> bool:
    """Whether a service answers."""
    try:
        return asked(path, "GET", "/v1/policies")[0] == 200
    except OSError:
        return False


def asked(path: Path, method: str, address: str, body: object = None) -> tuple[int, Any]:
    """Sends one request to a Unix socket; returns status and answer."""
    connection = HTTPConnection("localhost", timeout=PATIENCE_S)
    connection.sock = socket(AF_UNIX)
    try:
        connection.sock.connect(str(path))
        connection.request(method, address, None if body is None else json.dumps(body))
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()
