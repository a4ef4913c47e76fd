"""Where the real logs lie."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def swf_folder() -> Path:
    """Returns the folder with SWF logs, which may be absent."""
    root = Path(__file__).resolve().parents[2]
    return Path(os.environ.get("SHUNTER_TRACES", root.parent / "shared" / "traces")) / "swf"


def swf_log(name: str) -> Path:
    """Returns a log, or skips the test."""
    path = swf_folder() / name
    if not path.is_file():
        pytest.skip(f"{name} is not in {path.parent}; set SHUNTER_TRACES to a folder with swf/{name}")
    return path
