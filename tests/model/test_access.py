"""Where jobs may go, as a table and a cluster file tell it."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from shunter import Cluster, InputError, Workload
from shunter.model.access import access_of, feature_sets, partition_names
from shunter.model.fitting import rejected_jobs
from shunter.simulation import simulate

SITE = """
default_partition = "batch"

[[nodes]]
count = 2
cores = 4
partitions = ["batch", "all"]
features = ["old"]

[[nodes]]
cores = 8
partition = "all"
features = ["avx512", "big"]

[partitions.all]
tier = 3
default_time_s = 60
"""


def read(tmp_path: Path, text: str = SITE) -> Cluster:
    """Returns a cluster of this text."""
    path = tmp_path / "site.toml"
    path.write_text(text)
    return Cluster.read(path)


def jobs(**columns: list[object]) -> pl.DataFrame:
    """Returns a table of jobs of one second."""
    count = len(next(iter(columns.values())))
    frame = pl.DataFrame({"submit_s": [0.0] * count, "run_s": [1.0] * count, **columns})
    return Workload.from_frame(frame, name="x").jobs


def test_choices_in_the_order_named(tmp_path: Path) -> None:
    table = jobs(partition=[None, "all,batch", " batch , gone", "gone"], features=[None, "big|old", None, None])
    access = access_of(table, read(tmp_path))
    assert [access.of(row).partitions for row in range(4)] == [("batch",), ("all", "batch"), ("batch",), ()]
    assert [access.of(row).choices for row in range(3)] == [((0, 1),), ((0, 1, 2), (0, 1)), ((0, 1),)]
    assert not access.is_plain
    assert access.tier is not None
    assert access.tier.tolist()[:3] == [1, 3, 1]


def test_what_stands_in_for_a_request_is_counted(tmp_path: Path) -> None:
    table = jobs(partition=["all", "batch", "all"], requested_s=[None, None, 5.0])
    assert access_of(table, read(tmp_path)).requested_s(table).to_list() == [60.0, None, 5.0]
    schedule = simulate(Workload.from_frame(table, name="x"), read(tmp_path))
    told = {entry.rule: entry.count for entry in schedule.ledger.entries}
    assert told["no requested time: the default of its partition stands in"] == 1
    assert told["no requested time: the run time stands in"] == 1


def test_a_plain_cluster_is_told_as_ever(tmp_path: Path) -> None:
    cluster = read(tmp_path, '[[nodes]]\ncores = 4\npartition = "a"\n[[nodes]]\ncores = 4\n')
    assert access_of(jobs(partition=["a", None, "b"]), cluster).is_plain


def test_names_and_features() -> None:
    assert partition_names(" a,b ,, a") == ("a", "b")
    assert partition_names(None) == ()
    assert feature_sets("a&b|c, d") == [{"a", "b"}, {"c", "d"}]
    assert feature_sets("") == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            'default_partition = "gone"\n',
            'no node is in a partition "gone"; the nodes have all, batch',
        ),
        ("[partitions.gone]\n", r'no node is in a partition "gone"'),
        ("[partitions.batch]\ntier = -1\n", "tier"),
        ("[partitions.batch]\nmax_tim_s = 1\n", "max_tim_s"),
        ("[partitions.batch]\nmax_time_s = 5\ndefault_time_s = 6\n", "default_time_s is 6, above max_time_s"),
        ('[partitions.batch]\naccounts = "a"\ndenied_accounts = ["a"]\n', "a is among accounts and denied_accounts"),
    ],
)
def test_mistakes(tmp_path: Path, change: str, message: str) -> None:
    plain = SITE.replace('default_partition = "batch"\n', "")
    text = change + plain if change.startswith("default") else plain + change
    with pytest.raises(InputError, match=message):
        read(tmp_path, text)


def test_a_rejection_says_what_rule_refused(tmp_path: Path) -> None:
    rules = """
[partitions.batch]
users = ["ann"]
denied_accounts = ["old"]
max_cores = 2
max_nodes = 1
[[limits]]
qos = "low"
max_time_s = 3600
"""
    cluster = read(tmp_path, SITE + rules)
    table = jobs(
        partition=["batch", "batch", "batch", "all", "all", "gone", "all,batch"],
        user=["bob", "ann", "ann", "bob", "bob", "bob", "bob"],
        account=[None, None, "old", *[None] * 4],
        qos=[*[None] * 4, "low", None, None],
        cores_per_task=[1, 3, 1, 1, 1, 1, 1],
        requested_s=[*[None] * 4, 7200.0, None, None],
        features=[None, None, None, "new", None, None, None],
    )
    schedule = simulate(Workload.from_frame(table, name="x"), cluster)
    frame = schedule.to_frame()
    place = f"{tmp_path}/site.toml"
    assert frame["reason"].to_list() == [
        f"asks in partition 'batch' as user 'bob'; {place}:19: [partitions.batch]: users does not name its user",
        f"asks for 1 task of 3 cores and 0 GPUs in partition 'batch'; {place}:19: [partitions.batch]: max_cores is 2",
        "asks in partition 'batch' as user 'ann', account 'old'; "
        f"{place}:19: [partitions.batch]: denied_accounts names its account",
        "asks for features 'new' in partition 'all'; no node that it could use has them",
        "asks for 7,200 s, 1 task of 1 core and 0 GPUs in partition 'all'; "
        f"{place}:24: [[limits]] 1: max_time_s is 3,600 for qos low",
        "asks for partition 'gone'; the cluster has all, batch",
        None,
    ]
    assert frame["admitted"].to_list() == [*[None] * 6, "all"]


def test_rejections_are_counted_by_rule(tmp_path: Path) -> None:
    rules = '[partitions.all]\nmax_time_s = 60\n[[limits]]\nqos = "low"\nmax_cores = 1\n'
    plain = SITE.replace("[partitions.all]\ntier = 3\ndefault_time_s = 60\n", "")
    table = jobs(
        partition=["all"] * 5, qos=["low", "low", None, None, "low"], cores_per_task=[2.0, 3, 1, 1, 1],
        requested_s=[5.0, 5.0, 61.0, None, 5.0],
    )  # fmt: skip
    found = rejected_jobs(simulate(Workload.from_frame(table, name="x"), read(tmp_path, plain + rules)))
    assert [(one.jobs, one.first.job_id) for one in found] == [(2, 1), (1, 3)]
    assert found[0].to_json() == {
        "reason": "over the limit of one job",
        "jobs": 2,
        "first": "job 1 asks for 5 s, 1 task of 2 cores and 0 GPUs in partition 'all'; "
        f"{tmp_path}/site.toml:17: [[limits]] 1: max_cores is 1 for qos low",
    }
