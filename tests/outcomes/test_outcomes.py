"""Every case gives the values of its expected file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.outcomes.cases import CASES, Case
from tests.outcomes.doors import Doors
from tests.outcomes.expected_files import FOLDER, differences, path_of
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
