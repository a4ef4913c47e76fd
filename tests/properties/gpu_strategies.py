"""Random small GPU clusters of several types, speeds, racks and switches, their jobs, and what may go wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from shunter.model.schedule import RejectReason
from tests.properties.strategies import DISPATCHES, PARTITIONS, SIZE_BY, USERS, Scene, modest, random_durations_ms
from tests.reference.kinds import OTHERS, RefRow, with_speeds
from tests.reference.model import Config, RefJob, RefNode
from tests.reference.resources import reject_reason

PLACEMENTS = [
    *["first-fit", "best-fit", "worst-fit", "pack", "spread", "random", "fastest", "slowest-that-fits"],
    *["tiered-defrag", "tiered-balance", "tiered-lex", "fgd", "topology"],
]
POLICIES = [
    *["fcfs", "sjf", "saf", "laf", "smallest", "largest", "srf", "f2", "f4", "random", "qssf", "wfp3", "unicef"],
    *["fair-share", "multifactor", "linear?size=0.6&free_size=2&queue_size=7&hold_share=0.2&hold_from_s=1"],
]
PREEMPTIVE = [
    *["srtf", "srtf?outlived=ends", "srsf", "las", "las?first_s=6&second_s=30", "las?first_s=2&second_s=2.5"],
    *["gittins?bins=6&shortest_s=1&growth=1.7", "gittins?bins=3&shortest_s=2&growth=3&decay=0.5&shrinkage=0.3"],
]
ESTIMATES = ["requested", "perfect", "last-two", "history"]
NOWHERE = 1 << 62
"""The types that a job accepts if no node has any of them."""

KINDS = ("resnet", "lstm")
WHOLE = (1000, 1000, 1000, 2000, 2000, 3000, 4000)
FRACTIONS = (200, 300, 500, 500, 700, 1000)
ANY = (0, *WHOLE, *FRACTIONS)


def renumbered(drawn: Sequence[int | None]) -> list[int | None]:
    """Returns numbers in the order in which they first appear."""
    known = {number: place for place, number in enumerate(dict.fromkeys(one for one in drawn if one is not None))}
    return [None if one is None else known[one] for one in drawn]


@st.composite
def gpu_nodes(draw: st.DrawFn) -> tuple[RefNode, ...]:
    """Draws two to five nodes; speeds go by the type, seldom by the node."""
    count = draw(st.sampled_from([3, 2, 4, 5]))

    def each(*choices: int | None) -> list[int | None]:
        return draw(st.lists(st.sampled_from(choices), min_size=count, max_size=count))

    speeds = draw(st.lists(st.sampled_from([1000, 2000, 500, 1500, 2700]), min_size=count, max_size=count))
    types = renumbered(each(*draw(st.sampled_from([(0, 1), (0, 0, 0, 1, 2, None), (0,), (None,)]))))
    by_type = draw(st.integers(0, 3)) > 0
    speed_of = [speeds[(types[node] or 0) if by_type else node] for node in range(count)]
    racks, switches = renumbered(each(None, 0, 1)), renumbered(each(None, 0, 1, 2))
    gpus = draw(st.sampled_from([(4,), (2, 4), (1, 2, 2, 4, 0), (8, 4)]))
    partitioned = draw(st.integers(0, 3)) == 3
    return tuple(
        RefNode(
            cores_milli=draw(st.sampled_from([64_000, 64_000, 8000, 4000])),
            memory_mb=draw(st.sampled_from([None, None, 8, 6])),
            gpus=draw(st.sampled_from(gpus)),
            partition=draw(st.sampled_from([None, *PARTITIONS])) if partitioned else None,
            gpu_type=types[node],
            speed_milli=speed_of[node],
            rack=racks[node],
            switch=switches[node],
        )
        for node in range(count)
    )


@st.composite
def gpu_job(draw: st.DrawFn, nodes: tuple[RefNode, ...], submit_ms: int, gpu_milli: tuple[int, ...]) -> RefJob:
    """Draws one job, which may be too large for the cluster, or accept no type that is there."""
    run_ms = draw(random_durations_ms(15))
    milli = draw(st.sampled_from(gpu_milli))
    types = {node.gpu_type for node in nodes} - {None}
    masks = [0, 0, *(1 << one for one in types if one is not None), 0b11 if len(types) > 1 else 0, NOWHERE]
    return RefJob(
        submit_ms=submit_ms,
        run_ms=run_ms,
        requested_ms=draw(st.sampled_from([run_ms, run_ms + 2000, run_ms + 5000, 4000, None])),
        tasks=draw(st.sampled_from([1, 1, 2, 3, 4, 6])),
        cores_milli=draw(st.sampled_from([1000, 1000, 500, 2000, 0])),
        memory_mb=draw(st.sampled_from([None, None, 1, 2])),
        gpu_milli=milli,
        gpu_types=draw(st.sampled_from(masks)) if milli and types else 0,
        partition=draw(st.sampled_from([None, None, *PARTITIONS])),
        user=draw(st.sampled_from(USERS)),
    )


def likely(job: RefJob, nodes: tuple[RefNode, ...]) -> RefJob:
    """Returns a job that asks for less until it would not be rejected."""
    if reject_reason(job, nodes) is RejectReason.NO_SUCH_PARTITION:
        job = replace(job, partition=None)
    if reject_reason(job, nodes) is RejectReason.NO_SUCH_FEATURES:
        job = replace(job, features=None)
    if reject_reason(job, nodes) is RejectReason.NO_SUCH_GPU_TYPE:
        job = replace(job, gpu_types=0)
    job = modest(job, nodes)
    return job if job.gpu_milli else replace(job, gpu_types=0)


SLOWDOWNS = st.sampled_from(
    [
        (1_000_000, 1_000_000, 1_000_000),
        (1_200_000, 1_200_000, 1_200_000),
        (1_000_000, 1_500_000, 2_000_000),
        (1_100_000, 1_250_000, 3_000_000),
        (800_000, 1_333_333, 1_333_333),
    ]
)
"""By how much slower a gang is on more nodes than it needs, on several switches, in several racks."""
LOCALITIES = [
    *[(0, 0), (0, 0), (0, 0), (None, None), (None, None), (3000, None), (7500, None)],
    *[(None, 0), (None, 200_000), (None, 400_000)],
]
"""How long jobs wait for nodes that are close together, and what they lose without waiting."""


@st.composite
def kind_tables(draw: st.DrawFn, nodes: tuple[RefNode, ...]) -> tuple[RefRow, ...]:
    """Draws how fast kinds run on each type, for half of the clusters all of whose GPUs have one."""
    types = {node.gpu_type for node in nodes if node.gpu_type is not None}
    if not types or any(node.gpus and node.gpu_type is None for node in nodes) or draw(st.booleans()):
        return ()
    speeds = st.sampled_from([1_000_000, 500_000, 2_000_000, 333_333, 0, 1_250_001])
    names = draw(st.sampled_from([KINDS, (*KINDS, OTHERS)]))
    rows = []
    for kind in names:
        for gpus in draw(st.sampled_from([(1,), (1, 4), (2,), (1, 2, 3)])):
            row = draw(st.lists(speeds, min_size=len(types), max_size=len(types)).filter(any))
            own = draw(st.lists(SLOWDOWNS, min_size=len(types), max_size=len(types))) if draw(st.booleans()) else None
            rows.append(RefRow(kind, gpus, tuple(row), None if own is None else tuple(own)))
    return tuple(rows)


@st.composite
def gpu_scenes(draw: st.DrawFn, gpu_milli: tuple[int, ...] = ANY, most_jobs: int = 12) -> Scene:
    """Draws a cluster and its jobs, sorted by submit time, several often submitted at once."""
    nodes = draw(gpu_nodes())
    table = draw(kind_tables(nodes))
    # A kind that the table lacks is an error, unless a row stands for all others.
    kinds = [None, *KINDS, *(["unheard of"] if any(row.kind == OTHERS for row in table) else [])]
    gaps_ms = st.sampled_from([0, 0, 0, 1000, 1000, 2000, 1, 700])
    jobs: list[RefJob] = []
    for _ in range(draw(st.sampled_from([8, 1, 4, 10, most_jobs]))):
        submit_ms = jobs[-1].submit_ms + draw(gaps_ms) if jobs else draw(st.sampled_from([0, 7_500_000]))
        job = draw(gpu_job(nodes, submit_ms, gpu_milli))
        job = job if draw(st.integers(0, 9)) == 9 else likely(job, nodes)
        jobs.append(with_speeds(replace(job, kind=draw(st.sampled_from(kinds)) if table else None), table))
    return Scene(nodes, tuple(jobs), table)


def gpu_configs(
    policies: list[str] = POLICIES, dispatches: list[str] = DISPATCHES, placements: list[str] = PLACEMENTS
) -> st.SearchStrategy[Config]:
    """Draws the settings, without failures."""

    def config(locality: tuple[int | None, int | None], **rest: Any) -> Config:  # noqa: ANN401 - fields of the class
        return Config(locality_wait_ms=locality[0], locality_loss_micro=locality[1], **rest)

    return st.builds(
        config,
        locality=st.sampled_from(LOCALITIES),
        slowdown_micro=SLOWDOWNS,
        policy=st.sampled_from(policies),
        dispatch=st.sampled_from(dispatches),
        placement=st.sampled_from(placements),
        estimate=st.sampled_from(ESTIMATES),
        missing_request_ms=st.sampled_from([None, 3000]),
        reserve_by=st.sampled_from(["requested", "estimate"]),
        kill_at_request=st.booleans(),
        max_wait_ms=st.sampled_from([None, None, None, 4000]),
        seed=st.integers(0, 2**64 - 2),
        mix=st.sampled_from([False, False, True]),
        size_by=st.sampled_from(SIZE_BY),
    )


def preemptive_configs() -> st.SearchStrategy[Config]:
    """Draws the settings of policies that stop jobs."""
    return st.builds(
        lambda config, **rest: replace(config, **rest),
        gpu_configs(PREEMPTIVE, ["greedy"]),
        minimum_run_ms=st.sampled_from([0, 0, 1500, 5000]),
        keep_progress=st.sampled_from([True, True, False]),
        preemption_overhead_ms=st.sampled_from([0, 0, 300, 2000]),
        preemption_overhead_per_gb_ms=st.sampled_from([0, 0, 300_000]),
    )


@st.composite
def given_failures(draw: st.DrawFn, scene: Scene, for_good: bool = True) -> tuple[tuple[int, int, bool], ...]:
    """Draws node events around the jobs; at the end all are up, unless told otherwise."""
    times_ms = st.sampled_from([-500, 0, 1000, 2000, 3000, 3500, 5000, 8000, 12_000, 20_000, 33_333])
    event = st.tuples(times_ms, st.integers(0, len(scene.nodes) - 1), st.sampled_from([False, False, True]))
    begin_ms = scene.jobs[0].submit_ms
    drawn = draw(st.lists(event, min_size=1, max_size=8))
    ups = [] if for_good and draw(st.booleans()) else [(40_000, node, True) for node in range(len(scene.nodes))]
    down: set[int] = set()
    events = []
    for time_ms, node, up in sorted([*drawn, *ups], key=lambda one: one[0]):
        # A node that is up cannot come up, nor one that is down go down: that is refused as a mistake.
        if up == (node in down):
            (down.discard if up else down.add)(node)
            events.append((begin_ms + time_ms, node, up))
    return tuple(events)


@st.composite
def failing(draw: st.DrawFn, scene: Scene, config: Config) -> Config:
    """Draws what fails, and what becomes of the jobs on it: given events, drawn ones or both."""
    kind = draw(st.sampled_from(["given", "drawn", "both"]))
    given = () if kind == "drawn" else draw(given_failures(scene, for_good=kind == "given"))
    return replace(
        config,
        failures=given,
        failure_keeps_progress=draw(st.booleans()),
        preemption_overhead_ms=draw(st.sampled_from([0, 700])),
        preemption_overhead_per_gb_ms=draw(st.sampled_from([0, 0, 400_001])),
        mtbf_ms=None if kind == "given" else draw(st.sampled_from([80_000, 200_000])),
        mttr_ms=None if kind == "given" else draw(st.sampled_from([1500, 20_000])),
    )
