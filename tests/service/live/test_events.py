"""The stream of events: full state, changes, resuming, slow viewers, trouble of sources, and the end."""

from __future__ import annotations

import socket
import time
from contextlib import ExitStack
from pathlib import Path

from shunter.service.limits import Limits
from shunter.service.live.hub import Hub
from shunter.service.live.panels import Fact, facts
from shunter.service.live.sources import Panels
from tests.service.live.made import Made, listening, wait_until
from tests.service.talking import TOKEN, serving


def test_a_viewer_is_told_the_sources_then_everything_and_then_what_changes(tmp_path: Path) -> None:
    source = Made()
    source.show(one=1, two=2)
    with serving(socket_path=tmp_path / "s", hub=Hub([source])) as talk, listening(talk) as stream:
        assert stream.status == 200
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert stream.headers["cache-control"] == "no-store"
        hello = stream.next()
        assert hello.name == "hello"
        assert hello.content["sources"] == [{"name": "made", "kind": "made"}]
        assert abs(hello.content["now_s"] - time.time()) < 60
        assert (stream.value("one"), stream.value("two")) == (1, 2)
        source.show(one=1, two=3)
        changed = stream.next()
        assert (changed.name, changed.content["source"], changed.content["key"]) == ("panel", "made", "two")
        source.show(one=1)
        assert stream.panel("two") is None


def test_a_source_is_read_once_for_all_and_not_at_all_while_nobody_looks(tmp_path: Path) -> None:
    source = Made(period_s=0.2)
    with serving(socket_path=tmp_path / "s", hub=Hub([source])) as talk:
        time.sleep(0.5)
        assert source.reads == 0
        with listening(talk) as one, listening(talk) as other, listening(talk) as third:
            for stream in (one, other, third):
                assert stream.value("facts") == 0
            before, began = source.reads, time.monotonic()
            time.sleep(1.0)
            # Whether one looks or three: once a period.
            assert source.reads - before <= (time.monotonic() - began) / 0.2 + 2
        wait_until(lambda: not talk.hub.viewers, "the viewers to leave")
        time.sleep(0.4)
        before = source.reads
        time.sleep(0.5)
        assert source.reads == before


def test_whoever_comes_back_is_told_only_what_has_changed_since(tmp_path: Path) -> None:
    source = Made()
    source.show(one=1, two=2)
    with serving(socket_path=tmp_path / "s", hub=Hub([source])) as talk:
        with listening(talk) as stream:
            stream.value("two")
            last = stream.seen[-1].id
        source.show(one=1, two=5)
        with listening(talk, **{"Last-Event-ID": last}) as stream:
            stream.until("two", 5)
            assert [event.content["key"] for event in stream.seen if event.name == "panel"] == ["two"]
        # A number of another process means nothing: everything is told.
        for strange in ("00000000-1", "no number", last.partition("-")[0] + "-99999999999999999999"):
            with listening(talk, **{"Last-Event-ID": strange}) as stream:
                assert stream.value("one") == 1


def test_a_slow_viewer_costs_no_memory_and_is_told_the_newest_state(tmp_path: Path) -> None:
    source = Made(period_s=0.001)
    large = facts("large", [Fact("Text", "x" * 100_000)])
    source.shown = {"large": large}
    with serving(socket_path=tmp_path / "s", hub=Hub([source])) as talk, listening(talk) as stream:
        stream.panel("large")
        stream.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        [viewer] = talk.hub.viewers
        # Nothing is taken any more, while there is more and more to tell.
        for number in range(200):
            source.shown = {"large": facts("large", [Fact("Text", f"{number}" + "x" * 100_000)])}
            wait_until(lambda before=talk.hub.changes: talk.hub.changes > before, "a change")
        assert viewer.merged > 100
        assert len(viewer._waiting) <= 1
        seen = 0
        while not str(stream.value("large")).startswith("199x"):
            seen += 1
        assert seen < 100


