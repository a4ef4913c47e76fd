"""The core's replay buffer, against a plain statement of it and against numbers worked out by hand."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shunter.agents.common.replay import Drawn, Replay
from shunter.envs import make_vec
from shunter.envs.layout import Layout
from shunter.envs.vector import NativeVectorEnv, StepArrays
from shunter.errors import InputError
from shunter.policies.catalog import PICK_JOB
from tests.agents.common.plain_replay import HOSTS, JOBS, STEP, PlainReplay, RandomEnvironments, new_arrays
from tests.support import examples

NEAR = 0.51 / STEP
"""How far a stored number may be off."""


def _numbers(drawn: Drawn) -> list[int]:
    """Returns which observations were drawn."""
    return [round(float(first) * STEP) for first in drawn.observations[:, 0]]


def _same(one: Drawn, other: Drawn) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in Drawn.__dataclass_fields__)


def _filled(layout: Layout = JOBS, *, steps: int = 30, **options: Any) -> Replay:  # noqa: ANN401 - numbers
    """Returns a buffer of three environments after some steps."""
    replay = Replay(layout, 3, **{"capacity": 60, "n_step": 2, "gamma": 0.9, "seed": 5} | options)
    environments = RandomEnvironments(layout, 3, seed=1)
    environments.reset()
    replay.begin(environments.arrays.observations, environments.arrays.masks)
    for _ in range(steps):
        replay.add(environments.step(), environments.arrays)
    return replay


@examples(60)
@given(
    layout=st.sampled_from([JOBS, HOSTS]),
    num_envs=st.integers(1, 4),
    each=st.integers(1, 12),
    n_step=st.integers(1, 5),
    gamma=st.sampled_from([0.0, 0.5, 0.97, 1.0]),
    end_share=st.sampled_from([0.0, 0.1, 0.4]),
    steps=st.integers(0, 30),
    cut=st.integers(0, 40),
    seed=st.integers(0, 2**32),
)
def test_samples_are_those_of_the_plain_buffer(
    layout: Layout,
    num_envs: int,
    each: int,
    n_step: int,
    gamma: float,
    end_share: float,
    steps: int,
    cut: int,
    seed: int,
) -> None:
    capacity = num_envs * max(each, n_step)
    replay = Replay(layout, num_envs, capacity=capacity, n_step=n_step, gamma=gamma, seed=seed)
    plain = PlainReplay(num_envs, capacity, n_step, gamma)
    environments = RandomEnvironments(layout, num_envs, seed, end_share=end_share)
    environments.reset()
    replay.begin(environments.arrays.observations, environments.arrays.masks)
    plain.begin(environments.arrays)
    for step in range(steps):
        actions = environments.step()
        replay.add(actions, environments.arrays)
        plain.add(actions, environments.arrays)
        if step == cut:
            environments.reset()
            replay.begin(environments.arrays.observations, environments.arrays.masks)
            plain.begin(environments.arrays)
    expected = plain.transitions()
    assert len(replay) == len(expected)
    if not expected:
        with pytest.raises(InputError, match="no transition can be drawn yet"):
            replay.sample(1)
        return
    drawn = replay.sample(40 * len(expected))
    numbers = _numbers(drawn)
    # The chance that one of at most 48 is missed is below 1e-15.
    assert set(numbers) == set(expected)
    places = drawn.places.tolist()
    assert len(set(zip(numbers, places, strict=True))) == len(set(places)) == len(expected)
    for sample, number in enumerate(numbers):
        one = expected[number]
        assert np.abs(drawn.observations[sample] - one.observation).max() <= NEAR
        assert drawn.masks[sample].tolist() == one.mask
        assert drawn.actions[sample] == one.action
        assert drawn.returns[sample] == pytest.approx(one.total, rel=1e-6, abs=1e-6)
        assert drawn.discounts[sample] == pytest.approx(one.discount, rel=1e-6)
        if one.next is None:
            assert drawn.next_masks[sample].any()
        else:
            assert np.abs(drawn.next_observations[sample] - one.next[0]).max() <= NEAR
            assert drawn.next_masks[sample].tolist() == one.next[1].tolist()
    assert (drawn.weights == 1.0).all()


class _Line:
    """One environment that shows numbers in a row: 0, 1, 2 …, each by its first number."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - numbers
        self.replay = Replay(HOSTS, 1, **{"capacity": 10, "gamma": 0.5, "seed": 1} | options)
        self.arrays = new_arrays(HOSTS, 1)
        self._shown = 0
        self._show(self.arrays.observations)
        self.arrays.masks[:] = True
        self.arrays.final_masks[:] = True
        self.replay.begin(self.arrays.observations, self.arrays.masks)

    def _show(self, where: np.ndarray[Any, Any]) -> None:
        where[0, 0] = self._shown / STEP
        self._shown += 1

    def step(self, reward: float, *, terminated: bool = False, truncated: bool = False) -> None:
        self.arrays.rewards[:] = reward
        self.arrays.terminated[:], self.arrays.truncated[:] = terminated, truncated
        if truncated:
            self._show(self.arrays.final_observations)
        self._show(self.arrays.observations)
        self.replay.add(np.zeros(1, np.int32), self.arrays)

    def told(self) -> dict[int, tuple[float, float, int]]:
        """Returns return, discount and what is seen next, by what was acted on."""
        drawn = self.replay.sample(500)
        rows = zip(_numbers(drawn), drawn.returns, drawn.discounts, drawn.next_observations[:, 0], strict=True)
        return {number: (float(total), float(by), round(float(seen) * STEP)) for number, total, by, seen in rows}


