"""Many ways to schedule on the same windows of a log, and which is how much better."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from shunter import __version__
from shunter.checks import check_name
from shunter.comparison.believability import MORE_LOAD, Believability, ColdStart, believe, find_cold_start, quiet_note
from shunter.comparison.bench import Bench
from shunter.comparison.combinations import Combination, find_baseline
from shunter.comparison.marks import MARKS, marks_of
from shunter.comparison.next_step import Step, compared_step
from shunter.comparison.objective import Objective
from shunter.comparison.report import LONGEST, C, Contender, LogReport, hold_against, largest_known
from shunter.comparison.roles import BASELINE, OTHERS
from shunter.comparison.rows import combination_rows, comparison_object
from shunter.comparison.statistics import summarize
from shunter.comparison.tally import Tally, TallyOf
from shunter.errors import InputError
from shunter.metrics.sizes import used_resources
from shunter.metrics.table import METRICS, higher_is_better
from shunter.model.size import resolved_size_by
from shunter.simulation.run import result_ledger

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from shunter.comparison.report import Finding
    from shunter.comparison.statistics import Summary
    from shunter.engines.base import Engine
    from shunter.metrics.sizes import Resource
    from shunter.model.cluster import Cluster
    from shunter.model.log import Ledger, Log
    from shunter.model.windows import Windows
    from shunter.model.workload import Workload
    from shunter.policies.scheduler import Scheduler


@dataclass(frozen=True, kw_only=True)
class Scored(Contender):
    """What one combination did in all windows."""

    combination: Combination
    rejected: int
    """How many of the measured jobs can never fit, counted in each window."""
    estimated_from: dict[str, int]
    """How many of the measured jobs were estimated on what, counted in each window."""
    wait_by_size_s: NDArray[np.float64]
    """(size classes,): the mean wait of the measured jobs of each class; NaN where there is none. Sizes are those of
    the first of `Comparison.resources`."""
    ledger: Ledger
    """Repairs and stand-ins, over the jobs that lie in a window."""


@dataclass(frozen=True, kw_only=True)
class Comparison(LogReport):
    """Combinations on the same windows of a log, the best first; their roles are their labels."""

    contenders: Mapping[str, Scored]
    log: Log
    windows: Windows
    skipped: tuple[str, ...] = ()
    """Why some combinations cannot be."""
    asked: int | None = None
    """How many windows were asked for, of which there may be fewer; None: as many as there are."""
    part: str = "0:1"
    """From which part of the log they are, as fractions of its jobs."""
    seed: int = 0
    seconds: float = 0.0
    """How long the simulations and their statistics took."""
    reference_role: str = BASELINE
    """What the reference is, of the roles of `shunter.comparison.roles`."""
    site: Scheduler | None = None
    """What the site has, whose simulated waits are held against those of the log; None: fcfs under easy."""

    @staticmethod
    def of(
        scored: Mapping[str, Scored],
        log: Log,
        windows: Windows,
        objective: Objective,
        reference: str,
        others: Collection[str] | None = None,
        seed: int = 0,
        site: Scheduler | None = None,
    ) -> Comparison:
        """Returns a comparison of what some combinations did, in the order given.

        Args:
            scored: What each combination did, by role.
            log: The log and its cluster.
            windows: Of the log.
            objective: The metric that counts, and bounds.
            reference: The role of the baseline, which waits and bounds refer to.
            others: The roles that all are held against; None: all of them.
            seed: For the drawing of blocks in the intervals.
            site: What the site has; None: fcfs under easy.
        """
        return Comparison(
            name=log.workload.name,
            block=windows.block,
            objective=objective,
            reference=reference,
            contenders=hold_against(scored, windows.block, objective, reference, others, seed),
            log=log,
            windows=windows,
            seed=seed,
            site=site,
        )

    @cached_property
    def believability(self) -> Believability | None:
        """Whether the description explains the log's own waits; None where the log does not tell them."""
        return believe(self.log, self.site, int(self.windows.first.max()) + self.windows.length)

    @cached_property
    def cold_start(self) -> ColdStart | None:
        """That the baseline's jobs wait far less than they would on a busy cluster; None where they do not."""
        return find_cold_start(self.log, self.windows, self.baseline)

    @property
    def quiet_note(self) -> str | None:
        """That nobody waits, so that these windows cannot rank policies; None where people wait."""
        means = [self.mean(one, "mean_bounded_slowdown") for one in self.scored]
        longest = [largest_known(one.metrics[LONGEST]) for one in self.scored]
        known = [mean for mean in means if mean is not None]
        waits_s = [each for each in longest if each is not None]
        return quiet_note(max(known, default=None), max(waits_s, default=None), self.remedy)

    @property
    def remedy(self) -> str:
        """What to take where nobody waits."""
        days = f"take busier days (--part) or {MORE_LOAD}"
        # Windows that begin on an empty cluster can end before it fills, whatever the load.
        return days if self.windows.warmup else f"{days}, and begin on a busy cluster (--warmup 1024)"

    @property
    def scored(self) -> tuple[Scored, ...]:
        """What each combination did, the best first."""
        return tuple(self.contenders.values())

    @property
    def workload(self) -> Workload:
        """The whole log."""
        return self.log.workload

    @property
    def cluster(self) -> Cluster:
        """The nodes."""
        return self.log.cluster

    @cached_property
    def resources(self) -> tuple[Resource, ...]:
        """Cores or GPUs or both, as far as jobs use them; sizes of jobs are counted in the first, which binds."""
        return used_resources(self.workload, self.cluster)

    @property
    def sorted_by(self) -> str:
        """By which statistic: the geometric mean if every combination has one, otherwise the mean."""
        return _sorted_by(one.summary for one in self.scored)

    @property
    def against(self) -> Scored:
        """What the baseline did, which all others are held against."""
        return self.contenders[self.reference]

    @property
    def best_plain(self) -> Scored:
        """The best that has no mark but those that all share; the baseline where all have one."""
        shared = set(self.shared_marks)
        return next((one for one in self.scored if set(one.marks) <= shared), self.against)

    @cached_property
    def next_step(self) -> Step:
        """What an operator should do."""
        return compared_step(self)

    @property
    def baseline(self) -> Combination:
        """The combination that all others are held against."""
        return self.against.combination

    @property
    def size_by(self) -> str:
        """What the baseline counts jobs' sizes in."""
        return resolved_size_by(self.baseline.scheduler.size_by, self.workload, self.cluster)

    @property
    def sizes_by(self) -> list[str]:
        """What the contenders count jobs' sizes in, each once: old checkpoints count cores alone."""
        each = (one.combination.scheduler.size_by for one in self.contenders.values())
        return list(dict.fromkeys(resolved_size_by(size_by, self.workload, self.cluster) for size_by in set(each)))

    def held_against(
        self, reference: str, others: Collection[str] = (), seed: int = 0, role: str = BASELINE
    ) -> Comparison:
        """Returns the same with another of its combinations as the reference: nothing is simulated again.

        Args:
            reference: The label of the reference.
            others: The labels of more combinations that all are held against.
            seed: For the drawing of blocks in the intervals.
            role: What the reference is.
        """
        # The reference may be one of the others; each costs thousands of draws.
        roles = dict.fromkeys([reference, *others])
        held = hold_against(self.contenders, self.block, self.objective, reference, roles, seed)
        return replace(self, reference=reference, contenders=held, reference_role=role)

    def verdict(self) -> list[Finding]:
        """Returns what can be said of each combination against the baseline, the best first."""
        others = {self.reference: OTHERS[self.reference_role]}
        judged = [one.label for one in self.scored if one.label != self.reference]
        return [finding for label in judged for finding in self.findings(label, self.shown_label(label), others)]

    def headlines(self) -> list[Finding]:
        """Returns what a reader asks first: of the best without a mark, then of a marked one that is ahead of it."""
        every = self.verdict()
        plain = next((place for place, one in enumerate(every) if not one.marks), len(every))
        return every[plain : plain + 1] + every[: min(plain, 1)]

    def rows(self) -> list[dict[str, Any]]:
        """Returns one row a combination, the best first."""
        return combination_rows(self)

    def to_json(self) -> dict[str, Any]:
        """Returns what ``shunter compare --json`` prints."""
        return comparison_object(self) | {
            "verdict": [finding.to_json() for finding in self.verdict()],
            "believability": None if self.believability is None else self.believability.to_json(),
            "contention_note": self.quiet_note,
            "cold_start": None if self.cold_start is None else self.cold_start.to_json(),
            "next_step": self.next_step.text,
            "marks": {mark.name: mark.words for mark in MARKS if any(mark in one.marks for one in self.scored)},
            "shared_marks": [mark.name for mark in self.shared_marks],
            "skipped": list(self.skipped),
            "workload": self.workload.name,
            "cluster": self.cluster.name,
            "cluster_from": self.log.cluster_from,
            "load": self.log.load,
            "size_by": self.size_by,
            "part": self.part,
            "seed": self.seed,
            "version": __version__,
            "seconds": round(self.seconds, 6),
        }


