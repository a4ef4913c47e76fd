"""Workloads made from another one: with some of its jobs, other requested times, or other names."""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from shunter.checks import seconds_of
from shunter.errors import InputError
from shunter.model.conditions import TIMES, renamed_needs
from shunter.model.workload import DURATION_LIMIT_S, UNIX_TIMES_FROM_S

if TYPE_CHECKING:
    import polars as pl

    from shunter.model.workload import Workload
    from shunter.workloads.clock import Clock


PARTS: Final = ("train", "validation", "report")
"""What a log is split into, in the order of time."""

SALT_BITS: Final = 128
"""The length of the secret that names are drawn with where no seed is given: nobody can try them all."""


NAMES: Final = {"user": "user", "group": "group", "account": "account", "executable": "program", "name": "name"}
"""The columns that are replaced always, and what their new names begin with."""
PLACES: Final = {"queue": "queue", "partition": "partition", "qos": "qos", "kind": "kind"}
"""The columns that are replaced if asked for: a cluster file may name the same partitions and kinds."""


def keep_statuses(workload: Workload, only: str) -> Workload:
    """Returns the jobs whose status is one of these, and counts the others in the ledger.

    Raises:
        InputError: No job has such a status, or the log tells none.
    """
    asked = [name.strip() for name in only.split(",")]
    known = sorted(workload.jobs["status"].drop_nulls().unique().to_list())
    if not known:
        raise InputError(f"{workload.name}: tells no statuses; leave --only (only) out")
    for name in asked:
        if name.lower() not in map(str.lower, known):
            statuses = ", ".join(known)
            raise InputError(f'{workload.name}: no job has the status "{name}" of --only (only); it has {statuses}')
    # In any case of letters: what is completed here is COMPLETED to sacct.
    wanted = [name for one in asked for name in known if name.lower() == one.lower()]
    kept = workload.jobs["status"].is_in(wanted).fill_null(False)
    dropped = workload.jobs.filter(~kept)
    if dropped.height == 0:
        return workload
    rule = f"status other than {' or '.join(wanted)} (--only): left out"
    example = f"job {dropped['job_id'][0]}: {dropped['status'][0] or 'status unknown'}"
    ledger = workload.ledger.plus(rule, dropped.height, example, mistake=False)
    return workload.derived(f"only {','.join(wanted)}", jobs=workload.jobs.filter(kept), ledger=ledger)


def slice_time(workload: Workload, begin: str | None, end: str | None, clock: Clock | None = None) -> Workload:
    """Returns the jobs that are submitted from `begin` on and before `end`.

    Args:
        workload: The jobs.
        begin: A moment (see `moment_s`); None for the first job's.
        end: Likewise; None for no end.
        clock: What the log's seconds mean; None if they are Unix times.

    Raises:
        InputError: A moment is not understood, or no job lies between them.
    """
    first_s, last_s = float(workload.jobs["submit_s"][0]), float(workload.jobs["submit_s"][-1])
    zero_s: float | None = 0.0
    if first_s < UNIX_TIMES_FROM_S:
        zero_s = clock.offset_s if clock is not None and clock.offset_s else None
    begin_s = first_s if begin is None else moment_s(begin, first_s, "--from", zero_s)
    end_s = math.inf if end is None else moment_s(end, first_s, "--to", zero_s)
    submit_s = workload.jobs["submit_s"]
    jobs = workload.jobs.filter((submit_s >= begin_s) & (submit_s < end_s))
    if jobs.height == 0:
        raise InputError(
            f"{workload.name}: no job is submitted from {begin_s:.15g} to {end_s:.15g} s; "
            f"its first comes at {first_s:.15g} s and its last at {last_s:.15g} s"
        )
    return _part(workload, jobs, f"[{begin or ''}:{end or ''}]")


