"""Where a policy comes from: its own days, and those of what it began from."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.agents.training.config import TrainConfig, load_config
from shunter.agents.training.provenance import ancestor_days, training_days
from shunter.errors import InputError
from tests.agents.small_training import LUBLIN, small_site
from tests.agents.untrained import write_policy

TUNED = """
[policy]
kind = "linear"

[tuned]
train = [0.0, 0.5]

[[tuned.logs]]
name = "a.swf"
sha256 = "abc"
jobs = 100
"""
DAY = {"log": "b.swf", "sha256": "def", "jobs": 10, "use": "trained", "part": [0.0, 0.6]}


def begun(init: str, **environment: str) -> TrainConfig:
    return load_config(changes={"environment": environment, "training": {"init": init}})


@pytest.fixture
def tuned(tmp_path: Path) -> str:
    path = tmp_path / "found.toml"
    path.write_text(TUNED)
    return str(path)


def test_own_days() -> None:
    site = small_site()
    trained, chosen = training_days(site.config, site.logs)
    submit_s = site.logs[0].workload.jobs["submit_s"]
    assert (trained["log"], trained["use"], trained["part"]) == (LUBLIN, "trained", [0.0, 0.6])
    assert (trained["first_job"], trained["last_job"]) == (0, 359)
    assert (trained["first_submit_s"], trained["last_submit_s"]) == (submit_s[0], submit_s[359])
    assert (chosen["use"], chosen["first_job"], chosen["last_job"]) == ("chosen", 360, 419)
    assert chosen["sha256"] == site.logs[0].workload.content_sha256


def test_nothing_has_no_days() -> None:
    assert ancestor_days(load_config()) == []


def test_days_of_a_tuned_file(tuned: str) -> None:
    expected = {"log": "a.swf", "sha256": "abc", "jobs": 100, "use": "tuned", "part": [0.0, 0.5]}
    (found,) = ancestor_days(begun(tuned, order=tuned))
    assert found == expected | {"first_job": 0, "last_job": 49, "by": "found.toml"}
    # Also where it sorts the window, and is not what training begins from.
    assert ancestor_days(load_config(changes={"environment": {"order": tuned}})) == [found]


def test_a_file_written_by_hand_has_no_days(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[policy]\nkind = "linear"\n')
    assert ancestor_days(begun(str(path))) == []
    path.write_text(TUNED.replace("train =", "trained ="))
    assert ancestor_days(begun(str(path))) == [{"use": "unknown", "by": "mine.toml"}]


def test_days_of_a_checkpoint_and_of_what_it_began_from(tmp_path: Path, tuned: str) -> None:
    older = [DAY, {**DAY, "log": "c.swf", "by": "runs/zero"}]
    folder = write_policy(tmp_path / "first", training={"days": older}, order=tuned)
    found = ancestor_days(begun(folder, order=tuned))
    assert found[:2] == [{**DAY, "by": folder}, older[1]]
    assert [day["by"] for day in found[2:]] == ["found.toml"]


def test_a_checkpoint_that_does_not_say(tmp_path: Path) -> None:
    folder = write_policy(tmp_path / "first", training={"steps": 3})
    assert ancestor_days(begun(folder)) == [{"use": "unknown", "by": folder}]


def test_an_ancestor_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no checkpoint here"):
        ancestor_days(begun(str(tmp_path / "gone")))
