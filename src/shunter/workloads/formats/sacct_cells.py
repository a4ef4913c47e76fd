"""The cells of sacct's rows to numbers; what is not readable is skipped or taken as unknown, and counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from shunter.workloads.formats.slurm import (
    NO_LIMIT_WORDS,
    UNKNOWN_WORDS,
    each_distinct,
    gpus_of_gres,
    is_text,
    memory,
    resources,
    status,
    unix_seconds,
)
from shunter.workloads.text.durations import duration_s
from shunter.workloads.text.hosts import node_names
from shunter.workloads.text.repairs import PLACE, UNREADABLE

if TYPE_CHECKING:
    from shunter.workloads.text.repairs import Repairs

_RESOURCES: Final = {
    "cores": pl.Float64,
    "nodes": pl.Float64,
    "memory_mb": pl.Float64,
    "gpus": pl.Float64,
    "gpu_type": pl.String,
}
_TEXTS: Final = {
    "user": ("user", "uid"),
    "group": ("group", "gid"),
    "partition": ("partition",),
    "account": ("account",),
    "qos": ("qos",),
    "name": ("jobname",),
}
"""Columns of text, with the columns of sacct that tell them, the best first."""
_ALWAYS: Final = (
    *("job_id", "submit_s", "start_s", "run_s", "requested_s", "started", "ended", "placed", "status", "priority"),
    *("cores", "nodes", "gpus", "memory_mb"),
)
_TIMES: Final = (
    "submit",
    "eligible",
    "start",
    "end",
    "elapsed",
    "elapsedraw",
    "timelimit",
    "timelimitraw",
    "state",
    "priority",
)
_AMOUNTS: Final = ("alloctres", "reqtres", "allocgres", "reqgres", "reqmem", "maxrss", "nodelist")
_COUNTS: Final = ("alloccpus", "ncpus", "reqcpus", "nnodes", "allocnodes", "reqnodes")
_CONSTRAINTS: Final = "constraints"
_FEATURES: Final = r"^[^\[\]()*&|,]+([&|,][^\[\]()*&|,]+)*$"
"""Features with words between them that Shunter knows."""
USED: Final = frozenset((*_TIMES, *_AMOUNTS, *_COUNTS, _CONSTRAINTS)).union(*_TEXTS.values())
"""The columns of sacct of which something is made, besides the id."""


class Cells:
    """The rows of jobs in one block, whose columns have sacct's names in lower case; parsed ones are added."""

    def __init__(self, frame: pl.DataFrame, repairs: Repairs) -> None:
        self._frame = frame
        self._repairs = repairs

    def jobs(self) -> pl.DataFrame:
        """Returns what `shunter.workloads.formats.slurm.job_table` needs."""
        # The order matters: sizes need the resources, and memory per node or core needs the sizes.
        self._times()
        self._limit()
        self._resources()
        self._size()
        self._memory()
        if self._has(_CONSTRAINTS):
            self._features()
        return self._frame.select(
            PLACE,
            *_ALWAYS,
            *(pl.coalesce(found).alias(name) for name, found in self._found(_TEXTS).items()),
            *(name for name in ("gpu_type", "features", "used_memory_mb_per_task") if self._has(name)),
            *(name for name in ("eligible_s", "end_s") if self._has(name)),
            *(pl.when(is_text(pl.col(name))).then(name).alias("hosts") for name in ("nodelist",) if self._has(name)),
        )

    def _has(self, *names: str) -> bool:
        return all(name in self._frame.columns for name in names)

    def _found(self, wanted: dict[str, tuple[str, ...]]) -> dict[str, list[str]]:
        found = {name: [choice for choice in choices if self._has(choice)] for name, choices in wanted.items()}
        return {name: choices for name, choices in found.items() if choices}

    def _add(self, name: str, values: pl.Series) -> None:
        self._frame = self._frame.hstack([values.alias(name)])

    def _add_unknown(self, name: str, dtype: type[pl.DataType] = pl.Float64) -> None:
        self._frame = self._frame.with_columns(pl.lit(None, dtype).alias(name))

    def _account(self, name: str, parsed: str, *, needed: bool = False, words: tuple[str, ...] = UNKNOWN_WORDS) -> None:
        """Accounts for cells that could not be parsed: their rows are skipped, or the cells are taken as unknown."""
        frame = self._frame
        # Nothing was lost in parsing, which is the rule: no expression has to be evaluated.
        if frame[parsed].null_count() == frame[name].null_count():
            return
        wrong = pl.col(parsed).is_null() & is_text(pl.col(name), words)
        if needed:
            self._frame = self._repairs.drop(frame, wrong, UNREADABLE, name)
        else:
            rule = f"{name} not readable: taken as unknown"
            self._frame = self._repairs.replace(frame, wrong, name, None, rule)

    def _time(self, name: str, parsed: str, *, needed: bool) -> None:
        self._add(parsed, unix_seconds(self._frame[name]))
        self._account(name, parsed, needed=needed)

    def _times(self) -> None:
        """Adds the times of a job, its run time, and whether it started and ended."""
        has_elapsed = self._has("elapsed") or self._has("elapsedraw")
        self._time("submit", "submit_s", needed=True)
        # Without these columns the state has to tell.
        started, ended = (is_text(pl.col(name)) if self._has(name) else pl.lit(True) for name in ("start", "end"))
        self._frame = self._frame.with_columns(started=started, ended=ended)
        if self._has("start"):
            self._time("start", "start_s", needed=not has_elapsed)
        else:
            self._add_unknown("start_s")
        if self._has("eligible"):
            self._time("eligible", "eligible_s", needed=False)
        if has_elapsed:
            self._elapsed()
            if self._has("end", "state"):
                self._times_of_leaving()
            return
        self._time("end", "end_s", needed=True)
        self._frame = self._frame.with_columns(run_s=pl.col("end_s") - pl.col("start_s"))

    def _times_of_leaving(self) -> None:
        """Adds when jobs ended that did not run: of all others the elapsed time tells more."""
        ends = self._frame.select(pl.when(pl.col("run_s") == 0).then("end")).to_series()
        self._add("end_s", unix_seconds(ends))

    def _elapsed(self) -> None:
        if self._has("elapsed"):
            self._add("run_s", duration_s(self._frame["elapsed"]))
            self._account("elapsed", "run_s", needed=True)
        else:
            self._number("elapsedraw", "run_s", needed=True)

    def _number(self, name: str, parsed: str, *, needed: bool = False) -> None:
        number = self._frame[name].cast(pl.Float64, strict=False)
        self._add(parsed, number.set(~number.is_finite(), None))
        self._account(name, parsed, needed=needed, words=NO_LIMIT_WORDS)

    def _limit(self) -> None:
        if self._has("timelimit"):
            self._add("requested_s", duration_s(self._frame["timelimit"]))
            self._account("timelimit", "requested_s", words=NO_LIMIT_WORDS)
        elif self._has("timelimitraw"):
            self._number("timelimitraw", "requested_s")
            # TimelimitRaw counts minutes.
            self._frame = self._frame.with_columns(pl.col("requested_s") * 60)
        else:
            self._add_unknown("requested_s")

    def _resources(self) -> None:
        """Adds what the lists of allocated resources tell, or where they are empty the lists of requested ones."""
        told: list[str] = []
        for name in ("alloctres", "reqtres"):
            # What was requested is looked at only where some job was allocated nothing.
            if self._has(name) and (not told or self._frame["alloctres"].null_count()):
                parsed = each_distinct(self._frame[name], resources, _RESOURCES)
                self._frame = self._frame.hstack(parsed.rename({column: f"{name}_{column}" for column in _RESOURCES}))
                self._account(name, f"{name}_gpus")
                told.append(name)
        for name in ("allocgres", "reqgres"):
            if self._has(name):
                schema = {f"{name}_gpus": pl.Float64, f"{name}_gpu_type": pl.String}
                self._frame = self._frame.hstack(each_distinct(self._frame[name], gpus_of_gres, schema))
                told.append(name)
        gpus = pl.coalesce(*(pl.col(f"{name}_gpus") for name in told), 0.0)
        self._frame = self._frame.with_columns(gpus=gpus)
        # From the last choice to the first, each taking over from the ones before.
        for name in reversed(told):
            is_told, kind = pl.col(f"{name}_gpus").is_not_null(), pl.col(f"{name}_gpu_type")
            other = pl.col("gpu_type") if self._has("gpu_type") else pl.lit(None, pl.String)
            self._frame = self._frame.with_columns(gpu_type=pl.when(is_told).then(kind).otherwise(other))

    def _size(self) -> None:
        """Adds the cores and nodes of a job, the state, and whether nodes were given to it."""
        for name in _COUNTS:
            if self._has(name):
                self._number(name, f"{name}_number", needed=name in ("alloccpus", "ncpus"))
        if self._has("state"):
            self._add("status", status(self._frame["state"]))
        else:
            self._add_unknown("status", pl.String)
        if self._has("priority"):
            self._number("priority", "priority_number")
        else:
            self._add_unknown("priority_number")
        has_list = self._has("nodelist")
        if has_list and not (self._has("nnodes") or self._has("allocnodes")):
            count = each_distinct(self._frame["nodelist"], _count_nodes, {"listed_nodes": pl.Float64})
            self._frame = self._frame.hstack(count)
            self._account("nodelist", "listed_nodes")
        cores = ("alloccpus_number", "ncpus_number", "alloctres_cores", "reqcpus_number", "reqtres_cores")
        nodes = ("nnodes_number", "allocnodes_number", "alloctres_nodes", "listed_nodes", "reqnodes_number")
        self._frame = self._frame.with_columns(
            cores=self._first_positive(cores), nodes=self._first_positive(nodes), priority=pl.col("priority_number")
        )
        none = [pl.col(name) == 0 for name in nodes[:2] if self._has(name)]
        # A job that was cancelled while it waited has an elapsed time of 0, and no nodes.
        placed = is_text(pl.col("nodelist")) if has_list else ~pl.any_horizontal(*none, False)
        self._frame = self._frame.with_columns(placed=placed)

    def _first_positive(self, names: tuple[str, ...]) -> pl.Expr:
        choices = [pl.when(pl.col(name) > 0).then(pl.col(name)) for name in names if self._has(name)]
        return pl.coalesce(*choices, pl.lit(None, pl.Float64))

    def _memory(self) -> None:
        """Adds the memory of the whole job: as requested, or where that is not told (or 0: all of a node) allocated."""
        schema = {"amount_mb": pl.Float64, "per": pl.String}
        choices = []
        if self._has("reqmem"):
            self._frame = self._frame.hstack(each_distinct(self._frame["reqmem"], memory, schema))
            self._account("reqmem", "amount_mb")
            times = pl.when(pl.col("per") == "n").then("nodes").when(pl.col("per") == "c").then("cores").otherwise(1.0)
            choices.append(pl.col("amount_mb") * times)
        choices += [pl.col(f"{name}_memory_mb") for name in ("alloctres", "reqtres") if self._has(f"{name}_gpus")]
        # sacct prints 0 for all memory of a node.
        known = [pl.when(choice > 0).then(choice) for choice in choices]
        self._frame = self._frame.with_columns(memory_mb=pl.coalesce(*known, pl.lit(None, pl.Float64)))
        if self._has("reqmem"):
            lost = (pl.col("amount_mb") > 0) & pl.col("memory_mb").is_null() & pl.col("cores").is_not_null()
            rule = "memory per node, but nodes unknown: taken as unknown"
            self._frame = self._repairs.replace(self._frame, lost, "reqmem", None, rule)
        if self._has("maxrss"):
            used = each_distinct(
                self._frame["maxrss"], memory, {"used_memory_mb_per_task": pl.Float64, "used_per": pl.String}
            )
            self._frame = self._frame.hstack(used)
            self._account("maxrss", "used_memory_mb_per_task")

    def _features(self) -> None:
        """Adds the features that a job asks for."""
        told = pl.when(is_text(pl.col(_CONSTRAINTS))).then(_CONSTRAINTS)
        self._frame = self._frame.with_columns(features=told)
        # Counts, brackets and parentheses tie features to nodes one by one, or to each other.
        tied = ~pl.col("features").str.contains(_FEATURES).fill_null(True)
        rule = "constraint with counts, brackets or parentheses: features left out"
        self._frame = self._repairs.replace(self._frame, tied, "features", None, rule)


def _count_nodes(text: str) -> tuple[float] | None:
    names = None if text.lower() in UNKNOWN_WORDS else node_names(text)
    return None if names is None else (float(len(names)),)
