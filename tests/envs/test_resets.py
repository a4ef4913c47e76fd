"""What a reset may be asked for, in the words of Gymnasium's vector environments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from shunter.envs import NativeVectorEnv, PickHostEnv, make_vec
from shunter.errors import InputError
from tests.envs.small import allowed_action

HOST: dict[str, Any] = {"num_hosts": 3, "episode_length": 4, "episodes": 7}


def hosts(count: int = 3, autoreset: bool = False) -> NativeVectorEnv:
    return make_vec("shunter/PickHost-v0", count, autoreset=autoreset, **HOST)


@pytest.mark.parametrize("autoreset", [False, True])
def test_a_mask_says_who_begins_as_in_gymnasium(autoreset: bool) -> None:
    vector = hosts(autoreset=autoreset)
    mode = AutoresetMode.SAME_STEP if autoreset else AutoresetMode.DISABLED
    singles = SyncVectorEnv([lambda: PickHostEnv(**HOST)] * 3, autoreset_mode=mode)
    for env in (vector, singles):
        _, infos = env.reset(options={"episode": 2})
    for _ in range(3):
        actions = allowed_action(infos["action_mask"], np.random.default_rng(0))
        singles.step(actions)
        *_, infos = vector.step(actions)
    begins = np.array([True, False, True])
    options = {"episode": 5, "reset_mask": begins}
    observations, infos = vector.reset(options=options)
    expected, others = singles.reset(options=dict(options))
    assert np.array_equal(observations, expected)
    assert vector.view().episode.tolist() == [5, 2, 5]
    assert np.array_equal(infos["action_mask"][begins], others["action_mask"][begins])
    assert np.array_equal(infos["action_mask"], singles.call("action_masks"))
    assert infos["_action_mask"].all()
    assert options["reset_mask"] is begins


def test_those_that_go_on_keep_their_episode_while_others_draw() -> None:
    vector = hosts(16)
    vector.reset(options={"episode": 6})
    begins = np.arange(16) >= 8
    vector.reset(seed=1, options={"reset_mask": begins})
    drawn = vector.view().episode
    assert (drawn[:8] == 6).all()
    assert len(set(drawn[8:].tolist())) > 2


def test_a_mask_that_leaves_one_that_never_began() -> None:
    with pytest.raises(InputError, match="environment 1 has no episode to go on with; begin one"):
        hosts().reset(options={"reset_mask": np.array([True, False, True])})


def test_a_seed_for_each_chooses_as_a_single_environment_does() -> None:
    vector, single = hosts(5, autoreset=True), PickHostEnv(**HOST)
    seeds = [4, 9, 2**64 - 1, 0, 4]
    observations, _ = vector.reset(seed=seeds)
    for seed, observation, episode in zip(seeds, observations, vector.view().episode, strict=True):
        expected, info = single.reset(seed=seed)
        assert episode == info["episode_number"]
        assert np.array_equal(observation, expected)


def test_seeds_for_each_decide_the_episodes_behind_them_too() -> None:
    def played(seed: Any) -> list[list[int]]:  # noqa: ANN401 - a seed, or many
        vector = hosts(4, autoreset=True)
        _, infos = vector.reset(seed=seed)
        random, seen = np.random.default_rng(0), []
        for _ in range(60):
            *_, infos = vector.step(allowed_action(infos["action_mask"], random))
            seen.append(vector.view().episode.tolist())
        return seen

    first = PickHostEnv(**HOST).reset(seed=4)[1]["episode_number"]
    alike = next(seed for seed in range(5, 99) if PickHostEnv(**HOST).reset(seed=seed)[1]["episode_number"] == first)
    expected, other = played([1, 2, 3, 4]), played([1, 2, 3, alike])
    assert expected == played(np.array([1, 2, 3, 4]))
    assert expected[0] == other[0]
    assert expected != other


def test_none_among_the_seeds_lets_the_drawing_go_on() -> None:
    vector, other = hosts(3), hosts(3)
    for one in (vector, other):
        one.reset(seed=8)
    vector.reset(seed=[None, None, None])
    other.reset()
    assert np.array_equal(vector.view().episode, other.view().episode)
    vector.reset(seed=[3, None, 5], options={"reset_mask": np.array([False, True, False])})
    other.reset(options={"reset_mask": np.array([False, True, False])})
    assert np.array_equal(vector.view().episode, other.view().episode)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"seed": -1}, "seed is -1; expected a whole number from 0 to 18446744073709551615"),
        ({"seed": 2**64}, "seed is 18446744073709551616; expected a whole number"),
        ({"seed": 1.0}, "seed is 1.0; expected a whole number"),
        ({"seed": "1"}, "seed is '1'; expected a whole number"),
        ({"seed": True}, "seed is True; expected a whole number"),
        ({"seed": [1, 2]}, "seed has 2 values; expected one, or 3, one for each environment"),
        ({"seed": [1, 2, -3]}, "seed is -3; expected a whole number"),
        ({"seed": [1, 2, 0.5]}, "seed is 0.5; expected a whole number"),
        ({"options": {"episode": 7}}, "episode is 7; expected a whole number from 0 to 6"),
        ({"options": {"episode": -1}}, "episode is -1; expected a whole number from 0 to 6"),
        ({"options": {"episode": 1.5}}, "episode is 1.5; expected a whole number from 0 to 6"),
        ({"options": {"episode": "12"}}, "episode is '12'; expected a whole number from 0 to 6"),
        ({"options": {"episode": [1, 2]}}, "episode has 2 values; expected one, or 3, one for each environment"),
        ({"options": {"episode": [1, 2, -2]}}, "episode is -2; expected a whole number from 0 to 6"),
        ({"options": {"episodes": 1}}, "unknown reset option 'episodes'; did you mean 'episode'?"),
        ({"options": {"reset_mask": [True] * 3}}, "reset_mask is list; expected an array, bool (3,)"),
        ({"options": {"reset_mask": np.ones(3)}}, "reset_mask is float64 (3,); expected an array, bool (3,)"),
        ({"options": {"reset_mask": np.ones(2, bool)}}, "reset_mask is bool (2,); expected an array, bool (3,)"),
        ({"options": {"reset_mask": np.zeros(3, bool)}}, "reset_mask is False everywhere; expected at least one"),
    ],
)
def test_mistakes(asked: dict[str, Any], message: str) -> None:
    vector = hosts()
    vector.reset(seed=3)
    before = vector.state()
    with pytest.raises(InputError) as error:
        vector.reset(**asked)
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert vector.state() == before


@pytest.mark.parametrize("seed", [-1, 2**64, 1.0, "1", [1]])
def test_seeds_that_single_environments_and_reseed_refuse(seed: Any) -> None:  # noqa: ANN401 - many kinds
    with pytest.raises(InputError, match=r"seed is .*; expected a whole number from 0"):
        PickHostEnv(**HOST).reset(seed=seed)
    with pytest.raises(InputError, match=r"seed is .*; expected a whole number from 0"):
        hosts().reseed(seed)
