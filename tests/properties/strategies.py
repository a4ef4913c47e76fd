"""Random small clusters, workloads and configurations, in which memory and GPUs bind as often as cores."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

from shunter.model.schedule import RejectReason
from shunter.model.site import NO_RULES, SiteRules
from tests.reference.kinds import RefRow
from tests.reference.model import Config, RefJob, RefNode
from tests.reference.resources import reject_reason

DISPATCHES = ["strict", "greedy", "easy", "conservative", "2", "3", "committed", "committed-backfill"]
PLACEMENTS = ["first-fit", "best-fit", "worst-fit", "pack", "spread", "random"]
STANDING = [
    *["fcfs", "fifo", "lcfs", "sjf", "ljf", "smallest", "largest", "saf", "laf", "srf", "lrf", "f1", "f2", "f3", "f4"],
    *["f1?origin=absolute", "f2?origin=absolute", "f3?origin=absolute", "f4?origin=absolute"],
    *["hybrid", "hybrid?aging=0.3", "priority", "random", "first-available"],
]
"""Policies whose order stands still."""
MOVING = [
    *["sexp", "lexp", "wfp3", "unicef", "fair-share", "fair-share?half_life_s=6", "multifactor"],
    "multifactor?age=3&max_age_s=12&size=2&fair_share=5&half_life_s=9&priority=1&favor_small=1",
    "linear?size=0.6&wait=900&wait_ratio=0.2&free_estimate=-0.4&queue_size=7",
]
"""Policies whose order moves, but for the one of random draws, which knows but one dispatch rule."""
GATED = [
    "linear?estimate=0&reserve_below=0",
    "linear?estimate=0.7&size=-0.4&reserve_below=-5.7",
    "linear?wait=300&hold_share=0.3&hold_from_s=3&hold_patience_s=9",
]
"""Policies that are more than an order: some jobs hold no reservation, or are held back."""
POLICIES = [*STANDING, *MOVING]
FIXED_ESTIMATES = ["requested", "perfect"]
LEARNED_ESTIMATES = ["last-two", "posterior", "posterior?user_decay=0.8&decay=0.3&user_strength=1&size_strength=4"]
ESTIMATES = [*FIXED_ESTIMATES, "noisy", "noisy?sigma=0.3", *LEARNED_ESTIMATES]

SIZE_BY = ["auto", "auto", "cores", "gpus", "cores-alone"]

PARTITIONS = ["left", "right"]
USERS = ["ann", "ann", "bob", "eve", None]
QUEUES = ["high", "low", None]
PRIORITIES = [None, 0.0, 1.0, 2.5, -3.0]
SECOND_MS = 1000


@dataclass(frozen=True)
class Scene:
    """A cluster and the jobs for it."""

    nodes: tuple[RefNode, ...]
    jobs: tuple[RefJob, ...]
    kinds: tuple[RefRow, ...] = ()
    """How fast kinds of jobs run on each type of GPU; empty: there is no such table."""
    rules: SiteRules = field(default=NO_RULES, hash=False)
    """What the site lets wait and start."""

    def honest(self) -> Scene:
        """Returns the same scene with run times cut at the requests."""
        jobs = tuple(
            job if job.requested_ms is None else replace(job, run_ms=min(job.run_ms, job.requested_ms))
            for job in self.jobs
        )
        return replace(self, jobs=jobs)


@dataclass(frozen=True)
class Palette:
    """What nodes have and what tasks ask for; a value given twice is drawn twice as often."""

    node_cores_milli: tuple[int, ...]
    node_memory_mb: tuple[int | None, ...]
    node_gpus: tuple[int, ...]
    tasks: tuple[int, ...]
    cores_milli: tuple[int, ...]
    memory_mb: tuple[int | None, ...]
    gpu_milli: tuple[int, ...]
    node_counts: tuple[int, ...] = (2, 1, 2, 3, 3, 4, 5)


MIXED = Palette(
    node_cores_milli=(4000, 2000, 2000, 6000, 3000),
    node_memory_mb=(8, None, 4, 6),
    node_gpus=(1, 2, 0, 2),
    tasks=(1, 1, 2, 3, 4, 6),
    cores_milli=(1000, 500, 1500, 0, 1000, 2000, 2000, 3000),
    memory_mb=(None, None, 0, 1, 2, 3, 4, 6),
    gpu_milli=(0, 0, 200, 300, 500, 700, 1000, 1000, 2000),
)
"""Any resource may bind, and any may be missing."""

GPUS = Palette(
    node_cores_milli=(64_000,),
    node_memory_mb=(None,),
    node_gpus=(2, 2, 3, 4),
    tasks=(1, 1, 2, 3, 5),
    cores_milli=(1000,),
    memory_mb=(None,),
    gpu_milli=(200, 300, 400, 500, 600, 700, 1000, 1000, 2000),
)
"""Only GPUs bind, so that it matters on which device a fraction lies."""

CROWDED = Palette(
    node_cores_milli=(4000,),
    node_memory_mb=(4, None),
    node_gpus=(0,),
    tasks=(1, 1, 1, 2),
    cores_milli=(1000, 2000, 3000, 4000),
    memory_mb=(1, 2, 3),
    gpu_milli=(0,),
)
"""Large tasks on like nodes: reservations have somewhere else to go, but seldom far."""

POOL = Palette(
    node_cores_milli=(4000, 6000, 8000),
    node_memory_mb=(None,),
    node_gpus=(0,),
    tasks=(1, 1, 2, 3, 5),
    cores_milli=(1000, 1000, 1500, 0),
    memory_mb=(None, 2),
    gpu_milli=(0,),
    node_counts=(1,),
)
"""One node on which cores alone bind."""


@st.composite
def random_nodes(draw: st.DrawFn, palette: Palette) -> tuple[RefNode, ...]:
    """Draws one pool, or up to five nodes; all, some or none with memory, GPUs and partitions."""
    count = draw(st.sampled_from(palette.node_counts))
    partitioned = count > 1 and draw(st.integers(0, 3)) == 0
    alike = draw(st.booleans())
    node = st.builds(
        RefNode,
        cores_milli=st.sampled_from(palette.node_cores_milli),
        memory_mb=st.sampled_from(palette.node_memory_mb),
        gpus=st.sampled_from(palette.node_gpus),
        partition=st.sampled_from([None, *PARTITIONS]) if partitioned else st.none(),
    )
    if alike and not partitioned:
        return (draw(node),) * count
    return tuple(draw(st.lists(node, min_size=count, max_size=count)))


def random_durations_ms(longest_s: int) -> st.SearchStrategy[int]:
    """Draws durations: mostly whole seconds, so that ties are common, sometimes odd milliseconds, sometimes nothing."""
    seconds = st.integers(1, longest_s).map(lambda seconds: seconds * SECOND_MS)
    return st.one_of(seconds, seconds, seconds, st.sampled_from([0, 1, 1500, 2999]))


@st.composite
def random_job(draw: st.DrawFn, palette: Palette, submit_ms: int, partitions: list[str]) -> RefJob:
    """Draws one job, which may be too large for the cluster."""
    run_ms = draw(random_durations_ms(20))
    request = draw(st.sampled_from(["exact", "longer", "longer", "any", "none"]))
    requested_ms = {
        "exact": run_ms,
        "longer": run_ms + draw(st.integers(0, 6)) * SECOND_MS,
        "any": draw(random_durations_ms(20)),
        "none": None,
    }[request]
    return RefJob(
        submit_ms=submit_ms,
        run_ms=run_ms,
        requested_ms=requested_ms,
        tasks=draw(st.sampled_from(palette.tasks)),
        cores_milli=draw(st.sampled_from(palette.cores_milli)),
        memory_mb=draw(st.sampled_from(palette.memory_mb)),
        gpu_milli=draw(st.sampled_from(palette.gpu_milli)),
        partition=draw(st.sampled_from([None, *partitions])),
        user=draw(st.sampled_from(USERS)),
        queue=draw(st.sampled_from(QUEUES)),
        priority=draw(st.sampled_from(PRIORITIES)),
    )


def modest(job: RefJob, nodes: tuple[RefNode, ...]) -> RefJob:
    """Returns a job that asks for less, step by step, until it would not be rejected."""
    while (reason := reject_reason(job, nodes)) is not RejectReason.NONE:
        if reason is RejectReason.NO_SUCH_PARTITION:
            job = replace(job, partition=None)
        elif reason is RejectReason.NO_SUCH_FEATURES:
            job = replace(job, features=None)
        elif job.tasks > 1:
            job = replace(job, tasks=job.tasks - 1)
        elif reason is RejectReason.MEMORY:
            job = replace(job, memory_mb=1)
        elif job.gpu_milli:
            job = replace(job, gpu_milli=0)
        else:
            job = replace(job, cores_milli=1000, memory_mb=1)
    return job


@st.composite
def random_scenes(draw: st.DrawFn, palettes: tuple[Palette, ...] = (MIXED, MIXED, GPUS, CROWDED, POOL)) -> Scene:
    """Draws a cluster and up to fourteen jobs, sorted by submit time, several often submitted at once."""
    palette = draw(st.sampled_from(palettes))
    nodes = draw(random_nodes(palette))
    first_ms = draw(st.sampled_from([0, 0, 1000, 7_500_000, -3000]))
    gaps_ms = st.sampled_from([0, 0, 0, 0, 1000, 1000, 2000, 3000, 1, 700])
    likely = st.booleans() if any(node.partition for node in nodes) else st.sampled_from([False] * 9 + [True])
    partitions = [*PARTITIONS, "nowhere"] if draw(likely) else []
    jobs: list[RefJob] = []
    for _ in range(draw(st.sampled_from([8, 1, 4, 10, 12, 13, 14]))):
        submit_ms = jobs[-1].submit_ms + draw(gaps_ms) if jobs else first_ms
        job = draw(random_job(palette, submit_ms, partitions))
        jobs.append(job if draw(st.integers(0, 9)) == 9 else modest(job, nodes))
    return Scene(nodes, tuple(jobs))


def random_configs(
    dispatches: list[str] = DISPATCHES,
    placements: list[str] = PLACEMENTS,
    policies: list[str] = POLICIES,
    estimates: list[str] = FIXED_ESTIMATES,
) -> st.SearchStrategy[Config]:
    """Draws every setting at random, from other choices if given."""
    return st.builds(
        Config,
        policy=st.sampled_from(policies),
        dispatch=st.sampled_from(dispatches),
        placement=st.sampled_from(placements),
        estimate=st.sampled_from(estimates),
        missing_request_ms=st.sampled_from([None, None, 0, 3000, 60_000]),
        reserve_by=st.sampled_from(["requested", "estimate"]),
        kill_at_request=st.booleans(),
        max_wait_ms=st.sampled_from([None, None, 0, 2000, 7000, 15_500]),
        scan_depth=st.sampled_from([1000, 1000, 1, 2, 4]),
        seed=st.integers(0, 2**64 - 2),
        size_by=st.sampled_from(SIZE_BY),
    )
