"""What training days choose: an estimate, a classic, and whether a tuned score is better than that classic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shunter.comparison.classics import Choice, Progress, best_choice, classics, measure_classics, part_of
from shunter.model.settings import RUN_TIME
from shunter.policies.native import REQUESTED
from shunter.tuning.weights import training_benches

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.comparison.bench import Bench
    from shunter.comparison.combinations import Combination
    from shunter.comparison.objective import Objective
    from shunter.engines.base import Engine
    from shunter.model.log import Log
    from shunter.policies.scheduler import Scheduler
    from shunter.tuning.weights import Plan

ESTIMATES: Final = (REQUESTED, "last-two", "posterior")
"""The estimates that are tried where none is named: those that a scheduler can have."""
HELD_BACK: Final = 0.25
"""The last part of the training days, which the search does not look at."""

Rows = tuple["NDArray[np.int64]", ...]
"""For each log, the places of some of its windows."""


def supported_estimates(logs: Sequence[Log], missing_request: str) -> tuple[list[str], list[str]]:
    """Returns the estimates of `ESTIMATES` that all logs can have, and why they cannot have the others.

    Args:
        logs: What is tuned to.
        missing_request: What stands in for a requested time that a log does not have.
    """
    users, requests = (
        all(log.workload.jobs[column].is_not_null().any() for log in logs) for column in ("user", "requested_s")
    )
    reasons = {}
    if not users:
        reasons["last-two"] = "a log names no users"
    if not users and not requests:
        reasons["posterior"] = "a log has neither users nor requested times"
    if not requests and missing_request == RUN_TIME and users:
        reasons[REQUESTED] = "a log has no requested times, and the true run times would stand in for them"
    tried = [name for name in ESTIMATES if name not in reasons]
    return tried, [f"estimate {name}: {why}" for name, why in reasons.items()]


@dataclass(frozen=True)
class TrainingDays:
    """The training windows of each log: some are searched on, and later ones are held back to judge what was found."""

    benches: tuple[Bench, ...]
    searched: Rows
    held_back: Rows
    are_apart: bool
    """Whether some days are held back; if not, training days are too few for that, and all windows serve for both."""

    @staticmethod
    def of(logs: Sequence[Log], plan: Plan, engine: Engine | None = None) -> TrainingDays:
        """Returns the training windows of logs, which run on an engine; None: in this process."""
        benches = tuple(training_benches(logs, plan, engine))
        low, high = plan.train
        searched, held_back = [], []
        for log, bench in zip(logs, benches, strict=True):
            first = bench.parts[0].windows.first.astype(np.int64)
            border = round((high - HELD_BACK * (high - low)) * len(log.workload))
            # A window that lies on both sides of the border is on neither: a job is searched on, or judged on.
            searched.append(np.flatnonzero(first + plan.length <= border))
            held_back.append(np.flatnonzero(first >= border))
        if all(map(len, searched)) and all(map(len, held_back)):
            return TrainingDays(benches, tuple(searched), tuple(held_back), are_apart=True)
        every = tuple(np.arange(len(bench)) for bench in benches)
        return TrainingDays(benches, every, every, are_apart=False)

    @property
    def searched_benches(self) -> list[Bench]:
        """The windows that are searched on."""
        return [bench.take(rows) for bench, rows in zip(self.benches, self.searched, strict=True)]

    @property
    def held_back_windows(self) -> int:
        """How many windows are held back, over all logs."""
        return sum(map(len, self.held_back))


@dataclass(frozen=True)
class Chosen:
    """What training days choose among the classics."""

    requested: tuple[Choice, ...]
    """For each log, the best that sees requested times: what costs and bounds refer to."""
    same_estimate: tuple[Choice, ...]
    """For each log, the best that sees the estimate that is chosen."""
    estimate: str
    """The estimate that is chosen, as it was named."""
    classic: tuple[Choice, ...]
    """The best over all logs, under any of the estimates, and what it did on each log."""
    rival: tuple[Choice, ...]
    """The best over all logs in the windows that are searched on, and what it did in all: the one that a tuned score
    must beat in the windows that are held back."""
    rival_estimate: str
    """The estimate that it sees, as it was named."""
    may_be_kept: bool
    """Whether it may take the place of a tuned score; if not, no classic goes with the rule that the user named."""

    @property
    def combination(self) -> Combination:
        """The best classic over all logs."""
        return self.classic[0].combination


def choose_on_training_days(
    days: TrainingDays,
    scheduler: Scheduler,
    estimates: Mapping[str, str],
    objective: Objective,
    may_be: Callable[[Combination], bool],
    progress: Progress | None = None,
) -> Chosen:
    """Returns which classics, and with them which estimate, do best on training days.

    The estimate is that of the classic that does best: over all logs, each counting the same, by the objective's
    metric, among those that keep the bounds and that the user could have.

    Args:
        days: The training windows.
        scheduler: What classics share: the placement, the starvation guard, and so on.
        estimates: What is tried: by name, the text that a scheduler resolves.
        objective: By what they are compared.
        may_be: Whether a classic may take the place of a tuned score.
        progress: Called after each classic with how many are done, and of how many.
    """
    specs = {REQUESTED: REQUESTED, **estimates}
    measured: dict[str, list[list[Choice]]] = {}
    for place, (name, spec) in enumerate(specs.items()):
        told = [
            part_of(progress, place * len(days.benches) + log, len(specs) * len(days.benches))
            for log in range(len(days.benches))
        ]
        those = classics(scheduler, [spec])
        measured[name] = [
            measure_classics(bench, those, objective, tell) for bench, tell in zip(days.benches, told, strict=True)
        ]
    requested = tuple(best_choice(choices, objective) for choices in measured[REQUESTED])
    # For each estimate and classic, what it did on each log.
    every = [(name, choices) for name in estimates for choices in zip(*measured[name], strict=True)]
    candidates = [(name, choices) for name, choices in every if may_be(choices[0].combination)]
    estimate, classic = min(candidates or every, key=lambda one: worth(one[1], requested, objective))
    same = tuple(best_choice(choices, objective) for choices in measured[estimate])
    # Of hundreds of classics the one that does best in some windows does so partly by luck. Chosen where the score was
    # fitted, it is as lucky as the score there, and no luckier in the windows that both have not seen.
    base = _within(days.searched, requested)
    rival_estimate, rival = min(
        candidates or every, key=lambda one: worth(_within(days.searched, one[1]), base, objective)
    )
    return Chosen(requested, same, estimate, classic, rival, rival_estimate, may_be_kept=bool(candidates))


def _within(windows: Rows, choices: Sequence[Choice]) -> list[Choice]:
    """Returns what choices did in some of the windows of each log."""
    return [choice.take(rows) for choice, rows in zip(choices, windows, strict=True)]


def worth(found: Sequence[Choice], base: Sequence[Choice], objective: Objective) -> tuple[float, float]:
    """Returns how good something is, the smaller the better: by how much it breaks bounds, and then its mean cost."""
    pairs = [(own.measured, other.measured) for own, other in zip(found, base, strict=True)]
    return sum(objective.broken(*pair) for pair in pairs), float(np.mean([objective.cost(*pair) for pair in pairs]))


@dataclass(frozen=True)
class Trial:
    """A tuned score against a classic in windows that neither was chosen by: the best where the score was fitted."""

    windows: int
    are_held_back: bool
    """False: training days are too few, so that the search has looked at these windows."""
    cost: float
    """The mean logarithm of the ratio to the classic: below 0, the tuned score is better."""
    searched_cost: float
    """The same in the windows that were searched on."""
    broken: float
    """By how much the tuned score breaks bounds there, in the logarithm; 0: it keeps them."""
    classic_broken: float
    """The same of the classic."""
    rival: str
    """The classic that it is held against, and its estimate: the best in the windows that were searched on."""
    may_keep: bool = True
    """Whether the classic may take the place of the tuned score at all."""

    @property
    def keeps_classic(self) -> bool:
        """Whether the classic is kept: the tuned score is not better, or breaks a bound that the classic keeps."""
        return self.may_keep and not self.is_better

    @property
    def is_better(self) -> bool:
        """Whether the tuned score is better than the classic: bounds first, then in both parts of the days."""
        # Few windows are held back: a score that wins there, and loses where it was fitted, wins by chance.
        return (self.broken, max(self.cost, self.searched_cost)) < (self.classic_broken, 0.0)

    def to_json(self) -> dict[str, Any]:
        """Returns the trial as a plain object."""
        return vars(self) | {"keeps_classic": self.keeps_classic}


def try_tuned(days: TrainingDays, tuned: Scheduler, chosen: Chosen, objective: Objective) -> Trial:
    """Returns how a tuned score does in the windows that are held back, against the best classic of the others."""
    every = [Choice(chosen.combination, bench.measure(tuned, objective.metrics)) for bench in days.benches]

    found, rival, base = (_within(days.held_back, choices) for choices in (every, chosen.rival, chosen.requested))
    return Trial(
        days.held_back_windows,
        days.are_apart,
        cost=worth(found, rival, objective)[1],
        searched_cost=worth(_within(days.searched, every), _within(days.searched, chosen.rival), objective)[1],
        broken=worth(found, base, objective)[0],
        classic_broken=worth(rival, base, objective)[0],
        rival=f"{chosen.rival[0].combination.label} with {chosen.rival_estimate}",
        may_keep=chosen.may_be_kept,
    )
