"""How fast the replay buffer takes in steps and draws samples, and how much memory a transition takes.

    PYTHONPATH=. python benchmarks/replay.py [--capacity 20000] [--rounds 5]
    PYTHONPATH=. python benchmarks/replay.py --million    a million full windows, and what the process then takes

In one run, on the same recorded steps of 16 environments: Shunter's buffer, drawn evenly and by priority; a plain ring
of NumPy arrays with padded windows (observation and next observation, masks, actions, rewards, ends); and, if it is
installed, Stable-Baselines3's ReplayBuffer, as it comes and with `optimize_memory_usage` (it keeps no masks). All draw
batches of 256 with n = 1. Windows have 64 jobs: full ones, and those that a policy sees that plays at random on lublin
at load 0.9. Rates are of the fastest of several rounds, by the thread's own clock, which does not count what other
processes took; ratios are to the plain ring.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Protocol

import gymnasium
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.envs import drawn
from benchmarks.simulate import verdict
from shunter.agents.common.replay import Replay
from shunter.envs import make_vec
from shunter.envs.arrays import VectorArrays
from shunter.envs.layout import Layout
from shunter.envs.vector import NativeVectorEnv, StepArrays
from shunter.policies.catalog import PICK_JOB

NUM_ENVS: Final = 16
BATCH: Final = 256
STEPS: Final = 400
"""So many are recorded, and taken in again and again."""
GAMMA: Final = 0.99
MOST_GB: Final = 4.0
"""The goal for a million transitions of full windows."""
MILLION: Final = 1_000_000
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""The numbers of glibc's `mallopt`."""


@dataclass(frozen=True)
class Recorded:
    """Steps of all environments, and what was done in each."""

    layout: Layout
    actions: list[NDArray[np.int32]]
    steps: list[StepArrays]
    """The first one holds what was acted on first."""


class Buffer(Protocol):
    """What is measured."""

    def begin(self, arrays: StepArrays) -> None:
        """Takes in what is acted on first."""
        ...

    def add(self, before: StepArrays, actions: NDArray[np.int32], after: StepArrays) -> None:
        """Takes in a step."""
        ...

    def sample(self) -> object:
        """Draws a batch."""
        ...

    def bytes_each(self) -> float:
        """Returns how many bytes a transition takes."""
        ...


class Native:
    """Shunter's."""

    def __init__(self, layout: Layout, capacity: int, *, priority_exponent: float = 0.0) -> None:
        self._exponent = priority_exponent
        self.replay = Replay(
            layout, NUM_ENVS, capacity=capacity, gamma=GAMMA, priority_exponent=priority_exponent, seed=1
        )

    def begin(self, arrays: StepArrays) -> None:
        """Takes in what is acted on first."""
        self.replay.begin(arrays.observations, arrays.masks)

    def add(self, before: StepArrays, actions: NDArray[np.int32], after: StepArrays) -> None:
        """Takes in a step."""
        self.replay.add(actions, after)

    def sample(self) -> object:
        """Draws a batch."""
        batch = self.replay.sample(BATCH, importance_exponent=0.4 if self._exponent else 0.0)
        if self._exponent:
            self.replay.set_priorities(batch.places, np.abs(batch.returns))
        return batch

    def bytes_each(self) -> float:
        """Returns how many bytes a transition takes."""
        return self.replay.memory_bytes / len(self.replay)


class Ring:
    """NumPy arrays of padded windows."""

    def __init__(self, layout: Layout, capacity: int) -> None:
        each = capacity // NUM_ENVS
        seen, allowed = (each, NUM_ENVS, layout.observation_size), (each, NUM_ENVS, layout.actions)
        self._arrays: dict[str, NDArray[Any]] = {
            "observations": np.zeros(seen, np.float32),
            "next_observations": np.zeros(seen, np.float32),
            "masks": np.zeros(allowed, np.bool_),
            "next_masks": np.zeros(allowed, np.bool_),
            "actions": np.zeros(seen[:2], np.int64),
            "rewards": np.zeros(seen[:2], np.float32),
            "terminated": np.zeros(seen[:2], np.bool_),
        }
        self._size = each
        self._added = 0
        self._random = np.random.default_rng(1)

    def begin(self, arrays: StepArrays) -> None:
        """Each step brings what it acted on."""

    def add(self, before: StepArrays, actions: NDArray[np.int32], after: StepArrays) -> None:
        """Takes in a step."""
        place = self._added % self._size
        self._added += 1
        ended = after.terminated | after.truncated
        stored = self._arrays
        stored["observations"][place], stored["masks"][place] = before.observations, before.masks
        stored["next_observations"][place], stored["next_masks"][place] = after.observations, after.masks
        stored["next_observations"][place, ended] = after.final_observations[ended]
        stored["next_masks"][place, ended] = after.final_masks[ended]
        stored["actions"][place], stored["rewards"][place] = actions, after.rewards
        stored["terminated"][place] = after.terminated

    def sample(self) -> object:
        """Draws a batch."""
        steps = self._random.integers(0, min(self._added, self._size), BATCH)
        environments = self._random.integers(0, NUM_ENVS, BATCH)
        return {name: array[steps, environments] for name, array in self._arrays.items()}

    def bytes_each(self) -> float:
        """Returns how many bytes a transition takes."""
        return sum(array.nbytes for array in self._arrays.values()) / (self._size * NUM_ENVS)


