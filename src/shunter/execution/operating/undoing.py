"""Undoing without a daemon: what the journal tells, where the present value is still ours."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from shunter.execution.operating.change import Change
from shunter.execution.operating.configuration import Configuration
from shunter.execution.operating.folder import OperationFolder
from shunter.execution.operating.hand import Hand
from shunter.execution.operating.neighbor import Neighbor
from shunter.execution.operating.site import SiteError
from shunter.execution.operating.undo_journal import UndoJournal, journal_lines

TRY_S: Final = 30.0
"""How long it is tried while the scheduler does not answer."""
AGAIN_S: Final = 1.0


def scheduler_of(folder: OperationFolder) -> tuple[str, str] | None:
    """Returns the name of the scheduler that a journal was written beside, and the folder of its programs."""
    head = next((line for line in journal_lines(folder) if line.get("op") == "head"), None)
    return (str(head["scheduler"]), str(head["programs"])) if head else None


def undo_all(
    folder: OperationFolder, neighbor: Neighbor, *, is_dry: bool, tell: Callable[[str], None]
) -> tuple[list[Change], int]:
    """Undoes everything that a journal tells; returns the changes, and how many jobs are still changed.

    Jobs that run stay in the journal: a site factor weighs nothing then, but they may wait again.

    Args:
        folder: Locked by this process.
        neighbor: Speaks to the scheduler.
        is_dry: Whether commands are only told.
        tell: Takes a line for people.

    Raises:
        InputError: The journal cannot be read.
    """
    journal = UndoJournal(folder, neighbor.name, (scheduler_of(folder) or ("", ""))[1])
    hand = Hand(neighbor, journal, Configuration(), lambda: True, is_dry)
    until = time.monotonic() + TRY_S
    made: list[Change] = []
    while journal.all:
        try:
            site = neighbor.read(with_knobs=True)
            hand.forget(site)
            changes = hand.undo(site)
            made += [change for change in changes if change.applied or is_dry]
            failed = [change for change in changes if change.trouble]
            if not failed:
                return made, 0
            tell(f"job {failed[0].job.id} was not restored: {failed[0].trouble}")
        except SiteError as error:
            tell(f"{neighbor.name} was not read: {error}")
        if time.monotonic() > until:
            return made, len(journal)
        time.sleep(AGAIN_S)
    return made, 0
