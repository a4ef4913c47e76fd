"""How good a policy is on validation episodes, against what one would have had without learning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from shunter.agents.training.best import BOUNDS_BROKEN, GAIN, GAIN_ERROR, LEAD, OBJECTIVE
from shunter.comparison.bench import Bench
from shunter.comparison.classics import choose_classic, part_of
from shunter.comparison.objective import LEAST, Bound, Objective, mean_ratio

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


@dataclass(frozen=True)
class Deciding:
    """When more episodes are looked at than those of validation, and where they come from."""

    margin_se: float = 0.0
    """A difference of no more standard errors than this does not tell which of two policies is better; 0: any does."""
    most_windows: int = 0
    """Up to how many episodes of each group are looked at."""
    further: Callable[[int], Trials | None] = lambda number: None
    """Returns more episodes, number 1, 2, ...; None: there are no more."""
    by_means: bool = False
    """Whether means are compared, and not geometric means."""


class Gain(NamedTuple):
    """By how much the metric of a policy is better than that of another in the same episodes, in the logarithm."""

    mean: float
    error: float
    """The standard error of this very mean."""


@dataclass
class _Player:
    """A policy, and what it did in each round of episodes that it has played so far."""

    load: Callable[[], LearnedPolicy]
    rounds: list[list[Measured]] = field(default_factory=list)
    """By round and group."""


class Validation:
    """Measures policies on episodes that are not trained on.

    The episodes of validation are the first round, which every policy plays. Where it does not tell whether a policy is
    better than the beginning and than the best so far, all three play more rounds: two in all, then four, and so on.
    """

    def __init__(
        self, trials: Trials, chosen: Sequence[Combination], objective: Objective, deciding: Deciding | None = None
    ) -> None:
        """Measures the classics, once.

        Args:
            trials: The episodes.
            chosen: For each group of them, the classic that one would have chosen on training days.
            objective: By what policies are compared.
            deciding: When more episodes are looked at; None: never.
        """
        self._objective = objective
        self._deciding = deciding or Deciding()
        self._metrics = tuple(dict.fromkeys((*objective.metrics, WAIT, UTILIZATION)))
        self._schedulers = [one.scheduler for one in chosen]
        self._rounds = [trials]
        self._base = _Player(_never_loaded, [trials.of_schedulers(self._schedulers, self._metrics)])
        self._most_rounds = max(1, self._deciding.most_windows // max(len(bench) for bench in trials.benches))
        self._beginning: _Player | None = None
        self._best: _Player | None = None
        self._latest: _Player | None = None

    def begins_as(self, load: Callable[[], LearnedPolicy]) -> None:
        """Says what loads the policy that gains are counted from; without this it is the first that is measured."""
        self._beginning = _Player(load)

    def keep(self, load: Callable[[], LearnedPolicy]) -> None:
        """Makes the policy that was measured last the best so far; where none was yet, the one that is loaded.

        Args:
            load: Returns that policy, if it has to play more rounds later.
        """
        self._best = _Player(load, [] if self._latest is None else self._latest.rounds)

    def __call__(self, policy: LearnedPolicy) -> dict[str, float]:
        """Returns the objective, lower being better and 0 as good as the classics, and what lies beside it.

        The objective is about the metric alone: the logarithm of ``ratio``, or of ``means_ratio`` where means are
        compared. ``bounds_broken`` is by how much, in the logarithm, bounds are broken. ``gain`` is by how much the
        metric is better than the beginning's, and ``gain_error`` the standard error of that very mean; ``lead`` is the
        gain over the best so far. Groups count the same. Gain, lead and broken bounds are about all ``windows`` that
        were looked at; the other figures are about
        the first round, so that they can be compared from one policy to the next.
        """
        own = self._latest = _Player(lambda: policy)
        beginning = self._beginning = self._beginning or own
        best, rounds = self._best or beginning, 1
        gain, lead = self._gain(own, beginning, rounds), self._gain(own, best, rounds)
        # Where bounds decide, more episodes would not change what is decided.
        within = not self._broken(own, rounds) and not self._broken(beginning, rounds)
        while within and self._is_open(gain, lead) and (more := self._opened(2 * rounds)) > rounds:
            rounds = more
            gain, lead = self._gain(own, beginning, rounds), self._gain(own, best, rounds)
        return self._first_round(own) | {
            BOUNDS_BROKEN: self._broken(own, rounds),
            GAIN: gain.mean,
            GAIN_ERROR: gain.error,
            LEAD: lead.mean,
            "windows": float(sum(len(bench) for trials in self._rounds[:rounds] for bench in trials.benches)),
        }

    def _is_open(self, *gains: Gain) -> bool:
        """Returns whether it is not sure yet that a policy is better than all others, nor that it is not."""
        margin = self._deciding.margin_se
        is_worse = any(gain.mean <= -margin * gain.error for gain in gains)
        is_better = all(gain.mean > margin * gain.error for gain in gains)
        return margin > 0 and not is_worse and not is_better

    def _opened(self, wanted: int) -> int:
        """Makes so many rounds ready, as far as there are episodes for them, and returns how many there are."""
        while len(self._rounds) < min(wanted, self._most_rounds):
            trials = self._deciding.further(len(self._rounds))
            if trials is None:
                # There will be none the next time either.
                self._most_rounds = len(self._rounds)
                break
            self._rounds.append(trials)
            self._base.rounds.append(trials.of_schedulers(self._schedulers, self._metrics))
        return min(wanted, self._most_rounds)

    def _played(self, player: _Player, rounds: int) -> list[Measured]:
        """Returns by group what a policy did in so many rounds."""
        if missing := self._rounds[len(player.rounds) : rounds]:
            policy = player.load()
            player.rounds += [trials.of_policy(policy, self._metrics) for trials in missing]
        return [
            {metric: np.concatenate([one[metric] for one in each]) for metric in self._metrics}
            for each in zip(*player.rounds[:rounds], strict=True)
        ]

    def _first_round(self, own: _Player) -> dict[str, float]:
        pairs, objective = list(zip(self._played(own, 1), self._played(self._base, 1), strict=True)), self._objective
        cost_of = objective.means_cost if self._deciding.by_means else objective.cost
        cost = float(np.mean([cost_of(*pair) for pair in pairs]))

        def ratio(metric: str) -> float:
            return float(np.exp(np.mean([np.log(mean_ratio(found[metric], base[metric])) for found, base in pairs])))

        return {
            OBJECTIVE: cost,
            "ratio": float(np.exp(np.mean([objective.cost(*pair) for pair in pairs]))),
            "means_ratio": ratio(objective.metric),
            "wait_ratio": ratio(WAIT),
            "utilization_ratio": ratio(UTILIZATION),
            BOUNDS_MISSED: float(
                sum(objective.excess(bound, *pair) > 0 for pair in pairs for bound in objective.bounds)
            ),
        }

    def _broken(self, own: _Player, rounds: int) -> float:
        """Returns by how much a policy breaks bounds, over all groups."""
        pairs = zip(self._played(own, rounds), self._played(self._base, rounds), strict=True)
        return float(sum(self._objective.broken(*pair) for pair in pairs))

    def _gain(self, own: _Player, other: _Player, rounds: int) -> Gain:
        """Returns by how much the metric is better than another policy's in the same episodes."""
        means, errors = [], []
        pairs = zip(self._played(own, rounds), self._played(other, rounds), strict=True)
        for group, (found, before) in enumerate(pairs):
            gains = self._objective.window_costs(before, found)
            known, mean = np.isfinite(gains), float(np.nanmean(gains))
            if self._deciding.by_means:
                mean, gains = self._objective.means_cost(before, found), self._shares(before) - self._shares(found)
            means.append(mean)
            errors.append(standard_error(gains[known], self._blocks(group, rounds)[known]))
        return Gain(float(np.mean(means)), float(np.sqrt(np.sum(np.square(errors)))) / len(errors))

    def _shares(self, found: Measured) -> NDArray[np.float64]:
        """Returns what each episode adds to a mean, in parts of it: by so much its logarithm moves with the episode."""
        values = found[self._objective.metric]
        return np.asarray(values / max(float(np.nanmean(values)), LEAST))

    def _blocks(self, group: int, rounds: int) -> NDArray[np.int64]:
        """Returns in which block each episode of a group lies; rounds on the same log share its blocks."""
        parts = [part for trials in self._rounds[:rounds] for part in trials.groups[group].parts]
        # A log that is drawn again is another object.
        logs = {id(log): place for place, (log, _) in enumerate(parts)}
        most = 1 + max(int(windows.block.max()) for _, windows in parts)
        return np.concatenate([logs[id(log)] * most + windows.block for log, windows in parts])


def _never_loaded() -> LearnedPolicy:
    raise AssertionError("classics are measured when a round is opened")


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
