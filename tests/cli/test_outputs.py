"""Progress: a bar on a terminal after a while, silence elsewhere."""

from __future__ import annotations

import io
import sys
import time

import pytest

from shunter.cli import outputs
from shunter.cli.outputs import step


class Terminal(io.StringIO):
    """A standard error that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def work(seconds: float) -> None:
    with step("simulating") as moved:
        moved(30, 40)
        time.sleep(seconds)


def work_until_shown(terminal: Terminal, description: str = "simulating") -> None:
    """Works until the bar is there, at most for 20 s: a busy machine takes its time to load Rich."""
    with step(description) as moved:
        deadline = time.monotonic() + 20
        while "75 %" not in terminal.getvalue() and time.monotonic() < deadline:
            moved(30, 40)
            time.sleep(0.01)


def work_and_fail(terminal: Terminal) -> None:
    with step("outer"):
        work_until_shown(terminal)
        raise ValueError("broken")


def pretend_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Replaces standard error; not a fixture, for pytest puts its own in place between set-up and test."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    return terminal


def test_a_long_step_shows_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = pretend_terminal(monkeypatch)
    monkeypatch.setattr(outputs, "DELAY_S", 0.0)
    work_until_shown(terminal)
    assert "simulating" in terminal.getvalue()
    assert "75 %" in terminal.getvalue()


def test_a_name_that_looks_like_markup_is_shown_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = pretend_terminal(monkeypatch)
    monkeypatch.setattr(outputs, "DELAY_S", 0.0)
    work_until_shown(terminal, "reading a[red]b[/c].swf")
    assert "reading a[red]b[/c].swf" in terminal.getvalue()


def test_a_short_step_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = pretend_terminal(monkeypatch)
    work(0.0)
    assert terminal.getvalue() == ""


def test_no_terminal_no_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(outputs, "DELAY_S", 0.0)
    work(0.2)
    assert capsys.readouterr().err == ""


def test_a_step_that_fails_takes_its_bar_away(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = pretend_terminal(monkeypatch)
    monkeypatch.setattr(outputs, "DELAY_S", 0.0)
    with pytest.raises(ValueError, match="broken"):
        work_and_fail(terminal)
    shown = terminal.getvalue()
    time.sleep(0.3)
    assert terminal.getvalue() == shown