def test_n_steps_by_hand() -> None:
    line = _Line(n_step=3)
    for reward in (1.0, 2.0):
        line.step(reward)
        assert len(line.replay) == 0
    line.step(4.0)
    assert line.told() == {0: (1.0 + 1.0 + 1.0, 0.125, 3)}
    line.step(8.0)
    assert line.told() == {0: (3.0, 0.125, 3), 1: (2.0 + 2.0 + 2.0, 0.125, 4)}


def test_an_episode_that_terminated_has_nothing_behind_it() -> None:
    line = _Line(n_step=3)
    line.step(1.0)
    line.step(2.0, terminated=True)
    line.step(100.0)
    # What would be seen next does not count, and is what was acted on last.
    assert line.told() == {0: (2.0, 0.0, 1), 1: (2.0, 0.0, 1)}


def test_an_episode_that_was_truncated_goes_on_from_its_final_observation() -> None:
    line = _Line(n_step=3)
    line.step(1.0)
    line.step(2.0, truncated=True)
    line.step(100.0)
    # 2 was the final observation; the next episode began with 3.
    assert line.told() == {0: (2.0, 0.25, 2), 1: (2.0, 0.5, 2)}


def test_an_episode_that_is_both_has_terminated() -> None:
    line = _Line()
    line.step(1.0, terminated=True, truncated=True)
    assert line.told() == {0: (1.0, 0.0, 0)}


def test_an_episode_that_was_left_was_cut_there() -> None:
    line = _Line(n_step=3)
    line.step(1.0)
    line.replay.begin(line.arrays.observations, line.arrays.masks)
    assert len(line.replay) == 0, "shown what it saw last, it goes on"
    seen = line.arrays.observations.copy()
    seen[0, 0] = 0.5
    line.replay.begin(seen, line.arrays.masks)
    assert line.told() == {0: (1.0, 0.5, 1)}


def test_the_oldest_go_first() -> None:
    line = _Line(capacity=4)
    for _ in range(11):
        line.step(1.0)
    assert sorted(line.told()) == [7, 8, 9, 10]
    assert len(line.replay) == 4


def _weighed(**options: Any) -> tuple[_Line, dict[int, int]]:  # noqa: ANN401 - numbers
    """Returns ten transitions that can be drawn, and their places."""
    line = _Line(priority_exponent=0.5, **options)
    for _ in range(10):
        line.step(0.0)
    drawn = line.replay.sample(500)
    places = dict(zip(_numbers(drawn), drawn.places.tolist(), strict=True))
    assert sorted(places) == list(range(10))
    return line, places


def _prioritize(line: _Line, places: dict[int, int], errors: dict[int, float]) -> None:
    chosen = np.array([places[number] for number in errors], np.uint64)
    line.replay.set_priorities(chosen, np.array(list(errors.values()), np.float32))


def _chi_square(counts: Counter[int], shares: dict[int, float]) -> float:
    total = sum(counts.values())
    return sum((counts[number] - share * total) ** 2 / (share * total) for number, share in shares.items())


MOST_CHI_SQUARE = 27.9
"""Of nine degrees of freedom: exceeded once in a thousand times."""


