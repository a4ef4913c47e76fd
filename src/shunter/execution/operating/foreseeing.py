"""The queue beside which an operation works, as a state from which start times are foreseen."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from typing import Any, Final

from shunter.errors import InputError
from shunter.execution.operating.audit import IDLE, audit_lines, read_input
from shunter.execution.operating.folder import OperationFolder
from shunter.execution.operating.picture import Picture
from shunter.metrics.labels import brief_seconds
from shunter.model.state import State

NEAR_S: Final = 0.001
"""The core counts milliseconds."""


def state_of_operation(folder: OperationFolder) -> tuple[State, int]:
    """Returns the latest reading of an operation, and how many jobs that wait are left out of it.

    The settings of the state are those of the site's own policy, as the operation has them.

    Raises:
        InputError: There is no operation, it has read nothing yet, there is no job at all, or readings are not kept.
    """
    status = read_status(folder)
    picture = latest_picture(folder, status, audit_lines(folder.audit))
    words, waiting = dict(status["site_words"]), sum(status.get("waiting_for", {}).values())
    return State(picture.workload, picture.cluster, picture.snapshot, words), max(0, waiting - len(picture.candidates))


def read_status(folder: OperationFolder) -> dict[str, Any]:
    """Returns the status of an operation.

    Raises:
        InputError: There is none.
    """
    try:
        told: dict[str, Any] = json.loads(folder.status.read_text(encoding="utf-8"))
        dict(told["site_words"])
        sum(told.get("waiting_for", {}).values())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{folder.status}: cannot be read; has an operation begun here?") from None
    return told


def latest_picture(folder: OperationFolder, status: Mapping[str, Any], lines: Iterable[Mapping[str, Any]]) -> Picture:
    """Returns what was decided on last, or looked at.

    Args:
        folder: Of the operation.
        status: Its status.
        lines: Of its audit, the latest ones at least.

    Raises:
        InputError: Nothing has been read yet, there is no job at all, or readings are not kept.
    """
    latest: Mapping[str, Any] = {}
    for line in lines:
        if line.get("kind") is None and "candidates" in line:
            latest = line
    if not latest:
        raise InputError(f"{folder.audit}: nothing has been decided yet; ask again after its next cycle")
    digest = latest.get("input_sha256")
    file = folder.inputs / (f"{digest}.json.gz" if digest else IDLE)
    picture = read_input(file) if file.exists() else None
    if picture is not None and not digest and picture.site.now_s < latest["time_s"] - NEAR_S:
        # The file is of an earlier reading, since which the last jobs have gone.
        picture = None
    if picture is None and not digest and not latest["candidates"] and not status.get("waiting_for"):
        ago = brief_seconds(max(0.0, time.time() - latest["time_s"]))
        raise InputError(f"{folder.audit}: {ago} ago nobody waited or ran; a new job that fits starts at once")
    if picture is None:
        raise InputError(f"{file}: is not kept; give the operation room for what it decides on with inputs_mb")
    return picture
