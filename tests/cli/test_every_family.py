"""From a log of each family to a schedule, by the commands that a user would give: made-up logs, whole real ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.workloads import read_workload
from tests.cli.conftest import Command, swf_line, write_log
from tests.support import trace
from tests.workloads.samples import SAMPLES
from tests.workloads.test_round_trips import check_tables

LENGTH = 1000

MADE_UP = {
    "sacct": "infer",
    "sacct-json": "infer",
    "jobcomp": "infer",
    "lsb-acct": "infer",
    "lsb-events": "infer",
    "pbs": "infer",
    "gridengine": "infer",
    "batsim": None,
    "philly": "philly",
    "philly flat": "philly",
    "helios": "infer",
    "helios list": "helios-venus",
    "pai": "alibaba-pai",
    "pai list": "alibaba-pai",
    "openb": "alibaba-openb",
    "alibaba-2017": "alibaba-2017",
    "alibaba-dlrm": "infer",
    "google-2011": "infer",
    "google-2019": "infer",
    "rltune": "philly-rltune",
    "swf": None,
    "csv": "infer",
    "parquet": "infer",
}
"""The machine of each sample: a preset, inferred from the jobs, or, if None, the one that the log states."""
FAMILIES = [
    ("swf/KTH-SP2-1996-2.1-cln.swf.gz", "swf", None),
    ("slurm/xdmod/phillips.log.gz", "sacct", "infer"),
    ("slurm/hpc-cost-simulator/sacct-output-v2.txt", "sacct", "infer"),
    ("lsf/hpc-cost-simulator/lsb.acct.16", "lsb-acct", "infer"),
    ("philly/philly_sia.csv.gz", "philly", "philly"),
    ("helios/venus_gpu_jobs_clip48h.csv.gz", "helios", "helios-venus"),
    ("helios/helios_venus_2vc_sept.csv", "helios", "helios-venus-2vc"),
    ("alibaba_gpu_v2020/pai_gpu_tasks_terminated_sub8pct.csv.gz", "pai", "alibaba-pai"),
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


def simulate(shunter: Command, folder: Path, path: Path, format_name: str, machine: str | None) -> float:
    """Looks at a log, finds its machine, schedules its first jobs, and returns the share of those that fit nowhere."""
    info = shunter("trace", "info", path, "--json").json()
    assert info["format"] == format_name
    cluster: list[object] = []
    if machine is not None:
        cluster = ["--cluster", machine]
        if machine == "infer" or machine.startswith("machines:"):
            file = folder / "cluster.toml"
            source = [path, "--infer"] if machine == "infer" else [trace(machine.removeprefix("machines:"))]
            assert shunter("trace", "cluster", *source, "-o", file).code == 0
            cluster = ["--cluster", file]
    length = min(LENGTH, info["jobs"])
    result = shunter("simulate", "--workload", path, *cluster, "--length", length, "--json").json()
    assert result["jobs"] == length
    assert result["metrics"]["mean_turnaround_s"] > 0
    return float(result["rejected"] / length)


@pytest.mark.every(5)
@pytest.mark.parametrize("layout", MADE_UP)
def test_a_made_up_log(shunter: Command, tmp_path: Path, layout: str) -> None:
    format_name, content = SAMPLES[layout]
    path = tmp_path / "log.bin"
    path.write_bytes(content)
    assert simulate(shunter, tmp_path, path, format_name, MADE_UP[layout]) == 0


@pytest.mark.every(3)
@pytest.mark.parametrize(("log", "format_name", "machine"), FAMILIES)
def test_a_real_log(shunter: Command, tmp_path: Path, log: str, format_name: str, machine: str | None) -> None:
    """Its jobs come back the same from tables, too."""
    path = trace(log)
    assert simulate(shunter, tmp_path, path, format_name, machine) <= 0.02
    check_tables(read_workload(path), tmp_path)


def test_a_log_in_several_files(shunter: Command, tmp_path: Path) -> None:
    write_log(tmp_path / "week_1.swf", [swf_line(1, 0, 10, 1), swf_line(2, 5, 10, 2)])
    write_log(tmp_path / "week_2.swf", [swf_line(1, 20, 10, 8), swf_line(2, 30, 10, 2)])
    pattern = tmp_path / "week_*.swf"
    assert shunter("trace", "info", pattern, "--json").json()["jobs"] == 4
    assert shunter("simulate", "--workload", pattern, "--length", 3, "--json").json()["jobs"] == 3
