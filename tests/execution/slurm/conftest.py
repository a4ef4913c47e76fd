"""A real Slurm for the tests that need one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shunter.execution.slurm.neighbor import Slurm
from shunter.execution.slurm.programs import Programs
from tests.execution.operating.beside import Beside
from tests.execution.slurm.real_slurm import RealSlurm, why_not


@pytest.fixture(scope="session")
def one_slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealSlurm]:
    """A Slurm that all tests of this process share: it takes seconds to start."""
    if reason := why_not():
        pytest.skip(reason)
    # Paths of sockets are short.
    cluster = RealSlurm(Path(tmp_path_factory.mktemp("slurm")))
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def slurm(one_slurm: RealSlurm, monkeypatch: pytest.MonkeyPatch) -> Iterator[RealSlurm]:
    """A real Slurm without jobs, which this process speaks to."""
    monkeypatch.setenv("SLURM_CONF", one_slurm.environment["SLURM_CONF"])
    yield one_slurm
    one_slurm.clear()


@pytest.fixture
def beside(slurm: RealSlurm, tmp_path: Path) -> Iterator[Beside]:
    """An operation beside it, not begun yet."""
    one = Beside(Slurm(Programs(timeout_s=3)), slurm.environment, tmp_path)
    yield one
    one.close()
