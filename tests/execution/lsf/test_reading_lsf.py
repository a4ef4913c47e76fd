"""What LSF's programs print is read, whatever the form: forms that sites use, the emulation's, and damaged texts."""

from __future__ import annotations

import json
import random
import time
from datetime import datetime

import pytest

from shunter.execution.lsf.machine import Machine, machine_of
from shunter.execution.lsf.reading import Texts, admins_of, aps_of, jobs_of, site_of
from shunter.execution.lsf.records import host_records
from shunter.execution.lsf.values import (
    barrier_of,
    devices_of,
    id_of,
    memory_mb,
    run_limit_s,
    seconds,
    slots_of,
    time_s,
)
from shunter.execution.operating.judge import verdict_of
from shunter.execution.operating.picture import picture_of
from shunter.execution.operating.site import SiteError, State
from shunter.policies.scheduler import resolve_scheduler
from tests.execution.lsf.emulation import EmulatedLsf

NOW_S = datetime(2027, 1, 8, 15, 0).timestamp()
HOSTS = b"HOST_NAME          STATUS       JL/U    MAX  NJOBS    RUN  SSUSP  USUSP    RSV\nn1 ok - 8 0 0 0 0 0\n"


def bjobs(*records: dict[str, str]) -> bytes:
    """Returns jobs as bjobs prints them."""
    return json.dumps({"COMMAND": "bjobs", "JOBS": len(records), "RECORDS": records}).encode()


def test_times_have_the_year_that_they_leave_out() -> None:
    assert time_s("Apr 12 18:10:00 2026", NOW_S) == datetime(2026, 4, 12, 18, 10).timestamp()
    assert time_s("Apr 12 22:27:01 2026 L", NOW_S) == datetime(2026, 4, 12, 22, 27, 1).timestamp()
    assert time_s("Jan  7 09:59 L", NOW_S) == datetime(2027, 1, 7, 9, 59).timestamp()
    assert time_s("Dec 28 19:56", NOW_S) == datetime(2026, 12, 28, 19, 56).timestamp()
    assert time_s("Jan  8 15:01 E", NOW_S) == datetime(2027, 1, 8, 15, 1).timestamp(), "clocks differ a little"
    assert time_s("Feb 29 10:00 X", NOW_S) == datetime(2024, 2, 29, 10).timestamp()
    assert [time_s(text, NOW_S) for text in ("", "-", "Feb 30 10:00 2026", "Foo 3 10:00", "2026-04-12")] == [None] * 5


def test_amounts_hosts_and_devices_are_read_in_all_their_forms() -> None:
    assert [memory_mb(text) for text in ("9 Mbytes", "5.2 Gbytes", "522 MBytes", "4G", "2048", "", "many")] == [
        *(9, 5.2 * 1024, 522, 4096, 2048, None, None)
    ]
    assert [run_limit_s(text) for text in ("1440.0", "00:10:00", "1:30", "60.0/hostA", "", "0.0")] == [
        *(86_400, 600, 5400, 3600, None, None)
    ]
    assert [seconds(text) for text in ("34 second(s)", "00:01:30", "7", "")] == [34, 90, 7, None]
    assert slots_of("n1:n1:n2") == (("n1", 2), ("n2", 1))
    assert slots_of("4*h1:2*h2") == (("h1", 4), ("h2", 2))
    assert slots_of("16*h1@other h2") == (("h1", 16), ("h2", 1))
    assert devices_of("n1:0,1;n2:0,1") == {"n1": [0, 1], "n2": [0, 1]}
    assert devices_of("n1:all") is None


def test_ids_name_one_job_and_never_an_array() -> None:
    assert id_of("123") == (123, "123", None)
    assert id_of("123[4]") == id_of("123", "4") == id_of("123", "", "name[4]") == (123 + (4 << 32), "123[4]", 123)
    assert id_of("123", "0", "name") == (123, "123", None)
    for cell, index in (("0", ""), ("12;", ""), ("12[1-3]", ""), ("-12", ""), ("12[0]", ""), ("12", "x"), ("", "")):
        with pytest.raises(SiteError, match="id"):
            id_of(cell, index)


