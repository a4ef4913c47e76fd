"""The classics: what one can have without tuning and without learning, and which of them would have been chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from shunter.comparison.combinations import ALL, NOT_ALL, combine
from shunter.comparison.log_windows import MetricsOf
from shunter.errors import InputError
from shunter.policies.native import REQUESTED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.comparison.bench import Bench
    from shunter.comparison.combinations import Combination, Combinations
    from shunter.comparison.log_windows import Measured
    from shunter.comparison.objective import Objective
    from shunter.policies.scheduler import Scheduler

DISPATCHES: Final = ("strict", "greedy", "easy", "conservative")
"""Under which rules classics are tried."""
NOT_DISPATCHES: Final = {
    "committed": "near the best on none of the public logs",
    "committed-backfill": "near the best on none of the public logs",
    "a number of reservations": "between easy and conservative, which are tried",
}
"""Under which rules they are not tried, and why (``docs/results-classics.md``)."""

Progress = Callable[[int, int], None]
"""Called with how many steps are done, and of how many."""


@dataclass(frozen=True)
class Choice:
    """The classic that would have been chosen on training days."""

    combination: Combination
    measured: Measured
    """What it did in each training window."""

    def take(self, rows: NDArray[np.int64]) -> Choice:
        """Returns the same in some of the windows, by their places."""
        return Choice(self.combination, {name: values[rows] for name, values in self.measured.items()})


def classics(scheduler: Scheduler, estimates: Sequence[str]) -> tuple[Combination, ...]:
    """Returns every classic under every rule of `DISPATCHES` with each estimate; the rest is as in the settings."""
    return _all_classics(scheduler, estimates).possible


def _all_classics(scheduler: Scheduler, estimates: Sequence[str]) -> Combinations:
    shared = scheduler.settings.words()
    for name in ("policy", "dispatch", "estimate"):
        del shared[name]
    return combine([ALL], DISPATCHES, [shared.pop("placement")], estimates, **shared)


def left_out(scheduler: Scheduler) -> tuple[str, ...]:
    """Returns which policies and dispatch rules are not among the classics, and why, one line a reason."""
    named: dict[tuple[str, str], list[str]] = {}
    for kind, those in (("policy", NOT_ALL), ("dispatch", NOT_DISPATCHES)):
        for name, why in those.items():
            named.setdefault((kind, why), []).append(name)
    told = [f"{kind} {', '.join(names)}: {why}" for (kind, why), names in named.items()]
    return (*told, *_all_classics(scheduler, [REQUESTED]).skipped)


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
    return best_choice(measure_classics(bench, combinations, objective, progress), objective)


def measure_classics(
    bench: Bench, combinations: Sequence[Combination], objective: Objective, progress: Progress | None = None
) -> list[Choice]:
    """Returns what each of some combinations does in the windows of a bench; the arguments are `choose_classic`'s.

    Raises:
        InputError: A metric has no meaning in these windows.
    """
    found = []
    every = bench.each([one.scheduler for one in combinations], MetricsOf(objective.metrics), progress)
    for combination, measured in zip(combinations, every, strict=True):
        found.append(Choice(combination, measured))
        if len(found) == 1:
            _check_meaning(bench, measured)
    return found


def best_choice(choices: Sequence[Choice], objective: Objective) -> Choice:
    """Returns the choice that is the best by the metric alone; the first of those alike."""
    # A classic is chosen by the metric alone: bounds are what a tuned or learned policy is held to, relative to it.
    # Any base will do: costs are compared with each other, and it is the same for all.
    base = choices[0].measured
    # The first of those alike is the smallest, whatever the machine.
    return min(choices, key=lambda one: objective.cost(one.measured, base))


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
