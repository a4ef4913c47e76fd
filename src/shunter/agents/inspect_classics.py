"""What the classics would choose where a learned policy chose; ``docs/policies.md`` has their scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

from shunter.agents.inspect_decisions import Queue

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.agents.inspect_decisions import Decisions
    from shunter.model.workload import Workload

LEAST_ESTIMATE_S: Final = 1.0
LEAST_LOG: Final = 1e-15
"""Below this log2(n) does not fall, so that serial jobs come first."""
SMALLEST: Final = 0.1
"""What stands in a logarithm for what is not positive."""

Score = Callable[[Queue], "NDArray[np.float64]"]


def _log10(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.log10(np.where(values > 0, values, SMALLEST)))


def _divisor(queue: Queue) -> NDArray[np.float64]:
    return np.asarray(np.maximum(queue.estimate_s, LEAST_ESTIMATE_S))


def _unicef(queue: Queue) -> NDArray[np.float64]:
    size = np.maximum(np.log2(np.maximum(queue.cores, LEAST_LOG)), LEAST_LOG)
    return np.asarray(-queue.wait_s / (size * _divisor(queue)))


CLASSICS: Final[dict[str, Score]] = {
    "fcfs": lambda queue: queue.submit_s,
    "sjf": lambda queue: queue.estimate_s,
    "smallest": lambda queue: queue.cores,
    "saf": lambda queue: queue.estimate_s * queue.cores,
    "f1": lambda queue: _log10(queue.estimate_s) * queue.cores + 870 * _log10(queue.submit_s),
    "f2": lambda queue: np.sqrt(queue.estimate_s) * queue.cores + 25600 * _log10(queue.submit_s),
    "f3": lambda queue: queue.estimate_s * queue.cores + 6860000 * _log10(queue.submit_s),
    "f4": lambda queue: queue.estimate_s * np.sqrt(queue.cores) + 530000 * _log10(queue.submit_s),
    "wfp3": lambda queue: -((queue.wait_s / _divisor(queue)) ** 3) * queue.cores,
    "unicef": _unicef,
}
"""The lowest goes first."""


def agreement(decisions: Decisions, workload: Workload) -> dict[str, float | None]:
    """Returns in which share of the choices between jobs the policy takes the job that a classic would take.

    A classic always takes one of the jobs that may be chosen. None: there was no such choice.
    """
    choice = decisions.masks[:, 1:].sum(axis=1) > 1
    if not choice.any():
        return dict.fromkeys(CLASSICS)
    queue = Queue(decisions, workload)
    return {
        name: float((queue.first(score(queue)) == decisions.actions)[choice].mean()) for name, score in CLASSICS.items()
    }
