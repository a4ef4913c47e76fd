"""Drawings of a site's rules: limits, licenses, hours, queued limits, and nodes that are reserved in advance."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shunter.model.schedule import Outcome, RejectReason
from shunter.model.site import AdvanceReservation, Limit, SiteRules
from tests.golden.seconds import job, nodes, pool, starts_s
from tests.properties.observed import Simulator
from tests.reference.model import Config, RefNode

ALL_RULES = ["strict", "greedy", "easy", "conservative", "2"]


def limited(dispatch: str = "easy", *limits: Limit, **rules: object) -> Config:
    """Returns a configuration with rules."""
    return Config(dispatch=dispatch, rules=SiteRules(limits=limits, **rules))  # type: ignore[arg-type]


@pytest.mark.parametrize("dispatch", ALL_RULES)
def test_a_job_at_its_limit_is_passed_over(simulator: Simulator, dispatch: str) -> None:
    """Ann may have one job at a time: B waits for A, and blocks nobody, not even under strict.

    ::

        second 0
               01234567
        core 1 AAAABBBB
        core 2 CCCC....
    """
    jobs = [replace(job(0, 4), user="ann"), replace(job(0, 4), user="ann"), replace(job(0, 4), user="bob")]
    observed = simulator(jobs, pool(2), limited(dispatch, Limit(running_jobs=1, per=("user",))))
    assert starts_s(observed) == [0, 4, 0]


def test_a_reservation_counts_as_if_its_job_ran(simulator: Simulator) -> None:
    """B holds a reservation at 4, and takes Ann's second and last place: C, which would fit beside it, is passed over.

    ::

        second 0
               0123456789
        core 1 AAAABB....
        core 2 AAAABB....
        core 3 AAAABB....
        core 4 ....BBCC..
    """
    jobs = [replace(job(0, 4, tasks=3), user="ann"), replace(job(0, 2, tasks=4), user="ann")]
    jobs += [replace(job(0, 2), user="ann")]
    observed = simulator(jobs, pool(4), limited("easy", Limit(running_jobs=2, per=("user",))))
    assert starts_s(observed) == [0, 4, 4 + 2]
    # Without the limit it fills the gap.
    assert starts_s(simulator(jobs, pool(4), Config())) == [0, 4, 0]


def test_accounts_count_with_those_below_them(simulator: Simulator) -> None:
    """Two cores for physics, of which optics is a part; chemistry is not bound."""
    jobs = [replace(job(0, 4), account=name) for name in ("physics", "optics", "optics", "chemistry", None)]
    config = limited("greedy", Limit(running_cores=2, accounts=("physics",)), accounts={"optics": "physics"})
    assert starts_s(simulator(jobs, pool(8), config)) == [0, 0, 4, 0, 0]


def test_licenses_are_given_back(simulator: Simulator) -> None:
    """Two licenses: A has one, B needs both and is passed over, C takes the other one.

    ::

        second 0
               012345678
        core 1 AAA..BBB.
        core 2 CCCCC....
    """
    jobs = [job(0, 3), job(0, 3), job(1, 4)]
    jobs = [replace(one, licenses=(("matlab", count),)) for one, count in zip(jobs, (1, 2, 1), strict=True)]
    observed = simulator(jobs, pool(4), limited("easy", licenses={"matlab": 2}))
    assert starts_s(observed) == [0, 5, 1]


def test_more_than_one_job_may_have_is_rejected(simulator: Simulator) -> None:
    jobs = [job(0, 1, tasks=3), job(0, 9), replace(job(0, 1), licenses=(("ansys", 2),)), job(0, 1)]
    config = limited("easy", Limit(running_cores=2), Limit(max_time_s=5.0), licenses={"ansys": 1})
    observed = simulator(jobs, pool(4), config)
    assert [one.outcome for one in observed] == [*[Outcome.REJECTED] * 3, Outcome.COMPLETED]
    assert {one.reject_reason for one in observed[:3]} == {RejectReason.OVER_JOB_LIMIT}


@pytest.mark.parametrize("dispatch", ALL_RULES)
def test_hours_end_and_begin(simulator: Simulator, dispatch: str) -> None:
    """The clock shows 8:59:55 at second 0. From 9:00 to 9:01 nobody may start a job longer than 5 s.

    A starts before and runs on. B comes in these hours and waits until they end, at 65. C is short.
    """
    jobs = [job(0, 20), job(6, 20), job(7, 3)]
    config = limited(
        dispatch, Limit(max_time_s=5.0, from_time="09:00", to_time="09:01"), time_zero="2026-03-02 08:59:55"
    )
    assert starts_s(simulator(jobs, pool(4), config)) == [0, 65, 7]


def test_hours_of_a_weekday(simulator: Simulator) -> None:
    """Second 0 is a Friday, 23:59:50: at weekends Ann may run nothing, from 10 on until Monday, 172,810."""
    jobs = [replace(job(at_s, 1), user="ann") for at_s in (9, 10, 11)] + [replace(job(11, 1), user="bob")]
    weekend = Limit(running_jobs=0, users=("ann",), days="sat,sun")
    config = limited("easy", weekend, time_zero="2026-03-06 23:59:50")
    assert starts_s(simulator(jobs, pool(1), config)) == [9, 172_810, 172_811, 11]


def test_queued_limits_hold_jobs(simulator: Simulator) -> None:
    """Ann may have two jobs that wait or run. C is held until A has ended; its submit time stays what it was.

    ::

        second 0
               01234567
        core 1 AABBCCDD
    """
    jobs = [replace(job(0, 2), user="ann") for _ in range(3)] + [replace(job(1, 2), user="bob")]
    config = limited("easy", Limit(queued_jobs=2, per=("user",)))
    observed = simulator(jobs, pool(1), config)
    assert [one.eligible_ms for one in observed] == [0, 0, 2000, 1000]
    assert starts_s(observed) == [0, 2, 4, 6]


@pytest.mark.parametrize("dispatch", ALL_RULES)
def test_nobody_runs_into_a_window(simulator: Simulator, dispatch: str) -> None:
    """The machine is reserved from 5 to 8. B would run into it, and starts when it is over; C ends in time.

    ::

        second 0         1
               0123456789012
        core 1 AAAA....BBBB
        core 2 .CCCC...
    """
    jobs = [job(0, 4), job(1, 5), job(1, 4)]
    config = Config(dispatch=dispatch, rules=SiteRules(reservations=(AdvanceReservation(5.0, 3.0),)))
    starts = starts_s(simulator(jobs, pool(2), config))
    # Under strict nobody passes B, which does not fit.
    assert starts == ([0, 8, 8] if dispatch == "strict" else [0, 8, 1])


def test_a_window_closes_some_nodes(simulator: Simulator) -> None:
    """The first node is reserved from 4 on for Ann: her job goes there, Bob's to the other one."""
    jobs = [replace(job(0, 6), user="bob"), replace(job(0, 6), user="ann"), replace(job(0, 4), user="bob")]
    window = AdvanceReservation(4.0, 100.0, nodes=("n0",), users=("ann",))
    observed = simulator(jobs, [RefNode(1000), RefNode(1000)], Config(rules=SiteRules(reservations=(window,))))
    assert starts_s(observed) == [0, 0, 6]
    assert nodes(observed) == [{1: 1}, {0: 1}, {1: 1}]


