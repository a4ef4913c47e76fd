"""How good a policy is on validation episodes, against what one would have had without learning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from shunter.agents.training.best import BOUNDS_BROKEN, GAIN, GAIN_ERROR, OBJECTIVE
from shunter.comparison.bench import Bench
from shunter.comparison.classics import choose_classic, part_of
from shunter.comparison.objective import Bound, Objective, mean_ratio

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.agents.learned_policy import LearnedPolicy
    from shunter.agents.training.trials import Trials
    from shunter.comparison.classics import Progress
    from shunter.comparison.combinations import Combination
    from shunter.comparison.log_windows import Measured
    from shunter.envs.episodes import EpisodeOptions
    from shunter.envs.rewards import RewardOptions
    from shunter.envs.sources import EpisodeSource

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
    # The first of those that weigh the same.
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


def choose_rivals(
    source: EpisodeSource,
    episodes: EpisodeOptions,
    objective: Objective,
    threads: int,
    progress: Progress | None = None,
) -> list[Combination]:
    """Returns for each group of episodes what one would have chosen without learning: the best on training days.

    Args:
        source: Where episodes come from.
        episodes: The training days.
        objective: By what rivals are compared.
        threads: How many threads share the windows.
        progress: Called after each rival with how many are done, and of how many.
    """
    rivals = source.rivals()
    groups = source.groups(replace(episodes, windows=min(CHOICE_WINDOWS, episodes.count)))
    chosen = []
    for place, group in enumerate(groups):
        told = part_of(progress, place, len(groups))
        chosen.append(choose_classic(Bench.over(group.parts, threads), rivals, objective, told).combination)
    return chosen


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
        """Returns the objective, lower being better and 0 as good as the classics, and what lies beside it.

        The objective is about the metric alone, and ``ratio`` is its exponential; ``bounds_broken`` is by how much, in
        the logarithm, bounds are broken. ``gain`` is by how much the metric is better than the beginning's, and
        ``gain_error`` the standard error of that very mean. Groups count the same.
        """
        found = self._trials.of_policy(policy, self._metrics)
        if self._beginning is None:
            self._beginning = found
        pairs, objective = list(zip(found, self._base, strict=True)), self._objective
        cost = float(np.mean([objective.cost(*pair) for pair in pairs]))
        gain, error = self._gain(found, self._beginning)

        def ratio(metric: str) -> float:
            return float(np.exp(np.mean([np.log(mean_ratio(own[metric], base[metric])) for own, base in pairs])))

        return {
            OBJECTIVE: cost,
            "ratio": float(np.exp(cost)),
            "wait_ratio": ratio(WAIT),
            "utilization_ratio": ratio(UTILIZATION),
            BOUNDS_MISSED: float(
                sum(objective.excess(bound, *pair) > 0 for pair in pairs for bound in objective.bounds)
            ),
            BOUNDS_BROKEN: float(sum(objective.broken(*pair) for pair in pairs)),
            GAIN: gain,
            GAIN_ERROR: error,
        }

    def _gain(self, found: Sequence[Measured], beginning: Sequence[Measured]) -> tuple[float, float]:
        """Returns by how much the metric is better than the beginning's, episode by episode, and its standard error."""
        means, errors = [], []
        for own, before, block in zip(found, beginning, self._trials.blocks, strict=True):
            gains = self._objective.window_costs(before, own)
            known = np.isfinite(gains)
            means.append(gains[known].mean())
            errors.append(standard_error(gains[known], block[known]))
        return float(np.mean(means)), float(np.sqrt(np.sum(np.square(errors)))) / len(errors)


def standard_error(values: NDArray[np.float64], block: NDArray[np.int64]) -> float:
    """Returns the standard error of the mean over episodes; those of a block are not independent of each other.

    Where all lie in one block each counts as its own. Infinite for a single one.
    """
    if len(np.unique(block)) < 2:
        block = np.arange(len(values))
    blocks, place = np.unique(block, return_inverse=True)
    if len(blocks) < 2:
        return float("inf")
    # The cluster-robust standard error of a mean, with the usual correction for few clusters.
    deviations = np.bincount(place, weights=values - values.mean())
    return float(np.sqrt(len(blocks) / (len(blocks) - 1) * np.sum(deviations**2))) / len(values)
