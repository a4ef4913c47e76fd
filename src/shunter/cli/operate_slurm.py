"""``shunter operate slurm``: work beside Slurm."""

from __future__ import annotations

from shunter.cli.operate_options import (
    ConfigOption,
    DispatchOption,
    DryRunOption,
    EstimateOption,
    HistoryOption,
    ModeOption,
    OnceOption,
    PeriodOption,
    PolicyOption,
    StateOption,
    UnderstandOption,
    operate_beside,
)
from shunter.cli.options import TrustOption


def slurm(
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
    """Read Slurm, decide by a policy, and say what it would do; or nudge Slurm's own order towards it.

    Observing changes nothing and needs no rights. Nudging sets SiteFactor, within bounds, and undoes it at the end.

    For instance:

        shunter operate slurm --policy sjf --once

        shunter operate slurm --policy tuned.toml --config operate.toml --mode nudge
    """
    given = {
        "policy": policy,
        "mode": mode,
        "dispatch": dispatch,
        "estimate": estimate,
        "history": history,
        "period_s": period,
    }
    operate_beside(
        "slurm", given, config=config, state=state, once=once, dry_run=dry_run, i_understand=i_understand
    )  # fmt: skip
