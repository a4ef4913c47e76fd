"""What kept a job from waiting for nodes, from the record of its run alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from shunter.model.needs import FOLLOWS, SINGLETON, Need, parse_needs
from shunter.model.start_rules import counter_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shunter.metrics.record import Record

MILLI = 1000
_DEPENDS = "on which it depends"
_TAILS = {SINGLETON: "which has its user and its name", FOLLOWS: "after whose end it is submitted"}


@dataclass(frozen=True)
class Hold:
    """A stretch of time for which a job might not run."""

    from_ms: float
    until_ms: float
    reason: str
    """``waits for job 12, on which it depends``."""


def holds_of(record: Record, row: int) -> list[Hold]:
    """Returns what a job waited for before it might run: what came last, then a place in its array."""
    eligible_ms = float(record.eligible_ms[row])
    # One that never might run was held until it left, or until nothing more happened.
    until_ms = eligible_ms if math.isfinite(eligible_ms) else _left_ms(record, row)
    submit_ms = float(record.submit_ms[row])
    if until_ms <= submit_ms:
        return []
    conditions = [(min(time_ms, until_ms), reason) for time_ms, reason in _conditions(record, row)]
    last_ms, reason = max(conditions, default=(submit_ms, ""))
    holds = [Hold(submit_ms, last_ms, reason)] if last_ms > submit_ms else []
    if until_ms > last_ms:
        holds.append(Hold(last_ms, until_ms, _place(record, row)))
    return holds


def hopeless(record: Record, row: int) -> str:
    """Returns why a job that left while it was held could never have run; empty if it could have."""
    for need in _needs(record, row):
        for other in _rows(record, need):
            well = record.rows["outcome"][other] == "completed"
            over = record.rows["end_s"][other] is not None or record.rows["outcome"][other] == "rejected"
            if over and ((need.kind == "afterok" and not well) or need.kind == "afternotok"):
                ended = "did not end well" if need.kind == "afterok" else "ended well"
                return f"job {record.rows['job_id'][other]}, on which it depends, {ended}"
    return ""


def _queued(record: Record, row: int) -> str:
    """Returns which limit on jobs that wait or run a job is under."""
    rules = record.start_rules
    if rules is None:
        return "is held"
    counters = rules.columns["queued_counter"][rules.columns["queued_job"] == row].tolist()
    texts = dict.fromkeys(counter_text(rules.queued[counter]) for counter in counters)
    return f"waits for a place under {' or '.join(texts)}" if texts else "is held"


def _left_ms(record: Record, row: int) -> float:
    end_s = record.rows["end_s"][row]
    last_ms = float(record.segments.end_ms.max(initial=float(record.submit_ms[row])))
    return last_ms if end_s is None else float(end_s) * MILLI


def _conditions(record: Record, row: int) -> Iterator[tuple[float, str]]:
    """Returns when each condition was met, and what it was; infinity for one that never was."""
    for column, reason in (("begin_s", "waits for its begin time"), ("release_s", "is held until it is released")):
        time_s = record.rows[column][row] if column in record.rows.columns else None
        if time_s is not None:
            yield time_s * MILLI, reason
    for need in _needs(record, row):
        for other in _rows(record, need) if need.kind != SINGLETON else _alike(record, row):
            after = f", and {need.delay_ms / MILLI:,.15g} s more" if need.delay_ms else ""
            yield (
                _met_ms(record, need, other) + need.delay_ms,
                f"waits for job {record.rows['job_id'][other]}, {_TAILS.get(need.kind, _DEPENDS)}{after}",
            )


def _needs(record: Record, row: int) -> list[Need]:
    text = record.rows["depends_on"][row] if "depends_on" in record.rows.columns else None
    return [] if text is None else list(parse_needs(text))


def _rows(record: Record, need: Need) -> list[int]:
    ids = record.rows["job_id"].cast(pl.String)
    found = (ids == need.on).arg_true().to_list()
    if not found and "array_id" in record.rows.columns:
        found = (record.rows["array_id"] == need.on).arg_true().to_list()
    return found


def _alike(record: Record, row: int) -> list[int]:
    """Returns the earlier jobs of a job's user and name."""
    rows = record.rows
    alike = (rows["user"] == rows["user"][row]) & (rows["name"] == rows["name"][row])
    return [other for other in alike.arg_true().to_list() if other < row]


def _met_ms(record: Record, need: Need, other: int) -> float:
    start_s, end_s = record.rows["start_s"][other], record.rows["end_s"][other]
    if need.kind == "after" and start_s is not None:
        return float(start_s) * MILLI
    if record.rows["outcome"][other] == "rejected":
        return float(record.submit_ms[other])
    return math.inf if end_s is None else float(end_s) * MILLI


def _place(record: Record, row: int) -> str:
    limit = record.rows["array_limit"][row] if "array_limit" in record.rows.columns else None
    if limit is None:
        return _queued(record, row)
    return f"waits for a place among the {limit:,} of its array"
