"""Every case gives the values of its expected file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.outcomes.cases import CASES, Case
from tests.outcomes.doors import Doors
from tests.outcomes.expected_files import FOLDER, MOST_LINES, differences, differences_from, path_of
from tests.outcomes.extract import labels_of


@pytest.fixture(scope="module")
def doors() -> Iterator[Doors]:
    with Doors() as opened:
        yield opened


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.command}/{case.name}")
def test_outcome(doors: Doors, case: Case) -> None:
    changed = differences(case, labels_of(case, doors.result(case)))
    assert not changed, f"\n{changed}"


def test_every_expected_file_has_a_case() -> None:
    assert {path_of(case) for case in CASES} == set(FOLDER.rglob("*.json"))
    assert len({path_of(case) for case in CASES}) == len(CASES), "two cases have one name"


def test_differences_are_named_and_few() -> None:
    case = Case("simulate", "a", "")
    saved = {"mean_wait_s": 1.23456789, "order": [1, 2], "jobs": [{"job": job, "start_s": job} for job in range(30)]}
    rounded_otherwise = saved | {"mean_wait_s": 1.234567885}
    assert differences_from(saved, case, rounded_otherwise) == ""
    another = saved | {"order": [2, 1], "mean_wait_s": 1.2345679}
    assert differences_from(saved, case, another).splitlines() == [
        "simulate/a: 1 of 63 values differ",
        "  order: expected [1, 2], found [2, 1]",
        "If that is meant, say why in the commit, and rewrite: python -m tests.outcomes --write simulate/a",
    ]
    later = saved | {"jobs": [{"job": job, "start_s": job + 0.5} for job in range(29)]}
    told = differences_from(saved, case, later).splitlines()
    assert len(told) == 1 + MOST_LINES + 2
    assert "  jobs[job 3].start_s: expected 3, found 3.5" in told
    assert told[-2] == "  … and 12 more"
