"""``shunter trace cluster``."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.model.cluster import Cluster
from tests.cli.conftest import Command
from tests.workloads.formats.test_swf import line

MACHINES = "machineId, number of GPUs, single GPU mem\nm1, 2, 12GB\nm2, 8, 24GB\nm3, 8, 24GB\n"


@pytest.fixture
def machines(tmp_path: Path) -> Path:
    """Returns a list of three machines."""
    path = tmp_path / "cluster_machine_list"
    path.write_text(MACHINES)
    return path


def test_a_list_of_machines(shunter: Command, machines: Path, tmp_path: Path) -> None:
    output = tmp_path / "cluster.toml"
    answer = shunter("trace", "cluster", machines, "-o", output, "--name", "small")
    assert (answer.code, answer.err) == (0, "")
    assert f"written: {output}" in answer.out.replace("\n", "")
    cluster = Cluster.read(output)
    assert cluster.name == "small"
    assert [(node.name, node.gpus) for node in cluster.nodes] == [("m1", 2), ("m2", 8), ("m3", 8)]
    assert "the file exists" in shunter("trace", "cluster", machines, "-o", output).error()


def test_without_an_output_it_is_printed(shunter: Command, machines: Path) -> None:
    answer = shunter("trace", "cluster", machines)
    assert answer.code == 0
    assert "gpus = 8" in answer.out


def test_what_is_skipped_is_told_beside_what_is_printed(shunter: Command, machines: Path) -> None:
    machines.write_text(MACHINES + "m4, many, 24GB\n")
    answer = shunter("trace", "cluster", machines)
    assert answer.code == 0
    assert "m4" not in answer.out
    assert "not readable: line skipped" in answer.err


def test_a_log_that_tells_its_machine_and_one_that_does_not(shunter: Command, tmp_path: Path) -> None:
    told, silent = tmp_path / "told.swf", tmp_path / "silent.swf"
    told.write_text("; MaxProcs: 64\n" + line())
    silent.write_text(line(f3=0, f4=10, f5=4) + line(f1=2, f3=5, f4=10, f5=3))
    assert "cores = 64" in shunter("trace", "cluster", told).out
    assert "or add --infer" in shunter("trace", "cluster", silent).error()
    inferred = shunter("trace", "cluster", silent, "--infer").out
    assert "had in use at once" in inferred
    assert "cores = " in inferred


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--force"], "--force is given without --output"),
        (["-o", "cluster.txt"], "give a name that ends in .toml"),
        (["--format", "nonsense"], "unknown format 'nonsense'"),
    ],
)
def test_mistakes(shunter: Command, machines: Path, options: list[str], message: str) -> None:
    assert message in shunter("trace", "cluster", machines, *options).error()


def test_machines_are_no_workload(shunter: Command, machines: Path) -> None:
    error = shunter("simulate", "--workload", machines).error()
    assert "is a list of machines (philly-machines), not of jobs; make a cluster of it" in error


def test_hosts_of_a_log_become_nodes(shunter: Command, tmp_path: Path) -> None:
    log = tmp_path / "sacct.txt"
    rows = [
        "JobID|Partition|State|Submit|Start|End|Elapsed|NNodes|NCPUS|NodeList",
        "1|batch|COMPLETED|2024-03-01T12:00:00|2024-03-01T12:00:00|2024-03-01T13:00:00|01:00:00|2|64|n[01-02]",
        "2|gpu|COMPLETED|2024-03-01T12:00:00|2024-03-01T12:00:00|2024-03-01T13:00:00|01:00:00|1|8|g1",
    ]
    log.write_text("\n".join(rows) + "\n")
    output = tmp_path / "cluster.toml"
    answer = shunter("trace", "cluster", log, "--infer", "-o", output)
    assert answer.code == 0
    assert "Inferred from the hosts that sacct.txt names. Jobs that name some: 2. Nodes: 3." in answer.out
    assert "2 of 3 reached the same cores as a like-named one, so the sizes are plausible" in answer.out
    nodes = [(node.name, node.cores, node.partitions) for node in Cluster.read(output).nodes]
    assert nodes == [("g1", 8.0, ("gpu",)), ("n01", 32.0, ("batch",)), ("n02", 32.0, ("batch",))]
    assert "# Inferred from the hosts that sacct.txt names" in output.read_text()


def test_a_table_may_name_its_hosts(shunter: Command, tmp_path: Path) -> None:
    log = tmp_path / "jobs.csv"
    log.write_text("0;60;n1*8\n0;60;n2*8\n")
    answer = shunter("trace", "cluster", log, "--map", "submit_s=1,run_s=2,hosts=3", "--infer")
    assert answer.code == 0
    assert '"n1", "n2",' in answer.out
    assert "cores = 8" in answer.out
    assert "Nodes: 2." in answer.err


def test_what_is_neither_a_list_nor_a_log_is_told_which_lists_there_are(shunter: Command, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("we have forty nodes\n")
    error = shunter("trace", "cluster", path).error()
    assert "is neither a list of machines nor a log that is known (it begins with 'we have forty nodes')" in error
    for name in (
        "slurm-conf (Slurm: slurm.conf",
        "sacctmgr-qos",
        "lsb-conf",
        "scontrol",
        "sinfo",
        "lshosts",
        "google-machines",
    ):
        assert name in error
