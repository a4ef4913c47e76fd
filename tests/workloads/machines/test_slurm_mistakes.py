"""Values of Slurm's files that make no sense: one line, with the file and the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.workloads.machines import read_site
from tests.workloads.machines.site_files import write_files
from tests.workloads.machines.slurm_texts import (
    ASSOCIATIONS,
    CONFIGURATION,
    LICENSES,
    NODES,
    PARTITIONS,
    QOS,
    RESERVATIONS,
)

TIME = "expected a time such as 30 (minutes), 4:00:00 or 2-12:00:00, or UNLIMITED"
COUNT = "expected a whole number from 0 to 1000000000"
AMOUNTS = "expected amounts such as cpu=24,gres/gpu=2,mem=20G"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("MaxTime=4:00:00", "MaxTime=soon", f"slurm.conf:22: MaxTime is 'soon'; {TIME}"),
        ("MaxTime=4:00:00", "MaxTime=9999999-0", f"slurm.conf:22: MaxTime is '9999999-0'; {TIME}"),
        ("PriorityTier=2", "PriorityTier=high", f"slurm.conf:22: PriorityTier is 'high'; {COUNT}"),
        ("PriorityJobFactor=50", "PriorityJobFactor=-5", f"slurm.conf:22: PriorityJobFactor is '-5'; {COUNT}"),
        ("MaxNodes=2", "MaxNodes=two", f"slurm.conf:23: MaxNodes is 'two'; {COUNT}"),
        ("Nodes=gpu1 ", "Nodes=gpu[ ", "slurm.conf:25: Nodes is 'gpu['; expected names of nodes such as n[01-16],g1"),
        ("WeightAge=1000", "WeightAge=1e3", f"slurm.conf:8: PriorityWeightAge is '1e3'; {COUNT}"),
        ("MaxAge=3-12", "MaxAge=old", f"slurm.conf:14: PriorityMaxAge is 'old'; {TIME}"),
        (
            "/multifactor",
            "/mine",
            "slurm.conf:7: PriorityType is 'priority/mine'; expected one of priority/multifactor",
        ),
        ("sched/backfill", "sched/mine", "slurm.conf:5: SchedulerType is 'sched/mine'; expected sched/backfill or"),
        ("job_test=300", "job_test=many", f"slurm.conf:6: bf_max_job_test is 'many'; {COUNT}"),
        ("matlab:10", "matlab:some", f"slurm.conf:4: Licenses is 'some'; {COUNT}"),
        ("matlab:10", ":10", "slurm.conf:4: Licenses is ':10,ansys*4,viewer'; expected names with counts such as"),
        (
            "DefaultTime=30",
            "DefaultTime=300",
            "slurm.conf:22: default_time_s is 18000, above max_time_s, which is 14400",
        ),
    ],
)
def test_a_configuration(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in CONFIGURATION
    with pytest.raises(InputError) as caught:
        read_site(write_files(tmp_path, slurm_conf=CONFIGURATION.replace(old, new)))
    assert f"{tmp_path}/{message}" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "old", "new", "message"),
    [
        (PARTITIONS, "MaxTime=04:00:00", "MaxTime=x", f"list:5: MaxTime is 'x'; {TIME}"),
        (PARTITIONS, "Nodes=gpu1,node1", "Nodes=gpu1,", "list:19: Nodes is 'gpu1,'; expected names of nodes"),
        (QOS, "|cpu=8|", "|cpu=lots|", f"list:3: MaxTRES is 'cpu=lots'; {AMOUNTS}"),
        (QOS, "mem=24G", "mem=24X", f"list:3: MaxTRESPA is 'cpu=12,mem=24X'; {AMOUNTS}"),
        (QOS, "cpu=12,", "12,", f"list:3: MaxTRESPA is '12,mem=24G'; {AMOUNTS}"),
        (QOS, "1-00:00:00", "a day", f"list:4: MaxWall is 'a day'; {TIME}"),
        (QOS, "|10|20|", "|10|2.5|", f"list:3: GrpSubmit is '2.5'; {COUNT}"),
        (QOS, "high|100", "high|-100", f"list:4: Priority is '-100'; {COUNT}"),
        (ASSOCIATIONS, "science|||root|60", "science|||root|most", f"list:5: Share is 'most'; {COUNT}"),
        (ASSOCIATIONS, "science|||root", "science|||bio", "list:5: ParentName is 'bio'; expected another account than"),
        (
            ASSOCIATIONS.replace("riverlab|bio", "lake|bio"),
            *("riverlab", "river"),
            "list:2: tells of the clusters river, lake; print one alone",
        ),
        (LICENSES, "Total=6", "Totally=6", "list:1: LicenseName is 'ansys'; expected its Total behind it"),
        (LICENSES, "Total=6", "Total=none", f"list:2: Total is 'none'; {COUNT}"),
        (
            RESERVATIONS,
            "StartTime=2026-12-01T08",
            "StartTime=2026-12-01:08",
            "list:1: StartTime is '2026-12-01:08:00:00'",
        ),
        (
            RESERVATIONS,
            "StartTime=2026-12-01T08:00:00 ",
            "",
            "list:1: ReservationName is 'maint'; expected its starttime",
        ),
        (RESERVATIONS, "EndTime=2026-12-01T12", "EndTime=2026-11-01T12", "list:1: EndTime is '2026-11-01T12:00:00'"),
        (
            RESERVATIONS,
            "EndTime=2026-12-01T12:00:00",
            "EndTime=noon",
            "list:1: EndTime is 'noon'; expected a time such",
        ),
        (
            RESERVATIONS,
            "EndTime=2026-11-20T02",
            "EndTime=2026-11-21T02",
            "list:13: part lasts 100800 s, longer than it",
        ),
        (RESERVATIONS, "TRES=cpu=2\n", "TRES=cpu=x\n", f"list:15: TRES is 'cpu=x'; {AMOUNTS}"),
    ],
)
def test_what_is_printed(tmp_path: Path, text: str, old: str, new: str, message: str) -> None:
    assert old in text
    nodes = CONFIGURATION if text != PARTITIONS else NODES
    with pytest.raises(InputError) as caught:
        read_site(write_files(tmp_path, slurm_conf=nodes, list=text.replace(old, new)))
    assert f"{tmp_path}/{message}" in str(caught.value)


def test_rules_alone_make_no_cluster(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"qos: tells of no machine that could run a job; give a list of them too: sc"):
        read_site(write_files(tmp_path, qos=QOS))


def test_files_of_two_sites(tmp_path: Path) -> None:
    hosts = "HOST_NAME type model cpuf ncpus maxmem maxswp server RESOURCES\nn1 X86 I 1 4 15G - Yes (mg)\n"
    with pytest.raises(
        InputError, match=r"the files are not of one site: .*slurm.conf is slurm-conf, .*hosts is lshosts"
    ):
        read_site(write_files(tmp_path, hosts=hosts, slurm_conf=CONFIGURATION))


def test_a_file_of_no_known_kind(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="notes: is no list of machines or rules that is known; expected one of scont"):
        read_site(write_files(tmp_path, slurm_conf=CONFIGURATION, notes="we have forty nodes\n"))


def test_strict_reading_refuses_what_it_would_skip(tmp_path: Path) -> None:
    paths = write_files(tmp_path, nodes=NODES, qos="Name|Priority\nnormal|1\nbroken\n")
    with pytest.raises(InputError, match=r"qos:3: the row has 1 fields, the header 2 \(not readable: line skipped\)"):
        read_site(paths, strict=True)


def test_a_partition_without_a_name_is_no_cluster_file_that_cannot_be_read(tmp_path: Path) -> None:
    texts = {"slurm_conf": CONFIGURATION, "partitions": PARTITIONS.replace("PartitionName=long", "PartitionName= long")}
    with pytest.raises(InputError, match=r"partitions:14: PartitionName is ''; expected a name"):
        read_site(write_files(tmp_path, **texts))