@pytest.mark.parametrize(
    ("reason", "barrier"),
    [
        ("", ""),
        ("New job is waiting for scheduling;", ""),
        ("Not enough job slot(s): 3 hosts;", ""),
        ("Job slot limit reached: 2 hosts; Closed by LSF administrator: 1 host;", ""),
        ("Job's requirements for resource reservation not satisfied: 4 hosts;", ""),
        ("There are no suitable hosts for the job;", ""),
        ("Not specified in job submission: 2 hosts; Not usable to the queue: 1 host;", ""),
        ("Not specified in job submission;", ""),
        ("Job dependency condition not satisfied;", "Job dependency condition not satisfied"),
        ("The user has reached his/her job slot limit;", "The user has reached his/her job slot limit"),
        ("The queue has reached its job slot limit;", "The queue has reached its job slot limit"),
        ("Not enough job slot(s); The job's start time is not reached;", "The job's start time is not reached"),
        ("Something that nobody foresaw;", "Something that nobody foresaw"),
    ],
)
def test_reasons_other_than_room_and_turn_keep_a_job_back(reason: str, barrier: str) -> None:
    assert barrier_of(reason) == barrier


def test_jobs_that_other_tools_ask_for_are_read() -> None:
    """With the columns that these need: few, or nearly all, and some of them empty."""
    whole = {
        "JOBID": "9101", "JOB_NAME": "sort -n", "STAT": "DONE", "USER": "ida", "QUEUE": "brief", "JOB_DESCRIPTION": "",
        "PROJ_NAME": "default", "JOB_PRIORITY": "", "PIDS": "71,72", "EXIT_CODE": "", "FROM_HOST": "door1",
        "EXEC_HOST": "m4:m4", "SUBMIT_TIME": "Dec 27 18:40", "START_TIME": "Dec 27 18:41",
        "FINISH_TIME": "Dec 27 18:42 L", "CPU_USED": "00:00:02", "RUN_TIME": "00:01:00", "SWAP": "0 Mbytes",
        "MAX_MEM": "3.5 Gbytes", "RUNTIMELIMIT": "00:15:00", "PEND_REASON": "", "SLOTS": "2",
        "EFFECTIVE_RESREQ": "select[type == local] order[r15s:pg] ", "DEPENDENCY": "done(9100)",
    }  # fmt: skip
    ended_s = datetime(2026, 12, 27, 18, 42).timestamp()

    def read(*records: dict[str, str]) -> list[list[object]]:
        jobs = jobs_of(bjobs(*records), Machine(), NOW_S)
        return [[job.id, job.state, job.status, job.requested_s, job.end_s] for job in jobs]

    assert read(whole) == [[9101, State.ENDED, "completed", 900, ended_s]]
    assert read({**whole, "EXEC_HOST": "m4", "MAX_MEM": "700 MBytes"})[0][:3] == [9101, State.ENDED, "completed"]
    assert read({"JOBID": "9101"}) == [[9101, State.OTHER, "", None, None]]
    few = [{"JOBID": str(id), "STAT": stat, "FINISH_TIME": "Jan  6 08:30 L"} for id, stat in ((1, "EXIT"), (2, "DONE"))]
    assert [job[2] for job in read(*few)] == ["failed", "completed"]
    # It runs, but where is not said: nothing is known to be taken by it.
    runs = {"JOBID": "9200", "STAT": "RUN", "QUEUE": "batch", "NREQ_SLOT": "40", "RUNTIMELIMIT": "1440.0"}
    assert read({**runs, "RUN_TIME": "9000 second(s)"}) == [[9200, State.OTHER, "", 86_400, None]]
    with pytest.raises(SiteError, match="without JOBID"):
        read({"STAT": "PSUSP", "USER": "ida", "SUBMIT_TIME": "May 28 12:45"})


