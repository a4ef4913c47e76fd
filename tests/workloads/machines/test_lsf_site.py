"""LSF's queues, hosts, groups and parameters as rules, and the order of its queues as a policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shunter.errors import InputError
from shunter.model.site import Limit, PartitionRules
from shunter.workloads.machines import FoundSite, read_site
from tests.workloads.machines.lsf_texts import HOSTS, LSB_HOSTS, PARAMETERS, PRINTED, QUEUES, USERS
from tests.workloads.machines.site_files import detected, left, read_files, write_files


def farm(folder: Path, queues: str = QUEUES) -> FoundSite:
    """Returns what all files tell."""
    return read_files(
        folder, lsb_queues=queues, lsb_hosts=LSB_HOSTS, lsb_params=PARAMETERS, lsb_users=USERS, hosts=HOSTS
    )


@pytest.mark.parametrize(
    ("text", "name"),
    [
        *((text, "lsb-conf") for text in (QUEUES, LSB_HOSTS, PARAMETERS, USERS)),
        (PRINTED, "bqueues"),
        (HOSTS, "lshosts"),
        ("Begin Cluster\nEnd Cluster\n", None),
    ],
)
def test_what_each_file_is(tmp_path: Path, text: str, name: str | None) -> None:
    assert detected(tmp_path, text) == name


def test_queues_are_partitions(tmp_path: Path) -> None:
    cluster = farm(tmp_path).cluster
    assert cluster.rules.default_partition == "normal"
    assert cluster.rules.partitions == {
        "normal": PartitionRules(tier=30, max_time_s=259_200, default_time_s=28_800),
        "night": PartitionRules(tier=40, max_cores=64),
        "lab": PartitionRules(tier=50, max_time_s=5400, default_time_s=5400, users=("bob", "carl", "eve")),
    }
    # Slots of lsb.hosts: of the host, of a wildcard, and as many as processors.
    assert [(node.name, node.cores, node.partitions) for node in cluster.nodes] == [
        ("node1", 6, ("normal", "night", "lab")),
        ("node2", 8, ("normal", "night", "lab")),
        ("gpu1", 16, ("night",)),
    ]


@pytest.mark.parametrize(
    ("users", "let_in", "kept_out"),
    [
        ("all ~bob", (), ("bob",)),
        ("~bob ~more/", (), ("bob", "carl")),
        ("staff/ ~carl", ("bob",), ()),
        ("dave ann ~ann", ("dave",), ()),
        ("some", ("bob",), ()),
    ],
)
def test_users_who_are_kept_out(tmp_path: Path, users: str, let_in: tuple[str, ...], kept_out: tuple[str, ...]) -> None:
    groups = USERS.replace("staff       (bob more)", "staff       (bob more)\nsome        (staff ~carl)")
    queues = QUEUES.replace("USERS      = staff/ eve", f"USERS      = {users}")
    found = read_files(tmp_path, queues=queues, users=groups, lsb_hosts=LSB_HOSTS, hosts=HOSTS)
    rules = found.cluster.rules.partitions["lab"]
    assert (rules.users, rules.denied_users) == (let_in, kept_out)
    assert "lab USERS" not in left(found)


def test_nobody_is_not_everybody_in_silence(tmp_path: Path) -> None:
    queues = QUEUES.replace("USERS      = staff/ eve", "USERS      = eve ~eve")
    found = read_files(tmp_path, queues=queues, users=USERS, lsb_hosts=LSB_HOSTS, hosts=HOSTS)
    assert left(found)["lab USERS"].endswith("lets in nobody; taken as all")


def test_limits_and_hours(tmp_path: Path) -> None:
    closed: dict[str, Any] = {"running_jobs": 0}
    assert farm(tmp_path).cluster.rules.limits == (
        Limit(partitions=("normal",), running_cores=60),
        Limit(partitions=("normal",), per=("user",), running_cores=20),
        # From Friday evening to Monday morning it is open, too.
        Limit(("night",), days="mon,tue,wed,thu,fri", from_time="08:30", to_time="20:00", **closed),
        Limit(("lab",), from_time="00:00", to_time="09:00", **closed),
        Limit(("lab",), from_time="17:00", to_time="24:00", **closed),
    )


@pytest.mark.parametrize(
    ("windows", "hours"),
    [
        ("0:0:00-24:00", None),
        ("0:00-24:00", []),
        ("6-6", []),
        ("8:30-18:30 18:30-8:30", []),
        ("12:00-13:00", [("", "00:00", "12:00"), ("", "13:00", "24:00")]),
        ("6:00:00-1:00:00", [("mon,tue,wed,thu,fri", "", "")]),
        (
            "7:12:00-0:18:00",
            [("mon,tue,wed,thu,fri,sat", "", ""), ("sun", "00:00", "12:00"), ("sun", "18:00", "24:00")],
        ),
        ("9-17 noon-1", None),
        ("25:00-26:00", None),
    ],
)
def test_windows(tmp_path: Path, windows: str, hours: list[tuple[str, str, str]] | None) -> None:
    queues = f"Begin Queue\nQUEUE_NAME = q\nDISPATCH_WINDOW = ({windows})\nEnd Queue\n"
    if hours is None:
        with pytest.raises(
            InputError, match=r"lsb.queues:3: DISPATCH_WINDOW is .*; expected windows such as 20:00-8:30"
        ):
            read_files(tmp_path, lsb_queues=queues, hosts=HOSTS)
        return
    limits = read_files(tmp_path, lsb_queues=queues, hosts=HOSTS).cluster.rules.limits
    assert [(one.days, one.from_time, one.to_time) for one in limits] == hours
    assert {one.running_jobs for one in limits} <= {0}


def test_what_is_not_taken_over(tmp_path: Path) -> None:
    assert left(farm(tmp_path)) == {
        "UJOB_LIMIT": "lsb.queues:29 50: holds at some hours alone: #else",
        "section user": "lsb.users:7 USER_NAME   MAX_JOBS   JL/P: the section is not read",
        "normal PJOB_LIMIT": "lsb.queues:9 2: slots are bounded for a queue and a user, not for a processor or a host",
        "night TASKLIMIT": "lsb.queues:23 1 4 64: the least of a job is not bounded",
        "night EXCLUSIVE": "lsb.queues:25 Y: lets jobs ask for whole hosts; the log's column exclusive says which do",
        "night MEMLIMIT": "lsb.queues:31 4000000: what a job may use is in the log",
        "RUNLIMIT": "lsb.queues:39 90/node1: the time is not scaled by the speed of a host",
        "lab RUN_WINDOW": "lsb.queues:40 9-17: no job starts outside of it; one that runs goes on",
        "HIST_HOURS": "lsb.params:4 5: use fades by half_life_s of the policy's file",
        "MBD_SLEEP_TIME": "lsb.params:3 20: not simulated",
    }


def test_the_policy(tmp_path: Path) -> None:
    policy = farm(tmp_path).policy
    assert policy is not None
    assert (policy.kind, policy.options) == ("fair-share", "--dispatch easy")
    assert policy.tables == {"shares": {"ada": 4.0, "bob": 2.0, "carl": 2.0}}
    plain = read_files(tmp_path, q="Begin Queue\nQUEUE_NAME = q\nFAIRSHARE = N\nEnd Queue\n", hosts=HOSTS).policy
    assert plain is not None
    assert (plain.kind, plain.options) == ("fcfs", "--dispatch greedy")


def test_shares_of_groups_and_others(tmp_path: Path) -> None:
    shares = "USER_SHARES[[staff, 9] [ann, 0] [others, 3] [default, 2] [bob, 4]]"
    queues = f"Begin Queue\nQUEUE_NAME = q\nFAIRSHARE = {shares}\nEnd Queue\n" + (
        "Begin Queue\nQUEUE_NAME = r\nFAIRSHARE = USER_SHARES[[ann, 1]]\nEnd Queue\n"
    )
    found = farm(tmp_path, queues)
    assert found.policy is not None
    assert found.policy.tables == {"shares": {"ann": 1e-6, "bob": 2.0}}
    whys = [(one.value, one.why) for one in found.left if one.key == "FAIRSHARE"]
    assert whys == [
        ("USER_SHARES[[ann, 1]]", "one fair share holds for all queues: the first"),
        ("[staff, 9]", "the share of a group is not divided among its users"),
        ("[others, 3]", "each user has a share of his own: 1"),
    ]


def test_queues_as_printed(tmp_path: Path) -> None:
    found = read_files(tmp_path, bqueues=PRINTED, hosts=HOSTS)
    assert found.cluster.rules.partitions == {
        "normal": PartitionRules(tier=30, max_time_s=259_200, default_time_s=28_800, max_cores=64),
        "night": PartitionRules(tier=40, users=("ann", "eve")),
    }
    assert found.cluster.rules.limits == (
        Limit(("normal",), running_cores=60),
        Limit(("normal",), per=("user",), running_cores=20),
        Limit(("night",), from_time="08:30", to_time="20:00", running_jobs=0),
    )
    assert [node.partitions for node in found.cluster.nodes] == [("normal", "night"), ("normal", "night"), ("night",)]
    assert found.policy is not None
    assert (found.policy.kind, found.policy.tables) == ("fair-share", {"shares": {"ada": 4.0}})
    assert left(found)["night USERS"].endswith("ann eve: taken as users; if one is a group, give lsb.users too")
    assert left(found)["normal CPULIMIT"] == "bqueues:15 100.0: what a job may use is in the log"


def test_what_is_printed_goes_before_what_is_configured(tmp_path: Path) -> None:
    printed = PRINTED.replace(" 30   20", " 35   20")
    for texts in ({"a": QUEUES, "b": printed}, {"b": printed, "a": QUEUES}):
        rules = read_files(tmp_path, **texts, hosts=HOSTS, users=USERS, groups=LSB_HOSTS).cluster.rules
        assert [(name, one.tier) for name, one in sorted(rules.partitions.items())] == [
            ("lab", 50),
            ("night", 40),
            ("normal", 35),
        ]


def test_a_queue_without_hosts_that_are_known(tmp_path: Path) -> None:
    queues = QUEUES.replace("HOSTS      = node*", "HOSTS      = desk[1-4]")
    found = farm(tmp_path, queues)
    assert "lab" not in found.cluster.rules.partitions
    assert left(found)["HOSTS"] == "lsb.queues:38 desk[1-4]: no host is called desk[1-4]"
    assert left(found)["QUEUE_NAME"].endswith("lab: has no hosts")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("PRIORITY     = 30", "PRIORITY     = top", "4: PRIORITY is 'top'; expected a whole number from 0"),
        ("8:00 72:00", "8:00 72:00 96:00", "6: RUNLIMIT is '8:00 72:00 96:00'; expected at most two times"),
        ("8:00 72:00", "forever", "6: RUNLIMIT is 'forever'; expected minutes, or hours:minutes"),
        ("8:00 72:00", "80:00 72:00", "4: default_time_s is 288000, above max_time_s, which is 259200"),
        ("QJOB_LIMIT   = 60", "QJOB_LIMIT   = 6.5", "7: QJOB_LIMIT is '6.5'; expected a whole number"),
        ("1 4 64", "1 4 all", "23: TASKLIMIT is 'all'; expected a whole number"),
        ("[ada, 4]", "[ada, few]", "13: FAIRSHARE is 'few'; expected a whole number"),
        ("QUEUE_NAME   = night", "NAME = night", "19: the queue has no QUEUE_NAME; add one"),
        ("RUN_WINDOW = 9-17\nEnd Queue", "RUN_WINDOW = 9-17", "34: Begin queue has no End queue"),
    ],
)
def test_mistakes(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in QUEUES
    with pytest.raises(InputError) as caught:
        farm(tmp_path, QUEUES.replace(old, new))
    assert f"lsb.queues:{message}" in str(caught.value)


def test_lines_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    odd = (
        "stray\nBegin Queue\nQUEUE_NAME = q\nhello there\nEnd Queue\n"
        "Begin HostGroup\nGROUP_NAME GROUP_MEMBER\nalone\nEnd HostGroup\n"
    )
    ledger = read_site(write_files(tmp_path, lsb_queues=odd, hosts=HOSTS)).ledger
    assert [(one.rule, one.count, one.example) for one in ledger.entries] == [
        ("not readable: line skipped", 3, "lsb.queues:1: the line 'stray' is in no section")
    ]
