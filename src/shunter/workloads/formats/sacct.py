"""Slurm's accounting as ``sacct --parsable2`` prints it: columns with bars between them, with or without a header."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import polars as pl

from shunter.errors import InputError
from shunter.workloads.formats.sacct_cells import USED, Cells
from shunter.workloads.formats.slurm import CLUSTER_NOTE, each_distinct, job_table, memory
from shunter.workloads.text.delimited import Mend, read_frames
from shunter.workloads.text.log import build_workload
from shunter.workloads.text.repairs import PLACE, UNREADABLE, Repairs

if TYPE_CHECKING:
    from shunter.model.workload import Workload
    from shunter.workloads.formats import Reading
    from shunter.workloads.text.source import Source

COMMAND: Final = (
    "sacct --allusers --allocations --duplicates --parsable2 --starttime=2024-01-01 --endtime=now --format="
    "JobID,User,Group,Account,QOS,Partition,State,Submit,Eligible,Start,End,Elapsed,Timelimit,NNodes,NCPUS,ReqMem,AllocTRES,"
    "Priority,NodeList,JobName"
)
"""What errors tell to run."""
STEP_RULE: Final = "step of a job: folded into it"

_XDMOD: Final = (
    "jobid|jobidraw|cluster|partition|qos|account|group|gid|user|uid|submit|eligible|start|end|elapsed|exitcode|state|"
    "nnodes|ncpus|reqcpus|reqmem|reqtres|alloctres|timelimit|nodelist|jobname"
)
_COST_SIMULATOR: Final = (
    "state|jobid|reqcpus|reqmem|reqnodes|constraints|submit|eligible|start|elapsed|suspended|end|exitcode|"
    "derivedexitcode|allocnodes|ncpus|maxdiskread|maxdiskwrite|maxpages|maxrss|maxvmsize|cputime|usercpu|systemcpu|"
    "totalcpu|partition"
)
"""Headers that files of XDMoD and of the HPC Cost Simulator, which have none, would have; older ones no partition."""
_MAY_HOLD_BARS: Final = ("jobname", "constraints")
_IDS: Final = ("jobid", "jobidraw")
_SPARE: Final = {"jobidraw": "jobid", "elapsedraw": "elapsed", "timelimitraw": "timelimit"}
"""Columns that are not read where a better one is there."""
_NEEDED: Final = (
    ("JobID", _IDS),
    ("Submit", ("submit",)),
    ("NCPUS", ("ncpus", "alloccpus", "reqcpus", "alloctres", "reqtres")),
)
_JOB_ID: Final = r"^\d+(_(\d+|\[.*))?(\+\d+)?(\..+)?$"
_STEP_OWNER: Final = r"^([^\[.]+)\."
"""The job in the id of a step; the tasks of an array, in brackets, may be cut short with points."""
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d.*|\d{9,11}|Unknown|None")


def recognizes(source: Source) -> bool:
    """Returns whether the first line is a header with JobID and bars, or a row in a layout that is known."""
    return _has_header(source) or _layout(source) is not None


def read(sources: Sequence[Source], reading: Reading) -> Workload:
    """Reads files that sacct has printed; the files of one log may differ in their columns.

    Raises:
        InputError: A file is no such file, a column that is needed is missing, or no job is left.
    """
    repairs = Repairs(sources, reading.strict)
    jobs: list[pl.DataFrame] = []
    steps: list[pl.DataFrame] = []
    for source in sources:
        layout = None if _has_header(source) else _layout(source)
        if layout is None and not _has_header(source):
            raise InputError(
                f"{source.where}: has no header line with JobID, and no layout that is known; run {COMMAND}"
            )
        names = layout or _cells(source.head_lines[0].lower())
        _check_columns(names, source.where)
        mend = _mend(names, is_fixed=layout is not None)
        used = _used(names)
        for text in read_frames(source, repairs, layout, separator="|", quoted=False, mend=mend, wanted=used):
            frame = text.rename(str.lower)
            jobs.append(job_table(Cells(_without_steps(frame, repairs, steps), repairs).jobs(), repairs))
    table = pl.concat(jobs, how="diagonal") if jobs else pl.DataFrame(schema={PLACE: pl.Int64})
    return build_workload(_with_steps(table, steps), repairs, cluster_note=CLUSTER_NOTE, reruns=True)


def _used(names: Sequence[str]) -> Callable[[str], bool]:
    """Returns which columns are read; a column is not, if another one tells the same and more."""
    spare = {worse for worse, better in _SPARE.items() if better in names}
    return lambda name: name.lower() not in spare and (name.lower() in USED or name.lower() in _IDS)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("|")]


def _has_header(source: Source) -> bool:
    cells = _cells(source.head_lines[0].lower()) if source.head_lines else []
    return not USED.isdisjoint(cells) and any(name in cells for name in _IDS)


def _layout(source: Source) -> list[str] | None:
    """Returns the columns of a file without a header, if the shape of its first lines is known."""
    rows = [_cells(line) for line in source.head_lines]
    if not rows:
        return None
    first, xdmod, cost_simulator = rows[0], _cells(_XDMOD), _cells(_COST_SIMULATOR)
    if len(first) >= len(xdmod) and _is_row(first, xdmod):
        return xdmod
    if len(first) >= len(cost_simulator) - 1 and _is_row(first, cost_simulator):
        # A file may have rows of the older and of the newer layout.
        is_newer = any(len(row) >= len(cost_simulator) for row in rows)
        return cost_simulator if is_newer else cost_simulator[:-1]
    return None


def _is_row(cells: list[str], names: Sequence[str]) -> bool:
    job_id, submit = cells[names.index("jobid")], cells[names.index("submit")]
    return re.match(_JOB_ID, job_id) is not None and _TIME.fullmatch(submit) is not None


def _check_columns(names: Sequence[str], where: str) -> None:
    # sacct prints a column twice if its format names it twice.
    for number, name in enumerate(names):
        if name in names[:number]:
            raise InputError(f'{where}: two columns are called "{name}"; remove one of them')
    missing = [label for label, choices in _NEEDED if not set(choices).intersection(names)]
    if not {"elapsed", "elapsedraw"}.intersection(names) and not {"start", "end"}.issubset(names):
        missing.append("Elapsed (or Start and End)")
    if missing:
        raise InputError(f"{where}: lacks {', '.join(missing)}; run {COMMAND}")


def _mend(names: Sequence[str], *, is_fixed: bool) -> Mend:
    """Returns a function that mends rows: bars go back into their column, and older rows get a partition."""
    count = len(names)
    holder = next((names.index(name) for name in _MAY_HOLD_BARS if name in names), None)

    def mend(cells: list[str]) -> list[str] | None:
        surplus = len(cells) - count
        # A row of the older layout, which has no partition.
        if surplus == -1 and is_fixed and names[-1] == "partition":
            return [*cells, ""]
        if surplus < 0 or holder is None:
            return None
        # Only one column may hold bars, so all that are too many belong to it.
        end = holder + surplus + 1
        return [*cells[:holder], "|".join(cells[holder:end]), *cells[end:]]

    return mend


def _without_steps(frame: pl.DataFrame, repairs: Repairs, steps: list[pl.DataFrame]) -> pl.DataFrame:
    """Returns the rows of jobs with ``job_id``, and adds the memory that steps used to those found so far."""
    frame = frame.with_columns(job_id=pl.col("jobid" if "jobid" in frame.columns else "jobidraw").str.strip_chars())
    # Plain numbers only, as with --allocations: no step has to be looked for.
    if frame.select(pl.col("job_id").cast(pl.UInt64, strict=False).is_not_null().all()).item():
        return frame
    readable = pl.col("job_id").str.contains(_JOB_ID)
    frame = repairs.drop(frame, ~readable | pl.col("job_id").is_null(), UNREADABLE, "job_id")
    is_step = frame["job_id"].str.contains(_STEP_OWNER)
    count = int(is_step.sum())
    if count == 0:
        return frame
    rows = frame.filter(is_step)
    # Steps are no mistake: without --allocations sacct prints them by itself.
    repairs.tell(STEP_RULE, count, rows[PLACE][0], f"job_id {rows['job_id'][0]}")
    if "maxrss" in frame.columns:
        used = each_distinct(rows["maxrss"], memory, {"step_memory_mb": pl.Float64, "per": pl.String}).drop("per")
        owner = rows.select(PLACE, pl.col("job_id").str.extract(_STEP_OWNER))
        steps.append(owner.hstack(used).drop_nulls())
    return frame.filter(~is_step)


def _with_steps(jobs: pl.DataFrame, steps: list[pl.DataFrame]) -> pl.DataFrame:
    """Returns the jobs with the most memory that one of their steps used; a step belongs to the job above it."""
    if not steps or jobs.height == 0:
        return jobs
    runs = jobs.select(PLACE, "job_id", run=pl.col(PLACE))
    # A requeued job stands there several times under one id; a step is of the run that stands above it.
    owned = pl.concat(steps).join_asof(runs, on=PLACE, by="job_id", check_sortedness=False).drop_nulls()
    largest = owned.group_by("run").agg(pl.col("step_memory_mb").max()).rename({"run": PLACE})
    jobs = jobs.join(largest, on=PLACE, how="left", maintain_order="left")
    used = pl.max_horizontal("used_memory_mb_per_task", "step_memory_mb")
    return jobs.with_columns(used_memory_mb_per_task=used).drop("step_memory_mb")
