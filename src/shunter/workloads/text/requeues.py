"""Jobs that ran, were queued again and ran again: each run is work that the cluster did, so each is a job."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

import polars as pl

from shunter.model.conditions import waits_from_s
from shunter.model.needs import with_other_names
from shunter.workloads.text.repairs import PLACE, Repairs

REQUEUED: Final = "requeued: each of its runs is a job of its own"
_AFTER: Final = "after"


class _Run(NamedTuple):
    """One row with an id that others have too."""

    row: int
    from_s: float
    """When it started, or left without having started."""
    to_s: float
    submit_s: float
    begin_s: float | None
    started: bool


def chain_runs(frame: pl.DataFrame, repairs: Repairs) -> pl.DataFrame:
    """Returns a log in which the later runs of a job have ids of their own, such as ``1234.r1``, and follow each other.

    Rows with one id are runs of one job if they are of one user and name and each began after the one before had ended.
    A later run is submitted when the log says so, but not before the run before it has ended, and depends on that.
    Whoever waits for the end of the job waits for its last run.

    Args:
        frame: What readers make, with ``job_id``, ``submit_s``, ``run_s`` and ``logged_wait_s``.
        repairs: Is told how many jobs were queued again.
    """
    if frame["job_id"].n_unique() == frame.height:
        return frame
    ids = frame["job_id"].cast(pl.String).to_list()
    chains = [chain for runs in _candidates(frame) for chain in _chains(runs)]
    if not chains:
        return frame
    was_sorted = frame["submit_s"].is_sorted()
    first = min(chains, key=lambda chain: chain[0].row)[0].row
    repairs.tell(REQUEUED, len(chains), frame[PLACE][first], f"job {ids[first]}")
    frame = _renamed(frame, chains, ids)
    return frame.sort("submit_s", maintain_order=True) if was_sorted else frame


def _candidates(frame: pl.DataFrame) -> Iterator[list[_Run]]:
    """Returns the rows that share an id, a user and a name, in the order of their starts."""
    left_s = pl.col("cancel_s") if "cancel_s" in frame.columns else pl.lit(None, pl.Float64)
    begin_s = pl.col("begin_s") if "begin_s" in frame.columns else pl.lit(None, pl.Float64)
    start_s = pl.col("from_s") + pl.col("logged_wait_s")
    runs = frame.with_columns(waits_from_s(frame).alias("from_s")).with_row_index("row")
    who = ["job_id", *(name for name in ("user", "name") if name in frame.columns)]
    runs = runs.filter(pl.col("job_id").is_duplicated() & pl.col("job_id").is_not_null()).select(
        "row",
        *who,
        "submit_s",
        start_s=pl.coalesce(start_s, left_s),
        end_s=pl.coalesce(start_s + pl.col("run_s"), left_s),
        begin=begin_s,
        started=start_s.is_not_null(),
    )
    # Where the start is not told, nobody knows whether it ran after the others.
    runs = runs.filter(pl.col("start_s").is_not_null()).sort("start_s", maintain_order=True)
    for _, group in runs.group_by(who, maintain_order=True):
        yield [_Run(*row) for row in group.select("row", "start_s", "end_s", "submit_s", "begin", "started").rows()]


def _chains(runs: list[_Run]) -> Iterator[list[_Run]]:
    """Returns those that follow one another, as far as there are two or more; one that left is the last."""
    chain: list[_Run] = []
    for run in runs:
        if chain and not (chain[-1].started and run.from_s >= chain[-1].to_s):
            continue
        chain.append(run)
    if len(chain) > 1:
        yield chain


def _renamed(frame: pl.DataFrame, chains: list[list[_Run]], ids: list[str]) -> pl.DataFrame:
    names, last = list(ids), dict[str, str]()
    rows: list[int] = []
    times: list[tuple[float, float | None, float | None]] = []
    own: dict[int, str] = {}
    for chain in chains:
        job = ids[chain[0].row]
        for number, (before, run) in enumerate(pairwise(chain), 1):
            names[run.row] = last[job] = f"{job}.r{number}"
            came_s = max(run.submit_s, before.to_s)
            begin_s = run.begin_s if run.begin_s is not None and run.begin_s > came_s else None
            rows.append(run.row)
            times.append((came_s, run.from_s - (begin_s or came_s) if run.started else None, begin_s))
            # What it depended on at first was met before it ran for the first time.
            own[run.row] = f"afterany:{names[before.row]}"
    told = frame["depends_on"].to_list() if "depends_on" in frame.columns else [None] * frame.height
    # It has started when its first run has; all else that others wait for comes with its last.
    needs = with_other_names(told, lambda need: need.on if need.kind == _AFTER else last.get(need.on, need.on))
    needs = [own.get(row, text) for row, text in enumerate(needs)]
    columns = [name for name in ("submit_s", "logged_wait_s", "begin_s") if name in frame.columns]
    changed = [
        frame[name].scatter(rows, pl.Series(values, dtype=pl.Float64))
        for name, values in zip(columns, zip(*times, strict=True), strict=False)
    ]
    return frame.with_columns(pl.Series("job_id", names), pl.Series("depends_on", needs, dtype=pl.String), *changed)
