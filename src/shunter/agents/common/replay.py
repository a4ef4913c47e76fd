"""What off-policy algorithms learn from: the latest steps of all environments, kept in little memory by the core."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shunter.checks import MOST_SEED, number, whole
from shunter.envs.arrays import VectorArrays
from shunter.errors import InputError
from shunter.native import check, ffi, lib, opened, pointer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.envs.layout import Layout
    from shunter.envs.vector import StepArrays

_MOST: Final = 2**26
"""The most transitions that the core keeps, and the most of anything here."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """Samples, in the core's order; the first dimension is theirs."""

    observations: NDArray[np.float32]
    masks: NDArray[np.bool_]
    actions: NDArray[np.int64]
    returns: NDArray[np.float32]
    """r + γ r' + …, of n steps, or of fewer where the episode ended before."""
    discounts: NDArray[np.float32]
    """γᵐ, for what `next_observations` are worth m steps later; 0 where the episode terminated."""
    next_observations: NDArray[np.float32]
    """Where the episode terminated, the observation acted on last: there is none, and its discount is 0."""
    next_masks: NDArray[np.bool_]
    """Every one allows some action."""
    weights: NDArray[np.float32]
    """Importance weights: (N P)^-β, divided by the largest of the batch (Schaul et al., 2016)."""
    places: NDArray[np.uint64]
    """What `Replay.set_priorities` knows the samples by."""