def test_walls(simulator: Simulator) -> None:
    """No job may run across 10. A ends at it, B begins at it; C is planned behind it, so that D may fill the gap."""
    jobs = [job(0, 10), job(1, 10), job(2, 9), job(3, 7)]
    config = Config(dispatch="conservative", rules=SiteRules(reservations=(AdvanceReservation(10.0),)))
    assert starts_s(simulator(jobs, pool(2), config)) == [0, 10, 10, 3]


def test_who_outlives_its_request_runs_on(simulator: Simulator) -> None:
    """A is expected to end in time, and does not: nothing is killed."""
    config = Config(rules=SiteRules(reservations=(AdvanceReservation(5.0, 3.0),)))
    observed = simulator([job(0, 9, requested_s=5)], pool(1), config)
    assert [one.end_ms for one in observed] == [9000]


def test_a_job_longer_than_every_gap_waits_for_ever(simulator: Simulator) -> None:
    """Each day the machine is reserved but for an hour: A needs two, and never starts. B does, the next day."""
    window = AdvanceReservation(0.0, 23 * 3600.0, repeat="daily")
    jobs = [job(0, 7200), job(0, 3600)]
    observed = simulator(jobs, pool(1), Config(rules=SiteRules(reservations=(window,))))
    assert starts_s(observed) == [None, 23 * 3600]
    assert observed[0].outcome is Outcome.UNFINISHED


def test_weekdays(simulator: Simulator) -> None:
    """Second 0 is Friday 17:00, with a wall at 18:00 of weekdays: two hours may run over the weekend alone."""
    jobs = [job(0, 7200), job(3600, 3 * 86_400)]
    rules = SiteRules(reservations=(AdvanceReservation(3600.0, repeat="weekdays"),), time_zero="2026-03-06 17:00:00")
    assert starts_s(simulator(jobs, pool(2), Config(rules=rules))) == [3600, 3600]
