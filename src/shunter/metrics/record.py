"""A run as its folder records it: what each job asked for, and when it held which nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shunter.errors import InputError
from shunter.files import parse_toml
from shunter.metrics.run_folder import MANIFEST, SCHEDULE, read_manifest, read_schedule, read_stops
from shunter.model.access import access_of
from shunter.model.cluster import ANY_GPU_TYPE, Cluster, Node
from shunter.model.kinds import KindRow, KindTable
from shunter.model.locality import NEVER, NO_SLOWDOWN, Slowdown
from shunter.model.ruled_jobs import clocked_rules
from shunter.model.schedule import Segments, whole_milliseconds
from shunter.model.schedule_frame import ADMITTED
from shunter.model.site import NO_RULES, read_rules
from shunter.model.start_rules import compile_rules
from shunter.model.workload import Workload

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.model.access import Access
    from shunter.model.schedule import Schedule
    from shunter.model.start_rules import StartRules

NEEDED = (
    *("job_id", "submit_s", "latest_start_s", "end_s", "tasks", "cores", "memory_mb", "gpus", "partition", "nodes"),
    *("outcome", "reason"),
)
"""Columns that a record cannot do without; runs of versions before this one lack some."""
TEXTS = ("outcome", "reason", "partition", ADMITTED, "features", "gpu_type", "kind")
MILLI = 1000
_WRONG = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What comes of tables and manifests that do not fit each other."""
_LISTS = ("partitions", "features")
NEAREST = 3
"""So many ids are named for one that no job has."""


