"""A service for tests that change nothing of it, and small snapshots."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.service.talking import Talk, serving


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    """A client of a service on a Unix socket, with sjf and fcfs."""
    with serving(socket_path=Path(tmp_path_factory.mktemp("serve")) / "s.sock") as found:
        yield found


@pytest.fixture
def state() -> dict[str, Any]:
    """Eight cores, all in use; three jobs wait, the last one is the shortest."""
    common = {"state": "waiting", "tasks": 2}
    return {
        "schema": "shunter.state/1",
        "now_s": 1000,
        "cluster": "8",
        "jobs": [
            {"job_id": 1, "state": "running", "submit_s": 0, "start_s": 0, "requested_s": 2000, "tasks": 8,
             "placed": [[0, 8]]},
            {**common, "job_id": 2, "submit_s": 700, "requested_s": 900},
            {**common, "job_id": 3, "submit_s": 800, "requested_s": 500},
            {**common, "job_id": 4, "submit_s": 900, "requested_s": 100},
        ],
    }  # fmt: skip


@pytest.fixture
def free_state(state: dict[str, Any]) -> dict[str, Any]:
    """The same without the job that runs, on two nodes with names: four of six cores are asked for."""
    nodes = "".join(f'[[nodes]]\nname = "n{number}"\ncores = 3\n' for number in (1, 2))
    return {**state, "cluster": nodes, "jobs": state["jobs"][1:]}
