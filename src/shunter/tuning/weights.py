"""The search for weights: which would have served best on training days."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from shunter.comparison.bench import Bench
from shunter.comparison.classics import Choice, Progress
from shunter.comparison.log_windows import MetricsOf
from shunter.errors import InputError
from shunter.model.log import Log
from shunter.model.windows import MOST_COUNT, Days
from shunter.tuning.search import search
from shunter.tuning.space import Space, spec_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.comparison.log_windows import Measured
    from shunter.comparison.objective import Objective
    from shunter.engines.base import Engine
    from shunter.policies.scheduler import Scheduler

TETHER: Final = 0.03
"""How much the cost grows with the mean square distance from where the search began: training days are few, and a
search that may go anywhere learns them by heart."""


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
    warmup: int = 512
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
        # Below 1: something must be left to judge the result on.
        if not 0 <= self.train[0] < self.train[1] < 1:
            raise InputError(f"--train is {self.train[1]:g}; expected a part of the log above 0 and below 1, as in 0.6")


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
    """(generations + 1,): the cost of the middle of each generation's candidates, and last that of the policy found, in
    all windows searched: the mean logarithm of the ratio to the classics chosen there, and penalties for bounds."""
    simulations: int

    @property
    def spec(self) -> str:
        """The policy, as ``--policy`` takes it."""
        return spec_text(self.kind, self.parameters)


def training_benches(logs: Sequence[Log], plan: Plan, engine: Engine | None = None) -> list[Bench]:
    """Returns a bench on the training windows of each log."""
    return [Bench.on(log, plan.training_days.windows_of(log), plan.threads, engine) for log in logs]


def find_weights(
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
    trials = _Trials(benches, chosen, scheduler, space, objective, plan, progress)
    found = search(
        trials.costs,
        space.center,
        space.spread,
        generations=plan.generations,
        population=plan.population,
        seed=plan.seed,
    )
    costs = [*trials.middle_costs, trials.cost_everywhere(found)]
    tried = plan.generations * plan.population
    return Tuned(
        kind=space.kind,
        parameters=space.parameters(found),
        scheduler=scheduler,
        chosen=tuple(chosen),
        costs=np.array(costs),
        simulations=sum(tried * min(plan.drawn, len(bench)) + len(costs) * len(bench) for bench in benches),
    )


@dataclass
class _Trials:
    """Tries candidates on training windows, each generation on some that are drawn anew.

    The first fields are what `find_weights` takes.
    """

    benches: Sequence[Bench]
    chosen: Sequence[Choice]
    scheduler: Scheduler
    space: Space
    objective: Objective
    plan: Plan
    progress: Progress | None
    middle_costs: list[float] = field(default_factory=list)
    """For each generation, what the middle of its candidates costs on all windows: what people look at."""
    done: int = 0
    """How many candidates have been tried."""

    def __post_init__(self) -> None:
        # The search draws from the seed itself; windows must not move with the candidates.
        self._random = np.random.default_rng([self.plan.seed, 1])
        self._bases = [choice.measured for choice in self.chosen]

    def costs(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Returns the cost of each candidate of a generation; the first is the middle of the others."""
        self.middle_costs.append(self.cost_everywhere(vectors[0]))
        # Rising places, as the bench takes them.
        rows = [np.sort(self._random.permutation(len(bench))[: self.plan.drawn]) for bench in self.benches]
        drawn = [bench.take(some) for bench, some in zip(self.benches, rows, strict=True)]
        bases = [
            {name: values[some] for name, values in base.items()} for base, some in zip(self._bases, rows, strict=True)
        ]
        # What pulls back to the beginning, before any window is looked at.
        costs = TETHER * self.space.distance(vectors)
        for place, cost in enumerate(self._costs(vectors, drawn, bases)):
            costs[place] += cost
            self.done += 1
            if self.progress:
                self.progress(self.done, self.plan.generations * self.plan.population)
        return costs

    def cost_everywhere(self, vector: NDArray[np.float64]) -> float:
        """Returns the cost of one candidate on all training windows."""
        (cost,) = self._costs([vector], self.benches, self._bases)
        return cost

    def _costs(
        self, vectors: Iterable[NDArray[np.float64]], benches: Sequence[Bench], bases: Sequence[Measured]
    ) -> Iterator[float]:
        """Yields the mean cost of each candidate over logs, each of which counts the same."""
        space, metrics = self.space, MetricsOf(self.objective.metrics)
        candidates = [self.scheduler.changed(policy=spec_text(space.kind, space.parameters(one))) for one in vectors]
        for found in zip(*(bench.each(candidates, metrics) for bench in benches), strict=True):
            yield float(
                np.mean([self.objective.search_cost(own, base) for own, base in zip(found, bases, strict=True)])
            )