class Sb3:
    """Stable-Baselines3's."""

    def __init__(self, layout: Layout, capacity: int, *, stores_once: bool) -> None:
        from stable_baselines3.common.buffers import ReplayBuffer

        self._buffer = ReplayBuffer(
            capacity,
            gymnasium.spaces.Box(0.0, 1.0, (layout.observation_size,), np.float32),
            gymnasium.spaces.Discrete(layout.actions),
            device="cpu",
            n_envs=NUM_ENVS,
            optimize_memory_usage=stores_once,
            handle_timeout_termination=False,
        )
        self._infos: list[dict[str, Any]] = [{} for _ in range(NUM_ENVS)]

    def begin(self, arrays: StepArrays) -> None:
        """Each step brings what it acted on."""

    def add(self, before: StepArrays, actions: NDArray[np.int32], after: StepArrays) -> None:
        """Takes in a step."""
        # What its own algorithms do where an episode ended, without a copy of everything.
        seen = after.observations
        for place in np.flatnonzero(after.terminated | after.truncated):
            seen = seen.copy() if seen is after.observations else seen
            seen[place] = after.final_observations[place]
        self._buffer.add(before.observations, seen, actions, after.rewards, after.terminated, self._infos)

    def sample(self) -> object:
        """Draws a batch."""
        return self._buffer.sample(BATCH)

    def bytes_each(self) -> float:
        """Returns how many bytes a transition takes."""
        names = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")
        arrays = [getattr(self._buffer, name, None) for name in names]
        total = sum(array.nbytes for array in arrays if array is not None)
        return float(total / (self._buffer.buffer_size * NUM_ENVS))


def contenders(layout: Layout, capacity: int) -> dict[str, Callable[[], Buffer]]:
    """Returns who is measured."""
    found: dict[str, Callable[[], Buffer]] = {
        "NumPy ring, padded": lambda: Ring(layout, capacity),
        "Shunter, even": lambda: Native(layout, capacity),
        "Shunter, by priority": lambda: Native(layout, capacity, priority_exponent=0.6),
    }
    try:
        import stable_baselines3  # noqa: F401 - only whether it is there
    except ImportError:
        return found
    return found | {
        "Stable-Baselines3": lambda: Sb3(layout, capacity, stores_once=False),
        "Stable-Baselines3, stored once": lambda: Sb3(layout, capacity, stores_once=True),
    }


def full_windows() -> Recorded:
    """Returns steps that show full windows."""
    layout = Layout(PICK_JOB, window=64, counts="size")
    random, blank = np.random.default_rng(1), VectorArrays(NUM_ENVS, layout)
    steps = []
    for _ in range(STEPS + 1):
        step = StepArrays(**{name: blank.new(name) for name in StepArrays.__dataclass_fields__})
        step.observations[:] = random.random(step.observations.shape, np.float32)
        layout.split(step.observations)["jobs"][..., 0] = 1.0
        step.masks[:] = True
        steps.append(step)
    return Recorded(layout, [np.ones(NUM_ENVS, np.int32) for _ in range(STEPS)], steps)


def real_windows() -> Recorded:
    """Returns steps of a policy that plays at random."""
    log = "generate:lublin?seed=1&jobs=10000&cores=256&load=0.9"
    environments = make_vec("shunter/PickJob-v0", NUM_ENVS, workload=log, window=64, part=(0.0, 1.0), seed=1)
    assert isinstance(environments, NativeVectorEnv)
    arrays, random = environments.step_arrays(), np.random.default_rng(1)
    environments.reset_into(arrays.observations, arrays.masks)
    actions, steps = [], [_copy(arrays)]
    for _ in range(STEPS):
        actions.append(drawn(arrays.masks, random))
        environments.step_into(actions[-1], arrays)
        steps.append(_copy(arrays))
    return Recorded(environments.layout, actions, steps)


