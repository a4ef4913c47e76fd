"""A network in the core: it reads a checkpoint, decides and learns without PyTorch."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from shunter.envs.baselines import scaled_priority
from shunter.errors import InputError
from shunter.native import Handle, check, core_numbers, ffi, lib, opened, pointer
from shunter.simulation.decision import read_decision

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from shunter.model.workload import Workload
    from shunter.simulation.decision import Decision
    from shunter.simulation.simulation import Simulation

Number = TypeVar("Number", bound=np.generic)

LAYERS: Final = "layers"
"""The key of ``policy.json`` that tells the layers of a network of the user's own."""
NETWORK_KINDS: Final = tuple(name for name in core_numbers("NetworkKind") if name != LAYERS)
"""The networks that the core knows by their names."""
SMALLEST: Final = 1e-4
"""The least deviation that values are measured in, as in the core."""


def is_native(record: Mapping[str, Any]) -> bool:
    """Returns whether the core knows the network that ``policy.json`` tells of."""
    network = record.get("network")
    return LAYERS in record or (isinstance(network, dict) and network.get("kind", "kernel") in NETWORK_KINDS)


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

    def by_name(self, flat: NDArray[Number]) -> dict[str, NDArray[Number]]:
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
        """Returns logits (samples, actions), −1e30 where an action is forbidden, and values (samples,).

        Raises:
            InputError: The observations are others than the network reads, or a mask allows nothing.
        """
        given = self._given(observations, masks)
        logits = np.empty(masks.shape, np.float32)
        values = np.empty(len(masks), np.float32)
        check(lib.shunter_policy_evaluate(self.handle.number, *given, pointer(logits), pointer(values)))
        return logits, values

    def choose(
        self, observations: NDArray[np.float32], masks: NDArray[np.bool_], seed: int | None = None
    ) -> NDArray[np.int32]:
        """Returns the best action of each, of equal ones the first; with a seed, one that is drawn.

        Raises:
            InputError: The observations are others than the network reads, or a mask allows nothing.
        """
        given = self._given(observations, masks)
        actions = np.empty(len(masks), np.int32)
        check(lib.shunter_policy_actions(self.handle.number, *given, seed is not None, seed or 0, pointer(actions)))
        return actions

    def active_units(self, observations: NDArray[np.float32], masks: NDArray[np.bool_]) -> dict[str, NDArray[np.bool_]]:
        """Returns by layer, (units,): which of its units act for any observation; only of layers that end with a ReLU.

        Raises:
            InputError: The observations are others than the network reads, or a mask allows nothing.
        """
        found = np.empty(self.size, np.uint8)
        check(
            lib.shunter_policy_activity(
                self.handle.number, *self._given(observations, masks), pointer(found), self.size
            )
        )
        # A unit stands where its row of the weight begins.
        units = {
            name: values.reshape(len(values), -1)[:, 0] for name, values in self.by_name(found).items() if values.size
        }
        return {name.removesuffix(".weight"): acted == 2 for name, acted in units.items() if acted.any()}

    def _given(self, observations: NDArray[np.float32], masks: NDArray[np.bool_]) -> tuple[Any, Any, int]:
        """Returns observations and masks as the core takes them."""
        wanted = (len(masks), self.observation_size), (len(masks), self.actions)
        if (observations.shape, masks.shape) != wanted:
            what = f"observations have the shape {observations.shape}, masks {masks.shape}"
            raise InputError(f"{what}; expected {wanted[0]} and {wanted[1]}")
        return pointer(observations), pointer(masks.view(np.uint8)), len(masks)

    def denormalized(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Returns values of `evaluate` in the units of the reward."""
        _, (_, mean, variance) = self.get()
        found: NDArray[np.float32] = (values * max(variance**0.5, SMALLEST) + mean).astype(np.float32)
        return found

    def decide(self, simulation: Simulation, workload: Workload, budget_us: int = 0) -> Decision:
        """Returns what is decided at this instant of a simulation, which stays as it is, in one call of the core.

        `shunter.simulation.decide` also tells what the policy was shown, and works out features of the user's own.

        Args:
            simulation: Any state: of a simulation under way, or of one that has loaded a snapshot. Its dispatch rule is
                the one that the checkpoint's mode stands for, its policy the order of the window.
            workload: Its jobs.
            budget_us: How many microseconds it may take; 0: as long as it takes.

        Raises:
            OutOfTimeError: It was not decided in time.
            InputError: The policy cannot decide in such a simulation.
        """
        priority = scaled_priority(workload.whole())
        handle = simulation.open_policy_decision(self.handle, priority, budget_us)
        return read_decision(handle, simulation.status().now_s)
