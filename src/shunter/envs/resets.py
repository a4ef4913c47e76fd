"""What a reset of a vector environment asks for: which environments begin, and with which episodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from gymnasium.utils.seeding import np_random

from shunter.checks import MOST_SEED, check_name, whole
from shunter.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAVE: Final = -1
"""In the place of an episode: the environment goes on."""
DRAW: Final = -2
"""In the place of an episode: one is drawn."""

OPTIONS: Final = ("episode", "reset_mask")

Seeds = int | Sequence[int | None]


def draw_episode(random: np.random.Generator, episodes: int) -> int:
    """Returns the place of the episode that a seed chooses."""
    return int(random.integers(episodes))


@dataclass(frozen=True)
class Reset:
    """A reset, checked."""

    seed: int | None
    """From which episodes are drawn from now on; None: the drawing goes on."""
    episodes: NDArray[np.int64]
    """(environments,): an episode, `DRAW` or `LEAVE`."""


def checked_reset(num_envs: int, episodes: int, seed: Seeds | None, options: Mapping[str, Any] | None) -> Reset:
    """Returns what is asked for.

    Args:
        num_envs: How many environments.
        episodes: How many episodes there are.
        seed: One for all, or one for each: these begin with the episode that a single environment would.
        options: ``episode``: one for all, or one for each. ``reset_mask``: which begin, as Gymnasium has it. In a list
            of seeds or episodes None stands for any.

    Raises:
        InputError: A value is wrong, or an option is unknown.
    """
    options = options or {}
    for name in options:
        check_name("reset option", name, OPTIONS)
    begins = _reset_mask(num_envs, options.get("reset_mask"))
    beginning = np.full(num_envs, DRAW, dtype=np.int64)
    drawn_from = None
    # One seed for each environment means what it means for a single one: that environment begins with the episode that
    # its reset(seed=...) would choose.
    if _is_many(seed):
        drawn_from = _choose_by_seeds(beginning, begins, _one_each("seed", seed, num_envs), episodes)
    elif seed is not None:
        drawn_from = whole("seed", seed, 0, MOST_SEED)
    named = options.get("episode")
    if _is_many(named):
        for place, one in enumerate(_one_each("episode", named, num_envs)):
            if one is not None:
                beginning[place] = whole("episode", one, 0, episodes - 1)
    elif named is not None:
        beginning[:] = whole("episode", named, 0, episodes - 1)
    # Last, so that what is named for an environment that goes on does not matter.
    beginning[~begins] = LEAVE
    return Reset(drawn_from, beginning)


def _reset_mask(num_envs: int, mask: object) -> NDArray[np.bool_]:
    if mask is None:
        return np.ones(num_envs, dtype=np.bool_)
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (num_envs,):
        told = f"{mask.dtype} {mask.shape}" if isinstance(mask, np.ndarray) else type(mask).__name__
        raise InputError(f"reset_mask is {told}; expected an array, bool ({num_envs},)")
    # Gymnasium asks for it: a reset that resets nothing is a mistake.
    if not mask.any():
        raise InputError("reset_mask is False everywhere; expected at least one environment that begins anew")
    return mask


def _is_many(given: object) -> bool:
    return isinstance(given, Sequence | np.ndarray) and not isinstance(given, str) and np.ndim(given) > 0


def _one_each(name: str, given: Any, num_envs: int) -> list[Any]:  # noqa: ANN401 - any list or array
    values = list(given)
    if len(values) != num_envs:
        raise InputError(f"{name} has {len(values)} values; expected one, or {num_envs}, one for each environment")
    return values


def _choose_by_seeds(
    beginning: NDArray[np.int64], begins: NDArray[np.bool_], seeds: list[Any], episodes: int
) -> int | None:
    """Puts in the episode that each seed chooses, and returns the seed for the episodes behind them."""
    used = []
    for place in np.flatnonzero(begins):
        if seeds[place] is not None:
            used.append(whole("seed", seeds[place], 0, MOST_SEED))
            beginning[place] = draw_episode(np_random(used[-1])[0], episodes)
    # Later episodes are drawn by one generator for all environments, which depends on all seeds.
    return int(np.random.SeedSequence(used).generate_state(1, np.uint64)[0]) if used else None
