"""Finds the data that tests share with other projects and that a checkout does not hold."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[1]


def traces_folder() -> Path:
    """Returns the folder with job logs, which may be absent: ``$SHUNTER_TRACES``, or ``shared/traces`` beside us."""
    return Path(os.environ.get("SHUNTER_TRACES") or PROJECT.parent / "shared" / "traces")


def trace(name: str) -> Path:
    """Returns a job log such as ``swf/lublin_256.swf.gz``; skips the test, or the module, where it is absent."""
    return _present(traces_folder() / name)


def reference_figures(name: str) -> Path:
    """Returns a file of another simulator's figures, from ``reference`` beside the logs; skips where it is absent."""
    return _present(traces_folder().parent / "reference" / name)


def _present(path: Path) -> Path:
    if not path.is_file():
        pytest.skip(f"{path.name} is not in {path.parent}; set SHUNTER_TRACES to the logs", allow_module_level=True)
    return path
