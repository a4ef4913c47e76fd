"""What a file is: each made-up sample and each published file is recognized by its own reader, and by no other."""

from __future__ import annotations

import json
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path
from typing import Final, cast

import pytest

from shunter.errors import InputError
from shunter.workloads import read_workload
from shunter.workloads.formats import FORMATS, Reader, detect_format, reader_of
from shunter.workloads.machines import MACHINES, detect_machines
from shunter.workloads.text.source import Source, open_source
from tests.support import trace, traces_folder
from tests.workloads.machines import slurm_texts, test_lshosts, test_scontrol, test_sinfo
from tests.workloads.machines.test_published_lists import REVISED, SHORT_LISTS
from tests.workloads.samples import SAMPLES

READERS: Final[dict[str, Reader]] = {name: reader_of(name) for name in FORMATS} | {
    name: cast("Reader", import_module(f"shunter.workloads.machines.{name.replace('-', '_')}")) for name in MACHINES
}
LISTS: Final[dict[str, tuple[str, str]]] = {
    **{name: (reader, text) for name, (reader, text, _) in SHORT_LISTS.items()},
    "philly, revised": ("philly-machines", REVISED),
    "nodes of scontrol": ("scontrol", test_scontrol.FIVE_NODES),
    "slurm.conf": ("slurm-conf", slurm_texts.CONFIGURATION),
    "sinfo": ("sinfo", test_sinfo.BLANKS),
    "sinfo with bars": ("sinfo", test_sinfo.BARS),
    "sinfo, long": ("sinfo", test_sinfo.LONG),
    "sinfo, JSON": ("sinfo", json.dumps(test_sinfo.JSON)),
    "lshosts": ("lshosts", test_lshosts.LSHOSTS),
    "lshosts -gpu": ("lshosts", test_lshosts.LSHOSTS_GPU),
    "bhosts": ("lshosts", test_lshosts.BHOSTS),
    "bhosts -gpu": ("lshosts", test_lshosts.BHOSTS_GPU),
    "bhosts -json": ("lshosts", test_lshosts.BHOSTS_JSON),
}
FOREIGN: Final = {
    "table of PAI's groups": "inst_id,user,gpu_type_spec,group,workload\na1,u1,T4,g1,nmt\n",
    "table of PAI's sensors": "job_name,task_name,worker_name,inst_id,machine,gpu_name,cpu_usage,gpu_wrk_util\n"
    "j1,worker,w1,a1,m1,/dev/nvidia0,212.5,30.5\n",
    "a schema of Google's": '[{"name": "time", "type": "INTEGER", "mode": "REQUIRED"}]\n',
    "summary of Helios' clusters": "id,vc_num,node_num,gpu_num\nVega,7,30,240\n",
    "virtual clusters of Philly": "vc,node num\nabc123,9\n",
    "bjobs -json": '{"COMMAND":"bjobs","JOBS":1,"RECORDS":[{"JOBID":"81","STAT":"PEND","USER":"dora"}]}\n',
    "lsload -gpu": "HOST_NAME  status  ngpus  gpu_shared_avg_mut  gpu_shared_avg_ut\nh1  ok  4  0%  0%\n",
    "squeue --json": '{"meta": {"plugin": {}}, "jobs": [{"job_id": 81, "job_state": "PENDING"}], "errors": []}\n',
    "squeue": "JOBID PARTITION NAME USER ST TIME NODES NODELIST(REASON)\n81 main run dora R 1:00 1 n1\n",
    "sdiag --json": '{"meta": {}, "statistics": {"jobs_submitted": 81, "schedule_cycle_max": 5}}\n',
    "scontrol show job": "JobId=81 JobName=run\n   UserId=dora(1) JobState=RUNNING\n   NumNodes=1 NumCPUs=4\n",
    "gres.conf": "AutoDetect=off\nName=gpu Type=a100 File=/dev/nvidia[0-3]\n",
    "a table without submit times": "job_id,nodes_req,wallclock_req,run_time\n81,1,600,60\n",
    "prose": "# Source\n\nThese are the jobs of a machine.\n",
    "a record of LSF, cut": '"JOB_FINISH"\n',
}
"""Made-up files that stand beside logs and lists, and are none."""


def recognized_by(source: Source) -> list[str]:
    return [name for name, reader in READERS.items() if reader.recognizes(source)]


