"""A contest: ways to schedule compared on windows of a log, from texts to the comparison."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final

from shunter.checks import check_name
from shunter.comparison.bench import available_threads
from shunter.comparison.combinations import ALL, combine, find_baseline, with_costs
from shunter.comparison.comparison import Comparison, compare_combinations
from shunter.engines.choice import LOCAL, check_on, engine_on
from shunter.errors import InputError
from shunter.metrics.table import METRICS
from shunter.model.windows import check_numbers, choose_windows, parse_part
from shunter.policies.scheduler import FIRST_FIT
from shunter.workloads.reading import read_log

if TYPE_CHECKING:
    from pathlib import Path

    from shunter.comparison.combinations import Combination, Combinations
    from shunter.engines.base import Engine
    from shunter.model.cluster import Cluster
    from shunter.model.log import Log
    from shunter.model.workload import Workload

MOST_THREADS: Final = 1024


@dataclass(frozen=True)
class Contest:
    """By what combinations are compared, and in which windows of a log."""

    metric: str = "mean_bounded_slowdown"
    baseline: str | None = None
    """The label of the combination that all others are held against; None: the first."""
    windows: int = 20
    length: int = 1024
    """How many jobs of each window are measured."""
    blocks: int | None = None
    """In how many blocks of the log the windows lie; None: as many as hold a window, at most 10."""
    warmup: int = 0
    """How many jobs before each window are simulated too."""
    part: str = "0:1"
    """The part of the log to take windows from, as fractions of its jobs."""
    seed: int = 0
    threads: int | None = None
    """How many cores to use; None: all."""

    def check(self, combinations: Sequence[Combination]) -> None:
        """Raises an error for the first name or number that is wrong, whatever the log is."""
        find_baseline(with_costs(combinations), self.baseline)
        check_name("metric", self.metric, METRICS)
        check_numbers(**self._numbers())
        if self.threads is not None and not 1 <= self.threads <= MOST_THREADS:
            raise InputError(f"--threads is {self.threads}; expected 1 to {MOST_THREADS}")

    def _numbers(self) -> dict[str, Any]:
        part = parse_part(self.part)
        return {
            "count": self.windows,
            "length": self.length,
            "blocks": self.blocks,
            "part": part,
            "warmup": self.warmup,
        }

    def run(
        self,
        log: Log,
        combinations: Combinations,
        *,
        strict: bool = False,
        on: str | Engine = LOCAL,
        progress: Callable[[int, int], None] | None = None,
    ) -> Comparison:
        """Chooses the windows of a log, and compares all combinations there.

        Args:
            log: The log and its cluster.
            combinations: What is compared.
            strict: Whether a job that can never fit is an error.
            on: Where simulations run: ``local``, ``ray``, or the address of a Ray cluster.
            progress: Called after each combination with how many are done, and of how many.
        """
        windows = choose_windows(len(log.workload), seed=self.seed, **self._numbers())
        possible, threads = with_costs(combinations.possible), self.threads or available_threads()
        with engine_on(on, threads) as engine:
            began = time.perf_counter()
            comparison = compare_combinations(
                log,
                possible,
                windows,
                metric=self.metric,
                baseline=self.baseline,
                seed=self.seed,
                threads=threads,
                engine=engine,
                progress=progress,
            )
        rejected = max(one.rejected for one in comparison.scored)
        # Only the windows are looked at: jobs elsewhere in the log do no harm here.
        if rejected and strict:
            raise InputError(
                f"{log.workload.name}: {rejected} jobs of the windows can never fit on {log.cluster.name}; give a "
                "larger cluster, or leave --strict out to have such jobs rejected and counted"
            )
        seconds = time.perf_counter() - began
        return replace(
            comparison,
            skipped=combinations.skipped,
            asked=self.windows,
            part=self.part,
            seed=self.seed,
            seconds=seconds,
            # A baseline that somebody named is what the site has; the first of a list is not.
            site=None if self.baseline is None else find_baseline(possible, self.baseline).scheduler,
        )


def compare(
    workload: str | Path | Workload | Log,
    cluster: str | int | Cluster | None = None,
    *,
    policy: str | Sequence[str] = ALL,
    dispatch: str | Sequence[str | None] | None = None,
    placement: str | Sequence[str] = FIRST_FIT,
    estimate: str | Sequence[str | None] | None = None,
    pairs: str | Sequence[str] | None = None,
    strict: bool = False,
    on: str | Engine = LOCAL,
    progress: Callable[[int, int], None] | None = None,
    **terms: Any,  # noqa: ANN401 - the fields of Contest, and settings by name
) -> Comparison:
    """Compares ways to schedule on the same windows of a log.

    Args:
        workload: A file, a generator, or what was read before.
        cluster: A number of cores, a preset, a file, or a cluster; None: the one that the workload tells of.
        policy: One policy or several, as in `shunter.simulate`; ``all``: every policy of Shunter's.
        dispatch: One dispatch rule or several; None: what goes with each policy.
        placement: One placement or several.
        estimate: One estimate or several; None: what goes with each policy.
        pairs: Which types of GPUs a job takes, in one way or several; None: as each policy has it.
        strict: Whether a job that can never fit is an error.
        on: Where simulations run: ``local``, ``ray``, or the address of a Ray cluster.
        progress: Called after each combination with how many are done, and of how many.
        terms: The fields of `Contest` (``metric``, ``baseline``, ``windows``, ``length``, ``blocks``, ``warmup``,
            ``part``, ``seed``, ``threads``), and any setting of `shunter.simulate` that all combinations share.

    Raises:
        InputError: A name or a number is wrong, or not one job can ever fit.
    """
    # Checked before the log is read: a slip of the finger should not cost a minute.
    contest, settings = split_terms(terms)
    named = (policy, dispatch, placement, estimate, pairs)
    lists = [[one] if one is None or isinstance(one, str) else one for one in named]
    combinations = combine(*lists, **settings)  # type: ignore[arg-type]
    contest.check(combinations.possible)
    check_on(on)
    return contest.run(read_log(workload, cluster), combinations, strict=strict, on=on, progress=progress)


def split_terms(terms: Mapping[str, Any], **defaults: Any) -> tuple[Contest, dict[str, Any]]:  # noqa: ANN401 - by name
    """Returns the contest that some keywords mean, and the settings among them; the seed is part of both."""
    names = {one.name for one in fields(Contest)}
    contest = Contest(**defaults | {name: value for name, value in terms.items() if name in names})
    settings = {name: value for name, value in terms.items() if name not in names or name == "seed"}
    return contest, settings
