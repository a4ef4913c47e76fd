"""A small made-up log in every format, for tests that hold for all of them."""

from __future__ import annotations

import io
import json
from typing import Final

import polars as pl

_SACCT = (
    "JobID|User|Group|Partition|Submit|Start|End|Elapsed|State|NNodes|NCPUS|ReqMem|AllocTRES|Timelimit|JobName\n"
    "101|ann|staff|batch|2024-03-01T08:00:00|2024-03-01T08:05:00|2024-03-01T09:05:00|01:00:00|COMPLETED|1|8|16Gn|"
    "cpu=8,mem=16G,node=1|02:00:00|first\n"
    "102|bob|staff|gpu|2024-03-01T08:01:00|2024-03-01T08:01:30|2024-03-02T08:01:30|1-00:00:00|TIMEOUT|2|64|4Gc|"
    "cpu=64,gres/gpu=8,node=2|1-00:00:00|train|x\n"
    "103|ann|staff|batch|2024-03-01T08:02:00|2024-03-01T08:02:10|2024-03-01T08:02:40|00:00:30|CANCELLED by 7|1|1|512Mn|"
    "cpu=1,node=1|Partition_Limit|third\n"
)

_SACCT_JSON = json.dumps(
    {
        "meta": {"Slurm": {"release": "22.05.2"}},
        "errors": [],
        "jobs": [
            {
                "job_id": 200 + number,
                "association": {"account": "physics", "cluster": "alpha", "partition": "batch", "user": "ann"},
                "group": "staff",
                "user": "ann",
                "partition": "batch",
                "qos": "normal",
                "name": "run.sh",
                "priority": 10,
                "nodes": "cn1",
                "allocation_nodes": 1,
                "array": {"job_id": 0, "task_id": None},
                "het": {"job_id": 0, "job_offset": None},
                "state": {"current": "COMPLETED", "reason": "None"},
                "required": {"CPUs": 4, "memory": 2000},
                "time": {
                    "elapsed": 600, "eligible": 1_700_000_000, "submission": 1_700_000_000 + number,
                    "start": 1_700_000_060, "end": 1_700_000_660, "limit": 30, "suspended": 0,
                },
                "tres": {
                    "allocated": [
                        {"type": "cpu", "name": None, "id": 1, "count": 4},
                        {"type": "node", "name": None, "id": 4, "count": 1},
                    ],
                    "requested": [{"type": "cpu", "name": None, "id": 1, "count": 4}],
                },
                "steps": [],
            }
            for number in range(3)
        ],
    },
    indent=1,
)  # fmt: skip

_JOBCOMP = "".join(
    f"JobId={300 + number} UserId=ann(1001) GroupId=staff(100) Name=run.sh JobState=COMPLETED Partition=batch "
    f"TimeLimit=60 StartTime=2024-03-01T08:0{number}:30 EndTime=2024-03-01T08:3{number}:30 NodeList=cn1 NodeCnt=1 "
    f"ProcCnt=4 WorkDir=/home/ann ReservationName= Tres=cpu=4,mem=8G,node=1 Account=physics QOS=normal WcKey= "
    f"Cluster=alpha SubmitTime=2024-03-01T08:0{number}:00 EligibleTime=2024-03-01T08:0{number}:00 DerivedExitCode=0:0 "
    "ExitCode=0:0\n"
    for number in range(3)
)


def _lsb_finish(number: int) -> str:
    """Returns a record of LSF 7.06: 22 fields, hosts, the status, what was used, and 30 fields more."""
    begin = 1_700_000_000 + 100 * number
    head = f'"JOB_FINISH" "7.06" {begin + 90} {number} 501 33554435 2 {begin} 0 0 {begin + 10} "ann" "short" "" "" "" '
    files = '"login1" "/home/ann" "" "out" "" "1.out" '
    hosts = '0 2 "host1" "host1" '
    status = '64 60.0 "job" "sleep 80" ' + " ".join(["0"] * 19)
    tail = ' "" "default" 0 2 "" "" 0 2048 4096 "" "" "" "" 0 "" 0 "" -1 "" "" "" "" -1 "" "" 0 "" 0 "" ""'
    return head + files + hosts + status + tail + " 0\n"


_LSB_ACCT = "".join(_lsb_finish(number) for number in range(1, 4))