def moment_s(text: str, first_s: float, option: str, zero_s: float | None = 0.0) -> float:
    """Returns the time, in the log's seconds, that a text names.

    Args:
        text: Seconds of the log's own clock (``86400``), a time since the first job (``+3d``, ``+12h``), or a date
            (``2017-10-03``, ``2017-10-03T12:00``; in UTC unless it tells a zone, or on the log's own clock).
        first_s: When the first job is submitted.
        option: What errors call it.
        zero_s: The Unix time of the log's second 0; None if it is not known.

    Raises:
        InputError: It is none of these.
    """
    # Without a plus, a number is one of the log's own clock; 3d would be nothing on it.
    is_since = text.startswith("+")
    seconds = seconds_of(text.removeprefix("+")) if is_since or not text.strip()[-1:].isalpha() else None
    if seconds is not None and math.isfinite(seconds):
        return first_s + seconds if is_since else seconds
    try:
        date = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        known = "seconds (86400), a time since the first job (+3d, +12h), or a date (2017-10-03)"
        raise InputError(f"{option} is {text!r}; expected {known}") from None
    if zero_s is None:
        known = "seconds (86400) or a time since the first job (+3d, +12h)"
        raise InputError(f"{option} is {text!r}, but the log's seconds are no dates; expected {known}")
    return (date if date.tzinfo else date.replace(tzinfo=timezone.utc)).timestamp() - zero_s


def split(workload: Workload, shares: Sequence[float], by: str = "jobs") -> Mapping[str, Workload]:
    """Cuts a workload into parts to train, to validate and to report on, in the order of time.

    Args:
        workload: The jobs.
        shares: Of each of `PARTS`; together 1. A share of 0 leaves the part out.
        by: ``jobs`` cuts at shares of the number of jobs, ``time`` at shares of the span.

    Raises:
        InputError: The shares are not three that add up to 1, or a part would hold no job.
    """
    if len(shares) != len(PARTS) or not all(0 <= share <= 1 for share in shares) or abs(sum(shares) - 1) > 1e-6:
        raise InputError(f"--shares is {list(shares)}; expected three from 0 to 1 that add up to 1: 0.6,0.1,0.3")
    cuts = [0, *(_cut(workload, sum(shares[: number + 1]), by) for number in range(len(shares)))]
    parts: dict[str, Workload] = {}
    for name, share, begin, end in zip(PARTS, shares, cuts[:-1], cuts[1:], strict=True):
        if share == 0:
            continue
        if begin == end:
            raise InputError(f"{workload.name}: the part {name} would hold no job; give it a larger share")
        parts[name] = _part(workload, workload.jobs.slice(begin, end - begin), f" {name}")
    return parts


def _cut(workload: Workload, share: float, by: str) -> int:
    """Returns how many jobs lie before a cut."""
    # Sums of shares such as 0.6 + 0.1 + 0.3 need not be 1 exactly.
    if share >= 1 - 1e-9:
        return len(workload)
    if by == "jobs":
        return round(share * len(workload))
    submit_s = workload.jobs["submit_s"]
    # Submit times are in order, so counting the earlier ones gives the place of the cut.
    return int((submit_s < submit_s[0] + share * (submit_s[-1] - submit_s[0])).sum())


def _part(workload: Workload, jobs: pl.DataFrame, what: str) -> Workload:
    return workload.derived(what, jobs=jobs, name=f"{workload.name}{what}")


def scale_requests(workload: Workload, factor: float) -> tuple[Workload, int]:
    """Returns the workload with every known request multiplied by a factor, and how many requests are known.

    Raises:
        InputError: The factor is not a positive number, or a request would be longer than any may be.
    """
    requested_s = workload.jobs["requested_s"]
    longest_s = requested_s.max()
    longest_s = float(longest_s) if isinstance(longest_s, int | float) else 0.0
    if not (factor > 0 and math.isfinite(factor) and longest_s * factor <= DURATION_LIMIT_S):
        raise InputError(
            f"{workload.name}: requests cannot be scaled by {factor:g}; expected a factor above 0 that keeps the "
            f"longest of {longest_s:g} s within {DURATION_LIMIT_S:g} s"
        )
    return _with_requests(workload, requested_s * factor, f"requests x{factor!r}"), requested_s.count()


