"""The policy decides within its deadline; otherwise somebody stands in for it, and that is counted."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shunter.errors import InputError
from shunter.execution.operating import judge as judging
from shunter.execution.operating.breaker import Breaker
from shunter.execution.operating.configuration import Configuration
from shunter.execution.operating.judge import Judge, Verdict, disagreement
from shunter.execution.operating.picture import Picture, picture_of
from shunter.execution.operating.site import SiteNode, State
from tests.execution.operating.sites import NOW_S, running, site, waiting

TRAINED = Path(__file__).parents[2] / "compat" / "saved" / "trained"


@pytest.fixture
def picture() -> Picture:
    """Both nodes are in use, and three jobs wait."""
    jobs = [running(1, ("n1", 4), ("n2", 4)), waiting(2, 9), waiting(3, 1), waiting(4, 5)]
    jobs += [waiting(5, 1, barrier="held"), waiting(6, 1, cores=99), waiting(7, 1, gpus=1, gpu_type="h100")]
    return picture_of(site(*jobs), [])


def test_a_policy_orders_those_that_may_start(picture: Picture) -> None:
    verdict = Judge(Configuration(policy="sjf", deadline_s=30.0)).decide(picture)
    assert verdict.order == (3, 4, 2)
    assert not verdict.starts
    assert not verdict.fallback
    assert verdict.reasons[3].startswith("it does not fit")
    assert picture.unfit == (6, 7), "one job that can never run does not spoil the picture"


@pytest.mark.parametrize("run", ["kernel", "mlp", "attention"])
def test_a_learned_policy_decides(run: str, picture: Picture) -> None:
    judge = Judge(Configuration(policy=str(TRAINED / run), deadline_s=30.0))
    verdict = judge.decide(picture)
    assert (set(verdict.order), verdict.fallback) == ({2, 3, 4}, "")
    free = picture_of(site(waiting(2, 9), waiting(3, 1)), [])
    assert judge.decide(free).starts
    assert judge.policy_sha256 != Judge(Configuration(policy="sjf", deadline_s=30.0)).policy_sha256


def test_estimates_learn_from_jobs_that_have_ended() -> None:
    # The user's jobs ask for an hour and run for some seconds; those of the other ask for 20 minutes and need them.
    ended = [
        replace(
            running(number, ("n1", 1), user=user, requested_s=asked, submit_s=NOW_S - 90_000),
            state=State.ENDED,
            start_s=NOW_S - 80_000,
            end_s=NOW_S - 80_000 + ran_s,
        )
        for first, user, asked, ran_s in ((100, "ann", 3600.0, 5.0), (200, "bob", 1200.0, 1190.0))
        for number in range(first, first + 20)
    ]
    now = site(running(1, ("n1", 4), ("n2", 4)), waiting(2, 20, user="bob"), waiting(3, 60, user="ann"))
    by_request = Judge(Configuration(policy="sjf", deadline_s=30.0)).decide(picture_of(now, ended))
    by_history = Judge(Configuration(policy="sjf", estimate="posterior", deadline_s=30.0)).decide(
        picture_of(now, ended)
    )
    assert (by_request.order, by_history.order) == ((2, 3), (3, 2))


def test_late_failing_and_illegal_decisions_are_stood_in_for(picture: Picture, monkeypatch: pytest.MonkeyPatch) -> None:
    def late(picture: Picture, scheduler: Any) -> Verdict:  # noqa: ANN401 - not looked at
        time.sleep(0.3)
        raise AssertionError

    def failing(picture: Picture, scheduler: Any) -> Verdict:  # noqa: ANN401 - not looked at
        return Verdict("x", (2, 3, float("nan")), {}, {})  # type: ignore[arg-type]

    def elsewhere(picture: Picture, scheduler: Any) -> Verdict:  # noqa: ANN401 - not looked at
        return Verdict("x", (2, 3, 4), {2: ("no-such-node",)}, {})

    def in_lines(picture: Picture, scheduler: Any) -> Verdict:  # noqa: ANN401 - not looked at
        raise ValueError("in two\nlines")

    said = []
    for wrong in (late, failing, elsewhere, in_lines):
        with monkeypatch.context() as patched:
            patched.setattr(judging, "verdict_of", wrong)
            judge = Judge(Configuration(policy="sjf", deadline_s=0.05))
            verdict = judge.decide(picture)
            assert (verdict.policy, verdict.order) == ("site", (2, 3, 4)), "Slurm's own order"
            assert judge.fallbacks == 1
            said.append(verdict.fallback)
            if wrong is late:
                assert judge.decide(picture).fallback == "still busy with an earlier decision"
    assert said[0] == "no decision within 50 ms"
    assert said[3] == "ValueError: in two lines"
    assert "not one of the jobs" in said[1]
    assert "cannot" in said[2]


def test_a_classic_can_stand_in(picture: Picture, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = Judge(Configuration(policy="fcfs", fallback="ljf", deadline_s=30.0))
    whole = judging.verdict_of

    def fails_for_fcfs(picture: Picture, scheduler: Any) -> Verdict:  # noqa: ANN401 - a scheduler
        if scheduler.settings.policy == "fcfs":
            raise InputError("no")
        return whole(picture, scheduler)

    monkeypatch.setattr(judging, "verdict_of", fails_for_fcfs)
    verdict = judge.decide(picture)
    assert (verdict.policy, verdict.order, verdict.fallback) == ("ljf", (2, 4, 3), "InputError: no")


def test_the_breaker_opens_and_a_probe_closes_it(picture: Picture, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = Judge(Configuration(policy="sjf", most_failures=2, probe_s=1.0, deadline_s=30.0))
    asked = []

    def fails(picture: Picture, scheduler: Any) -> Verdict:  # noqa: ANN401 - not looked at
        asked.append(1)
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(judging, "verdict_of", fails)
        for _ in range(5):
            judge.decide(picture)
    assert (len(asked), judge.breaker.is_open, judge.fallbacks) == (2, True, 5)
    time.sleep(1.1)
    assert not judge.decide(picture).fallback
    assert not judge.breaker.is_open


def test_failures_far_apart_do_not_open_a_breaker() -> None:
    breaker = Breaker(2, window_s=10, probe_s=5)
    breaker.fail(0, "one")
    breaker.fail(11, "two")
    assert not breaker.is_open
    breaker.fail(12, "three")
    assert breaker.is_open
    assert not breaker.allows(16)
    assert breaker.allows(17)
    breaker.fail(17, "the probe")
    assert not breaker.allows(21)
    assert breaker.opened == 1


def test_a_job_that_starves_goes_first_whatever_the_policy_says() -> None:
    jobs = [running(1, ("n1", 4), ("n2", 4)), waiting(2, 9, submit_s=NOW_S - 5000), waiting(3, 1)]
    picture = picture_of(site(*jobs), [])
    judge = Judge(Configuration(policy="sjf", max_wait_s=4000.0, deadline_s=30.0))
    verdict = judge.decide(picture)
    assert (verdict.order, verdict.guarded, judge.guard_hits) == ((2, 3), (2,), 1)
    assert Judge(Configuration(policy="sjf", max_wait_s=6000.0)).decide(picture).order == (3, 2)


def test_disagreement_is_the_share_of_swapped_pairs() -> None:
    assert disagreement([1, 2, 3], [1, 2, 3]) == 0
    assert disagreement([3, 2, 1], [1, 2, 3]) == 1
    assert disagreement([2, 1, 3], [1, 2, 3]) == pytest.approx(1 / 3)


def test_running_jobs_keep_their_nodes_and_devices_whatever_they_share() -> None:
    jobs = [
        running(1, ("n1", 2), gpus=1, gpu_type="a100", devices={"n1": [1]}),
        running(2, ("n1", 4), ("n2", 1)),
        running(3, ("n2", 1), gpus=2),
        waiting(4, cores=1, gpus=1),
        waiting(5, cores=8, tasks=8, nodes=2),
    ]
    verdict = Judge(Configuration(policy="fcfs", deadline_s=5.0)).decide(picture_of(site(*jobs), []))
    assert not verdict.fallback
    assert verdict.starts == {}, "n1 has a GPU left, but no core"


def test_a_node_that_is_closed_takes_no_job_and_keeps_those_it_has() -> None:
    nodes = (SiteNode("n1", 4, None, is_closed=True), SiteNode("n2", 4, None, is_closed=True), SiteNode("n3", 1, None))
    now = site(running(1, ("n1", 1)), waiting(2), waiting(3), nodes=nodes)
    verdict = Judge(Configuration(policy="fcfs", deadline_s=5.0)).decide(picture_of(now, []))
    assert verdict.starts == {2: ("n3",)}
