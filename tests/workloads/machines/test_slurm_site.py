"""Slurm's partitions, QOS, associations, reservations and licenses as rules, and its weights as a policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shunter.model.site import AdvanceReservation, Limit, PartitionRules
from shunter.workloads.machines import read_site
from tests.workloads.machines.site_files import detected, left, read_files, write_files
from tests.workloads.machines.slurm_texts import (
    ASSOCIATIONS,
    CONFIGURATION,
    LICENSES,
    NODES,
    PARTITIONS,
    QOS,
    RESERVATIONS,
    TREE,
)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (CONFIGURATION, "slurm-conf"),
        ("Configuration data as of 2026-11-18\nPriorityType = priority/basic\n", "slurm-conf"),
        (NODES, "scontrol"),
        (PARTITIONS, "scontrol-partitions"),
        (RESERVATIONS, "scontrol-reservations"),
        (LICENSES, "scontrol-licenses"),
        (QOS, "sacctmgr-qos"),
        ("Name|MaxJobsPU|\nnormal|5|\n", "sacctmgr-qos"),
        (ASSOCIATIONS, "sacctmgr-assoc"),
        ("Account|User|JobID|Submit\na|b|1|2024-01-01T00:00:00\n", None),
        ("Account|Descr|Org\nbio|bio|science\n", None),
        ("normal|0|00:00:00|||cluster\n", None),
        ("      Name   Priority  GraceTime\n---------- ---------- ----------\n", None),
    ],
)
def test_what_each_file_is(tmp_path: Path, text: str, name: str | None) -> None:
    assert detected(tmp_path, text) == name


def test_partitions_of_a_configuration(tmp_path: Path) -> None:
    found = read_files(tmp_path, slurm_conf=CONFIGURATION)
    rules = found.cluster.rules
    assert found.cluster.name == "riverlab"
    assert rules.default_partition == "short"
    assert rules.partitions == {
        "short": PartitionRules(tier=2, max_time_s=14_400, default_time_s=1800),
        "long": PartitionRules(max_time_s=172_800, default_time_s=172_800, max_nodes=2, denied_accounts=("guests",)),
        "gpu": PartitionRules(accounts=("physics", "bio"), qos=("normal", "high"), exclusive=True),
    }
    nodes = {node.name: (node.partitions, node.features) for node in found.cluster.nodes}
    assert nodes["gpu1"] == (("long", "gpu"), ("skylake", "ib"))
    assert nodes["node2"] == (("short", "long"), ("haswell", "ib"))
    assert rules.licenses == {"matlab": 10, "ansys": 4, "viewer": 1}


def test_partitions_as_printed_on_several_lines_or_on_one(tmp_path: Path) -> None:
    found = read_files(tmp_path, nodes=NODES, partitions=PARTITIONS)
    assert found.cluster.rules.partitions == {
        "short": PartitionRules(tier=2, max_time_s=14_400, default_time_s=1800),
        "long": PartitionRules(max_time_s=172_800, default_time_s=172_800, max_nodes=2, denied_accounts=("guests",)),
    }
    assert found.cluster.nodes[0].features == ("skylake", "ib")
    assert left(found) == {
        "long OverSubscribe": "partitions:20 FORCE:2: cores are never given twice",
        "long State": "partitions:22 DOWN: a state of one day: taken as open",
        "long QoS": "partitions:16 longq: its limits are not told: give 'sacctmgr show qos -P' too",
        "PartitionName": "partitions:28 empty: has no nodes",
    }
    lines = "".join(" ".join(part.split()) + "\n" for part in PARTITIONS.split("\n\n") if part.strip())
    again = read_files(tmp_path, nodes=NODES, partitions=lines)
    assert again.cluster.content_sha256 == found.cluster.content_sha256


def test_plugins_that_hand_out_whole_nodes_or_no_memory(tmp_path: Path) -> None:
    lines = "SelectType=select/linear\nSelectTypeParameters=CR_Core\n"
    found = read_files(tmp_path, slurm_conf=lines + CONFIGURATION)
    assert {one.exclusive for one in found.cluster.rules.partitions.values()} == {True}
    assert left(found)["SelectTypeParameters"].startswith("slurm.conf:2 CR_Core: Slurm hands out no memory here")
    shared = read_files(tmp_path, slurm_conf="SelectTypeParameters=CR_Core_Memory\n" + CONFIGURATION)
    assert "SelectTypeParameters" not in left(shared)


def test_what_is_printed_goes_before_what_is_configured(tmp_path: Path) -> None:
    printed = "PartitionName=short MaxTime=06:00:00 Nodes=node[1-2] TotalNodes=2\n"
    for texts in ({"a": CONFIGURATION, "b": printed}, {"b": printed, "a": CONFIGURATION}):
        found = read_files(tmp_path, **texts)
        # The time is that of the printout; the tier stands in the configuration alone.
        assert found.cluster.rules.partitions["short"] == PartitionRules(tier=2, max_time_s=21_600, default_time_s=1800)


def test_sets_of_nodes(tmp_path: Path) -> None:
    text = CONFIGURATION + (
        "NodeSet=fast Feature=skylake\nNodeSet=some Nodes=node[2-3]\n"
        "PartitionName=a Nodes=fast,node1\nPartitionName=b Nodes=some\nPartitionName=c Nodes=ALL\n"
        "PartitionName=d Nodes=node1,node[7-9]\n"
    )
    found = read_files(tmp_path, slurm_conf=text)
    named = {name: [node.name for node in found.cluster.nodes if name in node.partitions] for name in "abcd"}
    assert named["a"] == ["node1", "node3", "gpu1"]
    assert named["b"] == ["node2", "node3"]
    assert len(named["c"]) == 4
    assert named["d"] == ["node1"]
    assert left(found)["Nodes"] == "slurm.conf:31 node1,node[7-9]: no node is called node7, nor 2 more"


def test_limits_of_qos(tmp_path: Path) -> None:
    found = read_files(tmp_path, slurm_conf=CONFIGURATION, qos=QOS)
    longq: dict[str, Any] = {"running_jobs": 10, "queued_jobs": 20, "max_cores": 8}
    each: dict[str, Any] = {"running_cores": 12, "running_memory_mb": 24_576, "running_jobs": 6}
    assert found.cluster.rules.limits == (
        Limit(qos=("longq",), **longq),
        Limit(qos=("longq",), per=("account",), **each),
        Limit(qos=("high",), running_cores=24, max_time_s=86_400),
        Limit(qos=("high",), per=("user",), running_cores=16, running_gpus=2, running_jobs=4, queued_jobs=8),
        # That of the partition.
        Limit(partitions=("long",), **longq),
        Limit(partitions=("long",), per=("account",), **each),
    )
    told = left(found)
    assert told["QOS longq Preempt"] == "qos:3 normal: no job is stopped for another"
    assert told["QOS longq UsageFactor"] == "qos:3 2.000000: fair share counts all seconds alike"
    assert told["QOS longq GrpTRESMins"] == "qos:3 cpu=100000: core-minutes are not bounded"
    assert told["GrpTRES"] == "qos:4 cpu=24,node=3: node is not bounded"
    assert told["long QOS"].startswith("slurm.conf:23 longq: of a job's QOS and its partition's, both bind")


def test_columns_in_any_order_and_by_their_long_names(tmp_path: Path) -> None:
    text = "MaxJobsPerUser|GrpSubmitJobs|Name|MaxTRESPerAccount|\n3|0|tight|cpu=-1,gres/gpu=4|\n|||odd|\n"
    found = read_files(tmp_path, nodes=NODES, qos=text.replace("|||odd|", "||odd||"))
    assert found.cluster.rules.limits == (
        # Nobody may submit.
        Limit(qos=("tight",), running_jobs=0),
        Limit(qos=("tight",), per=("user",), running_jobs=3),
        Limit(qos=("tight",), per=("account",), running_gpus=4),
    )


def test_columns_of_other_versions(tmp_path: Path) -> None:
    text = "Name|MaxTRESPJ|MaxWallDurationPerJob|MaxJobsAccruePU|LimitFactor|Frequency\nq|cpu=4|10:00|3|2.0|9\n"
    found = read_files(tmp_path, nodes=NODES, qos=text)
    assert found.cluster.rules.limits == (Limit(qos=("q",), max_cores=4, max_time_s=600),)
    assert left(found) == {
        "QOS q MaxJobsAccruePU": "qos:2 3: the age of all waiting jobs counts",
        "QOS q LimitFactor": "qos:2 2.0: limits hold as they are told",
        "QOS q Frequency": "qos:2 9: not known",
    }


def test_associations(tmp_path: Path) -> None:
    rules = read_files(tmp_path, slurm_conf=CONFIGURATION, assoc=ASSOCIATIONS).cluster.rules
    assert rules.accounts == {"guests": "root", "science": "root", "bio": "science", "physics": "science"}
    physics: dict[str, Any] = {"accounts": ("physics",), "per": ("user",)}
    assert rules.limits == (
        # Nobody is in the table who would have inherited it.
        Limit(accounts=("guests",), per=("user",), max_time_s=3600),
        Limit(accounts=("science",), running_cores=24),
        Limit(accounts=("bio",), running_cores=8, running_gpus=2, running_memory_mb=20_480),
        Limit(accounts=("physics",), running_jobs=20, queued_jobs=40),
        Limit(users=("ada",), running_jobs=3, queued_jobs=6, max_cores=8, **physics),
        Limit(users=("eve",), partitions=("long",), running_jobs=5, **physics),
        Limit(users=("root",), running_jobs=5, **physics),
    )


def test_the_tree_as_it_is_drawn(tmp_path: Path) -> None:
    found = read_files(tmp_path, slurm_conf=CONFIGURATION, assoc=TREE)
    assert found.cluster.rules.accounts == {
        "guests": "root",
        "science": "root",
        "bio": "science",
        "physics": "science",
    }
    flat = read_files(
        tmp_path, slurm_conf=CONFIGURATION, assoc=TREE.replace("| ", "|").replace("| ", "|").replace("| ", "|")
    )
    assert flat.cluster.rules.accounts == {}
    assert "which account lies below which is not known" in left(flat)["ParentName"]


def test_users_who_are_alike_share_a_limit(tmp_path: Path) -> None:
    rows = "".join(f"a|u{number}|5\n" for number in range(40))
    found = read_files(tmp_path, nodes=NODES, assoc="Account|User|MaxJobs\na||5\n" + rows)
    (limit,) = found.cluster.rules.limits
    assert (limit.accounts, limit.per, len(limit.users), limit.running_jobs) == (("a",), ("user",), 40, 5)


def test_limits_that_slurm_does_not_hold(tmp_path: Path) -> None:
    for text in (
        CONFIGURATION.replace("associations,limits,qos", "associations"),
        "ClusterName=x\nNodeName=n CPUs=1\n",
    ):
        found = read_files(tmp_path, slurm_conf=text, qos=QOS, assoc=ASSOCIATIONS)
        assert found.cluster.rules.limits == ()
        assert left(found)["AccountingStorageEnforce"].endswith("so that Slurm holds none of QOS and associations")


def test_one_cluster_of_several(tmp_path: Path) -> None:
    other = "elsewhere|lab||||1||||||||normal\n"
    found = read_files(tmp_path, slurm_conf=CONFIGURATION, assoc=ASSOCIATIONS + other)
    assert found.cluster.rules == read_files(tmp_path, slurm_conf=CONFIGURATION, assoc=ASSOCIATIONS).cluster.rules


def test_reservations(tmp_path: Path) -> None:
    found = read_files(tmp_path, slurm_conf=CONFIGURATION, reservations=RESERVATIONS)
    assert found.cluster.rules.reservations == (
        AdvanceReservation("2026-12-01 08:00:00", 14_400, "maint", users=("root",)),
        AdvanceReservation(
            *("2026-11-19 09:00:00", 7200, "course", ("node1", "node2")), repeat="weekdays", accounts=("physics", "bio")
        ),
        AdvanceReservation(
            *("2026-11-19 22:00:00", 14_400, "part", ("node1",)),
            repeat="daily",
            users=("root", "ada"),
            accounts=("bio",),
        ),
    )
    told = left(found)
    assert told["Flags"] == "reservations:8 FLEX: the flag is not simulated"
    assert told["Groups"] == "reservations:10 staff: groups of Unix are not known"
    assert told["Licenses"] == "reservations:10 matlab:2: licenses cannot be reserved"
    assert told["TRES"] == "reservations:15 cpu=2: whole nodes are reserved, not some of their cores"
    assert told["Accounts"].startswith("reservations:16 bio: either its users or its accounts are enough here")
    whys = [one.why for one in found.left if one.key == "ReservationName"]
    assert whys == ["reserves no node that is known", "is closed to some alone, and open to all others"]


def test_a_reservation_without_an_end(tmp_path: Path) -> None:
    text = "ReservationName=x StartTime=2026-12-01T08:00:00 Duration={} Nodes=node1 Flags={}\n"
    for words, seconds in (("90", 5400), ("UNLIMITED", 1e8)):
        found = read_files(tmp_path, slurm_conf=CONFIGURATION, reservations=text.format(words, "MAINT"))
        assert found.cluster.rules.reservations[0].duration_s == seconds
    hourly = read_files(tmp_path, slurm_conf=CONFIGURATION, reservations=text.format("5", "HOURLY"))
    assert hourly.cluster.rules.reservations == ()
    assert left(hourly)["ReservationName"].endswith("comes every hour, which is not simulated")


def test_licenses_as_printed_are_in_force(tmp_path: Path) -> None:
    rules = read_files(tmp_path, slurm_conf=CONFIGURATION, lic=LICENSES).cluster.rules
    assert rules.licenses == {"matlab": 10, "ansys": 6, "viewer": 1}


def test_the_policy(tmp_path: Path) -> None:
    policy = read_files(tmp_path, slurm_conf=CONFIGURATION, qos=QOS, assoc=ASSOCIATIONS).policy
    assert policy is not None
    assert policy.kind == "multifactor"
    assert policy.parameters == {
        **{"age": 1000, "size": 500, "fair_share": 5000, "partition": 2000, "qos": 3000},
        **{"max_age_s": 302_400, "half_life_s": 1_209_600, "favor_small": True},
    }
    assert policy.tables["partitions"] == {"short": 1.0, "long": 0.2, "gpu": 0.02}
    assert policy.tables["queues"] == {"longq": 0.1, "high": 1.0}
    assert policy.options == "--dispatch conservative --scan-depth 300"


def test_shares_of_users_in_the_tree(tmp_path: Path) -> None:
    policy = read_files(tmp_path, slurm_conf=CONFIGURATION, assoc=TREE).policy
    assert policy is not None
    # root: 1/62; ada: 60/62 · (10/40 + 30/40), for she is alone in both accounts. The mean of both is 1.
    assert policy.tables["shares"] == {"root": round(2 / 61, 6), "ada": round(120 / 61, 6)}


@pytest.mark.parametrize(
    ("lines", "kind", "options"),
    [
        ("", "fcfs", "--dispatch conservative --scan-depth 500"),
        ("SchedulerType=sched/builtin\n", "fcfs", "--dispatch strict"),
        ("SchedulerParameters=bf_job_part_count_reserve=3\n", "fcfs", "--dispatch 3 --scan-depth 500"),
        ("PriorityType=priority/multifactor\n", "multifactor", "--dispatch conservative --scan-depth 500"),
    ],
)
def test_what_the_scheduler_does(tmp_path: Path, lines: str, kind: str, options: str) -> None:
    policy = read_files(tmp_path, slurm_conf=f"NodeName=n1 CPUs=4\nSlurmctldHost=head\n{lines}").policy
    assert policy is not None
    assert (policy.kind, policy.options) == (kind, options)


def test_use_that_does_not_fade(tmp_path: Path) -> None:
    text = "NodeName=n1 CPUs=4\nPriorityType=priority/multifactor\nPriorityDecayHalfLife=0\n"
    policy = read_files(tmp_path, slurm_conf=text).policy
    assert policy is not None
    assert policy.parameters["half_life_s"] == 1e9


def test_nodes_come_from_the_first_list_that_has_some(tmp_path: Path) -> None:
    sinfo = "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\nshort*       up    4:00:00      3   idle node[1-3]\n"
    found = read_files(tmp_path, sinfo=sinfo, slurm_conf=CONFIGURATION, nodes=NODES)
    assert [node.name for node in found.cluster.nodes] == ["gpu1", "node1"]
    assert [(one.key, one.value, one.why) for one in found.left[:2]] == [
        ("nodes", "slurm.conf", "the nodes are those of nodes"),
        ("nodes", "sinfo", "the nodes are those of nodes"),
    ]


def test_a_site_without_reservations_and_licenses_says_so(tmp_path: Path) -> None:
    paths = write_files(
        tmp_path,
        nodes=NODES,
        reservations="No reservations in the system\n",
        licenses="No licenses configured in Slurm.\n",
    )
    found = read_site(paths)
    assert (found.cluster.rules.reservations, found.cluster.rules.licenses) == ((), {})
    assert not found.left


def test_rows_and_lines_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    paths = write_files(
        tmp_path,
        nodes=NODES,
        qos="Name|Priority\nnormal|1\nbroken\n|5\n",
        assoc="Account|User|MaxJobs\na||5|9\n|u|\n",
        lic="LicenseName=a Total=1\n",
    )
    paths[3].write_text("hello\nLicenseName=a Total=1\n")
    found = read_site(paths[:3])
    ((rule, count, example),) = [(one.rule, one.count, one.example) for one in found.ledger.entries]
    assert (rule, count) == ("not readable: line skipped", 4)
    assert example == "qos:3: the row has 1 fields, the header 2"
