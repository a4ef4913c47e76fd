"""The classics: what one can have without tuning and without learning, and which of them would have been chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from shunter.comparison.combinations import ALL, combine
from shunter.errors import InputError
from shunter.policies.native import REQUESTED

if TYPE_CHECKING:
    from shunter.comparison.bench import Bench, Measured
    from shunter.comparison.combinations import Combination
    from shunter.comparison.objective import Objective
    from shunter.policies.scheduler import Scheduler

DISPATCHES: Final = ("strict", "greedy", "easy", "conservative")
"""Under which rules classics are tried. ``committed`` is not among them: it is near the best on none of the logs of
``docs/results-classics.md``, and costs as much."""

Progress = Callable[[int, int], None]
"""Called with how many steps are done, and of how many."""


@dataclass(frozen=True)
class Choice:
    """The classic that would have been chosen on training days."""

    combination: Combination
    measured: Measured
    """What it did in each training window."""


def classics(scheduler: Scheduler, estimates: Sequence[str]) -> tuple[Combination, ...]:
    """Returns every classic under every rule of `DISPATCHES` with each estimate; the rest is as in the settings."""
    shared = scheduler.settings.words()
    for name in ("policy", "dispatch", "estimate"):
        del shared[name]
    return combine([ALL], DISPATCHES, [shared.pop("placement")], estimates, **shared).possible


def learns(scheduler: Scheduler) -> bool:
    """Returns whether a policy sees more than requested times, so that classics are tried with its estimate too."""
    return scheduler.estimate.kind != REQUESTED


def choose_classic(
    bench: Bench, combinations: Sequence[Combination], objective: Objective, progress: Progress | None = None
) -> Choice:
    """Returns the combination that does best in the windows of a bench, bounds aside; the first of those alike.

    Args:
        bench: The windows.
        combinations: From `classics`, or others to choose from.
        objective: By what they are compared.
        progress: Called after each of them with how many are done, and of how many.

    Raises:
        InputError: A metric has no meaning in these windows.
    """
    # A classic is chosen by the metric alone: bounds are what a tuned or learned policy is held to, relative to it.
    alone = replace(objective, bounds=())
    base: Measured | None = None
    best: tuple[float, Choice] | None = None
    for done, combination in enumerate(combinations, start=1):
        measured = bench.measure(combination.scheduler, objective.metrics)
        # Any base will do: costs are compared with each other, and it is the same for all.
        if base is None:
            _check_meaning(bench, measured)
            base = measured
        cost = alone.cost(measured, base)
        # Strictly better: of two that are alike the first stays, whatever the machine.
        if best is None or cost < best[0]:
            best = (cost, Choice(combination, measured))
        if progress:
            progress(done, len(combinations))
    assert best is not None, "there is at least one combination to choose from"
    return best[1]


def _check_meaning(bench: Bench, measured: Measured) -> None:
    for metric, values in measured.items():
        if np.isnan(values).all():
            raise InputError(
                f"{bench.name}: {metric} has no meaning in the training windows: no job can run there, or the log does "
                "not tell what it needs; check --cluster, or choose another metric"
            )


def part_of(progress: Progress | None, place: int, parts: int) -> Progress | None:
    """Returns what is told of the progress of one of several parts that are alike."""
    if progress is None:
        return None
    # All parts are taken to be equally long, so that a bar never goes back.
    return lambda done, total: progress(place * total + done, parts * total)
