"""PPO in the core learns as the one of PyTorch does, goes on bit for bit, and does not depend on threads."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
import torch

from shunter.agents.algorithms import DivergenceError, PpoOptions
from shunter.agents.learned_policy import LearnedPolicy
from shunter.agents.native_ppo import NativePpo
from shunter.agents.networks import NetworkOptions, build
from shunter.agents.networks.native import fresh_network
from shunter.agents.ppo import Ppo
from shunter.agents.training.checkpoint_files import PolicyRecord
from shunter.envs.pick_host import PickHostOptions, pick_host_vector
from shunter.envs.pick_job import PickJobOptions, pick_job_vector
from shunter.envs.rewards import RewardOptions
from shunter.model.log import Log
from shunter.model.workload import Workload
from tests.agents import toy
from tests.agents.groups import OPTIONS, closed_host_gap, groups, totals

if TYPE_CHECKING:
    from torch import Tensor

    from shunter.envs.vector import NativeVectorEnv

SLOWDOWN = RewardOptions(reward="slowdown")
LEARNED_FROM = PickJobOptions(mode="feasible", window=6, lookahead_size=2, estimate="perfect")


def _train(vector: NativeVectorEnv, kind: str, steps: int) -> LearnedPolicy:
    options = NetworkOptions(kind=kind)
    ppo = NativePpo(vector, fresh_network(options, vector.layout, seed=1), OPTIONS, steps=steps, seed=1)
    while ppo.steps < steps:
        ppo.update()
    return LearnedPolicy(ppo.network, PolicyRecord(vector.layout, vector.options, options))


def _hidden(log: Log) -> Log:
    """Returns the log with requested times that tell nothing of run times."""
    jobs = log.workload.jobs
    drawn = np.random.default_rng(5).permutation(jobs["run_s"].to_numpy()) + max(toy.RUN_S)
    return Log(Workload.from_frame(jobs.with_columns(requested_s=pl.Series(drawn)), name="hidden"), log.cluster)


def _closed_job_gap(kind: str, *, steps: int = 12_000, hidden: bool = False) -> float:
    """Returns which part of the way from chance to the optimum the learned policy goes, on jobs it has not seen."""
    options = replace(LEARNED_FROM, estimate="requested" if hidden else "perfect")
    log, windows, _ = groups(300, seed=1)
    seen = _hidden(log) if hidden else log
    policy = _train(pick_job_vector([seen], [windows], options, SLOWDOWN, num_envs=64, seed=1), kind, steps)
    log, windows, run_s = groups(100, seed=2)
    seen = _hidden(log) if hidden else log
    unseen = pick_job_vector([seen], [windows], options, SLOWDOWN, num_envs=100)
    reached = totals(unseen, np.arange(100), policy.actions, "slowdown").mean() - 1
    chance, optimum = (np.mean([rule(each) for each in run_s]) for rule in (toy.at_random, toy.optimum))
    return float((chance - reached) / (chance - optimum))


@pytest.mark.parametrize("kind", ["kernel", "attention"])
def test_it_closes_nine_tenths_of_the_gap_in_pick_job(kind: str) -> None:
    assert 0.9 < _closed_job_gap(kind) < 1.0 + 1e-9


def test_a_network_that_must_learn_each_row_by_itself_closes_three_quarters_of_it() -> None:
    # PyTorch's comes as far here: 0.78 of the gap after as many steps.
    assert 0.75 < _closed_job_gap("mlp", steps=40_000) < 1.0 + 1e-9


def test_it_learns_nothing_where_observations_tell_nothing() -> None:
    assert _closed_job_gap("kernel", hidden=True) < 0.5


@pytest.mark.every(2)
@pytest.mark.parametrize("kind", ["hosts", "mlp"])
def test_it_closes_nine_tenths_of_the_gap_in_pick_host(kind: str) -> None:
    assert 0.9 < closed_host_gap(lambda vector: _train(vector, kind, 12_000)) < 1.0 + 1e-9


def _fresh(kind: str = "kernel", threads: int = 1, options: PpoOptions = OPTIONS) -> NativePpo:
    network = NetworkOptions(kind=kind)
    if kind == "hosts":
        vector = pick_host_vector(PickHostOptions(num_hosts=5), RewardOptions(), num_envs=40, seed=1, threads=threads)
    else:
        log, windows, _ = groups(50, seed=1)
        shown = PickJobOptions(window=6, lookahead_size=2)
        vector = pick_job_vector(
            [log], [windows], shown, RewardOptions(), num_envs=40, seed=1, max_steps=3, threads=threads
        )
    return NativePpo(vector, fresh_network(network, vector.layout, seed=1), options, steps=10_000, seed=1)


def _figures(update: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in update.items() if not name.endswith("_s") or name.startswith("episode/")}


@pytest.mark.every(4)
@pytest.mark.parametrize("kind", ["kernel", "mlp", "attention", "hosts"])
def test_a_saved_state_goes_on_bit_for_bit(kind: str) -> None:
    first, second = _fresh(kind), _fresh(kind)
    first.update()
    policy = first.policy_tensors()
    second.load_state(policy, first.state(), "here")
    assert _figures(first.update()) == _figures(second.update())
    other = second.policy_tensors()
    assert all(np.array_equal(tensor, other[name]) for name, tensor in first.policy_tensors().items())
    assert any(not np.array_equal(tensor, other[name]) for name, tensor in policy.items())


@pytest.mark.parametrize("kind", ["kernel", "attention", "hosts"])
def test_weights_do_not_depend_on_the_number_of_threads(kind: str) -> None:
    alone, again, together = _fresh(kind), _fresh(kind), _fresh(kind, threads=2)
    for _ in range(3):
        expected = _figures(alone.update())
        assert _figures(again.update()) == expected
        assert _figures(together.update()) == expected
    own = alone.policy_tensors()
    for other in (again.policy_tensors(), together.policy_tensors()):
        assert all(np.array_equal(tensor, other[name]) for name, tensor in own.items())


def test_another_seed_learns_otherwise() -> None:
    ppo = _fresh()
    vector = ppo._environments
    other = NativePpo(vector, fresh_network(NetworkOptions(), vector.layout, seed=1), OPTIONS, steps=10_000, seed=2)
    assert _figures(_fresh().update()) != _figures(other.update())


def test_an_update_ends_when_the_policy_has_moved_too_far() -> None:
    free, held = _fresh(options=replace(OPTIONS, target_kl=None)), _fresh(options=replace(OPTIONS, target_kl=1e-9))
    free.update()
    held.update()
    # The first gradient step starts from the policy that played, which has not moved at all.
    assert held.state().facts["gradient_steps"] == 1
    assert free.state().facts["gradient_steps"] == OPTIONS.epochs * -(-40 * OPTIONS.rollout_steps // OPTIONS.minibatch)


def test_a_training_that_diverges_says_so() -> None:
    ppo = _fresh(options=replace(OPTIONS, learning_rate=1e30, target_kl=None, max_gradient_norm=1e30))
    with pytest.raises(DivergenceError, match=r"is (nan|inf|-inf): training has diverged"):
        ppo.update()


MASK = 2**64 - 1


def _mix(value: int) -> int:
    """SplitMix64's output, one step after a value; the core's ``model/random.rs``."""
    z = (value + 0x9E37_79B9_7F4A_7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58_476D_1CE4_E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D0_49BB_1331_11EB) & MASK
    return z ^ (z >> 31)


class _Mirror(Ppo):
    """PyTorch's PPO with the random numbers of the core's."""

    seed = 1
    rounds = 0

    def update(self) -> dict[str, float]:
        figures = super().update()
        self.rounds += 1
        return figures

    def _draws(self, step: int, count: int) -> Tensor:
        played = _mix((_mix(self.seed ^ int.from_bytes(b"actions", "big")) + self.rounds) & MASK)
        places = _mix((played + step) & MASK)
        drawn = [_mix((places + environment) & MASK) >> 11 for environment in range(count)]
        return torch.tensor(drawn, dtype=torch.float64).div(2.0**53).unsqueeze(1)

    def _order(self, epoch: int, count: int) -> Tensor:
        salted = _mix((_mix(self.seed ^ int.from_bytes(b"shuffle", "big")) + self.rounds) & MASK)
        state = _mix((salted + epoch) & MASK)
        order = list(range(count))
        for last in range(count - 1, 0, -1):
            other = _mix(state) % (last + 1)
            state = (state + 0x9E37_79B9_7F4A_7C15) & MASK
            order[last], order[other] = order[other], order[last]
        return torch.tensor(order)


TOGETHER = 2e-3
"""How far weights may be apart after a hundred updates, as a part of the largest of their tensor's: both round to 24
bits, in another order, and each update starts from what the one before has rounded."""
NEAR = 5
"""A seed of first weights with which no step comes to lie at the very edge of a clip or of a ReLU, where the last bit
decides: with a fifth of all seeds one does within a hundred updates, and from there on the two part."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["kernel", "mlp", "attention"])
@pytest.mark.parametrize("extra", [{}, {"exploration": 0.1, "value_clip": 0.2, "accumulate": 2}], ids=["plain", "all"])
def test_a_hundred_updates_stay_with_those_of_the_reference(kind: str, extra: dict[str, float]) -> None:
    torch.set_num_threads(1)
    options = replace(
        PpoOptions(num_envs=20, rollout_steps=8, minibatch=40, epochs=2, learning_rate=1e-3, target_kl=None),
        **extra,  # type: ignore[arg-type]
    )
    network = NetworkOptions(kind=kind, hidden=(8, 6))
    log, windows, _ = groups(50, seed=1)
    shown = PickJobOptions(window=6, lookahead_size=2, estimate="perfect")

    def vector() -> NativeVectorEnv:
        return pick_job_vector([log], [windows], shown, RewardOptions(), num_envs=20, seed=1, max_steps=5)

    def fresh() -> tuple[NativePpo, Ppo]:
        one, other = vector(), vector()
        native = NativePpo(one, fresh_network(network, one.layout, seed=NEAR), options, steps=20_000, seed=1)
        return native, _Mirror(other, build(network, one.layout, seed=NEAR), options, steps=20_000, seed=1)

    native, reference = fresh()
    began = native.policy_tensors()
    for _ in range(100):
        figures, expected = native.update(), reference.update()
    for name in (
        "loss",
        "policy_loss",
        "value_loss",
        "entropy",
        "explained_variance",
        "return",
        "episodes",
        "wait_share",
    ):
        assert figures[name] == pytest.approx(expected[name], rel=2e-2, abs=2e-3), name
    found = native.policy_tensors()
    moved = 0.0
    for name, tensor in reference.policy_tensors().items():
        largest = float(np.abs(tensor).max()) if tensor.size else 1.0
        apart = float(np.abs(found[name] - tensor).max()) if tensor.size else 0.0
        assert apart <= TOGETHER * max(largest, 1e-3), name
        moved = max(moved, float(np.abs(began[name] - tensor).max()) if tensor.size else 0.0)
    # They have moved far more than they are apart.
    assert moved > 100 * TOGETHER
