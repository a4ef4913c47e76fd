"""Queues for tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.execution.box import Box


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    """A queue with two cores whose daemon runs."""
    box = Box(tmp_path / "queue")
    box.start()
    yield box
    box.stop()
