"""What an observation is made of: the names of its numbers, and where each part begins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from shunter.errors import InputError

PICK_JOB: Final = "pick-job"
PICK_HOST: Final = "pick-host"

CLUSTER_FEATURES: Final = (
    "free_cores",
    "free_memory",
    "free_gpus",
    "running_jobs",
    "waiting_jobs",
    "waiting_area",
    "waiting_urgency",
    "longest_wait",
    "recent_arrivals",
    "holds_reservation",
    "reserved_in",
    "reserved_spare",
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
    "log_cores",
    "gpus",
    "memory",
    "log_area",
    "priority",
    "share_of_free",
    "fits",
    "delays",
    "age_rank",
    "user_share",
    "order_gap",
    "held_back",
)
"""What is told of each job in the window; features of the user's own follow them."""

HOST_FEATURES: Final = ("core_use", "memory_use", "cores", "memory")
"""What is told of each host."""
HOST_JOB_FEATURES: Final = ("cores", "memory")
"""What is told of the job that gets a host."""


@dataclass(frozen=True)
class Layout:
    """The parts of a flat observation, and how many actions there are."""

    kind: str
    """`PICK_JOB` or `PICK_HOST`."""
    window: int = 0
    """How many jobs are shown."""
    lookahead_size: int = 0
    extra_features: tuple[str, ...] = ()
    """Features of the user's own, at the end of each row."""
    num_hosts: int = 0

    def __post_init__(self) -> None:
        if self.kind not in (PICK_JOB, PICK_HOST):
            raise InputError(f"layout kind is {self.kind!r}; expected {PICK_JOB!r} or {PICK_HOST!r}")
        # JSON has lists for tuples.
        object.__setattr__(self, "extra_features", tuple(self.extra_features))

    @property
    def cluster_features(self) -> tuple[str, ...]:
        """The names of the cluster's features; a host stands for itself."""
        return CLUSTER_FEATURES if self.kind == PICK_JOB else ()

    @property
    def job_features(self) -> tuple[str, ...]:
        """The names of a job's features, those of the user's own last."""
        return JOB_FEATURES + self.extra_features if self.kind == PICK_JOB else HOST_JOB_FEATURES

    @property
    def observation_size(self) -> int:
        """How many numbers an observation has."""
        if self.kind == PICK_HOST:
            return self.num_hosts * len(HOST_FEATURES) + len(HOST_JOB_FEATURES)
        return len(CLUSTER_FEATURES) + self.lookahead_size + self.window * len(self.job_features)

    @property
    def actions(self) -> int:
        """How many actions there are: *wait* and the rows of the window, or the hosts."""
        return self.num_hosts if self.kind == PICK_HOST else self.window + 1

    def split(self, observations: Any) -> dict[str, Any]:  # noqa: ANN401 - NumPy's arrays and PyTorch's tensors
        """Returns the parts of observations as views.

        Args:
            observations: An array or a tensor of shape (..., observation size).

        Returns:
            ``cluster`` (..., 16), ``lookahead`` (..., size) and ``jobs`` (..., window, features); for hosts, ``hosts``
            (..., hosts, 4) and ``job`` (..., 2).
        """
        leading = observations.shape[:-1]
        if self.kind == PICK_HOST:
            hosts = self.num_hosts * len(HOST_FEATURES)
            return {
                "hosts": observations[..., :hosts].reshape(*leading, self.num_hosts, len(HOST_FEATURES)),
                "job": observations[..., hosts:],
            }
        lookahead = len(CLUSTER_FEATURES)
        jobs = lookahead + self.lookahead_size
        return {
            "cluster": observations[..., :lookahead],
            "lookahead": observations[..., lookahead:jobs],
            "jobs": observations[..., jobs:].reshape(*leading, self.window, len(self.job_features)),
        }