def _lsb_events(number: int) -> str:
    """Returns the submission, the start and the end of a job in records of LSF 10.1."""
    begin = 1_700_000_000 + 100 * number
    new = (
        f'"JOB_NEW" "10.1" {begin} {number} 501 33554434 2 {begin} 0 0 -65535 0 0 "ann" {"-1 " * 9}3600 -1 "" 1.00 18 '
    )
    new += f'"short" "" "login1" "/home/ann" "" "" "" "" "/home/ann" "{begin}.{number}" 0 "" "" "job" "./run" 0 "" '
    new += '"physics" 2 "" "" "" "" "" 0 0 "" "" "" -1 -1 -1 0 "" "" -1 "" 0 -1 "" "" 1 1032 "0" 0 0'
    start = (
        f'"JOB_START" "10.1" {begin + 10} {number} 4 0 0 100.0 1 "2*host1" "" "" 0 "" 0 "" 3600 0 "" "" -1 "" -1 0 ""'
    )
    end = f'"JOB_STATUS" "10.1" {begin + 90} {number} 64 0 0 1.75 {begin + 90} 1 {"0 " * 19}0 0 0 0 2048 4096 "" -1'
    return f"{new}\n{start}\n{end}\n"


_LSB_EVENTS = "".join(_lsb_events(number) for number in range(1, 4))

_PBS = "".join(
    f"03/01/2024 08:0{number}:00;{kind};{400 + number}.server;user=ann group=staff jobname=run queue=batch "
    f"ctime={1_700_000_000 + number} qtime={1_700_000_000 + number} start=1700000060 end=1700000660 "
    "exec_host=n1/0*4+n2/0*4 Resource_List.ncpus=8 Resource_List.nodect=2 Resource_List.select=2:ncpus=4:mem=2gb "
    "Resource_List.walltime=01:00:00 Exit_status=0 resources_used.walltime=00:10:00\n"
    for number in range(3)
    for kind in ("S", "E")
)

_GRID_ENGINE = "# Version: 8.1.9\n" + "".join(
    f"all.q:n1:staff:ann:run:{500 + number}:sge:0:{1_700_000_000 + number}:1700000060:1700000660:0:0:600:1.5:0.5:"
    + "0:" * 15
    + "NONE:defaultdepartment:smp:4:0:590.5:7.3:0.0:-l h_rt=3600,mem_free=1G -pe smp 4:0.000000:NONE:1048576.0:0:0\n"
    for number in range(3)
)

_BATSIM = json.dumps(
    {
        "nb_res": 8,
        "jobs": [
            {"id": "w!1", "subtime": 0.0, "walltime": 60.0, "res": 4, "profile": "short"},
            {"id": "w!2", "subtime": 5.5, "res": 8, "profile": "both"},
        ],
        "profiles": {
            "short": {"type": "delay", "delay": 30.0},
            "both": {"type": "composed", "repeat": 2, "seq": ["short", "short"]},
        },
    },
    indent=1,
)

_PHILLY = json.dumps(
    [
        {
            "status": "Pass",
            "vc": "ee9e8c",
            "jobid": f"application_1_{number}",
            "attempts": [
                {
                    "start_time": f"2017-10-07 01:1{number}:00",
                    "end_time": f"2017-10-07 02:1{number}:00",
                    "detail": [{"ip": "m1", "gpus": ["gpu0", "gpu1"]}],
                }
            ],
            "submitted_time": f"2017-10-07 01:0{number}:00",
            "user": "ann",
        }
        for number in range(3)
    ],
    indent=1,
)

_PHILLY_CSV = """\
timestamp,duration,num_gpus,gpu_time,cluster
2017-10-03 02:00:00,600.0,4,2400.0,ee9e8c
2017-10-03 01:00:00,60.0,1,60.0,11cb48
"""

_HELIOS = """\
job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
1,u1,vc1,8,48,1,COMPLETED,2020-04-01 00:00:10,2020-04-01 00:00:20,2020-04-01 00:10:20,600,10
2,u2,vc1,0,4,1,FAILED,2020-04-01 00:01:00,2020-04-01 00:01:00,2020-04-01 00:02:00,60,0
3,u1,vc2,16,96,2,CANCELLED,2020-04-01 00:03:00,2020-04-01 01:03:00,2020-04-01 02:03:00,3600,3600
"""

_GPU_LIST = "job_id,arrival_s,service_sec,gpu_count\n{0}1#0,0,500,8\n{0}2#1,60,204,1\n{0}3#2,61,172800,16\n"

_PAI = """\
a1b2c3d4e5f6a1b2c3d4e5f6,worker,2,Terminated,1000.0,1600.0,600.0,29.3,50.0,T4
a1b2c3d4e5f6a1b2c3d4e5f6,ps,1,Terminated,1000.0,1600.0,400.0,10.0,,
f6e5d4c3b2a1f6e5d4c3b2a1,tensorflow,4,Failed,1300.0,1310.0,600.0,29.3,100.0,V100
"""

