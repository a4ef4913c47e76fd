"""``shunter operate undo`` and ``status``: without the daemon."""

from __future__ import annotations

import json as json_
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from shunter.cli.commands import EXIT_DIFFERENT
from shunter.cli.operate_options import StateOption
from shunter.cli.parsing import Exit, Option, echo
from shunter.errors import InputError, visible
from shunter.execution.operating.folder import NEIGHBORS, OperationFolder, usual_folder


def _folder(state: str | None) -> OperationFolder:
    """Returns the folder that is named, or the one that there is where folders usually are."""
    usual = [usual_folder(name) for name in NEIGHBORS]
    found = [Path(state)] if state else [path for path in usual if path.is_dir()] or usual[:1]
    if len(found) > 1:
        both = " and ".join(map(str, found))
        raise InputError(f"there are several operations, in {both}; name one with --state")
    if not found[0].is_dir():
        raise InputError(f"{found[0]}: there is no such folder; name that of the operation with --state")
    return OperationFolder(found[0])


def undo(
    state: StateOption = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Print the exact commands, and run none of them.")] = False,
) -> None:
    """Undo all that an operation has changed and left, for instance after it was killed.

    A job gets back the value from before, where its present one is still Shunter's. Exit 1: the scheduler does not
    answer, or refuses it. Exit 2: the journal is damaged or cannot be written; what it tells is undone all the same.

    For instance:

        shunter operate undo --state /var/lib/shunter
    """
    from shunter.execution.neighbors import neighbor_of
    from shunter.execution.operating.configuration import Configuration
    from shunter.execution.operating.undoing import scheduler_of, undo_all
    from shunter.metrics.labels import counted

    folder = _folder(state)
    about = scheduler_of(folder)
    if about is None:
        echo("Nothing is changed: there is no journal")
        return
    neighbor = neighbor_of(about[0], Configuration(programs=about[1]))
    with folder.locked():
        found = undo_all(folder, neighbor, is_dry=dry_run, tell=lambda line: echo(visible(line), err=True))
    if dry_run:
        for words in [words for change in found.changes for words in change.commands]:
            echo(visible(" ".join(words)))
    else:
        echo(f"Undone: {counted(len(found.changes), 'change')}")
    if found.trouble:
        raise InputError("; ".join(found.trouble))
    if found.left:
        raise Exit(EXIT_DIFFERENT)


def status(
    state: StateOption = None,
    json: Annotated[bool, Option("--json", help="Print one JSON object instead of text.")] = False,
) -> None:
    """Show what an operation does, as of its latest cycle.

    For instance:

        shunter operate status --state /var/lib/shunter
    """
    folder = _folder(state)
    process = folder.process()
    try:
        told: dict[str, Any] = json_.loads(folder.status.read_text(encoding="utf-8"))
        lines = [*_work_lines(told, process, folder), *_found_lines(told)]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{folder.status}: cannot be read; has an operation begun here?") from None
    if json:
        echo(json_.dumps({**told, "process": process}, indent=2))
        return
    for line in lines:
        echo(visible(line))


def _work_lines(told: dict[str, Any], process: str | None, folder: OperationFolder) -> Iterator[str]:
    """Yields who works, and what was done so far."""
    from shunter.metrics.labels import brief_seconds

    if process is not None:
        yield f"Process   {process} works here"
    elif told["held"]:
        yield f"Process   none works here; undo what is changed with: shunter operate undo --state {folder.path}"
    else:
        yield "Process   none works here"
    # A status of an earlier version tells only when it was written.
    read_s = told.get("read_s", told["time_s"])
    yield f"Reading   {'none yet' if read_s is None else f'{brief_seconds(max(0.0, time.time() - read_s))} ago'}"
    off = "; switched off" if told["is_switched_off"] else ""
    yield f"Mode      {told['mode_word']} (allowed: {told['allowed_mode']}){off}"
    yield f"Policy    {told['policy']} ({told['policy_sha256'][:12]})"
    yield f"Queue     {told.get('candidates', 0):,} may start, {told.get('running', 0):,} run"
    yield f"Changed   {told['held']:,} now; {told['changes']:,} made, {told['undone']:,} undone"
    yield f"Decisions {told['decisions']:,}, of which somebody stood in for {told['fallbacks']:,}"
    for name, spent in told["commands"].items():
        mean_ms = 1000 * spent["seconds"] / max(1, spent["runs"])
        yield f"          {name}: {spent['runs']:,} times, {mean_ms:.0f} ms each, {spent['failures']:,} failed"


def _found_lines(told: dict[str, Any]) -> Iterator[str]:
    """Yields what was found out beside the cycles, and what is wrong."""
    # A status of an earlier version has none of these.
    for name, lines in (("What if", told.get("counterfactual")), ("Starts", told.get("eta"))):
        for number, line in enumerate((lines or {}).get("lines", ())):
            yield f"{'' if number else name:<9} {line}"
    trouble = (
        *(told["configuration_trouble"], told["last_failed_read"], told["last_fallback"]),
        *(told.get("last_failed_side_work", ""), *told.get("unknown_names", ())),
    )
    for line in filter(None, trouble):
        yield f"Trouble   {line}"
