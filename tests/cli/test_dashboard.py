"""``shunter dashboard``: what it shows by itself, what it prints, and what it refuses."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys
import webbrowser
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest

from shunter.cli.dashboard import open_browser
from shunter.cli.live_options import usual_sources
from tests.cli.conftest import Command

LINK = re.compile(r"http://127\.0\.0\.1:(\d+)/live(?:#(\S+))?")


@contextmanager
def showing(folder: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Yields a dashboard as a process, and what it has printed."""
    environment = {**os.environ, "XDG_DATA_HOME": str(folder / "data"), "XDG_STATE_HOME": str(folder / "state")}
    environment.pop("SHUNTER_QUEUE", None)
    process = subprocess.Popen(
        [sys.executable, "-m", "shunter", "dashboard", *words],
        cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        said = ""
        while not LINK.search(said) and (line := process.stdout.readline()):
            said += line
        yield process, said
    finally:
        process.kill()
        process.communicate()


def asked(port: int, path: str, token: str = "") -> tuple[int, str]:
    """Returns what a dashboard answers."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with closing(HTTPConnection("127.0.0.1", port, timeout=20)) as connection:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


def test_it_prints_a_link_that_lets_in_and_writes_the_token_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    with showing(tmp_path) as (process, said):
        assert "Showing runs" in said
        match = LINK.search(said)
        assert match is not None
        port, token = int(match[1]), match[2]
        assert len(token) >= 32
        assert asked(port, "/live")[0] == 200
        assert asked(port, "/live/session")[0] == 401
        assert asked(port, "/live/session", token)[0] == 200
        status, policies = asked(port, "/v1/policies", token)
        assert status == 200
        assert [one["name"] for one in json.loads(policies)["policies"]] == ["fcfs", "sjf", "saf", "wfp3", "unicef"]
        process.send_signal(signal.SIGTERM)
        rest, errors = process.communicate(timeout=30)
        assert process.returncode == 0
        assert token not in rest + errors


def test_with_a_token_file_the_token_is_not_printed(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "token").write_text("t" * 40)
    (tmp_path / "token").chmod(0o600)
    with showing(tmp_path, "--token-file", "token", "--runs", "runs") as (process, said):
        assert process.stdout is not None
        said += process.stdout.readline()
        assert "t" * 40 not in said
        assert "sign in with the token in token" in said
        match = LINK.search(said)
        assert match is not None
        assert match[2] is None
        assert asked(int(match[1]), "/live/session", "t" * 40)[0] == 200


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "there is no queue, operation or folder runs/ to show; name one"),
        (["--runs", "none"], "--runs none: there is no such folder"),
        (["--training", "none"], "--training none: there is no such folder"),
        (["--operate", "none"], "--operate none: there is no such folder"),
        (["--queue", "./none"], "--queue ./none: there is none at"),
        (["--runs", ".", "--port", "70000"], "--port"),
        (["--runs", ".", "--token-file", "none"], "none: the token cannot be read"),
        (["--runs", ".", "--policy", "sjf"], "--policy is 'sjf'; write NAME=..."),
        (["--log", "log"], "--log is 'log'; write NAME=..."),
    ],
)
def test_what_cannot_be_shown_is_one_clear_line(
    shunter: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.delenv("SHUNTER_QUEUE", raising=False)
    assert said in shunter("dashboard", *words).error()


def test_it_finds_what_is_where_it_usually_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("SHUNTER_QUEUE", raising=False)
    assert usual_sources().is_empty
    queue = tmp_path / "data" / "shunter" / "queues" / "default"
    queue.mkdir(parents=True)
    (queue / "queue.sqlite").touch()
    operation = tmp_path / "state" / "shunter" / "operate-lsf"
    operation.mkdir(parents=True)
    (tmp_path / "runs").mkdir()
    found = usual_sources()
    assert (found.queue, found.operate, found.runs) == (["default"], [str(operation)], ["runs"])


def test_the_browser_is_given_a_file_that_only_its_owner_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or True)
    page = tmp_path / "open.html"
    open_browser(page, "http://127.0.0.1:1/live#secret&more")
    assert opened == [page.as_uri()]
    assert "secret" not in opened[0]
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert 'url=http://127.0.0.1:1/live#secret&amp;more"' in page.read_text()
