"""What the verbs that work beside a scheduler have in common: their options, and how an operation begins."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

from shunter.checks import TIME
from shunter.cli.options import duration
from shunter.cli.parsing import Exit, Option, echo
from shunter.errors import InputError, visible
from shunter.execution.operating.stopping import signals_caught

NAMES: Final = {"slurm": "Slurm", "lsf": "LSF"}
"""How people call the schedulers."""

PolicyOption = Annotated[
    str | None,
    Option(metavar="NAME", show_default="the file's, or fcfs", help="Who orders the queue ('shunter policies')."),
]
ModeOption = Annotated[
    str, Option(metavar="MODE", help="observe, nudge or enforce: how far to go at most, whatever the file says.")
]
ConfigOption = Annotated[
    str | None, Option(metavar="FILE", show_default="none", help="A TOML file; what it says is followed at once.")
]
StateOption = Annotated[
    str | None,
    Option(
        metavar="FOLDER", show_default="~/.local/state/shunter/operate-NAME",
        help="Where the lock, the journal, the audit and the status are.",
    ),
]  # fmt: skip
DispatchOption = Annotated[str | None, Option(metavar="NAME", show_default="easy", help="The dispatch rule.")]
EstimateOption = Annotated[
    str | None,
    Option(metavar="NAME", show_default="requested", help="Run times that the policy sees; 'posterior' learns."),
]
HistoryOption = Annotated[
    str | None,
    Option(metavar="LOG", show_default="none", help="A log of sacct, or lsb.acct, from which estimates learn."),
]
PeriodOption = Annotated[
    float | None, Option(metavar=TIME, parser=duration, show_default="30 s", help="From reading to reading.")
]
OnceOption = Annotated[bool, Option("--once", help="Make one cycle and end; its changes stay until the next.")]
DryRunOption = Annotated[
    bool, Option("--dry-run", help="Print the exact commands instead of running those that change something.")
]
UnderstandOption = Annotated[bool, Option("--i-understand", help="Needed for enforce: jobs are bound to nodes.")]


def operate_beside(
    scheduler: str,
    given: Mapping[str, Any],
    *,
    config: str | None,
    state: str | None,
    once: bool,
    dry_run: bool,
    i_understand: bool,
) -> None:
    """Works beside a scheduler until it is stopped.

    Args:
        scheduler: Its name.
        given: Fields of the configuration that the command line names; None: it does not.
        config: The file, if there is one.
        state: The folder, if one is named.
        once: Whether one cycle is all.
        dry_run: Whether commands are only told.
        i_understand: Whether jobs may be bound to nodes.

    Raises:
        Exit: Not everything could be undone.
        InputError: Something that was given is wrong.
    """
    # What comes next takes a second to import, in which a signal is not to be lost.
    with signals_caught() as stopping:
        from shunter.execution.neighbors import neighbor_of
        from shunter.execution.operating.configuration import Configured
        from shunter.execution.operating.folder import OperationFolder, usual_folder
        from shunter.execution.operating.modes import Mode, mode_of
        from shunter.execution.operating.operation import Operation

        ceiling = mode_of(str(given["mode"]))
        if ceiling == Mode.ENFORCE and not i_understand:
            raise InputError("--mode enforce binds jobs to nodes; add --i-understand if that is what you want")
        words = {name: value for name, value in given.items() if value is not None}
        configured = Configured(Path(config) if config else None, words, ceiling)
        folder = OperationFolder(Path(state) if state else usual_folder(scheduler))
        folder.make()
        neighbor = neighbor_of(scheduler, configured.now)
        with folder.locked():
            operation = Operation(neighbor, configured, folder, is_dry=dry_run, tell=lambda line: echo(visible(line)))
            what = f"policy {configured.now.policy}, mode {configured.mode.word}{', dry run' if dry_run else ''}"
            echo(visible(f"Beside {NAMES[scheduler]}: {what}; {folder.path}"))
            stopping.attach(operation.stop, operation.wake)
            if not operation.run(once=once):
                raise Exit(1)
