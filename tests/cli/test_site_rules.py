"""The rules of a site, read from its own files, bind in a simulation of its log."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import pytest

import shunter as package
from shunter.model.schedule import Schedule
from tests.cli.conftest import Command
from tests.workloads.machines.site_files import write_files

BEGIN_S = datetime(2026, 12, 1, 10, tzinfo=timezone.utc).timestamp()
"""A Tuesday, at ten o'clock."""
HOUR_S = 3600
COLUMNS = ("submit_s", "run_s", "requested_s", "tasks", "partition", "user", "account", "qos")
CONFIGURATION = """\
ClusterName=lab
AccountingStorageEnforce=limits,qos
PriorityType=priority/multifactor
PriorityWeightQOS=100
PriorityWeightAge=1
NodeName=n[1-2] CPUs=4
PartitionName=wide Nodes=n[1-2] Default=YES MaxTime=1-0
PartitionName=short Nodes=n1 MaxTime=1:00:00 PriorityTier=5
PartitionName=whole Nodes=n2 OverSubscribe=EXCLUSIVE AllowAccounts=physics
"""
QOS = "Name|Priority|GrpTRES|MaxJobsPU|MaxSubmitPU\nnormal|0||2|\nurgent|50|||\nsmall|0|cpu=3||\n"
ACCOUNTS = (
    "Account|User|ParentName|GrpJobs|MaxJobs\nroot||||\nscience||root|3|\nphysics||science||\nbio||science||\n"
    "bio|eve||1|1\n"
)
RESERVATION = (
    "ReservationName=maint StartTime=2026-12-01T11:00:00 EndTime=2026-12-01T13:00:00 Duration=02:00:00\n"
    "   Nodes=n[1-2] NodeCnt=2 CoreCnt=8 Flags=MAINT,SPEC_NODES\n   Users=root Groups=(null) Accounts=(null)\n"
)
HOSTS = "HOST_NAME type model cpuf ncpus maxmem maxswp server RESOURCES\nn1 X86 I 1 4 15G - Yes (mg)\n"
QUEUES = (
    "Begin Queue\nQUEUE_NAME = day\nPRIORITY = 10\nUJOB_LIMIT = 2\nEnd Queue\n"
    "Begin Queue\nQUEUE_NAME = night\nPRIORITY = 20\nDISPATCH_WINDOW = 20:00-8:00\nEnd Queue\n"
)


class Site:
    """A site whose files are read by the command, and whose jobs are simulated under its own policy."""

    def __init__(self, shunter: Command, folder: Path, **texts: str) -> None:
        self._folder = folder
        self.cluster, self.policy = folder / "site.toml", folder / "policy.toml"
        files = write_files(folder, **texts)
        answer = shunter("trace", "cluster", *files, "-o", self.cluster, "--policy-out", self.policy)
        assert answer.code == 0, answer.err

    def simulate(self, *jobs: tuple[object, ...]) -> Schedule:
        """Simulates jobs: how long after the beginning, and then as `COLUMNS` has it."""
        rows = [
            ",".join("" if cell is None else str(cell) for cell in (BEGIN_S + float(str(job[0])), *job[1:]))
            for job in jobs
        ]
        log = self._folder / "jobs.csv"
        log.write_text("\n".join([",".join(COLUMNS), *rows]) + "\n")
        return package.simulate(str(log), str(self.cluster), policy=str(self.policy))

    def starts(self, *jobs: tuple[object, ...]) -> list[float]:
        """Returns when each job starts, from the beginning on."""
        return [start_s - BEGIN_S for start_s in self.simulate(*jobs).start_s.tolist()]


@pytest.fixture
def slurm(shunter: Command, tmp_path: Path) -> Site:
    """Two nodes of four cores."""
    return Site(shunter, tmp_path, slurm_conf=CONFIGURATION, qos=QOS, assoc=ACCOUNTS)


def job(
    after_s: float,
    tasks: int,
    partition: str | None,
    user: str,
    account: str = "physics",
    qos: str = "normal",
    run_s: float = 100,
    requested_s: float | None = None,
) -> tuple[object, ...]:
    return (after_s, run_s, requested_s or run_s, tasks, partition, user, account, qos)


