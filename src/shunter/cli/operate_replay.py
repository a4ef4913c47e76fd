"""``shunter operate replay``: decide an audit again by another policy."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from shunter.cli.commands import EXIT_DIFFERENT
from shunter.cli.parsing import Argument, Exit, Option, echo
from shunter.cli.queue_options import JsonOption, echo_json
from shunter.errors import visible


def replay(
    audit: Annotated[str, Argument(metavar="AUDIT", help="The state folder of an operation, or its audit.jsonl.")],
    policy: Annotated[str, Option(metavar="NAME", help="The policy that decides again.")],
    dispatch: Annotated[str | None, Option(metavar="NAME", show_default="easy", help="Its dispatch rule.")] = None,
    estimate: Annotated[str | None, Option(metavar="NAME", show_default="requested", help="Its estimate.")] = None,
    against: Annotated[
        str | None,
        Option(
            metavar="NAME", show_default="the audit's own, with its dispatch and estimate", help="The policy to beat."
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Decide an audit again by another policy: agreement, and what it would have gained. Exit 1: nothing.

    For instance:

        shunter operate replay ~/.local/state/shunter/operate-slurm --policy wfp3
    """
    from shunter.execution.operating.replaying import METRICS, replay_audit

    given = {"policy": policy, "dispatch": dispatch, "estimate": estimate}
    found = replay_audit(Path(audit), {name: word for name, word in given.items() if word is not None}, against)
    if json:
        echo_json({**asdict(found), "is_better": found.is_better})
    else:
        lost = f" ({found.without_input} more are not kept any more)" if found.without_input else ""
        echo(f"Decisions  {found.decisions} decided again{lost}, {found.failures} failed")
        alike = f"first job {found.same_first:.0%}, pairs of jobs {found.same_pairs:.0%}"
        echo(f"Agreement  {alike}, starts {found.same_starts:.0%}")
        cut = f", of which {found.without_end} had not ended and run as long as they ask" if found.without_end else ""
        left = f"; {found.unfit} more fit on no nodes of the latest reading" if found.unfit else ""
        echo(f"Simulated  {found.jobs} jobs{cut}{left}")
        for side, values in found.simulated.items():
            shown = ", ".join(f"{metric} {values[metric]:,.1f}" for metric in METRICS if values[metric] is not None)
            echo(visible(f"           {found.ways[side]}: {shown}"))
        if found.logged_mean_wait_s is not None:
            echo(f"           as it was: mean wait {found.logged_mean_wait_s:,.1f} s (of those that started)")
        if found.counterfactuals:
            gained = f"in {found.counterfactuals_gained} of {found.counterfactuals} counterfactuals"
            echo(f"Audit      the policy of then gained more than the simulator's error {gained}")
        same = ", which is the same" if found.is_same else ""
        both = f"{found.ways['policy']} against {found.ways['against']}{same}"
        echo(visible(f"Promote    {'yes' if found.is_better else 'no'}: {both}"))
    if not found.is_better:
        raise Exit(EXIT_DIFFERENT)
