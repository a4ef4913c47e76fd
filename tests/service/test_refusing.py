"""What is malformed, huge, slow or unknown is refused with one line in JSON, and the service goes on."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shunter.service.limits import Limits
from shunter.service.refusals import MOST_WORDS
from tests.service.talking import Talk, connected, serving, until_closed


@pytest.fixture(scope="module")
def tight(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    """A service with little patience."""
    limits = Limits(
        deadline_s=30.0, body_mb=0.01, head_s=0.3, body_s=0.3, idle_s=0.3, connections=8, in_line=0, threads=1
    )
    with serving(limits=limits, socket_path=Path(tmp_path_factory.mktemp("tight")) / "s") as found:
        yield found


def refused(talk: Talk, status: int, content: Any, path: str = "/v1/decide", method: str = "POST") -> str:  # noqa: ANN401
    """Returns the message of a refusal, having seen that the service goes on."""
    reply = talk.ask(method, path, content)
    assert reply.status == status, reply.body
    assert reply.headers["content-type"] == "application/json"
    assert talk.is_alive()
    return reply.error


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "is not JSON"),
        (b"{", "is not JSON"),
        (b"\xff\xfe", "is not JSON"),
        (b"[1, 2]", "is a list; expected an object"),
        (b'"now"', "is a str; expected an object"),
        (b'{"policy": "sjf", "snapshot": NaN}', "NaN is no number"),
        (b'{"policy": "sjf", "snapshot": -Infinity}', "-Infinity is no number"),
        (rb'{"policy": "\ud800", "snapshot": "now"}', r"a text holds '\ud800', which is no sign"),
        (rb'{"policy": "sjf", "snapshot": {"\udfff": 1}}', r"a text holds '\udfff', which is no sign"),
        (b'{"policy": "\xed\xa0\x80", "snapshot": "now"}', "is not JSON"),
        (b'{"policy": 7, "snapshot": "now"}', "policy is 7; expected text"),
        (b'{"policy": null, "snapshot": "now"}', "policy is None; expected text"),
        (b'{"policy": "sjf"}', "snapshot is missing"),
        (b'{"policy": "sjf", "snapshot": 5}', "is no object"),
        (b'{"policy": "sjf", "snapshot": []}', "is no object"),
        (b'{"polcy": "sjf", "snapshot": "now"}', "did you mean 'policy'?"),
        (b'{"xyz": 1}', "request: unknown field 'xyz'; the known ones are policy, snapshot"),
        (b'{"policy": "sjf", "snapshot": {}}', "is no state of a queue"),
        (b'{"policy": "sjf", "snapshot": {"schema": "shunter.state/2"}}', "this version reads 'shunter.state/1'"),
        (b'{"policy": "sjf", "snapshot": {"format": 7}}', "unknown format"),
        (b'{"policy": "sjf", "snapshot": {"format": "slurm"}}', "squeue is missing"),
        (b'{"policy": "sjf", "snapshot": {"format": "slurm", "squeue": 1, "sinfo": {}}}', "are the objects"),
        (b'{"policy": "sjf", "snapshot": {"format": "slurm", "squeue": {}, "sinfo": {}}}', "tells of no jobs"),
        (b'{"policy": "sjf", "snapshot": {"format": "slurm-text", "squeue": "x", "sinfo": "y"}}', "squeue printed 'x'"),
    ],
)
def test_malformed_bodies(talk: Talk, body: bytes, said: str) -> None:
    assert said in refused(talk, 400, body)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"now_s": "soon"}, "now_s is 'soon'"),
        ({"now_s": 1e400}, "is not JSON"),
        ({"jobs": {}}, "jobs is not a list"),
        ({"jobs": [{"submit_s": 0, "state": "sleeping"}]}, "unknown state 'sleeping'"),
        ({"jobs": [{"submit_s": 0, "state": ["waiting"]}]}, "unknown state"),
        ({"jobs": [{"submit_s": 0, "state": "waiting", "tasks": 1.5}]}, "tasks"),
        ({"jobs": [{"submit_s": 0, "state": "waiting", "tasks": -3}]}, "tasks"),
        ({"jobs": [{"submit_s": 0, "state": "waiting", "tasks": "2"}]}, "job 1: tasks is '2'; expected a number"),
        ({"jobs": [{"submit_s": 0, "state": "waiting", "tasks": True}]}, "job 1: tasks is True; expected a number"),
        ({"jobs": [{"submit_s": 0, "state": "waiting", "nodes": -3}]}, "job 1: nodes is -3; expected"),
        ({"jobs": [{"submit_s": 0, "state": "waiting", "requested_s": "1e999"}]}, "requested_s"),
        ({"jobs": [{"submit_s": 0, "state": "waiting", "cores_per_task": {"a": 1}}]}, "cores_per_task"),
        (
            {"jobs": [{"submit_s": 0, "state": "running", "start_s": 0, "placed": [[5, 1]]}]},
            "snapshot: job 1 runs on nodes or devices that do not match what it asks for; check its placed",
        ),
        (
            {"jobs": [{"job_id": 70, "submit_s": 0, "state": "running", "start_s": 0, "placed": [[0, 9]], "tasks": 9}]},
            "snapshot: job 70 runs on nodes that do not have room for it; check placed of all that run there",
        ),
        ({"jobs": [{"submit_s": 0, "state": "running", "start_s": 0, "placed": [[0]]}]}, "pairs"),
        ({"down": [9]}, "down is 9"),
        ({"stops": [{"job": 77}]}, "stops"),
        ({"cluster": 8}, "cluster is not text"),
        ({"cluster": "0"}, "cluster"),
        ({"user": "ann"}, "unknown field 'user'"),
    ],
)
def test_states_that_cannot_be(talk: Talk, state: dict[str, Any], change: dict[str, Any], said: str) -> None:
    body = json.dumps({"policy": "sjf", "snapshot": {**state, **change}}).replace("Infinity", "1e999x")
    told = refused(talk, 400, body.encode())
    assert said in told


def test_numbers_beyond_all_bounds_are_no_numbers(talk: Talk, state: dict[str, Any]) -> None:
    for name in ("requested_s", "submit_s", "memory_mb_per_task", "priority"):
        jobs = [*state["jobs"][:-1], {**state["jobs"][-1], name: "HUGE"}]
        text = json.dumps({"policy": "sjf", "snapshot": {**state, "jobs": jobs}}).replace('"HUGE"', "1e999")
        assert name in refused(talk, 400, text.encode())


@pytest.mark.parametrize("where", ["snapshot", "policy"])
def test_deep_nesting(talk: Talk, where: str) -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    body = b'{"policy": "sjf", "' + where.encode() + b'": ' + deep + b"}"
    assert "is not JSON" in refused(talk, 400, body)


@pytest.mark.parametrize(
    "spec",
    ["/etc/passwd", "/etc/shadow", "../../etc/passwd", "file.toml", "/dev/zero", "http://a.example/x", "generate:eda",
     'speeds = "/etc/passwd"\n[[nodes]]\ncores = 1\ngpus = 1\ngpu_type = "a"\n'],
)  # fmt: skip
def test_no_text_of_a_snapshot_is_a_path(talk: Talk, state: dict[str, Any], spec: str) -> None:
    told = refused(talk, 400, {"policy": "sjf", "snapshot": {**state, "cluster": spec}})
    assert "root:" not in told
    assert "unknown cluster" in told or "which is not read from here" in told


def test_no_text_of_a_request_names_a_policy_that_was_not_loaded(
    talk: Talk, state: dict[str, Any], tmp_path: Path
) -> None:
    trap = tmp_path / "trap.py"
    trap.write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')\n")
    for text in ("ljf", str(trap), f"{trap}:Trap", "/etc/passwd", "sjf?x=1", "sjf\x00", "", "a" * 3000):
        assert "there is no policy" in refused(talk, 404, {"policy": text, "snapshot": state})
    settings = {"policy": str(trap), "placement": str(trap)}
    assert talk.decide({**state, "settings": settings})["by"] == "sjf", "settings of a snapshot are not looked at"
    assert talk.post("/v1/eta", {"policy": "sjf", "snapshot": {**state, "settings": settings}}).status == 200
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("name", ["..", "a/b", "a%2Fb", ".hidden", "a" * 65, "a b", "a%00b", "%2e%2e%2fetc"])
def test_names_of_snapshots(talk: Talk, state: dict[str, Any], name: str) -> None:
    reply = talk.ask("PUT", f"/v1/snapshots/{name.replace(' ', '%20')}", state)
    assert reply.status in (400, 404, 405)
    assert reply.error
    assert talk.ask("GET", "/v1/snapshots").content == {"snapshots": []}


@pytest.mark.parametrize("path", ["/", "/docs"])
def test_pages_need_no_others(talk: Talk, path: str) -> None:
    assert talk.ask("GET", path).status == 200


@pytest.mark.parametrize(
    "path", ["/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/v1", "/v1/decide/", "/redoc",
             "/v1/snapshots/../policies", "/healthz/../v1/policies"],
)  # fmt: skip
def test_addresses_that_there_are_not(talk: Talk, path: str) -> None:
    assert "nothing at this address" in refused(talk, 404, None, path, "GET")


def test_the_wrong_method(talk: Talk) -> None:
    assert "another method: POST" in refused(talk, 405, None, "/v1/decide", "GET")
    assert talk.ask("GET", "/v1/snapshots/now").headers["allow"] == "DELETE, PUT"
    assert talk.ask("POST", "/healthz").headers["allow"] == "GET, HEAD"
    health = talk.ask("HEAD", "/healthz")
    assert (health.status, health.body) == (200, b"")


def test_a_message_is_never_as_long_as_a_request(talk: Talk) -> None:
    told = refused(talk, 400, {"policy": "sjf", "snapshot": {"format": "x" * 100_000}})
    assert len(told) <= MOST_WORDS + 2
    told = refused(talk, 400, {"policy": "sjf", "snapshot": {"format": "\x1b[2J\n\u202e"}})
    assert "\x1b" not in told


def test_what_is_asked_for_is_bounded(talk: Talk, state: dict[str, Any]) -> None:
    for change, said in (
        ({"futures": 10**9}, "futures"),
        ({"futures": 0}, "futures"),
        ({"futures": True}, "futures"),
        ({"horizon_days": 1e9}, "horizon_days"),
        ({"seed": -1}, "seed"),
        ({"new": {"time_s": -5}}, "time"),
        ({"new": {"time_s": "soon"}}, "time_s"),
        ({"new": []}, "new"),
        ({"new": {"time_s": 5, "cores": 10**6}}, "can never run"),
        ({"at_s": 5}, "go with a log"),
    ):
        assert said in refused(talk, 400, {"policy": "sjf", "snapshot": state, **change}, "/v1/eta")
    assert "job is missing" in refused(talk, 400, {"policy": "sjf", "snapshot": state}, "/v1/explain")
    assert "top" in refused(talk, 400, {"policy": "sjf", "snapshot": state, "job": 1, "top": 0}, "/v1/explain")


def test_huge_bodies_are_refused_by_what_they_say_and_by_what_comes(tight: Talk) -> None:
    assert "more than 0.01 MB" in refused(tight, 413, b"x" * 10_001)
    # One that comes in pieces does not say how long it is.
    piece = b"1000\r\n" + b"x" * 0x1000 + b"\r\n"
    told = tight.raw(b"POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + piece * 3)
    assert told.startswith(b"HTTP/1.1 413 ")
    for length in (b"99999999999999999999999999", b"-5", b"5, 5", b"0x10"):
        told = tight.raw(b"POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + length + b"\r\n\r\n")
        assert told[9:12] in (b"400", b"413"), told
    assert tight.is_alive()


@pytest.mark.parametrize(
    "sent",
    [
        b"nonsense\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
)
def test_what_is_no_http(tight: Talk, sent: bytes) -> None:
    told = tight.raw(sent)
    assert told[9:12] in (b"400", b"408"), told
    assert b'{"error":{' in told
    assert tight.is_alive()


def test_a_head_that_never_ends_is_cut_off(tight: Talk) -> None:
    told = tight.raw(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 20_000)
    assert b" 431 " in told.splitlines()[0]
    assert tight.is_alive()


@pytest.mark.parametrize("body", [b"", b"{}"])
def test_a_head_that_is_too_long_in_one_piece_is_refused(tight: Talk, body: bytes) -> None:
    head = b"POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\nX: " % len(body)
    told = tight.raw(head + b"y" * 40_000 + b"\r\n\r\n" + body)
    assert b" 431 " in told.splitlines()[0]
    assert told.count(b"HTTP/1.1") == 1
    assert tight.is_alive()


@pytest.mark.parametrize(
    "begun", [b"", b"GET /healthz HTTP/1.1\r\nHost: loc", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"]
)
def test_whoever_takes_long_to_ask_is_not_waited_for(tight: Talk, begun: bytes) -> None:
    told = tight.raw(begun)
    assert told.startswith(b"HTTP/1.1 408 ")
    assert b"the head of the request did not come within 0.3 s" in told


def test_whoever_takes_long_to_send_a_body_is_not_waited_for(tight: Talk) -> None:
    told = tight.raw(b'POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"snapshot"')
    assert told.startswith(b"HTTP/1.1 408 ")
    assert tight.is_alive()


def test_slow_clients_do_not_keep_others_out(tight: Talk) -> None:
    slow = [connected(tight.where) for _ in range(6)]
    for one in slow:
        one.sendall(b"GET /healthz HTTP/1.1\r\n")
    assert tight.is_alive(), "while they are slow"
    assert all(until_closed(one).startswith(b"HTTP/1.1 408 ") for one in slow)
    for one in slow:
        one.close()
    with connected(tight.where) as idle:
        idle.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert until_closed(idle).startswith(b"HTTP/1.1 200 "), "and an idle connection is closed"


def test_connections_are_counted(tight: Talk) -> None:
    others = [connected(tight.where) for _ in range(8)]
    for one in others:
        one.sendall(b"G")
    with connected(tight.where) as late:
        assert b"there are 8 connections already" in until_closed(late)
    for one in others:
        until_closed(one)
        one.close()
    assert tight.is_alive()


def test_too_much_work_is_refused_and_the_loop_goes_on(tight: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    gate, begun = threading.Event(), threading.Event()

    def slow(content: object) -> dict[str, Any]:
        begun.set()
        gate.wait(20)
        return {}

    monkeypatch.setattr(tight.service, "explain", slow)
    first = threading.Thread(target=lambda: tight.post("/v1/explain", {"job": 1}))
    first.start()
    assert begun.wait(20)
    assert "ask again" in refused(tight, 503, {"job": 1}, "/v1/explain")
    gate.set()
    first.join()
    assert tight.post("/v1/explain", {"job": 1}).status == 200


def test_an_answer_that_takes_too_long_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    with serving(limits=Limits(answer_s=0.2, threads=1, in_line=0), socket_path=tmp_path / "s") as talk:
        monkeypatch.setattr(talk.service, "eta", lambda content: gate.wait(20))
        assert "no answer after 0.2 s" in refused(talk, 504, {}, "/v1/eta")
        assert "ask again" in refused(talk, 503, {}, "/v1/eta"), "the thread is still busy"
        gate.set()


def test_more_requests_than_allowed(tmp_path: Path) -> None:
    with serving(limits=Limits(rate=3, deadline_s=30.0), socket_path=tmp_path / "s") as talk:
        replies = [talk.ask("GET", "/v1/policies") for _ in range(40)]
        assert {200, 429} == {reply.status for reply in replies}
        assert [reply.status for reply in replies[:3]] == [200, 200, 200]
        assert {reply.headers.get("retry-after") for reply in replies} == {None, "1"}
        assert talk.is_alive(), "whether the service is there can always be asked"


def test_a_fault_of_ours_tells_nothing_of_the_inside(
    talk: Talk, monkeypatch: pytest.MonkeyPatch, state: dict[str, Any]
) -> None:
    def broken(content: object) -> None:
        raise KeyError("the secret of the house")

    monkeypatch.setattr(talk.service, "eta", broken)
    told = refused(talk, 500, {}, "/v1/eta")
    assert "secret" not in told
    assert "KeyError" in told
