"""``shunter policies`` names everything that the options take."""

from __future__ import annotations

from shunter.policies.catalog import DISPATCHES, ESTIMATES, PAIRS, PLACEMENTS, POLICIES
from tests.cli.conftest import Command

NAMES = {
    "policy": POLICIES,
    "dispatch": DISPATCHES,
    "placement": PLACEMENTS,
    "pairs": PAIRS,
    "estimate": ESTIMATES,
}


def test_every_name_has_a_line(shunter: Command) -> None:
    answer = shunter("policies")
    lines = [line.split(maxsplit=1) for line in answer.out.splitlines() if line.startswith("  ")]
    assert lines == [list(pair) for names in NAMES.values() for pair in names.items()]


def test_json_has_the_same_names(shunter: Command) -> None:
    assert shunter("policies", "--json").json() == NAMES
