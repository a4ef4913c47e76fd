"""The native vector environment as Stable-Baselines3 knows one; Stable-Baselines3 itself is not required by Shunter."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from shunter.envs.arrays import as_actions
from shunter.envs.resets import checked_reset
from shunter.envs.rewards import TOTALS
from shunter.errors import InputError

try:
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import VecEnv
except ImportError as error:
    raise InputError(
        "shunter.envs.sb3 needs Stable-Baselines3, which is not installed; pip install sb3-contrib brings it"
    ) from error

if TYPE_CHECKING:
    from gymnasium import Wrapper
    from numpy.typing import NDArray

    from shunter.envs.vector import NativeVectorEnv

Indices = int | Iterable[int] | None
"""Which environments are meant; None: all."""


class Sb3VecEnv(VecEnv):
    """A vector environment for Stable-Baselines3 and sb3-contrib; ``MaskablePPO`` finds the masks by itself.

    Infos are told of episodes that have ended: ``terminal_observation``, ``TimeLimit.truncated``, ``episode`` (as
    Monitor has it) and Shunter's ``totals``.
    """

    def __init__(self, vector: NativeVectorEnv) -> None:
        """Takes over environments of `shunter.envs.make_vec`.

        Raises:
            InputError: They do not begin the next episode by themselves.
        """
        # Stable-Baselines3 takes it for granted that an environment begins anew by itself.
        if not vector.autoreset:
            raise InputError("the environments do not begin the next episode by themselves; make them with autoreset")
        self.vector = vector
        """The environments behind it."""
        self._arrays = vector.step_arrays()
        self._actions = np.zeros(vector.num_envs, dtype=np.int32)
        self._began_s = time.perf_counter()
        super().__init__(vector.num_envs, vector.single_observation_space, vector.single_action_space)

    def reset(self) -> NDArray[np.float32]:
        """Begins new episodes, by what `seed` and `set_options` have said.

        Raises:
            InputError: A seed or an option is wrong.
        """
        asked = checked_reset(self.num_envs, self.vector.episodes, self._given_seeds(), self._given_options())
        if asked.seed is not None:
            self.vector.reseed(asked.seed)
        self.vector.reset_into(self._arrays.observations, self._arrays.masks, asked.episodes)
        # Stable-Baselines3 keeps seeds and options for one reset, and expects that they are forgotten then.
        self._reset_seeds()
        self._reset_options()
        return self._arrays.observations.copy()

    def step_async(self, actions: NDArray[Any]) -> None:
        """Remembers the actions."""
        self._actions = as_actions(actions)

    def step_wait(
        self,
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Takes the actions; what is returned is the caller's own."""
        arrays = self._arrays
        self.vector.step_into(self._actions, arrays)
        done = arrays.terminated | arrays.truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for index in np.flatnonzero(done):
            infos[index] = self._ending(int(index))
        return arrays.observations.copy(), arrays.rewards.astype(np.float32), done, infos

    def action_masks(self) -> NDArray[np.bool_]:
        """Returns which actions are allowed now: (environments, actions)."""
        return self._arrays.masks.copy()

    def close(self) -> None:
        """Frees the environments' memory; closing twice does no harm."""
        self.vector.close()

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """Returns an attribute of the vector for each environment: they share all but their masks."""
        # MaskablePPO looks for this attribute to find out whether environments have masks.
        if attr_name == "action_masks":
            return [lambda place=place: self._arrays.masks[place].copy() for place in self._get_indices(indices)]
        return [getattr(self.vector, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: object, indices: Indices = None) -> None:
        """Raises an error: environments share their attributes."""
        raise InputError(f"{attr_name} cannot be set: the environments share their attributes; make others instead")

    def env_method(
        self,
        method_name: str,
        *method_args: Any,  # noqa: ANN401 - the signature of the method that this one overrides
        indices: Indices = None,
        **method_kwargs: Any,  # noqa: ANN401 - the signature of the method that this one overrides
    ) -> list[Any]:
        """Returns what each environment's ``action_masks`` gives; there is no other method.

        Raises:
            AttributeError: It is another method.
        """
        if method_name != "action_masks":
            raise AttributeError(f"environments have no method {method_name!r} of their own; there is 'action_masks'")
        masks = self.action_masks()
        return [masks[place] for place in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: type[Wrapper[Any, Any, Any, Any]], indices: Indices = None) -> list[bool]:
        """Returns True for Monitor, whose infos these environments give, and for no other wrapper."""
        return [issubclass(wrapper_class, Monitor) for _ in self._get_indices(indices)]

    def _ending(self, index: int) -> dict[str, Any]:
        """Returns what is told of an episode that has ended."""
        arrays = self._arrays
        totals = dict(zip(TOTALS, arrays.totals[index].tolist(), strict=True))
        elapsed_s = time.perf_counter() - self._began_s
        return {
            "terminal_observation": arrays.final_observations[index].copy(),
            # By this key Stable-Baselines3 knows whether to bootstrap from the last observation.
            "TimeLimit.truncated": bool(arrays.truncated[index] and not arrays.terminated[index]),
            "episode": {"r": totals["reward"], "l": int(totals["steps"]), "t": round(elapsed_s, 6)},
            "totals": totals,
        }

    def _given_seeds(self) -> list[int | None] | None:
        return None if all(seed is None for seed in self._seeds) else self._seeds

    def _given_options(self) -> dict[str, list[Any]]:
        """Returns the options of the environments as those of one vector: for each name, a value for each of them."""
        names = {name for options in self._options for name in options}
        return {name: [options.get(name) for options in self._options] for name in names}
