"""Why a job waited: schedules made by hand, one reason each."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from shunter import InputError
from shunter.metrics.explanation import AHEAD, HELD, MOST_PHASES, Explanation, explain, phases_of
from shunter.metrics.explanation_text import conclusion, duration, explanation_object
from shunter.metrics.occupancy import NodeRoom, Shape
from shunter.metrics.record import Record
from shunter.metrics.wait_sweep import DOWN, ORDER, SCATTERED, Moment
from shunter.model.cluster import Cluster, Node
from shunter.model.schedule import Outcome, RejectReason
from tests.metrics.handmade import Row, Stop, cluster, make_schedule, pool
from tests.metrics.test_gpu_metrics import random_schedule


def explained(rows: list[Row], on: Cluster, row: int) -> Explanation:
    return explain(Record.of(make_schedule(rows, on)), row)


def blockers(explanation: Explanation) -> list[tuple[int, str, float]]:
    return [(each.row + 1, each.how, round(each.share, 6)) for each in explanation.blockers]


def gpu_nodes(*gpus: int) -> Cluster:
    return cluster(*(Node(f"n{number}", 64, None, count) for number, count in enumerate(gpus)))


def test_not_enough_cores() -> None:
    rows = [Row(0, 0, 100, {0: 5}), Row(0, 0, 40, {0: 2}), Row(20, 100, 150, {0: 8})]
    found = explained(rows, pool(8), 2)
    assert [(phase.reason, phase.from_ms, phase.until_ms, phase.room) for phase in found.phases] == [
        ("cores", 20_000, 100_000, 3)
    ]
    # Job 1 holds 5 of the 8 cores all the time, job 2 holds 2 of them for a quarter of it.
    assert blockers(found) == [(1, HELD, 5 / 8), (2, HELD, 2 / 32)]
    assert [each.let_go for each in found.blockers] == [True, False]
    assert conclusion(found) == (
        "Job 3 waited 1 min 20 s because the cluster had at most 3 of the 8 cores that it needs free "
        "until job 1 ended at 100 s."
    )


def test_not_enough_gpus_in_its_partition() -> None:
    on = cluster(Node("a", 64, None, 8, partitions=("vc3",)), Node("b", 64, None, 8, partitions=("vc4",)))
    rows = [
        Row(0, 0, 500, {0: 1}, gpus=2, partition="vc3"),
        Row(0, 0, 900, {1: 1}, gpus=1, partition="vc4"),
        Row(10, 500, 600, {0: 1}, gpus=8, partition="vc3"),
    ]
    found = explained(rows, on, 2)
    assert blockers(found) == [(1, HELD, 2 / 8)]
    assert conclusion(found).endswith(
        "because its partition vc3 had at most 6 of the 8 GPUs that it needs free until job 1 ended at 500 s."
    )


def test_jobs_of_other_partitions_pass_nobody_by() -> None:
    on = cluster(Node("a", 64, None, 8, partitions=("vc3",)), Node("b", 64, None, 8, partitions=("vc4",)))
    rows = [
        Row(0, 0, 500, {0: 1}, gpus=2, partition="vc3"),
        Row(10, 500, 600, {0: 1}, gpus=8, partition="vc3"),
        Row(20, 30, 50, {1: 1}, gpus=1, partition="vc4"),
        Row(20, 30, 50, {0: 1}, gpus=1, partition="vc3"),
    ]
    assert explained(rows, on, 1).passed_by.tolist() == [3]


def test_a_blocker_that_was_stopped_has_not_ended() -> None:
    rows = [Row(0, 200, 400, {0: 8}, stops=[Stop(0, 100, {0: 8})]), Row(50, 100, 150, {0: 8})]
    assert conclusion(explained(rows, pool(8), 1)).endswith("until job 1 was stopped at 100 s.")


def test_a_gang_of_one_type_is_told_so() -> None:
    types = ("V100", "V100", "A100")
    on = cluster(*(Node(f"n{number}", 64, None, 4, gpu_type) for number, gpu_type in enumerate(types)))
    rows = [Row(0, 0, 100, {0: 3}, gpus=1), Row(10, 100, 150, {0: 4, 1: 2}, gpus=1)]
    assert "the cluster (of any one type of GPU) had at most 5 of the 6 GPUs" in conclusion(explained(rows, on, 1))


def test_where_nodes_may_fail_room_may_have_been_on_one_that_was_down() -> None:
    schedule = make_schedule([Row(0, 50, 100, {0: 1})], pool(8))
    schedule = replace(schedule, settings=replace(schedule.settings, mtbf_s=1e6, mttr_s=1e3))
    assert "or nodes were down" in conclusion(explain(Record.of(schedule), 0))


def test_cores_that_are_not_lacking_block_nobody() -> None:
    on = gpu_nodes(4)
    rows = [Row(0, 0, 300, {0: 1}, cores=32), Row(0, 0, 100, {0: 1}, gpus=4), Row(0, 100, 200, {0: 1}, gpus=4)]
    assert blockers(explained(rows, on, 2)) == [(2, HELD, 1.0)]


def test_memory_that_lacks() -> None:
    on = cluster(Node("a", 8, 1000))
    rows = [Row(0, 0, 100, {0: 1}, memory=900.0), Row(0, 100, 150, {0: 1}, memory=200.0)]
    found = explained(rows, on, 1)
    assert found.phases[0].reason == "memory"
    assert "had at most 100 MB of the 200 MB that it needs free until job 1 ended" in conclusion(found)


def test_enough_gpus_but_scattered() -> None:
    rows = [Row(0, 0, 100, {0: 1}, gpus=2), Row(0, 0, 200, {1: 1}, gpus=2), Row(5, 100, 150, {0: 1}, gpus=4)]
    found = explained(rows, gpu_nodes(4, 4), 2)
    assert {phase.reason for phase in found.phases} == {SCATTERED}
    assert [row for row, _, _ in blockers(found)] == [1, 2]
    assert "would have been enough, but was scattered: no node had room for it until job 1 ended" in conclusion(found)


def test_a_fraction_leaves_no_whole_gpu() -> None:
    rows = [Row(0, 0, 100, {0: 2}, gpus=0.5), Row(0, 0, 300, {0: 1}, gpus=0.25), Row(5, 100, 150, {0: 1}, gpus=1)]
    found = explained(rows, gpu_nodes(2), 2)
    assert [phase.reason for phase in found.phases] == ["GPUs"]
    assert found.phases[0].free[0] == 0


def test_room_that_the_order_kept_from_it() -> None:
    """Job 2 wants everything and waits; job 3 would fit beside job 1, but strict order keeps it behind job 2."""
    rows = [Row(0, 0, 100, {0: 4}), Row(10, 100, 150, {0: 8}), Row(20, 150, 160, {0: 2})]
    found = explained(rows, pool(8), 2)
    assert [(phase.reason, phase.waited_ms) for phase in found.phases] == [(ORDER, 80_000), ("cores", 50_000)]
    # While job 2 runs it has both cores that job 3 wants.
    assert blockers(found) == [(2, AHEAD, round(80 / 130, 6)), (2, HELD, round(50 / 130, 6))]
    assert found.in_front.tolist() == [1]
    assert conclusion(found) == (
        "Job 3 waited 2 min 10 s because the order (fcfs, easy) held it back for 1 job ahead of it, though there was "
        "room for it (job 2, which started at 100 s); for 50 s of it, not enough cores were free."
    )


def test_who_passed_it_by() -> None:
    rows = [Row(0, 0, 100, {0: 6}), Row(1, 100, 200, {0: 8}), Row(2, 3, 50, {0: 2}), Row(4, 50, 90, {0: 1})]
    found = explained(rows, pool(8), 1)
    assert (found.passed_by.tolist(), found.in_front.tolist()) == ([2, 3], [])
    told = explanation_object(found, 1)
    assert told["passed_by"] == {"count": 2, "largest": 3}
    assert (len(told["blockers"]), told["blockers_in_all"]) == (1, 3)
    json.dumps(told, allow_nan=False)


def test_a_job_that_was_stopped_waits_again() -> None:
    stops = [Stop(0, 20, {0: 1}), Stop(50, 60, {1: 1}, by_failure=True)]
    rows = [
        Row(0, 100, 150, {0: 1}, gpus=2, stops=stops),
        Row(0, 20, 50, {0: 1}, gpus=2),
        Row(0, 60, 100, {0: 1}, gpus=2),
    ]
    found = explained(rows, gpu_nodes(2, 0), 0)
    assert found.waits == [(20_000, 50_000), (60_000, 100_000)]
    assert [stay.ended for stay in found.stays] == ["preempted", "node failed", "completed"]
    assert blockers(found) == [(3, HELD, round(40 / 70, 6)), (2, HELD, round(30 / 70, 6))]
    assert conclusion(found) == (
        "Job 1 was stopped 2 times and waited 1 min 10 s in all, none of it before its first start, because the "
        "cluster had at most 0 of the 2 GPUs that it needs free, the last time until job 3 ended at 100 s."
    )
    told = explanation_object(found, 3)
    assert told["waits"] == [{"from_s": 20, "until_s": 50}, {"from_s": 60, "until_s": 100}]
    assert told["waited_s"] == 70


def test_who_left_last_has_nothing_to_do_with_an_earlier_wait_for_something_else() -> None:
    """Job 2 waits 90 s for cores, is stopped, and then waits 10 s in which there is room for it."""
    rows = [
        Row(0, 0, 100, {0: 8}),
        Row(10, 150, 200, {0: 4}, stops=[Stop(100, 140, {0: 4})]),
        Row(120, 130, 150, {0: 1}),
    ]
    assert conclusion(explained(rows, pool(8), 1)) == (
        "Job 2 was stopped once and waited 1 min 40 s in all, 1 min 30 s of it before its first start, because the "
        "cluster had at most 0 of the 4 cores that it needs free; for 10 s of it, there was room, but the order or a "
        "reservation held it back."
    )


def test_jobs_that_are_stopped_and_go_on_at_once_or_never() -> None:
    stop = Stop(0, 20, {0: 8})
    rows = [Row(0, 20, 50, {0: 8}, stops=[stop])]
    assert conclusion(explained(rows, pool(8), 0)) == (
        "Job 1 did not wait: it started when it was submitted, at 0 s, on pool; it was stopped once, "
        "and went on at once."
    )
    rows = [Row(0, None, None, {0: 8}, stops=[stop], outcome=Outcome.UNFINISHED), Row(5, 20, 50, {0: 8})]
    assert conclusion(explained(rows, pool(8), 0)) == (
        "Job 1 was stopped once and waited 30 s in all, none of it before its first start, because the cluster had at "
        "most 0 of the 8 cores that it needs free; it never started again."
    )


def test_a_node_that_failed_and_is_not_in_use_again_may_be_down() -> None:
    stops = [Stop(0, 20, {0: 1}, by_failure=True)]
    rows = [Row(0, 20, 50, {1: 1}, gpus=1, stops=stops), Row(5, 50, 60, {1: 1}, gpus=1)]
    found = explained(rows, gpu_nodes(1, 1), 1)
    assert [phase.reason for phase in found.phases] == [ORDER, DOWN]


def test_a_job_that_did_not_wait_and_one_that_could_never_run() -> None:
    rejected = Row(1, None, None, cores=9, outcome=Outcome.REJECTED, reason=RejectReason.CORES)
    rows = [Row(0, 0, 10, {0: 1}), rejected, Row(50, None, None, outcome=Outcome.UNFINISHED)]
    texts = [conclusion(explained(rows, pool(8), row)) for row in range(3)]
    assert texts[0] == "Job 1 did not wait: it started when it was submitted, at 0 s, on pool."
    assert texts[1] == "Job 2 never ran: it was rejected, for it asks for 1 task of 9 cores; the cluster has 8 cores."
    assert texts[2] == "Job 3 never started: nothing more happened after it was submitted at 50 s."


def test_a_job_that_never_started_waits_to_the_end() -> None:
    rows = [Row(0, 0, 100, {0: 8}), Row(40, None, None, outcome=Outcome.UNFINISHED)]
    assert conclusion(explained(rows, pool(8), 1)) == (
        "Job 2 waited 1 min because the cluster had at most 0 of the 1 core that it needs free; it never started."
    )


def test_types_of_gpus_are_not_mixed() -> None:
    on = cluster(Node("a", 64, None, 2, "V100"), Node("b", 64, None, 2, "P100"))
    rows = [Row(0, 0, 100, {0: 1}, gpus=1), Row(0, 0, 90, {1: 1}, gpus=1), Row(1, 100, 110, {0: 2}, gpus=1)]
    found = explained(rows, on, 2)
    assert [(phase.reason, phase.room) for phase in found.phases] == [("GPUs", 1), (ORDER, 2)]
    mixed = explain(Record.of(make_schedule(rows, replace(on, mix=True))), 2)
    assert [phase.reason for phase in mixed.phases] == [ORDER]


def test_a_job_uses_the_types_that_it_asks_for() -> None:
    on = cluster(Node("a", 64, None, 2, "V100"), Node("b", 64, None, 2, "P100"), Node("c", 64, None, 2))
    record = Record.of(make_schedule([Row(0, 0, 10, {0: 1}, gpus=1)], on))
    for asked, usable in (("V100", [0]), ("P100|V100", [0, 1]), (None, [0, 1, 2])):
        rows = record.rows.with_columns(gpu_type=pl.Series([asked], dtype=pl.String))
        assert replace(record, rows=rows).usable(0) == usable


@pytest.mark.parametrize("seed", range(8))
def test_every_job_of_any_schedule_is_explained(seed: int) -> None:
    schedule = random_schedule(random.Random(seed))
    record = Record.of(schedule)
    for row in range(len(schedule)):
        found = explain(record, row)
        told = explanation_object(found, 3)
        json.dumps(told, allow_nan=False)
        assert sum(phase["waited_s"] for phase in told["phases"]) == pytest.approx(told["waited_s"])
        assert all(0 <= blocker.share <= 1 + 1e-9 and blocker.row != row for blocker in found.blockers)
        assert all(other != row for other in (*found.passed_by.tolist(), *found.in_front.tolist()))


@pytest.mark.parametrize("count", [1, 8, 9, 60, 999])
def test_phases_are_few_and_lose_no_time(count: int) -> None:
    rng = np.random.default_rng(count)
    edges = np.cumsum(rng.integers(1, 1000, count + 1)).tolist()
    reasons = rng.choice([ORDER, SCATTERED, "GPUs", "cores"], count).tolist()
    moments = [
        Moment(begin, end, reason, 0, (0, 0, 0)) for (begin, end), reason in zip(pairwise(edges), reasons, strict=True)
    ]
    phases = phases_of(moments)
    assert 1 <= len(phases) <= MOST_PHASES
    assert (phases[0].from_ms, phases[-1].until_ms) == (edges[0], edges[-1])
    assert sum(phase.waited_ms for phase in phases) == edges[-1] - edges[0]
    assert all(one.until_ms == other.from_ms for one, other in pairwise(phases))


def test_capacity_of_a_node() -> None:
    place = NodeRoom.empty(Node("a", 8, 1000, 4), Shape(9, (500, 1000, 0)), 0)
    assert (place.most, place.rooms[:2]) == (8, [8, 8])
    taken = place.take(1, (2000, 1500, 10))
    place.count()
    assert (place.rooms[:2], place.free) == ([4, 6], (2000, 6500, 990))
    place.give_back(1, (2000, 1500, 10), taken)
    assert (place.free, place.devices) == ((4000, 8000, 1000), [1000] * 4)


def test_an_id_that_no_job_has() -> None:
    record = Record.of(make_schedule([Row(0, 0, 1, {0: 1})] * 9, pool(8)))
    assert record.find("7") == 6
    with pytest.raises(InputError, match=r"no job '12' in this run of 9 jobs; nearest ids: 7, 8, 9"):
        record.find("12")
    with pytest.raises(InputError, match=r"nearest ids: 1, 2, 3"):
        record.find("seven")


@pytest.mark.parametrize(
    ("time_ms", "text"),
    [(0, "0 s"), (12_340, "12.3 s"), (59_600, "1 min"), (7_800_000, "2 h 10 min"), (93_600_000, "1 d 2 h")],
)
def test_durations(time_ms: float, text: str) -> None:
    assert duration(time_ms) == text