def test_a_partition_has_its_nodes_alone(slurm: Site) -> None:
    """Two jobs of the node of ``short`` cannot run at once, though the other node is free."""
    assert slurm.starts(job(0, 4, "short", "ada"), job(0, 4, "short", "bob")) == [0, 100]


def test_a_higher_tier_goes_first(slurm: Site) -> None:
    starts = slurm.starts(
        job(0, 8, "wide", "ada", qos="urgent"), job(1, 8, "wide", "bob", qos="urgent"), job(2, 4, "short", "eve")
    )
    assert starts == [0, 200, 100]


def test_jobs_that_a_partition_does_not_admit(slurm: Site) -> None:
    schedule = slurm.simulate(
        job(0, 1, "short", "ada", run_s=50, requested_s=2 * HOUR_S),
        job(0, 1, "whole", "bob", account="bio"),
        job(0, 1, "nowhere", "cal"),
        job(0, 1, "whole", "dan"),
    )
    assert schedule.rejected.tolist() == [True, True, True, False]


def test_a_job_may_have_its_node_for_itself(slurm: Site) -> None:
    """Three cores of the node stay empty: only the third job fits beside the first, on the other node."""
    jobs = [job(0, 1, "whole", "ada"), job(0, 5, "wide", "bob"), job(1, 3, "wide", "cal", run_s=50)]
    assert slurm.starts(*jobs) == [0, 100, 1]


def test_a_user_runs_two_jobs_of_a_qos(slurm: Site) -> None:
    ada = [job(0, 1, "wide", "ada") for _ in range(3)]
    assert slurm.starts(*ada, job(0, 1, "wide", "bob", account="other")) == [0, 0, 100, 0]


def test_the_cores_of_a_qos(slurm: Site) -> None:
    small = [job(0, 2, "wide", user, account="x", qos="small") for user in ("ada", "bob")]
    assert slurm.starts(*small) == [0, 100]


def test_the_jobs_of_an_account_count_for_the_one_above(slurm: Site) -> None:
    """Three jobs of science at once, and one of eve's in bio."""
    jobs = [
        job(0, 1, "wide", "ada", "physics", "urgent"),
        job(0, 1, "wide", "eve", "bio", "urgent"),
        job(0, 1, "wide", "eve", "bio", "urgent"),
        job(0, 1, "wide", "bob", "physics", "urgent"),
        job(0, 1, "wide", "cal", "physics", "urgent"),
    ]
    assert slurm.starts(*jobs) == [0, 0, 100, 0, 100]


def test_the_qos_of_the_log_counts_in_the_order(slurm: Site) -> None:
    starts = slurm.starts(job(0, 8, "wide", "ada"), job(1, 8, "wide", "bob"), job(2, 8, "wide", "cal", qos="urgent"))
    assert starts == [0, 200, 100]


def test_maintenance(shunter: Command, tmp_path: Path) -> None:
    """From eleven to one nothing runs, but jobs of root: what would reach in waits, what ends before does not."""
    site = Site(shunter, tmp_path, slurm_conf=CONFIGURATION, reservations=RESERVATION)
    jobs = [
        job(0, 1, "wide", "ada", run_s=2 * HOUR_S),
        job(0, 1, "wide", "bob", run_s=HOUR_S / 2),
        job(0, 1, "wide", "root", run_s=2 * HOUR_S),
    ]
    assert site.starts(*jobs) == [3 * HOUR_S, 0, 0]


def test_queues_of_lsf(shunter: Command, tmp_path: Path) -> None:
    """At ten the queue ``night`` is closed until eight in the evening; a user has two slots of ``day``."""
    site = Site(shunter, tmp_path, lsb_queues=QUEUES, hosts=HOSTS)
    jobs = [job(0, 1, "night", "ada"), job(0, 2, "day", "ada"), job(0, 1, "day", "ada"), job(0, 2, "day", "bob")]
    assert site.starts(*jobs) == [10 * HOUR_S, 0, 100, 0]
