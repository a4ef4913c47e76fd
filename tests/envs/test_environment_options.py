"""What environments are asked to be: defaults, spellings, and one line for each mistake."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from shunter.checks import deal_out
from shunter.envs import EpisodeOptions, PickHostOptions, PickJobOptions, RewardOptions, make_vec
from shunter.envs.rewards import reference_policy
from shunter.errors import InputError
from tests.envs.small import crowded_log, vector_of


def test_a_reward_may_be_a_name() -> None:
    assert RewardOptions("wait").weights == {"wait": 1.0}
    assert RewardOptions({"wait": 2, "queue": -1}).weights == {"wait": 2.0, "queue": -1.0}


def test_a_part_may_be_a_name_or_two_fractions() -> None:
    assert EpisodeOptions().part == EpisodeOptions(part="train").part == (0.0, 0.6)
    assert EpisodeOptions(part="0.25:0.5").part == (0.25, 0.5)
    assert EpisodeOptions(part=(0.6, 0.7)).part == EpisodeOptions(part="validation").part


def test_parts_are_disjoint_in_time() -> None:
    log = crowded_log(jobs=200)
    chosen = [EpisodeOptions(part=part, length=5).windows_of(log) for part in ("train", "validation", "report")]
    assert [int(windows.first.min()) for windows in chosen] == [0, 120, 140]
    assert [int(windows.first.max()) + 5 for windows in chosen] == [120, 140, 200]


def test_a_policy_and_its_dispatch_rule() -> None:
    for text, policy, dispatch in (
        ("fcfs/easy", "fcfs", "easy"),
        ("sjf", "sjf", "easy"),
        ("random-feasible", "random-feasible", "greedy"),
        ("hybrid?aging=0.5/2", "hybrid?aging=0.5", "2"),
    ):
        found, rule = reference_policy(text)
        assert (found.text, rule) == (policy, dispatch)


def test_keywords_go_to_the_classes_that_know_them() -> None:
    options, reward, episodes = deal_out(
        {"mode": "feasible", "seed": 7, "log": True, "length": 9}, PickJobOptions, RewardOptions, EpisodeOptions
    )
    assert (options.mode, options.seed, reward.log, episodes.length, episodes.seed) == ("feasible", 7, True, 9, 7)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PickJobOptions(mode="reserved"), "unknown mode 'reserved'; did you mean 'reserve'?"),
        (lambda: PickJobOptions(lookahead="on"), "unknown lookahead 'on'"),
        (lambda: PickJobOptions(order="fsfc"), "unknown policy 'fsfc'"),
        (lambda: PickJobOptions(order="mine.py"), "order is 'mine.py'; expected a policy of Shunter's own, or a TOML"),
        (lambda: PickJobOptions(order="random-feasible"), "'random-feasible' never waits, but dispatch is 'easy'"),
        (lambda: PickJobOptions(order="srtf"), "order is 'srtf', which stops running jobs; environments only"),
        (lambda: PickJobOptions(order="las?first_s=9", mode="feasible"), "'las?first_s=9', which stops running jobs"),
        (lambda: RewardOptions(relative_to="srtf"), "the reward refers to 'srtf', which stops running jobs"),
        (lambda: RewardOptions(scale="las/greedy"), "the reward refers to 'las/greedy', which stops running jobs"),
        (lambda: PickJobOptions(placement="milp?alpha=x"), "placement 'milp?alpha=x': alpha is 'x'; expected a number"),
        (lambda: PickJobOptions(placement="gone.py"), "placement 'gone.py': there is no such file"),
        (lambda: PickJobOptions(window=0), "window is 0; expected a whole number from 1 to 65536"),
        (lambda: PickJobOptions(window=True), "window is True; expected a whole number"),
        (lambda: PickJobOptions(lookahead_size=1.5), "lookahead_size is 1.5; expected a whole number"),  # type: ignore[arg-type]
        (lambda: PickJobOptions(features="night"), "features is 'night'; expected a list of names"),  # type: ignore[arg-type]
        (lambda: PickJobOptions(features=("a", "a")), "features is ('a', 'a'); expected each name once"),
        (lambda: PickJobOptions(max_wait_s=-1), "--max-wait (max_wait_s) is -1"),
        (lambda: PickHostOptions(num_hosts=0), "num_hosts is 0; expected a whole number from 1"),
        (lambda: PickHostOptions(job_run_s=(5, 1)), "job_run_s is (5, 1); expected two whole numbers, the smaller"),
        (lambda: PickHostOptions(job_run_s=5), "job_run_s is 5; expected two whole numbers"),  # type: ignore[arg-type]
        (lambda: PickHostOptions(job_cores=(1, 17)), "job_cores goes up to 17, host_cores down to 16; expected jobs"),
        (lambda: PickHostOptions(host_memory_gb=(1, 2)), "job_memory_mb goes up to 4096, host_memory_gb down to 1024"),
        (lambda: RewardOptions({}), "reward is {}; expected at least one name with a weight other than 0"),
        (lambda: RewardOptions({"wait": np.nan}), "reward['wait'] is nan; expected a finite number"),
        (lambda: RewardOptions({"wait": 10**400}), "expected a finite number"),
        (lambda: RewardOptions(["wait"]), "reward is ['wait']; expected names with a number each"),  # type: ignore[arg-type]
        (lambda: RewardOptions(timing="late"), "unknown timing 'late'"),
        (lambda: RewardOptions(scale="fcsf/easy"), "unknown policy 'fcsf'; did you mean 'fcfs'?"),
        (lambda: RewardOptions(relative_to="me.py"), "'me.py': cannot be run natively, as scales are"),
        (lambda: RewardOptions(bounds={"wait": 1.1}), "bounds are given without scale or relative_to"),
        (lambda: RewardOptions(scale="fcfs", bounds={"queue": 1}), "unknown bound 'queue'"),
        (lambda: RewardOptions(scale="fcfs", bounds={"wait": -1}), "bounds['wait'] is -1; expected a finite number"),
        (lambda: RewardOptions(invalid_penalty=-1), "invalid_penalty is -1; expected a finite number of 0 or more"),
        (lambda: EpisodeOptions(part="last"), "part (one of train, validation, report, or a:b) is 'last'"),
        (lambda: EpisodeOptions(part=(0.5, 0.4)), "--part is 0.5:0.4; expected two rising fractions"),
        (lambda: EpisodeOptions(length=0), "length is 0; expected a whole number from 1"),
        (lambda: EpisodeOptions(windows=0), "windows is 0; expected a whole number from 1"),
        (lambda: EpisodeOptions(warmup="3"), "warmup is '3'; expected a whole number from 0"),  # type: ignore[arg-type]
        (lambda: EpisodeOptions(max_steps=0), "max_steps is 0; expected a whole number from 1"),
        (lambda: EpisodeOptions(horizon_factor=0), "horizon_factor is 0; expected a finite number above 0"),
        (lambda: EpisodeOptions(length=99).windows_of(crowded_log()), "a window has 99 jobs (--length), but crowd has"),
        (lambda: make_vec("shunter/PickJobs-v0", 1), "unknown id 'shunter/PickJobs-v0'; did you mean"),
        (lambda: make_vec("shunter/PickHost-v0", 1, hosts=3), "unknown keyword 'hosts'; did you mean"),
        (lambda: make_vec("shunter/PickHost-v0", 0), "num_envs is 0; expected a whole number from 1"),
        (lambda: make_vec("shunter/PickHost-v0", 1, threads=0), "threads is 0; expected a whole number from 1"),
        (lambda: make_vec("shunter/PickHost-v0", 1, episodes=0), "episodes is 0; expected a whole number from 1"),
        (lambda: make_vec("shunter/PickHost-v0", 1, reward="waits"), "unknown reward 'waits'; did you mean 'wait'?"),
        (lambda: vector_of(options=PickJobOptions(features=("x",))), "feature 'x' is not registered"),
        (lambda: make_vec("shunter/PickJob-v0", 1, workload="no.swf", cluster="4"), "no.swf: no such file"),
    ],
)  # fmt: skip
def test_mistakes(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        make()
    assert message in str(error.value)
    assert "\n" not in str(error.value)
