"""Draws sites with rules: nodes in several partitions and with features, and who may use them for what."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from shunter.model.site import Limit, PartitionRules, SiteRules
from tests.properties.gpu_strategies import ANY, gpu_scenes, likely
from tests.properties.strategies import CROWDED, MIXED, POOL, USERS, Scene, random_scenes
from tests.reference.kinds import with_speeds
from tests.reference.model import RefJob, RefNode

NODE_PARTITIONS = [None, "left", "right", "left,right", "right,all", "left,right,all", "all"]
JOB_PARTITIONS = [None, "left", "right", "all", "left,right", "right, left", "all,left", "left,nowhere", "nowhere"]
NODE_FEATURES = [None, "fast", "fast,big", "big", "old"]
JOB_FEATURES = [None, None, "fast", "fast&big", "old|big", "big,fast|old", "new", "new|fast"]
ACCOUNTS = [None, "physics", "hep", "chemistry"]
PARENTS = {"hep": "physics", "physics": "science"}


@st.composite
def scoped(draw: st.DrawFn, scene: Scene, partitions: bool, features: bool) -> Scene:
    """Draws partitions that overlap, and features, for the nodes and jobs of a scene."""

    def node(one: RefNode) -> RefNode:
        if partitions:
            one = replace(one, partition=draw(st.sampled_from(NODE_PARTITIONS)))
        return replace(one, features=draw(st.sampled_from(NODE_FEATURES))) if features else one

    def job(one: RefJob) -> RefJob:
        if partitions:
            one = replace(one, partition=draw(st.sampled_from(JOB_PARTITIONS)))
        if features:
            one = replace(one, features=draw(st.sampled_from(JOB_FEATURES)))
        if draw(st.integers(0, 9)) == 9:
            return one
        # A job may have to ask for less; its speeds follow from that.
        return with_speeds(likely(replace(one, speed_micro=None, slowdown_micro=None), nodes), scene.kinds)

    nodes = tuple(node(one) for one in scene.nodes)
    return replace(scene, nodes=nodes, jobs=tuple(job(one) for one in scene.jobs))


def any_scenes(gpu_milli: tuple[int, ...] = ANY) -> st.SearchStrategy[Scene]:
    """Draws clusters with GPUs and without."""
    return gpu_scenes(gpu_milli) | random_scenes((MIXED, CROWDED, POOL)).map(later)


def later(scene: Scene) -> Scene:
    """Returns the scene so much later that nothing happens before 0."""
    return replace(scene, jobs=tuple(replace(job, submit_ms=job.submit_ms + 3000) for job in scene.jobs))


@st.composite
def scoped_scenes(draw: st.DrawFn, scenes: st.SearchStrategy[Scene] | None = None) -> Scene:
    """Draws scenes with partitions that overlap, with features, or both."""
    partitions, features = draw(st.sampled_from([(True, False), (False, True), (True, True)]))
    return draw(scoped(draw(any_scenes() if scenes is None else scenes), partitions, features))


@st.composite
def partition_rules(draw: st.DrawFn) -> PartitionRules:
    """Draws who may use a partition for what."""

    def mostly_none(*values: float) -> float | None:
        return draw(st.sampled_from([None, None, None, *values]))

    names = st.sampled_from
    max_time_s = mostly_none(3.0, 8.0, 12.5)
    accounts = draw(names([(), (), (), ("science",), ("physics", "chemistry"), ("hep",)]))
    denied = draw(names([(), (), (), ("physics",), ("hep",)]))
    users = tuple(user for user in USERS[:2] if user)
    let_in, kept_out = draw(names([((), ()), ((), ()), ((), ()), (users, ()), ((), users[:1])]))
    return PartitionRules(
        max_time_s=max_time_s,
        tier=draw(st.sampled_from([1, 1, 0, 2, 5])),
        factor=mostly_none(0.5, 2.0),
        exclusive=draw(st.sampled_from([False, False, False, True])),
        default_time_s=draw(st.sampled_from([None, 2.0, 3.0])),
        max_nodes=draw(names([None, None, None, 1, 2])),
        max_cores=draw(names([None, None, None, 1, 2, 4])),
        accounts=accounts,
        # What is admitted and denied at once is refused as a mistake.
        denied_accounts=tuple(name for name in denied if name not in accounts),
        users=let_in,
        denied_users=kept_out,
        qos=draw(names([(), (), (), ("high",)])),
    )


@st.composite
def site_rules(draw: st.DrawFn, scene: Scene) -> SiteRules:
    """Draws the rules of a site that has the nodes of a scene."""
    there = sorted({name for node in scene.nodes for name in (node.partition or "").split(",") if name})
    limit = st.builds(
        Limit,
        max_cores=st.sampled_from([2, 4]),
        max_time_s=st.sampled_from([None, 6.0]),
        max_gpus=st.sampled_from([None, 2]),
        partitions=st.sampled_from([(), *((name,) for name in there)]),
        accounts=st.sampled_from([(), (), ("physics",)]),
        qos=st.sampled_from([(), ("high",)]),
    )
    return SiteRules(
        partitions={name: draw(partition_rules()) for name in there if draw(st.booleans())},
        limits=tuple(draw(st.lists(limit, max_size=2))) if draw(st.integers(0, 3)) == 0 else (),
        accounts=PARENTS,
        default_partition=draw(st.sampled_from([None, None, *there])),
    )


@st.composite
def exclusive(draw: st.DrawFn, scene: Scene) -> Scene:
    """Draws jobs of a scene that have their nodes for themselves."""
    drawn = st.sampled_from([False, False, True])
    return replace(scene, jobs=tuple(replace(job, exclusive=draw(drawn)) for job in scene.jobs))


@st.composite
def owned(draw: st.DrawFn, scene: Scene) -> Scene:
    """Draws accounts and QOS for the jobs of a scene."""
    accounts, qos = st.sampled_from(ACCOUNTS), st.sampled_from([None, "high", "low"])
    jobs = tuple(replace(job, account=draw(accounts), qos=draw(qos)) for job in scene.jobs)
    return replace(scene, jobs=jobs)
