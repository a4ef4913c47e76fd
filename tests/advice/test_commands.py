"""Which choices slurm.conf can say, and which it cannot."""

from __future__ import annotations

import pytest

from shunter.advice.commands import slurm_lines


def words(policy: str, dispatch: str, max_wait_s: float | None = None) -> dict[str, object]:
    return {"policy": policy, "dispatch": dispatch, "max_wait_s": max_wait_s}


@pytest.mark.parametrize(
    ("policy", "dispatch", "line"),
    [
        ("fcfs", "strict", "SchedulerType=sched/builtin"),
        ("fcfs", "conservative", "SchedulerType=sched/backfill"),
        ("fcfs", "easy", "SchedulerParameters=bf_job_part_count_reserve=1"),
        ("fcfs", "8", "SchedulerParameters=bf_job_part_count_reserve=8"),
        ("smallest", "easy", "PriorityFavorSmall=YES"),
        ("largest", "easy", "PriorityFavorSmall=NO"),
    ],
)
def test_what_slurm_can_say(policy: str, dispatch: str, line: str) -> None:
    lines, why_not = slurm_lines(words(policy, dispatch), {})
    assert line in lines
    assert why_not is None


def test_weights_of_multifactor_are_its_own() -> None:
    lines, _ = slurm_lines(words("multifactor", "conservative"), {"age": 1000.4, "size": 10.0})
    assert "PriorityWeightAge=1000" in lines
    assert "PriorityWeightJobSize=10" in lines


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (words("saf", "easy"), "cannot say saf"),
        (words("fcfs", "greedy"), "no dispatch rule greedy"),
        (words("fcfs", "0"), "no dispatch rule 0"),
        (words("fcfs", "easy", 86_400.0), "no limit on waits"),
    ],
)
def test_what_slurm_cannot_say_is_said_so(settings: dict[str, object], why: str) -> None:
    lines, why_not = slurm_lines(settings, {})
    assert lines == []
    assert why_not is not None
    assert why in why_not
