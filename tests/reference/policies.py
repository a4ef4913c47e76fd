"""Who is next: the policies' scores and the order that they and the starvation guard make."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from tests.reference.model import Config, RefJob, estimate_ms
from tests.reference.randomness import random_score


def log10(value: float) -> float:
    """Returns the decimal logarithm; what is not positive counts as 0.1."""
    return math.log10(value if value > 0 else 0.1)


def named_score(policy: str, r: float, n: float, s: float) -> float:
    """Returns a policy's score of estimate r (seconds), cores n and submit time s (seconds)."""
    scores = {
        "fcfs": s,
        "fifo": s,
        "first-available": s,
        "sjf": r,
        "smallest": n,
        "f1": log10(r) * n + 870 * log10(s),
        "f2": math.sqrt(r) * n + 25600 * log10(s),
        "f3": r * n + 6860000 * log10(s),
        "f4": r * math.sqrt(n) + 530000 * log10(s),
    }
    return scores[policy]


def score(place: int, job: RefJob, now_ms: int, config: Config) -> float:
    """Returns the job's score now; the lowest goes first."""
    if not isinstance(config.policy, str):
        return config.policy(place, job, now_ms)
    if config.policy == "random":
        return random_score(config.seed, place)
    r = estimate_ms(job, config) / 1000
    n = job.tasks * job.cores_milli / 1000
    return named_score(config.policy, r, n, job.submit_ms / 1000)


def in_order(waiting: Iterable[int], jobs: Sequence[RefJob], now_ms: int, config: Config) -> list[int]:
    """Returns the waiting jobs in their order: those beyond the guard's bound first, then by score."""

    def rank(place: int) -> tuple[int, float, int]:
        waited_ms = now_ms - jobs[place].submit_ms
        if config.max_wait_ms is not None and waited_ms >= config.max_wait_ms:
            return (0, 0.0, place)
        return (1, score(place, jobs[place], now_ms, config), place)

    return sorted(waiting, key=rank)
