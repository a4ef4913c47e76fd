"""A network in the core: it reads a checkpoint, decides and learns without PyTorch."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from shunter.native import Handle, check, core_numbers, ffi, lib, opened, pointer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray


class NativeNetwork:
    """A network in the core, with its weights and the units of its values."""

    def __init__(self, handle: Handle) -> None:
        """Takes over a policy that the core has opened."""
        self.handle = handle
        sizes = [ffi.new("uintptr_t *") for _ in range(3)]
        check(lib.shunter_policy_sizes(handle.number, *sizes))
        self.observation_size, self.actions, self.size = (int(size[0]) for size in sizes)

    @staticmethod
    def load(folder: Path) -> NativeNetwork:
        """Returns the network of a checkpoint.

        Raises:
            InputError: There is none, it is damaged, or its network is not one of the core's.
        """
        path = str(folder).encode()
        return NativeNetwork(opened(lib.shunter_policy_load, path, len(path)))

    @staticmethod
    def open(about: Mapping[str, Any]) -> NativeNetwork:
        """Returns the network that a description like that of ``policy.json`` means; its weights are all 0.

        Raises:
            InputError: The core has no such network.
        """
        text = json.dumps(about).encode()
        return NativeNetwork(opened(lib.shunter_policy_open, text, len(text)))

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The tensors of weights by name, in the core's order."""
        needed = ffi.new("uintptr_t *")
        check(lib.shunter_policy_names(self.handle.number, ffi.NULL, 0, needed))
        buffer = bytearray(needed[0])
        check(lib.shunter_policy_names(self.handle.number, ffi.from_buffer("uint8_t[]", buffer), len(buffer), needed))
        lines = (line.split() for line in buffer.decode().splitlines())
        return {name: tuple(map(int, sizes)) for name, *sizes in lines}

    def use(self, instructions: str | None = None) -> str:
        """Has the network use some instructions, ``portable`` or ``avx2``; None: the best there are. Returns which.

        Raises:
            InputError: This processor does not have them.
        """
        names = core_numbers("Instructions")
        used = ffi.new("int32_t *")
        wanted = -1 if instructions is None else names[instructions]
        check(lib.shunter_policy_instructions(self.handle.number, wanted, used))
        return next(name for name, number in names.items() if number == used[0])

    def set(self, weights: Mapping[str, NDArray[np.float32]], units: tuple[float, float, float] = (0, 0, 1)) -> None:
        """Gives the network weights by name, and the count, mean and variance that its values are measured in.

        Raises:
            InputError: A number is not finite, or the weights are those of another network.
        """
        flat = np.concatenate([np.asarray(weights[name], np.float32).reshape(-1) for name in self.shapes])
        numbers = np.array(units, dtype=np.float64)
        check(lib.shunter_policy_set(self.handle.number, pointer(flat), len(flat), pointer(numbers)))

    def get(self) -> tuple[dict[str, NDArray[np.float32]], tuple[float, float, float]]:
        """Returns the weights by name, and the count, mean and variance that values are measured in."""
        flat, numbers = np.empty(self.size, np.float32), np.empty(3, np.float64)
        check(lib.shunter_policy_get(self.handle.number, pointer(flat), len(flat), pointer(numbers)))
        count, mean, variance = numbers.tolist()
        return self.by_name(flat), (count, mean, variance)

    def by_name(self, flat: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
        """Returns numbers that stand as weights do, tensor by tensor."""
        found, first = {}, 0
        for name, shape in self.shapes.items():
            size = int(np.prod(shape))
            found[name] = flat[first : first + size].reshape(shape)
            first += size
        return found

    def evaluate(
        self, observations: NDArray[np.float32], masks: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Returns logits (samples, actions), −1e30 where an action is forbidden, and values (samples,)."""
        logits = np.empty(masks.shape, np.float32)
        values = np.empty(len(masks), np.float32)
        given = (pointer(observations), pointer(masks.view(np.uint8)), len(masks))
        check(lib.shunter_policy_evaluate(self.handle.number, *given, pointer(logits), pointer(values)))
        return logits, values
