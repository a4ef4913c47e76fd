"""The native vector environment: many environments, stepped by a pool of threads, that write into NumPy arrays."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from shunter.envs.layout import PICK_JOB
from shunter.envs.rewards import TOTALS
from shunter.errors import InputError
from shunter.native import Handle, check, ffi, lib, opened, pointer
from shunter.simulate.simulation import Simulation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.envs.layout import Layout
    from shunter.envs.options import PickHostOptions, PickJobOptions
    from shunter.envs.world import World

LEAVE: Final = -1
"""In the place of an episode: the environment goes on."""
DRAW: Final = -2
"""In the place of an episode: one is drawn."""


@dataclass
class StepArrays:
    """What a step writes; the first dimension is the environments'."""

    observations: NDArray[np.float32]
    masks: NDArray[np.bool_]
    rewards: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    invalid: NDArray[np.bool_]
    """Whether the mask forbade the action."""
    final_observations: NDArray[np.float32]
    """As the next two, written only where an episode has ended: its last observation."""
    final_masks: NDArray[np.bool_]
    totals: NDArray[np.float64]
    """(environments, totals): in the order of `shunter.envs.rewards.TOTALS`."""


@dataclass(frozen=True)
class View:
    """What environments look at; the first dimension is theirs."""

    jobs: NDArray[np.int64]
    """(environments, rows): the job of each row, by its place in its table; −1 where there is none."""
    now_ms: NDArray[np.int64]
    episode: NDArray[np.int64]
    waiting: NDArray[np.int64]
    running: NDArray[np.int64]


