"""``shunter operate slurm``: work beside Slurm."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from shunter.checks import TIME
from shunter.cli.options import TrustOption, duration
from shunter.cli.parsing import Exit, Option, echo
from shunter.errors import InputError, visible

StateOption = Annotated[
    str | None,
    Option(
        metavar="FOLDER", show_default="~/.local/state/shunter/operate-slurm",
        help="Where the lock, the journal, the audit and the status are.",
    ),
]  # fmt: skip


def slurm(
    policy: Annotated[
        str | None,
        Option(metavar="NAME", show_default="the file's, or fcfs", help="Who orders the queue ('shunter policies')."),
    ] = None,
    mode: Annotated[
        str, Option(metavar="MODE", help="observe, nudge or enforce: how far to go at most, whatever the file says.")
    ] = "observe",
    config: Annotated[
        str | None, Option(metavar="FILE", show_default="none", help="A TOML file; what it says is followed at once.")
    ] = None,
    state: StateOption = None,
    dispatch: Annotated[str | None, Option(metavar="NAME", show_default="easy", help="The dispatch rule.")] = None,
    estimate: Annotated[
        str | None,
        Option(metavar="NAME", show_default="requested", help="Run times that the policy sees; 'posterior' learns."),
    ] = None,
    history: Annotated[
        str | None, Option(metavar="LOG", show_default="none", help="A log of sacct, from which estimates learn.")
    ] = None,
    period: Annotated[
        float | None, Option(metavar=TIME, parser=duration, show_default="30 s", help="From reading to reading.")
    ] = None,
    once: Annotated[bool, Option("--once", help="Make one cycle and end; its changes stay until the next.")] = False,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Print the exact commands instead of running those that change something.")
    ] = False,
    i_understand: Annotated[
        bool, Option("--i-understand", help="Needed for enforce: jobs are bound to nodes.")
    ] = False,
    trust: TrustOption = False,
) -> None:
    """Read Slurm, decide by a policy, and say what it would do; or nudge Slurm's own order towards it.

    Observing changes nothing and needs no rights. Nudging sets SiteFactor, within bounds, and undoes it at the end.

    For instance:

        shunter operate slurm --policy sjf --once

        shunter operate slurm --policy tuned.toml --config operate.toml --mode nudge
    """
    from shunter.execution.operating.configuration import Configured
    from shunter.execution.operating.folder import OperationFolder, usual_folder
    from shunter.execution.operating.modes import Mode, mode_of
    from shunter.execution.operating.operation import Operation
    from shunter.execution.operating.running import run_until_stopped
    from shunter.execution.slurm.neighbor import Slurm
    from shunter.execution.slurm.programs import Programs

    ceiling = mode_of(mode)
    if ceiling == Mode.ENFORCE and not i_understand:
        raise InputError("--mode enforce binds jobs to nodes; add --i-understand if that is what you want")
    given: dict[str, Any] = {
        "policy": policy,
        "mode": mode,
        "dispatch": dispatch,
        "estimate": estimate,
        "history": history,
        "period_s": period,
    }
    words = {name: value for name, value in given.items() if value is not None}
    configured = Configured(Path(config) if config else None, words, ceiling)
    folder = OperationFolder(Path(state) if state else usual_folder("slurm"))
    folder.make()
    neighbor = Slurm(Programs(configured.now.programs, configured.now.timeout_s))
    with folder.locked():
        operation = Operation(neighbor, configured, folder, is_dry=dry_run, tell=lambda line: echo(visible(line)))
        what = f"policy {configured.now.policy}, mode {configured.mode.word}{', dry run' if dry_run else ''}"
        echo(visible(f"Beside Slurm: {what}; {folder.path}"))
        if not run_until_stopped(operation, once=once):
            raise Exit(1)
