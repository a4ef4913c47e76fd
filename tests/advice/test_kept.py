"""Stages that are kept, and when they are done again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shunter.advice.kept import Kept, read_stages
from shunter.errors import InputError


class Work:
    """Counts how often it is done."""

    def __init__(self, result: object = 1) -> None:
        self.times = 0
        self.result = result

    def __call__(self) -> dict[str, object]:
        self.times += 1
        return {"result": self.result, "seconds": self.times, "inner": [{"created": self.times}]}


def stage(folder: Path, work: Work, inputs: int = 1, *, fresh: bool = False, **more: list[str]) -> Kept:
    kept = Kept(folder, fresh)
    kept.stage("log", {"inputs": inputs}, work, **more)
    return kept


def test_what_rests_on_the_same_is_not_done_again(tmp_path: Path) -> None:
    work = Work()
    first, again = stage(tmp_path, work), stage(tmp_path, work)
    assert work.times == 1
    assert (first.reused, again.reused) == ([], ["log"])
    # How long it took is no part of it.
    assert first.results == again.results == {"log": {"result": 1, "inner": [{}]}}


def test_other_inputs_and_fresh_do_it_again(tmp_path: Path) -> None:
    work = Work()
    stage(tmp_path, work)
    stage(tmp_path, work, inputs=2)
    stage(tmp_path, work, inputs=2, fresh=True)
    assert work.times == 3


@pytest.mark.parametrize("damage", [b"", b"{", b"[1]", b'{"key": 1}', b"[" * 100_000])
def test_what_is_damaged_is_done_again(tmp_path: Path, damage: bytes) -> None:
    work = Work()
    stage(tmp_path, work)
    (tmp_path / "log.json").write_bytes(damage)
    stage(tmp_path, work)
    assert work.times == 2


@pytest.mark.parametrize("changes", [{"result": {}}, {"result": {"result": 2}}, {"sha256": None}])
def test_what_was_changed_by_hand_is_done_again(tmp_path: Path, changes: dict[str, object]) -> None:
    work = Work()
    stage(tmp_path, work)
    file = tmp_path / "log.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))
    again = stage(tmp_path, work)
    assert work.times == 2
    assert again.results["log"]["result"] == 1


def test_a_file_that_is_changed_or_gone_is_made_again(tmp_path: Path) -> None:
    file = tmp_path / "tuned.toml"

    class Writing(Work):
        def __call__(self) -> dict[str, object]:
            file.write_text("as written")
            return super().__call__()

    work = Writing()
    stage(tmp_path, work, files=["tuned.toml"])
    stage(tmp_path, work, files=["tuned.toml"])
    assert work.times == 1
    file.write_text("changed")
    stage(tmp_path, work, files=["tuned.toml"])
    file.unlink()
    stage(tmp_path, work, files=["tuned.toml"])
    assert work.times == 3


def test_another_result_below_does_it_again(tmp_path: Path) -> None:
    above = Work()
    for below in (Work(1), Work(1), Work(2)):
        kept = Kept(tmp_path, fresh=False)
        kept.stage("log", {"below": below.result}, below)
        kept.stage("cluster", {}, above, rests_on=["log"])
    assert above.times == 2


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match=r"holds thesis\.tex, which is no part of an advice"):
        Kept(tmp_path).check()


def test_stages_are_read_when_there_is_an_advice(tmp_path: Path) -> None:
    stage(tmp_path, Work())
    with pytest.raises(InputError, match="holds no advice that has ended"):
        read_stages(tmp_path)
    Kept(tmp_path).stage("advice", {}, Work(2))
    assert list(read_stages(tmp_path)) == ["log", "advice"]
    file = tmp_path / "log.json"
    file.write_text(file.read_text().replace('"result": 1', '"result": 2'))
    with pytest.raises(InputError, match=r"log\.json: was changed or is damaged"):
        read_stages(tmp_path)
    file.write_text("[]")
    with pytest.raises(InputError, match=r"log\.json: holds no result"):
        read_stages(tmp_path)
