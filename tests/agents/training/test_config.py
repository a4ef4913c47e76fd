"""Training files: they come back as they were written, presets work, and slips are named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shunter.agents.algorithms import PpoOptions
from shunter.agents.networks import NetworkOptions
from shunter.agents.training.config import (
    PRESETS,
    DataOptions,
    ReportOptions,
    TrainConfig,
    TrainingOptions,
    config_from,
    load_config,
)
from shunter.comparison.contest import Contest
from shunter.envs.episodes import EpisodeOptions
from shunter.envs.kinds import ENVIRONMENTS
from shunter.envs.pick_host import PickHostOptions
from shunter.envs.pick_job import PickJobOptions
from shunter.envs.rewards import RewardOptions
from shunter.errors import InputError
from tests.tuning.small import small_log

UNUSUAL = TrainConfig(
    data=DataOptions(workload=("a log.swf", 'a "b" \\ c'), cluster=("256",)),
    environment=PickJobOptions(mode="committed", window=64, missing_request=3600.0, max_wait_s=1e5, placement="spread"),
    episodes=EpisodeOptions(part=(0.1, 0.5), windows=12, horizon_factor=2.5),
    validation=EpisodeOptions(windows=None),
    report=ReportOptions(part=(0.8, 0.9), windows=7, length=33),
    reward=RewardOptions(reward={"wait": 0.1, "bounded_slowdown": 1.0}, scale="fcfs/easy", bounds={"wait": 1.1}),
    network=NetworkOptions(kind="attention", hidden=(48, 96), heads=3, order_temperature=0.5),
    algorithm=PpoOptions(target_kl=None, value_clip=0.2, lr_schedule="warmup-cosine", lr_warmup_steps=1000, gamma=1.0),
    training=TrainingOptions(steps=12345, patience=3, init="tuned.toml"),
)


@pytest.mark.parametrize("config", [TrainConfig(), UNUSUAL, TrainConfig(environment=PickHostOptions(num_hosts=2))])
def test_a_file_comes_back(tmp_path: Path, config: TrainConfig) -> None:
    path = tmp_path / "config.toml"
    path.write_text(config.to_toml())
    assert load_config(path) == config


@pytest.mark.parametrize("preset", PRESETS)
def test_presets(tmp_path: Path, preset: str) -> None:
    config = load_config(preset=preset)
    path = tmp_path / "config.toml"
    path.write_text(config.to_toml())
    assert load_config(path) == config
    assert config.kind == (preset if preset in ENVIRONMENTS else "pick-job")


def test_every_preset_is_listed() -> None:
    import shunter.agents

    folder = Path(str(shunter.agents.__file__)).parent / "presets"
    assert sorted(path.stem for path in folder.glob("*.toml")) == sorted(PRESETS)


def test_changes_go_over_the_file_and_the_file_over_the_preset(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[ppo]\nclip = 0.1\ngamma = 0.5\n[validation]\nwindows = 3\n")
    config = load_config(path, "pick-job-committed", {"ppo": {"gamma": 0.75, "epochs": None}})
    assert isinstance(config.algorithm, PpoOptions)
    assert (config.algorithm.clip, config.algorithm.gamma, config.algorithm.epochs) == (0.1, 0.75, 2)
    assert isinstance(config.environment, PickJobOptions)
    assert config.environment.mode == "committed"
    # What the file does not say of validation is as it would be without the file.
    assert (config.validation.windows, config.validation.part) == (3, (0.6, 0.7))


def test_a_beginning_goes_over_the_preset_and_under_the_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[environment]\nestimate = "perfect"\n')
    brought = {"environment": {"order": "saf", "estimate": "last-two", "window": 9}}
    config = load_config(path, "pick-job", {"environment": {"window": 7}}, brought)
    assert isinstance(config.environment, PickJobOptions)
    found = config.environment
    assert (found.order, found.estimate, found.window) == ("saf", "perfect", 7)


def test_the_report_has_the_windows_of_evaluate_where_a_log_has_room() -> None:
    config = load_config()
    assert (config.report.length, config.validation.length) == (None, 256)
    drawn = config.report_episodes([])
    assert (drawn.windows, drawn.length, drawn.warmup, drawn.seed) == (
        Contest.windows, Contest.length, Contest.warmup, Contest.seed,
    )  # fmt: skip
    # 30 % of 3,420 jobs are 1,026, of 600 they are 180.
    room = small_log("generate:lublin?seed=3&jobs=3420&cores=64")
    assert config.report_episodes([room]).length == 1024
    assert config.report_episodes([room, small_log()]).length == 256


def test_the_report_is_like_validation_where_it_says_nothing() -> None:
    changes: dict[str, dict[str, Any]] = {
        "validation": {"length": 40, "warmup": 3, "seed": 5},
        "report": {"part": "0.75:0.9"},
    }
    report = load_config(changes=changes).report_episodes([small_log()])
    assert report == EpisodeOptions(part=(0.75, 0.9), windows=20, length=40, warmup=3, seed=5)
    longer = load_config(changes={**changes, "report": {"length": 80, "windows": 3}}).report_episodes([small_log()])
    assert (longer.length, longer.windows, longer.bounds) == (80, 3, (0.7, 1.0))


def test_files_in_the_same_folder_are_named_without_it(tmp_path: Path) -> None:
    text = '[policy]\nkind = "linear"\n'
    for name in ("run/tuned.toml", "other.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    own, other = str(tmp_path / "run" / "tuned.toml"), str(tmp_path / "other.toml")
    config = load_config(changes={"environment": {"order": other}, "training": {"init": own}})
    written = tmp_path / "run" / "config.toml"
    written.write_text(config.to_toml(written.parent))
    assert 'init = "tuned.toml"' in written.read_text()
    assert load_config(written) == config
    moved = (tmp_path / "run").rename(tmp_path / "moved")
    found = load_config(moved / "config.toml")
    assert isinstance(found.environment, PickJobOptions)
    assert (found.training.init, found.environment.order) == (str(moved / "tuned.toml"), other)


def test_another_environment_forgets_the_keys_of_the_first() -> None:
    config = load_config(preset="pick-job", changes={"environment": {"kind": "pick-host", "num_hosts": 7}})
    assert config.environment == PickHostOptions(num_hosts=7)


def test_none_takes_a_default_away() -> None:
    config = load_config(changes={"ppo": {"target_kl": "none"}, "validation": {"windows": "none"}})
    assert isinstance(config.algorithm, PpoOptions)
    assert (config.algorithm.target_kl, config.validation.windows) == (None, None)


def test_a_whole_number_does_for_a_number() -> None:
    config = load_config(changes={"ppo": {"gamma": 1}, "reward": {"reward": {"wait": 2}}})
    assert isinstance(config.algorithm, PpoOptions)
    assert (repr(config.algorithm.gamma), repr(config.reward.weights)) == ("1.0", "{'wait': 2.0}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[ppo]\nclipp = 1", r"\[ppo\]: unknown key 'clipp'; did you mean 'clip'\?"),
        ("[pppo]\nclip = 1", "unknown section 'pppo'; did you mean 'ppo'"),
        ("ppo = 3", r"ppo is 3; expected a section \[ppo\]"),
        ("[ppo]\nepochs = 1.5", r"\[ppo\]: epochs is 1.5; expected a whole number"),
        ("[ppo]\nepochs = true", r"\[ppo\]: epochs is True; expected a whole number"),
        ("[ppo]\nclip = 'x'", r"\[ppo\]: clip is 'x'; expected a number"),
        ("[ppo]\nclip = 0", r"\[ppo\] clip is 0.*; expected a finite number above 0"),
        ("[ppo]\ngamma = 1.01", r"\[ppo\] gamma is 1.01; expected a number from 0 to 1"),
        ("[ppo]\nlr_schedule = 'wavy'", r"unknown \[ppo\] lr_schedule 'wavy'"),
        (
            "[ppo]\nlearning_rate = 3e-4\nlr_schedule = 'exponential'",
            r"\[ppo\]: an exponential schedule cannot go from 0.0003 to 0",
        ),
        ("[ppo]\nminibatch = 0", r"\[ppo\] minibatch is 0; expected a whole number from 1"),
        ("[ppo]\nnormalize_values = 1", "normalize_values is 1; expected true or false"),
        ("[network]\nkind = 'cnn'", r"unknown \[network\] kind 'cnn'"),
        ("[network]\nhidden = [8, 'x']", r"hidden is \[8, 'x'\]; expected a list"),
        ("[network]\nhidden = [0]", r"\[network\] hidden is 0"),
        ("[network]\nkind = 'attention'\nheads = 3", "a token's 32 by 3 heads"),
        ("[episodes]\npart = [0.1, 0.2, 0.3]", r"part is \[0.1, 0.2, 0.3\]; expected a list of numbers or text"),
        (
            "[environment]\nkind = 'pick-nose'",
            r"\[environment\]: kind is 'pick-nose'; expected one of pick-job, pick-job-and-type, pick-host",
        ),
        ("[environment]\nkind = 'pick-host'\nwindow = 3", r"\[environment\]: unknown key 'window'"),
        ("[environment]\nmode = 'hope'", r"\[environment\]: unknown mode 'hope'"),
        ("[reward]\nreward = {wait = 'much'}", r"\[reward\]: reward is {'wait': 'much'}; expected a table of numbers"),
        ("[training]\ndevice = 'tpu'", r"unknown \[training\] device 'tpu'"),
        ("[training]\npatience = 0", r"\[training\] patience is 0"),
        ("[training]\nmargin_se = -1", r"\[training\] margin_se is -1"),
        ("[report]\nwindows = 0", r"\[report\] windows is 0; expected a whole number from 1"),
        ("[report]\nlength = 0", r"\[report\] length is 0"),
        ("[report]\npart = 'x'", r"\[report\] part is 'x'; expected two fractions"),
        ("[report]\npart = [0.9, 0.8]", "is 0.9:0.8; expected two rising fractions"),
        ("[training", "is not TOML"),
    ],
)
def test_slips_are_named_with_the_file(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "slip.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        load_config(path, "pick-job")
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_a_wrong_option_is_not_blamed_on_the_file(tmp_path: Path) -> None:
    path = tmp_path / "good.toml"
    path.write_text("[ppo]\nclip = 0.1\n")
    with pytest.raises(InputError, match=r"^options: \[ppo\]"):
        load_config(path, changes={"ppo": {"epochs": 0}})


@pytest.mark.parametrize("sections", [{"ppo": None}, {"environment": 3}])
def test_sections_that_are_none(sections: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="expected a table of keys and values"):
        config_from(sections, "here")


def test_an_unknown_preset() -> None:
    with pytest.raises(InputError, match=r"unknown preset 'quik'; did you mean 'quick'\?"):
        load_config(preset="quik")
