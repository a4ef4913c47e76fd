"""Numbers for people."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.report.tables import format_metric, format_seconds
from tests.cli.conftest import Command


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"),
        (3.25, "3.25 s"),
        (59.4, "59.40 s"),
        (60, "60 s (1 min)"),
        (3_599.9, "3,600 s (1 h)"),
        (12_345, "12,345 s (3 h 26 min)"),
        (86_399, "86,399 s (24 h)"),
        (90_000, "90,000 s (1 d 1 h)"),
        (1_005_268_945, "1,005,268,945 s (11,635 d 1 h)"),
    ],
)
def test_seconds(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("core_utilization", 0.71234, "71.23 %"),
        ("completion_rate", 1.0, "100.00 %"),
        ("mean_slowdown", 19_640.34, "19,640.3"),
        ("load_imbalance", 0.01234, "0.0123"),
        ("memory_utilization", None, "–"),
        ("max_wait_s", 120.0, "120 s (2 min)"),
    ],
)
def test_metrics(name: str, value: float | None, text: str) -> None:
    assert format_metric(name, value) == text


def test_names_that_look_like_markup_are_shown_as_they_are(
    shunter: Command, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    policy, estimate = Path("a[/b].toml"), Path("a[red]b/p.toml")
    for file, text in ((policy, '[policy]\nkind = "sjf"\n'), (estimate, '[estimate]\nkind = "perfect"\n')):
        file.parent.mkdir()
        file.write_text(text)
    given = ("--workload", log, "--policy", policy, "--estimate", estimate)
    title = "a[/b].toml · easy · first-fit · estimate a[red]b/p.toml (4 run-time)\n"
    assert title in shunter("simulate", *given).out
    assert title in shunter("what-if", *given, "--change", "cores=9").out
