"""From a real log of each family to a schedule, by the commands that a user would give."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.support import trace

LENGTH = 1000

FAMILIES = [
    ("swf/KTH-SP2-1996-2.1-cln.swf.gz", "swf", None),
    ("slurm/xdmod/phillips.log.gz", "sacct", "infer"),
    ("slurm/hpc-cost-simulator/sacct-output-v2.txt", "sacct", "infer"),
    ("slurm/json/sacct.json", "sacct-json", "infer"),
    ("slurm/rltune_jobcomp/jobcomp.log", "jobcomp", "infer"),
    ("lsf/hpc-cost-simulator/lsb.acct.16", "lsb-acct", "infer"),
    ("lsf/hpc-cost-simulator/lsb.events", "lsb-events", "infer"),
    ("philly/philly_sia.csv.gz", "philly", "philly"),
    ("philly/cluster_job_log_readme_sample.json", "philly", "machines:philly/cluster_machine_list"),
    ("helios/venus_gpu_jobs_clip48h.csv.gz", "helios", "helios-venus"),
    ("helios/helios_venus_2vc_sept.csv", "helios", "helios-venus-2vc"),
    ("alibaba_gpu_v2020/pai_gpu_tasks_terminated_sub8pct.csv.gz", "pai", "alibaba-pai"),
    ("alibaba_openb_v2023/openb_pod_list_default.csv.gz", "openb", "alibaba-openb"),
    (
        "alibaba_openb_v2023/openb_pod_list_default.csv.gz",
        "openb",
        "machines:alibaba_openb_v2023/openb_node_list_all_node.csv.gz",
    ),
    ("alibaba_v2017/batch_task.csv.gz", "alibaba-2017", "alibaba-2017"),
    ("alibaba_dlrm_v2025/disaggregated_DLRM_trace.csv.gz", "alibaba-dlrm", "infer"),
    (
        "google_2011/task_events-part-00000.from600s_60000rows.csv.gz",
        "google-2011",
        "machines:google_2011/machine_events-part-00000-of-00001.csv.gz",
    ),
    ("google_2019/borg2019_sample_8000.csv.gz", "google-2019", "infer"),
    ("rltune/synthetic_trace.csv", "rltune", "philly-rltune"),
]


@pytest.mark.every(3)
@pytest.mark.parametrize(("log", "format_name", "machine"), FAMILIES)
def test_simulate(shunter: Command, tmp_path: Path, log: str, format_name: str, machine: str | None) -> None:
    path = trace(log)
    info = shunter("trace", "info", path, "--json").json()
    assert info["format"] == format_name
    cluster: list[object] = []
    if machine is not None:
        cluster = ["--cluster", machine]
        if machine == "infer" or machine.startswith("machines:"):
            file = tmp_path / "cluster.toml"
            source = [path, "--infer"] if machine == "infer" else [trace(machine.removeprefix("machines:"))]
            assert shunter("trace", "cluster", *source, "-o", file).code == 0
            cluster = ["--cluster", file]
    length = min(LENGTH, info["jobs"])
    result = shunter("simulate", "--workload", path, *cluster, "--length", length, "--json").json()
    assert result["jobs"] == length
    assert result["rejected"] <= 0.02 * length
    assert result["metrics"]["mean_turnaround_s"] > 0


def test_a_log_in_several_files(shunter: Command) -> None:
    first = trace("swf/ALCF-Theta-2022-real_week_1.swf.gz")
    pattern = str(first).replace("week_1", "week_*")
    result = shunter("simulate", "--workload", pattern, "--length", 4000, "--json").json()
    assert result["jobs"] == 4000
    assert shunter("trace", "info", pattern, "--json").json()["jobs"] == 6400
