"""The estimate ``posterior``: what a user's ended jobs tell of the next one, shrunk in four steps."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass

from shunter.policies.prior import GENERIC_PRIOR
from tests.reference.arithmetic import nearest
from tests.reference.model import Config, RefJob, request_ms
from tests.reference.specs import Spec

SHORTEST_S = 10.0
LONGEST_MS = 10**12


@dataclass(frozen=True)
class Prior:
    """What is believed before any job has ended, and how strongly."""

    user_decay: float
    decay: float
    """Of the narrower groups."""
    strengths: tuple[float, float, float]
    """Of the user, of the user with a request, of the user with a request and a size."""
    means: list[tuple[float, float]]
    """E[R] and E[I] for each power of two of the request in seconds; the last are for jobs without a request."""

    def usual(self, job: RefJob) -> tuple[float, float]:
        """Returns what is believed of a job with this request."""
        if job.requested_ms is None:
            return self.means[-1]
        power = max(job.requested_ms // 1000, 1).bit_length() - 1
        return self.means[min(power, len(self.means) - 2)]


def read_prior(spec: Spec) -> Prior:
    """Returns what a spec says, the rest being for no site in particular."""
    known = {**vars(GENERIC_PRIOR), **spec.said}
    return Prior(
        user_decay=known["user_decay"],
        decay=known["decay"],
        strengths=(known["user_strength"], known["request_strength"], known["size_strength"]),
        means=list(zip(known["mean_run_s"], known["mean_inverse"], strict=True)),
    )


@dataclass
class Sums:
    """Decayed sums over ended jobs."""

    ones: float = 0.0
    runs: float = 0.0
    inverses: float = 0.0

    def add(self, decay: float, run: float, inverse: float) -> None:
        """Takes note of one more job."""
        self.ones = decay * self.ones + 1
        self.runs = decay * self.runs + run
        self.inverses = decay * self.inverses + inverse


class Posterior:
    """What is known of each user, of the user with a request, and of the user with a request and a size."""

    def __init__(self, spec: Spec, config: Config) -> None:
        self._config = config
        self._prior = read_prior(spec)
        self._sums: dict[Hashable, Sums] = defaultdict(Sums)

    def _groups(self, job: RefJob) -> list[Sums]:
        """Returns the sums of the groups that a job belongs to, the widest first."""
        keys = [(job.user,), (job.user, job.requested_ms), (job.user, job.requested_ms, job.asked_milli)]
        return [self._sums[key] if job.user is not None else Sums() for key in keys]

    def estimate_ms(self, number: int, job: RefJob) -> int:
        """Returns √(E[R]/E[I]), at least 1 ms and at most the request if there is one."""
        if job.user is None and job.requested_ms is None:
            return request_ms(job, self._config)
        (usual_run, usual_inverse), (k1, k2, k3) = self._prior.usual(job), self._prior.strengths
        user, request, size = self._groups(job)
        run = usual_run * ((user.runs + k1) / (user.ones + k1))
        inverse = usual_inverse * ((user.inverses + k1) / (user.ones + k1))
        for sums, k in ((request, k2), (size, k3)):
            run = (sums.runs + k * run) / (sums.ones + k)
            inverse = (sums.inverses + k * inverse) / (sums.ones + k)
        longest_ms = LONGEST_MS if job.requested_ms is None else job.requested_ms
        return max(1, min(nearest(math.sqrt(run / inverse) * 1000), longest_ms))

    def learn(self, job: RefJob, run_ms: int) -> None:
        """Takes note of a job that has ended; for the user alone, as a ratio to what is usual for its request."""
        longest_ms = run_ms if job.requested_ms is None else job.requested_ms
        run, inverse = min(run_ms, longest_ms) / 1000, 1 / max(run_ms / 1000, SHORTEST_S)
        usual_run, usual_inverse = self._prior.usual(job)
        user, *narrower = self._groups(job)
        user.add(self._prior.user_decay, run / usual_run, inverse / usual_inverse)
        for sums in narrower:
            sums.add(self._prior.decay, run, inverse)
