"""Partitions that overlap, features, admission and tiers: small schedules, checked by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from shunter.model.schedule import RejectReason
from shunter.model.site import Limit, PartitionRules, SiteRules
from tests.golden.seconds import job, nodes, starts_s
from tests.properties.observed import Simulator
from tests.reference.model import Config, RefJob, RefNode

OVERLAPPING = [RefNode(2000, partition="left"), RefNode(2000, partition="left,right"), RefNode(2000, partition="right")]


def of(partition: str | None, one: RefJob) -> RefJob:
    """Returns a job of a partition."""
    return replace(one, partition=partition)


def test_partitions_share_a_node(simulator: Simulator) -> None:
    """A takes all of the left one, and so the middle node; B has the rest of the right one, C waits for both nodes.

    Three nodes of 2 cores, the middle one in both partitions::

        second 0         1
               012345678901
        node 0 AAAAAAAAAA..
        node 1 AAAAAAAAAACC
        node 2 .BBBB.....CC
    """
    jobs = [of("left", job(0, 10, tasks=4)), of("right", job(1, 4, tasks=2)), of("right", job(2, 2, tasks=4))]
    observed = simulator(jobs, OVERLAPPING, Config(policy="fcfs", dispatch="easy"))
    assert starts_s(observed) == [0, 1, 10]
    assert nodes(observed) == [{0: 2, 1: 2}, {2: 2}, {1: 2, 2: 2}]


def test_a_job_never_takes_nodes_of_two_partitions(simulator: Simulator) -> None:
    """Three tasks of 2 cores would fit on the three nodes together, but on the nodes of neither partition."""
    jobs = [
        of("left,right", job(0, 5, cores=2, tasks=3)),
        of(None, job(0, 5, cores=2)),
        of("right", job(1, 5, cores=2)),
    ]
    cluster = [RefNode(2000, partition="left"), *OVERLAPPING[1:]]
    observed = simulator(jobs, cluster, Config(policy="fcfs", dispatch="greedy"))
    assert observed[0].reject_reason is RejectReason.CORES
    assert nodes(observed)[1:] == [{0: 1}, {1: 1}]
    blocked = [of("right", job(0, 9, cores=2, tasks=1)), of("right,left", job(1, 2, cores=2, tasks=2))]
    observed = simulator(blocked, cluster, Config(policy="fcfs", dispatch="greedy"))
    # Node 1 is taken, nodes 0 and 2 are free: neither partition has two.
    assert starts_s(observed) == [0, 9]


def test_the_first_partition_named_with_room(simulator: Simulator) -> None:
    jobs = [of("right,left", job(0, 5, cores=2)), of("left, right", job(0, 5, cores=2)), of("nowhere,right", job(1, 1))]
    observed = simulator(jobs, OVERLAPPING, Config(policy="fcfs", dispatch="easy"))
    assert nodes(observed) == [{1: 1}, {0: 1}, {2: 1}]


def test_features(simulator: Simulator) -> None:
    cluster = [RefNode(1000, features="a"), RefNode(1000, features="a,b"), RefNode(1000, features="c"), RefNode(1000)]
    wanted = ["a&b", "c|a", "b|c", "d", "a,b|c"]
    jobs = [replace(job(0, 5), features=text) for text in wanted]
    observed = simulator(jobs, cluster, Config(policy="fcfs", dispatch="greedy"))
    assert nodes(observed) == [{1: 1}, {0: 1}, {2: 1}, {}, {1: 1}]
    assert starts_s(observed) == [0, 0, 0, None, 5]
    assert observed[3].reject_reason is RejectReason.NO_SUCH_FEATURES


RULES = SiteRules(
    {
        "left": PartitionRules(accounts=("physics",), max_time_s=10.0, max_cores=3, default_time_s=4.0),
        "right": PartitionRules(denied_accounts=("hep",), users=("ann",), qos=("high",), max_nodes=1),
    },
    limits=(Limit(max_cores=5, users=("bob",)),),
    accounts={"hep": "physics"},
    default_partition="left",
)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"partition": "left", "account": "hep"}, RejectReason.NONE),
        ({"account": "physics"}, RejectReason.NONE),
        ({"account": "chemistry"}, RejectReason.NOT_ADMITTED),
        ({"partition": "left"}, RejectReason.NOT_ADMITTED),
        ({"partition": "gone"}, RejectReason.NO_SUCH_PARTITION),
        ({"partition": "left", "account": "hep", "requested_ms": 10_001}, RejectReason.OVER_JOB_LIMIT),
        ({"partition": "left", "account": "hep", "requested_ms": None}, RejectReason.NONE),
        ({"partition": "left", "account": "hep", "tasks": 4}, RejectReason.OVER_JOB_LIMIT),
        ({"partition": "right", "user": "ann", "qos": "high"}, RejectReason.NONE),
        ({"partition": "right", "user": "ann"}, RejectReason.NOT_ADMITTED),
        ({"partition": "right", "user": "bob", "qos": "high"}, RejectReason.NOT_ADMITTED),
        ({"partition": "right", "user": "ann", "qos": "high", "account": "hep"}, RejectReason.NOT_ADMITTED),
        ({"partition": "right", "user": "ann", "qos": "high", "tasks": 3}, RejectReason.OVER_JOB_LIMIT),
        ({"partition": "right", "user": "ann", "qos": "high", "tasks": 9}, RejectReason.CORES),
        ({"partition": "right,left", "account": "physics", "tasks": 3}, RejectReason.NONE),
    ],
)
def test_admission(simulator: Simulator, changes: dict[str, Any], reason: RejectReason) -> None:
    one = replace(job(0, 3), **changes)
    (observed,) = simulator([one], OVERLAPPING, Config(policy="fcfs", rules=RULES))
    assert observed.reject_reason is reason


def test_a_limit_of_one_job_without_partitions(simulator: Simulator) -> None:
    rules = SiteRules(limits=(Limit(max_cores=5, users=("bob",)),))
    jobs = [replace(job(0, 3, tasks=6), user="bob"), replace(job(0, 3, tasks=6), user="ann")]
    observed = simulator(jobs, [RefNode(8000)], Config(policy="fcfs", rules=rules))
    assert [one.reject_reason for one in observed] == [RejectReason.OVER_JOB_LIMIT, RejectReason.NONE]


def test_a_default_time_is_a_request(simulator: Simulator) -> None:
    """B asks for 4 s by default, which would delay A's 3 s promise; and it is killed after 4 s."""
    rules = SiteRules({"all": PartitionRules(default_time_s=4.0)})
    cluster = [RefNode(2000, partition="all")]
    jobs = [of("all", job(0, 3)), of("all", job(1, 3, tasks=2)), replace(of("all", job(1, 9)), requested_ms=None)]
    observed = simulator(jobs, cluster, Config(policy="fcfs", dispatch="easy", kill_at_request=True, rules=rules))
    assert starts_s(observed) == [0, 3, 6]
    assert observed[2].end_ms == 10_000


