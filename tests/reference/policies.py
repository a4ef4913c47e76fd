"""Who is next: the policies' scores and the order that they and the starvation guard make."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from tests.reference.arithmetic import log10
from tests.reference.linear import linear_score
from tests.reference.model import RefJob
from tests.reference.preemptive import measure
from tests.reference.randomness import feasible_score, random_score
from tests.reference.resources import names_in
from tests.reference.shares import WEEK_S

if TYPE_CHECKING:
    from tests.reference.specs import Spec
    from tests.reference.state import State

LEAST_S = 1.0
LEAST_SIZE = 0.001
LEAST_LOG2 = 1e-15


@dataclass(frozen=True)
class Order:
    """The waiting jobs that a pass looks at, in order, and how they came to stand there."""

    jobs: list[int]
    starving: frozenset[int]
    """Those that the guard puts first."""
    scores: dict[int, float]


def formula_score(policy: str, r: float, n: float, s: float, w: float, aging: float) -> float:
    """Returns the score of a policy that is a formula of estimate r, size n, submit time s and wait w."""
    ratio = w / max(r, LEAST_S)
    scores = {
        "fcfs": s,
        "fifo": s,
        "first-available": s,
        "lcfs": -s,
        "sjf": r,
        "ljf": -r,
        "smallest": n,
        "largest": -n,
        "saf": r * n,
        "laf": -r * n,
        "srf": r / max(n, LEAST_SIZE),
        "lrf": -r / max(n, LEAST_SIZE),
        "f1": log10(r) * n + 870 * log10(s),
        "f2": math.sqrt(r) * n + 25600 * log10(s),
        "f3": r * n + 6860000 * log10(s),
        "f4": r * math.sqrt(n) + 530000 * log10(s),
        "hybrid": r + aging * s,
        "sexp": (w + max(r, LEAST_S)) / max(r, LEAST_S),
        "lexp": -(w + max(r, LEAST_S)) / max(r, LEAST_S),
        "wfp3": -ratio * ratio * ratio * n,
        "unicef": -w / (max(math.log2(max(n, LEAST_SIZE)), LEAST_LOG2) * max(r, LEAST_S)),
    }
    return scores[policy]


def multifactor_score(state: State, place: int, job: RefJob) -> float:
    """Returns the negative of Slurm's priority."""
    policy = state.policy
    age = min(state.wait_s(place) / policy.number("max_age_s", WEEK_S), 1)
    part = state.sizes.size(job) / (state.sizes.capacity_milli / 1000)
    moving = (
        policy.number("age", 1000) * age
        + policy.number("size", 1000) * (1 - part if policy.number("favor_small", 0) else part)
        + policy.number("fair_share", 1000) * state.usage.factor(job.user, state.now_ms)
    )
    standing = (
        policy.number("partition", 0) * partition_factor(policy, job)
        + policy.number("qos", 0) * policy.table("queues").get(job.qos or job.queue, 0)
        + policy.number("priority", 0) * (job.priority or 0)
    )
    return -(moving + standing)


def partition_factor(policy: Spec, job: RefJob) -> float:
    """Returns the highest of what a job's partitions count for, as the policy says, or else the cluster."""
    told = dict(job.factors) | policy.table("partitions")
    return max((told.get(name, 0) for name in names_in(job.partition)), default=0)


PlaceScore: TypeAlias = Callable[["State", int, RefJob], float]

SCORES: dict[str, PlaceScore] = {
    "priority": lambda state, place, job: -(job.priority or 0),
    "random": lambda state, place, job: random_score(state.config.seed, state.number(place)),
    "random-feasible": lambda state, place, job: feasible_score(state.config.seed, state.number(place), state.now_ms),
    "fair-share": lambda state, place, job: state.usage.used_by_share(job.user, state.now_ms),
    "multifactor": lambda state, place, job: multifactor_score(state, place, job),
    "qssf": lambda state, place, job: state.estimate_s(place) * state.sizes.size(job),
    "srtf": lambda state, place, job: measure(state, place),
    "las": lambda state, place, job: measure(state, place),
    "srsf": lambda state, place, job: measure(state, place),
    "gittins": lambda state, place, job: measure(state, place),
    # Pairs of jobs and types take turns, not jobs.
    "pairs": lambda state, place, job: 0.0,
}
"""The policies that are no formula of the job alone."""


def score(state: State, place: int, looked_at: Sequence[int]) -> float:
    """Returns the job's score now; the lowest goes first."""
    job = state.jobs[place]
    if callable(state.config.policy):
        return state.config.policy(place, job, state.now_ms)
    if state.policy.name == "linear":
        return linear_score(state, place, looked_at)
    if state.policy.name in SCORES:
        return SCORES[state.policy.name](state, place, job)
    s = job.submit_ms / 1000
    if state.policy.name in ("f1", "f2", "f3", "f4") and state.policy.said.get("origin") != "absolute":
        s = max(1.0, (job.submit_ms - state.log_begin_ms) / 1000)
    return formula_score(
        state.policy.name,
        r=state.estimate_s(place),
        n=state.sizes.size(job),
        s=s,
        w=state.wait_s(place),
        aging=state.policy.number("aging", 1),
    )


def in_order(state: State) -> Order:
    """Returns the waiting jobs in their order: those beyond the guard's bound first, then by tier, then by score.

    An order that moves is made among those that have waited longest; scores over pairs look at all.
    """
    looks_at_all = not state.moves or state.policy.name == "pairs"
    by_tier = sorted(state.waiting, key=lambda place: (-state.jobs[place].tier, place))
    looked_at = by_tier[: None if looks_at_all else state.config.scan_depth]
    scores = {place: score(state, place, looked_at) for place in looked_at}
    bound_ms = math.inf if state.config.max_wait_ms is None else state.config.max_wait_ms
    starving = frozenset(place for place in looked_at if state.now_ms - state.since_ms(place) >= bound_ms)
    by_score = sorted(set(looked_at) - starving, key=lambda place: (-state.jobs[place].tier, scores[place], place))
    return Order(sorted(starving) + by_score, starving, scores)
