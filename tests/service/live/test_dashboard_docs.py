"""What docs/dashboard.md says of numbers and options is so."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from shunter.cli.dashboard import POLICIES
from shunter.cli.live_options import SourceArguments
from shunter.service.live import hub, log_source, moment, operation_source, what_if

PAGE = (Path(__file__).parents[3] / "docs" / "dashboard.md").read_text(encoding="utf-8")


def test_every_source_has_a_row() -> None:
    for field in fields(SourceArguments):
        assert f"| `--{field.name} " in PAGE, field.name


def test_the_numbers_are_those_of_the_code() -> None:
    for words in (
        f"the last {log_source.MOST_JOBS:,} jobs of a log", f"the first {moment.MOST_LINE} of those that wait",
        f"the median of {moment.FUTURES} futures", f"{moment.MOST_FORESEEN:,} jobs in the queue",
        f"in {what_if.FUTURES} futures", f"up to {operation_source.MOST_RECALLED} earlier ones",
        f"{hub.MOST_VIEWERS} pages at most", f"by default {', '.join(POLICIES[:-1])} and {POLICIES[-1]}",
    ):  # fmt: skip
        assert words in PAGE.replace("\n", " "), words
