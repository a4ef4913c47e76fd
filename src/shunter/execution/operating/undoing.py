"""Undoing without a daemon: what the journal tells, where the present value is still ours."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from shunter.errors import InputError
from shunter.execution.operating.change import Change
from shunter.execution.operating.configuration import Configuration
from shunter.execution.operating.folder import OperationFolder
from shunter.execution.operating.hand import Hand
from shunter.execution.operating.modes import Mode
from shunter.execution.operating.neighbor import Knob, Neighbor
from shunter.execution.operating.site import SiteError
from shunter.execution.operating.status import amend_status
from shunter.execution.operating.undo_journal import UndoJournal, journal_lines

TRY_S: Final = 30.0
"""How long it is tried while the scheduler does not answer."""
AGAIN_S: Final = 1.0
SCHEDULERS: Final = {
    **dict.fromkeys((Knob.SITE_FACTOR.value, Knob.NICE.value), "slurm"),
    **dict.fromkeys((Knob.APS.value, Knob.POSITION.value), "lsf"),
}
"""Whose knobs these are."""


@dataclass
class Undone:
    """What came of undoing."""

    changes: list[Change] = field(default_factory=list)
    """Those that were made, or would be."""
    left: int = 0
    """How many jobs are still changed that should not be."""
    held: int = 0
    """How many the journal still tells of: also those that run."""
    trouble: list[str] = field(default_factory=list)
    """What is wrong with the journal: something may still be changed of which it does not tell."""


def scheduler_of(folder: OperationFolder) -> tuple[str, str] | None:
    """Returns the name of the scheduler that a journal was written beside, and the folder of its programs.

    Without a head, the knobs tell the scheduler, and its programs are on the search path. None: there is no journal.

    Raises:
        InputError: Nothing in the journal tells the scheduler.
    """
    if not folder.journal.exists():
        return None
    lines = [line for _, _, line in journal_lines(folder) if isinstance(line, dict)]
    for line in lines:
        if line.get("op") == "head" and {"scheduler", "programs"} <= line.keys():
            return str(line["scheduler"]), str(line["programs"])
    for line in lines:
        if line.get("op") == "set" and str(line.get("knob")) in SCHEDULERS:
            return SCHEDULERS[str(line["knob"])], ""
    what = f"{folder.journal}:1: is no head of a journal, and no other line tells beside which scheduler it is"
    raise InputError(f"{what}; look whether a job is still changed, and remove the file")


def undo_all(folder: OperationFolder, neighbor: Neighbor, *, is_dry: bool, tell: Callable[[str], None]) -> Undone:
    """Undoes everything that can be read of a journal, though lines make no sense or cannot be written.

    Jobs that run stay in the journal: a site factor weighs nothing then, but they may wait again.

    Args:
        folder: Locked by this process.
        neighbor: Speaks to the scheduler.
        is_dry: Whether commands are only told.
        tell: Takes a line for people.

    Raises:
        InputError: The journal cannot be read at all.
    """
    journal = UndoJournal(folder, neighbor.name, (scheduler_of(folder) or ("", ""))[1], is_lenient=True)
    hand = Hand(neighbor, journal, Configuration(), lambda: True, is_dry)
    until = time.monotonic() + TRY_S
    found = Undone(trouble=journal.trouble)
    while journal.all:
        try:
            site = neighbor.read(with_knobs=True)
            hand.forget(site)
            changes = hand.undo(site)
            found.changes += [change for change in changes if change.applied or is_dry]
            failed = [change for change in changes if change.trouble]
            if not failed:
                break
            tell(f"job {failed[0].job.id} was not restored: {failed[0].trouble}")
        except SiteError as error:
            tell(f"{neighbor.name} was not read: {error}")
        if time.monotonic() > until:
            found.left = len(journal)
            break
        time.sleep(AGAIN_S)
    found.held = len(journal)
    if not is_dry:
        _tell_status(folder, found)
    return found


def _tell_status(folder: OperationFolder, found: Undone) -> None:
    """Lets the status and the metrics of an operation that has ended say what is changed now, and that none works."""
    # They are for people to look at: what is undone is undone without them.
    with suppress(OSError, ValueError, TypeError, AttributeError):
        undone = json.loads(folder.status.read_text(encoding="utf-8")).get("undone", 0) + len(found.changes)
        amend_status(folder, {"held": found.held, "undone": undone, "up": 0, "mode": 0, "mode_word": Mode.OFF.word})