def limit_requests(workload: Workload, limit_s: float, missing_request: str = "run-time") -> tuple[Workload, int]:
    """Returns the workload with longer requests cut to a limit, and how many requests were cut.

    A request that the log does not have counts as what stands in for it: a job that would stand for more than the limit
    is one that asks for the limit.

    Args:
        workload: The jobs.
        limit_s: The longest request.
        missing_request: What stands in for unknown requests, as in `shunter.simulation.simulate`.

    Raises:
        InputError: The limit is not a positive number of seconds.
    """
    if not 0 < limit_s <= DURATION_LIMIT_S:
        raise InputError(f"the limit is {limit_s:g}; expected above 0 to {DURATION_LIMIT_S:g} seconds")
    jobs = workload.jobs
    stand_in = pl.col("run_s") if missing_request == "run-time" else pl.lit(float(missing_request))
    longer = pl.coalesce(pl.col("requested_s"), stand_in) > limit_s
    limited = jobs.select(pl.when(longer).then(limit_s).otherwise(pl.col("requested_s")).alias("requested_s"))
    count = int(jobs.select(longer.sum()).item())
    return _with_requests(workload, limited["requested_s"], f"requests <= {limit_s!r}"), count


def _with_requests(workload: Workload, requested_s: pl.Series, what: str) -> Workload:
    return workload.derived(what, jobs=workload.jobs.with_columns(requested_s))


def anonymize(workload: Workload, *, seed: int | None = None, places: bool = False, shift: bool = False) -> Workload:
    """Returns the workload with other names and numbers.

    Users, groups, accounts, programs and job names become ``user1``, ``user2`` … in an order drawn at random; the same
    name stays the same. Job ids become 1, 2, 3 … in the order of submission. The names of hosts are left out.

    Args:
        workload: The jobs.
        seed: Of the order: whoever knows it can draw the same again, and so find out who came first. None: a secret one
            that is kept nowhere.
        places: Whether queues, partitions, qualities of service and kinds are replaced too.
        shift: Whether the first job's submit time becomes 0.
    """
    salt = secrets.randbits(SALT_BITS) if seed is None else seed
    random = np.random.Generator(np.random.PCG64(salt))
    jobs = workload.jobs.drop("hosts", strict=False)
    made = [
        _renamed(jobs[column], prefix, random)
        for column, prefix in (NAMES | PLACES if places else NAMES).items()
        if column in jobs.columns
    ]
    # Ids may hold names or dates, and tell how many jobs were not published.
    numbers = pl.int_range(1, jobs.height + 1, dtype=pl.Int64, eager=True)
    if "preceding_job_id" in jobs.columns:
        of = pl.DataFrame({"preceding_job_id": jobs["job_id"], "number": numbers})
        joined = jobs.select("preceding_job_id").join(of, on="preceding_job_id", how="left", maintain_order="left")
        made.append(joined["number"].alias("preceding_job_id"))
    arrays: dict[str, str] = {}
    if "array_id" in jobs.columns:
        made.append(_renamed(jobs["array_id"], "array", random))
        arrays = dict(zip(jobs["array_id"].to_list(), made[-1].to_list(), strict=True))
    if "depends_on" in jobs.columns:
        ids = dict(zip(jobs["job_id"].cast(pl.String).to_list(), numbers.cast(pl.String).to_list(), strict=True))
        made.append(renamed_needs(jobs, arrays | ids))
    if shift:
        first_s = jobs["submit_s"][0]
        made += [jobs[name] - first_s for name in ("submit_s", *TIMES) if name in jobs.columns]
    renamed = jobs.with_columns(*made, numbers.alias("job_id"))
    return workload.derived(f"{salt} {places} {shift}", jobs=renamed, name="anonymous", places=None)


def _renamed(names: pl.Series, prefix: str, random: np.random.Generator) -> pl.Series:
    distinct = names.drop_nulls().unique(maintain_order=True)
    # A name's number must not tell who came first.
    order = random.permutation(distinct.len()) + 1
    others = distinct.to_frame().with_columns(other=pl.Series([f"{prefix}{one}" for one in order], dtype=pl.String))
    joined = names.to_frame().join(others, on=names.name, how="left", maintain_order="left")
    return joined["other"].alias(names.name)
