"""Nobody gets in who should not: token, host, origin, socket, loopback. No token is ever written anywhere."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import re
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shunter.cli import app
from shunter.errors import InputError
from shunter.service.limits import Limits
from shunter.service.running import Address, is_loopback
from shunter.service.tokens import make_token, read_token
from tests.service.talking import TOKEN, Reply, Talk, serving

PATHS = ("/v1/policies", "/v1/decide", "/v1/snapshots", "/metrics", "/docs", "/openapi.json", "/", "/no/such/address")


@pytest.fixture(scope="module")
def port() -> Iterator[Talk]:
    """A service on a port, with a token."""
    with serving(token=TOKEN, limits=Limits(deadline_s=30.0)) as found:
        yield found


def without(talk: Talk) -> Talk:
    """Returns a client that has no token."""
    return Talk(talk.where, talk.service)


def test_all_but_the_health_needs_the_token(port: Talk) -> None:
    for path in PATHS:
        reply = without(port).ask("GET", path)
        assert (reply.status, reply.headers["www-authenticate"]) == (401, "Bearer")
        assert "Authorization: Bearer" in reply.error
    assert without(port).ask("GET", "/healthz").content == {"status": "ok"}
    assert port.ask("GET", "/v1/policies").status == 200


@pytest.mark.parametrize(
    "given",
    ["", "Bearer", "Bearer ", f"Basic {TOKEN.decode()}", f"Bearer {TOKEN.decode()[:-1]}", f"Bearer {TOKEN.decode()}x",
     "Bearer " + "x" * 5000, TOKEN.decode()],
)  # fmt: skip
def test_wrong_tokens(port: Talk, given: str) -> None:
    assert without(port).ask("GET", "/v1/policies", Authorization=given).status == 401


def test_tokens_in_addresses_do_not_count(port: Talk) -> None:
    assert without(port).ask("GET", f"/v1/policies?token={TOKEN.decode()}").status == 401


def test_a_large_body_of_somebody_unknown_is_not_read(port: Talk) -> None:
    told = port.raw(
        b"POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000000\r\nConnection: close\r\n\r\n"
    )
    assert told.startswith(b"HTTP/1.1 401 "), "it is refused before a byte of the body has come"


def test_host_and_origin_are_checked(port: Talk) -> None:
    def ask(**headers: str) -> Reply:
        return port.ask("GET", "/v1/policies", **headers)

    for host in ("localhost", f"localhost:{port.where}", "127.0.0.1:80", "[::1]:80", "LOCALHOST"):
        assert ask(Host=host).status == 200, host
    for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "evil.example:80", "10.0.0.1"):
        reply = ask(Host=host)
        assert (reply.status, "--allow-host NAME" in reply.error) == (421, True), host
    assert ask(Host="localhost:5", Origin="http://localhost:5").status == 200
    for origin in ("http://evil.example", "null", "http://localhost:6", "http://localhost", "https://localhost:5.evil"):
        reply = ask(Host="localhost:5", Origin=origin)
        assert (reply.status, "another origin" in reply.error) == (403, True)
    assert not any(name.startswith("access-control") for name in ask().headers), "no other page is let in"


def test_headers_that_are_given_twice_are_refused(port: Talk) -> None:
    for name in (b"Host: localhost", b"Authorization: Bearer " + TOKEN, b"Origin: http://localhost"):
        told = port.raw(
            b"GET /v1/policies HTTP/1.1\r\nHost: localhost\r\n" + (name + b"\r\n") * 2 + b"Connection: close\r\n\r\n"
        )
        assert told.startswith(b"HTTP/1.1 400 ")


def test_what_a_proxy_says_of_a_client_does_not_count(port: Talk) -> None:
    headers = {"X-Forwarded-Host": "localhost", "Forwarded": "host=localhost", "Host": "evil.example"}
    assert port.ask("GET", "/v1/policies", **headers).status == 421


def test_another_name_can_be_allowed(tmp_path: Path) -> None:
    with serving(socket_path=tmp_path / "s", hosts=("localhost", "decide.example")) as talk:
        assert talk.ask("GET", "/v1/policies", Host="decide.example").status == 200
        assert talk.ask("GET", "/v1/policies", Host="other.example").status == 421


def test_a_socket_is_the_owners_alone_unless_told_otherwise(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        for mode in (0o600, 0o660):
            path = tmp_path / f"s{mode:o}"
            with Address(path, mode).open():
                assert stat.S_IMODE(path.stat().st_mode) == mode
    finally:
        os.umask(before)
    with pytest.raises(InputError, match="all may open the socket"):
        Address(tmp_path / "s", 0o666).check(has_token=False, beyond_loopback=False)


def test_a_socket_that_is_left_over_is_replaced_and_one_in_use_is_not(tmp_path: Path) -> None:
    path = tmp_path / "s"
    Address(path).open().close()
    with Address(path).open(), pytest.raises(InputError, match="listens there already"):
        Address(path).open()
    (tmp_path / "file").write_text("precious")
    with pytest.raises(InputError, match="no socket"):
        Address(tmp_path / "file").open()
    assert (tmp_path / "file").read_text() == "precious"


def test_a_port_needs_a_token_and_stays_on_loopback(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="give --token-file"):
        Address(port=0).check(has_token=False, beyond_loopback=False)
    for host in ("0.0.0.0", "::", "192.0.2.1"):
        assert not is_loopback(host)
        with pytest.raises(InputError, match="add --beyond-loopback"):
            Address(host=host).check(has_token=True, beyond_loopback=False)
        Address(host=host).check(has_token=True, beyond_loopback=True)
    for host in ("127.0.0.1", "::1", "localhost"):
        Address(host=host).check(has_token=True, beyond_loopback=False)
    with Address().open() as opened:
        assert opened.getsockname()[0] == "127.0.0.1"
    with pytest.raises(InputError, match="no host"):
        Address(host="no.such.host.invalid").check(has_token=True, beyond_loopback=False)


def test_token_files(tmp_path: Path) -> None:
    file = tmp_path / "token"
    make_token(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    token = read_token(file)
    assert len(token) == 43
    assert token.decode() == file.read_text().strip()
    with pytest.raises(InputError, match="is there already"):
        make_token(file)
    for mode in (0o640, 0o604, 0o620, 0o666):
        file.chmod(mode)
        with pytest.raises(InputError, match="chmod 600"):
            read_token(file)
    file.chmod(0o600)
    for text in ("short", "", "blank in the middle of a token that is long enough", "é" * 40):
        file.write_text(text)
        with pytest.raises(InputError, match="holds no token"):
            read_token(file)
    with pytest.raises(InputError, match="--new-token"):
        read_token(tmp_path / "none")
    (tmp_path / "link").symlink_to(tmp_path / "aim")
    with pytest.raises(InputError):
        make_token(tmp_path / "link")
    assert not (tmp_path / "aim").exists()


def test_a_token_that_cannot_be_written_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, full = tmp_path / "token", os.open("/dev/full", os.O_WRONLY)
    real = os.open

    def on_full_disk(path: Path, flags: int, mode: int) -> int:
        os.close(real(path, flags, mode))
        return full

    monkeypatch.setattr(os, "open", on_full_disk)
    with pytest.raises(InputError, match=r"token: cannot be written \(No space left on device\); make room"):
        make_token(file)
    assert not file.exists()


def test_a_token_is_in_no_line_of_any_log(state: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    loggers = [logging.getLogger(name) for name in ("", "uvicorn", "uvicorn.error", "uvicorn.access", "shunter.serve")]
    for logger in loggers:
        logger.addHandler(handler)
        monkeypatch.setattr(logger, "level", logging.DEBUG)
    secret = TOKEN.decode()
    try:
        with serving(token=TOKEN, logs_requests=True) as talk:
            assert talk.decide(state)["by"] == "sjf"
            for path in (f"/v1/{secret}", f"/v1/snapshots/{secret}?token={secret}", f"/{secret}"):
                talk.ask("GET", path)
                without(talk).ask("GET", path, Authorization=f"Bearer {secret}x")
            talk.post("/v1/decide", {"policy": secret, "snapshot": secret})
            talk.ask("PUT", f"/v1/snapshots/{secret}", b"{")
            talk.raw(f"GET /{secret} HTTP/1.1\r\nAuthorization: Bearer {secret}\r\nbroken\r\n\r\n".encode())
            monkeypatch.setattr(talk.service, "eta", lambda content: 1 / 0)
            assert talk.post("/v1/eta", {"policy": secret}).status == 500
            numbers = talk.ask("GET", "/metrics").body.decode()
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
    text = written.getvalue()
    assert "POST /v1/decide 200" in text
    assert "ZeroDivisionError" in text, "faults are in the log"
    assert secret not in text
    assert secret not in numbers


def test_metrics_name_no_user_and_no_job(port: Talk, state: dict[str, Any]) -> None:
    jobs = [{**job, "user": "ann-of-physics", "job_id": 700_000 + job["job_id"]} for job in state["jobs"]]
    assert port.decide({**state, "jobs": jobs})["by"] == "sjf"
    text = port.ask("GET", "/metrics").body.decode()
    assert "ann-of-physics" not in text
    assert "70000" not in re.sub(r"\S+$", "", text, flags=re.M)
    labels = set(re.findall(r'(\w+)="', text))
    assert labels <= {"policy", "reason", "route", "status", "sha256", "le", "result"} | {
        "implementation", "major", "minor", "patchlevel", "version",
    }  # fmt: skip
    for name in (
        "decision_seconds_bucket", "requests_total", "disagreement", 'waiting{policy="sjf",reason="no_room"} 3.0',
        "policy_info", "breakers_open 0.0", "snapshots 0.0", "under_way 0.0",
    ):  # fmt: skip
        assert f"shunter_serve_{name}" in text, name
    assert "process_resident_memory_bytes" in text


def ended(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[Any, str]:
    """Returns the code and the one line with which a command line ends."""
    with pytest.raises(SystemExit) as end:
        app(["serve", *words])
    told = capsys.readouterr()
    return end.value.code, told.err or told.out


def test_command_lines_that_would_let_others_in_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "token"
    assert ended(["--new-token", str(file)], capsys) == (0, f"A new token is in {file}; only you may read it.\n")
    for words, said in (
        (["--port", "0"], "give --token-file"),
        (["--port", "0", "--host", "0.0.0.0", "--token-file", str(file)], "--beyond-loopback"),
        (["--socket", str(tmp_path / "s"), "--socket-mode", "666"], "--token-file"),
        (["--socket", str(tmp_path / "s"), "--socket-mode", "rw"], "no mode of a socket"),
        (["--socket", str(tmp_path / "s"), "--port", "0", "--token-file", str(file)], "both --socket and --port"),
        (["--port", "99999", "--token-file", str(file)], "--port is 99999; expected a whole number from 0 to 65535"),
        (["--port", "-1", "--token-file", str(file)], "--port is -1; expected a whole number from 0 to 65535"),
        (["--policy", "sjf"], "write NAME="),
        (["--policy", "../x=sjf"], "write NAME="),
        (["--policy", "a=sjf", "--policy", "a=fcfs"], "given twice"),
        (["--policy", "a=sfj"], "did you mean 'sjf'?"),
        (["--policy", "a=srtf"], "stops running jobs"),
        (["--fallback", "nobody"], "unknown fallback"),
        (["--deadline", "-1"], "deadline_s is -1"),
        (["--log", "a=/no/such/log"], "no such"),
        (["--cluster", "a=nowhere"], "unknown cluster"),
    ):
        code, line = ended(
            [*words, *([] if "--socket" in words or "--port" in words else ["--socket", str(tmp_path / "s")])], capsys
        )
        assert code == 2
        assert said in line, (words, line)
        assert file.read_text().strip() not in line
    assert not (tmp_path / "s").exists()


def test_a_process_serves_and_goes_without_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "s"
    words = [sys.executable, "-m", "shunter", "serve", "--policy", "sjf=sjf", "--socket", str(path), "--log-requests"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == f"Serving sjf at unix:{path}\n"
        talk = Talk(path, None)  # type: ignore[arg-type]
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                if talk.is_alive():
                    break
            except OSError:
                time.sleep(0.05)
        assert talk.ask("GET", "/v1/policies").content["policies"][0]["name"] == "sjf"
        inodes = set()
        for one in Path(f"/proc/{process.pid}/fd").iterdir():
            # A connection that has just been answered may close meanwhile.
            with contextlib.suppress(FileNotFoundError):
                inodes.add(os.readlink(one))
        listening = [line.split() for line in Path(f"/proc/{process.pid}/net/tcp").read_text().splitlines()[1:]]
        assert not [one for one in listening if f"socket:[{one[9]}]" in inodes], "no port is open"
    finally:
        process.terminate()
        _, told = process.communicate(timeout=60)
    assert process.returncode == 0, told
    assert not path.exists()
    assert "GET /v1/policies 200" in told
    with socket.socket(socket.AF_UNIX) as gone, pytest.raises(FileNotFoundError):
        gone.connect(str(path))
