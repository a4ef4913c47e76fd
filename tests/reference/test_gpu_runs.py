"""Preemptive policies, learned means and failures in the reference simulator, on examples worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import fmean

import pytest

from shunter.model.schedule import Outcome
from tests.reference.conservation import check_conservation
from tests.reference.estimates import History
from tests.reference.failures import Failures, NodeEvent, exponentials
from tests.reference.model import Config, RefJob, RefNode, Result, Share
from tests.reference.simulator import simulate

S = 1000
ONE_GPU = RefNode(8000, gpus=1)
HOUR_S = 3600


def run(jobs: list[RefJob], nodes: list[RefNode], config: Config) -> Result:
    """Simulates, and asserts that nothing is lost on the way."""
    result = simulate(jobs, nodes, config)
    check_conservation(jobs, nodes, config, result)
    return result


def stops(result: Result) -> list[tuple[int, int, int, bool]]:
    """Returns job, start and end of the segments that did not end a job, and whether a failure ended them."""
    return [(stop.job, stop.start_ms, stop.end_ms, stop.by_failure) for stop in result.stops]


def gpu_job(submit_ms: int, run_ms: int, tasks: int = 1, user: str | None = None, gpu_types: int = 0) -> RefJob:
    """Returns a job with one GPU a task."""
    return RefJob(submit_ms, run_ms, tasks=tasks, gpu_milli=1000, user=user, gpu_types=gpu_types)


@pytest.mark.parametrize(
    ("overhead_ms", "keep_progress", "ends_ms"),
    [(0, True, [15, 8]), (2, True, [17, 8]), (2, False, [20, 8])],
)
def test_srtf_stops_the_job_with_more_left(overhead_ms: int, keep_progress: bool, ends_ms: list[int]) -> None:
    """At 3 ms job 0 has 7 left, job 1 asks for 5; job 0 goes on at 8, with 7 or all 10 left, after the overhead."""
    config = Config(
        policy="srtf",
        estimate="perfect",
        dispatch="greedy",
        keep_progress=keep_progress,
        preemption_overhead_ms=overhead_ms,
    )
    result = run([gpu_job(0, 10), gpu_job(3, 5)], [ONE_GPU], config)
    assert stops(result) == [(0, 0, 3, False)]
    assert result.end_ms == ends_ms
    assert result.start_ms == [0, 3]


def test_srtf_leaves_jobs_alone_that_need_not_stop() -> None:
    """Job 3 wants two of three GPUs: the worst, job 0 (29 left), gives one, and job 1 (19 left) one; job 2 stays."""
    nodes = [RefNode(8000, gpus=3)]
    config = Config(policy="srtf", estimate="perfect", dispatch="greedy")
    result = run([gpu_job(0, 30), gpu_job(0, 20), gpu_job(0, 10), gpu_job(1, 5, tasks=2)], nodes, config)
    assert stops(result) == [(0, 0, 1, False), (1, 0, 1, False)]
    # Job 0 would be the first to go, but does not help: job 1 on the other node is enough, and job 0 goes on.
    two = [RefNode(1000, gpus=1, gpu_type=0), RefNode(8000, gpus=2, gpu_type=1)]
    jobs = [
        gpu_job(0, 30, gpu_types=1),
        gpu_job(0, 20, tasks=2, gpu_types=2),
        gpu_job(1, 5, tasks=2),
    ]
    assert stops(run(jobs, two, config)) == [(1, 0, 1, False)]


def test_srtf_counts_work_at_the_speed_of_its_node() -> None:
    """At 3 ms on a node twice as fast, job 0 has done 6 of 10: 4 are left, less than the 5 of job 1."""
    config = Config(policy="srtf", estimate="perfect", dispatch="greedy")
    result = run([gpu_job(0, 10), gpu_job(3, 5)], [replace(ONE_GPU, speed_milli=2000)], config)
    assert stops(result) == []
    assert result.end_ms == [5, 8]


def test_a_job_is_not_stopped_before_it_has_run_for_a_while() -> None:
    """Job 1 would go first at 3 ms, but has to wait until job 0 has run for 6 ms, when nothing else happens."""
    config = Config(policy="srtf", estimate="perfect", dispatch="greedy", minimum_run_ms=6)
    result = run([gpu_job(0, 20), gpu_job(3, 5)], [ONE_GPU], config)
    assert stops(result) == [(0, 0, 6, False)]
    assert (result.start_ms, result.end_ms) == ([0, 6], [25, 11])


def test_las_lets_those_go_first_who_have_had_less() -> None:
    """Two GPUs for 5 s are 10 GPU-seconds: job 0 falls to level 1 at 5 s, and job 1, there since 1 s, takes its place.

    Job 1 falls to level 1 at 15 s, where job 0, the earlier one, is first again: it has 5 s left. Job 0 reaches level 2
    after 50 s in all, which it does not have; job 1 goes on at 20 s, and ends at 30 s.
    """
    config = Config(policy="las?first_s=10&second_s=100", dispatch="greedy")
    jobs = [gpu_job(0, 10 * S, tasks=2), gpu_job(1 * S, 20 * S)]
    result = run(jobs, [RefNode(8000, gpus=2)], config)
    assert stops(result) == [(0, 0, 5 * S, False), (1, 5 * S, 15 * S, False)]
    assert result.end_ms == [20 * S, 30 * S]


def test_las_counts_the_overhead_and_lost_work_as_service() -> None:
    """Job 0 is stopped at 10 s (level 1), waits until job 1 ends at 14 s, and pays 1 s; it stays at level 1."""
    config = Config(
        policy="las?first_s=10&second_s=100", dispatch="greedy", keep_progress=False, preemption_overhead_ms=1000
    )
    jobs = [gpu_job(0, 12 * S), gpu_job(2 * S, 4 * S), gpu_job(20 * S, 1 * S)]
    result = run(jobs, [ONE_GPU], config)
    assert stops(result) == [(0, 0, 10 * S, False), (0, 14 * S, 20 * S, False)]
    assert result.end_ms == [(21 + 1 + 12) * S, 14 * S, 21 * S]


def test_who_has_waited_too_long_goes_first_and_stays() -> None:
    """Job 1 is the longest, but has waited 6 ms at 6 ms: it stops job 0, and the short job 2 cannot stop it."""
    config = Config(policy="srtf", estimate="perfect", dispatch="greedy", max_wait_ms=6)
    result = run([gpu_job(1, 20), gpu_job(2, 30), gpu_job(9, 1)], [ONE_GPU], config)
    # Job 0 has waited just as long by then, and is the earlier one: it goes on to the end.
    assert stops(result) == []
    assert result.end_ms == [21, 51, 52]


def test_history_takes_the_mean_of_those_most_alike() -> None:
    history = History()
    ann, bob = gpu_job(0, 1, user="ann"), gpu_job(0, 1, user="bob")
    assert history.estimate_ms(0, ann) == HOUR_S * S
    history.learn(gpu_job(0, 1), 7)
    # One without a user: all of its size, and everybody.
    assert [history.estimate_ms(0, job) for job in (ann, gpu_job(0, 1), gpu_job(0, 1, tasks=2))] == [7, 7, 7]
    history.learn(gpu_job(0, 1, tasks=2, user="ann"), 20)
    # Ann's jobs of any size: 20. Of Bob's size: 7. Of another size: (7 + 20) / 2 = 13.5, rounded down.
    assert history.estimate_ms(0, ann) == 20
    assert history.estimate_ms(0, bob) == 7
    assert history.estimate_ms(0, replace(bob, tasks=3)) == 13
    # Sizes are plain numbers: two cores are as many as two GPUs.
    assert history.estimate_ms(0, RefJob(0, 1, tasks=2)) == 20


def test_qssf_goes_by_gpu_time() -> None:
    """Estimates are 2 s and 3 s from earlier jobs of Ann and Bob: 2 GPUs of Ann's are 4, one of Bob's is 3."""
    before = [gpu_job(-9000, 2000, user="ann"), gpu_job(-9000, 3000, user="bob")]
    jobs = [gpu_job(0, 1000), gpu_job(0, 1000, tasks=2, user="ann"), gpu_job(0, 1000, user="bob")]
    config = Config(policy="qssf", estimate="history", dispatch="strict")
    result = simulate(jobs, [RefNode(8000, gpus=2)], config, before)
    # Job 0 is nobody's: (2 + 3) / 2 = 2.5 for one GPU. It starts with Bob's, and Ann's starts when both have ended.
    assert result.start_ms == [0, 1000, 0]
    assert result.estimate_ms == [2500, 2000, 3000]


@pytest.mark.parametrize(
    ("keeps", "overhead_ms", "end_ms"), [(False, 0, 17), (True, 0, 13), (False, 2, 19), (True, 2, 15)]
)
def test_a_failure_stops_the_jobs_on_the_node(keeps: bool, overhead_ms: int, end_ms: int) -> None:
    """The node is down from 4 ms to 7 ms, when 4 of 10 ms are done."""
    config = Config(
        failures=((4, 0, False), (7, 0, True)), failure_keeps_progress=keeps, preemption_overhead_ms=overhead_ms
    )
    result = run([gpu_job(0, 10)], [ONE_GPU], config)
    assert stops(result) == [(0, 0, 4, True)]
    assert (result.end_ms, result.failures) == ([end_ms], [1])


def test_a_job_moves_to_a_node_that_is_up() -> None:
    """At 4 ms 6 of 10 ms are done on the node of speed 1.5; on that of speed 0.4, the other 4 take 10 ms."""
    nodes = [replace(ONE_GPU, speed_milli=1500), replace(ONE_GPU, speed_milli=400)]
    config = Config(failures=((4, 0, False),), failure_keeps_progress=True)
    result = run([gpu_job(0, 10)], nodes, config)
    assert result.allocation[0] == (Share(1, 1, (1000,)),)
    assert result.end_ms == [14]
    # A gang stops as a whole.
    both = run([gpu_job(0, 10, tasks=2)], nodes, replace(config, failures=((4, 0, False), (6, 0, True))))
    # Both run at 0.4: 1.6 of 10 ms are done at 4 ms, of which 1 counts; 9 ms take 22.5, so 23 ms from 6 ms on.
    assert stops(both) == [(0, 0, 4, True)]
    assert both.end_ms == [29]


def test_what_ends_when_a_node_goes_down_has_ended() -> None:
    result = run([gpu_job(0, 4), gpu_job(4, 1)], [ONE_GPU], Config(failures=((4, 0, False), (9, 0, True))))
    assert result.end_ms == [4, 10]
    assert result.failures == [0, 0]


@pytest.mark.parametrize("dispatch", ["strict", "greedy", "easy", "conservative", "committed", "committed-backfill"])
def test_a_job_whose_node_never_comes_back_is_unfinished(dispatch: str) -> None:
    """Job 0 wants both nodes. Job 1 waits behind it only where the first in the queue holds up all others."""
    nodes = [ONE_GPU, ONE_GPU]
    result = run([gpu_job(0, 10, tasks=2), gpu_job(5, 3)], nodes, Config(dispatch=dispatch, failures=((4, 1, False),)))
    assert result.outcome[0] is Outcome.UNFINISHED
    waits = dispatch in ("strict", "committed", "committed-backfill")
    assert result.end_ms == [None, None if waits else 8]
    assert stops(result) == [(0, 0, 4, True)]


def test_a_reservation_on_a_node_that_goes_down_is_planned_anew() -> None:
    """Job 1 is promised both nodes at 10 ms; node 1 is down from 2 ms to 30 ms. Job 2 need not wait meanwhile."""
    jobs = [gpu_job(0, 10), gpu_job(1, 5, tasks=2), gpu_job(3, 15)]
    config = Config(dispatch="conservative", failures=((2, 1, False), (30, 1, True)))
    result = run(jobs, [ONE_GPU, ONE_GPU], config)
    promised = {one.time_ms: one.reserved_start_ms for one in result.passes}
    assert promised[1] == {1: 10}
    assert promised[2] == {}
    assert promised[3] == {2: 10}
    assert result.end_ms == [10, 35, 25]


def test_a_job_that_fails_a_thousand_times_ends() -> None:
    """It needs 5 ms, but its node goes down every other millisecond: at 1, 3, 5 ..., the thousandth time at 1,999."""
    failures = tuple((time_ms, 0, time_ms % 2 == 0) for time_ms in range(1, 3000))
    config = Config(failures=failures)
    result = simulate([gpu_job(0, 5)], [ONE_GPU], config)
    assert (result.outcome, result.end_ms, result.failures) == ([Outcome.FAILED], [1999], [1000])
    assert len(result.stops) == 999


def test_a_node_is_down_as_long_as_anything_says_so() -> None:
    failures = Failures([NodeEvent(9, 0, True, drawn=False)], [])
    went_down = [failures.change(NodeEvent(1, 0, False, drawn=drawn)) for drawn in (False, True, True)]
    assert went_down == [True, False, False]
    assert not failures.change(NodeEvent(2, 0, True, drawn=True))
    assert failures.down == {0}
    assert not failures.change(failures.take_due(9)[0])
    assert failures.down == set()


def test_drawn_failures_are_exponential_and_each_node_has_its_own() -> None:
    draws = [next(exponentials(seed=3, node=node)) for node in range(4000)]
    assert fmean(draws) == pytest.approx(1, abs=0.05)
    assert sum(draw > 1 for draw in draws) / len(draws) == pytest.approx(1 / math.e, abs=0.03)
    config = Config(mtbf_ms=1000, mttr_ms=10, seed=3)
    failures = Failures.of(config, [ONE_GPU] * 3, begin_ms=500)
    first = failures.next_ms()
    assert first == 500 + min(max(1, math.floor(1000 * draw + 0.5)) for draw in draws[:3])
    (event,) = failures.take_due(first)
    assert (event.time_ms, event.up) == (first, False)


def test_everything_ends_though_nodes_fail_at_random() -> None:
    """Node 2 is held down for good, which nobody needs: what is drawn for it does not bring it back."""
    nodes = [ONE_GPU] * 3
    config = Config(mtbf_ms=40, mttr_ms=5, seed=8, failures=((0, 2, False),), failure_keeps_progress=True)
    result = run([gpu_job(7 * number, 30, tasks=1 + number % 2) for number in range(12)], nodes, config)
    assert set(result.outcome) == {Outcome.COMPLETED}
    assert sum(result.failures) > 5
    wants_all = run([gpu_job(0, 30, tasks=3)], nodes, config)
    assert wants_all.outcome == [Outcome.UNFINISHED]