@pytest.mark.parametrize("layout", SAMPLES)
def test_a_sample_is_recognized_by_its_reader_alone(tmp_path: Path, layout: str) -> None:
    name, content = SAMPLES[layout]
    path = tmp_path / "file.txt"
    path.write_bytes(content)
    source = open_source(path)
    assert (recognized_by(source), detect_format(source)) == ([name], name)


@pytest.mark.parametrize("layout", LISTS)
def test_a_list_of_machines_is_recognized_by_its_reader_alone(tmp_path: Path, layout: str) -> None:
    name, text = LISTS[layout]
    path = tmp_path / "file.txt"
    path.write_text(text)
    source = open_source(path)
    assert (recognized_by(source), detect_machines(source)) == ([name], name)


@pytest.mark.parametrize("what", FOREIGN)
def test_what_is_no_log_is_recognized_by_no_reader(tmp_path: Path, what: str) -> None:
    path = tmp_path / "file.txt"
    path.write_text(FOREIGN[what])
    assert recognized_by(open_source(path)) == []
    with pytest.raises(InputError, match=r"file\.txt: the content is of no known format"):
        read_workload(path)


PUBLISHED: Final = {
    "alibaba_dlrm_v2025/*.csv.gz": "alibaba-dlrm",
    "alibaba_gpu_v2020/hydra_*": "pai",
    "alibaba_gpu_v2020/pai_gpu_tasks_*": "pai",
    "alibaba_gpu_v2020/pai_instance_table.*": "pai",
    "alibaba_gpu_v2020/pai_job_table.*": "pai",
    "alibaba_gpu_v2020/pai_task_table.*": "pai",
    "alibaba_gpu_v2020/pai_machine_spec.*": "pai-machines",
    "alibaba_openb_v2023/openb_node_list_*": "openb-nodes",
    "alibaba_openb_v2023/openb_pod_list_*": "openb",
    "alibaba_spot_v2026/node_info_df.csv.gz": "spot-nodes",
    "alibaba_v2017/batch_task.csv.gz": "alibaba-2017",
    "google_2011/job_events-*": "google-2011",
    "google_2011/machine_events-*": "google-machines",
    "google_2011/task_events-*": "google-2011",
    "google_2019/borg*": "google-2019",
    "gridengine/*_accounting": "gridengine",
    "helios/cluster_log_readme_sample.csv": "helios",
    "helios/earth_cluster_gpu_number.csv": "helios-gpus",
    "helios/helios_venus_2vc_sept.csv": "helios",
    "helios/venus_gpu_jobs_clip48h.csv.gz": "helios",
    "lsf/bjobs_json/bhosts_output.json": "lshosts",
    "lsf/hpc-cost-simulator/lsb.acct*": "lsb-acct",
    "lsf/hpc-cost-simulator/lsb.events": "lsb-events",
    "lsf/text_fixtures/bhosts*": "lshosts",
    "lsf/text_fixtures/lshosts*": "lshosts",
    "lsf/xdmod/*.log": "lsb-acct",
    "pbs/accounting.log": "pbs",
    "philly/*_machine_list*": "philly-machines",
    "philly/cluster_job_log_*": "philly",
    "philly/philly_s*": "philly",
    "rltune/*.csv": "rltune",
    "slurm/hpc-cost-simulator/*": "sacct",
    "slurm/json/rivos_sinfo_out.json": "sinfo",
    "slurm/json/sacct*": "sacct-json",
    "slurm/rltune_jobcomp/jobcomp.log": "jobcomp",
    "slurm/rltune_jobcomp/slurm.conf": "slurm-conf",
    "slurm/text/scontrol_show_node_*": "scontrol",
    "slurm/xdmod/*.log*": "sacct",
    "swf/*.swf.gz": "swf",
}
"""Which published files are recognized, and by which reader."""


def test_each_published_file_is_recognized_by_its_reader_alone() -> None:
    trace("swf/lublin_256.swf.gz")
    folder = traces_folder()
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    expected = {file: [name for pattern, name in PUBLISHED.items() if fnmatch(file, pattern)] for file in files}
    assert {file: recognized_by(open_source(path)) for file, path in files.items()} == expected
    assert all(any(fnmatch(file, pattern) for file in files) for pattern in PUBLISHED)