def test_a_viewer_that_takes_nothing_is_let_go(tmp_path: Path) -> None:
    source = Made(period_s=0.01)
    limits = Limits(answer_s=0.3, body_s=0.3)
    with serving(limits=limits, socket_path=tmp_path / "s", hub=Hub([source])) as talk, listening(talk):

        def more() -> bool:
            source.shown = {"large": facts("large", [Fact("Text", f"{time.monotonic()}" + "x" * 500_000)])}
            return not talk.hub.viewers

        wait_until(lambda: bool(talk.hub.viewers), "the viewer to come")
        wait_until(more, "the viewer to be let go")


def test_a_stream_goes_on_for_longer_than_an_answer_may_take(tmp_path: Path) -> None:
    source = Made(period_s=0.05)
    limits = Limits(answer_s=0.2, body_s=0.2)
    with serving(limits=limits, socket_path=tmp_path / "s", hub=Hub([source])) as talk, listening(talk) as stream:
        for number in range(1, 12):
            source.show(count=number)
            stream.until("count", number)
            time.sleep(0.1)


def test_a_source_in_trouble_says_so_keeps_what_is_known_and_comes_back(tmp_path: Path) -> None:
    source, other = Made(), Made("other")
    with serving(socket_path=tmp_path / "s", hub=Hub([source, other])) as talk, listening(talk) as stream:
        stream.value("facts")
        source.trouble = "the folder <b>is gone</b>"
        told = stream.panel("trouble")
        assert told["content"]["facts"][1]["value"] == "the folder <b>is gone</b>"
        # What was known stays, and others go on.
        other.show(facts=7)
        stream.until("facts", 7)
        assert not [one for one in stream.seen if one.name == "panel" and one.content["panel"] is None]
        source.trouble = ""
        assert stream.panel("trouble") is None


class Faulty(Made):
    """A source with a fault of its own."""

    def read(self) -> Panels:
        """Fails."""
        raise KeyError("secret")


def test_an_error_of_our_own_in_a_source_is_told_without_its_inside(tmp_path: Path) -> None:
    source = Faulty()
    with serving(socket_path=tmp_path / "s", hub=Hub([source])) as talk, listening(talk) as stream:
        told = stream.panel("trouble")
        assert told["content"]["facts"][1]["value"] == "KeyError: see the log"


def test_too_many_viewers_are_refused(tmp_path: Path) -> None:
    with serving(socket_path=tmp_path / "s", hub=Hub([Made()], most_viewers=2)) as talk:
        with listening(talk) as one, listening(talk) as other:
            one.next()
            other.next()
            assert talk.ask("GET", "/live/here/events").status == 503
        wait_until(lambda: not talk.hub.viewers, "the viewers to leave")
        with listening(talk) as again:
            assert again.next().name == "hello"


def test_a_service_ends_at_once_though_somebody_looks(tmp_path: Path) -> None:
    with serving(socket_path=tmp_path / "s", hub=Hub([Made()])) as talk, listening(talk) as stream:
        stream.value("facts")
        began = time.monotonic()
        talk.stop()
        assert time.monotonic() - began < 4


class Restless(Made):
    """A source that changes each time it is read."""

    def read(self) -> Panels:
        """Returns another number."""
        self.show(count=self.reads)
        return super().read()


def test_a_service_ends_at_once_though_many_are_being_told_something(tmp_path: Path) -> None:
    with serving(socket_path=tmp_path / "s", hub=Hub([Restless(period_s=0.0)])) as talk, ExitStack() as open_ones:
        for _ in range(20):
            open_ones.enter_context(listening(talk)).value("count")
        began = time.monotonic()
        talk.stop()
        assert time.monotonic() - began < 4


def test_a_viewer_comes_back_after_a_restart_and_is_told_everything(tmp_path: Path) -> None:
    source = Made()
    with serving(socket_path=tmp_path / "s", token=TOKEN, hub=Hub([source])) as talk:
        reply = talk.ask("POST", "/live/session")
        cookie, place = reply.headers["set-cookie"].partition(";")[0], f"/live/{reply.content['place']}"
        with listening(talk) as stream:
            stream.value("facts")
            last = stream.seen[-1].id
    (tmp_path / "s").unlink()
    with serving(socket_path=tmp_path / "s", token=TOKEN, hub=Hub([source])) as talk:
        talk.token = None
        with listening(talk, place, Cookie=cookie, **{"Last-Event-ID": last}) as stream:
            assert stream.value("facts") == 0