def test_draws_follow_priorities() -> None:
    line, places = _weighed()
    _prioritize(line, places, {number: (-1) ** number * float(number + 1) ** 2 for number in range(10)})
    counts = Counter(_numbers(line.replay.sample(50_000)))
    # The root of a square.
    shares = {number: (number + 1) / 55 for number in range(10)}
    assert _chi_square(counts, shares) < MOST_CHI_SQUARE
    assert _chi_square(counts, dict.fromkeys(range(10), 0.1)) > 1000


def test_draws_are_even_without_an_exponent() -> None:
    line = _Line()
    for _ in range(10):
        line.step(0.0)
    drawn = line.replay.sample(10)
    line.replay.set_priorities(drawn.places, np.arange(10, dtype=np.float32) * 100)
    counts = Counter(_numbers(line.replay.sample(50_000)))
    assert _chi_square(counts, dict.fromkeys(range(10), 0.1)) < MOST_CHI_SQUARE


def test_new_transitions_get_the_largest_priority_so_far() -> None:
    line, places = _weighed(capacity=11)
    _prioritize(line, places, {number: 1.0 if number else 4.0 for number in range(10)})
    _prioritize(line, places, {0: 1.0})
    line.step(0.0)
    counts = Counter(_numbers(line.replay.sample(50_000)))
    # One of weight 2 beside ten of weight 1.
    assert counts[10] / 50_000 == pytest.approx(2 / 12, abs=0.01)


def test_weights_by_hand() -> None:
    line, places = _weighed()
    _prioritize(line, places, {number: 16.0 if number < 5 else 1.0 for number in range(10)})
    drawn = line.replay.sample(200, importance_exponent=0.5)
    # Priorities are 4 and 1: (N · 4/25)^-½ and (N · 1/25)^-½, whose ratio is ½; the larger is divided to 1.
    expected = [0.5 if number < 5 else 1.0 for number in _numbers(drawn)]
    assert set(expected) == {0.5, 1.0}
    assert drawn.weights == pytest.approx(expected, rel=1e-5)
    assert (line.replay.sample(50).weights == 1.0).all()


def test_places_of_dropped_transitions_are_left_out() -> None:
    line, places = _weighed()
    for _ in range(10):
        line.step(0.0)
    # All ten were dropped; their places belong to others now, whose priorities stay.
    _prioritize(line, places, dict.fromkeys(range(10), 1e6))
    counts = Counter(_numbers(line.replay.sample(50_000)))
    line.step(0.0)
    after = Counter(_numbers(line.replay.sample(50_000)))
    assert _chi_square(counts, dict.fromkeys(range(10, 20), 0.1)) < MOST_CHI_SQUARE
    assert _chi_square(after, dict.fromkeys(range(11, 21), 0.1)) < MOST_CHI_SQUARE


@pytest.mark.parametrize("layout", [JOBS, HOSTS], ids=["jobs", "hosts"])
def test_a_loaded_state_goes_on_to_the_bit(layout: Layout) -> None:
    replay = _filled(layout, priority_exponent=0.6)
    drawn = replay.sample(9)
    replay.set_priorities(drawn.places, np.linspace(0, 3, 9).astype(np.float32))
    options: dict[str, Any] = {"capacity": 60, "n_step": 2, "gamma": 0.9, "priority_exponent": 0.6, "seed": 77}
    loaded = Replay(layout, 3, **options)
    loaded.load_state(replay.state())
    assert loaded.state() == replay.state()
    assert len(loaded) == len(replay)
    environments = RandomEnvironments(layout, 3, 9)
    environments.reset()
    for each in (replay, loaded):
        each.begin(environments.arrays.observations, environments.arrays.masks)
    for _ in range(25):
        actions = environments.step()
        for each in (replay, loaded):
            each.add(actions, environments.arrays)
        one, other = (each.sample(7, importance_exponent=0.4) for each in (replay, loaded))
        assert _same(one, other)
        errors = np.abs(one.returns)
        for each in (replay, loaded):
            each.set_priorities(one.places, errors)
    assert loaded.state() == replay.state()


def test_the_same_seed_draws_the_same_however_often_it_is_asked() -> None:
    one, other, third = _filled(), _filled(), _filled(seed=6)
    whole = one.sample(20)
    parts = [other.sample(count) for count in (3, 17)]
    assert np.array_equal(whole.places, np.concatenate([part.places for part in parts]))
    assert np.array_equal(whole.observations, np.concatenate([part.observations for part in parts]))
    for different in (one, third):
        assert not np.array_equal(whole.places, different.sample(20).places)


