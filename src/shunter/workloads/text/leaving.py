"""Jobs that were cancelled while they waited: they stay in the log, and leave the queue when it says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from shunter.workloads.text.repairs import PLACE

if TYPE_CHECKING:
    from shunter.workloads.text.repairs import Repairs

LEFT_RULE: Final = (
    "cancelled while it waited: leaves the queue then; what its user's jobs ran stands in for its run time"
)


def keep_those_that_left(frame: pl.DataFrame, left_s: pl.Expr, repairs: Repairs) -> pl.DataFrame:
    """Returns jobs of which some never ran, with ``cancel_s`` where they left the queue.

    No log tells for how long such a job would have run. Under another policy it may start before it is cancelled, so
    that it needs a run time. It is the median of what its user's jobs ran that asked for the same time; of all its
    user's jobs, if none of those ran; the request, if that is less, or if none of its user's jobs ran. A job without a
    request is not kept.

    Args:
        frame: With ``submit_s``, ``run_s`` and ``requested_s``, and ``user`` if the log names users.
        left_s: When a job left that never ran; null for all others.
        repairs: Is told of them.
    """
    is_known = (left_s >= pl.col("submit_s")) & (pl.col("requested_s") > 0)
    frame = frame.with_columns(cancel_s=pl.when(is_known).then(left_s).cast(pl.Float64))
    kept = frame.filter(pl.col("cancel_s").is_not_null())
    if kept.height == 0:
        return frame.drop("cancel_s")
    # It is no mistake of the log.
    repairs.tell(LEFT_RULE, kept.height, kept[PLACE][0], f"cancelled at {kept['cancel_s'][0]:.15g}")
    return frame.with_columns(
        run_s=pl.when(pl.col("cancel_s").is_not_null()).then(stand_in_s(frame)).otherwise("run_s")
    )


def stand_in_s(frame: pl.DataFrame) -> pl.Expr:
    """Returns how long jobs with ``cancel_s`` are taken to run, by the other jobs of their table."""
    if "user" not in frame.columns:
        return pl.col("requested_s")
    # Requests are many times as long as runs: a few such jobs would keep a small partition busy for days.
    ran_s = pl.col("run_s").filter(pl.col("cancel_s").is_null() & (pl.col("run_s") > 0))
    typical_s = pl.coalesce(ran_s.median().over("user", "requested_s"), ran_s.median().over("user"))
    return pl.min_horizontal("requested_s", pl.when(pl.col("user").is_not_null()).then(typical_s))