@pytest.mark.parametrize("policy", ["fcfs", "sjf", "wfp3", "srtf"])
def test_a_higher_tier_goes_first(simulator: Simulator, policy: str) -> None:
    """C is long and comes last, but its partition has a higher tier: it starts when A ends, whatever the score."""
    rules = SiteRules({"urgent": PartitionRules(tier=2)})
    cluster = [RefNode(1000, partition="usual,urgent")]
    jobs = [of("urgent", job(0, 4)), of("usual", job(1, 2)), of("urgent,usual", job(2, 9))]
    dispatch = "greedy" if policy == "srtf" else "easy"
    observed = simulator(jobs, cluster, Config(policy=policy, dispatch=dispatch, rules=rules))
    assert starts_s(observed) == [0, 13, 4]


def test_the_guard_goes_before_tiers(simulator: Simulator) -> None:
    rules = SiteRules({"urgent": PartitionRules(tier=2)})
    cluster = [RefNode(1000, partition="usual,urgent")]
    jobs = [of("urgent", job(0, 4)), of("usual", job(1, 2)), of("urgent", job(2, 9))]
    observed = simulator(jobs, cluster, Config(policy="fcfs", max_wait_ms=3000, rules=rules))
    assert starts_s(observed) == [0, 4, 6]


def test_the_factor_of_a_partition(simulator: Simulator) -> None:
    rules = SiteRules({"low": PartitionRules(factor=0.1), "high": PartitionRules(factor=1.0)})
    cluster = [RefNode(1000, partition="low,high")]
    jobs = [of("low", job(0, 4)), of("low", job(1, 2)), of("low,high", job(2, 2))]
    policy = "multifactor?partition=1e6"
    observed = simulator(jobs, cluster, Config(policy=policy, dispatch="easy", rules=rules))
    assert starts_s(observed) == [0, 6, 4]


def test_an_exclusive_job_has_its_node_for_itself(simulator: Simulator) -> None:
    """B asks for one core, but waits until nothing of a node is taken, and then holds all of it: C and D wait for it.

    One node of 4 cores::

        second 0         1
               0123456789012
        core 1 AAAAABBBBBCCC
        core 2 .....BBBBBDDD
        core 3 .....BBBBB...
        core 4 .....BBBBB...
    """
    jobs = [job(0, 5), replace(job(1, 5), exclusive=True), job(2, 3), job(2, 3)]
    observed = simulator(jobs, [RefNode(4000)], Config(policy="fcfs", dispatch="strict"))
    assert starts_s(observed) == [0, 5, 10, 10]
    # With backfilling, C and D may go before it if they end in time: they take what A leaves.
    observed = simulator(jobs, [RefNode(4000)], Config(policy="fcfs", dispatch="easy"))
    assert starts_s(observed) == [0, 5, 2, 2]


def test_a_partition_makes_its_jobs_exclusive(simulator: Simulator) -> None:
    rules = SiteRules({"own": PartitionRules(exclusive=True)})
    cluster = [RefNode(4000, gpus=2, partition="own,shared"), RefNode(4000, gpus=2, partition="own,shared")]
    jobs = [of("own", job(0, 5, gpus=1)), of("shared", job(1, 2, gpus=1)), of("own,shared", job(1, 2, cores=1))]
    observed = simulator(jobs, cluster, Config(policy="fcfs", dispatch="greedy", rules=rules))
    assert starts_s(observed) == [0, 1, 3]
    assert nodes(observed) == [{0: 1}, {1: 1}, {1: 1}]
