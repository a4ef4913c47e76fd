"""An operation beside a scheduler, for tests."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shunter.execution.operating.configuration import Configured
from shunter.execution.operating.folder import OperationFolder
from shunter.execution.operating.modes import Mode
from shunter.execution.operating.neighbor import Neighbor
from shunter.execution.operating.operation import Operation
from shunter.execution.operating.undoing import undo_all


class Beside:
    """An operation in this process, or one of its own, with a folder of its own."""

    def __init__(self, neighbor: Neighbor, environment: Mapping[str, str], path: Path) -> None:
        self.neighbor, self._environment = neighbor, environment
        self.folder = OperationFolder(path / "state")
        self.config = path / "operate.toml"
        self.said: list[str] = []
        self.process: subprocess.Popen[str] | None = None

    def make(
        self,
        mode: str = "nudge",
        *,
        is_dry: bool = False,
        ceiling: Mode = Mode.ENFORCE,
        **said: Any,  # noqa: ANN401 - of the configuration
    ) -> Operation:
        """Returns an operation; its folder is locked by nobody."""
        self.folder.make()
        # A busy machine must not make the fallback decide: deadlines have tests of their own, and so has side work.
        quiet = {"eta_every_s": None, "counterfactual_every_s": None}
        told = {"policy": "sjf", "mode": mode, "deadline_s": 30.0, **quiet, **said}
        configured = Configured(None, told, ceiling)
        return Operation(self.neighbor, configured, self.folder, is_dry=is_dry, tell=self.said.append)

    def start(self, *words: str, mode: str = "nudge") -> None:
        """Starts a process of its own."""
        patient = self.folder.path.with_suffix(".toml")
        patient.write_text("deadline_s = 30\n", encoding="utf-8")
        told = [
            "operate",
            self.neighbor.name,
            "--policy=sjf",
            f"--mode={mode}",
            f"--state={self.folder.path}",
            "--period=0.3",
        ]
        told.append(f"--config={patient}")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "shunter", *told, *words],
            env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def end(self, number: signal.Signals = signal.SIGTERM) -> str:
        """Ends the process; returns what it said."""
        assert self.process is not None
        self.process.send_signal(number)
        said, _ = self.process.communicate(timeout=60)
        return said

    def audit(self) -> list[dict[str, Any]]:
        """Returns the lines of the audit."""
        return [json.loads(line) for line in self.folder.audit.read_text().splitlines()]

    def status(self) -> dict[str, Any]:
        """Returns the status."""
        told: dict[str, Any] = json.loads(self.folder.status.read_text())
        return told

    def undo(self) -> int:
        """Undoes everything; returns how many changes that took."""
        found = undo_all(self.folder, self.neighbor, is_dry=False, tell=self.said.append)
        assert (found.left, found.trouble) == (0, [])
        return len(found.changes)

    def close(self) -> None:
        """Ends the process if it still runs."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
