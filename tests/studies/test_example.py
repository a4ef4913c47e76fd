"""The example is a study that runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from shunter.studies.study import run_study
from shunter.studies.study_file import merged, read_study
from tests.studies.small import InlineEngine

EXAMPLE = Path(__file__).parents[2] / "examples" / "study.toml"


@pytest.mark.usefixtures("few_classics")
def test_the_example_runs(tmp_path: Path) -> None:
    study = read_study(EXAMPLE, tmp_path)
    # As it is, but for the time that it takes.
    short = {"training": {"steps": 1024, "eval_every": 1024}, "validation": {"windows": 2}, "report": {"windows": 2}}
    variants = {name: merged(sections, short) for name, sections in study.variants.items()}
    logs = {"busy": study.logs["busy"]}
    report = run_study(replace(study, variants=variants, logs=logs, seeds=(0,)), on=InlineEngine())
    assert report.failed == []
    assert report.variants == ["slow", "fast", "warm-start", "searched"]
    assert report.search is not None
    assert [count for count, _ in report.search.rungs] == [4, 2]
