"""``shunter policies`` names everything that the options take."""

from __future__ import annotations

from shunter.policies.catalog import DISPATCHES, ESTIMATES, PLACEMENTS, POLICIES
from tests.cli.conftest import Command


def test_every_name_has_a_line(shunter: Command) -> None:
    answer = shunter("policies")
    lines = [line.split(maxsplit=1) for line in answer.out.splitlines() if line.startswith("  ")]
    assert lines == [list(pair) for names in (POLICIES, DISPATCHES, PLACEMENTS, ESTIMATES) for pair in names.items()]


def test_json_has_the_same_names(shunter: Command) -> None:
    told = shunter("policies", "--json").json()
    assert told == {"policy": POLICIES, "dispatch": DISPATCHES, "placement": PLACEMENTS, "estimate": ESTIMATES}
