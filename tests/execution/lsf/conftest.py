"""An emulated LSF for the tests beside one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shunter.execution.lsf.neighbor import Lsf
from shunter.execution.lsf.programs import Programs
from tests.execution.lsf.emulation import EmulatedLsf
from tests.execution.operating.beside import Beside


@pytest.fixture
def lsf(tmp_path: Path) -> EmulatedLsf:
    """An emulated LSF without jobs."""
    return EmulatedLsf(tmp_path)


@pytest.fixture
def beside(lsf: EmulatedLsf, tmp_path: Path) -> Iterator[Beside]:
    """An operation beside it, not begun yet."""
    one = Beside(Lsf(Programs(str(lsf.programs), timeout_s=20)), lsf.environment, tmp_path)
    yield one
    one.close()
