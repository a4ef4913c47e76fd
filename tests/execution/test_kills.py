"""Whatever is killed: every acknowledged job runs exactly once, and its exit code is right."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.execution.box import Box
from tests.execution.kills import soak

KILLS = 50


@pytest.mark.slow
@pytest.mark.timeout(280)
def test_every_acknowledged_job_runs_once_though_daemon_and_clients_are_killed(box: Box, tmp_path: Path) -> None:
    lines = tmp_path / "lines.txt"
    told = soak(box, lines, KILLS, seed=1, most_s=120)
    # On a machine that is too busy there are fewer than asked for, but some there must be.
    assert told.kills["daemon"] >= 10
    assert told.kills["client"] >= 5
    assert len(told.acknowledged) >= 30
    ran = Counter(map(int, lines.read_text().split()))
    assert [number for number in told.acknowledged if ran[number] == 0] == []
    # Also those whose client was killed before it heard of them, if they were taken, run once and not twice.
    assert [number for number, times in ran.items() if times > 1] == []
    states = {number: box.show(job) for number, job in told.acknowledged.items()}
    wrong = {number: one for number, one in states.items() if one["code"] != number % 3 or one["attempts"] != 1}
    assert wrong == {}
    assert box.is_intact()