def _sorted_by(summaries: Iterable[Summary]) -> str:
    return "mean" if any(one.geometric_mean is None for one in summaries) else "geometric mean"


def best_first(scored: Iterable[C], block: NDArray[np.int64], metric: str) -> list[C]:
    """Returns combinations by a metric: by its geometric mean if every one has one, otherwise by its mean.

    Those that have neither come last, and those that are alike stay in their order.
    """
    higher = higher_is_better(metric)
    summaries = [(one, summarize(one.metrics[metric], block, higher)) for one in scored]
    # One statistic for all, or the order would compare means with geometric means.
    statistic = _sorted_by(summary for _, summary in summaries).replace(" ", "_")

    def worth(pair: tuple[C, Summary]) -> float:
        value: float | None = getattr(pair[1], statistic)
        return float("inf") if value is None else -value if higher else value

    return [one for one, _ in sorted(summaries, key=worth)]


def compare_combinations(
    log: Log,
    combinations: Sequence[Combination],
    windows: Windows,
    *,
    metric: str = "mean_bounded_slowdown",
    baseline: str | None = None,
    seed: int = 0,
    threads: int = 1,
    engine: Engine | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Runs every combination on every window, and compares one metric with the baseline's.

    Args:
        log: The whole log; its cluster is empty when a window (or its warm-up) begins.
        combinations: From `shunter.comparison.combinations.combine`.
        windows: From `shunter.model.windows.choose_windows`.
        metric: One of `shunter.metrics.table.METRICS`. Those that need placements or stops take longer.
        baseline: The label of the combination that all others are held against; by default the first.
        seed: For the drawing of blocks in the intervals.
        threads: How many threads share the windows.
        engine: Where chunks of windows run; None: in this process.
        progress: Called after each combination with how many are done, and of how many.

    Raises:
        InputError: The metric or the baseline is unknown, or not one job can ever fit.
    """
    check_name("metric", metric, METRICS)
    chosen = find_baseline(combinations, baseline)
    # The baseline comes first: what is wrong with the log or the metric shows there, before hours of work.
    others = [combination for combination in combinations if combination != chosen]
    runs = run_combinations(log, [chosen, *others], windows, metric, threads=threads, engine=engine, progress=progress)
    # In the order given, so that combinations that are alike stay in it.
    ordered = best_first((runs[combination] for combination in combinations), windows.block, metric)
    roles = {one.label: one for one in ordered}
    return Comparison.of(roles, log, windows, Objective(metric), chosen.label, [chosen.label], seed)


def run_combinations(
    log: Log,
    combinations: Sequence[Combination],
    windows: Windows,
    metric: str,
    *,
    threads: int = 1,
    engine: Engine | None = None,
    progress: Callable[[int, int], None] | None = None,
    bench: Bench | None = None,
) -> dict[Combination, Scored]:
    """Returns what each combination did in the windows, held against nobody yet.

    Args:
        log: The whole log; its cluster is empty when a window (or its warm-up) begins.
        combinations: What is run; the first shows whether the windows tell anything.
        windows: Of the log.
        metric: The metric that counts.
        threads: How many threads share the windows.
        engine: Where chunks of windows run; None: in this process.
        progress: Called after each combination with how many are done, and of how many.
        bench: Where these windows run, if not each by itself.

    Raises:
        InputError: Not one job can ever fit, or the metric has no meaning in these windows.
    """
    bench = bench or Bench.on(log, windows, threads, engine)
    measurement = TallyOf(metric, used_resources(log.workload, log.cluster)[0])
    # Each job is counted once among repairs and stand-ins.
    jobs = replace(log.workload, jobs=bench.parts[0].jobs)
    found: dict[Combination, Scored] = {}
    tallies = bench.each([one.scheduler for one in combinations], measurement, progress)
    for combination, tally in zip(combinations, tallies, strict=True):
        found[combination] = one = _scored(combination, tally, jobs, log.cluster)
        if len(found) == 1:
            _check_meaning(one, log, windows, metric)
    return found


def _scored(combination: Combination, tally: Tally, jobs: Workload, cluster: Cluster) -> Scored:
    """Returns what a combination did, held against nobody yet."""
    return Scored(
        label=combination.label,
        metrics=tally.metrics,
        marks=marks_of(combination.scheduler, jobs.jobs, tally.estimated_from),
        combination=combination,
        rejected=tally.rejected,
        estimated_from=tally.estimated_from,
        wait_by_size_s=tally.wait_by_size_s,
        ledger=result_ledger(jobs, cluster, combination.scheduler),
    )


def _check_meaning(one: Scored, log: Log, windows: Windows, metric: str) -> None:
    if one.rejected == windows.length * len(windows):
        what = f"none of the {windows.length} jobs of any window can ever fit on {log.cluster.name}"
        raise InputError(f"{log.workload.name}: {what}; check --cluster")
    if np.isnan(one.metrics[metric]).all():
        what = "the log or the cluster does not tell what it needs"
        raise InputError(
            f"{log.workload.name}: {metric} has no meaning in these windows: {what}; choose another metric"
        )