class Replay:
    """The latest steps of all environments, from which samples are drawn.

    Each observation is stored once: the rows of its window that are filled, two bytes a number (so numbers come back to
    1/65535), and masks in bits. A transition can be drawn once all that it needs is there: n later steps, or the end of
    its episode. One that was truncated bootstraps from its final observation.
    """

    def __init__(
        self,
        layout: Layout,
        num_envs: int,
        *,
        capacity: int,
        n_step: int = 1,
        gamma: float,
        priority_exponent: float = 0.0,
        seed: int,
    ) -> None:
        """Makes one that is empty.

        Args:
            layout: Of the observations.
            num_envs: How many environments are played.
            capacity: How many transitions are kept over all environments, in equal parts; the oldest go first.
            n_step: How many rewards a return is made of.
            gamma: The discount of later rewards.
            priority_exponent: How much errors count when samples are drawn; 0: all are as likely.
            seed: For the draws.

        Raises:
            InputError: A number is out of range.
        """
        options = {
            "window": layout.window,
            "types": len(layout.types),
            "lookahead_size": layout.lookahead_size,
            "job_features": len(layout.job_features),
            "history": layout.history,
            "stops": layout.stops,
            "hosts": layout.num_hosts,
            "environments": whole("num_envs", num_envs, 1, _MOST),
            "capacity": whole("capacity", capacity, 1, _MOST),
            "n_step": whole("n_step", n_step, 1, _MOST),
            "gamma": number("gamma", gamma, 0.0, 1.0),
            "priority_exponent": number("priority_exponent", priority_exponent, 0.0, 1.0),
            "seed": whole("seed", seed, 0, MOST_SEED),
        }
        self._layout = layout
        self._arrays = VectorArrays(num_envs, layout)
        self._handle = opened(lib.shunter_replay_open, ffi.new("ShunterReplayOptions *", options))

    def __len__(self) -> int:
        """Returns how many transitions can be drawn now."""
        return self._sizes()[0]

    @property
    def memory_bytes(self) -> int:
        """What everything that is stored takes."""
        return self._sizes()[1]

    def _sizes(self) -> tuple[int, int]:
        drawable, size = ffi.new("uintptr_t *"), ffi.new("uintptr_t *")
        check(lib.shunter_replay_sizes(self._handle.number, drawable, size))
        return int(drawable[0]), int(size[0])

    def begin(self, observations: NDArray[np.float32], masks: NDArray[np.bool_]) -> None:
        """Takes in what all environments are about to act on: before the first step, and after they were reset.

        An environment that is shown what it saw last goes on with its episode. If it is shown something else, its
        episode was cut there.

        Raises:
            InputError: A number is not from 0 to 1, or a mask allows nothing.
        """
        seen = self._arrays.read("observations", observations), self._arrays.read("masks", masks)
        status = lib.shunter_replay_begin(self._handle.number, *seen)
        if status:
            self._name_wrong_number(observations, np.arange(len(observations)))
        check(status)

    def add(self, actions: NDArray[np.int32], arrays: StepArrays) -> None:
        """Takes in one step of all environments, which begin their next episode in the step that ends one.

        Args:
            actions: (environments,): what they did.
            arrays: What came of it.

        Raises:
            InputError: Something cannot be: a number that is not from 0 to 1, an action that the mask did not allow, a
                reward that is not finite, a mask that allows nothing. Then nothing was taken in.
        """
        read = self._arrays.step(actions, arrays)
        did, observations, masks, rewards, terminated, truncated, _, final_observations, final_masks, _ = read
        step = (did, observations, masks, rewards, terminated, truncated, final_observations, final_masks)
        status = lib.shunter_replay_add(self._handle.number, *step)
        if status:
            self._name_wrong_number(arrays.observations, np.arange(len(actions)))
            # Elsewhere there is what an earlier step wrote.
            self._name_wrong_number(arrays.final_observations, np.flatnonzero(arrays.truncated & ~arrays.terminated))
        check(status)

    def sample(self, count: int, *, importance_exponent: float = 0.0) -> Drawn:
        """Draws samples, each by its priority; the same one may come again.

        Args:
            count: How many.
            importance_exponent: β of the importance weights; 0: all weigh 1.

        Raises:
            InputError: Nothing can be drawn yet, or a number is out of range.
        """
        count = whole("count", count, 1, _MOST)
        exponent = number("importance_exponent", importance_exponent, 0.0, 1.0)
        observation, mask = (count, self._layout.observation_size), (count, self._layout.actions)
        drawn = Drawn(
            observations=np.empty(observation, np.float32),
            masks=np.empty(mask, np.bool_),
            actions=np.empty(count, np.int64),
            returns=np.empty(count, np.float32),
            discounts=np.empty(count, np.float32),
            next_observations=np.empty(observation, np.float32),
            next_masks=np.empty(mask, np.bool_),
            weights=np.empty(count, np.float32),
            places=np.empty(count, np.uint64),
        )
        into = (getattr(drawn, field.name) for field in fields(drawn))
        # A C bool has no fixed size in the ABI; a byte has.
        pointers = (pointer(one.view(np.uint8) if one.dtype == np.bool_ else one) for one in into)
        check(lib.shunter_replay_sample(self._handle.number, count, exponent, *pointers))
        return drawn

    def set_priorities(self, places: NDArray[np.uint64], errors: NDArray[np.float32]) -> None:
        """Gives samples priorities by how wrong their values were: (abs(error) + 1e-6) to the priority exponent.

        Args:
            places: Of `Drawn`. Samples whose transitions were dropped since are left out.
            errors: One for each.

        Raises:
            InputError: An error is not finite, or a place is none that was drawn.
        """
        given: dict[str, tuple[NDArray[Any], type]] = {"places": (places, np.uint64), "errors": (errors, np.float32)}
        for name, (array, dtype) in given.items():
            if array.dtype != dtype or array.shape != (len(places),) or not array.flags.c_contiguous:
                what = f"{name}: the array is {array.dtype} {array.shape}"
                raise InputError(f"{what}; expected {np.dtype(dtype)} ({len(places)},), contiguous")
        check(lib.shunter_replay_prioritize(self._handle.number, pointer(places), pointer(errors), len(places)))

    def state(self) -> bytes:
        """Returns everything that decides what comes next, for `load_state`."""
        # Asked twice: first for the size, then for the bytes.
        needed = ffi.new("uintptr_t *")
        check(lib.shunter_replay_state(self._handle.number, ffi.NULL, 0, needed))
        buffer = np.empty(needed[0], dtype=np.uint8)
        check(lib.shunter_replay_state(self._handle.number, pointer(buffer), len(buffer), needed))
        return buffer.tobytes()

    def load_state(self, state: bytes) -> None:
        """Goes back to a state: the same draws follow.

        Raises:
            InputError: The bytes are damaged, or of a buffer with other options; then nothing has changed.
        """
        buffer = np.frombuffer(state, dtype=np.uint8)
        check(lib.shunter_replay_restore(self._handle.number, pointer(buffer), len(buffer)))

    def _name_wrong_number(self, observations: NDArray[np.float32], environments: NDArray[np.int64]) -> None:
        """Raises an error that names the first number of these environments that is not from 0 to 1, if one is."""
        for name, values in self._layout.split(observations[environments]).items():
            # Not the other way round: what is not a number is wrong too.
            wrong = np.argwhere(~((values >= 0.0) & (values <= 1.0)))
            if len(wrong):
                place = tuple(wrong[0])
                feature = self._layout.parts[name].features[place[-1]]
                row = f" of row {place[1]}" if len(place) > 2 else ""
                what = f"environment {environments[place[0]]}: feature {feature}{row} ({name}) is {values[place]}"
                raise InputError(f"{what}; expected 0 to 1: scale the feature")
