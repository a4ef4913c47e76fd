"""Which files are recognized as logs or machines of Alibaba and Google, and what their tables have in common."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.workloads.formats import reader_of
from shunter.workloads.text.source import Source, open_source
from tests.workloads.formats.published_logs import read_text, write

LOGS = ["pai", "openb", "alibaba-2017", "alibaba-dlrm", "google-2011", "google-2019"]
MACHINES = ["pai_machines", "openb_nodes", "spot_nodes", "google_machines"]


def recognized_by(source: Source) -> list[str]:
    logs = [name for name in LOGS if reader_of(name).recognizes(source)]
    modules = {name: import_module(f"shunter.workloads.machines.{name}") for name in MACHINES}
    return logs + [name for name, module in modules.items() if module.recognizes(source)]


@pytest.mark.parametrize(
    "text",
    ["hello\n", "{\n", "[1, 2]\n", '{"time": 3}\n', ",,,,,\n", "1,2,3,4,5,6\n", "\x01\x02,\xff\n", "0,0,0,0,0,0,0,0\n"]
    + [",".join(["1"] * count) + "\n" for count in (5, 6, 8, 9, 10, 13)]
    + [",".join([""] * count) + "x\n" for count in (5, 6, 8, 9, 10, 13)],
)
def test_other_text_is_recognized_by_none(tmp_path: Path, text: str) -> None:
    assert recognized_by(open_source(write(tmp_path, text))) == []


def test_a_header_without_one_of_the_columns_is_refused(tmp_path: Path) -> None:
    text = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
    with pytest.raises(InputError, match=r'log\.txt: the header has no column "gpu_spec"; add it'):
        read_text(tmp_path, text)


def test_a_header_whose_quotes_hold_two_columns_together_is_refused(tmp_path: Path) -> None:
    """Cut at commas alone it has all columns; as CSV has it, one is missing."""
    text = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,"
    text += '"gpu_spec,qos",pod_phase,creation_time,deletion_time,scheduled_time\n'
    row = "a,1000,1,0,0,LS,Running,0,10,0\n"
    with pytest.raises(InputError, match=r'log\.txt: the header has no column "gpu_spec"; add it'):
        read_text(tmp_path, text + 3 * row)


def test_columns_may_stand_in_another_order_beside_others_and_in_capitals(tmp_path: Path) -> None:
    text = (
        "Status,TASK_ID,job_id,extra,number_of_instances,task_end_time,task_create_time,"
        "normalized_memory_requested_per_instance_in_the_task,number_of_cpus_requested_per_instance_in_the_task\n"
        "Failed,2,1,x,3,70,10,0.5,200\n"
    )
    workload = read_text(tmp_path, text)
    assert workload.format == "alibaba-2017"
    assert workload.jobs.select(
        "job_id", "submit_s", "run_s", "tasks", "cores_per_task", "memory_mb_per_task", "status"
    ).rows() == [("1/2", 10.0, 60.0, 3, 2.0, 50_000.0, "failed")]
