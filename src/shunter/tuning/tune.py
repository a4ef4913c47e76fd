"""Tuning on training days: which weights would have served best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from shunter.comparison.bench import Bench
from shunter.comparison.combinations import ALL, combine
from shunter.errors import InputError
from shunter.model.log import Days, Log
from shunter.model.windows import MOST_COUNT
from shunter.policies.estimates import REQUESTED
from shunter.tuning.search import search
from shunter.tuning.space import Space, spec_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.comparison.bench import Measured
    from shunter.comparison.combinations import Combination
    from shunter.comparison.objective import Objective
    from shunter.policies.scheduler import Scheduler

TETHER: Final = 0.03
"""How much the cost grows with the mean square distance from where the search began: training days are few, and a
search that may go anywhere learns them by heart."""

DISPATCHES: Final = ("strict", "greedy", "easy", "conservative")
"""Under which rules classics are tried. ``committed`` is not among them: it is near the best on none of the logs of
``docs/results-classics.md``, and costs as much."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Plan:
    """How long to search, and on what."""

    train: tuple[float, float] = (0.0, 0.6)
    """The part of each log that is looked at."""
    windows: int = 40
    """How many windows of each log there are."""
    drawn: int = 16
    """On how many of them, drawn anew, each generation is tried."""
    length: int = 1024
    warmup: int = 0
    generations: int = 30
    population: int = 32
    seed: int = 0
    threads: int = 1

    @property
    def training_days(self) -> Days:
        """Where candidates are tried."""
        return Days("--train", self.train, self.windows, self.length, self.warmup, self.seed)

    def check(self) -> None:
        """Raises an error for a number that is wrong for any log."""
        least = {"windows": 1, "length": 1, "warmup": 0, "generations": 1, "population": 4, "threads": 1}
        for name, low in least.items():
            if not low <= getattr(self, name) <= MOST_COUNT:
                raise InputError(f"--{name} is {getattr(self, name)}; expected {low} to {MOST_COUNT}")
        if not 0 <= self.train[0] < self.train[1] < 1:
            raise InputError(f"--train is {self.train[1]:g}; expected a part of the log above 0 and below 1, as in 0.6")


@dataclass(frozen=True)
class Choice:
    """The classic that would have been chosen on training days."""

    combination: Combination
    measured: dict[str, NDArray[np.float64]]
    """What it did in each training window."""


@dataclass(frozen=True)
class Tuned:
    """What a search found."""

    kind: str
    parameters: dict[str, float]
    scheduler: Scheduler
    """With which dispatch rule, estimate and so on."""
    chosen: tuple[Choice, ...]
    """For each log, the classic that the bounds refer to."""
    costs: NDArray[np.float64]
    """(generations + 1,): the cost of the middle of each generation's candidates, and last that of the policy found, on
    all training windows: the mean logarithm of the ratio to the classics chosen there, and penalties for bounds."""
    simulations: int

    @property
    def spec(self) -> str:
        """The policy, as ``--policy`` takes it."""
        return spec_text(self.kind, self.parameters)


def training_benches(logs: Sequence[Log], plan: Plan) -> list[Bench]:
    """Returns a bench on the training windows of each log."""
    return [Bench.on(log, plan.training_days.windows_of(log), plan.threads) for log in logs]


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
    bench: Bench,
    scheduler: Scheduler,
    objective: Objective,
    estimates: Sequence[str] = (REQUESTED,),
    progress: Progress | None = None,
) -> Choice:
    """Returns the classic that does best in the windows of a bench, bounds aside.

    Args:
        bench: The windows.
        scheduler: What all classics share: the placement, the starvation guard, and so on.
        objective: By what they are compared.
        estimates: The run times that they see.
        progress: Called after each classic with how many are done, and of how many.

    Raises:
        InputError: A metric has no meaning in these windows.
    """
    combinations = classics(scheduler, estimates)
    base: dict[str, NDArray[np.float64]] | None = None
    best: tuple[float, Choice] | None = None
    for done, combination in enumerate(combinations, start=1):
        measured = bench.measure(combination.scheduler, objective.metrics)
        if base is None:
            _check_meaning(bench, measured)
            base = measured
        cost = type(objective)(objective.metric).cost(measured, base)
        if best is None or cost < best[0]:
            best = (cost, Choice(combination, measured))
        if progress:
            progress(done, len(combinations))
    assert best is not None, "combine() gives at least one combination, or raises"
    return best[1]


def _check_meaning(bench: Bench, measured: dict[str, NDArray[np.float64]]) -> None:
    for metric, values in measured.items():
        if np.isnan(values).all():
            raise InputError(
                f"{bench.name}: {metric} has no meaning in the training windows: no job can run there, or "
                "the log does not tell what it needs; check --cluster, or choose another metric"
            )


def tune(
    benches: Sequence[Bench],
    chosen: Sequence[Choice],
    scheduler: Scheduler,
    space: Space,
    objective: Objective,
    plan: Plan,
    progress: Progress | None = None,
) -> Tuned:
    """Searches the weights that do best on training days, compared with the classics chosen there.

    Args:
        benches: The training windows of each log.
        chosen: For each log, the classic chosen on the same windows.
        scheduler: What candidates share with the classics: the dispatch rule, the estimate, and so on.
        space: Which family of policies is searched.
        objective: What is to become better, and what must not become worse.
        plan: How long to search.
        progress: Called after each candidate with how many have been tried, and of how many.
    """
    random = np.random.default_rng([plan.seed, 1])
    total = plan.generations * plan.population
    middle_costs: list[float] = []
    done = 0

    def cost(vector: NDArray[np.float64], some: Sequence[Bench], bases: Sequence[Measured]) -> float:
        candidate = scheduler.changed(policy=spec_text(space.kind, space.parameters(vector)))
        found = (bench.measure(candidate, objective.metrics) for bench in some)
        return float(np.mean([objective.cost(own, base) for own, base in zip(found, bases, strict=True)]))

    def cost_everywhere(vector: NDArray[np.float64]) -> float:
        return cost(vector, benches, [choice.measured for choice in chosen])

    def evaluate(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        nonlocal done
        middle_costs.append(cost_everywhere(vectors[0]))
        rows = [np.sort(random.permutation(len(bench))[: plan.drawn]) for bench in benches]
        drawn = [bench.take(chosen_rows) for bench, chosen_rows in zip(benches, rows, strict=True)]
        bases = [
            {name: values[chosen_rows] for name, values in choice.measured.items()}
            for choice, chosen_rows in zip(chosen, rows, strict=True)
        ]
        costs = TETHER * space.distance(vectors)
        for place, vector in enumerate(vectors):
            costs[place] += cost(vector, drawn, bases)
            done += 1
            if progress:
                progress(done, total)
        return costs

    found = search(
        evaluate,
        space.center,
        space.spread,
        generations=plan.generations,
        population=plan.population,
        seed=plan.seed,
    )
    middle_costs.append(cost_everywhere(found))
    return Tuned(
        kind=space.kind,
        parameters=space.parameters(found),
        scheduler=scheduler,
        chosen=tuple(chosen),
        costs=np.array(middle_costs),
        simulations=sum(total * min(plan.drawn, len(bench)) + len(middle_costs) * len(bench) for bench in benches),
    )
