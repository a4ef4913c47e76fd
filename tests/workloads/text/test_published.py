"""Which files are recognized as logs or machines of Alibaba and Google, and what their tables have in common."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.workloads.formats import reader_of
from shunter.workloads.text.source import Source, open_source
from tests.support import traces_folder
from tests.workloads.formats.published_logs import read_text, write

LOGS = ["pai", "openb", "alibaba-2017", "alibaba-dlrm", "google-2011", "google-2019"]
MACHINES = ["pai_machines", "openb_nodes", "spot_nodes", "google_machines"]

SAMPLES = {
    "alibaba_dlrm_v2025/disaggregated_DLRM_trace.csv.gz": "alibaba-dlrm",
    "alibaba_gpu_v2020/hydra_case_5000_all_10_ddl.csv.gz": "pai",
    "alibaba_gpu_v2020/pai_gpu_tasks_terminated_sub8pct.csv.gz": "pai",
    "alibaba_gpu_v2020/pai_instance_table.header": "pai",
    "alibaba_gpu_v2020/pai_instance_table.readme_sample.csv": "pai",
    "alibaba_gpu_v2020/pai_job_table.header": "pai",
    "alibaba_gpu_v2020/pai_job_table.readme_sample.csv": "pai",
    "alibaba_gpu_v2020/pai_machine_spec.csv.gz": "pai_machines",
    "alibaba_gpu_v2020/pai_machine_spec.header": "pai_machines",
    "alibaba_gpu_v2020/pai_machine_spec.readme_sample.csv": "pai_machines",
    "alibaba_gpu_v2020/pai_task_table.header": "pai",
    "alibaba_gpu_v2020/pai_task_table.readme_sample.csv": "pai",
    "alibaba_openb_v2023/openb_node_list_all_node.csv.gz": "openb_nodes",
    "alibaba_openb_v2023/openb_pod_list_default.csv.gz": "openb",
    "alibaba_openb_v2023/openb_pod_list_multigpu50.csv.gz": "openb",
    "alibaba_spot_v2026/node_info_df.csv.gz": "spot_nodes",
    "alibaba_v2017/batch_task.csv.gz": "alibaba-2017",
    "google_2011/job_events-part-00000-of-00500.csv.gz": "google-2011",
    "google_2011/job_events-part-00001-of-00500.csv.gz": "google-2011",
    "google_2011/machine_events-part-00000-of-00001.csv.gz": "google_machines",
    "google_2011/task_events-part-00000.from600s_60000rows.csv.gz": "google-2011",
    "google_2011/task_events-part-00000.t0_first5000.csv.gz": "google-2011",
    "google_2019/borg2019_sample_8000.csv.gz": "google-2019",
    "google_2019/borg_traces_kaggle_99rows.csv.gz": "google-2019",
}
"""Files that are recognized, by which reader; all others are by none of these."""


def recognized_by(source: Source) -> list[str]:
    logs = [name for name in LOGS if reader_of(name).recognizes(source)]
    modules = {name: import_module(f"shunter.workloads.machines.{name}") for name in MACHINES}
    return logs + [name for name, module in modules.items() if module.recognizes(source)]


def test_each_sample_is_recognized_by_its_reader_alone_and_other_files_by_none() -> None:
    folder = traces_folder()
    files = sorted(path for path in folder.glob("**/*") if path.is_file())
    if not files:
        pytest.skip(f"no logs in {folder}")
    found = {str(path.relative_to(folder)): recognized_by(open_source(path)) for path in files}
    expected = {name: [SAMPLES[name]] if name in SAMPLES else [] for name in found}
    assert found == expected


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
