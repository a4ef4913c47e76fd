"""Who gets to the live page, and what its files may do."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from shunter.service.live.hub import Hub
from shunter.service.live.sessions import Sessions
from shunter.service.routes.live import pages
from tests.service.live.made import Made, listening
from tests.service.talking import TOKEN, Reply, Talk, serving

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    """A client without a token of a service that needs one."""
    path = Path(tmp_path_factory.mktemp("live")) / "s"
    with serving(socket_path=path, token=TOKEN, hub=Hub([Made()])) as talk:
        talk.token = None
        yield talk


def sign_in(talk: Talk, **headers: str) -> Reply:
    """Trades the token for a cookie."""
    return talk.ask("POST", "/live/session", Authorization=f"Bearer {TOKEN.decode()}", **headers)


def cookie_of(reply: Reply) -> str:
    """Returns the cookie as a browser sends it."""
    return reply.headers["set-cookie"].partition(";")[0]


def test_the_page_and_its_files_are_open_and_hold_no_secret(guarded: Talk) -> None:
    page = guarded.ask("GET", "/live")
    assert page.status == 200
    assert TOKEN not in page.body
    for name in pages():
        reply = guarded.ask("GET", f"/live/assets/{name}")
        assert reply.status == 200, name
        assert reply.headers["content-security-policy"] == POLICY
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["referrer-policy"] == "no-referrer"
    assert page.headers["content-security-policy"] == POLICY


def test_the_page_has_nothing_inline_and_asks_nobody_else() -> None:
    html = pages()["index.html"].decode()
    assert "<script>" not in html
    assert "style=" not in html
    assert " on" not in html.replace(" only", "").split("<body>")[1].split("<noscript>")[0].replace(" once", "")
    for name, content in pages().items():
        text = content.decode()
        assert "http://" not in text.replace("http://www.w3.org/2000/svg", ""), name
        assert "https://" not in text, name
        if name.endswith(".js"):
            assert "innerHTML" not in text, name
            assert "insertAdjacentHTML" not in text, name
            assert "eval(" not in text, name


@pytest.mark.parametrize(
    "name",
    ["../index.html", "..%2Findex.html", "%2e%2e/serve.py", "nothing.js", "index.html%00", "page.html", "parts.html"],
)
def test_no_other_file_is_served(guarded: Talk, name: str) -> None:
    assert guarded.ask("GET", f"/live/assets/{name}").status == 404


@pytest.mark.parametrize(("method", "path"), [("GET", "/live/events"), ("GET", "/live/session"), ("POST", "/live/ask")])
def test_everything_else_needs_the_token_or_the_cookie(guarded: Talk, method: str, path: str) -> None:
    assert guarded.ask(method, path).status == 401
    assert guarded.ask(method, path, Authorization="Bearer wrong").status == 401
    assert guarded.ask(method, path, Cookie="shunter=1.2").status == 401


def test_the_token_buys_a_cookie_that_scripts_cannot_read_and_that_counts_here_alone(guarded: Talk) -> None:
    reply = sign_in(guarded)
    assert reply.status == 200
    given = reply.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Strict", "Path=/live"} <= set(given.split("; "))
    assert TOKEN.decode() not in given
    assert "Secure" not in given
    assert "Secure" in sign_in(guarded, Origin="https://localhost").headers["set-cookie"].split("; ")
    cookie = cookie_of(reply)
    assert guarded.ask("GET", "/live/session", Cookie=cookie).status == 200
    with listening(guarded, Cookie=cookie) as stream:
        assert stream.next().name == "hello"
    for path in ("/v1/policies", "/metrics", "/livelier", "/"):
        assert guarded.ask("GET", path, Cookie=cookie).status == 401, path


def test_a_cookie_that_is_over_or_changed_lets_nobody_in(guarded: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    cookie = cookie_of(sign_in(guarded))
    name, _, value = cookie.partition("=")
    until, _, code = value.partition(".")
    wrong = [f"{int(until) + 1}.{code}", f"{until}.{code[:-1]}{'0' if code[-1] != '0' else '1'}", until, f"{until}.",
             f"{until}.{'é' * 64}", f"-1.{code}", f"{'9' * 400}.{code}", f"१.{code}"]  # fmt: skip
    sessions = Sessions(TOKEN)
    assert sessions.holds(cookie.encode())
    for one in wrong:
        assert not sessions.holds(f"{name}={one}".encode()), one
    assert not sessions.holds(b"shunter\x00=;;=\xff")
    assert not Sessions(b"another-token-of-thirty-two-signs-or-more").holds(cookie.encode())
    monkeypatch.setattr(time, "time", lambda: float(until) + 1)
    assert not sessions.holds(cookie.encode())


def test_signing_out_takes_the_cookie_away(guarded: Talk) -> None:
    cookie = cookie_of(sign_in(guarded))
    assert "Max-Age=0" in guarded.ask("DELETE", "/live/session", Cookie=cookie).headers["set-cookie"]


def test_pages_of_others_and_other_hosts_stay_out_also_with_the_cookie(guarded: Talk) -> None:
    cookie = cookie_of(sign_in(guarded))
    for method, path in (("GET", "/live/events"), ("POST", "/live/ask"), ("POST", "/live/session")):
        assert guarded.ask(method, path, Cookie=cookie, Origin="http://evil.example").status == 403
        assert guarded.ask(method, path, Cookie=cookie, Host="evil.example").status == 421
    assert guarded.raw(b"GET /live/session HTTP/1.1\r\nHost: localhost\r\nCookie: a=b\r\nCookie: c=d\r\n"
                       b"Connection: close\r\n\r\n").startswith(b"HTTP/1.1 400")  # fmt: skip


def test_a_question_names_a_source_and_nothing_else(tmp_path: Path) -> None:
    source = Made()
    with serving(socket_path=tmp_path / "s", hub=Hub([source])) as talk:
        good = talk.post("/live/ask", {"source": "made", "question": {"nodes": 3}})
        assert good.content["answer"]["title"] == "The answer"
        assert source.asked == [{"nodes": 3}]
        for content in ({}, {"source": "other", "question": {}}, {"source": ["made"], "question": {}},
                        {"source": "made"}, {"source": "made", "question": "what?"}):  # fmt: skip
            assert talk.post("/live/ask", content).status == 404, content
        assert talk.ask("POST", "/live/ask", b"no json").status == 400
        assert len(source.asked) == 1
