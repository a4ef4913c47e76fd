"""A site's files in; a cluster file and a policy file out, which are read as the same again."""

from __future__ import annotations

from pathlib import Path

import pytest

import shunter
from shunter.files import parse_toml
from shunter.model.cluster_file import write_cluster
from shunter.policies.native import NativePolicy
from shunter.policies.scheduler import resolve
from shunter.workloads.machines import FoundSite
from tests.workloads.machines import lsf_texts, slurm_texts
from tests.workloads.machines.site_files import read_files

SLURM = {
    "slurm_conf": slurm_texts.CONFIGURATION,
    "reservations": slurm_texts.RESERVATIONS,
    "lic": slurm_texts.LICENSES,
    "qos": slurm_texts.QOS,
    "assoc": slurm_texts.ASSOCIATIONS,
}
LSF = {
    "hosts": lsf_texts.HOSTS,
    "lsb_queues": lsf_texts.QUEUES,
    "lsb_hosts": lsf_texts.LSB_HOSTS,
    "lsb_params": lsf_texts.PARAMETERS,
    "lsb_users": lsf_texts.USERS,
}
PRINTED = {"hosts": lsf_texts.HOSTS, "bqueues": lsf_texts.PRINTED}


@pytest.fixture(params=[SLURM, LSF, PRINTED], ids=["slurm", "lsf", "bqueues"])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> FoundSite:
    """What the files of a site tell."""
    return read_files(tmp_path, **request.param)


def test_the_cluster_file(site: FoundSite, tmp_path: Path) -> None:
    path = tmp_path / "site.toml"
    write_cluster(site.cluster, path, [one.text for one in site.left])
    again = shunter.read_cluster(str(path))
    assert again.rules == site.cluster.rules
    assert again.rules.partitions
    assert again.rules.limits
    assert sorted(again.nodes, key=str) == sorted(site.cluster.nodes, key=str)
    text = path.read_text()
    write_cluster(again, tmp_path / "again.toml", [one.text for one in site.left])
    assert (tmp_path / "again.toml").read_text() == text


def test_the_policy_file(site: FoundSite, tmp_path: Path) -> None:
    assert site.policy is not None
    path = tmp_path / "policy.toml"
    path.write_text(site.policy.to_toml(["a policy"]))
    policy = resolve(str(path))
    assert isinstance(policy, NativePolicy)
    assert policy.kind == site.policy.kind
    for name, value in site.policy.parameters.items():
        assert policy.spec.parameters[name] == value
    for name, table in site.policy.tables.items():
        assert policy.spec.numbers(name) == table
    assert policy.spec.settings == {"dispatch": site.policy.dispatch}


def test_names_that_toml_would_read_otherwise(tmp_path: Path) -> None:
    text = (
        'NodeName="a b" CPUs=2\nNodeName=n1 CPUs=2\nPartitionName=a.b Nodes=n1\nPriorityType=priority/multifactor\n'
        "PartitionName=q#1 Nodes=n1\nPartitionName=w\u00fcrfel Nodes=n1 AllowAccounts=x.y,\u00e4\n"
    )
    found = read_files(tmp_path, slurm_conf=text, qos='Name|Priority|GrpJobs\nthe "best"|3|4\n')
    assert list(found.cluster.rules.partitions) == ["a.b", "w\u00fcrfel"]
    path = tmp_path / "site.toml"
    write_cluster(found.cluster, path, [one.text for one in found.left])
    assert shunter.read_cluster(str(path)).rules == found.cluster.rules
    assert found.policy is not None
    assert parse_toml(found.policy.to_toml(), "policy")["policy"]["queues"] == {'the "best"': 1.0}


def test_signs_that_no_comment_may_hold(tmp_path: Path) -> None:
    found = read_files(tmp_path, slurm_conf="NodeName=n1 CPUs=2\nSchedulerParameters=odd\x1b[31m\n")
    path = tmp_path / "site.toml"
    write_cluster(found.cluster, path, [one.text for one in found.left])
    assert shunter.read_cluster(str(path)).name == "slurm.conf"
    assert "odd?[31m" in path.read_text()
