"""What tests share: data that a checkout does not hold, and how many examples a property test draws."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import settings

PROJECT = Path(__file__).resolve().parents[1]
FEWER: Final = 12
"""Without ``--all`` a property test draws only one in so many of its examples."""
FEWEST: Final = 3

runs_all = False
"""Whether pytest was called with ``--all``; `tests.conftest` sets it before any test module is imported."""


def examples(count: int, **others: Any) -> settings:  # noqa: ANN401 - other settings of Hypothesis
    """Decorates a property test with how many examples it draws; without ``--all`` it draws only a few of them."""
    return settings(max_examples=count if runs_all else max(FEWEST, count // FEWER), **others)


def traces_folder() -> Path:
    """Returns the folder with job logs, which may be absent: ``$SHUNTER_TRACES``, or ``shared/traces`` beside us."""
    return Path(os.environ.get("SHUNTER_TRACES") or PROJECT.parent / "shared" / "traces")


def trace(name: str) -> Path:
    """Returns a job log such as ``swf/lublin_256.swf.gz``; skips the test where it is absent, for one reason."""
    folder = traces_folder()
    if not (folder / name).is_file():
        pytest.skip(f"job logs are not in {folder}; set SHUNTER_TRACES to the folder with the published logs")
    return folder / name
