"""Learned policies, as simulations use them: higher layers run them, and evaluate networks that the core has not."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from shunter import hooks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Protocol

    import numpy as np
    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster
    from shunter.model.snapshot import Snapshot
    from shunter.model.windows import Windows
    from shunter.model.workload import Workload
    from shunter.policies.scheduler import Scheduler
    from shunter.simulation.decision import Decision
    from shunter.simulation.simulation import Simulation
    from shunter.simulation.windows import WindowResults

    # Only types need these, and every start of the command line comes through here.
    class Evaluator(Protocol):
        """A network that says what it thinks of observations (samples, size), masks (samples, actions) beside them."""

        def evaluate(
            self, observations: NDArray[np.float32], masks: NDArray[np.bool_]
        ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
            """Returns logits (samples, actions), −1e30 where an action is forbidden, and values (samples,)."""

        def choose(
            self, observations: NDArray[np.float32], masks: NDArray[np.bool_], seed: int | None = None
        ) -> NDArray[np.int32]:
            """Returns the best action of each, of equal ones the first; with a seed, one that is drawn."""

        def denormalized(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
            """Returns values of `evaluate` in the units of the reward."""

        def active_units(
            self, observations: NDArray[np.float32], masks: NDArray[np.bool_]
        ) -> dict[str, NDArray[np.bool_]]:
            """Returns by layer that ends with a ReLU, (units,): which of its units act for any observation."""

        @property
        def size(self) -> int:
            """How many weights it has."""

    class EvaluatorLoader(Protocol):
        """What loads networks that the core does not know."""

        def load_evaluator(self, folder: Path) -> Evaluator:
            """Returns the network of a checkpoint."""

    class LearnedRunner(Protocol):
        """What runs a scheduler whose policy is a checkpoint."""

        def run_learned(
            self,
            workload: Workload,
            cluster: Cluster,
            scheduler: Scheduler,
            progress: Callable[[int, int], None] | None = None,
        ) -> Simulation:
            """Returns the simulation of a whole workload, at its end."""

        def run_learned_windows(
            self, workload: Workload, cluster: Cluster, windows: Windows, scheduler: Scheduler, threads: int = 1
        ) -> WindowResults:
            """Returns what happens in windows; the result does not depend on the number of threads."""

        def decide_learned(
            self, snapshot: Snapshot, workload: Workload, cluster: Cluster, scheduler: Scheduler
        ) -> Decision:
            """Returns what is decided in the state of a snapshot, and what the policy was shown."""


def learned_runner() -> LearnedRunner:
    """Returns what runs learned policies; the module is imported when it is first asked for."""
    return cast("LearnedRunner", import_module(hooks.learned_runner))


def evaluator_loader() -> EvaluatorLoader:
    """Returns what loads networks that the core does not know; its module is imported when it is first asked for."""
    return cast("EvaluatorLoader", import_module(hooks.evaluator_loader))
