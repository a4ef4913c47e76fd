"""``shunter train --resume``: what may change on the way, and what may not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from shunter.agents.training.config import load_config
from shunter.agents.training.request import MAY_CHANGE, check_resumable
from shunter.agents.training.setup import Site
from shunter.comparison.classics import Progress
from shunter.comparison.combinations import Combination
from shunter.errors import InputError
from shunter.files import read_toml
from tests.cli.conftest import Command
from tests.cli.test_train import LUBLIN, SHORT, TRAIN, TUNED, steps, weights

pytestmark = pytest.mark.usefixtures("few_classics")


def test_what_may_change_is_there() -> None:
    sections = load_config().sections()
    for section, keys in MAY_CHANGE.items():
        assert keys <= set(sections[section])


def test_resumed_for_longer(shunter: Command, out: Path) -> None:
    """What changes takes effect, and stays."""
    shunter(*TRAIN, "--out", out)
    more = ("--steps", 192, "--report-windows", 3, "--eval-every", 1000)
    result = shunter("train", "--resume", "--out", out, *more, "--json").json()
    assert result["parts"][1]["logs"][0]["windows"] == 3
    assert steps(out) == [0, 64, 128, 192]
    written = read_toml(out / "config.toml")
    assert (written["training"]["steps"], written["training"]["eval_every"]) == (192, 1000)
    assert written["report"]["windows"] == 3
    again = shunter("train", "--resume", "--out", out, "--json")
    assert json.loads(again.out)["outcome"]["steps"] == 192
    assert "has seen all of its 192 steps; to train on, give more: --steps 384" in again.err


@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--lr", "0.25"), "--lr is 0.25, but the run in {out} has 0.0015, which stays as it is with --resume"),
        (("--window", "9"), "--window is 9, but the run in {out} has 8, which"),
        (("--set", "ppo.clip=0.1"), "--set ppo.clip is 0.1, but the run in {out} has 0.2, which"),
        (("--estimate", "perfect"), "--estimate is perfect, but the run in {out} has posterior, which"),
        (
            ("--algorithm", "sac"),
            "--algorithm is sac, but the run in {out} has ppo, which stays as it is with --resume",
        ),
        (("--length", "25"), "--length is 25, but the run in {out} has 24, which"),
        (("--config", "mine.toml"), "--config mine.toml is given with --resume; the run in {out} goes on by its own"),
        (
            ("--preset", "quick"),
            "--preset quick is given with --resume; the run in {out} goes on by its own config.toml",
        ),
        (("--workload", LUBLIN.replace("seed=3", "seed=4")), "which is not what generate:lublin?seed=4"),
    ],
)
def test_what_may_not_change(shunter: Command, out: Path, options: tuple[Any, ...], words: str) -> None:
    shutil.copytree(trained(shunter, out.parent), out)
    before = (out / "config.toml").read_text(), weights(out)
    assert words.format(out=out) in shunter("train", "--resume", "--out", out, *options).error()
    assert ((out / "config.toml").read_text(), weights(out)) == before


def trained(shunter: Command, folder: Path) -> Path:
    shunter(*TRAIN, "--out", folder / "first")
    return folder / "first"


def test_the_same_again_is_no_change(shunter: Command, out: Path, tmp_path: Path) -> None:
    tuned = tmp_path / "found.toml"
    tuned.write_text(TUNED)
    command = (*TRAIN, "--init", tuned, "--resume", "--out", out)
    shunter(*command)
    before = (out / "config.toml").read_text()
    assert shunter(*command).code == 0
    assert (out / "config.toml").read_text() == before
    tuned.write_text(TUNED.replace("0.5", "0.6"))
    copy = out / "files" / "found.toml"
    assert f"--init is {tuned}, but the run in {out} has {copy}, which stays" in shunter(*command).error()


def test_every_flag_is_named_in_errors(tmp_path: Path) -> None:
    before = load_config()
    after = load_config(changes={"ppo": {"gamma": 0.5}})
    with pytest.raises(InputError, match=r"^--gamma is 0.5, but the run in .* has 0.99"):
        check_resumable(before, after, tmp_path)


def test_nothing_to_resume(shunter: Command, out: Path) -> None:
    answer = shunter(*TRAIN, "--resume", "--out", out)
    assert (answer.code, answer.err) == (0, f"{out}: there is no run to resume; starting anew\n")
    assert steps(out) == [0, 64, 128]


def test_a_run_that_was_cut_short_at_once_starts_anew(shunter: Command, out: Path, tmp_path: Path) -> None:
    tuned = tmp_path / "found.toml"
    tuned.write_text(TUNED)
    shunter(*TRAIN, "--init", tuned, "--out", out)
    before = weights(out)
    shutil.rmtree(out / "last")
    tuned.unlink()
    answer = shunter("train", "--resume", "--out", out, "--seed", 0)
    why = "the run was cut short before its first checkpoint; starting anew by its config.toml"
    assert (answer.code, answer.err) == (0, f"{out}: {why}\n")
    assert (weights(out), steps(out)) == (before, [0, 64, 128])


def test_a_folder_of_something_else_is_not_resumed(shunter: Command, out: Path) -> None:
    out.mkdir()
    (out / "thesis.tex").write_text("mine")
    assert "is not empty, and no run" in shunter(*TRAIN, "--resume", "--out", out).error()


def test_what_it_began_from_may_be_gone(shunter: Command, out: Path, tmp_path: Path) -> None:
    first = trained(shunter, tmp_path)
    shunter("train", "--workload", LUBLIN, *SHORT, "--init", first, "--out", out)
    shutil.rmtree(first)
    assert shunter("train", "--resume", "--out", out, "--steps", 192).code == 0
    small = ("--workload", LUBLIN, "--windows", 2, "--length", 30, "--against", "fcfs/easy", "--part", "0.5:1")
    (warning,) = shunter("evaluate", out, *small, "--json").json()["warnings"]
    assert "on which it was trained" in warning


def choices(monkeypatch: pytest.MonkeyPatch) -> list[Site]:
    """Returns what grows with every choice of classics."""
    made: list[Site] = []
    choose = Site.choose

    def noted(site: Site, progress: Progress | None = None) -> list[Combination]:
        made.append(site)
        return choose(site, progress)

    monkeypatch.setattr(Site, "choose", noted)
    return made


def test_an_interrupt_before_classics_are_chosen_keeps_nothing(
    shunter: Command, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Site, "choose", interrupted)
    answer = shunter(*TRAIN, "--out", out)
    words = "interrupted before the training began: nothing was kept; to begin again, give the same command"
    assert (answer.code, answer.err) == (130, f"{words}\nerror: interrupted\n")
    assert not out.exists()


def test_an_interrupt_before_the_first_checkpoint_keeps_the_classics(
    shunter: Command, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("shunter.agents.training.train.open_trainer", interrupted)
        answer = shunter(*TRAIN, "--out", out)
    words = f"interrupted; to go on: shunter train --resume --out {out}"
    assert (answer.code, answer.err) == (130, f"{words}\nerror: interrupted\n")
    made = choices(monkeypatch)
    result = json.loads(shunter("train", "--resume", "--out", out, "--json").out)
    assert (made, result["outcome"]["steps"]) == ([], 128)
    fresh = shunter(*TRAIN, "--out", out.with_name("fresh"), "--json").json()
    assert (len(made), result["chosen"]) == (1, fresh["chosen"])
    assert weights(out) == weights(out.with_name("fresh"))


def test_classics_are_chosen_again_only_for_other_days(
    shunter: Command, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shunter(*TRAIN, "--out", out)
    made = choices(monkeypatch)
    moved = out.rename(out.with_name("moved"))
    assert shunter("train", "--resume", "--out", moved, "--steps", 192).code == 0
    assert made == []
    (moved / "classics.json").write_text("{")
    assert shunter("train", "--resume", "--out", moved).code == 0
    assert len(made) == 1
    # Without a checkpoint the run begins anew, and may have other days.
    shutil.rmtree(moved / "last")
    assert shunter("train", "--resume", "--out", moved, "--length", 25).code == 0
    assert len(made) == 2


def test_a_file_of_the_run_that_was_changed(shunter: Command, out: Path, tmp_path: Path) -> None:
    tuned = tmp_path / "found.toml"
    tuned.write_text(TUNED)
    shunter(*TRAIN, "--init", tuned, "--out", out)
    copy = out / "files" / "found.toml"
    copy.write_text(TUNED.replace("0.5", "0.6"))
    words = f"{copy}: is not the file that {out / 'last' / 'policy.json'} was written with; take both from one"
    assert words in shunter("train", "--resume", "--out", out, "--steps", 192).error()


@pytest.mark.parametrize("file", ["last/training.safetensors", "last/policy.safetensors", "initial/policy.safetensors"])
def test_what_is_damaged_is_told_before_anything_takes_minutes(
    shunter: Command, out: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    shunter(*TRAIN, "--out", out)
    (out / "classics.json").unlink()
    (out / file).write_bytes((out / file).read_bytes()[:-9])
    made = choices(monkeypatch)
    assert f"{out / file}: " in shunter("train", "--resume", "--out", out).error()
    assert made == []


def test_a_folder_that_another_run_was_begun_in_meanwhile(
    shunter: Command, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither of two that begin at the same moment finds a folder, and only one of them gets it."""
    choose = Site.choose

    def slow(self: Site, progress: Progress | None = None) -> list[Combination]:
        # The other one is faster, and has made its folder by now.
        out.mkdir(parents=True)
        (out / "config.toml").write_text("")
        return choose(self, progress)

    monkeypatch.setattr(Site, "choose", slow)
    answer = shunter(*TRAIN, "--out", out)
    assert answer.code == 2
    assert "the folder holds a run; give another" in answer.err
    assert (out / "config.toml").read_text() == ""
