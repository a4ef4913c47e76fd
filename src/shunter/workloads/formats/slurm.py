"""What Slurm's logs and lists of nodes have in common: how cells are written, and how many tasks a job has."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import polars as pl

from shunter.workloads.text.leaving import keep_those_that_left
from shunter.workloads.text.published import MB_OF_UNIT
from shunter.workloads.text.repairs import PLACE

if TYPE_CHECKING:
    from shunter.workloads.text.repairs import Repairs


UNKNOWN_WORDS: Final = ("unknown", "none", "n/a", "(null)", "invalid", "none assigned")
"""Words, in lower case, with which Slurm says that there is nothing to say."""
NO_LIMIT_WORDS: Final = ("partition_limit", "unlimited", "infinite", "not_set", *UNKNOWN_WORDS)
"""Words, in lower case, that stand where a time limit would."""
PER_CPU_FLAG_MB: Final = 0x8000_0000
"""What some versions add to memory per CPU, and then print as memory per node."""
UNFINISHED: Final = [
    "pending",
    "running",
    "suspended",
    "completing",
    "configuring",
    "resizing",
    "requeue_hold",
    "signaling",
    "special_exit",
    "stage_out",
    "stopped",
]
"""States of jobs that have no end yet."""

_ISO: Final = "%Y-%m-%dT%H:%M:%S"
_MEMORY: Final = re.compile(r"(\d+(?:\.\d*)?)([KMGTPE]?)B?([nc]?)", re.IGNORECASE | re.ASCII)
_REMEMBERED: Final = 1 << 14
"""How many cells are remembered, because each block of a file has most of those of the others."""

CLUSTER_NOTE: Final = "Slurm's logs of jobs do not list the machines; make a cluster of 'scontrol show node'"
_TEXTS: Final = ("user", "group", "partition", "status", "name", "account", "qos", "gpu_type", "features", "hosts")
_NUMBERS: Final = ("priority", "used_memory_mb_per_task")


class Memory(NamedTuple):
    """An amount of memory, and whether it is for each node, each CPU, or the whole job."""

    memory_mb: float
    per: str
    """``n`` for each node, ``c`` for each CPU, nothing for the whole job."""


class Resources(NamedTuple):
    """What a list of trackable resources tells; None where it does not."""

    cores: float | None = None
    nodes: float | None = None
    memory_mb: float | None = None
    gpus: float = 0.0
    gpu_type: str | None = None
    """None where no type is told, or several are."""


def unix_seconds(text: pl.Series) -> pl.Series:
    """Returns times as Unix seconds: ISO dates (UTC if they have no zone) or Unix seconds; null for all else."""
    seconds = text.str.to_datetime(_ISO, strict=False, time_unit="us").dt.epoch("s").cast(pl.Float64)
    if seconds.null_count() == text.null_count():
        return seconds
    cell = pl.col("text")
    zoned = cell.str.replace("Z$", "+0000").str.to_datetime(f"{_ISO}%z", strict=False, time_unit="us").dt.epoch("s")
    frame = pl.DataFrame({"text": text, "seconds": seconds})
    return frame.select(pl.coalesce("seconds", zoned.cast(pl.Float64), cell.cast(pl.Float64, strict=False))).to_series()


def is_text(column: pl.Expr, words: tuple[str, ...] = UNKNOWN_WORDS) -> pl.Expr:
    """Returns whether cells hold something else than one of these words."""
    # Looking for a few spellings is faster than spelling every cell anew.
    spellings = {form for word in words for form in (word, word.upper(), word.capitalize(), word.title())}
    return column.is_not_null() & ~column.is_in(sorted(spellings))


def each_distinct(
    text: pl.Series, parse: Callable[[str], tuple[object, ...] | None], schema: Mapping[str, type[pl.DataType]]
) -> pl.DataFrame:
    """Returns what is parsed from each cell, as columns; each distinct cell is parsed once.

    Args:
        text: The cells.
        parse: Returns the values of the columns; None makes them null.
        schema: The columns.
    """
    values = text.drop_nulls().unique(maintain_order=True)
    unread = (None,) * len(schema)
    rows = [parse(value) or unread for value in values.to_list()]
    table = pl.DataFrame(rows, schema=dict(schema), orient="row").with_columns(values.alias("cell"))
    cells = text.alias("cell").to_frame()
    return cells.join(table, on="cell", how="left", maintain_order="left").drop("cell")


def status(text: pl.Series) -> pl.Series:
    """Returns states in our words: ``CANCELLED by 1234`` is ``cancelled``."""
    schema = {"status": pl.String}
    return each_distinct(text, lambda state: (state_word(state),), schema).to_series()


def state_word(state: str) -> str | None:
    """Returns a state in our words."""
    return (state.split() or [""])[0].rstrip("+").lower() or None


@lru_cache(_REMEMBERED)
def memory(text: str) -> Memory | None:
    """Returns the memory that a cell such as ``62.50Gn``, ``3000Mc``, ``2147486648Mn`` or ``16G`` tells."""
    match = _MEMORY.fullmatch(text.strip())
    if match is None:
        return None
    amount, unit, per = match.groups()
    amount_mb = float(amount) * MB_OF_UNIT[unit.upper()]
    # 2147486648Mn is 3000 MB per CPU.
    if per == "n" and amount_mb >= PER_CPU_FLAG_MB:
        return Memory(amount_mb - PER_CPU_FLAG_MB, "c")
    return Memory(amount_mb, per.lower())


@lru_cache(_REMEMBERED)
def resources(text: str) -> Resources | None:
    """Returns what a list such as ``cpu=8,gres/gpu:a100=2,mem=62.50G,node=1`` tells; None if it is no such list."""
    amounts: dict[str, str] = {}
    for item in text.split(","):
        key, sign, amount = item.partition("=")
        if not sign:
            return None
        amounts[key.strip().lower()] = amount.strip()
    mem = memory(amounts["mem"]) if "mem" in amounts else None
    cores, nodes = number(amounts.get("cpu")), number(amounts.get("node"))
    counts = {key: number(amount) for key, amount in amounts.items() if key.split(":")[0] == "gres/gpu"}
    gpus = {key: count for key, count in counts.items() if count is not None}
    told = [(cores, "cpu" in amounts), (nodes, "node" in amounts), (mem, "mem" in amounts)]
    if any(value is None and is_told for value, is_told in told) or len(gpus) < len(counts):
        return None
    types = {key.partition(":")[2]: amount for key, amount in gpus.items() if ":" in key and amount}
    total = gpus.get("gres/gpu", sum(types.values()))
    return Resources(cores, nodes, mem.memory_mb if mem else None, total, only(types))


@lru_cache(_REMEMBERED)
def gpus_of_gres(text: str) -> tuple[float, str | None]:
    """Returns GPUs and their type, if it is one, of a list such as ``gpu:a100:4(S:0-1),lustre:1``."""
    types: dict[str, float] = {}
    for item in re.sub(r"\([^)]*\)", "", text).lower().split(","):
        name, *rest = item.strip().removeprefix("gres:").removeprefix("gres/").split(":")
        if name == "gpu":
            # gpu:4 has no type, gpu:a100 no number, and gpu alone means one.
            kind = rest[0] if rest and number(rest[0]) is None else ""
            count = number(rest[-1]) if rest else None
            types[kind] = types.get(kind, 0.0) + (1.0 if count is None else count)
    return sum(types.values()), only({kind: count for kind, count in types.items() if kind and count})


def number(text: str | None) -> float | None:
    """Returns a number that is not negative, or None."""
    return float(text) if text is not None and re.fullmatch(r"[0-9]+(\.[0-9]*)?", text) else None


def only(types: Mapping[str, float]) -> str | None:
    """Returns the only key, or None if there are none or several."""
    return next(iter(types)) if len(types) == 1 else None


def job_table(frame: pl.DataFrame, repairs: Repairs) -> pl.DataFrame:
    """Returns the columns of the job table for the jobs that ran and ended, and those that waited and left.

    Args:
        frame: For each job ``job_id``, ``submit_s``, ``start_s``, ``run_s``, ``requested_s``, what it had in all
            (``cores``, ``nodes``, ``gpus``, ``memory_mb``), ``started`` and ``ended`` (whether the log says so),
            ``placed`` (whether nodes were given to it), if told ``end_s`` and ``eligible_s``, and columns of
            the job table that stay as they are.
        repairs: Takes what is dropped.
    """
    # Jobs that were cancelled while they waited may have a start time, but no nodes and no run time.
    never = ~pl.col("started") | ((pl.col("run_s") == 0) & ~pl.col("placed"))
    if "end_s" in frame.columns:
        waited = never & (pl.col("status") == "cancelled") & (pl.col("cores") > 0)
        if "eligible_s" in frame.columns:
            # One that never was eligible never was in the queue.
            waited = waited & pl.col("eligible_s").is_not_null()
        frame = keep_those_that_left(frame, pl.when(waited).then("end_s"), repairs)
    left = pl.col("cancel_s").is_not_null() if "cancel_s" in frame.columns else pl.lit(False)
    frame = repairs.drop(frame, never & ~left, "never started: job dropped", "job_id")
    running = ~pl.col("ended") | pl.col("status").is_in(UNFINISHED)
    frame = repairs.drop(frame, running, "still running: run time unknown, job dropped", "job_id")
    cores, nodes, gpus = pl.col("cores"), pl.col("nodes"), pl.col("gpus")
    is_even = (nodes > 0) & (cores % nodes == 0) & (gpus % nodes == 0)
    # Accounting does not tell tasks. Where cores and GPUs divide evenly over the nodes, a task for each node has the
    # right shape; otherwise there is one for each GPU, or for each core of a job without GPUs.
    tasks = pl.when(is_even).then(nodes).when(gpus > 0).then(gpus).otherwise(cores).ceil()
    frame = frame.with_columns(tasks=pl.when(cores > 0).then(tasks))
    begin_s = pl.col("eligible_s") if "eligible_s" in frame.columns else pl.lit(None, pl.Float64)
    # What kept it from running before, a begin time, a hold or another job, accounting does not tell.
    frame = frame.with_columns(begin_s=pl.when(begin_s > pl.col("submit_s")).then(begin_s))
    return frame.select(
        PLACE,
        "job_id",
        "submit_s",
        "run_s",
        "requested_s",
        pl.col("tasks").cast(pl.Int64, strict=False),
        cores_per_task=cores / pl.col("tasks"),
        memory_mb_per_task=pl.col("memory_mb") / pl.col("tasks"),
        gpus_per_task=gpus / pl.col("tasks"),
        logged_wait_s=pl.when(~left).then(pl.col("start_s") - pl.coalesce("begin_s", "submit_s")),
        nodes=nodes.cast(pl.Int64, strict=False),
        **{name: pl.col(name) for name in (*_TEXTS, *_NUMBERS, "cancel_s") if name in frame.columns},
        **({"begin_s": pl.col("begin_s")} if frame["begin_s"].null_count() < frame.height else {}),
    )
