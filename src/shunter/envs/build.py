"""Puts a vector environment together: native alone, or with features and rewards of the user's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shunter.checks import MOST_SEED, check_fields, declared
from shunter.envs.episodes import horizon_factor_field, max_steps_field
from shunter.envs.features import Feature, JobColumns, JobView, own_features, write_features
from shunter.envs.resets import DRAW, LEAVE
from shunter.envs.rewards import TOTALS, Reward, StepView, own_rewards, worth
from shunter.envs.vector import NativeVectorEnv, StepArrays, View
from shunter.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from shunter.envs.rewards import RewardOptions
    from shunter.envs.sources import EnvironmentOptions
    from shunter.envs.world import World

MILLISECONDS: Final = 1000.0
"""In a second."""


@dataclass(frozen=True)
class VectorOptions:
    """How many environments are opened, how they are stepped, and what cuts their episodes."""

    num_envs: int = declared(1, "How many environments there are.", low=1, high=1_000_000)
    threads: int = declared(1, "How many threads step them.", low=1, high=4096)
    seed: int = declared(0, "Where the drawing of episodes begins.", low=0, high=MOST_SEED)
    autoreset: bool = declared(True, "Begin the next episode in the step in which one has ended.")
    max_steps: int | None = max_steps_field()
    horizon_factor: float | None = horizon_factor_field()

    def __post_init__(self) -> None:
        check_fields(self)


def build_vector(
    make_world: Callable[[], World], options: EnvironmentOptions, reward: RewardOptions, vector: VectorOptions
) -> NativeVectorEnv:
    """Returns a vector environment.

    Args:
        make_world: Returns jobs, clusters and episodes.
        options: What the environments are.
        reward: What the reward is.
        vector: How many environments, and how they are stepped.

    Raises:
        InputError: A feature or a reward is unknown, or the world cannot be made.
    """
    features, rewards = own_features(options.layout.extra_features), own_rewards(reward)
    own = bool(features or rewards)
    # Making the world may simulate for minutes, so all names and numbers are checked by now.
    world = make_world()
    options = options.on_clusters(world.clusters)
    layout = options.layout
    handle = world.open(options.core_mode, layout, reward, vector, autoreset=vector.autoreset and not own)
    shared: dict[str, Any] = {"num_envs": vector.num_envs, "autoreset": vector.autoreset}
    if not own:
        return NativeVectorEnv(world, layout, options, handle, **shared)
    final = reward.timing == "final"
    return CustomVectorEnv(world, layout, options, handle, features=features, rewards=rewards, final=final, **shared)


class CustomVectorEnv(NativeVectorEnv):
    """Works features and rewards of the user's own out in Python, after each native step.

    The core does not begin the next episode by itself here: first the last observation is to be completed.
    """

    def __init__(
        self,
        *arguments: Any,  # noqa: ANN401 - passed on as they came
        features: Mapping[str, Feature],
        rewards: Mapping[str, tuple[float, Reward]],
        final: bool,
        **keywords: Any,  # noqa: ANN401 - passed on as they came
    ) -> None:
        """Takes over environments that do not begin the next episode by themselves.

        Args:
            arguments: As in `NativeVectorEnv`.
            features: By name, in the order of the columns.
            rewards: By name, with their weights.
            final: Whether rewards are held until the last step.
            keywords: As in `NativeVectorEnv`; `autoreset` is done here.
        """
        super().__init__(*arguments, **keywords)
        self._features = features
        self._rewards = rewards
        self._final = final
        self._columns = JobColumns(self.world.workloads)
        self._seen: View | None = None
        self._sum = np.zeros(self.num_envs)
        """What the rewards here have come to in each environment's episode."""

    def reset_into(
        self,
        observations: NDArray[np.float32],
        masks: NDArray[np.bool_],
        episodes: NDArray[np.int64] | None = None,
    ) -> None:
        """Begins episodes, as `NativeVectorEnv` does."""
        super().reset_into(observations, masks, episodes)
        self._sum[slice(None) if episodes is None else episodes != LEAVE] = 0.0
        self._look(observations)

    def step_into(self, actions: NDArray[np.int32], arrays: StepArrays) -> None:
        """Takes one action in each environment, as `NativeVectorEnv` does."""
        before = self._seen
        super().step_into(actions, arrays)
        after = self._look(arrays.observations)
        assert before is not None, "the core refuses a step before the first reset"
        done = arrays.terminated | arrays.truncated
        self._reward(actions, arrays, done, before, after)
        # The core has left these environments at their end, so that the last observation could be completed first.
        if self.autoreset and done.any():
            # As the core does it itself where there is nothing of the user's own: Gymnasium's SAME_STEP.
            arrays.final_observations[done] = arrays.observations[done]
            arrays.final_masks[done] = arrays.masks[done]
            self.reset_into(arrays.observations, arrays.masks, np.where(done, DRAW, LEAVE))

    def state(self) -> bytes:
        """Returns everything that decides what comes next; what the rewards here have come to stands at the end."""
        # At the end, where load_state finds them by their own length.
        return super().state() + self._sum.tobytes()

    def load_state(self, state: bytes, observations: NDArray[np.float32], masks: NDArray[np.bool_]) -> None:
        """Puts the environments into a saved state, as `NativeVectorEnv` does."""
        if len(state) < self._sum.nbytes:
            raise InputError("the saved state is cut short; save it again")
        cut = len(state) - self._sum.nbytes
        super().load_state(state[:cut], observations, masks)
        self._sum = np.frombuffer(state[cut:], dtype=np.float64).copy()
        self._look(observations)

    def _look(self, observations: NDArray[np.float32]) -> View:
        """Completes the observations, and remembers what was looked at."""
        view = self.view()
        if self._features:
            # Rows name jobs by their places in their own table; columns are those of all tables, one after the other.
            offsets = self.world.first_place[self.world.episodes["table"][view.episode]]
            places = np.where(view.jobs >= 0, view.jobs + offsets[:, None], -1)
            jobs = JobView(self._columns, places, view.now_ms[:, None] / MILLISECONDS)
            write_features(self._features, jobs, self.layout.split(observations)["jobs"])
        self._seen = view
        return view

    def _reward(
        self, actions: NDArray[np.int32], arrays: StepArrays, done: NDArray[np.bool_], before: View, after: View
    ) -> None:
        """Adds what the rewards here give for a step."""
        view = StepView(
            action=actions,
            invalid=arrays.invalid,
            now_s=before.now_ms / MILLISECONDS,
            waiting_jobs=before.waiting,
            running_jobs=before.running,
            elapsed_s=(after.now_ms - before.now_ms) / MILLISECONDS,
            terminated=arrays.terminated,
            truncated=arrays.truncated,
        )
        given = np.zeros(self.num_envs)
        for name, (weight, reward) in self._rewards.items():
            given += weight * worth(name, reward, view)
        self._sum += given
        # Added to what the core gave: both kinds of rewards may be weighted in one sum.
        arrays.rewards[:] += np.where(done, self._sum, 0.0) if self._final else given
        arrays.totals[done, TOTALS.index("reward")] += self._sum[done]