@dataclass(frozen=True)
class Record:
    """What is known of a run; arrays have one entry a job, in the order of the workload."""

    rows: pl.DataFrame
    """The run's table of jobs."""
    submit_ms: NDArray[np.float64]
    eligible_ms: NDArray[np.float64]
    """From when each waited for nodes; NaN where it never did."""
    tasks: NDArray[np.int64]
    milli_cores: NDArray[np.int64]
    """Of one task."""
    memory_mb: NDArray[np.int64]
    """Of one task; 0 where it is unknown, and does not bind."""
    milli_gpus: NDArray[np.int64]
    """Of one task."""
    segments: Segments
    cluster: Cluster
    policy: str
    dispatch: str
    placement: str
    may_fail: bool
    """Whether nodes could go down; when they did is not recorded, but for the jobs that it stopped."""
    wait_for_locality: str
    """Whether jobs waited for nodes that are close together, as the setting says."""
    pairs: str = "any"
    """Which types of GPUs jobs took, as the setting says."""

    @classmethod
    def of(cls, schedule: Schedule) -> Record:
        """Returns the record of a schedule, as its folder would have it."""
        from shunter.model.schedule_frame import stops_frame

        stops = None if schedule.stops is None else stops_frame(schedule, schedule.stops)
        settings = schedule.settings
        names = (settings.policy, settings.dispatch, settings.placement, settings.wait_for_locality)
        may_fail = settings.failures is not None or settings.mtbf_s is not None
        cluster = replace(schedule.cluster, rules=clocked_rules(schedule.workload, schedule.cluster))
        record = cls.of_tables(schedule.to_frame(), stops, cluster, names, may_fail)
        return replace(record, pairs=settings.pairs)

    @classmethod
    def read(cls, folder: Path) -> Record:
        """Reads the folder of a run.

        Raises:
            InputError: There is no run, or it was written by a version that recorded less.
        """
        manifest = read_manifest(folder)
        rows = read_schedule(folder)
        if lacking := [name for name in NEEDED if name not in rows.columns]:
            raise InputError(
                f"{folder / SCHEDULE}: has no column {lacking[0]}, for an earlier version wrote it; simulate again"
            )
        try:
            resolved = manifest["arguments"]["resolved"]
            # Runs of versions before there was a choice never waited for close nodes.
            locality = str(resolved.get("wait_for_locality", NEVER))
            names = (str(resolved["policy"]), str(resolved["dispatch"]), str(resolved["placement"]), locality)
            may_fail = any(resolved.get(name) is not None for name in ("failures", "mtbf_s"))
            record = cls.of_tables(rows, read_stops(folder), _cluster(manifest["cluster"]), names, may_fail)
            # Earlier versions had no choice of types.
            return replace(record, pairs=str(resolved.get("pairs", "any")))
        # Whatever is wrong with files that were changed by hand, or damaged: they do not tell what a run did.
        except (*_WRONG, pl.exceptions.PolarsError) as error:
            raise InputError(f"{folder / MANIFEST}: does not fit {SCHEDULE}; simulate again") from error

    @classmethod
    def of_tables(
        cls,
        rows: pl.DataFrame,
        stops: pl.DataFrame | None,
        cluster: Cluster,
        names: tuple[str, str, str, str],
        may_fail: bool,
    ) -> Record:
        """Returns the record of what tables tell.

        Args:
            rows: One for each job, with the columns `NEEDED`.
            stops: One for each time that a job was stopped before its end; None: there were none.
            cluster: The nodes.
            names: Of the policy, the dispatch rule and the placement, and whether jobs wait for close nodes.
            may_fail: Whether nodes could go down.
        """
        policy, dispatch, placement, wait_for_locality = names
        tasks = rows["tasks"].to_numpy()
        amounts = rows.select("submit_s", "tasks", "cores", "gpus").to_numpy()
        if not (np.isfinite(amounts).all() and (tasks > 0).all()):
            raise ValueError("a job has no size")
        return cls(
            # What is compared with texts is text, whatever a damaged table calls it.
            rows=rows.with_columns(pl.col(name).cast(pl.String) for name in TEXTS if name in rows.columns),
            submit_ms=whole_milliseconds(rows["submit_s"].to_numpy()),
            # Only runs in which jobs could be held tell it.
            eligible_ms=whole_milliseconds(
                rows["eligible_s" if "eligible_s" in rows.columns else "submit_s"].to_numpy()
            ),
            tasks=tasks,
            milli_cores=_whole(rows["cores"].to_numpy() / tasks * MILLI),
            memory_mb=_whole(rows["memory_mb"].fill_null(0.0).to_numpy() / tasks),
            milli_gpus=_whole(rows["gpus"].to_numpy() / tasks * MILLI),
            segments=_segments(rows, stops, cluster),
            cluster=cluster,
            policy=policy,
            dispatch=dispatch,
            placement=placement,
            may_fail=may_fail,
            wait_for_locality=wait_for_locality,
        )

    def __len__(self) -> int:
        return len(self.rows)

    def find(self, job: str) -> int:
        """Returns the row of a job.

        Raises:
            InputError: No job has this id.
        """
        ids = self.rows["job_id"]
        matches = (ids.cast(pl.String) == job.strip()).arg_true()
        if len(matches):
            return int(matches[0])
        raise InputError(f"no job {job!r} in this run of {len(self):,} jobs; nearest ids: {_nearest(ids, job)}")

    def usable(self, row: int) -> list[int]:
        """Returns the nodes that a job may use, by its partitions, its features and its types of GPUs."""
        mask = int(self._type_masks[row])
        types = {name for number, name in enumerate(self.cluster.gpu_types) if mask >> number & 1}
        return [
            number
            for number in sorted(self.choice_of(row))
            if mask == ANY_GPU_TYPE or self.cluster.nodes[number].gpu_type in types
        ]

    def choice_of(self, row: int) -> dict[int, int]:
        """Returns the nodes that a job's partitions have for it, each with the place of the first that has it."""
        found: dict[int, int] = {}
        for place, choice in enumerate(self._access.of(row).choices):
            found |= {number: place for number in choice if number not in found}
        return found

    def partitions(self, row: int) -> tuple[str, ...]:
        """Returns the partitions that admitted a job; none if it was bound to none."""
        return self._access.of(row).partitions

    @cached_property
    def _access(self) -> Access:
        """Where each job could go. Who was admitted where is part of the table: rules are not."""
        admitted = pl.col(ADMITTED if ADMITTED in self.rows.columns else "partition")
        return access_of(self._asked.with_columns(admitted.alias("partition")), replace(self.cluster, rules=NO_RULES))

    @cached_property
    def exclusive(self) -> NDArray[np.bool_]:
        """By job, whether it had its nodes for itself."""
        if "exclusive" not in self.rows.columns:
            return np.zeros(len(self), dtype=np.bool_)
        # A table read from CSV has texts.
        return (self.rows["exclusive"].cast(pl.String) == "true").fill_null(False).to_numpy()

    @cached_property
    def _type_masks(self) -> NDArray[np.int64]:
        """The types of GPUs that each job could have, as bits."""
        return self.cluster.gpu_type_masks(self._asked)

    @cached_property
    def kind_rows(self) -> NDArray[np.int64]:
        """Each job's row of the cluster's table of kinds."""
        return self.cluster.kind_rows(self._asked)

    @property
    def _asked(self) -> pl.DataFrame:
        """The rows as a workload has them."""
        return self.rows.with_columns(gpus_per_task=pl.col("gpus") / pl.col("tasks"))

    @cached_property
    def start_rules(self) -> StartRules | None:
        """What limits, licenses and reservations of the site mean for the jobs; None: it has none, or is not known."""
        if not (self.cluster.rules.bind_starts or self.cluster.rules.hold_jobs):
            return None
        per_task = {f"{name}_per_task": pl.col(name) / pl.col("tasks") for name in ("cores", "memory_mb")}
        told = ("user", "partition", "requested_s", "account", "qos", "licenses")
        jobs = self._asked.with_columns(**per_task, run_s=pl.lit(0.0)).select(
            *("job_id", "submit_s", "run_s", "tasks", "cores_per_task", "memory_mb_per_task", "gpus_per_task"),
            *(name for name in told if name in self.rows.columns),
        )
        # A run may be a window of a log whose reservations have begun earlier.
        return compile_rules(Workload.from_frame(jobs, name=self.cluster.name), self.cluster, past_is_wrong=False)


