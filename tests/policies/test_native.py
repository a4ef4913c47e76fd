"""What the core is told of policies: numbers, parameters in its order, and what only the workload knows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shunter import Cluster, Workload
from shunter.policies.catalog import GIVEN, KNOWN_POLICIES
from shunter.policies.native import CorePolicy, resolve_native
from shunter.policies.scheduler import resolve_scheduler
from shunter.simulation import simulate
from shunter.simulation.core_inputs import core_config, user_numbers

CODES = {name: known.code for name, known in KNOWN_POLICIES.items()}

SITE = """
[policy]
kind = "multifactor"
age = 2
size = 3
fair_share = 5
partition = 10
qos = 7
priority = 0.5
max_age_s = 100
half_life_s = 50
favor_small = true

[policy.partitions]
debug = 1.0
batch = 0.25
nowhere = 9

[policy.queues]
high = 2

[policy.shares]
bob = 4
stranger = 3
"""


@pytest.fixture
def workload() -> Workload:
    """Five jobs of two users, and of nobody."""
    frame = pl.DataFrame(
        {
            "submit_s": [0, 1, 2, 3, 4],
            "run_s": [1.0] * 5,
            "user": ["bob", "ann", None, "bob", "ann"],
            "partition": ["debug", "batch", None, "other", "batch"],
            "queue": ["high", None, "high", "low", "high"],
            "priority": [6.0, None, 0.0, -2.0, 1.5],
        }
    )
    return Workload.from_frame(frame, name="five")


@pytest.fixture
def site(tmp_path: Path) -> str:
    """A file with Slurm's weights."""
    path = tmp_path / "site.toml"
    path.write_text(SITE)
    return str(path)


def test_every_policy_has_a_number() -> None:
    assert [name for name, code in CODES.items() if code == GIVEN] == ["priority"]
    assert {name for name, code in CODES.items() if code == CODES["fcfs"]} == {"fcfs", "fifo", "first-available"}


def test_policies_without_parameters_tell_nothing_more(workload: Workload) -> None:
    told = resolve_native("sjf").for_core(workload, Cluster.pool(4))
    assert (told.code, len(told.parameters), len(told.scores)) == (CODES["sjf"], 0, 0)


def test_the_part_of_multifactor_that_does_not_move(workload: Workload, site: str) -> None:
    told = resolve_native(site).for_core(workload, Cluster.pool(4))
    assert told.code == CODES["multifactor"]
    # 10·partition + 7·queue + 0.5·priority; names that the file does not give, and what the log does not say, count 0.
    assert told.scores.tolist() == [10 + 14 + 3, 2.5, 14, -1, 2.5 + 14 + 0.75]


def test_a_qos_goes_before_a_queue(workload: Workload, site: str) -> None:
    qos = pl.Series("qos", ["low", "high", None, None, "high"])
    slurm = Workload.from_frame(workload.jobs.with_columns(qos), name="five")
    policy = resolve_native(site)
    assert policy.for_core(slurm, Cluster.pool(4)).scores.tolist() == [10 + 3, 2.5 + 14, 14, -1, 2.5 + 14 + 0.75]
    # "high" is the queue of a job here, and the QOS of another.
    assert "queues" not in policy.names_without_jobs(slurm)
    alone = Workload.from_frame(slurm.jobs.with_columns(queue=None, qos=pl.lit("low")), name="five")
    assert policy.names_without_jobs(alone)["queues"] == ["high"]


def test_multifactor_in_the_order_of_the_core(workload: Workload, site: str) -> None:
    # age, max_age_s, size, favor_small, fair_share, half_life_s; then the shares of ann, bob and nobody.
    told = resolve_native(site).for_core(workload, Cluster.pool(4))
    assert told.parameters.tolist() == [2, 100, 3, 1, 5, 50, 1, 4, 1]
    plain = resolve_native("multifactor?favor_small=0&age=4").for_core(workload, Cluster.pool(4))
    assert plain.parameters.tolist() == [4, 604_800, 1000, 0, 1000, 604_800]
    assert plain.scores.tolist() == [0] * 5


def test_the_logs_own_priority_the_highest_first(workload: Workload) -> None:
    told = resolve_native("priority").for_core(workload, Cluster.pool(4))
    assert (told.code, len(told.parameters)) == (GIVEN, 0)
    assert told.scores.tolist() == [-6, 0, 0, 2, -1.5]


