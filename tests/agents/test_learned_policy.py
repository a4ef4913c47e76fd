"""Policies that come from a checkpoint."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from shunter.agents.common.normalization import ValueNormalizer
from shunter.agents.common.tensors import network_tensors, prefixed
from shunter.agents.learned_policy import LearnedPolicy, load_policy
from shunter.agents.networks import NetworkOptions, build
from shunter.agents.networks.base import Network
from shunter.agents.training.checkpoint_files import NORMALIZER, POLICY, Part, PolicyRecord, write_checkpoint
from shunter.envs.pick_job import PickJobOptions
from shunter.errors import InputError, ShunterError
from tests.agents.observing import random_jobs

ENVIRONMENT = PickJobOptions(window=5, lookahead_size=3, mode="feasible")
LAYOUT = ENVIRONMENT.layout
RECORD = PolicyRecord(LAYOUT, ENVIRONMENT, NetworkOptions(kind="mlp", hidden=(8,)))


def _network(seed: int = 1) -> Network:
    network = build(RECORD.network, LAYOUT, seed)
    torch.nn.init.normal_(network.policy_layers()[0].weight, generator=torch.Generator().manual_seed(seed))
    return network


def _saved(folder: Path, seed: int = 1, record: PolicyRecord = RECORD) -> Network:
    network = _network(seed)
    write_checkpoint(folder, {POLICY: Part(network_tensors(network), record.to_json())})
    return network


def test_a_loaded_policy_decides_as_the_network_that_was_saved(tmp_path: Path) -> None:
    network = _saved(tmp_path / "best")
    policy = load_policy(tmp_path / "best")
    assert (policy.kind, policy.layout, policy.options) == ("pick-job", LAYOUT, ENVIRONMENT)
    observations, masks = random_jobs(50, LAYOUT)
    probabilities = policy.action_probabilities(observations.numpy(), masks.numpy())
    with torch.inference_mode():
        logits = network(observations, masks)[0].masked_fill(~masks, -torch.inf)
    assert probabilities == pytest.approx(torch.softmax(logits, dim=1).numpy(), abs=1e-6)
    actions = policy.actions(observations.numpy(), masks.numpy())
    assert actions.dtype == np.int32
    assert actions.tolist() == logits.argmax(dim=1).tolist()
    assert len(set(actions.tolist())) > 2


def test_it_says_what_it_is(tmp_path: Path) -> None:
    _saved(tmp_path / "run" / "best", record=replace(RECORD, training={"steps": 4096}))
    folder = tmp_path / "run" / "best"
    assert repr(load_policy(tmp_path / "run")) == (
        f"LearnedPolicy('pick-job', network='{RECORD.network.kind}', folder='{folder}', steps=4096)"
    )


def test_one_observation_or_many(tmp_path: Path) -> None:
    _saved(tmp_path)
    policy = load_policy(str(tmp_path))
    observations, masks = (each.numpy() for each in random_jobs(6, LAYOUT))
    many = policy.actions(observations, masks)
    assert policy.actions(observations[3], masks[3]) == many[3]
    assert policy.actions(observations[3], masks[3]).shape == ()
    assert policy.action_probabilities(observations[3], masks[3]).shape == (6,)
    assert (
        policy.actions(observations.reshape(2, 3, -1), masks.reshape(2, 3, -1)).tolist() == many.reshape(2, 3).tolist()
    )


def test_of_a_run_the_best_is_taken_else_the_last(tmp_path: Path) -> None:
    last = _saved(tmp_path / "last", seed=1)
    assert torch.equal(load_policy(tmp_path).network.state_dict()["value.weight"], last.state_dict()["value.weight"])
    best = _saved(tmp_path / "best", seed=2)
    assert torch.equal(load_policy(tmp_path).network.state_dict()["value.weight"], best.state_dict()["value.weight"])


def test_files_are_found_beside_the_checkpoint(tmp_path: Path) -> None:
    tuned = tmp_path / "tuned.toml"
    tuned.write_text('[policy]\nkind = "linear"\n')
    record = replace(RECORD, options=replace(ENVIRONMENT, order=str(tuned)))
    write_checkpoint(tmp_path / "best", {POLICY: Part(network_tensors(_network()), record.to_json())}, record.files)
    tuned.unlink()
    (tmp_path / "best").rename(tmp_path / "moved")
    options = load_policy(tmp_path / "moved").options
    assert isinstance(options, PickJobOptions)
    assert options.order == str(tmp_path / "moved" / "tuned.toml")


def test_what_is_no_policy_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no checkpoint here"):
        load_policy(tmp_path)
    _saved(tmp_path / "a", record=replace(RECORD, layout=replace(LAYOUT, window=6)))
    with pytest.raises(InputError, match="layout and options do not agree"):
        load_policy(tmp_path / "a")
    _saved(tmp_path / "b", record=replace(RECORD, network=NetworkOptions(kind="mlp", hidden=(9,))))
    with pytest.raises(InputError, match=r"policy\.safetensors: are the weights of another network"):
        load_policy(tmp_path / "b")
    network = _network()
    next(network.parameters()).data.fill_(float("nan"))
    write_checkpoint(tmp_path / "c", {POLICY: Part(network_tensors(network), RECORD.to_json())})
    with pytest.raises(InputError, match="holds numbers that are not finite"):
        load_policy(tmp_path / "c")


def test_observations_of_another_shape_and_empty_masks_are_refused() -> None:
    policy = LearnedPolicy(_network(), RECORD)
    observations, masks = (each.numpy() for each in random_jobs(4, LAYOUT))
    with pytest.raises(
        InputError, match="observations have 3 numbers and 6 actions; the policy was made for 124 and 6"
    ):
        policy.actions(observations[:, :3], masks)
    with pytest.raises(ShunterError, match="allows no action"):
        policy.action_probabilities(observations, np.zeros_like(masks))


def test_an_action_is_the_best_or_drawn(tmp_path: Path) -> None:
    _saved(tmp_path)
    policy = load_policy(tmp_path)
    observations, masks = (each.numpy() for each in random_jobs(20, LAYOUT))
    for observation, mask, best in zip(observations, masks, policy.actions(observations, masks), strict=True):
        assert policy.action(observation, mask) == best
    probabilities = policy.action_probabilities(observations, masks)
    doubtful = int(probabilities.max(axis=1).argmin())
    observation, mask = observations[doubtful], masks[doubtful]
    drawn = [policy.action(observation, mask, deterministic=False, seed=seed) for seed in range(200)]
    assert drawn == [policy.action(observation, mask, deterministic=False, seed=seed) for seed in range(200)]
    assert mask[drawn].all()
    shares = np.bincount(drawn, minlength=len(mask)) / len(drawn)
    assert np.abs(shares - probabilities[doubtful]).max() < 0.15
    assert len({policy.action(observation, mask, deterministic=False) for _ in range(100)}) > 1


def test_mistakes_in_asking_for_an_action() -> None:
    policy = LearnedPolicy(_network(), RECORD)
    observations, masks = (each.numpy() for each in random_jobs(3, LAYOUT))
    with pytest.raises(InputError, match=r"the mask has 2 dimensions; expected 1, for actions\(\) takes many"):
        policy.action(observations, masks)
    with pytest.raises(InputError, match="seed is -1; expected a whole number"):
        policy.action(observations[0], masks[0], deterministic=False, seed=-1)
    with pytest.raises(InputError, match="observations have 2 numbers"):
        policy.action(observations[0, :2], masks[0])


def test_values_are_in_the_units_of_the_reward(tmp_path: Path) -> None:
    network, normalizer = _network(), ValueNormalizer()
    normalizer.update(torch.tensor([90.0, 110.0, 130.0]))
    units = prefixed(NORMALIZER, normalizer.state_dict())
    write_checkpoint(tmp_path, {POLICY: Part(network_tensors(network) | units, RECORD.to_json())})
    observations, masks = random_jobs(6, LAYOUT)
    with torch.inference_mode():
        expected = normalizer.denormalize(network(observations, masks)[1])
    values = load_policy(tmp_path).values(observations.numpy(), masks.numpy())
    assert values.dtype == np.float32
    assert values.tolist() == pytest.approx(expected.tolist())
    assert values.mean() > 50
    one = load_policy(tmp_path).values(observations[2].numpy(), masks[2].numpy())
    assert one.shape == ()
    assert float(one) == pytest.approx(float(expected[2]))
    _saved(tmp_path / "without")
    assert abs(load_policy(tmp_path / "without").values(observations.numpy(), masks.numpy()).mean()) < 50
