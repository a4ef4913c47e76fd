"""Environments in forked processes, where Polars cannot read a log: what they need is prepared before the fork.

``gymnasium.vector.AsyncVectorEnv`` makes one environment in the process that calls it, forks, and makes the others in
the forked processes. The threads of Polars do not live on there, and whatever asks for them waits for ever. So what
environments are made of is kept for those who ask for the same.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from shunter.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from shunter.envs.world import World

MOST_KEPT: Final = 4
"""So many worlds are kept, the latest; a large log takes much memory."""
_OF_THE_VECTOR: Final = ("num_envs", "threads", "autoreset")
"""Keywords that are no part of what environments are made of."""


class _Kept:
    """What was made last, and whether this process was forked since."""

    def __init__(self) -> None:
        self.worlds: dict[str, tuple[World, Mapping[str, object]]] = {}
        self.is_forked = False

    def note_fork(self) -> None:
        self.is_forked = True


_kept: Final = _Kept()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_kept.note_fork)


def prepared(kind: str, given: Mapping[str, object], make: Callable[[], World]) -> World:
    """Returns what environments are made of: made now, or in a forked process what was made for the same before.

    Args:
        kind: What is decided.
        given: All that it is made from, by keyword.
        make: Makes it.

    Raises:
        InputError: This process was forked, and nothing of the kind was made before.
    """
    # An object is the same one in a forked process; texts and numbers are the same if they are equal.
    parts = {name: value for name, value in sorted(given.items()) if name not in _OF_THE_VECTOR}
    plain = (str, int, float, bool, tuple, list, dict, type(None))
    key = repr((kind, {name: value if isinstance(value, plain) else id(value) for name, value in parts.items()}))
    if _kept.is_forked:
        if key not in _kept.worlds:
            raise InputError(
                "an environment is made in a forked process, in which Polars cannot read a log; make one with the same "
                "arguments before the fork, or let processes be spawned: AsyncVectorEnv(..., context='spawn')"
            )
        return _kept.worlds[key][0]
    world = make()
    _kept.worlds.pop(key, None)
    # The objects are kept with it, so that no other gets their numbers.
    _kept.worlds[key] = world, parts
    while len(_kept.worlds) > MOST_KEPT:
        del _kept.worlds[next(iter(_kept.worlds))]
    return world
