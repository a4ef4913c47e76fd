"""How good a policy is on validation episodes, against what one would have had without learning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from shunter.agents.training.best import GAIN, GAIN_ERROR, OBJECTIVE
from shunter.agents.training.trials import host_trials
from shunter.comparison.bench import Bench
from shunter.comparison.classics import choose_classic, part_of
from shunter.comparison.combinations import Combination
from shunter.comparison.objective import LEAST, Bound, Objective, mean_ratio
from shunter.policies.catalog import PLACEMENTS
from shunter.policies.scheduler import resolve_scheduler

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.agents.learned_policy import LearnedPolicy
    from shunter.agents.training.trials import Trials
    from shunter.comparison.bench import Measured
    from shunter.comparison.classics import Progress
    from shunter.envs.options import EpisodeOptions, PickHostOptions, PickJobOptions, RewardOptions
    from shunter.model.log import Log
    from shunter.policies.scheduler import Scheduler

METRICS: Final = {
    "bounded_slowdown": "mean_bounded_slowdown",
    "wait": "mean_wait_s",
    "turnaround": "mean_turnaround_s",
    "slowdown": "mean_slowdown",
    "utilization": "core_utilization",
    "makespan": "makespan_s",
    "queue": "mean_queue_length",
}
"""The rewards that are also metrics of windows. Policies are compared by the one that weighs most."""
FALLBACK: Final = "bounded_slowdown"
"""By this they are compared where none of the rewards is a metric."""
BOUNDS_MISSED: Final = "bounds_missed"
"""Under this name: how many bounds do not hold, over all groups."""
WAIT, UTILIZATION = METRICS["wait"], METRICS["utilization"]
CHOICE_WINDOWS: Final = 40
"""On so many training episodes, at most, classics are tried."""


def objective_of(reward: RewardOptions) -> Objective:
    """Returns by what policies are compared: the metric of the reward that weighs most, and the reward's bounds."""
    heaviest = _heaviest(reward) or FALLBACK
    bounds = tuple(Bound(METRICS[name], factor) for name, factor in reward.bounds.items())
    return Objective(METRICS[heaviest], bounds)


def _heaviest(reward: RewardOptions) -> str | None:
    weights = {name: abs(weight) for name, weight in reward.weights.items() if name in METRICS and weight}
    return max(weights, key=lambda name: weights[name], default=None)


def objective_note(reward: RewardOptions) -> str | None:
    """Returns what a user must know if policies are compared by what is not rewarded; None if they are not."""
    if _heaviest(reward) is not None:
        return None
    rewarded = ", ".join(name for name, weight in reward.weights.items() if weight)
    return (
        f"rewarded is {rewarded}, which is no metric of windows: classics and checkpoints are chosen by "
        f"{METRICS[FALLBACK]}; add a reward that is one ({', '.join(METRICS)}) to choose by it"
    )


def chosen_classics(
    logs: Sequence[Log],
    options: PickJobOptions,
    episodes: EpisodeOptions,
    objective: Objective,
    threads: int,
    progress: Progress | None = None,
) -> list[Combination]:
    """Returns for each log the classic that does best on training days, with requested times.

    Args:
        logs: The logs and their clusters.
        options: What all classics share with the environment: the placement, the starvation guard, and so on.
        episodes: The training days.
        objective: By what they are compared.
        threads: How many threads share the windows.
        progress: Called after each classic with how many are done, and of how many.
    """
    chosen = []
    some = replace(episodes, windows=min(CHOICE_WINDOWS, episodes.count))
    for place, log in enumerate(logs):
        bench = Bench.on(log, some.windows_of(log), threads)
        told = part_of(progress, place, len(logs))
        chosen.append(choose_classic(bench, options.scheduler, objective, progress=told).combination)
    return chosen


def chosen_placement(options: PickHostOptions, episodes: int, objective: Objective, threads: int) -> Combination:
    """Returns the placement that does best on some of the training episodes."""
    combinations = [placement_combination(name) for name in PLACEMENTS]
    first = combinations[0].scheduler
    trials = host_trials(options, min(episodes, CHOICE_WINDOWS), threads)
    (base,) = trials.of_schedulers([first], objective.metrics)

    def cost(combination: Combination) -> float:
        (found,) = trials.of_schedulers([combination.scheduler], objective.metrics)
        return Objective(objective.metric).cost(found, base)

    best = min(combinations, key=cost)
    trials.close()
    return best


