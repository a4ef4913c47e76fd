"""One environment, as Gymnasium knows it, over a vector of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import gymnasium
import numpy as np

from shunter.checks import MOST_SEED, check_name, whole
from shunter.envs.arrays import as_actions
from shunter.envs.rendering import as_picture, as_text
from shunter.envs.resets import draw_episode
from shunter.envs.rewards import TOTALS
from shunter.envs.scene import look_at
from shunter.errors import InputError
from shunter.extras import PLOT, need

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.envs.layout import Layout
    from shunter.envs.vector import NativeVectorEnv


RGB_ARRAY: Final = "rgb_array"
ANSI: Final = "ansi"


def check_render_mode(render_mode: str | None) -> None:
    """Raises an error if it is none of the modes that there are."""
    if render_mode is not None:
        check_name("render_mode", render_mode, SingleEnv.metadata["render_modes"])
    if render_mode == RGB_ARRAY:
        need(PLOT, f"render_mode {RGB_ARRAY}")


class SingleEnv(gymnasium.Env[Any, Any]):
    """What both environments share; arrays that it returns are the caller's own."""

    metadata: dict[str, Any] = {"render_modes": [RGB_ARRAY, ANSI], "render_fps": 5}  # noqa: RUF012 - as Gymnasium's

    def __init__(self, vector: NativeVectorEnv, render_mode: str | None = None) -> None:
        """Takes over a vector of one environment that does not begin the next episode by itself.

        Args:
            vector: Of one environment.
            render_mode: What `render` returns: ``rgb_array`` or ``ansi``; None: nothing.
        """
        self.render_mode = render_mode
        self.vector = vector
        """The vector of one behind it."""
        self.observation_space = vector.single_observation_space
        self.action_space = vector.single_action_space
        self._arrays = vector.step_arrays()

    @property
    def layout(self) -> Layout:
        """The parts of an observation."""
        return self.vector.layout

    @property
    def episodes(self) -> int:
        """How many episodes there are to choose from."""
        return self.vector.episodes

    def action_masks(self) -> NDArray[np.bool_]:
        """Returns which actions are allowed now."""
        mask: NDArray[np.bool_] = self._arrays.masks[0].copy()
        return mask

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begins an episode, drawn from the seed; ``options={"episode": 3}`` names it.

        Raises:
            InputError: There is no such seed or episode, or an option is unknown.
        """
        super().reset(seed=None if seed is None else whole("seed", seed, 0, MOST_SEED))
        options = dict(options or {})
        named = options.pop("episode", None)
        if options:
            raise InputError(f"reset: option {next(iter(options))!r} is unknown; there is 'episode'")
        # Drawn even if an episode is named: the episodes after it do not depend on that.
        episode = draw_episode(self.np_random, self.episodes)
        if named is not None:
            episode = whole("episode", named, 0, self.episodes - 1)
        # By its number: the vector's own drawing would not follow Gymnasium's seed.
        self.vector.reset_into(self._arrays.observations, self._arrays.masks, np.array([episode]))
        return self._arrays.observations[0].copy(), self._info()

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:  # noqa: ANN401 - of any type of number
        """Takes an action."""
        arrays = self._arrays
        self.vector.step_into(as_actions([action]), arrays)
        terminated, truncated = bool(arrays.terminated[0]), bool(arrays.truncated[0])
        info = self._info() | {"invalid_action": bool(arrays.invalid[0])}
        if terminated or truncated:
            info["totals"] = dict(zip(TOTALS, arrays.totals[0].tolist(), strict=True))
        return arrays.observations[0].copy(), float(arrays.rewards[0]), terminated, truncated, info

    def render(self) -> Any:  # noqa: ANN401 - an image or a text, as Gymnasium has it
        """Returns an image (``rgb_array``) or a text (``ansi``) of what runs and waits now; None without a mode.

        Raises:
            InputError: There is no episode yet.
        """
        if self.render_mode is None:
            return None
        scene = look_at(self.vector, self._arrays.masks[0])
        return as_picture(scene) if self.render_mode == RGB_ARRAY else as_text(scene)

    def close(self) -> None:
        """Frees the environment's memory; closing twice does no harm."""
        self.vector.close()

    def _info(self) -> dict[str, Any]:
        view = self.vector.view()
        return {
            "action_mask": self.action_masks(),
            "now_s": view.now_ms[0] / 1000,
            "episode_number": int(view.episode[0]),
            "jobs": view.jobs[0],
            "waiting_jobs": int(view.waiting[0]),
            "running_jobs": int(view.running[0]),
        }
