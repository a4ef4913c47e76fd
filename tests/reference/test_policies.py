"""The reference simulator's policies and estimates, worked out by hand."""

from __future__ import annotations

import math
from statistics import fmean, pstdev

import pytest

from tests.reference.estimates import Told
from tests.reference.model import Config, RefJob, RefNode
from tests.reference.posterior import Posterior
from tests.reference.randomness import standard_normal
from tests.reference.shares import Account, Usage
from tests.reference.simulator import simulate
from tests.reference.sizes import Sizes
from tests.reference.specs import Spec, read_spec

DAY_MS = 86_400_000


def test_use_fades_by_half() -> None:
    account = Account(half_life_s=100)
    account.change(4_000_000, 0)
    assert account.used(100_000) == pytest.approx(200 / math.log(2))
    account.change(-4_000_000, 100_000)
    assert account.used(200_000) == pytest.approx(100 / math.log(2))


def test_who_has_used_everything_has_less_than_who_has_not() -> None:
    jobs = [RefJob(0, 1, user="ann"), RefJob(0, 1, user="bob"), RefJob(0, 1), RefJob(0, 1)]
    usage = Usage(jobs, Spec("multifactor", {"shares": {"ann": 2, "stranger": 7}}), Sizes("cores", 8000, 0))
    assert [usage.share(user) for user in ("ann", "bob", None)] == [1 / 2, 1 / 4, 1 / 4]
    assert usage.factor("ann", 0) == 1
    usage.change(jobs[0], 1, 0)
    assert usage.factor("ann", 5000) == pytest.approx(1 / 4)
    assert usage.factor("bob", 5000) == 1


def test_noise_is_standard_normal_and_multiplies_the_run_time() -> None:
    drawn = [standard_normal(7, job) for job in range(5000)]
    assert fmean(drawn) == pytest.approx(0, abs=0.05)
    assert pstdev(drawn) == pytest.approx(1, abs=0.03)
    noisy = Told(read_spec("noisy?sigma=0.5", "estimate"), Config(seed=7))
    assert noisy.estimate_ms(3, RefJob(0, 10_000)) == round(10_000 * math.exp(drawn[3] / 2))
    assert Told(Spec("noisy", {"sigma": 0}), Config()).estimate_ms(3, RefJob(0, 1234)) == 1234


@pytest.mark.parametrize(("estimate", "starts_s"), [("requested", [0, 10, 30, 31]), ("last-two", [0, 10, 31, 30])])
def test_two_jobs_that_have_ended_take_the_place_of_the_request(estimate: str, starts_s: list[int]) -> None:
    """Ann asks for 5 s, but her last two jobs took 15 s on average; Bob asks for 12 s."""
    jobs = [
        RefJob(0, 10_000, requested_ms=100_000, user="ann"),
        RefJob(0, 20_000, requested_ms=100_000, user="ann"),
        RefJob(15_000, 1000, requested_ms=5000, user="ann"),
        RefJob(15_000, 1000, requested_ms=12_000, user="bob"),
    ]
    result = simulate(jobs, [RefNode(1000)], Config(policy="sjf", estimate=estimate))
    assert result.start_ms == [start_s * 1000 for start_s in starts_s]


