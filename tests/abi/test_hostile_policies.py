"""Whatever a hostile caller asks of a learned policy or a training is refused in one line, or answered soundly."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.agents.networks import NetworkOptions
from shunter.agents.training.checkpoint_files import PolicyRecord
from shunter.envs import make_vec
from shunter.envs.network import NativeNetwork
from shunter.envs.pick_job import PickJobOptions
from shunter.envs.vector import NativeVectorEnv
from shunter.native import RESULTS, Handle, ffi, last_error, lib, opened, pointer
from tests.abi.hostile import ANY_INT32, HOSTILE

OPTIONS = PickJobOptions(window=3, lookahead_size=2)
SIZE, ACTIONS = OPTIONS.layout.observation_size, OPTIONS.layout.actions
REFUSALS = {RESULTS[name] for name in ("invalid-argument", "invalid-handle", "refused")}
ANY_FLOAT = st.floats(width=32) | st.sampled_from([0.0, 1.0, -1.0, 3e38])
LOSS = {"clip": 0.2, "value_clip": -1.0, "value_weight": 0.5, "entropy_weight": 0.01, "exploration": 0.0}
PPO = {
    "rollout_steps": 4,
    "epochs": 1,
    "minibatch": 4,
    "gamma": 1.0,
    "gae_lambda": 0.95,
    "max_gradient_norm": 0.5,
    "target_kl": -1.0,
    "normalize_values": 1,
    "normalize_advantages": 1,
}


@pytest.fixture(scope="module")
def network() -> NativeNetwork:
    """A network whose weights say something."""
    options = NetworkOptions(kind="mlp", hidden=(5,))
    network = NativeNetwork.open(PolicyRecord(OPTIONS.layout, OPTIONS, options).to_json())
    random = np.random.default_rng(1)
    network.set({name: random.normal(size=shape).astype(np.float32) for name, shape in network.shapes.items()})
    return network


@pytest.fixture(scope="module")
def vector() -> NativeVectorEnv:
    log = "generate:lublin?seed=3&jobs=60&cores=16&load=1.2&requests=factor"
    vector = make_vec("shunter/PickJob-v0", 2, workload=log, length=10, window=3, lookahead_size=2, part=(0.0, 1.0))
    assert isinstance(vector, NativeVectorEnv)
    return vector


def refused(status: int) -> bool:
    """Returns whether a call was refused, which it must be in one line if it was."""
    assert status == 0 or status in REFUSALS, last_error()
    assert status == 0 or (last_error() and "\n" not in last_error())
    return status != 0


def _allow_something(seen: np.ndarray[Any, Any], masks: np.ndarray[Any, Any]) -> bool:
    """Returns whether each mask allows to wait, or a row that is filled: filled rows come first, and say so."""
    filled = OPTIONS.layout.split(seen.reshape(2, -1))["jobs"][..., 0] > 0
    rows = np.logical_and.accumulate(filled, axis=1) & (masks.reshape(2, -1)[:, 1:] > 0)
    return bool(((masks.reshape(2, -1)[:, 0] > 0) | rows.any(axis=1)).all())


@HOSTILE
@given(
    numbers=st.lists(ANY_FLOAT, min_size=2 * SIZE, max_size=2 * SIZE),
    allowed=st.lists(st.integers(0, 3) | st.integers(0, 255), min_size=2 * ACTIONS, max_size=2 * ACTIONS),
    draws=st.integers(0, 1) | ANY_INT32,
    seed=st.integers(0, 2**64 - 1),
)
def test_any_observations_are_refused_or_answered(
    network: NativeNetwork, numbers: list[float], allowed: list[int], draws: int, seed: int
) -> None:
    seen = np.array(numbers, np.float32)
    masks = np.array(allowed, np.uint8)
    actions = np.full(2, -7, np.int32)
    logits, values = np.empty(2 * ACTIONS, np.float32), np.empty(2, np.float32)
    given = (network.handle.number, pointer(seen), pointer(masks), 2)
    is_sound = np.isfinite(seen).all() and (masks <= 1).all() and _allow_something(seen, masks)
    assert refused(lib.shunter_policy_evaluate(*given, pointer(logits), pointer(values))) == (not is_sound)
    if refused(lib.shunter_policy_actions(*given, draws, seed, pointer(actions))):
        assert not is_sound or draws not in (0, 1)
    else:
        assert masks.reshape(2, -1)[[0, 1], actions].all()


@HOSTILE
@given(text=st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_bytes_are_a_description_or_refused(text: bytes) -> None:
    number = ffi.new("uint64_t *")
    assert refused(lib.shunter_policy_open(text, len(text), number))
    assert refused(lib.shunter_policy_load(text, len(text), number))


def test_made_up_and_closed_handles(network: NativeNetwork, vector: NativeVectorEnv) -> None:
    closed = NativeNetwork.open(PolicyRecord(OPTIONS.layout, OPTIONS, NetworkOptions()).to_json()).handle
    closed.close()
    sizes = [ffi.new("uintptr_t *") for _ in range(3)]
    number, over, steps = ffi.new("uint64_t *"), ffi.new("int32_t *"), ffi.new("uint64_t *")
    numbers, units, loss = np.zeros(9, np.float32), np.zeros(3), ffi.new("ShunterLossOptions *", LOSS)
    actions, masks, cost = np.zeros(1, np.int32), np.ones(1, np.uint8), ffi.new("double *")
    one = pointer(numbers)
    for handle in (0, 1, 2**64 - 1, closed.number, vector.handle.number):
        calls = [
            lib.shunter_policy_sizes(handle, *sizes),
            lib.shunter_policy_names(handle, ffi.NULL, 0, sizes[0]),
            lib.shunter_policy_set(handle, pointer(numbers), 9, pointer(units)),
            lib.shunter_policy_get(handle, pointer(numbers), 9, pointer(units)),
            lib.shunter_policy_instructions(handle, -1, over),
            lib.shunter_policy_evaluate(handle, ffi.NULL, ffi.NULL, 0, ffi.NULL, ffi.NULL),
            lib.shunter_policy_actions(handle, ffi.NULL, ffi.NULL, 0, 0, 0, ffi.NULL),
            lib.shunter_policy_gradient(handle, loss, one, pointer(masks), 1, pointer(actions), one, one, cost),
            lib.shunter_policy_decide(handle, handle, ffi.NULL, 0, 0, number),
            lib.shunter_env_play(vector.handle.number, handle, 1, over),
            lib.shunter_learner_open(handle, ffi.new("ShunterPpoOptions *", PPO), loss, 1, number),
            lib.shunter_learner_get(handle, pointer(numbers), pointer(numbers), 9, steps, number),
            lib.shunter_learner_set(handle, pointer(numbers), pointer(numbers), 9, 0, 0),
            lib.shunter_learner_update(handle, vector.handle.number, network.handle.number, loss, 0.1, LEARNED),
        ]
        assert calls == [RESULTS["invalid-handle"]] * len(calls)


LEARNED = ffi.new("ShunterLearned *")


@pytest.mark.parametrize(
    ("options", "loss"),
    [
        ({"rollout_steps": 0}, {}),
        ({"rollout_steps": 2**64 - 1}, {}),
        ({"epochs": 0}, {}),
        ({"minibatch": 0}, {}),
        ({"minibatch": 2**63}, {}),
        ({"gamma": float("nan")}, {}),
        ({"target_kl": float("inf")}, {}),
        ({}, {"clip": float("nan")}),
        ({}, {"exploration": float("-inf")}),
    ],
)
def test_trainings_that_cannot_be(network: NativeNetwork, options: dict[str, Any], loss: dict[str, Any]) -> None:
    number = ffi.new("uint64_t *")
    given = ffi.new("ShunterPpoOptions *", PPO | options), ffi.new("ShunterLossOptions *", LOSS | loss)
    assert refused(lib.shunter_learner_open(network.handle.number, *given, 1, number))


def test_a_training_is_asked_wrongly(network: NativeNetwork, vector: NativeVectorEnv) -> None:
    number, steps, loss = ffi.new("uint64_t *"), ffi.new("uint64_t *"), ffi.new("ShunterLossOptions *", LOSS)
    ppo = ffi.new("ShunterPpoOptions *", PPO)
    for asked in ((ffi.NULL, loss, 1, number), (ppo, ffi.NULL, 1, number), (ppo, loss, 1, ffi.NULL)):
        assert refused(lib.shunter_learner_open(network.handle.number, *asked))
    learner: Handle = opened(lib.shunter_learner_open, network.handle.number, ppo, loss, 1)
    numbers = np.zeros(network.size + 1, np.float32)
    both = (pointer(numbers), pointer(numbers))
    for length in (0, network.size - 1, network.size + 1):
        assert refused(lib.shunter_learner_get(learner.number, *both, length, steps, number))
        assert refused(lib.shunter_learner_set(learner.number, *both, length, 0, 0))
    numbers[0] = np.nan
    assert refused(lib.shunter_learner_set(learner.number, *both, network.size, 0, 0))
    assert refused(lib.shunter_learner_get(learner.number, ffi.NULL, pointer(numbers), network.size, steps, number))
    assert refused(lib.shunter_learner_get(learner.number, *both, network.size, ffi.NULL, number))
    update = (learner.number, vector.handle.number, network.handle.number)
    for rate in (float("nan"), float("inf"), -1.0):
        assert refused(lib.shunter_learner_update(*update, loss, rate, LEARNED))
    assert refused(lib.shunter_learner_update(*update, ffi.NULL, 0.1, LEARNED))
    assert refused(lib.shunter_learner_update(*update, loss, 0.1, ffi.NULL))


def test_gradients_are_asked_for_wrongly(network: NativeNetwork) -> None:
    loss, cost = ffi.new("ShunterLossOptions *", LOSS), ffi.new("double *")
    seen, masks = np.full((2, SIZE), 0.5, np.float32), np.ones((2, ACTIONS), np.uint8)
    samples, gradient = np.zeros((2, 4), np.float32), np.zeros(network.size, np.float32)

    def status(actions: list[int], count: int = 2, options: Any = loss, into: Any = None) -> int:  # noqa: ANN401 - cffi's
        chosen = np.array(actions, np.int32)
        given = (pointer(seen), pointer(masks), count, pointer(chosen), pointer(samples))
        target = pointer(gradient) if into is None else into
        found: int = lib.shunter_policy_gradient(network.handle.number, options, *given, target, cost)
        return found

    assert not refused(status([0, 1]))
    assert refused(status([0, ACTIONS]))
    assert refused(status([0, -1]))
    assert refused(status([0, 1], count=0))
    assert refused(status([0, 1], options=ffi.NULL))
    assert refused(status([0, 1], into=ffi.NULL))
    assert refused(status([0, 1], count=2**63))


def test_a_description_may_hold_more_than_is_read() -> None:
    about = PolicyRecord(OPTIONS.layout, OPTIONS, NetworkOptions()).to_json()
    assert NativeNetwork.open(json.loads(json.dumps(about | {"remark": [None, {"x": 1e300}]}))).size > 0
