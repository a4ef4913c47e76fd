"""The diary of a training."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import (  # type: ignore[import-untyped]
    EventAccumulator,
)

from shunter.agents.training.progress_log import ProgressLog
from shunter.errors import InputError


def _rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "progress.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def _written(folder: Path, steps: list[int], resumed_at: int | None = None) -> None:
    log = ProgressLog(folder, resumed_at)
    for step in steps:
        log.write(step, {"loss": step / 10})
    log.close()


def test_a_figure_that_comes_later_has_a_column_that_is_empty_before(tmp_path: Path) -> None:
    log = ProgressLog(tmp_path)
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
        ProgressLog(tmp_path, resumed_at=20)


def test_curves_have_the_usual_tags_and_the_table_our_names(tmp_path: Path) -> None:
    figures = {"return": 3.0, "steps_per_s": 900.0, "loss": 0.5, "entropy": 0.25, "validation/ratio": 0.9}
    log = ProgressLog(tmp_path)
    log.write(64, figures)
    log.close()
    assert list(_rows(tmp_path)[0]) == ["steps", *figures]
    events = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    found = {tag: round(events.Scalars(tag)[0].value, 4) for tag in events.Tags()["scalars"]}
    assert found == {
        "rollout/ep_rew_mean": 3.0,
        "time/fps": 900.0,
        "train/loss": 0.5,
        "entropy": 0.25,
        "train/entropy_loss": -0.25,
        "validation/ratio": 0.9,
    }
