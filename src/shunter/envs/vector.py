"""The native vector environment: many environments, stepped by a pool of threads, that write into NumPy arrays."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from shunter.checks import MOST_SEED, whole
from shunter.envs.arrays import VectorArrays, as_actions
from shunter.envs.resets import DRAW, checked_reset
from shunter.envs.rewards import TOTALS
from shunter.native import Handle, check, ffi, lib, opened, pointer
from shunter.simulation.simulation import Simulation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.envs.layout import Layout
    from shunter.envs.network import NativeNetwork
    from shunter.envs.resets import Seeds
    from shunter.envs.sources import EnvironmentOptions
    from shunter.envs.world import World


@dataclass(frozen=True, eq=False)
class StepArrays:
    """What a step writes, in the core's order; the first dimension is the environments'."""

    observations: NDArray[np.float32]
    masks: NDArray[np.bool_]
    rewards: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    invalid: NDArray[np.bool_]
    """Whether the mask forbade the action."""
    final_observations: NDArray[np.float32]
    """The last observation of an episode; written only where one has ended."""
    final_masks: NDArray[np.bool_]
    """The last mask of an episode; written only where one has ended."""
    totals: NDArray[np.float64]
    """(environments, totals): by `shunter.envs.rewards.TOTALS`; written only where an episode has ended."""


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
    """Many environments of one kind, stepped natively by a pool of threads; `shunter.envs.make_vec` makes them.

    Observation: (num_envs, observation size) of ``float32`` in [0, 1]; the parts are those of the single environment,
        and `layout` splits them.

    Action: (num_envs,) of ``int32``, one of ``layout.actions`` for each environment.

    Mask: ``info["action_mask"]``, (num_envs, actions) of ``bool``. An action that it forbids is replaced by one that is
        allowed, and ``info["invalid_action"]`` is True there.

    Reward: (num_envs,) of ``float64``.

    Ending: ``terminated`` and ``truncated``, (num_envs,) of ``bool``, as in the single environment. With `autoreset` an
        environment that is done begins its next episode in the same step (Gymnasium's ``SAME_STEP``): observation and
        mask are then those of the new episode, the last ones are in ``info["final_obs"]`` and ``info["final_info"]``.
        Without, it stays where it is until ``reset(options={"reset_mask": ...})``.

    `reset` and `step` return arrays of the caller's own; `reset_into` and `step_into` write into given ones. The same
    seed gives the same trajectories, whatever the number of threads.
    """

    def __init__(
        self,
        world: World,
        layout: Layout,
        options: EnvironmentOptions,
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
        self.handle = handle
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP if autoreset else AutoresetMode.DISABLED}
        shape = (layout.observation_size,)
        self.single_observation_space = gymnasium.spaces.Box(0.0, 1.0, shape, np.float32)
        self.single_action_space = gymnasium.spaces.Discrete(layout.actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._arrays = VectorArrays(num_envs, layout)

    @property
    def episodes(self) -> int:
        """How many episodes there are to draw from."""
        return len(self.world.episodes)

    def step_arrays(self) -> StepArrays:
        """Returns arrays for `step_into`, all zeros."""
        return StepArrays(**{field.name: self._arrays.new(field.name) for field in fields(StepArrays)})

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
        seen = self._arrays.written({"observations": observations, "masks": masks}).pointers
        check(lib.shunter_env_reset(self.handle.number, self._arrays.read("episodes", episodes), *seen))
        self.world.raise_failure()

    def reseed(self, seed: int) -> None:
        """Lets the episodes drawn from now on come from another seed; `reset_into` is to follow.

        Raises:
            InputError: The seed is no whole number, or out of range.
        """
        check(lib.shunter_env_reseed(self.handle.number, whole("seed", seed, 0, MOST_SEED)))

    def step_into(self, actions: NDArray[np.int32], arrays: StepArrays) -> None:
        """Takes one action in each environment, and writes what comes of it.

        Args:
            actions: (environments,): ``int32``.
            arrays: From `step_arrays`, or of the same shapes and types. Observations begin as zeros, or hold what a
                reset or a step has written, unchanged: only rows that were filled are cleared.
        """
        # All environments in one call: crossing the border costs as much as stepping one of them.
        check(lib.shunter_env_step(self.handle.number, *self._arrays.step(actions, arrays)))
        # An exception in a placement in Python cannot cross the core; it was kept, and is raised now.
        self.world.raise_failure()

    def play(self, network: NativeNetwork, most: int) -> bool:
        """Plays every episode on by a network's best actions, in the core alone; what is seen is not told.

        Args:
            network: Who decides.
            most: How many decisions each environment takes at most.

        Returns:
            Whether all episodes are over; one that is over is left alone.

        Raises:
            InputError: The network reads other observations.
        """
        over = ffi.new("int32_t *")
        check(lib.shunter_env_play(self.handle.number, network.handle.number, most, over))
        self.world.raise_failure()
        return bool(over[0])

    def view(self) -> View:
        """Returns which jobs the rows show, the clock, and the counts."""
        rows = self.layout.rows if self.layout.may_wait else 1
        view = View(
            np.empty((self.num_envs, rows), dtype=np.int64),
            *(np.empty(self.num_envs, dtype=np.int64) for _ in range(4)),
        )
        arrays = (pointer(getattr(view, field.name)) for field in fields(View))
        check(lib.shunter_env_view(self.handle.number, *arrays))
        return view

    def simulation(self, index: int) -> Simulation:
        """Returns a copy of one environment's simulation, to read the schedule from."""
        # A copy must hold the tables that it reads, for the environments may be closed before it.
        tables = self.world.tables_of(int(self.view().episode[index]))
        copy = opened(lib.shunter_env_fork, self.handle.number, index)
        return Simulation._from_handle(tables, copy, self.world.asked)

    def state(self) -> bytes:
        """Returns everything that decides what comes next, the simulations included, for `load_state`."""
        # Asked twice: first for the size, then for the bytes.
        needed = ffi.new("uintptr_t *")
        check(lib.shunter_env_state(self.handle.number, ffi.NULL, 0, needed))
        buffer = np.empty(needed[0], dtype=np.uint8)
        check(lib.shunter_env_state(self.handle.number, pointer(buffer), len(buffer), needed))
        return buffer.tobytes()

    def load_state(self, state: bytes, observations: NDArray[np.float32], masks: NDArray[np.bool_]) -> None:
        """Puts environments made in the same way into a saved state, and writes what is seen there.

        Raises:
            InputError: The bytes are damaged, or of other environments.
        """
        buffer = np.frombuffer(state, dtype=np.uint8)
        seen = self._arrays.written({"observations": observations, "masks": masks}).pointers
        check(lib.shunter_env_restore(self.handle.number, pointer(buffer), len(buffer), *seen))
        self.world.raise_failure()

    def reset(
        self, *, seed: Seeds | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begins new episodes, as Gymnasium's vector environments do.

        Args:
            seed: Where the drawing of episodes begins: one for all environments, or one for each (None in its place: it
                goes on), which then begin with the episode that a single environment's reset would choose.
            options: ``{"episode": 3}`` names an episode, or one for each environment; ``{"reset_mask": array}`` says
                which environments begin, the others go on.

        Returns:
            What every environment sees, those that go on included.

        Raises:
            InputError: A value is wrong, or an option is unknown.
        """
        asked = checked_reset(self.num_envs, self.episodes, seed, options)
        # Without a seed the drawing of episodes goes on where it was.
        if asked.seed is not None:
            self.reseed(asked.seed)
        observations, masks = self._arrays.new("observations"), self._arrays.new("masks")
        self.reset_into(observations, masks, asked.episodes)
        return observations, self._of_all({"action_mask": masks})

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:  # noqa: ANN401 - any array of numbers
        """Takes one action in each environment; what is returned is the caller's own."""
        arrays = self._last
        self.step_into(as_actions(actions), arrays)
        infos = self._of_all({"action_mask": arrays.masks.copy(), "invalid_action": arrays.invalid.copy()})
        done = arrays.terminated | arrays.truncated
        if done.any():
            infos |= self._endings(done, arrays)
        told = (arrays.observations, arrays.rewards, arrays.terminated, arrays.truncated)
        observations, rewards, terminated, truncated = (array.copy() for array in told)
        return observations, rewards, terminated, truncated, infos

    @cached_property
    def _last(self) -> StepArrays:
        """What `step` writes into; made when it is first called."""
        return self.step_arrays()

    def _of_all(self, infos: dict[str, Any]) -> dict[str, Any]:
        return _with_masks(infos, np.ones(self.num_envs, dtype=np.bool_))

    def _endings(self, done: NDArray[np.bool_], arrays: StepArrays) -> dict[str, Any]:
        """Returns what infos say of episodes that have ended, in Gymnasium's words."""
        # Where no episode has ended the array holds what an earlier step wrote.
        columns = np.where(done, arrays.totals.T, 0.0)
        totals = _with_masks(dict(zip(TOTALS, columns, strict=True)), done)
        if not self.autoreset:
            return _with_masks({"totals": totals}, done)
        # Gymnasium wants an array of objects here, in which None stands for "not ended".
        final = np.full(self.num_envs, None, dtype=object)
        for index in np.flatnonzero(done):
            final[index] = arrays.final_observations[index].copy()
        last = {
            "action_mask": arrays.final_masks & done[:, None],
            "invalid_action": arrays.invalid & done,
            "totals": totals,
        }
        return _with_masks({"final_obs": final, "final_info": _with_masks(last, done)}, done)

    def close_extras(self, **_: Any) -> None:  # noqa: ANN401 - the signature of the method that this one overrides
        """Frees the environments' memory."""
        self.handle.close()


def _with_masks(infos: dict[str, Any], told: NDArray[np.bool_]) -> dict[str, Any]:
    """Returns infos with Gymnasium's mask for each key: of which environments it tells."""
    return infos | {f"_{key}": told.copy() for key in infos}