def test_hosts_are_read_in_all_their_forms() -> None:
    record = {"HOST_NAME": "m4", "STATUS": "closed_Full", "MAX": "4", "NJOBS": "4", "RUN": "4", "RSV": "0"}
    full = json.dumps({"COMMAND": "bhosts", "HOSTS": 1, "RECORDS": [record]}, indent=4).encode()
    assert host_records(full)[0]["STATUS"] == "closed_Full"
    [node] = machine_of(full).nodes
    assert (node.name, node.cores, node.is_closed) == ("m4", 4, False)
    states = {"g1": ("ok", 24), "g2": ("closed_Adm", 24), "g3": ("unavail", 24), "c1": ("closed_Full", 64)}
    slots = "HOST_NAME  STATUS  JL/U  MAX  NJOBS  RUN  SSUSP  USUSP  RSV\n"
    slots += "".join(f"{name} {status} - {most} 0 0 0 0 0\n" for name, (status, most) in states.items())
    lists = "HOST_NAME type model cpuf ncpus maxmem maxswp server RESOURCES\n"
    lists += "".join(f"{name} X86_64 Xeon_Gold 50.0 {most} 256G 8G Yes (mg)\n" for name, (_, most) in states.items())
    devices = (("g1", 0, "A30"), ("g1", 1, "A30"), ("g2", 0, "A30"), ("g3", 0, "T4"))
    gpus = "HOST_NAME  GPU_ID  MODEL  MUSED  MRSV  NJOBS  RUN  SUSP  RSV\n"
    gpus += "".join(f"{name} {place} {model} 0M 0M 0 0 0 0\n" for name, place, model in devices)
    nodes = machine_of(slots.encode(), lists=lists.encode(), gpus=gpus.encode()).nodes
    assert [(node.name, node.cores, node.memory_mb, node.gpus, node.gpu_type, node.is_closed) for node in nodes] == [
        ("g1", 24, 262_144, 2, "A30", False),
        ("g2", 24, 262_144, 1, "A30", True),
        ("g3", 24, 262_144, 1, "T4", True),
        ("c1", 64, 262_144, 0, None, False),
    ]


def test_a_job_of_the_manuals_kind_is_read_whole() -> None:
    record = {
        "JOBID": "321", "STAT": "RUN", "QUEUE": "interactive", "USER": "ann", "ALLOC_SLOT": "n1:n1:n2",
        "SUBMIT_TIME": "Jan  8 14:00:00 2027", "START_TIME": "Jan  8 14:59:26 2027", "RUN_TIME": "34 second(s)",
        "FINISH_TIME": "Jan  9 14:59:26 2027 L", "GPU_NUM": "3", "GPU_ALLOC": "n1:0,1;n2:0", "MEM": "9 Mbytes",
        "MEMLIMIT": "", "RUNTIMELIMIT": "1440.0", "COMBINED_RESREQ": "select[type == local] rusage[mem=100.00]",
    }  # fmt: skip
    [job] = jobs_of(bjobs(record), Machine(), NOW_S)
    assert (job.state, job.cores, job.nodes, job.allocation) == (State.RUNNING, 3, 2, (("n1", 2), ("n2", 1)))
    assert (job.start_s, job.end_s, job.requested_s) == (NOW_S - 34, None, 86_400)
    assert (job.gpus, job.devices, job.memory_mb) == (3, {"n1": [0, 1], "n2": [0]}, 200), "more than it uses"
    [hungry] = jobs_of(bjobs({**record, "MEM": "5.2 Gbytes"}), Machine(), NOW_S)
    assert hungry.memory_mb == 5.2 * 1024
    [waits] = jobs_of(bjobs({"JOBID": "5", "STAT": "PEND", "MEMLIMIT": "4 Gbytes"}), Machine(), NOW_S)
    assert waits.memory_mb is None, "a limit reserves nothing"


def test_rounded_times_never_let_a_job_start_before_it_came() -> None:
    told = {"SUBMIT_TIME": "Jan  8 14:59", "START_TIME": "Jan  8 14:59", "EXEC_HOST": "n1"}
    runs = {"JOBID": "1", "STAT": "RUN", "RUN_TIME": "61 second(s)", **told}
    done = {"JOBID": "2", "STAT": "DONE", "RUN_TIME": "59 second(s)", "FINISH_TIME": "Jan  8 14:59", **told}
    running, ended = jobs_of(bjobs(runs, done), Machine(), NOW_S)
    assert running.start_s == running.submit_s == NOW_S - 60
    assert ended.start_s == ended.submit_s