def placement_combination(placement: str) -> Combination:
    """Returns a placement as a way to schedule; jobs come first come, first served."""
    return Combination(placement, host_scheduler(placement))


def host_scheduler(placement: str | None = None) -> Scheduler:
    """Returns how pick-host's simulations schedule."""
    return resolve_scheduler(dispatch="strict", placement=placement)


class Validation:
    """Measures policies on episodes that are not trained on."""

    def __init__(self, trials: Trials, chosen: Sequence[Combination], objective: Objective) -> None:
        """Measures the classics, once.

        Args:
            trials: The episodes.
            chosen: For each group of them, the classic that one would have chosen on training days.
            objective: By what policies are compared.
        """
        self._trials = trials
        self._objective = objective
        self._metrics = tuple(dict.fromkeys((*objective.metrics, WAIT, UTILIZATION)))
        self._base = trials.of_schedulers([one.scheduler for one in chosen], self._metrics)
        self._beginning: list[Measured] | None = None

    def begins_as(self, policy: LearnedPolicy) -> None:
        """Measures the policy that gains are counted from; without this it is the first that is measured."""
        self._beginning = self._trials.of_policy(policy, self._metrics)

    def __call__(self, policy: LearnedPolicy) -> dict[str, float]:
        """Returns the objective, lower being better and 0 as good as the classics, and what it is made of.

        ``ratio`` is that to the classics in the metric, below 1 better; the means of waits and of the cores in use are
        told as ratios too. ``gain`` is by how much the objective is below the beginning's. Groups count the same.
        """
        found = self._trials.of_policy(policy, self._metrics)
        if self._beginning is None:
            self._beginning = found
        pairs = list(zip(found, self._base, strict=True))
        metric_alone = Objective(self._objective.metric)
        objective = self._cost(found)

        def ratio(metric: str) -> float:
            return float(np.exp(np.mean([np.log(mean_ratio(own[metric], base[metric])) for own, base in pairs])))

        return {
            OBJECTIVE: objective,
            "ratio": float(np.exp(np.mean([metric_alone.cost(own, base) for own, base in pairs]))),
            "wait_ratio": ratio(WAIT),
            "utilization_ratio": ratio(UTILIZATION),
            BOUNDS_MISSED: float(
                sum(self._objective.excess(bound, *pair) > 0 for pair in pairs for bound in self._objective.bounds)
            ),
            GAIN: self._cost(self._beginning) - objective,
            GAIN_ERROR: self._gain_error(found, self._beginning),
        }

    def _cost(self, found: Sequence[Measured]) -> float:
        return float(np.mean([self._objective.cost(*pair) for pair in zip(found, self._base, strict=True)]))

    def _gain_error(self, found: Sequence[Measured], beginning: Sequence[Measured]) -> float:
        """Returns the standard error of the gain in the metric, episode by episode; bounds add none."""
        metric, errors = self._objective.metric, []
        for own, before, group in zip(found, beginning, self._trials.groups, strict=True):
            gains = np.log((before[metric] + LEAST) / (own[metric] + LEAST))
            known = np.isfinite(gains)
            errors.append(standard_error(gains[known], group.block[known]))
        return float(np.sqrt(np.sum(np.square(errors)))) / len(errors)


def standard_error(values: NDArray[np.float64], block: NDArray[np.int64]) -> float:
    """Returns the standard error of the mean over episodes; those of a block are not independent of each other.

    Where all lie in one block each counts as its own. Infinite for a single one.
    """
    if len(np.unique(block)) < 2:
        block = np.arange(len(values))
    blocks, place = np.unique(block, return_inverse=True)
    if len(blocks) < 2:
        return float("inf")
    deviations = np.bincount(place, weights=values - values.mean())
    return float(np.sqrt(len(blocks) / (len(blocks) - 1) * np.sum(deviations**2))) / len(values)
