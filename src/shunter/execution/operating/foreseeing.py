"""The queue beside which an operation works, as a state from which start times are foreseen."""

from __future__ import annotations

import json

from shunter.errors import InputError
from shunter.execution.operating.audit import audit_lines, read_input
from shunter.execution.operating.folder import OperationFolder
from shunter.model.state import State


def state_of_operation(folder: OperationFolder) -> tuple[State, int]:
    """Returns what the latest decision of an operation rested on, and how many jobs that wait are left out of it.

    The settings of the state are those of the site's own policy, as the operation has them.

    Raises:
        InputError: There is no operation, it has decided nothing yet, or what it decided on is not kept.
    """
    try:
        told = json.loads(folder.status.read_text(encoding="utf-8"))
        words, waiting = dict(told["site_words"]), sum(told.get("waiting_for", {}).values())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{folder.status}: cannot be read; has an operation begun here?") from None
    digest = ""
    for line in audit_lines(folder.audit):
        digest = line.get("input_sha256") or digest
    if not digest:
        raise InputError(f"{folder.audit}: nothing has been decided yet; when jobs wait, ask again")
    file = folder.inputs / f"{digest}.json.gz"
    if not file.exists():
        raise InputError(f"{file}: is not kept; give the operation room for what it decides on with inputs_mb")
    picture = read_input(file)
    return State(picture.workload, picture.cluster, picture.snapshot, words), max(0, waiting - len(picture.candidates))
