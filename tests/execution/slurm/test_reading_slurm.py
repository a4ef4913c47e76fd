"""What other versions of Slurm print is read: JSON of an old and of a new version, and cells of our own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shunter.execution.operating.neighbor import Knob
from shunter.execution.operating.picture import picture_of
from shunter.execution.operating.site import Site, SiteError, State
from shunter.execution.slurm.json_reading import jobs_of_json, nodes_of_json
from shunter.execution.slurm.neighbor import Slurm
from shunter.execution.slurm.programs import Programs
from shunter.execution.slurm.text_reading import BETWEEN, JOB_CELLS, jobs_of_text, nodes_of_text
from shunter.execution.slurm.values import allocation_of, devices_of, tasks_text, whole
from tests.execution.operating.sites import waiting

NOW_S = 1_700_000_000.0


def number(value: int | None) -> dict[str, object]:
    """Returns a number as newer versions write it."""
    return {"set": value is not None, "infinite": False, "number": value or 0}


OLD_JOB = {
    "account": "optics", "admin_comment": "", "array_job_id": 0, "array_task_id": None, "array_task_string": "",
    "cpus": 3, "eligible_time": 1_699_990_000, "end_time": 1_701_000_000, "excluded_nodes": "",
    "features": "avx&!slow", "gres_detail": [], "het_job_id": 0, "job_id": 7001,
    "job_resources": {
        "nodes": "kt7", "allocated_cpus": 3, "allocated_hosts": 1,
        "allocated_nodes": {"0": {"sockets": {"1": "unassigned"}, "memory": 96_000, "cpus": 3}},
    },
    "job_state": "RUNNING", "max_nodes": 0, "name": "lens", "nice": None, "node_count": 1, "nodes": "kt7",
    "partition": "day,night", "priority": 431, "qos": "normal", "required_nodes": "", "resv_name": "",
    "start_time": 1_699_990_100, "state_reason": "None", "submit_time": 1_699_990_000, "tasks": 1, "time_limit": 20_160,
    "tres_alloc_str": "cpu=3,mem=96000M,node=1,billing=3", "tres_req_str": "cpu=3,mem=96000M,node=1,billing=3",
    "user_name": "ida",
}  # fmt: skip
"""As 21.08 writes a job."""
NEW_JOB = {
    **OLD_JOB, "array_job_id": number(7100), "array_task_id": number(None), "array_task_string": "0-9%2",
    "cpus": number(2), "eligible_time": number(0), "end_time": number(0), "het_job_id": number(0), "job_id": 7100,
    "job_resources": {}, "job_state": ["PENDING"], "max_nodes": number(0), "nice": 0, "node_count": number(1),
    "nodes": "", "partition": "night", "priority": number(512), "start_time": number(0),
    "state_reason": "Dependency", "submit_time": number(1_699_999_000), "tasks": number(2),
    "time_limit": number(90), "tres_alloc_str": "", "tres_req_str": "cpu=2,mem=8G,node=1,billing=2", "user_name": "jon",
}  # fmt: skip
"""As 24.05 writes an array of which no task runs yet."""
NODES = [
    {
        "name": f"kt{place}.lab.example", "cpus": 48, "real_memory": 384_000,
        "gres": "gpu:a100:2" if place == 7 else "", "partitions": ["night", "day"], "state": "mixed",
        "state_flags": ["DRAIN"] if place == 8 else [], "features": "", "weight": 1, "sockets": 2, "cores": 12,
    }
    for place in (7, 8)
]  # fmt: skip
"""As 21.08 writes nodes."""


def test_jobs_of_21_08_and_of_24_05_are_read() -> None:
    old, new = jobs_of_json(json.dumps({"meta": {}, "errors": [], "jobs": [OLD_JOB, NEW_JOB]}).encode(), NOW_S)
    assert (old.id, old.state, old.cores, old.memory_mb, old.requested_s) == (7001, State.RUNNING, 3, 96_000, 1_209_600)
    assert (old.allocation, old.start_s, old.array, old.partitions) == (
        (("kt7", 3),),
        1_699_990_100,
        None,
        ("day", "night"),
    )
    assert (new.id, new.state, new.cores, new.tasks, new.memory_mb) == (7100, State.PENDING, 2, 2, 8192)
    assert (new.array, new.address) == (7100, "7100_[0-9]"), "numbers may be objects there"
    assert (new.requested_s, new.priority, new.start_s, new.barrier) == (5400, 512, None, "Dependency")


def test_nodes_of_21_08_are_read_and_make_a_picture() -> None:
    nodes = nodes_of_json(json.dumps({"meta": {}, "errors": [], "nodes": NODES}).encode())
    assert [(node.name, node.cores, node.memory_mb, node.gpus, node.is_closed) for node in nodes] == [
        ("kt7.lab.example", 48, 384_000, 2, False),
        ("kt8.lab.example", 48, 384_000, 0, True),
    ]
    assert nodes[0].partitions == ("day", "night")
    jobs = jobs_of_json({"jobs": [OLD_JOB, NEW_JOB]}, NOW_S)
    picture = picture_of(Site(NOW_S, (*jobs, waiting(3)), tuple(nodes)), [])
    assert [picture.rows[row].job.id for row in picture.candidates] == [3]


def job_row(**cells: object) -> str:
    """Returns a line of squeue in our cells; what is not given is as for a job of one core that waits."""
    usual: dict[str, object] = dict.fromkeys(JOB_CELLS, "N/A") | {"state": "PENDING", "reason": "Priority", "cores": 1}
    usual |= {"submit": "2023-11-14T22:00:00", "limit": "1-02:00:00", "memory": "40000M", "partition": "day", "nice": 0}
    usual |= {"user": "ida", "nodes": 1, "priority": 7, "list": "", "account": "optics"}
    return BETWEEN.join(str({**usual, **cells}[name]) for name in JOB_CELLS)


def test_jobs_of_the_cells_are_read() -> None:
    unavailable = "ReqNodeNotAvail, UnavailableNodes:kt[7,9]"
    down = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
    ran = {"state": "RUNNING", "reason": "None", "start": "2023-11-14T22:01:00"}
    rows = [
        job_row(id=11, memory="128G", list="kt7", **ran),
        job_row(id=12, memory="62.50G", cores=4, nodes=2, list="kt[7-8]", **ran),
        job_row(id=13, reason="Dependency"),
        job_row(id=14, reason=unavailable),
        job_row(id=15, reason=down, limit="UNLIMITED"),
        job_row(id=16, cores=24, memory="118G", nice=-3, limit="90:00"),
        job_row(id=18, array=17, task=4, partition="day,night"),
    ]
    jobs = jobs_of_text("\n".join(rows).encode(), NOW_S)
    assert [job.state for job in jobs] == [State.RUNNING] * 2 + [State.PENDING] * 5
    assert [job.barrier for job in jobs[2:]] == ["Dependency", "", "", "", ""]
    assert (jobs[0].memory_mb, jobs[1].memory_mb, jobs[5].cores, jobs[5].nice) == (131_072, 128_000, 24, -3)
    assert (jobs[0].allocation, jobs[1].allocation) == ((("kt7", 1),), (("kt7", 2), ("kt8", 2)))
    assert [job.requested_s for job in jobs[3:6]] == [93_600, None, 5400]
    assert (jobs[6].address, jobs[6].partitions) == ("17_[4]", ("day", "night"))
    with pytest.raises(SiteError, match="expected 21 cells"):
        jobs_of_text(b"11 day lens ida R 1:00 1 kt7", NOW_S)


def test_nodes_of_the_cells_are_read() -> None:
    rows = [
        ("kt7", 48, 384_000, "(null)", "day*", "mixed"),
        ("kt7", 48, 384_000, "(null)", "night", "mixed"),
        ("kt8", 48, 384_000, "(null)", "day*", "completing"),
        ("kt9", 64, 1, "gpu:a100:2(S:0)", "gpu", "idle*"),
    ]
    text = "\n".join(BETWEEN.join(map(str, row)) for row in rows)
    nodes = {node.name: node for node in nodes_of_text(text.encode())}
    assert [(node.cores, node.memory_mb) for node in nodes.values()] == [(48, 384_000), (48, 384_000), (64, None)]
    assert nodes["kt7"].partitions == ("day", "night")
    assert (nodes["kt9"].gpus, nodes["kt9"].gpu_type, nodes["kt9"].is_closed) == (2, "a100", True)
    assert not nodes["kt7"].is_closed


def test_the_cores_of_each_node_are_found_where_a_version_tells_them() -> None:
    newest = {"nodes": "n[1-2]", "job_resources": {"nodes": {"allocation": [
        {"name": "n1", "cpus": {"count": 6}}, {"name": "n2", "cpus": {"count": 2}}]}}}  # fmt: skip
    assert allocation_of(newest, 8) == (("n1", 6), ("n2", 2))
    assert allocation_of({"nodes": "n[1-3]"}, 8) == (("n1", 3), ("n2", 3), ("n3", 2)), "evenly where nobody tells"
    assert devices_of(["gpu:a100:2(IDX:0,3)", "gpu:1(IDX:2-2)"], ["n1", "n2"]) == {"n1": [0, 3], "n2": [2]}
    assert devices_of(["gpu:2"], ["n1"]) is None
    assert [whole(value) for value in ({"set": False, "number": 3}, {"infinite": True}, {"number": 3}, True)] == [
        *(None, None, 3, None)
    ]


def test_an_array_is_never_named_as_a_whole() -> None:
    told = {"job_state": "PENDING", "priority": 5, "eligible_time": 1, "submit_time": 1, "state_reason": "None"}
    rows: list[dict[str, object]] = [
        {"job_id": 6, "array_job_id": 6, "array_task_string": "1-3,7%2"},
        {"job_id": 6, "array_job_id": 6, "array_task_id": 2},
        {"job_id": 10, "array_job_id": 6, "array_task_id": 1},
        {"job_id": 6, "array_job_id": 6, "array_task_string": "1-3,..."},
        {"job_id": 6, "array_job_id": 6},
        {"job_id": 7},
    ]
    jobs = jobs_of_json(json.dumps({"jobs": [{**told, **row} for row in rows]}).encode(), NOW_S)
    assert [job.address for job in jobs] == ["6_[1-3,7]", "6_2", "6_1", "", "", "7"]
    assert [bool(job.barrier) for job in jobs] == [False, False, False, True, True, False]
    with pytest.raises(SiteError, match="cannot be named"):
        Slurm(Programs()).commands(jobs[3], Knob.SITE_FACTOR, 5, None)
    assert tasks_text("1-5:2%3") == "1-5:2"
    assert tasks_text("1;rm") is None


def test_what_a_user_writes_is_never_a_word_of_a_command(tmp_path: Path) -> None:
    evil = waiting(5, user="$(reboot)", partitions=("main; reboot",), mark="x y", account="`id`")
    neighbor = Slurm(Programs())
    for knob, value in ((Knob.SITE_FACTOR, 5), (Knob.NICE, -5), (Knob.NODES, "n1"), (Knob.HOLD, 1)):
        for words in neighbor.commands(evil, knob, value, "shunter"):
            assert all(word.replace("=", "").replace("-", "").isalnum() for word in words), words
    for nodes in ("n1 n2", "ALL;", "n[1-3]", "../x", "-n1"):
        with pytest.raises(SiteError, match="is no value"):
            neighbor.commands(evil, Knob.NODES, nodes, None)
