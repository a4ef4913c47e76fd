"""The verbs that work beside a scheduler: all have the same options, and begin an operation in the same way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final

from shunter.checks import TIME
from shunter.cli.options import TrustOption, duration, given_text
from shunter.cli.parsing import Exit, Option, echo
from shunter.errors import InputError, visible
from shunter.execution.operating.stopping import signals_caught

NAMES: Final = {"slurm": "Slurm", "lsf": "LSF"}
"""How people call the schedulers."""

PolicyOption = Annotated[
    str | None,
    Option(
        metavar="NAME",
        parser=given_text,
        show_default="the file's, or fcfs",
        help="Who orders the queue ('shunter policies').",
    ),
]
ModeOption = Annotated[
    str, Option(metavar="MODE", help="off, observe, nudge or enforce: how far to go at most, whatever the file says.")
]
ConfigOption = Annotated[
    str | None,
    Option(
        metavar="FILE", parser=given_text, show_default="none", help="A TOML file; what it says is followed at once."
    ),
]
StateOption = Annotated[
    str | None,
    Option(
        metavar="FOLDER", parser=given_text, show_default="~/.local/state/shunter/operate-NAME",
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


def verb_beside(scheduler: str, text: str) -> Callable[..., None]:
    """Returns the verb that works beside a scheduler.

    Args:
        scheduler: Its name.
        text: What the help says.
    """

    def operate(
        policy: PolicyOption = None,
        mode: ModeOption = "observe",
        config: ConfigOption = None,
        state: StateOption = None,
        dispatch: DispatchOption = None,
        estimate: EstimateOption = None,
        history: HistoryOption = None,
        period: PeriodOption = None,
        once: OnceOption = False,
        dry_run: DryRunOption = False,
        i_understand: UnderstandOption = False,
        trust: TrustOption = False,
    ) -> None:
        given = {"policy": policy, "mode": mode, "dispatch": dispatch, "estimate": estimate, "history": history}
        words = {name: value for name, value in {**given, "period_s": period}.items() if value is not None}
        _operate(scheduler, words, config, state, once=once, is_dry=dry_run, is_understood=i_understand)

    operate.__doc__ = text
    return operate


def _operate(
    scheduler: str,
    words: Mapping[str, Any],
    config: str | None,
    state: str | None,
    *,
    once: bool,
    is_dry: bool,
    is_understood: bool,
) -> None:
    """Works beside a scheduler until it is stopped.

    Args:
        scheduler: Its name.
        words: Fields of the configuration that the command line names.
        config: The file, if there is one.
        state: The folder, if one is named.
        once: Whether one cycle is all.
        is_dry: Whether commands are only told.
        is_understood: Whether jobs may be bound to nodes.

    Raises:
        Exit: Not everything could be undone, or the one cycle could not read the scheduler.
        InputError: Something that was given is wrong.
    """
    # What comes next takes a second to import, in which a signal is not to be lost.
    with signals_caught() as stopping:
        from shunter.execution.neighbors import neighbor_of
        from shunter.execution.operating.configuration import Configured
        from shunter.execution.operating.folder import OperationFolder, usual_folder
        from shunter.execution.operating.modes import Mode, mode_of
        from shunter.execution.operating.operation import Operation

        ceiling = mode_of(words["mode"])
        if ceiling == Mode.ENFORCE and not is_understood:
            raise InputError("--mode enforce binds jobs to nodes; add --i-understand if that is what you want")
        configured = Configured(Path(config) if config else None, words, ceiling)
        folder = OperationFolder(Path(state) if state else usual_folder(scheduler))
        folder.make()
        neighbor = neighbor_of(scheduler, configured.now)
        with folder.locked():
            operation = Operation(neighbor, configured, folder, is_dry=is_dry, tell=lambda line: echo(visible(line)))
            what = f"policy {configured.now.policy}, mode {configured.mode.word}{', dry run' if is_dry else ''}"
            echo(visible(f"Beside {NAMES[scheduler]}: {what}; {folder.path}"))
            stopping.attach(operation.stop, operation.wake)
            if not operation.run(once=once):
                raise Exit(1)
