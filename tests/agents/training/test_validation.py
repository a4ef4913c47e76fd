"""Validation: how a policy compares with the classic that training days would choose."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shunter.agents.learned_policy import LearnedPolicy, load_policy
from shunter.agents.training.trials import Trials
from shunter.agents.training.validation import (
    Deciding,
    Validation,
    choose_rivals,
    objective_note,
    objective_of,
    standard_error,
)
from shunter.comparison import combinations
from shunter.comparison.combinations import combine
from shunter.comparison.objective import LEAST, Bound, Objective
from shunter.envs.episodes import EpisodeOptions
from shunter.envs.log_source import episode_windows
from shunter.envs.pick_host import PickHostOptions, host_scheduler
from shunter.envs.pick_job import PickJobOptions, PickJobSource
from shunter.envs.rewards import RewardOptions
from shunter.envs.sources import Use
from shunter.policies.catalog import PLACEMENTS
from tests.agents.trying import host_trials, job_trials
from tests.agents.untrained import opinionated, waiting, write_policy
from tests.tuning.small import small_log

TRAIN = EpisodeOptions(length=40, windows=6)
LATER = EpisodeOptions(part="report", length=120, windows=4)
BSLD = Objective("mean_bounded_slowdown")


@pytest.fixture(autouse=True)
def few_classics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(combinations, "CLASSICS", ("fcfs", "sjf", "saf", "laf"))


@pytest.mark.parametrize(
    ("reward", "metric"),
    [
        ("bounded_slowdown", "mean_bounded_slowdown"),
        ({"wait": 2.0, "bounded_slowdown": 1.0}, "mean_wait_s"),
        ({"balance": 9.0, "utilization": 0.1}, "core_utilization"),
        ({"balance": 1.0}, "mean_bounded_slowdown"),
        ({"wait": 0.0, "balance": 1.0}, "mean_bounded_slowdown"),
    ],
)
def test_policies_are_compared_by_the_reward_that_weighs_most(reward: str | dict[str, float], metric: str) -> None:
    assert objective_of(RewardOptions(reward)) == Objective(metric)


def test_what_is_not_rewarded_is_told() -> None:
    assert objective_note(RewardOptions({"balance": 9.0, "utilization": 0.1})) is None
    note = objective_note(RewardOptions({"balance": 1.0, "priority": 2.0, "wait": 0.0}))
    assert note is not None
    assert note.startswith("rewarded is balance, priority, which is no metric of windows: classics and checkpoints")
    assert "are chosen by mean_bounded_slowdown;" in note


def test_bounds_of_the_reward_are_bounds_of_the_objective() -> None:
    reward = RewardOptions(bounds={"wait": 1.1, "utilization": 0.9}, scale="fcfs/easy")
    assert objective_of(reward).bounds == (Bound("mean_wait_s", 1.1), Bound("core_utilization", 0.9))


def test_the_chosen_classic_is_the_best_on_training_days() -> None:
    log, options = small_log(), PickJobOptions(window=8)
    (chosen,) = choose_rivals(PickJobSource(options, [log]), TRAIN, BSLD, 1)
    trials = job_trials([log], [TRAIN.windows_of(log)], options)
    every = combine(["all"], ["strict", "greedy", "easy", "conservative"], ["first-fit"]).possible

    def cost(combination: combinations.Combination) -> float:
        (found,) = trials.of_schedulers([combination.scheduler], ["mean_bounded_slowdown"])
        return float(np.log(found["mean_bounded_slowdown"]).mean())

    assert cost(chosen) == min(cost(one) for one in every)
    assert chosen.label.split("/")[0] in ("sjf", "saf")


@pytest.mark.parametrize("metric", ["mean_wait_s", "core_utilization"])
def test_the_chosen_placement_is_the_best_on_training_episodes(metric: str) -> None:
    options = PickHostOptions(num_hosts=3, episode_length=20, max_jobs_per_step=9, host_cores=(4, 6))
    (chosen,) = choose_rivals(options.open_source(), EpisodeOptions(windows=5), Objective(metric), 1)
    trials = host_trials(options, 5)
    (base,) = trials.of_schedulers([host_scheduler("first-fit")], [metric])
    costs = {
        name: Objective(metric).cost(trials.of_schedulers([host_scheduler(name)], [metric])[0], base)
        for name in PLACEMENTS
    }
    assert costs[chosen.label] == min(costs.values()) < max(costs.values())
    assert chosen.scheduler == host_scheduler(chosen.label)


def measured(folder: str, objective: Objective, base: str = "fcfs/easy") -> dict[str, float]:
    log, policy = small_log(), load_policy(folder)
    assert isinstance(policy.options, PickJobOptions)
    trials = job_trials([log], [episode_windows(log, LATER)], policy.options)
    name, dispatch = base.split("/")
    return Validation(trials, combine([name], [dispatch]).possible, objective)(policy)


def test_as_good_as_the_classic_is_0(tmp_path: Path) -> None:
    found = measured(write_policy(tmp_path / "fcfs", order="fcfs", window=200), BSLD)
    assert found["objective"] == pytest.approx(0.0, abs=1e-12)
    assert [found[name] for name in ("ratio", "wait_ratio", "utilization_ratio")] == pytest.approx([1.0] * 3)


def test_better_is_below_0_and_the_ratio_is_its_exponential(tmp_path: Path) -> None:
    found = measured(write_policy(tmp_path / "saf", order="saf", window=200), BSLD)
    assert found["objective"] < -0.1
    assert found["ratio"] == pytest.approx(np.exp(found["objective"]))


def test_a_broken_bound_is_told_and_changes_no_other_figure(tmp_path: Path) -> None:
    """Not the objective, nor the gain: a bound is a limit, and no price."""
    policy = write_policy(tmp_path / "waits", change=waiting)
    plain = measured(policy, BSLD)
    bounded = measured(policy, Objective("mean_bounded_slowdown", (Bound("mean_wait_s", 1.5),)))
    assert plain["wait_ratio"] > 1.5
    assert bounded["bounds_broken"] == pytest.approx(np.log(plain["wait_ratio"] / 1.5))
    assert (plain["bounds_missed"], bounded["bounds_missed"]) == (0.0, 1.0)
    assert plain["bounds_broken"] == 0.0
    same = set(plain) - {"bounds_missed", "bounds_broken"}
    assert {name: bounded[name] for name in same} == {name: plain[name] for name in same}


@pytest.mark.parametrize(("factor", "broken"), [(1.01, False), (0.99, True)])
def test_a_bound_is_the_number_that_was_given(tmp_path: Path, factor: float, broken: bool) -> None:
    """A hundredth above what is found it holds, a hundredth below it does not: nothing is added or taken away."""
    policy = write_policy(tmp_path / "saf", order="saf", window=200)
    ratio = measured(policy, BSLD)["wait_ratio"]
    found = measured(policy, Objective("mean_bounded_slowdown", (Bound("mean_wait_s", factor * ratio),)))
    assert (found["bounds_broken"] > 0) is broken


def test_logs_count_the_same(tmp_path: Path) -> None:
    """However many windows each has."""
    policy = load_policy(write_policy(tmp_path / "saf", order="saf", window=200))
    assert isinstance(policy.options, PickJobOptions)
    log, base = small_log(), combine(["fcfs"], ["easy"]).possible
    parts = [
        episode_windows(log, EpisodeOptions(part="report", length=40, windows=count, seed=count)) for count in (2, 5)
    ]
    alone = [Validation(job_trials([log], [part], policy.options), base, BSLD)(policy) for part in parts]
    both = Validation(job_trials([log, log], parts, policy.options), [*base, *base], BSLD)(policy)
    assert both["objective"] == pytest.approx(np.mean([one["objective"] for one in alone]))


@pytest.mark.parametrize("bounds", [(), (Bound("mean_wait_s", 0.01),)])
def test_gains_are_counted_from_the_beginning(tmp_path: Path, bounds: tuple[Bound, ...]) -> None:
    """Episode by episode: what both share is no noise. The error is that of the very same mean, bounds or not."""
    objective = Objective("mean_bounded_slowdown", bounds)
    first = load_policy(write_policy(tmp_path / "first", order="saf", window=200, change=opinionated))
    second = load_policy(write_policy(tmp_path / "second", order="saf", window=200))
    assert isinstance(second.options, PickJobOptions)
    log = small_log()
    windows = episode_windows(log, LATER)
    trials = job_trials([log], [windows], second.options)
    classic = combine(["sjf"], ["easy"]).possible
    same = Validation(trials, classic, objective)
    same.begins_as(lambda: second)
    assert [same(second)[name] for name in ("gain", "gain_error")] == [0.0, 0.0]
    validation = Validation(trials, classic, objective)
    begun, found = validation(first), validation(second)
    assert found["gain"] == pytest.approx(begun["objective"] - found["objective"])
    assert found["gain"] > 0.05
    values = [trials.of_policy(policy, BSLD.metrics)[0]["mean_bounded_slowdown"] for policy in (first, second)]
    gains = np.log((values[0] + LEAST) / (values[1] + LEAST))
    assert found["gain"] == pytest.approx(gains.mean())
    expected = standard_error(gains, windows.block)
    assert found["gain_error"] == pytest.approx(expected)
    assert expected > 0


def test_the_standard_error_of_a_mean() -> None:
    values = np.array([1.0, 2.0, 4.0, 7.0])
    alone = float(np.std(values, ddof=1)) / 2
    assert standard_error(values, np.arange(4)) == pytest.approx(alone)
    assert standard_error(values, np.zeros(4, dtype=np.int64)) == pytest.approx(alone)
    # Two windows in each block that say the same are worth one.
    doubled = standard_error(np.repeat(values, 2), np.repeat(np.arange(4), 2))
    assert doubled == pytest.approx(alone)
    assert standard_error(values[:1], np.zeros(1, dtype=np.int64)) == float("inf")


def rounds_of(
    tmp_path: Path, margin_se: float, most: int, there: int = 9, bounds: tuple[Bound, ...] = ()
) -> tuple[Validation, list[int]]:
    """Returns a validation on four windows of a log that begins as saf, and which further rounds it has opened."""
    policy = load_policy(write_policy(tmp_path / "saf", order="saf", window=200))
    assert isinstance(policy.options, PickJobOptions)
    source, opened = PickJobSource(policy.options, [small_log()]), []

    def further(number: int) -> Trials | None:
        opened.append(number)
        return Trials.of(source.further(number), LATER, Use.VALIDATION) if number <= there else None

    validation = Validation(
        Trials.of(source, LATER, Use.VALIDATION),
        combine(["fcfs"], ["easy"]).possible,
        Objective("mean_bounded_slowdown", bounds),
        Deciding(margin_se, most, further),
    )
    validation.begins_as(lambda: policy)
    return validation, opened


def other_policy(tmp_path: Path) -> LearnedPolicy:
    return load_policy(write_policy(tmp_path / "other", order="saf", window=200, change=opinionated))


@pytest.mark.parametrize(
    ("margin_se", "most", "there", "windows"),
    [
        # Any difference is enough: the first windows have decided.
        (0.0, 32, 9, 4),
        (1e-6, 32, 9, 4),
        # No difference is: two rounds, four, and so on, as far as one may or can.
        (1e6, 32, 9, 32),
        (1e6, 31, 9, 28),
        (1e6, 32, 2, 12),
        (1e6, 4, 9, 4),
        (1e6, 3, 9, 4),
    ],
)
def test_more_windows_until_they_tell(tmp_path: Path, margin_se: float, most: int, there: int, windows: int) -> None:
    validation, opened = rounds_of(tmp_path, margin_se, most, there)
    found = validation(other_policy(tmp_path))
    assert found["windows"] == windows
    assert len(opened) == len(set(opened))
    assert validation(other_policy(tmp_path)) == found


def test_the_very_same_policy_needs_no_more_windows(tmp_path: Path) -> None:
    validation, opened = rounds_of(tmp_path, 1e6, 32)
    same = load_policy(write_policy(tmp_path / "same", order="saf", window=200))
    found = validation(same)
    assert [found[name] for name in ("gain", "gain_error", "lead", "windows")] == [0.0, 0.0, 0.0, 4.0]
    assert opened == []


def test_where_a_bound_is_broken_more_windows_are_not_looked_at(tmp_path: Path) -> None:
    for bounds in ((Bound("mean_wait_s", 1e-6),), (Bound("core_utilization", 1e6),)):
        validation, opened = rounds_of(tmp_path, 1e6, 32, bounds=bounds)
        assert validation(other_policy(tmp_path))["bounds_broken"] > 0
        assert opened == []


def test_gains_are_those_of_all_windows_that_were_looked_at(tmp_path: Path) -> None:
    """The curve stays that of the first windows, so that one policy can be compared with the next."""
    validation, _ = rounds_of(tmp_path, 1e6, 8)
    plain, _ = rounds_of(tmp_path, 0.0, 8)
    policy = other_policy(tmp_path)
    found, first = validation(policy), plain(policy)
    for name in ("objective", "ratio", "means_ratio", "wait_ratio"):
        assert found[name] == first[name]
    begun = load_policy(tmp_path / "saf")
    assert isinstance(begun.options, PickJobOptions)
    source = PickJobSource(begun.options, [small_log()])
    each = [Trials.of(one, LATER, Use.VALIDATION) for one in (source, source.further(1))]
    values = [
        np.concatenate([trials.of_policy(one, BSLD.metrics)[0]["mean_bounded_slowdown"] for trials in each])
        for one in (begun, policy)
    ]
    gains = np.log((values[0] + LEAST) / (values[1] + LEAST))
    assert found["gain"] == pytest.approx(gains.mean())
    # The log is drawn again for the second round: its blocks are others.
    blocks = np.concatenate([each[0].blocks[0], each[1].blocks[0] + 100])
    assert found["gain_error"] == pytest.approx(standard_error(gains, blocks))
    assert found["gain"] != pytest.approx(first["gain"])


def test_rounds_on_one_log_share_its_blocks(tmp_path: Path) -> None:
    log, episodes = small_log(), EpisodeOptions(part="report", length=40, windows=4)
    policy = load_policy(write_policy(tmp_path / "saf", order="saf", window=200))
    other = other_policy(tmp_path)
    assert isinstance(policy.options, PickJobOptions)
    rounds = [episode_windows(log, replace(episodes, seed=seed)) for seed in (0, 7)]
    trials = [job_trials([log], [windows], policy.options) for windows in rounds]
    validation = Validation(
        trials[0], combine(["fcfs"], ["easy"]).possible, BSLD, Deciding(1e6, 8, lambda _: trials[1])
    )
    validation.begins_as(lambda: policy)
    found = validation(other)
    values = [
        np.concatenate([each.of_policy(one, BSLD.metrics)[0]["mean_bounded_slowdown"] for each in trials])
        for one in (policy, other)
    ]
    gains = np.log((values[0] + LEAST) / (values[1] + LEAST))
    assert found["gain_error"] == pytest.approx(standard_error(gains, np.concatenate([one.block for one in rounds])))


def test_leads_are_counted_from_the_best_so_far(tmp_path: Path) -> None:
    validation, _ = rounds_of(tmp_path, 1e6, 8)
    policy, begun = other_policy(tmp_path), load_policy(tmp_path / "saf")
    first = validation(policy)
    assert first["lead"] == first["gain"]
    validation.keep(lambda: policy)
    assert validation(policy)["lead"] == 0.0
    # What does the same as the beginning is not better than it: the first windows tell that.
    plain, _ = rounds_of(tmp_path, 0.0, 8)
    assert validation(begun)["lead"] == pytest.approx(-plain(policy)["gain"])
    # A run that goes on knows its best policy by its checkpoint alone.
    resumed, _ = rounds_of(tmp_path, 1e6, 8)
    resumed.keep(lambda: policy)
    assert resumed(begun) == validation(begun)


def test_means_stand_beside_geometric_means(tmp_path: Path) -> None:
    policy = load_policy(write_policy(tmp_path / "saf", order="saf", window=200))
    assert isinstance(policy.options, PickJobOptions)
    log, base = small_log(), combine(["fcfs"], ["easy"]).possible
    trials = job_trials([log], [episode_windows(log, LATER)], policy.options)
    (own,), (classic,) = trials.of_policy(policy, BSLD.metrics), trials.of_schedulers([base[0].scheduler], BSLD.metrics)
    found = Validation(trials, base, BSLD)(policy)
    assert found["means_ratio"] == pytest.approx(own[BSLD.metric].mean() / classic[BSLD.metric].mean())
    assert found["means_ratio"] != pytest.approx(found["ratio"])


def test_means_may_be_what_is_compared(tmp_path: Path) -> None:
    """The error is that of the logarithm of a ratio of means, to the first order (the delta method)."""
    policy, other = load_policy(write_policy(tmp_path / "saf", order="saf", window=200)), other_policy(tmp_path)
    assert isinstance(policy.options, PickJobOptions)
    log = small_log()
    windows = episode_windows(log, EpisodeOptions(part="report", length=40, windows=40))
    trials = job_trials([log], [windows], policy.options)
    validation = Validation(trials, combine(["fcfs"], ["easy"]).possible, BSLD, Deciding(by_means=True))
    validation.begins_as(lambda: policy)
    found = validation(other)
    before, own = (trials.of_policy(one, BSLD.metrics)[0][BSLD.metric] for one in (policy, other))
    assert found["objective"] == pytest.approx(np.log(found["means_ratio"]))
    assert found["gain"] == pytest.approx(np.log(before.mean() / own.mean()))
    shares = before / before.mean() - own / own.mean()
    assert found["gain_error"] == pytest.approx(standard_error(shares, windows.block))
