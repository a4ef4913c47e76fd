"""The diary of a training."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any, Final

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from shunter.agents.algorithms import ALGORITHMS, D3qnOptions, PpoOptions, ReinforceOptions, SacOptions
from shunter.agents.networks import NetworkOptions, build
from shunter.agents.training.progress_log import TAGS, TAGS_OF_ALGORITHMS, ProgressLog
from shunter.errors import InputError
from tests.agents import toy


def _rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "progress.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def _written(folder: Path, steps: list[int], resumed_at: int | None = None) -> None:
    log = ProgressLog(folder, "ppo", resumed_at)
    for step in steps:
        log.write(step, {"loss": step / 10})
    log.close()


def test_a_figure_that_comes_later_has_a_column_that_is_empty_before(tmp_path: Path) -> None:
    log = ProgressLog(tmp_path, "ppo")
    log.write(10, {"loss": 0.5})
    log.write(20, {"loss": 0.25, "validation/objective": -0.1})
    log.write(30, {"loss": 0.125})
    log.close()
    assert _rows(tmp_path) == [
        {"steps": "10", "loss": "0.5", "validation/objective": ""},
        {"steps": "20", "loss": "0.25", "validation/objective": "-0.1"},
        {"steps": "30", "loss": "0.125", "validation/objective": ""},
    ]


def test_resuming_drops_what_came_behind_the_checkpoint(tmp_path: Path) -> None:
    _written(tmp_path, [10, 20, 30])
    _written(tmp_path, [21, 31], resumed_at=20)
    assert [row["steps"] for row in _rows(tmp_path)] == ["10", "20", "21", "31"]
    events = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert [(event.step, round(event.value, 4)) for event in events.Scalars("train/loss")] == [
        (10, 1.0),
        (20, 2.0),
        (21, 2.1),
        (31, 3.1),
    ]


def test_beginning_anew_forgets_the_rows_of_before(tmp_path: Path) -> None:
    _written(tmp_path, [10, 20])
    _written(tmp_path, [5])
    assert [row["steps"] for row in _rows(tmp_path)] == ["5"]


def test_a_row_that_was_cut_short_is_dropped(tmp_path: Path) -> None:
    _written(tmp_path, [10, 20])
    with (tmp_path / "progress.csv").open("a") as file:
        file.write("3")
    _written(tmp_path, [30], resumed_at=20)
    assert [row["steps"] for row in _rows(tmp_path)] == ["10", "20", "30"]


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "progress.csv").write_text("steps,loss\nmany,1\n")
    with pytest.raises(InputError, match=r"progress\.csv, line 2: has no number of steps"):
        ProgressLog(tmp_path, "ppo", resumed_at=20)


def _curves(folder: Path) -> dict[str, float]:
    """Returns the first value of each curve that TensorBoard finds."""
    events = EventAccumulator(str(folder / "tensorboard")).Reload()
    return {tag: events.Scalars(tag)[0].value for tag in events.Tags()["scalars"]}


def test_curves_have_the_usual_tags_and_the_table_our_names(tmp_path: Path) -> None:
    figures = {"return": 3.0, "steps_per_s": 900.0, "loss": 0.5, "entropy": 0.25, "validation/ratio": 0.5}
    log = ProgressLog(tmp_path, "ppo")
    log.write(64, figures)
    log.close()
    assert list(_rows(tmp_path)[0]) == ["steps", *figures]
    assert _curves(tmp_path) == {
        "rollout/ep_rew_mean": 3.0,
        "charts/episodic_return": 3.0,
        "time/fps": 900.0,
        "charts/SPS": 900.0,
        "train/loss": 0.5,
        "train/entropy_loss": -0.25,
        "losses/entropy": 0.25,
        "validation/ratio": 0.5,
    }


SHORT: Final[dict[str, Any]] = {"num_envs": 8, "rollout_steps": 16}
REPLAY: Final[dict[str, Any]] = {**SHORT, "learn_after": 32, "minibatch": 16, "replay_size": 400}
OPTIONS: Final = {
    "ppo": PpoOptions(**SHORT),
    "reinforce": ReinforceOptions(num_envs=8),
    "d3qn": D3qnOptions(**REPLAY),
    "sac": SacOptions(**REPLAY),
}
PLAYED: Final = {
    *("rollout/ep_rew_mean", "charts/episodic_return", "rollout/ep_len_mean", "charts/episodic_length"),
    *("time/fps", "charts/SPS", "train/learning_rate", "charts/learning_rate"),
}
POLICY_GRADIENT: Final = {
    *("train/loss", "train/policy_gradient_loss", "losses/policy_loss", "train/value_loss", "losses/value_loss"),
    *("train/entropy_loss", "losses/entropy", "train/explained_variance", "losses/explained_variance"),
}
LEARNED: Final = {
    "ppo": POLICY_GRADIENT | {"train/approx_kl", "losses/approx_kl", "train/clip_fraction", "losses/clipfrac"},
    "reinforce": POLICY_GRADIENT,
    "d3qn": {
        *("train/loss", "losses/td_loss", "losses/q_values", "charts/beta"),
        *("rollout/exploration_rate", "charts/epsilon"),
    },
    "sac": {
        *("train/actor_loss", "losses/actor_loss", "train/critic_loss", "losses/qf_loss", "losses/qf1_values"),
        *("train/ent_coef", "losses/alpha", "train/entropy_loss", "losses/entropy"),
    },
}
FACTORS: Final = {"losses/value_loss": 0.5, "train/critic_loss": 0.5, "losses/qf_loss": 0.5, "train/entropy_loss": -1.0}
GROUPS: Final = ("rollout/", "time/", "train/", "charts/", "losses/")


@pytest.mark.every(4)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_has_the_tags_of_both_others(tmp_path: Path, algorithm: str) -> None:
    learner, network = ALGORITHMS[algorithm].load(), build(NetworkOptions(), toy.LAYOUT, seed=2)
    agent = learner(toy.Toy(8, seed=1), network, OPTIONS[algorithm], steps=1_000, seed=3)
    figures = agent.update()
    log = ProgressLog(tmp_path, algorithm)
    log.write(agent.steps, figures)
    log.close()
    curves = _curves(tmp_path)
    assert {tag for tag in curves if tag.startswith(GROUPS)} == PLAYED | LEARNED[algorithm]
    for name, tags in (TAGS | TAGS_OF_ALGORITHMS.get(algorithm, {})).items():
        # What others have a tag for is not there a second time under our name.
        assert name not in curves
        for tag in tags:
            if name in figures:
                assert curves[tag.name] == pytest.approx(figures[name] * FACTORS.get(tag.name, 1.0), rel=1e-6)
