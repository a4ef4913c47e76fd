"""``shunter trace cluster`` on the files of a site: a cluster file, a policy file, and what is not taken over."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shunter as package
from shunter.model.cluster import Cluster
from tests.cli.conftest import Command
from tests.workloads.machines import lsf_texts, slurm_texts
from tests.workloads.machines.site_files import write_files


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """The files of a Slurm site."""
    return write_files(
        tmp_path,
        slurm_conf=slurm_texts.CONFIGURATION,
        qos_txt=slurm_texts.QOS,
        assoc_txt=slurm_texts.ASSOCIATIONS,
        reservations_txt=slurm_texts.RESERVATIONS,
    )


def test_one_call_makes_a_cluster_and_a_policy(shunter: Command, files: list[Path], tmp_path: Path) -> None:
    cluster, policy = tmp_path / "site.toml", tmp_path / "policy.toml"
    answer = shunter("trace", "cluster", *files, "-o", cluster, "--policy-out", policy)
    assert (answer.code, answer.err) == (0, "")
    run = f"--cluster {cluster} --policy {policy} --dispatch conservative --scan-depth 300"
    said = " ".join(answer.out.split())
    assert f"To schedule as the site does: shunter simulate LOG {run}" in said
    assert "read, and not taken over" in said
    found = Cluster.read(cluster)
    assert found.rules.default_partition == "short"
    assert len(found.rules.reservations) == 3
    # The list stands in the cluster file, with file and line; the command stands in both.
    text = cluster.read_text()
    assert "#   slurm.conf:13: PriorityWeightTRES = CPU=100,Mem=50: sizes count by cores or GPUs, what binds\n" in text
    assert "#   slurm.conf:6: bf_window = 2880: not simulated\n" in text
    assert run in text
    assert run in policy.read_text()
    assert package.resolve(str(policy)).label == "policy.toml"
    assert (
        "the file exists"
        in shunter("trace", "cluster", *files, "-o", tmp_path / "b.toml", "--policy-out", policy).error()
    )


def test_the_list_as_json(shunter: Command, files: list[Path], tmp_path: Path) -> None:
    output = tmp_path / "site.toml"
    answer = shunter("trace", "cluster", *files, "-o", output, "--json")
    told = json.loads(answer.out)
    assert told["cluster"] == {"name": "riverlab", "nodes": 4, "cores": 32, "gpus": 2}
    assert (told["output"], told["policy_output"]) == (str(output), None)
    assert told["notes"][1].endswith(
        f"--cluster {output} --policy POLICY.toml --dispatch conservative --scan-depth 300"
    )
    weight = next(one for one in told["left_out"] if one["key"] == "PriorityWeightTRES")
    assert weight == {
        "file": "slurm.conf",
        "line": 13,
        "key": "PriorityWeightTRES",
        "value": "CPU=100,Mem=50",
        "why": "sizes count by cores or GPUs, what binds",
        "places": 1,
    }


def test_what_is_not_taken_over_goes_beside_a_printed_file(shunter: Command, files: list[Path]) -> None:
    answer = shunter("trace", "cluster", *files)
    assert answer.code == 0
    assert answer.out.startswith("# From slurm.conf, qos.txt, assoc.txt, reservations.txt.\n")
    assert "read, and not taken over" in answer.err


def test_lsf(shunter: Command, tmp_path: Path) -> None:
    files = write_files(tmp_path, lsb_queues=lsf_texts.QUEUES, lsb_hosts=lsf_texts.LSB_HOSTS, hosts=lsf_texts.HOSTS)
    cluster, policy = tmp_path / "farm.toml", tmp_path / "policy.toml"
    answer = shunter("trace", "cluster", *files, "-o", cluster, "--policy-out", policy)
    assert answer.code == 0
    assert "--dispatch easy" in answer.out
    assert Cluster.read(cluster).rules.partitions["night"].tier == 40
    assert package.resolve(str(policy)).label == "policy.toml"


def test_a_mistake_is_one_line_with_its_place(shunter: Command, files: list[Path]) -> None:
    files[0].write_text(slurm_texts.CONFIGURATION.replace("PriorityTier=2", "PriorityTier=second"))
    error = shunter("trace", "cluster", *files).error()
    assert f"{files[0]}:22: PriorityTier is 'second'; expected a whole number from 0 to 1000000000" in error


def test_options_that_mean_nothing(shunter: Command, files: list[Path], tmp_path: Path) -> None:
    nodes = write_files(tmp_path, nodes_txt=slurm_texts.NODES)[0]
    assert "--json is given without --output" in shunter("trace", "cluster", nodes, "--json").error()
    policy = tmp_path / "policy.toml"
    error = shunter("trace", "cluster", nodes, "--policy-out", policy).error()
    assert "nodes.txt: tells nothing of the order of jobs, so that --policy-out has nothing to write" in error
    assert not policy.exists()
    for _ in range(2):
        assert shunter("trace", "cluster", *files, "--policy-out", policy, "--force").code == 0
    assert "give a name that ends in .toml" in shunter("trace", "cluster", *files, "--policy-out", "p.txt").error()
    same = tmp_path / "same.toml"
    for _ in range(2):
        error = shunter("trace", "cluster", *files, "-o", same, "--policy-out", same, "--force").error()
        assert "--policy-out would overwrite the cluster file" in error
        # Whether it is there already makes no difference.
        same.touch()


def test_a_format_for_a_file_that_does_not_say_what_it_is(shunter: Command, tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("Begin Queue\n")
    error = shunter("trace", "cluster", path, "--format", "lsb-conf").error()
    assert "list.txt:1: Begin queue has no End queue" in error
