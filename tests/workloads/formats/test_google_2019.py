"""Google 2019: instance_events as JSON lines and CSV, and the export that joins them with usage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.workloads import read_workload
from tests.support import trace
from tests.workloads.formats.published_logs import job, quantiles, read_text, rules

EVENTS = [
    # time, type, collection, index, class, priority, cpus, memory
    (600_000_000, 0, 400, 0, 2, 103, 0.05, 0.01),
    (700_000_000, 6, 400, 0, 2, 103, 0.05, 0.01),
    (600_500_000, 1, 400, 0, 2, 103, 0.05, 0.01),
    (600_600_000, 2, 400, 0, 2, 103, 0.05, 0.01),
    (601_000_000, 3, 400, 0, 2, 103, 0.05, 0.01),
    (602_000_000, 0, 400, 1, 2, 103, 0.05, 0.01),
    (603_000_000, 3, 400, 1, 2, 103, 0.0625, 0.01),
    (605_000_000, 10, 400, 1, 2, 103, 0.5, 0.5),
    (613_000_000, 4, 400, 1, 2, 103, 0.0625, 0.01),
    (613_000_000, 0, 400, 1, 2, 103, 0.0625, 0.01),
    (620_000_000, 3, 400, 1, 2, 103, 0.0625, 0.01),
    (640_000_000, 5, 400, 1, 2, 103, 0.0625, 0.01),
    (650_000_000, 0, 401, 7, 0, 450, 0.0, 0.125),
    (650_000_000, 3, 401, 7, 0, 450, 0.0, 0.125),
    (651_000_000, 7, 401, 7, 0, 450, 0.0, 0.125),
    (660_000_000, 0, 402, 0, 1, 25, 1.0, 1.0),
    (661_000_000, 3, 402, 0, 1, 25, 1.0, 1.0),
    (670_000_000, 8, 402, 0, 1, 25, 1.0, 1.0),
]
"""Unsorted, as exports are."""

EXPECTED = [
    job(
        "400/0", 600.0, 99.0, cores_per_task=5.0, memory_mb_per_task=1000.0, queue="2", status="completed",
        priority=103.0, logged_wait_s=1.0,
    ),
    job(
        "400/1", 602.0, 10.0, cores_per_task=6.25, memory_mb_per_task=1000.0, queue="2", status="preempted",
        priority=103.0, logged_wait_s=1.0,
    ),
    job(
        "400/1#2", 613.0, 20.0, cores_per_task=6.25, memory_mb_per_task=1000.0, queue="2", status="failed",
        priority=103.0, logged_wait_s=7.0,
    ),
    job(
        "401/7", 650.0, 1.0, cores_per_task=0.0, memory_mb_per_task=12_500.0, queue="0", status="cancelled",
        priority=450.0, logged_wait_s=0.0,
    ),
    job(
        "402/0", 660.0, 9.0, cores_per_task=100.0, memory_mb_per_task=100_000.0, queue="1", status="node_fail",
        priority=25.0, logged_wait_s=1.0,
    ),
]  # fmt: skip


def as_json(event: tuple[float, ...], **others: object) -> str:
    """Returns an event as the database exports it: whole numbers are text, and what is null is left out."""
    time_us, kind, collection, index, scheduling_class, priority, cpus, memory = event
    whole = {"time": time_us, "type": kind, "collection_id": collection, "scheduling_class": scheduling_class}
    whole |= {"collection_type": 0, "priority": priority, "alloc_collection_id": 0, "instance_index": index}
    record = {"resource_request": {"cpus": cpus, "memory": memory}, "constraint": []}
    return json.dumps({name: str(value) for name, value in whole.items()} | record | others) + "\n"


JSON_LINES = "".join(as_json(event) for event in EVENTS)
JOINED_HEADER = (
    ",time,instance_events_type,collection_id,scheduling_class,collection_type,priority,instance_index,"
    "resource_request,user,start_time,end_time,cpu_usage_distribution,event\n"
)


def joined(event: tuple[float, ...], window: str = ",", user: str = "hash=", collection_type: int = 0) -> str:
    """Returns a row of the export, with a distribution over two lines, and a text that says something else."""
    time_us, kind, collection, index, scheduling_class, priority, cpus, memory = event
    request = f"\"{{'cpus': {cpus}, 'memory': {memory}}}\""
    return (
        f"7,{time_us},{kind},{collection},{scheduling_class}.0,{collection_type},{priority},{index},"
        f'{request},{user},{window},"[0.1 0.2\n 0.3]",FAIL\n'
    )


def test_five_attempts_of_json_lines(tmp_path: Path) -> None:
    workload = read_text(tmp_path, JSON_LINES, strict=True)
    assert workload.jobs.to_dicts() == EXPECTED
    assert workload.format == "google-2019"
    assert "machine_events" in (workload.cluster_note or "")


def test_five_attempts_of_a_json_list(tmp_path: Path) -> None:
    assert read_text(tmp_path, f"[{JSON_LINES.strip()}]".replace("\n", ",\n")).jobs.to_dicts() == EXPECTED


def test_five_attempts_of_a_table_with_columns_for_the_parts_of_the_request(tmp_path: Path) -> None:
    header = "time,type,collection_id,instance_index,scheduling_class,priority,cpus,memory\n"
    text = header + "".join(",".join(str(value) for value in event) + "\n" for event in EVENTS)
    assert read_text(tmp_path, text, strict=True).jobs.to_dicts() == EXPECTED


def test_five_attempts_of_a_joined_export(tmp_path: Path) -> None:
    # Each event stands twice, once for each measurement; what was measured does not count where the events tell all.
    rows = [joined(event, window) for event in EVENTS for window in ("5000000,6000000", ",")]
    workload = read_text(tmp_path, JOINED_HEADER + "".join(rows), strict=True)
    assert workload.jobs.to_dicts() == [row | {"user": "hash="} for row in EXPECTED]


def test_instances_without_both_events_run_as_long_as_they_were_measured(tmp_path: Path) -> None:
    rows = [joined(event) for event in EVENTS[-3:]]
    rows.append(joined((0, 3, 500, 1, 2, 200, 0.25, 0.5), "900000000,1200000000", user="other="))
    rows.append(joined((0, 2, 500, 1, 2, 200, 0.25, 0.5), "300000000,600000000", user="other="))
    rows.append(joined((400_000_000, 6, 500, 2, 2, 200, "None", "None"), "100000000,100500000", user=""))  # type: ignore[arg-type]
    rows.append(joined((400_000_000, 6, 500, 3, 2, 200, 0.1, 0.1)))
    text = JOINED_HEADER + "".join(rows)
    workload = read_text(tmp_path, text)
    known = {"queue": "2", "priority": 200.0}
    assert workload.jobs.to_dicts() == [
        job("500/2", 100.0, 0.5, user="other=", **known),
        job("500/1", 300.0, 900.0, cores_per_task=25.0, memory_mb_per_task=50_000.0, user="other=", **known),
        EXPECTED[4] | {"user": "hash="},
    ]
    assert rules(workload) == {
        "start not in the log: attempt dropped": 1,
        "start or end not in the log: run time taken from the times of measured usage": 2,
        "cores not told: one core a task stands in": 1,
    }
    with pytest.raises(InputError, match="run without --strict"):
        read_text(tmp_path, text, strict=True)


def test_reservations_are_left_out(tmp_path: Path) -> None:
    text = JSON_LINES + as_json((700_000_000, 3, 9, 0, 0, 0, 0.5, 0.5), collection_type="1")
    workload = read_text(tmp_path, text, strict=True)
    assert workload.jobs.to_dicts() == EXPECTED
    assert rules(workload) == {"event of an alloc set, which reserves for others: line left out": 1}


OTHER = (700_000_000, 3, 9, 0, 0, 0, 0.5, 0.5)
REPAIRED = {
    as_json(OTHER): "end not in the log, or still running: attempt dropped",
    as_json(OTHER, type="6"): "start not in the log: attempt dropped",
    as_json(OTHER, type="0"): "never started in the log: task dropped",
    as_json(OTHER, type="11"): "event of an unknown type: line skipped",
    as_json(EVENTS[0]): "event told before: line skipped",
    as_json(OTHER, type="FINISH"): "not readable: line skipped",
    as_json(OTHER, time=None): "not readable: line skipped",
    as_json(OTHER, instance_index="1.5"): "not readable: line skipped",
    as_json(OTHER, resource_request="much"): "not readable: line skipped",
}


@pytest.mark.parametrize("line", REPAIRED)
def test_events_that_make_no_attempt(tmp_path: Path, line: str) -> None:
    workload = read_text(tmp_path, JSON_LINES + line)
    assert rules(workload) == {REPAIRED[line]: 1}
    assert workload.jobs.to_dicts() == EXPECTED
    with pytest.raises(InputError, match=r"log\.txt:19: .*run without --strict"):
        read_text(tmp_path, JSON_LINES + line, strict=True)


def test_a_request_that_is_none(tmp_path: Path) -> None:
    header = "time,type,collection_id,instance_index,resource_request\n"
    text = header + "1,0,9,0,much\n2000001,3,9,0,much\n3000001,6,9,0,much\n"
    workload = read_text(tmp_path, text)
    assert workload.jobs.to_dicts() == [job("9/0", 0.000001, 1.0, status="completed", logged_wait_s=2.0)]
    assert rules(workload) == {
        "resource_request tells neither cpus nor memory: taken as unknown": 3,
        "cores not told: one core a task stands in": 1,
    }


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ('{"time":"0","type":"2","collection_id":"4","user":"u="}\n', "instance_index"),
        ('{"start_time":"0","end_time":"9","collection_id":"4","instance_index":"0"}\n', "time"),
        ("time,collection_id,instance_index\n1,2,3\n", "type"),
    ],
)
def test_other_tables_are_refused(tmp_path: Path, text: str, missing: str) -> None:
    with pytest.raises(
        InputError, match=rf'log\.txt: has no "{missing}", as events of instances have; give instance_e'
    ):
        read_text(tmp_path, text)


def test_nothing_that_tells_a_run_time_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no job is left after repairs: start not in the log: attempt dropped \(1\)"):
        read_text(tmp_path, as_json(OTHER, type="6"))


def test_the_published_sample() -> None:
    workload = read_workload(trace("google_2019/borg2019_sample_8000.csv.gz"))
    jobs = workload.jobs
    # No instance of the sample has its start and a later end, but most have times of measured usage.
    assert rules(workload) == {
        "event of an alloc set, which reserves for others: line left out": 690,
        "start not in the log: attempt dropped": 22,
        "end not in the log, or still running: attempt dropped": 526,
        "never started in the log: task dropped": 104,
        "start or end not in the log: run time taken from the times of measured usage": 5526,
        "memory_mb_per_task not positive or absurd: taken as unknown": 6,
    }
    assert len(workload) == 5526
    assert quantiles(jobs["run_s"], 0, 0.5) == [1, 300]
    assert quantiles(jobs["cores_per_task"], 0.99)[0] == pytest.approx(10, rel=0.3)
    assert (jobs["priority"].min(), jobs["priority"].max()) == (0, 450)
    assert sorted(jobs["queue"].unique()) == ["0", "1", "2", "3"]
