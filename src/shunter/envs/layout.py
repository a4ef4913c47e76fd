"""What an observation is made of: the names of its numbers, and where each part begins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import Any, Final

from shunter.errors import InputError
from shunter.policies.catalog import CHOOSING_JOBS, PICK_HOST

LOOKAHEAD: Final = "lookahead"

_OLD_NAMES: Final = {
    "waiting_size_area": "waiting_area",
    "reserved_spare_size": "reserved_spare",
    "log_size": "log_cores",
    "log_size_area": "log_area",
    "size_of_free": "share_of_free",
    "user_size": "user_share",
}
"""What the features by size were called when they counted cores alone."""

CLUSTER_FEATURES: Final = (
    "free_cores",
    "free_memory",
    "free_gpus",
    "running_jobs",
    "waiting_jobs",
    "waiting_size_area",
    "waiting_urgency",
    "longest_wait",
    "recent_arrivals",
    "holds_reservation",
    "reserved_in",
    "reserved_spare_size",
    "hour_sine",
    "hour_cosine",
    "week_sine",
    "week_cosine",
)
"""What is told of the cluster; ``docs/environments.md`` says what each means."""

JOB_FEATURES: Final = (
    "present",
    "log_estimate",
    "confidence",
    "log_request",
    "has_request",
    "wait_hours",
    "wait_days",
    "wait_ratio",
    "cores",
    "log_size",
    "gpus",
    "memory",
    "log_size_area",
    "priority",
    "size_of_free",
    "fits",
    "delays",
    "age_rank",
    "user_size",
    "order_gap",
    "held_back",
)
"""What is told of each job in the window; features of the user's own follow them."""

HISTORY_FEATURES: Final = ("arrivals", "arrived_size_area", "ended", "utilization", "started_wait")
"""What is told of each interval of the recent past; numbered from 1, the latest, they stand behind the cluster's."""
RUNNING_FEATURES: Final = ("running", "served", "remaining", "stopped")
"""What is told of each job, behind its other features, where running jobs are shown as well."""

TYPE_FEATURES: Final = ("type_gpus", "type_free", "type_free_in", "type_wanted")
"""What is told of each type of GPU where types are chosen; numbered from 1, they stand behind the cluster's."""
PAIR_FEATURES: Final = (
    "runs_there",
    "speed_of_best",
    "log_time_there",
    "free_of_need",
    "ready_in",
    "finish_of_best",
    "apart",
    "cost_of_cheapest",
    "free_there",
    "wanted_there",
)
"""What is told of a job on a type, behind the job's features; a flag for each type follows them."""

HOST_FEATURES: Final = ("core_use", "memory_use", "cores", "memory")
"""What is told of each host."""
HOST_JOB_FEATURES: Final = ("cores", "memory")
"""What is told of the job that gets a host."""


@dataclass(frozen=True)
class LayoutPart:
    """A part of an observation: some numbers, or a table with a row of numbers for each job or host."""

    features: tuple[str, ...]
    """The names of the numbers, or of the table's columns."""
    rows: int | None = None
    """How many rows the table has; None: it is no table."""

    @property
    def size(self) -> int:
        """How many numbers of an observation it takes."""
        return len(self.features) * (1 if self.rows is None else self.rows)