class NativeVectorEnv(VectorEnv[Any, Any, Any]):
    """Environments that share a world; `shunter.envs.make_vec` and its kind make them."""

    def __init__(
        self,
        world: World,
        layout: Layout,
        options: PickJobOptions | PickHostOptions,
        handle: Handle,
        *,
        num_envs: int,
        autoreset: bool,
    ) -> None:
        """Takes over environments that `World.open` has opened."""
        self.num_envs = num_envs
        self.layout = layout
        self.options = options
        self.world = world
        self.autoreset = autoreset
        """Whether an environment that is done begins its next episode in the same step."""
        self._handle = handle
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP if autoreset else AutoresetMode.DISABLED}
        shape = (layout.observation_size,)
        self.single_observation_space = gymnasium.spaces.Box(0.0, 1.0, shape, np.float32)
        self.single_action_space = gymnasium.spaces.Discrete(layout.actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._shapes = {
            "observations": (np.dtype(np.float32), (num_envs, layout.observation_size)),
            "masks": (np.dtype(np.bool_), (num_envs, layout.actions)),
            "rewards": (np.dtype(np.float64), (num_envs,)),
            "terminated": (np.dtype(np.bool_), (num_envs,)),
            "truncated": (np.dtype(np.bool_), (num_envs,)),
            "invalid": (np.dtype(np.bool_), (num_envs,)),
            "final_observations": (np.dtype(np.float32), (num_envs, layout.observation_size)),
            "final_masks": (np.dtype(np.bool_), (num_envs, layout.actions)),
            "totals": (np.dtype(np.float64), (num_envs, len(TOTALS))),
            "actions": (np.dtype(np.int32), (num_envs,)),
            "episodes": (np.dtype(np.int64), (num_envs,)),
        }

    @property
    def episodes(self) -> int:
        """How many episodes there are to draw from."""
        return len(self.world.episodes)

    def step_arrays(self) -> StepArrays:
        """Returns arrays for `step_into`, all zeros."""
        return StepArrays(**{field.name: self._new(field.name) for field in fields(StepArrays)})

    def reset_into(
        self,
        observations: NDArray[np.float32],
        masks: NDArray[np.bool_],
        episodes: NDArray[np.int64] | None = None,
    ) -> None:
        """Begins episodes, and writes what every environment sees.

        Args:
            observations: (environments, observation size).
            masks: (environments, actions).
            episodes: (environments,): which episode each begins, `DRAW` for any, `LEAVE` for none; None: all any.
        """
        if episodes is None:
            episodes = np.full(self.num_envs, DRAW, dtype=np.int64)
        check(
            lib.shunter_env_reset(
                self._handle.number,
                self._pointer("episodes", episodes),
                self._pointer("observations", observations),
                self._pointer("masks", masks),
            )
        )

    def reseed(self, seed: int) -> None:
        """Lets the episodes drawn from now on come from another seed; `reset_into` is to follow."""
        check(lib.shunter_env_reseed(self._handle.number, seed))

    def step_into(self, actions: NDArray[np.int32], arrays: StepArrays) -> None:
        """Takes one action in each environment, and writes what comes of it.

        Args:
            actions: (environments,): ``int32``.
            arrays: From `step_arrays`, or of the same shapes and types. Observations begin as zeros, or hold what a
                reset or a step has written, unchanged: only rows that were filled are cleared.
        """
        check(
            lib.shunter_env_step(
                self._handle.number,
                self._pointer("actions", actions),
                self._pointer("observations", arrays.observations),
                self._pointer("masks", arrays.masks),
                self._pointer("rewards", arrays.rewards),
                self._pointer("terminated", arrays.terminated),
                self._pointer("truncated", arrays.truncated),
                self._pointer("invalid", arrays.invalid),
                self._pointer("final_observations", arrays.final_observations),
                self._pointer("final_masks", arrays.final_masks),
                self._pointer("totals", arrays.totals),
            )
        )

    def view(self) -> View:
        """Returns which jobs the rows show, the clock, and the counts."""
        rows = self.layout.window if self.layout.kind == PICK_JOB else 1
        view = View(
            np.empty((self.num_envs, rows), dtype=np.int64),
            *(np.empty(self.num_envs, dtype=np.int64) for _ in range(4)),
        )
        arrays = (pointer(getattr(view, field.name)) for field in fields(View))
        check(lib.shunter_env_view(self._handle.number, *arrays))
        return view

    def simulation(self, index: int) -> Simulation:
        """Returns a copy of one environment's simulation, to read the schedule from."""
        tables = self.world.tables_of(int(self.view().episode[index]))
        return Simulation._from_handle(tables, opened(lib.shunter_env_fork, self._handle.number, index))

    def state(self) -> bytes:
        """Returns everything that decides what comes next, the simulations included, for `load_state`."""
        needed = ffi.new("uintptr_t *")
        check(lib.shunter_env_state(self._handle.number, ffi.NULL, 0, needed))
        buffer = np.empty(needed[0], dtype=np.uint8)
        check(lib.shunter_env_state(self._handle.number, pointer(buffer), len(buffer), needed))
        return buffer.tobytes()

    def load_state(self, state: bytes, observations: NDArray[np.float32], masks: NDArray[np.bool_]) -> None:
        """Puts environments made in the same way into a saved state, and writes what is seen there.

        Raises:
            InputError: The bytes are damaged, or of other environments.
        """
        buffer = np.frombuffer(state, dtype=np.uint8)
        seen = self._pointer("observations", observations), self._pointer("masks", masks)
        check(lib.shunter_env_restore(self._handle.number, pointer(buffer), len(buffer), *seen))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begins new episodes, drawn from the seed; ``options={"episode": 3}`` names one, or one for each."""
        if seed is not None:
            self.reseed(seed)
        observations, masks = self._new("observations"), self._new("masks")
        named = (options or {}).get("episode")
        episodes = None if named is None else np.full(self.num_envs, named, dtype=np.int64)
        self.reset_into(observations, masks, episodes)
        return observations, {"action_mask": masks}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:  # noqa: ANN401 - any array of numbers
        """Takes one action in each environment; what is returned is the caller's own."""
        arrays = self.step_arrays()
        self.step_into(np.ascontiguousarray(actions, dtype=np.int32), arrays)
        infos: dict[str, Any] = {"action_mask": arrays.masks, "invalid_action": arrays.invalid}
        done = arrays.terminated | arrays.truncated
        if done.any():
            infos |= self._endings(done, arrays)
        return arrays.observations, arrays.rewards, arrays.terminated, arrays.truncated, infos

    def _endings(self, done: NDArray[np.bool_], arrays: StepArrays) -> dict[str, Any]:
        """Returns what infos say of episodes that have ended, in Gymnasium's words."""
        totals = dict(zip(TOTALS, arrays.totals.T, strict=True))
        if not self.autoreset:
            return {"totals": totals, "_totals": done}
        final = np.full(self.num_envs, None, dtype=object)
        for index in np.flatnonzero(done):
            final[index] = arrays.final_observations[index]
        info = {"action_mask": arrays.final_masks, "totals": totals}
        return {"final_obs": final, "_final_obs": done, "final_info": info, "_final_info": done}

    def close_extras(self, **_: Any) -> None:  # noqa: ANN401 - the signature of the method that this one overrides
        """Frees the environments' memory."""
        self._handle.close()

    def _new(self, name: str) -> NDArray[Any]:
        dtype, shape = self._shapes[name]
        return np.zeros(shape, dtype=dtype)

    def _pointer(self, name: str, array: NDArray[Any]) -> Any:  # noqa: ANN401 - cffi's pointers have no static type
        """Returns a pointer for the core, which believes the length: so the shape is checked at each call."""
        dtype, shape = self._shapes[name]
        if array.dtype != dtype or array.shape != shape or not array.flags.c_contiguous:
            what = f"{array.dtype} {array.shape}{'' if array.flags.c_contiguous else ', not contiguous'}"
            raise InputError(f"{name}: the array is {what}; expected {dtype} {shape}, contiguous")
        return pointer(array.view(np.uint8) if dtype == np.bool_ else array)