def test_absolute_priorities_and_what_was_added_to_them_are_read() -> None:
    text = b"""JOBID USER STAT QUEUE FROM_HOST EXEC_HOST JOB_NAME SUBMIT_TIME APS
313   user1  PEND   owners hostA     my job 7 Feb 12 01:09    (10)
321   user1  PEND   owners hostA     myjob  Feb 12 01:09      -
314   user1  PEND   normal hostA     myjob  Feb 12 01:08 109.00
315   user1  PEND   normal hostA     x[2] y[3]  Feb 12 01:08  99.50
"""
    assert aps_of(text) == {313: float("inf"), 314: 109.0, 315 + (3 << 32): 99.5}
    assert aps_of(b"") == {}
    long = b"""
Job <313>, User <user1>, Project <default>, Status <PEND>, Queue <normal>, Command <x>, System Absolute Priority <10>
------------------------------------------------------------------------------

Job <314>, User <user1>, Project <default>, Status <PEND>, Queue <normal>, Com
                     mand <myjob -a "Admin factor value <3>">, Admin factor va
                     lue <10>
------------------------------------------------------------------------------

Job <315[3]>, User <user1>, Project <default>, Status <PEND>, Queue <normal>, Command <a>, Admin factor value <2.50>
Job <316>, User <user1>, Project <default>, Status <PEND>, Queue <normal>, Command <a>
Job <317>, User <user1>, Project <default>, Status <RUN>, Queue <normal>, Command <a>, Admin factor value <4>
Job <318>, User <user1>, Status <PEND>, Command <a
Job <316>, User <user1>, Project <default>, Status <PEND>, Command <a>, Admin factor value <4>
"""
    assert admins_of(long) == {313: "system=10", 314: 10, 315 + (3 << 32): "2.50", 316: None, 318: 0}


def test_queues_in_one_group_are_one_line() -> None:
    jobs = [
        {"JOBID": str(id), "STAT": "PEND", "QUEUE": queue, "SUBMIT_TIME": "Jan  8 14:00:00 2027", "NREQ_SLOT": "1"}
        for id, queue in ((1, "short"), (2, "normal"), (3, "other"))
    ]
    queues = b"""QUEUE: normal
PRIO NICE STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   RUN SSUSP USUSP  RSV
 30    0  Open:Active       -    -    -    -     0     0     0     0     0    0

SCHEDULING POLICIES:  APS_PRIORITY  FAIRSHARE
QUEUE_GROUP:  short
HOSTS:  all

QUEUE: short
PRIO NICE STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   RUN SSUSP USUSP  RSV
 30    0  Closed:Active     -    -    -    -     0     0     0     0     0    0
HOSTS:  nowhere/

QUEUE: other
PRIO NICE STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   RUN SSUSP USUSP  RSV
 40    0  Open:Inact_Win    -    -    -    -     0     0     0     0     0    0
HOSTS:  n1
"""
    states = b"""QUEUE_NAME      PRIO STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   RUN  SUSP
normal            30  Open:Active       -    -    -    -     0     0     0     0
short             30  Closed:Active     -    -    -    -     0     0     0     0
other             40  Open:Inact_Win    -    -    -    -     0     0     0     0
"""
    aps = b"1 a PEND short h x Jan 8 14:00 12.00\n2 a PEND normal h x Jan 8 14:00 13.00\n"
    site = site_of(Texts(bjobs(*jobs), HOSTS, states, queues, aps=aps), NOW_S)
    assert [job.id for job in site.candidates] == [2, 1]
    assert {job.line for job in site.candidates} == {"normal short"}
    assert site.jobs[2].barrier == "the queue is inactive (Open:Inact_Win)"
    assert site.nodes[0].partitions == ("normal", "other", "short"), "hosts that nobody can name are all of them"
    assert site.tiers == {"normal": 30, "short": 30, "other": 40}


def test_texts_alone_make_a_decision() -> None:
    waits = {"STAT": "PEND", "QUEUE": "normal", "SUBMIT_TIME": "Jan  8 14:00", "NREQ_SLOT": "8"}
    jobs = bjobs(
        {"JOBID": "7", "RUNTIMELIMIT": "60.0", **waits}, {"JOBID": "8", "RUNTIMELIMIT": "5.0", **waits},
        {"JOBID": "9", "RUNTIMELIMIT": "1.0", **waits, "PEND_REASON": "Job dependency condition not satisfied;"},
    )  # fmt: skip
    picture = picture_of(site_of(Texts(jobs, HOSTS), NOW_S), [])
    verdict = verdict_of(picture, resolve_scheduler(policy="sjf"))
    assert verdict.order == (8, 7)
    assert verdict.starts == {8: ("n1",)}


