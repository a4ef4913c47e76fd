"""Which ways to schedule a comparison goes through."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shunter import InputError
from shunter.comparison.combinations import CLASSICS, combine, find_baseline
from shunter.policies.catalog import POLICIES
from tests.agents.untrained import write_policy

OWN = """
from shunter import Policy

class Mine(Policy):
    def score(self, queue):
        return queue.submit_s
"""


def test_every_word_with_every_other() -> None:
    combinations = combine(["fcfs", "sjf"], ["easy", "3"], ["pack", "spread"], ["requested", "perfect"], seed=5)
    assert len(combinations.possible) == 16
    first, last = combinations.possible[0], combinations.possible[-1]
    assert (first.label, last.label) == ("fcfs/easy/pack/requested", "sjf/3/spread/perfect")
    assert (last.settings.policy, last.settings.dispatch) == ("sjf", "3")
    assert (last.settings.placement, last.settings.estimate, last.settings.seed) == ("spread", "perfect", 5)
    assert combinations.skipped == ()


def test_labels_leave_out_what_all_share() -> None:
    assert [one.label for one in combine(["fcfs", "sjf"], ["easy"]).possible] == ["fcfs/easy", "sjf/easy"]
    assert combine(["sjf"], estimates=["noisy?sigma=2", "perfect"]).possible[0].label == "sjf/easy/noisy?sigma=2"


def test_all_are_the_policies_that_need_no_file() -> None:
    assert set(POLICIES) - set(CLASSICS) == {
        "fifo",
        "first-available",
        "linear",
        "pairs",
        "qssf",
        "srtf",
        "las",
        "srsf",
        "gittins",
    }
    labels = [one.label for one in combine(["all"]).possible]
    assert labels[0] == "fcfs/easy"
    assert "random-feasible/greedy" in labels
    assert len(labels) == len(CLASSICS)


def test_repetitions_count_once() -> None:
    assert len(combine(["sjf", "sjf", "all"], ["easy", "easy"]).possible) == len(CLASSICS) - 1


def test_what_contradicts_itself_is_skipped_and_told_once() -> None:
    combinations = combine(["fcfs", "random-feasible"], ["easy", "strict", "greedy"])
    assert len(combinations.possible) == 4
    (reason,) = combinations.skipped
    assert "'random-feasible' never waits, but dispatch is 'easy'; it takes part as random-feasible/greedy" in reason
    (reason,) = combine(["fcfs", "las"], ["easy", "strict"]).skipped
    assert reason.endswith("but dispatch is 'easy'; use 'greedy' with it"), "it takes no part at all"


def test_nobody_is_told_to_leave_out_what_others_are_compared_by(tmp_path: Path) -> None:
    learned = write_policy(tmp_path / "first" / "best")
    (reason,) = combine(["fcfs", learned], ["strict", "easy", "conservative"], ["first-fit"]).skipped
    why = f"policy {learned!r} was trained with dispatch easy, but dispatch is strict"
    assert reason == f"{why}; it takes part as first/easy"


def test_nothing_possible_is_an_error() -> None:
    with pytest.raises(InputError, match="'random-feasible' never waits"):
        combine(["random-feasible"], ["easy"])


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        ({"policies": ["fcfs", "sfj"]}, "unknown policy 'sfj'"),
        ({"policies": ["fcfs"], "dispatches": ["easy", "eazy"]}, "unknown dispatch 'eazy'"),
        ({"policies": ["fcfs"], "placements": ["pick"]}, "unknown placement 'pick'"),
        ({"policies": ["fcfs"], "estimates": ["prefect"]}, "unknown estimate 'prefect'"),
        ({"policies": ["fcfs"], "scan_depth": 0}, "scan-depth"),
    ],
)
def test_a_wrong_word_is_an_error_and_not_skipped(lists: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        combine(**lists)


def test_a_learned_policy_is_there_once_beside_the_defaults_of_others(tmp_path: Path) -> None:
    learned = write_policy(tmp_path / "first" / "best", estimate="perfect")
    found = combine([learned, "first-available"], [None], ["first-fit"], ["requested"])
    assert [one.label for one in found.possible] == ["first/easy", "first-available/easy"]
    assert [one.settings.estimate for one in found.possible] == ["perfect", "requested"]
    assert found.skipped == ()


def test_a_setting_of_all_that_a_learned_policy_refuses_is_an_error_and_not_skipped(tmp_path: Path) -> None:
    learned = write_policy(tmp_path / "first" / "best")
    with pytest.raises(InputError, match="was trained with scan-depth 1000, but scan-depth is 7; leave --scan-depth"):
        combine(["fcfs", learned], scan_depth=7)


def test_files_are_called_by_their_names(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    files = [tmp_path / "a" / "one.py", tmp_path / "a" / "two.py", tmp_path / "b" / "two.py"]
    for file in files:
        file.write_text(OWN)
    labels = [one.label for one in combine([str(file) for file in files]).possible]
    assert labels == ["one.py/easy", f"{files[1]}/easy", f"{files[2]}/easy"]


def test_the_baseline_is_the_first_unless_named() -> None:
    possible = combine(["fcfs", "sjf"], ["easy", "strict"]).possible
    assert find_baseline(possible, None).label == "fcfs/easy"
    assert find_baseline(possible, "sjf/strict").label == "sjf/strict"
    assert find_baseline(possible, "sjf").label == "sjf/easy"
    with pytest.raises(InputError, match="--baseline 'f1/easy' is not among what is compared; it has fcfs/easy"):
        find_baseline(possible, "f1/easy")