@dataclass(frozen=True)
class Layout:
    """The parts of a flat observation, and how many actions there are.

    One class for all kinds of decision, because checkpoints record its fields. What depends on the kind is in `parts`
    and `actions`; everything else follows from these.
    """

    kind: str
    """`PICK_JOB`, `PICK_JOB_AND_TYPE` or `PICK_HOST`."""
    window: int = 0
    """How many waiting jobs are shown."""
    lookahead_size: int = 0
    extra_features: tuple[str, ...] = ()
    """Features of the user's own, at the end of each row."""
    num_hosts: int = 0
    counts: str = "cores"
    """What features count: jobs' sizes, or cores alone, as all checkpoints did that do not say."""
    history: int = 0
    """How many intervals of the recent past are told of."""
    stops: int = 0
    """How many running jobs are shown, in rows behind those that wait."""
    types: tuple[str, ...] = ()
    """The types of GPUs that are chosen among: each job has a row for each."""

    def __post_init__(self) -> None:
        kinds = (*CHOOSING_JOBS, PICK_HOST)
        if self.kind not in kinds:
            raise InputError(f"layout kind is {self.kind!r}; expected one of {', '.join(kinds)}")
        # JSON has lists for tuples.
        object.__setattr__(self, "extra_features", tuple(self.extra_features))
        object.__setattr__(self, "types", tuple(self.types))

    @cached_property
    def parts(self) -> dict[str, LayoutPart]:
        """The parts by name, in the order in which they stand in an observation."""
        if self.kind == PICK_HOST:
            return {"hosts": LayoutPart(HOST_FEATURES, self.num_hosts), "job": LayoutPart(HOST_JOB_FEATURES)}
        old = {} if self.counts == "size" else _OLD_NAMES
        cluster, jobs = (tuple(old.get(name, name) for name in names) for names in (CLUSTER_FEATURES, JOB_FEATURES))
        past = tuple(f"{name}_{place}" for place in range(1, self.history + 1) for name in HISTORY_FEATURES)
        jobs += RUNNING_FEATURES if self.stops else ()
        types = range(1, len(self.types) + 1)
        told = tuple(f"{name}_{place}" for place in types for name in TYPE_FEATURES)
        jobs += (*PAIR_FEATURES, *(f"on_type_{place}" for place in types)) if self.types else ()
        return {
            "cluster": LayoutPart(cluster + past + told),
            # The numbers of the look-ahead have no names of their own.
            LOOKAHEAD: LayoutPart((LOOKAHEAD,) * self.lookahead_size),
            "jobs": LayoutPart(jobs + self.extra_features, self.rows),
        }

    @cached_property
    def actions(self) -> int:
        """How many actions there are: *wait* and the rows of jobs, or the hosts."""
        return self.num_hosts if self.kind == PICK_HOST else self.rows + 1

    @property
    def rows(self) -> int:
        """How many rows there are: filled ones come first, those of jobs that wait before those of jobs that run."""
        return self.window * max(len(self.types), 1) + self.stops

    @property
    def may_wait(self) -> bool:
        """Whether action 0 is *wait*, and the rows of the window follow it."""
        return self.kind in CHOOSING_JOBS

    @cached_property
    def observation_size(self) -> int:
        """How many numbers an observation has."""
        return sum(part.size for part in self.parts.values())

    @property
    def cluster_features(self) -> tuple[str, ...]:
        """The names of the cluster's features; none where hosts stand for themselves."""
        return self._features("cluster")

    @property
    def host_features(self) -> tuple[str, ...]:
        """The names of a host's features; none where no hosts are shown."""
        return self._features("hosts")

    @property
    def job_features(self) -> tuple[str, ...]:
        """The names of a job's features, those of the user's own last."""
        return self._features("jobs") or self._features("job")

    def _features(self, part: str) -> tuple[str, ...]:
        return self.parts[part].features if part in self.parts else ()

    def split(self, observations: Any, rows: int | None = None) -> dict[str, Any]:  # noqa: ANN401 - arrays and tensors
        """Returns the parts of observations as views, by name.

        Args:
            observations: An array or a tensor of shape (..., observation size).
            rows: How many rows of jobs are left, where empty ones were cut off at the end; None: all.

        Returns:
            ``cluster`` (..., 16 and 5 for each interval), ``lookahead`` (..., size) and ``jobs`` (..., rows, features);
            for hosts, ``hosts`` (..., hosts, 4) and ``job`` (..., 2).
        """
        found, begin = {}, 0
        for name, part in self.parts.items():
            count = part.rows if rows is None or name != "jobs" else rows
            size = len(part.features) * (1 if count is None else count)
            values = observations[..., begin : begin + size]
            if count is not None:
                values = values.reshape(*observations.shape[:-1], count, len(part.features))
            found[name] = values
            begin += size
        return found


def feature_names(layout: Layout) -> dict[str, list[str]]:
    """Returns the names of the features, by what they tell of, in the order of the observation."""
    return {
        "cluster": list(layout.cluster_features),
        "host": list(layout.host_features),
        "job": list(layout.job_features),
    }


def check_features(recorded: object, layout: Layout, where: str) -> None:
    """Raises an error that names the first feature that is another one than this version has in its place.

    Args:
        recorded: What a checkpoint says.
        layout: Of its observations.
        where: Begins the error.
    """
    for part, own in feature_names(layout).items():
        named: Any = recorded.get(part) if isinstance(recorded, dict) else None
        if not isinstance(named, list):
            raise InputError(f"{where}: features: has no list {part!r}; take another copy")
        for place, (theirs, ours) in enumerate(zip_longest(named, own)):
            if theirs != ours:
                what = f"{part} feature {place} was {theirs or 'not there'}, here it is {ours or 'not there'}"
                raise InputError(f"{where}: was trained on other features: {what}; use the version it was trained with")
