"""Dependencies as logs of schedulers write them, in the words of the table of jobs."""

from __future__ import annotations

import re
from typing import Final

import polars as pl

from shunter.model.conditions import own_names, renamed_needs
from shunter.model.needs import KINDS
from shunter.workloads.text.repairs import PLACE, Repairs

NOT_THERE: Final = "depends on a job that is not in the log: taken as over"
_LSF_KINDS: Final = {"done": "afterok", "ended": "afterany", "exit": "afternotok", "started": "after"}
_LSF: Final = re.compile(r"(done|ended|exit|started)\s*\(\s*(\d+)\s*\)")
_PBS: Final = re.compile(r"(\w+)((?::[^:,]+)+)")


def lsf_dependency(condition: str) -> str | None:
    """Returns what LSF's dependency condition means; None for none, or for one that cannot be told.

    Told are conditions on job numbers that all have to hold: ``done(12) && ended(13)``.
    """
    found = [_LSF.fullmatch(part.strip()) for part in condition.replace("(", " (").split("&&")]
    if not condition.strip() or not all(found):
        return None
    return ",".join(f"{_LSF_KINDS[one.group(1)]}:{one.group(2)}" for one in found if one is not None)


def pbs_dependency(text: str | None) -> str | None:
    """Returns what the attribute depend of PBS means: ``afterok:12.server:13.server``; None for none, or another."""
    parts = [_PBS.fullmatch(part.strip()) for part in (text or "").split(",")]
    if not text or not all(one is not None and one.group(1) in KINDS for one in parts):
        return None
    told = [(one.group(1), one.group(2).split(":")[1:]) for one in parts if one is not None]
    return ",".join(f"{kind}:{':'.join(job.partition('.')[0] for job in jobs)}" for kind, jobs in told)


def without_strangers(frame: pl.DataFrame, repairs: Repairs) -> pl.DataFrame:
    """Returns the jobs without dependencies on jobs that the log does not have."""
    if "depends_on" not in frame.columns:
        return frame
    known = renamed_needs(frame, own_names(frame))
    # Each need is written with its kind, so that as many needs are as many colons.
    lost = frame["depends_on"].str.count_matches(":") > known.fill_null("").str.count_matches(":")
    if lost.any():
        row = int(lost.arg_max() or 0)
        repairs.tell(NOT_THERE, int(lost.sum()), frame[PLACE][row], f"job {frame['job_id'][row]}")
    return frame.with_columns(known)