def test_shares_in_the_numbering_of_the_core(tmp_path: Path) -> None:
    users = ["zoe", "Émile", None, "ann", "Zed", "ann"]
    workload = Workload.from_frame(
        pl.DataFrame({"submit_s": range(6), "run_s": [1.0] * 6, "user": users}), name="users"
    )
    path = tmp_path / "shares.toml"
    path.write_text('[policy]\nkind = "fair-share"\nhalf_life_s = 9\n[policy.shares]\nzoe = 2\n"Émile" = 3\nann = 4\n')
    half_life_s, *shares = resolve_native(str(path)).for_core(workload, Cluster.pool(4)).parameters.tolist()
    numbers = user_numbers(workload.jobs["user"]).tolist()
    assert half_life_s == 9
    assert numbers[2] == -1
    assert [shares[number] for number in numbers] == [2, 3, 1, 4, 1, 4]
    assert len(shares) == 5, "four users, and those without a name behind them"


def test_a_log_in_which_every_job_has_a_user(tmp_path: Path) -> None:
    workload = Workload.from_frame(
        pl.DataFrame({"submit_s": [0, 1], "run_s": [1.0, 1.0], "user": ["b", "a"]}), name="two"
    )
    path = tmp_path / "shares.toml"
    path.write_text('[policy]\nkind = "fair-share"\nhalf_life_s = 9\n[policy.shares]\nb = 2\n')
    assert resolve_native(str(path)).for_core(workload, Cluster.pool(4)).parameters.tolist() == [9, 1, 2]
    simulate(workload, Cluster.pool(1), policy=str(path))


def test_without_shares_none_are_told(workload: Workload) -> None:
    assert resolve_native("fair-share?half_life_s=9").for_core(workload, Cluster.pool(4)).parameters.tolist() == [9]


def test_linear_in_the_order_of_the_core(workload: Workload) -> None:
    told = resolve_native("linear?cores=2&hold_patience_s=8&wait=3").for_core(workload, Cluster.pool(4))
    assert told.parameters.tolist() == [1, 2, 3, 0, 0, 0, 0, 0, np.inf, 0, 3600, 8]


def test_policies_of_the_users_own(workload: Workload) -> None:
    assert CorePolicy.given(None).code == CODES["fcfs"]
    told = CorePolicy.given(np.arange(5.0)[::-1])
    assert (told.code, told.scores.tolist()) == (GIVEN, [4, 3, 2, 1, 0])


def test_the_configuration_points_to_what_is_told(workload: Workload, site: str) -> None:
    config = core_config(resolve_scheduler(policy=site, estimate="noisy?sigma=0.5"), workload, Cluster.pool(8))
    told = config.pointer
    assert [told.policy_parameters[place] for place in range(told.policy_parameters_length)][:3] == [2, 100, 3]
    assert (told.estimate_parameters_length, told.estimate_parameters[0]) == (1, 0.5)
    assert config.policy.scores.tolist()[0] == 27


def test_stand_ins_are_in_the_ledger(workload: Workload, site: str) -> None:
    def rules(policy: str) -> dict[str, int]:
        ledger = simulate(workload, Cluster.pool(1), policy=policy).ledger
        return {entry.rule: entry.count for entry in ledger.entries if "requested" not in entry.rule}

    no_priority, nobody = {"no priority: 0 stands in": 1}, {"no user: all such jobs count as one user's": 1}
    assert rules("priority") == no_priority
    assert rules("fair-share") == rules("multifactor") == nobody
    in_vain = {f"policy.{table}: a name that no job has changes nothing": 1 for table in ("partitions", "shares")}
    assert rules(site) == no_priority | nobody | in_vain
    assert rules("sjf") == {}


def test_names_that_no_job_has_are_in_the_ledger(tmp_path: Path) -> None:
    path = tmp_path / "site.toml"
    path.write_text('[policy]\nkind = "fair-share"\n[policy.shares]\nann = 2\nnobody = 3\n')
    jobs = pl.DataFrame({"submit_s": [0.0], "run_s": [1.0], "user": ["ann"]})
    schedule = simulate(Workload.from_frame(jobs, name="one"), Cluster.pool(1), policy=str(path))
    rule = "policy.shares: a name that no job has changes nothing"
    assert [(entry["rule"], entry["count"], entry["example"]) for entry in schedule.ledger.to_json()[-1:]] == [
        (rule, 1, "nobody")
    ]
