"""Episodes that policies are measured on: a learned policy is measured as the core measures its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from shunter.agents.learned_policy import LearnedPolicy, load_policy
from shunter.agents.networks.base import Batch, Network
from shunter.agents.training import trials as trials_module
from shunter.agents.training.trials import Trials
from shunter.envs.episodes import EpisodeOptions
from shunter.envs.log_source import episode_windows
from shunter.envs.pick_host import PickHostOptions, host_scheduler
from shunter.envs.pick_job import PickJobOptions
from shunter.metrics.table import window_metrics
from tests.agents.trying import host_trials, job_trials
from tests.agents.untrained import opinionated, write_host_policy, write_policy
from tests.tuning.small import small_log

EVERY = tuple(window_metrics())
OTHER = "generate:lublin?seed=5&jobs=400&cores=32&load=1&requests=factor"


def two_logs(options: PickJobOptions) -> Trials:
    logs = [small_log(), small_log(OTHER, 32)]
    chosen = [EpisodeOptions(part=(0.5, 1.0), windows=count, length=30, warmup=5) for count in (5, 3)]
    windows = [episode_windows(log, each) for log, each in zip(logs, chosen, strict=True)]
    return job_trials(logs, windows, options)


@pytest.mark.parametrize("together", [2, 256])
def test_a_network_that_decides_as_its_order_is_measured_as_the_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, together: int
) -> None:
    monkeypatch.setattr(trials_module, "MOST_TOGETHER", together)
    policy = load_policy(write_policy(tmp_path / "order", order="saf", window=400))
    assert isinstance(policy.options, PickJobOptions)
    trials = two_logs(policy.options)
    learned = trials.of_policy(policy, EVERY)
    native = trials.of_schedulers([policy.options.scheduler] * 2, EVERY)
    assert [len(one["mean_wait_s"]) for one in learned] == [5, 3]
    for found, expected in zip(learned, native, strict=True):
        for name in EVERY:
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-12, err_msg=name)


def test_another_policy_gets_something_else_and_the_same_each_time(tmp_path: Path) -> None:
    policy = load_policy(write_policy(tmp_path / "other", begins_as_order=False, change=opinionated, window=400))
    assert isinstance(policy.options, PickJobOptions)
    trials = two_logs(policy.options)
    first, second = (trials.of_policy(policy, ["mean_wait_s"]) for _ in range(2))
    native = trials.of_schedulers([policy.options.scheduler] * 2, ["mean_wait_s"])
    for one, again, base in zip(first, second, native, strict=True):
        np.testing.assert_array_equal(one["mean_wait_s"], again["mean_wait_s"])
        assert (one["mean_wait_s"] != base["mean_wait_s"]).any()


def test_the_groups_are_the_logs() -> None:
    trials = two_logs(PickJobOptions(window=4))
    assert [group.name for group in trials.groups] == [small_log().workload.name, small_log(OTHER, 32).workload.name]
    assert [len(block) for block in trials.blocks] == [5, 3]


class FirstHost(Network):
    """Takes the first host on which the job fits."""

    def __init__(self, hosts: int) -> None:
        super().__init__()
        self.order = torch.nn.Parameter(-torch.arange(hosts, dtype=torch.float32))

    def evaluate(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Returns larger logits for earlier hosts."""
        samples = len(batch.masks)
        return self.order.expand(samples, -1), torch.zeros(samples)


def test_hosts_are_measured_as_the_placement_that_does_the_same(tmp_path: Path) -> None:
    """All episodes lie one behind the other in the environments' table: their clock must be turned back."""
    learned = load_policy(write_host_policy(tmp_path / "hosts"))
    options = PickHostOptions(num_hosts=3, episode_length=10, max_jobs_per_step=9, host_cores=(4, 6))
    trials = host_trials(options, episodes=6)
    (first,) = trials.of_policy(LearnedPolicy(FirstHost(options.num_hosts), learned.record), EVERY)
    (native,) = trials.of_schedulers([host_scheduler("first-fit")], EVERY)
    assert native["mean_wait_s"].max() > 0
    for name in EVERY:
        np.testing.assert_allclose(first[name], native[name], rtol=1e-12, err_msg=name)
    assert trials.blocks[0].tolist() == list(range(6))