@pytest.mark.parametrize(
    ("job", "estimate_ms"),
    [
        # All groups: R = (20 + (20 + 60)/2)/2 = 30 s, I = (0.05 + (0.05 + 0.03)/2)/2 = 0.045 per second.
        (RefJob(0, 1, requested_ms=400_000, user="ann"), 25_820),
        # Another size: R = 40 s, I = 0.04 per second. Another request: R = 60 s, I = 0.03 per second.
        (RefJob(0, 1, requested_ms=400_000, user="ann", tasks=2), 31_623),
        (RefJob(0, 1, requested_ms=300_000, user="ann"), 44_721),
        (RefJob(0, 1, requested_ms=30_000, user="ann"), 30_000),
        (RefJob(0, 1, requested_ms=400_000, user="bob"), 100_000),
        (RefJob(0, 1, requested_ms=400_000), 100_000),
        # Without a request: R = 50·(0.2 + 1)/2 = 30 s, I = 0.02·(5 + 1)/2 = 0.06 per second for Ann, nothing else.
        (RefJob(0, 1, user="ann"), 22_361),
        (RefJob(0, 1, user="bob"), 50_000),
        (RefJob(0, 1234), 1234),
    ],
)
def test_one_job_that_has_ended_moves_the_prior(job: RefJob, estimate_ms: int) -> None:
    """It ran for 20 s; with its request, a run of 100 s is usual, and 0.01 per second as the inverse."""
    said = {"user_decay": 0.5, "decay": 0.5, "user_strength": 1, "request_strength": 1, "size_strength": 1}
    means = {"mean_run_s": [100, 50], "mean_inverse": [0.01, 0.02]}
    posterior = Posterior(Spec("posterior", {**said, **means}), Config())
    posterior.learn(RefJob(0, 1, requested_ms=400_000, user="ann"), 20_000)
    posterior.learn(RefJob(0, 1, requested_ms=400_000), 5)
    assert posterior.estimate_ms(0, job) == estimate_ms


def test_only_what_had_ended_in_reality_is_known_before_the_first_job() -> None:
    """Of Ann's four jobs, those of 2 s and 4 s had ended by 20 s; the others ended a moment later, or ran on."""
    before = [
        RefJob(0, 4000, requested_ms=60_000, user="ann", logged_wait_ms=16_000),
        RefJob(0, 2000, requested_ms=60_000, user="ann"),
        RefJob(0, 3000, requested_ms=60_000, user="ann", logged_wait_ms=17_001),
        RefJob(0, 50_000, requested_ms=60_000, user="ann", logged_wait_ms=0),
    ]
    jobs = [RefJob(20_000, 1000, requested_ms=60_000, user="ann")]
    result = simulate(jobs, [RefNode(1000)], Config(policy="sjf", estimate="last-two"), before)
    assert result.estimate_ms == [3000]


def test_an_order_that_moves_is_made_among_those_that_have_waited_longest() -> None:
    """The youngest goes first, but only the two eldest are looked at."""
    config = Config(policy=lambda place, job, now_ms: -place, dispatch="strict", scan_depth=2, moving=True)
    result = simulate([RefJob(0, 1)] * 4, [RefNode(1000)], config)
    assert result.start_ms == [3, 0, 1, 2]


@pytest.mark.parametrize("dispatch", ["strict", "easy", "conservative"])
@pytest.mark.parametrize(("reserve_below", "start_ms"), [("0.1", 100_000 + DAY_MS), ("0", 100_000 + DAY_MS), ("-1", 0)])
def test_a_job_above_the_threshold_holds_no_reservation(dispatch: str, reserve_below: str, start_ms: int) -> None:
    """The second job wants the whole cluster for a day and has a score of 0; the third stands behind it."""
    jobs = [
        RefJob(0, 100_000, tasks=3),
        RefJob(0, DAY_MS, tasks=4),
        RefJob(0, 2 * DAY_MS, tasks=1),
    ]
    policy = f"linear?reserve_below={reserve_below}"
    result = simulate(jobs, [RefNode(4000)], Config(policy=policy, dispatch=dispatch))
    assert result.start_ms[2] == start_ms


@pytest.mark.parametrize("dispatch", ["strict", "greedy", "easy", "conservative"])
@pytest.mark.parametrize(("asked_ms", "start_ms"), [(27_182, 1000), (27_183, 100_000)])
def test_a_long_job_leaves_room_until_its_patience_ends(dispatch: str, asked_ms: int, start_ms: int) -> None:
    """Ten times e seconds have to leave a quarter of four cores free: just what is left beside the first job."""
    jobs = [
        RefJob(0, 1_000_000, tasks=1),
        RefJob(1000, asked_ms, tasks=2),
        RefJob(50_000, 5000, tasks=1),
        RefJob(100_000, 5000, tasks=1),
    ]
    policy = "linear?hold_share=0.25&hold_from_s=10&hold_patience_s=99"
    result = simulate(jobs, [RefNode(4000)], Config(policy=policy, dispatch=dispatch))
    assert result.start_ms == [0, start_ms, 50_000, 100_000]