def test_every_program_of_the_emulation_is_read_in_both_forms(lsf: EmulatedLsf) -> None:
    lsf.submit("-n", "6")
    lsf.submit("-gpu", "num=2", "-n", "2", "-R", "rusage[mem=500]")
    lsf.submit("-H", queue="plain")
    fixed = {"lists": ("lshosts", "-w"), "gpus": ("lshosts", "-gpu"), "groups": ("bmgroup",)}
    static = {name: lsf.run(*words).encode() for name, words in fixed.items()}
    fields = "jobid stat user queue proj_name slots min_req_proc run_time submit_time start_time specified_start_time"
    fields += " finish_time exec_host mem runtimelimit effective_resreq job_priority pend_reason job_name"
    found = []
    for shows_year in (True, False):
        lsf.set(shows_year=shows_year)
        for form in ("json", "text"):
            ask = (f"{fields} gpu_alloc", "-json") if form == "json" else (f"{fields} delimiter='^'",)
            hosts = ("-o", "host_name status max njobs", "-json") if form == "json" else ("-w",)
            queues = ("-o", "queue_name priority status", "-json") if form == "json" else ("-w",)
            texts = Texts(
                lsf.run("bjobs", "-u", "all", "-o", *ask).encode(),
                lsf.run("bhosts", *hosts).encode(),
                lsf.run("bqueues", *queues).encode(),
                lsf.run("bqueues", "-l").encode(),
                **static,
            )
            found.append(site_of(texts, time.time()))
    for site in found:
        assert [(node.name, node.cores, node.gpus, node.is_closed) for node in site.nodes] == [
            ("host1", 4, 0, False), ("host2", 4, 0, False), ("host3", 4, 2, False)
        ]  # fmt: skip
        assert [job.state for job in site.jobs] == [State.RUNNING, State.RUNNING, State.PENDING]
        assert site.jobs[0].allocation == (("host1", 4), ("host2", 2))
        assert (site.jobs[1].gpus, site.jobs[1].memory_mb) == (2, 500)
        assert site.jobs[2].barrier.startswith("The job was suspended")
        assert abs(site.jobs[0].submit_s - found[0].jobs[0].submit_s) < 60


@pytest.mark.slow
def test_damaged_texts_are_refused_as_a_whole(lsf: EmulatedLsf) -> None:
    lsf.submit("-n", "6")
    lsf.submit("-gpu", "num=2", "-J", "a[1-2]")
    said = {
        "jobs": lsf.run(
            "bjobs", "-u", "all", "-o", "jobid jobindex stat queue alloc_slot gpu_alloc nreq_slot", "-json"
        ),
        "hosts": lsf.run("bhosts", "-w"),
        "queues": lsf.run("bqueues", "-w"),
        "long_queues": lsf.run("bqueues", "-l"),
        "lists": lsf.run("lshosts", "-w"),
        "gpus": lsf.run("lshosts", "-gpu"),
    }
    draw = random.Random(1)
    outcomes = {"read": 0, "refused": 0}
    for _ in range(400):
        texts = {name: text.encode() for name, text in said.items()}
        name = draw.choice(list(texts))
        at, length = draw.randrange(len(texts[name])), draw.randrange(1, 40)
        put = bytes(draw.choice(b'0123456789[]{}":*,;-^ \n\xff') for _ in range(draw.randrange(12)))
        texts[name] = texts[name][:at] + put + texts[name][at + length :]
        try:
            picture_of(site_of(Texts(**texts), time.time()), [])
            outcomes["read"] += 1
        except SiteError:
            outcomes["refused"] += 1
    assert min(outcomes.values()) > 20, outcomes


def test_slots_that_no_job_explains_are_not_free() -> None:
    hosts = HOSTS.replace(b"n1 ok - 8 0 0", b"n1 ok - 8 5 5") + b"n2 ok - 2 2 0 0 0 2\n"
    runs = {"JOBID": "1", "STAT": "RUN", "QUEUE": "q", "EXEC_HOST": "2*n1", "RUN_TIME": "9 second(s)"}
    site = site_of(Texts(bjobs(runs), hosts), NOW_S)
    assert [(node.name, node.cores, node.is_closed) for node in site.nodes] == [("n1", 5, False), ("n2", 1, True)]
