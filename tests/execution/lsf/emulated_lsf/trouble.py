"""What an emulated LSF can be told to do wrong: be down, be dead, hang, be slow, or talk nonsense."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

MOST_S = 600.0


def meet(folder: Path, program: str) -> int | None:
    """Does what a program was told to do wrong; returns an exit code if that is all it does."""
    for name in (program, "all"):
        told = _told(folder / f"trouble.{name}")
        kind = told.get("kind")
        if kind == "slow":
            time.sleep(float(str(told["seconds"])))
        elif kind == "hang":
            time.sleep(MOST_S)
        elif kind == "down":
            # As LSF's own programs do, it says so and waits until LSF is there again.
            print("LSF is down. Please wait ...", file=sys.stderr, flush=True)
            while _told(folder / f"trouble.{name}").get("kind") == "down":
                time.sleep(0.05)
        elif kind == "dead":
            print("Cannot connect to LSF. Please wait ...", file=sys.stderr)
            print("batch daemon is not responding", file=sys.stderr)
            return 255
        elif kind == "garbage":
            sys.stdout.write(str(told["text"]))
            return 0
        elif kind == "refuse":
            print(told["text"], file=sys.stderr)
            return 255
    return None


def _told(path: Path) -> dict[str, object]:
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}