def _copy(arrays: StepArrays) -> StepArrays:
    return replace(arrays, **{name: array.copy() for name, array in vars(arrays).items()})


@dataclass
class Measured:
    """The best of several rounds, a second, and the bytes of a transition."""

    adds: float = 0.0
    draws: float = 0.0
    bytes_each: float = 0.0


def fill(buffer: Buffer, recorded: Recorded, count: int) -> float:
    """Takes in so many transitions; returns how many seconds it took."""
    taken = 0.0
    for first in range(0, count, STEPS * NUM_ENVS):
        # Steps are told again from the first: the episode before was left.
        buffer.begin(recorded.steps[0])
        began = time.thread_time()
        for step in range(min(STEPS, (count - first) // NUM_ENVS)):
            buffer.add(recorded.steps[step], recorded.actions[step], recorded.steps[step + 1])
        taken += time.thread_time() - began
    return taken


def draw_rate(buffer: Buffer) -> float:
    """Returns how many samples are drawn a second."""
    began = time.thread_time()
    for _ in range(5):
        buffer.sample()
    return 5 * BATCH / (time.thread_time() - began)


def measure(recorded: Recorded, capacity: int, rounds: int) -> dict[str, Measured]:
    """Measures all, in turn."""
    makers = contenders(recorded.layout, capacity)
    found = {name: Measured() for name in makers}
    for _ in range(rounds):
        for name, make in makers.items():
            buffer, best = make(), found[name]
            # The first time memory is asked for, which is another thing.
            fill(buffer, recorded, capacity)
            best.adds = max(best.adds, capacity / fill(buffer, recorded, capacity))
            best.draws = max(best.draws, *(draw_rate(buffer) for _ in range(10)))
            best.bytes_each = buffer.bytes_each()
            del buffer
            gc.collect()
    return found


def table_of(title: str, found: dict[str, Measured]) -> Table:
    """Returns what was measured, with ratios to the first."""
    table = Table(title=title)
    for column in ("buffer", "adds/s", "ratio", "draws/s", "ratio", "bytes each", "ratio"):
        table.add_column(column, justify="left" if column == "buffer" else "right")
    first = next(iter(found.values()))
    for name, one in found.items():
        cells = (
            (f"{one.adds:,.0f}", one.adds / first.adds),
            (f"{one.draws:,.0f}", one.draws / first.draws),
            (f"{one.bytes_each:,.0f}", one.bytes_each / first.bytes_each),
        )
        table.add_row(name, *(cell for figure, ratio in cells for cell in (figure, f"{ratio:.2f}")))
    return table


def keep_memory() -> None:
    """Has the C library keep memory that was freed, where it can be told to (glibc).

    Whether it gives pages of a batch back to the system depends on what was freed before, and costs several times what
    drawing does. It would decide the comparison.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt:
        for parameter in (TRIM_THRESHOLD, MMAP_THRESHOLD):
            mallopt(parameter, 1 << 24)


def resident_gb() -> float:
    """Returns what this process takes of the memory, in GB; Linux alone tells."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    [line] = [line for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(line.split()[1]) * 1024 / 1e9


def million(console: Console) -> None:
    """Fills a buffer with a million full windows, and more, so that old ones are dropped."""
    recorded = full_windows()
    before = resident_gb()
    buffer = Native(recorded.layout, MILLION)
    fill(buffer, recorded, MILLION + MILLION // 5)
    buffer.sample()
    gigabytes = resident_gb() - before
    told = buffer.replay.memory_bytes / 1e9
    console.print(
        f"{len(buffer.replay):,} transitions of full windows: {gigabytes:.2f} GB resident, by its own account "
        f"{told:.2f} GB (goal: below {MOST_GB:g}) {verdict(gigabytes < MOST_GB)}"
    )


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--capacity", type=int, default=20_000, help="how many transitions each buffer keeps")
    parser.add_argument("--rounds", type=int, default=5, help="of which the fastest counts")
    parser.add_argument("--million", action="store_true", help="only fill a buffer with a million full windows")
    given = parser.parse_args()
    console = Console()
    if given.million:
        million(console)
        return
    keep_memory()
    capacity = given.capacity // NUM_ENVS * NUM_ENVS
    for name, recorded in (("full windows", full_windows()), ("lublin at load 0.9", real_windows())):
        rows = np.mean([recorded.layout.split(step.observations)["jobs"][..., 0].sum(1) for step in recorded.steps])
        title = f"{name}: {rows:.1f} of 64 rows filled, {capacity:,} transitions"
        console.print(table_of(title, measure(recorded, capacity, given.rounds)))


if __name__ == "__main__":
    main()