def _nearest(ids: pl.Series, job: str) -> str:
    # Ids that are numbers are near by their distance, others by their letters.
    if ids.dtype == pl.Int64 and job.strip().lstrip("+-").isdecimal():
        distance = (ids.cast(pl.Float64) - float(job)).abs()
        close = ids.gather(distance.arg_sort()[:NEAREST]).sort().to_list()
    else:
        texts = ids.cast(pl.String).to_list()
        close = get_close_matches(job, texts, n=NEAREST, cutoff=0.3) or texts[:NEAREST]
    return ", ".join(str(each) for each in close)


def _whole(values: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.rint(values).astype(np.int64)


def _cluster(recorded: dict[str, Any]) -> Cluster:
    # A later version may have recorded more of a node than this one knows.
    known = {field.name for field in fields(Node)}
    nodes = tuple(
        Node(**_lists(node) | {name: value for name, value in node.items() if name in known - set(_LISTS)})
        for node in recorded["nodes"]
    )
    told = recorded.get("kinds")
    kinds = None
    if told is not None:
        rows = tuple(
            KindRow(row["kind"], row["gpus"], tuple(row["micro"]), tuple(map(_slowdown, row["slowdown_micro"])))
            for row in told["rows"]
        )
        kinds = KindTable(tuple(told["types"]), rows, told["where"])
    slowdown = _slowdown(recorded.get("slowdown", NO_SLOWDOWN))
    rules = NO_RULES
    if text := recorded.get("rules"):
        rules = read_rules(parse_toml(text, recorded["name"]), text, recorded["name"])
    mix = bool(recorded.get("mix", False))
    return Cluster(nodes, recorded["name"], recorded["sha256"], mix, kinds, slowdown, rules)


def _lists(node: dict[str, Any]) -> dict[str, Any]:
    """Returns the lists of names of a node; earlier versions knew one partition."""
    one = node.get("partition")
    return {name: tuple(node.get(name, [one] if name == "partitions" and one else [])) for name in _LISTS}


def _slowdown(micro: Sequence[int]) -> Slowdown:
    nodes, switches, racks = micro
    return nodes, switches, racks


def _segments(rows: pl.DataFrame, stops: pl.DataFrame | None, cluster: Cluster) -> Segments:
    numbered = rows.select("job_id", "end_s", "nodes", pl.col("latest_start_s").alias("start_s")).with_row_index("job")
    table = numbered.filter(pl.col("start_s").is_not_null() & pl.col("end_s").is_not_null()).select(
        "job", "start_s", "end_s", "nodes", pl.lit(True).alias("last"), pl.lit(False).alias("by_failure")
    )
    if stops is not None:
        with_rows = stops.join(numbered.select("job_id", "job"), on="job_id", how="left", maintain_order="left")
        table = pl.concat(
            [table, with_rows.select("job", "start_s", "end_s", "nodes", pl.lit(False).alias("last"), "by_failure")]
        )
    # As `Schedule.segments` has them: explanations rely on it.
    table = table.sort("job", "start_s", "end_s", "last")
    places = table["nodes"].explode().struct
    names = {node.name: number for number, node in enumerate(cluster.nodes)}
    return Segments(
        job=table["job"].cast(pl.Int64).to_numpy(),
        start_ms=whole_milliseconds(table["start_s"].to_numpy()),
        end_ms=whole_milliseconds(table["end_s"].to_numpy()),
        node_offsets=np.concatenate([[0], np.cumsum(table["nodes"].list.len().to_numpy())]).astype(np.int64),
        nodes=places.field("node").replace_strict(names, return_dtype=pl.Int32).to_numpy(),
        tasks=places.field("tasks").to_numpy(),
        last=table["last"].to_numpy(),
        by_failure=table["by_failure"].to_numpy(),
    )
