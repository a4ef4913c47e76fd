"""Few classics, so that tests of advice are quick."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.comparison import combinations
from tests.advice.small import FEW


@pytest.fixture(autouse=True)
def few_classics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(combinations, "CLASSICS", FEW)


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Advice goes to a folder of the present one: pages name it, and are the same wherever it is."""
    monkeypatch.chdir(tmp_path)
