"""``shunter operate lsf``: work beside LSF."""

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


def lsf(
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
    """Read LSF, decide by a policy, and say what it would do; or nudge LSF's own order towards it.

    Observing changes nothing and needs no rights. Nudging sets the administrators' part of absolute priorities, or
    positions in queues without them, within bounds, and undoes it at the end. It was never run beside a real LSF.

    For instance:

        shunter operate lsf --policy sjf --once

        shunter operate lsf --policy tuned.toml --config operate.toml --mode nudge
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
        "lsf", given, config=config, state=state, once=once, dry_run=dry_run, i_understand=i_understand
    )  # fmt: skip
