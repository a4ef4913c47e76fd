"""A small part of ``make fuzz``, always the same: every kind of file a few times."""

from __future__ import annotations

from random import Random

import pytest

from shunter.workloads import FORMATS
from shunter.workloads.machines import MACHINES, RULES
from tests.fuzz.__main__ import Finding, attempt, damaged
from tests.fuzz.mutations import OF_STATES
from tests.fuzz.targets import Target, targets

ROUNDS = 4
STATE_ROUNDS = 40


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> list[Target]:
    return targets(tmp_path_factory.mktemp("fuzz"))


@pytest.mark.slow
def test_every_sound_file_is_taken_and_every_reader_is_there(every: list[Target]) -> None:
    for target in every:
        # A format without a sample of its own is only tried with damaged files.
        assert attempt(target, target.content) or target.name.startswith(("log lsb-events", "machines")), target.name
    names = {target.name for target in every}
    assert len(names) == len(every)
    for format in FORMATS:
        assert any(name.startswith(f"log {format}") for name in names), format
    assert len([name for name in names if name.startswith("machines")]) >= 2 * len(MACHINES)
    assert len([name for name in names if name.startswith("rules")]) >= len(RULES)


def test_damaged_files_of_every_kind(every: list[Target]) -> None:
    taken = 0
    for target in every:
        for number in range(ROUNDS):
            try:
                taken += attempt(target, damaged(target, Random(f"{number} {target.name}")))
            except Finding as finding:
                pytest.fail(f"{target.name}, round {number}: {finding}")
    # Damage that nobody notices is damage to what nobody needs: some files are taken, most are not.
    assert 0 < taken < ROUNDS * len(every)


@pytest.mark.slow
def test_states_that_pass_their_checksum_but_contradict_themselves(every: list[Target]) -> None:
    """Each is refused when it is restored, or runs on; none panics later."""
    outcomes = set()
    for target in every:
        if target.mutations is OF_STATES:
            for number in range(STATE_ROUNDS):
                content = OF_STATES[0](target.content, Random(f"{number} {target.name}"))
                try:
                    outcomes.add(attempt(target, content))
                except Finding as finding:
                    pytest.fail(f"{target.name}, round {number}: {finding}")
    assert outcomes == {True, False}
