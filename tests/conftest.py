"""What tests of several folders need."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

from shunter.comparison import combinations
from tests.browser import chromium as chromium
from tests.browser import open_page as open_page

# A landing must not depend on luck, so the ordinary run draws the same examples every time; `make soak` draws new ones.
PATIENT = [HealthCheck.too_slow, HealthCheck.differing_executors]
settings.register_profile("fixed", deadline=None, suppress_health_check=PATIENT, derandomize=True)
settings.register_profile("soak", deadline=None, suppress_health_check=PATIENT, derandomize=False, database=None)
settings.load_profile("fixed")


@pytest.fixture
def few_classics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two classics are as good as all, and quicker."""
    monkeypatch.setattr(combinations, "CLASSICS", ("fcfs", "saf"))
