"""What other versions of Slurm print is read: recorded samples, and cells of our own."""

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
from shunter.execution.slurm.text_reading import BETWEEN, JOB_CELLS, NODE_CELLS, jobs_of_text, nodes_of_text
from shunter.execution.slurm.values import allocation_of, devices_of, tasks_text, whole
from tests.execution.operating.sites import waiting
from tests.support import trace

NOW_S = 1_700_000_000.0


def test_jobs_of_21_08_and_of_24_05_are_read() -> None:
    old, new = jobs_of_json(trace("slurm/json/rivos_squeue_out.json").read_bytes(), NOW_S)
    assert (old.id, old.state, old.cores, old.memory_mb, old.requested_s) == (
        26515966,
        State.RUNNING,
        1,
        64000,
        1814400,
    )
    assert old.allocation == (("cs75", 1),)
    assert new.array == 58948420, "numbers may be objects there"
    assert new.state in (State.RUNNING, State.PENDING)


def test_nodes_of_21_08_are_read_and_make_a_picture() -> None:
    nodes = nodes_of_json(trace("slurm/json/rivos_sinfo_out.json").read_bytes())
    assert {node.cores for node in nodes} == {64}
    assert nodes[0].name == "cs2.example.company.com"
    jobs = jobs_of_json(trace("slurm/json/rivos_squeue_out.json").read_bytes(), NOW_S)
    picture = picture_of(Site(NOW_S, (*jobs, waiting(3)), tuple(nodes)), [])
    assert [picture.rows[row].job.id for row in picture.candidates][-1:] == [3]


def test_cells_of_the_recorded_texts_are_read() -> None:
    """The samples are in a format of their own; their values are put into our cells."""
    rows = []
    for line in trace("slurm/json/rivos_squeue_fallback.txt").read_text().splitlines():
        try:
            one = json.loads(line)
        except ValueError:
            continue
        nodes = one["r"] if one["state"] == "RUNNING" else ""
        told = {"id": one["id"], "state": one["state"], "reason": one["r"], "cores": one["cpu"], "memory": one["mem"]}
        told |= {"partition": one["p"], "account": one["a"], "list": nodes, "priority": 7, "task": one["array_id"]}
        told |= {"start": "2023-09-20T00:00:00", "submit": "2023-09-19T00:00:00", "limit": "1-02:00:00", "nice": "-3"}
        rows.append(BETWEEN.join(str(told.get(name, "N/A")) for name in JOB_CELLS))
    jobs = jobs_of_text("\n".join(rows).encode(), NOW_S)
    assert len(jobs) == 6
    assert [job.state for job in jobs[:3]] == [State.RUNNING, State.RUNNING, State.PENDING]
    assert [job.barrier for job in jobs[2:]] == ["Dependency", "", "", ""]
    assert (jobs[1].memory_mb, jobs[1].requested_s, jobs[1].allocation) == (64000, 93600, (("cs10", 1),))
    assert jobs[5].nice == -3


def test_nodes_of_the_recorded_texts_are_read() -> None:
    rows = []
    for line in trace("slurm/json/rivos_sinfo_fallback.txt").read_text().splitlines():
        one = json.loads(line)
        told = {"name": one["n"], "cores": one["cstate"].split("/")[-1], "memory": one["mem"], "gres": "(null)"}
        told |= {"partition": one["p"], "state": one["s"]}
        rows.append(BETWEEN.join(str(told[name]) for name in NODE_CELLS))
    rows.append(BETWEEN.join(["dead", "4", "1000", "gpu:a100:2(S:0)", "hw*", "idle*"]))
    nodes = {node.name: node for node in nodes_of_text("\n".join(rows).encode())}
    assert len(nodes) == 5
    assert nodes["cs25"].partitions == ("cdn", "hw", "hw-h", "hw-l", "hw-m")
    assert (nodes["dead"].gpus, nodes["dead"].gpu_type, nodes["dead"].is_closed) == (2, "a100", True)
    assert not nodes["cs31"].is_closed


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
