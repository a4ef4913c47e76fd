"""What tests of several folders need."""

from __future__ import annotations

import pytest

from shunter.comparison import combinations


@pytest.fixture
def few_classics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two classics are as good as all, and quicker."""
    monkeypatch.setattr(combinations, "CLASSICS", ("fcfs", "saf"))