def test_altered_states_are_refused_and_change_nothing() -> None:
    replay = _filled()
    saved = replay.state()
    random = np.random.default_rng(3)
    for _ in range(300):
        altered = bytearray(saved)
        for place in random.integers(0, len(saved), random.integers(1, 4)):
            altered[place] ^= int(random.integers(1, 256))
        with pytest.raises(InputError, match="damaged; take another copy"):
            replay.load_state(bytes(altered))
    for size in (0, 1, 7, 8, 16, len(saved) // 2, len(saved) - 8, len(saved) - 1):
        with pytest.raises(InputError, match="damaged; take another copy"):
            replay.load_state(saved[:size])
    assert replay.state() == saved


@pytest.mark.parametrize("option", [{"capacity": 61}, {"n_step": 3}, {"gamma": 0.8}, {"priority_exponent": 0.1}])
def test_states_of_other_buffers_are_refused(option: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="another replay buffer"):
        _filled(**option).load_state(_filled().state())
    with pytest.raises(InputError, match="another replay buffer"):
        _filled(HOSTS).load_state(_filled().state())


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (2, 1.5, r"environment 1: feature free_gpus \(cluster\) is 1.5; expected 0 to 1"),
        (16, -0.25, r"environment 1: feature lookahead \(lookahead\) is -0.25"),
        (16 + 3 + 22 + 21, np.nan, r"environment 1: feature own of row 1 \(jobs\) is nan"),
        (16 + 3 + 1, np.inf, r"environment 1: feature log_estimate of row 0 \(jobs\) is inf"),
    ],
)
def test_numbers_out_of_range_are_named(place: int, value: float, message: str) -> None:
    environments = RandomEnvironments(JOBS, 3, 1, end_share=0.0)
    environments.reset()
    replay = Replay(JOBS, 3, capacity=60, gamma=0.9, seed=5)
    arrays = environments.arrays
    arrays.observations[1, place], kept = value, arrays.observations[1, place]
    with pytest.raises(InputError, match=message):
        replay.begin(arrays.observations, arrays.masks)
    arrays.observations[1, place] = kept
    replay.begin(arrays.observations, arrays.masks)
    before = replay.state()
    actions = environments.step()
    arrays.observations[1, place] = value
    with pytest.raises(InputError, match=message):
        replay.add(actions, arrays)
    environments.reset()
    arrays.truncated[1] = True
    arrays.final_observations[1], arrays.final_masks[1] = 0.5, True
    arrays.final_observations[1, place] = value
    with pytest.raises(InputError, match=message):
        replay.add(actions, arrays)
    assert replay.state() == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"actions": -1}, "environment 2: action -1 was added; its mask does not allow it"),
        ({"actions": 6}, "environment 2: action 6 was added; its mask does not allow it"),
        ({"rewards": np.nan}, "environment 2: the reward is NaN; expected a finite number"),
        ({"rewards": 1e300}, "environment 2: the reward is 1"),
        ({"masks": False}, "environment 2: a mask allows no action at all"),
    ],
)
def test_steps_that_cannot_be_are_refused(change: dict[str, Any], message: str) -> None:
    environments = RandomEnvironments(JOBS, 3, 1, end_share=0.0)
    environments.reset()
    replay = Replay(JOBS, 3, capacity=60, gamma=0.9, seed=5)
    with pytest.raises(InputError, match="before `begin`"):
        replay.add(np.zeros(3, np.int32), environments.arrays)
    replay.begin(environments.arrays.observations, environments.arrays.masks)
    before = replay.state()
    actions = environments.step()
    for name, value in change.items():
        (actions if name == "actions" else getattr(environments.arrays, name))[2] = value
    with pytest.raises(InputError, match=message):
        replay.add(actions, environments.arrays)
    assert replay.state() == before


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"capacity": 0}, "capacity is 0; expected a whole number"),
        ({"capacity": 2**63}, "capacity is 9223372036854775808; expected"),
        ({"capacity": 5}, "capacity is 5; 3 environments and n_step 2 need 6 or more"),
        ({"n_step": 0}, "n_step is 0; expected"),
        ({"gamma": 1.5}, "gamma is 1.5; expected"),
        ({"gamma": float("nan")}, "gamma is nan; expected"),
        ({"priority_exponent": -1}, "priority_exponent is -1; expected"),
        ({"seed": -1}, "seed is -1; expected"),
    ],
)
def test_options_out_of_range_are_refused(option: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        _filled(**option)


def test_questions_that_cannot_be_are_refused() -> None:
    replay = _filled(steps=0)
    with pytest.raises(InputError, match="no transition can be drawn yet; add more steps first"):
        replay.sample(3)
    replay = _filled()
    for count in (0, -1, 1.5):
        with pytest.raises(InputError, match="count is"):
            replay.sample(count)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="importance_exponent is 2"):
        replay.sample(1, importance_exponent=2)
    places = replay.sample(3).places
    for error in (np.nan, np.inf):
        with pytest.raises(InputError, match=r"the error of place \d+ is"):
            replay.set_priorities(places, np.array([0, error, 0], np.float32))
    with pytest.raises(InputError, match="no sample was drawn from it"):
        replay.set_priorities(np.array([2**64 - 1], np.uint64), np.zeros(1, np.float32))
    with pytest.raises(InputError, match=r"errors: the array is float64 \(3,\); expected float32 \(3,\)"):
        replay.set_priorities(places, np.zeros(3))  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"errors: the array is float32 \(2,\)"):
        replay.set_priorities(places, np.zeros(2, np.float32))


