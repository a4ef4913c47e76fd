"""Why jobs waited, read off a schedule: the same as counting one by one."""

from __future__ import annotations

import numpy as np
import pytest

import shunter
from shunter.metrics.record import Record
from shunter.metrics.waiting import AT_ONCE, HELD, IN_ORDER, NEVER_RAN, NO_ROOM, look_at_waits

LOGS = ("generate:lublin?seed=3&jobs=900&cores=64&load=1.1", "generate:bursty-gpu?jobs=700&seed=2")


@pytest.mark.parametrize("log", LOGS)
@pytest.mark.parametrize("policy", ["fcfs", "sjf", "lcfs"])
def test_it_is_what_counting_one_by_one_gives(log: str, policy: str) -> None:
    record = Record.of(shunter.simulate(log, policy=policy, dispatch="easy"))
    amount = record.milli_cores * record.tasks / 1000
    total = record.cluster.total_cores
    found = look_at_waits(record, amount, total)
    segments = record.segments
    for row in range(0, len(record), 7):
        now = record.eligible_ms[row]
        runs = (segments.start_ms < now) & (segments.end_ms > now)
        assert found.free[row] == pytest.approx(total - amount[segments.job[runs]].sum(), abs=1e-6)
        waiting = (record.eligible_ms < now) & (found.start_ms >= now)
        assert found.ahead[row] == waiting.sum()
        later = (record.submit_ms > record.submit_ms[row]) & (found.start_ms < found.start_ms[row])
        assert found.passed_by[row] == later.sum()


def test_reasons_say_what_happened() -> None:
    record = Record.of(shunter.simulate(LOGS[0], policy="sjf", dispatch="easy"))
    amount = record.milli_cores * record.tasks / 1000
    found = look_at_waits(record, amount, record.cluster.total_cores)
    waited_ms = found.start_ms - record.eligible_ms
    assert set(np.unique(found.reason).tolist()) == {AT_ONCE, NO_ROOM, IN_ORDER}
    assert (waited_ms[found.reason == AT_ONCE] <= 1000).all()
    assert (waited_ms[found.reason != AT_ONCE] > 1000).all()
    assert (found.free < amount)[found.reason == NO_ROOM].all()
    assert (found.free >= amount)[found.reason == IN_ORDER].all()


def test_jobs_that_were_held_or_never_ran_are_told_apart() -> None:
    import polars as pl

    from shunter.model.workload import Workload

    jobs = pl.DataFrame(
        {
            "job_id": [1, 2, 3],
            "submit_s": [0.0, 0.0, 0.0],
            "run_s": [10.0, 10.0, 10.0],
            "tasks": [1, 1, 1],
            "cores_per_task": [1.0, 1.0, 99.0],
            "begin_s": [0.0, 50.0, 0.0],
        }
    )
    schedule = shunter.simulate(Workload.from_frame(jobs, name="three"), 4)
    found = look_at_waits(Record.of(schedule), np.array([1.0, 1.0, 99.0]), 4.0)
    assert found.reason.tolist() == [AT_ONCE, HELD, NEVER_RAN]
