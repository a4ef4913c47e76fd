"""What a policy sees of a job's run time, and what the estimates learn when jobs end."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Protocol, TypeAlias

from tests.reference.arithmetic import nearest
from tests.reference.model import Config, RefJob, request_ms
from tests.reference.posterior import Posterior
from tests.reference.randomness import standard_normal
from tests.reference.specs import Spec

LONGEST_MS = 10**12
HOUR_MS = 3_600_000

Group: TypeAlias = tuple[str | None, int | None]
"""A user and a size; None is any."""


class Estimator(Protocol):
    """Tells run times, and learns from those that have become known."""

    def estimate_ms(self, number: int, job: RefJob) -> int:
        """Returns the run time that a policy sees now of a job with this place in the log."""

    def learn(self, job: RefJob, run_ms: int) -> None:
        """Takes note of a job that has ended."""


def estimator(spec: Spec, config: Config) -> Estimator:
    """Returns the estimator that a spec names."""
    if spec.name == "last-two":
        return LastTwo(config)
    if spec.name == "history":
        return History()
    if spec.name == "posterior":
        return Posterior(spec, config)
    return Told(spec, config)


class Told:
    """The estimates that learn nothing: ``requested``, ``perfect`` and ``noisy``."""

    def __init__(self, spec: Spec, config: Config) -> None:
        self._spec = spec
        self._config = config

    def estimate_ms(self, number: int, job: RefJob) -> int:
        """Returns the run time that a policy sees."""
        if self._spec.name == "requested":
            return request_ms(job, self._config)
        if self._spec.name == "perfect":
            return job.run_ms
        factor = math.exp(self._spec.number("sigma", 1) * standard_normal(self._config.seed, number))
        return min(max(nearest(job.run_ms * factor), 0), LONGEST_MS)

    def learn(self, job: RefJob, run_ms: int) -> None:
        """Learns nothing."""


class History:
    """The mean of all that have ended and are most like the job."""

    def __init__(self) -> None:
        self._runs_ms: dict[Group, list[int]] = defaultdict(list)

    def estimate_ms(self, number: int, job: RefJob) -> int:
        """Returns the mean in whole milliseconds of the narrowest group in which a job has ended, or an hour."""
        for group in groups_of(job):
            if runs_ms := self._runs_ms[group]:
                return sum(runs_ms) // len(runs_ms)
        return HOUR_MS

    def learn(self, job: RefJob, run_ms: int) -> None:
        """Takes note of a job that has ended."""
        for group in groups_of(job):
            self._runs_ms[group].append(run_ms)


def groups_of(job: RefJob) -> list[Group]:
    """Returns the groups that a job belongs to, the narrowest first; nobody's jobs are in no user's group."""
    of_anybody: list[Group] = [(None, job.asked_milli), (None, None)]
    of_user: list[Group] = [] if job.user is None else [(job.user, job.asked_milli), (job.user, None)]
    return of_user + of_anybody


class LastTwo:
    """The mean of the user's last two run times."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._runs_ms: dict[str, list[int]] = defaultdict(list)

    def estimate_ms(self, number: int, job: RefJob) -> int:
        """Returns the mean in whole milliseconds, or the request until two jobs of the user have ended."""
        runs_ms = self._runs_ms[job.user][-2:] if job.user is not None else []
        return sum(runs_ms) // 2 if len(runs_ms) == 2 else request_ms(job, self._config)

    def learn(self, job: RefJob, run_ms: int) -> None:
        """Takes note of a job that has ended."""
        if job.user is not None:
            self._runs_ms[job.user].append(run_ms)
