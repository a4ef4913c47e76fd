"""Schedules, against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest

from shunter.agents.common.schedules import ParameterSchedule
from shunter.errors import InputError


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ("constant", (8.0, 8.0, 8.0, 8.0)),
        ("linear", (8.0, 6.5, 2.0, 2.0)),
        ("exponential", (8.0, 8 * 4**-0.25, 2.0, 2.0)),
        ("cosine", (8.0, 2 + 6 * (1 + math.cos(math.pi / 4)) / 2, 2.0, 2.0)),
        ("warmup-cosine", (8.0, 2 + 6 * (1 + math.cos(math.pi / 4)) / 2, 2.0, 2.0)),
    ],
)
def test_values_on_the_way(shape: str, expected: tuple[float, ...]) -> None:
    schedule = ParameterSchedule(shape, first=8.0, last=2.0, steps=1000)
    assert [schedule.at(step) for step in (0, 250, 1000, 2000)] == pytest.approx(expected)


def test_a_warm_up_rises_from_0_and_then_the_cosine_falls() -> None:
    schedule = ParameterSchedule("warmup-cosine", first=8.0, last=2.0, steps=1000, warmup_steps=200)
    assert [schedule.at(step) for step in (0, 50, 200, 600, 1000)] == pytest.approx([0, 2, 8, 5, 2])


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ({"shape": "wavy"}, "schedule 'wavy' is unknown"),
        ({"shape": "exponential", "last": 0.0}, "cannot go from 1 to 0"),
        ({"shape": "linear", "warmup_steps": 5}, "linear has no warm-up"),
        ({"shape": "warmup-cosine", "warmup_steps": 10}, "10 of 10 steps"),
    ],
)
def test_what_has_no_meaning_is_refused(schedule: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ParameterSchedule(**{"first": 1.0, "last": 0.5, "steps": 10, **schedule})  # type: ignore[arg-type]
