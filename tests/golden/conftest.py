"""Every golden schedule is asked of the reference simulator and of the core."""

from __future__ import annotations

import pytest

from tests.properties.core_adapter import run_core
from tests.properties.observed import Simulator, run_reference


@pytest.fixture(params=["reference", "core"])
def simulator(request: pytest.FixtureRequest) -> Simulator:
    """Returns one of the two simulators."""
    if request.param == "reference":
        return run_reference
    return run_core