_OPENB = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
openb-pod-0000,12000,16384,1,1000,,LS,Running,0,600,5.0
openb-pod-0001,6000,12288,1,460,V100M16|V100M32,BE,Succeeded,10,900,20.0
openb-pod-0002,80000,65536,8,1000,,LS,Failed,15,5000,15.0
"""

_ALIBABA_2017 = "10,70,1,1,5,Terminated,100,0.01\n20,80,1,2,2,Failed,50,0.02\n30,300,2,3,9,Terminated,50,0.005\n"

_DLRM = """\
instance_sn,role,app_name,cpu_request,cpu_limit,gpu_request,gpu_limit,rdma_request,rdma_limit,memory_request,memory_limit,disk_request,disk_limit,max_instance_per_node,creation_time,scheduled_time,deletion_time
instance_0,HN,app_0,12,12,1,1,25,25,120.0,120.0,80.0,80.0,-1,100.0,110.0,5000.0
instance_1,CN,app_0,64,64,0,0,0,0,320.0,320.0,200.0,200.0,2,120.0,120.0,900.0
"""

_GOOGLE_2011 = """\
600000000,,3418309,0,,0,user1=,3,9,0.125,0.07446,0.0004244,0
600500000,,3418309,0,4155527081,1,user1=,3,9,0.125,0.07446,0.0004244,0
601000000,,3418309,1,,0,user1=,3,9,0.0625,0.03,0.0004,0
602000000,,3418309,1,4155527081,1,user1=,3,9,0.0625,0.03,0.0004,0
700500000,,3418309,0,4155527081,4,user1=,3,9,0.125,0.07446,0.0004244,0
900000000,,3418309,1,4155527081,3,user1=,3,9,0.0625,0.03,0.0004,0
"""

_GOOGLE_2019 = "".join(
    json.dumps(
        {
            "time": str(time_us),
            "type": str(kind),
            "collection_id": "377773",
            "scheduling_class": "2",
            "collection_type": "0",
            "priority": "200",
            "instance_index": str(index),
            "machine_id": "22" if kind == 3 else "0",
            "resource_request": {"cpus": 0.02, "memory": 0.01},
        }
    )
    + "\n"
    for index in (0, 1)
    for time_us, kind in ((10_000_000, 0), (12_000_000, 3), (72_000_000 + index, 6))
)

_RLTUNE = "\n".join(
    [
        "; MaxNodes: 36",
        "a1,100,-1,2612,1,-1,-1,-1,-1,29.296875,1,-1,-1,-1,0,-1,-1,-1,1",
        "a2,160,-1,60,8,-1,-1,-1,3600,-1,1,4,-1,-1,0,-1,-1,2,0",
        "",
    ]
)

_SWF = """\
; MaxProcs: 64
1 0 5 3600 8 -1 -1 8 7200 -1 1 1 1 -1 1 1 -1 -1
2 60 0 60 16 -1 -1 16 600 -1 0 2 1 -1 1 1 -1 -1
3 90 10 30 1 -1 -1 1 60 -1 5 1 1 -1 2 1 -1 -1
"""

_CSV = "job_id,submit_s,run_s,tasks,user\n1,0,60,4,ann\n2,10,600,2,bob\n"


def _parquet() -> bytes:
    buffer = io.BytesIO()
    pl.read_csv(_CSV.encode()).write_parquet(buffer)
    return buffer.getvalue()


SAMPLES: Final[dict[str, tuple[str, bytes]]] = {
    "sacct": ("sacct", _SACCT.encode()),
    "sacct-json": ("sacct-json", _SACCT_JSON.encode()),
    "jobcomp": ("jobcomp", _JOBCOMP.encode()),
    "lsb-acct": ("lsb-acct", _LSB_ACCT.encode()),
    "lsb-events": ("lsb-events", _LSB_EVENTS.encode()),
    "pbs": ("pbs", _PBS.encode()),
    "gridengine": ("gridengine", _GRID_ENGINE.encode()),
    "batsim": ("batsim", _BATSIM.encode()),
    "philly": ("philly", _PHILLY.encode()),
    "philly flat": ("philly", _PHILLY_CSV.encode()),
    "helios": ("helios", _HELIOS.encode()),
    "helios list": ("helios", _GPU_LIST.format("").encode()),
    "pai": ("pai", _PAI.encode()),
    "pai list": ("pai", _GPU_LIST.format("ali-").encode()),
    "openb": ("openb", _OPENB.encode()),
    "alibaba-2017": ("alibaba-2017", _ALIBABA_2017.encode()),
    "alibaba-dlrm": ("alibaba-dlrm", _DLRM.encode()),
    "google-2011": ("google-2011", _GOOGLE_2011.encode()),
    "google-2019": ("google-2019", _GOOGLE_2019.encode()),
    "rltune": ("rltune", _RLTUNE.encode()),
    "swf": ("swf", _SWF.encode()),
    "csv": ("csv", _CSV.encode()),
    "csv with semicolons": ("csv", _CSV.replace(",", ";").encode()),
    "parquet": ("parquet", _parquet()),
}
"""Each layout, with its format and its bytes."""
