"""The arrays that environments read and write, checked before the core gets their addresses."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from shunter.envs.rewards import TOTALS
from shunter.errors import InputError
from shunter.native import pointer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.envs.layout import Layout
    from shunter.envs.vector import StepArrays

Span = tuple[int, int, str]
"""At which address an array begins, behind which one it ends, and its name."""


@dataclass(frozen=True)
class Written:
    """Arrays that the core may write."""

    pointers: tuple[Any, ...]
    spans: tuple[Span, ...]
    """By address."""

    def check_apart(self, other: Span) -> None:
        """Raises an error if another array shares memory with one of these."""
        place = bisect(self.spans, other)
        for left, right in pairwise((*self.spans[max(place - 1, 0) : place], other, *self.spans[place : place + 1])):
            _check_apart(left, right)


class VectorArrays:
    """What the arrays of a vector environment must be: the core believes their lengths."""

    def __init__(self, num_envs: int, layout: Layout) -> None:
        """Works out types and shapes."""
        one, observation, mask = (num_envs,), (num_envs, layout.observation_size), (num_envs, layout.actions)
        self._expected: dict[str, tuple[np.dtype[Any], tuple[int, ...]]] = {
            "observations": (np.dtype(np.float32), observation),
            "masks": (np.dtype(np.bool_), mask),
            "rewards": (np.dtype(np.float64), one),
            "terminated": (np.dtype(np.bool_), one),
            "truncated": (np.dtype(np.bool_), one),
            "invalid": (np.dtype(np.bool_), one),
            "final_observations": (np.dtype(np.float32), observation),
            "final_masks": (np.dtype(np.bool_), mask),
            "totals": (np.dtype(np.float64), (num_envs, len(TOTALS))),
            "actions": (np.dtype(np.int32), one),
            "episodes": (np.dtype(np.int64), one),
        }
        # Checking nine arrays costs as much as stepping some environments. An object of arrays is frozen, so that once
        # is enough; weakly, so that it can be thrown away.
        self._steps: WeakKeyDictionary[StepArrays, Written] = WeakKeyDictionary()

    def new(self, name: str) -> NDArray[Any]:
        """Returns an array of this name, all zeros."""
        dtype, shape = self._expected[name]
        return np.zeros(shape, dtype=dtype)

    def read(self, name: str, array: NDArray[Any]) -> Any:  # noqa: ANN401 - cffi's pointers have no static type
        """Returns a pointer to an array that the core only reads.

        Raises:
            InputError: The array is not what the core expects.
        """
        dtype, shape = self._expected[name]
        if not isinstance(array, np.ndarray):
            raise InputError(f"{name}: this is {type(array).__name__}; expected an array, {dtype} {shape}, contiguous")
        flags = array.flags
        # The core gets a bare address: another type, shape or stride would have it read or write beyond the array.
        if array.dtype != dtype or array.shape != shape or not flags.c_contiguous or not flags.aligned:
            faults = {"contiguous": flags.c_contiguous, "aligned": flags.aligned}
            what = "".join(f", not {word}" for word, is_so in faults.items() if not is_so)
            raise InputError(
                f"{name}: the array is {array.dtype} {array.shape}{what}; expected {dtype} {shape}, contiguous"
            )
        # A C bool has no fixed size in the ABI; a byte has.
        return pointer(array.view(np.uint8) if dtype == np.bool_ else array)

    def written(self, arrays: Mapping[str, NDArray[Any]]) -> Written:
        """Returns arrays that the core may write, their pointers in the order of their names here.

        Raises:
            InputError: One is not what the core expects, or cannot be written, or two share memory.
        """
        pointers = []
        for name, array in arrays.items():
            pointers.append(self.read(name, array))
            if not array.flags.writeable:
                raise InputError(f"{name}: the array is read-only; give one that can be written, or a copy")
        # Two arrays that share memory would race: several threads write at once.
        spans = sorted(_span(name, array) for name, array in arrays.items())
        for left, right in pairwise(spans):
            _check_apart(left, right)
        return Written(tuple(pointers), tuple(spans))

    def step(self, actions: NDArray[np.int32], arrays: StepArrays) -> tuple[Any, ...]:
        """Returns pointers to the actions and to what a step writes; what it writes is checked once for each object.

        Raises:
            InputError: As `written` does.
        """
        written = self._steps.get(arrays)
        if written is None:
            written = self._steps[arrays] = self.written(vars(arrays))
        read = self.read("actions", actions)
        written.check_apart(_span("actions", actions))
        return read, *written.pointers


def as_actions(given: Any) -> NDArray[np.int32]:  # noqa: ANN401 - any array or list of numbers
    """Returns actions as the core takes them.

    Raises:
        InputError: They are no whole numbers, or far beyond any action.
    """
    actions = np.asarray(given)
    # A float such as 1.0 would pass silently where 1.7 must not; so none passes.
    if actions.dtype.kind not in "iu":
        raise InputError(f"actions are {actions.dtype}; expected whole numbers, one for each environment")
    converted = np.ascontiguousarray(actions, dtype=np.int32)
    # A narrowing conversion wraps around without a word.
    if actions.dtype != np.int32 and not np.array_equal(actions, converted):
        raise InputError(f"an action is {actions[actions != converted][0]}; expected the number of an action")
    return converted


def _span(name: str, array: NDArray[Any]) -> Span:
    begin: int = array.__array_interface__["data"][0]
    return begin, begin + array.nbytes, name


def _check_apart(left: Span, right: Span) -> None:
    if right[0] < left[1]:
        raise InputError(f"{left[2]} and {right[2]} share memory; give each an array of its own")
