"""Any workload to a file and back: tables give the same jobs, and SWF what it has fields for."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter.model.workload import Workload
from shunter.workloads import read_workload
from shunter.workloads.generators import GENERATORS
from shunter.workloads.write import write_table
from tests.workloads.samples import SAMPLES


def check_tables(workload: Workload, folder: Path) -> None:
    """Writes the jobs as tables and reads them again."""
    for ending in ("csv", "csv.gz", "parquet"):
        path = folder / f"again.{ending}"
        write_table(workload, path)
        again = read_workload(path, strict=True)
        assert again.jobs.schema == workload.jobs.schema
        assert again.jobs.equals(workload.jobs)
    # The last one written was Parquet, which keeps the cluster too.
    assert again.cluster_spec == workload.cluster_spec


def _check_swf(workload: Workload, folder: Path) -> None:
    lost = " ".join(write_table(workload, folder / "again.swf"))
    again = read_workload(folder / "again.swf")
    for column in ("submit_s", "run_s", "requested_s", "logged_wait_s"):
        assert again.jobs[column].equals(workload.jobs[column].alias(column)), column
    none = workload.jobs["cores_per_task"] == 0
    # A task that asks for no cores has one processor, for SWF has no job without.
    cores = workload.jobs["cores_per_task"].set(none, 1.0)
    assert again.jobs["tasks"].to_list() == (workload.jobs["tasks"] * cores).ceil().to_list()
    assert ("cores_per_task" in lost) == bool(((cores != 1) | none).any())
    for column in ("gpus_per_task", "priority", "name", "account", "gpu_type"):
        jobs = workload.jobs
        if column in jobs.columns and jobs[column].null_count() < len(jobs) and (jobs[column] != 0).any():
            assert column in lost


@pytest.mark.every(6)
@pytest.mark.parametrize("layout", SAMPLES)
def test_every_layout(tmp_path: Path, layout: str) -> None:
    path = tmp_path / "log.bin"
    path.write_bytes(SAMPLES[layout][1])
    check_tables(read_workload(path), tmp_path)
    _check_swf(read_workload(path), tmp_path)


@pytest.mark.parametrize("name", GENERATORS)
def test_every_generator(tmp_path: Path, name: str) -> None:
    workload = read_workload(f"generate:{name}?jobs=200&requests=factor")
    check_tables(workload, tmp_path)
    _check_swf(workload, tmp_path)
