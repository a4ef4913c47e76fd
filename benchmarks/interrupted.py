"""A study of twenty short trainings that is interrupted and killed, against one that is left alone.

    PYTHONPATH=. python benchmarks/interrupted.py        about four minutes on one core

`shunter study benchmarks/studies/interrupted.toml` is begun, interrupted by Ctrl-C after a quarter of its trainings,
begun again, killed (SIGKILL) after half of them, and begun a third time to its end. Another folder gets the same study
without interruptions. Then nothing may have been trained twice, and all weights and figures must be the same to the
bit. Ends with exit code 1 if they are not.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

STUDY: Final = Path(__file__).parent / "studies" / "interrupted.toml"
TRAININGS: Final = 20


def results(folder: Path) -> dict[str, int]:
    """Returns when each training that has ended did, by its folder in the study's."""
    found = folder.rglob("result.json")
    return {str(path.parent.relative_to(folder)): path.stat().st_mtime_ns for path in found}


def study(folder: Path, *, until: int | None = None, send: int = 0) -> int:
    """Runs the study; returns its exit code.

    Args:
        folder: Where it goes.
        until: How many trainings end before it gets a signal; None: it gets none.
        send: The signal.
    """
    command = [sys.executable, "-m", "shunter", "study", str(STUDY), "--out", str(folder), "--json"]
    alone = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, env=alone, stdout=subprocess.DEVNULL) as process:
        while until is not None and process.poll() is None and len(results(folder)) < until:
            time.sleep(0.05)
        if until is not None and process.poll() is None:
            # A moment later, so that the next training is under way.
            time.sleep(2.0)
            process.send_signal(send)
        return process.wait()


def weights(folder: Path) -> dict[str, str]:
    """Returns the hash of what each training learned, by its folder in the study's."""
    found = sorted(folder.rglob("policy.safetensors"))
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def figures(folder: Path) -> list[tuple[Any, ...]]:
    """Returns what the runs of a study came to."""
    runs = json.loads((folder / "study.json").read_text())["runs"]
    return [(run["variant"], run["seed"], run["status"], str(run["against"])) for run in runs]


def main() -> None:
    """Interrupts, kills and compares."""
    with tempfile.TemporaryDirectory() as place:
        broken, whole = Path(place, "broken"), Path(place, "whole")
        before: dict[str, int] = {}
        for until, send in ((TRAININGS // 4, signal.SIGINT), (TRAININGS // 2, signal.SIGKILL), (None, 0)):
            code = study(broken, until=until, send=send)
            now = results(broken)
            again = [name for name, ended in before.items() if now[name] != ended]
            name = "left alone" if until is None else signal.Signals(send).name
            print(f"{name}: exit code {code}; {len(now)} of {TRAININGS} have ended, {len(again)} were trained twice")
            before = now
            if again:
                raise SystemExit(1)
        study(whole)
        same = {
            "weights": weights(broken) == weights(whole) and len(weights(whole)) >= TRAININGS,
            "figures": figures(broken) == figures(whole) and len(figures(whole)) == TRAININGS,
        }
        for what, is_same in same.items():
            print(f"{what} {'are the same to the bit' if is_same else 'DIFFER'} as without interruptions")
        raise SystemExit(0 if all(same.values()) else 1)


if __name__ == "__main__":
    main()