PICK_JOB_ENV = {
    "name": "shunter/PickJob-v0",
    "workload": "generate:lublin?seed=3&jobs=200&cores=32&load=1.1&requests=factor",
    "length": 30,
    "window": 8,
    "part": (0.0, 1.0),
}


@pytest.mark.parametrize(
    "options",
    [
        PICK_JOB_ENV | {"max_steps": 17},
        PICK_JOB_ENV | {"mode": "feasible"},
        PICK_JOB_ENV | {"history": 2, "stops": 3},
        {"name": "shunter/PickHost-v0", "max_steps": 40},
    ],
    ids=["jobs", "feasible", "past-and-stops", "hosts"],
)
def test_what_real_environments_show_is_stored(options: dict[str, Any]) -> None:
    environments = make_vec(options["name"], 4, seed=1, **{name: options[name] for name in options if name != "name"})
    assert isinstance(environments, NativeVectorEnv)
    arrays, random = environments.step_arrays(), np.random.default_rng(1)
    environments.reset_into(arrays.observations, arrays.masks)
    replay = Replay(environments.layout, 4, capacity=800, gamma=0.9, seed=1)
    replay.begin(arrays.observations, arrays.masks)
    observations: list[Any] = []
    masks: list[Any] = []
    rewards: list[Any] = []
    ends = 0
    for _ in range(200):
        observations.extend(arrays.observations.copy())
        masks.extend(arrays.masks.copy())
        actions = np.where(arrays.masks, random.random(arrays.masks.shape), -1).argmax(axis=1).astype(np.int32)
        environments.step_into(actions, arrays)
        replay.add(actions, arrays)
        rewards.extend(arrays.rewards.astype(np.float32))
        ends += (arrays.terminated | arrays.truncated).sum()
    assert ends > 0
    assert len(replay) == 800
    drawn = replay.sample(100)
    for sample in range(100):
        is_near = np.abs(np.array(observations) - drawn.observations[sample]).max(axis=1) <= NEAR
        is_same = (np.array(masks) == drawn.masks[sample]).all(axis=1) & (np.array(rewards) == drawn.returns[sample])
        assert (is_near & is_same).any(), "what was drawn was never seen"


def _full_windows(filled: int) -> tuple[Layout, StepArrays]:
    layout = Layout(PICK_JOB, window=64, counts="size")
    arrays = new_arrays(layout, 8)
    layout.split(arrays.observations)["jobs"][:, :filled] = 0.7
    arrays.masks[:, : filled + 1] = True
    return layout, arrays


@pytest.mark.parametrize(("filled", "most_bytes"), [(64, 2900), (8, 550), (0, 150)])
def test_memory_grows_with_the_rows_that_are_filled(filled: int, most_bytes: int) -> None:
    layout, arrays = _full_windows(filled)
    replay = Replay(layout, 8, capacity=16_384, gamma=0.9, seed=1)
    replay.begin(arrays.observations, arrays.masks)
    for _ in range(2500):
        replay.add(np.zeros(8, np.int32), arrays)
    assert len(replay) == 16_384
    assert replay.memory_bytes / 16_384 < most_bytes
