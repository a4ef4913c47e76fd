"""Learned policies on held-out windows, beside the classics that one would have had without learning."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shunter.comparison.classics import Progress, classics, learns
from shunter.comparison.combinations import ALL, Combination, Combinations, combine, combine_like
from shunter.comparison.contest import Contest, split_terms
from shunter.comparison.next_step import Step, doubt, judged_step
from shunter.comparison.origins import Origin, find_same, origin_of, trained_for, with_own_estimate
from shunter.comparison.report import LogReport, hold_against
from shunter.comparison.roles import (
    ALSO,
    BEGINNING,
    BEST,
    BEST_SAME,
    CHOSEN,
    CLASSIC,
    JUDGED_AGAINST,
    LEARNED,
    TUNED,
)
from shunter.comparison.rows import combination_rows
from shunter.comparison.seen_days import Judged, part_warning
from shunter.errors import InputError
from shunter.model.windows import parse_part
from shunter.policies.catalog import CHOOSING_JOBS, PICK_JOB
from shunter.policies.checkpoint import checkpoint_file, is_checkpoint, read_record, resolve_checkpoint
from shunter.policies.native import REQUESTED
from shunter.workloads.reading import read_log

if TYPE_CHECKING:
    from shunter.comparison.comparison import Comparison, Scored
    from shunter.comparison.report import Finding
    from shunter.model.cluster import Cluster
    from shunter.model.log import Log
    from shunter.model.workload import Workload
    from shunter.policies.scheduler import Scheduler

NONE: Final = "none"
"""No classics at all."""
LATER: Final = "0.7:1"
"""The part of a log that learned policies are judged on, unless said otherwise."""
TRAINED: Final = "trained"
"""The metric that the first checkpoint was trained for."""
RUNS: Final = Path("runs")
"""Where runs are looked for if no checkpoint is named."""


@dataclass(frozen=True)
class Entrants:
    """Who takes part."""

    learned: tuple[Combination, ...]
    also: tuple[Combination, ...]
    """Other policies that are judged like the learned ones."""
    classics: tuple[Combination, ...]
    """Some see requested times, others what learned policies see."""
    origins: Mapping[Combination, Origin] = field(default_factory=dict)
    """Where those who are judged come from."""

    @property
    def judged(self) -> tuple[Combination, ...]:
        """Those who are judged: all but the classics, and what the learned ones come from."""
        return (*self.learned, *self.also)

    @property
    def all(self) -> tuple[Combination, ...]:
        """Everybody, each once."""
        sources = [one for origin in self.origins.values() for one in origin.combinations]
        return tuple(dict.fromkeys([*self.judged, *sources, *self.classics]))

    def judged_in(self, contest: Contest) -> Contest:
        """Returns a contest with its metric, where that is to be what the first checkpoint was trained for."""
        return replace(contest, metric=trained_for(self.learned[0])) if contest.metric == TRAINED else contest

    def origin(self, judged: Combination) -> Origin:
        """Returns where a policy that is judged comes from; one of which nothing is known comes from nowhere."""
        return self.origins.get(judged, Origin())


@dataclass(frozen=True)
class Evaluation:
    """What everybody did, held against the best classic in hindsight."""

    comparison: Comparison
    entrants: Entrants
    warnings: tuple[str, ...] = ()
    """What a reader must know of the checkpoints."""

    @staticmethod
    def of(comparison: Comparison, entrants: Entrants, seed: int = 0) -> Evaluation:
        """Takes a comparison of all entrants, whatever its baseline; without classics the baseline stays."""
        best = _best(comparison, entrants, REQUESTED)
        if best is not None:
            comparison = comparison.held_against(best.label, seed=seed, role=BEST)
        return Evaluation(comparison, entrants)

    def best(self, estimate: str = REQUESTED) -> Scored | None:
        """Returns the best classic that sees these run times; None if there is none."""
        return _best(self.comparison, self.entrants, estimate)

    @cached_property
    def standings(self) -> tuple[LogReport, ...]:
        """Each policy that is judged, against where it began, and against what one would have had without it."""
        return tuple(self._standing(one) for one in self.entrants.judged)

    @cached_property
    def next_step(self) -> Step:
        """What an operator should do with what was learned."""
        comparison = self.comparison
        if (first := doubt(comparison)) is not None:
            return first
        learned = [one.combination for one in comparison.scored if one.combination in self.entrants.learned]
        steps = [self._step(one) for one in learned]
        # Of several, the best that is worth it; where none is, why the best is not.
        return next((one for one in steps if one.role == LEARNED), steps[0])

    def _step(self, judged: Combination) -> Step:
        tuned = self.entrants.origin(judged).tuned
        also = {one.label: one for one in self.entrants.also if one != tuned}
        words = [*self.comparison.log.words, "--policy", judged.settings.policy]
        return judged_step(
            self._standing(judged, also),
            LEARNED,
            f"the learned policy ({judged.label})",
            shlex.join(["shunter", "simulate", *words]),
            {label: label for label in also},
        )

    def _standing(self, judged: Combination, also: Mapping[str, Combination] | None = None) -> LogReport:
        comparison, log = self.comparison, self.comparison.log
        origin = self.entrants.origin(judged)
        best, same = self.best(), self.best(judged.settings.estimate) if learns(judged.scheduler) else None
        those = {
            LEARNED if judged in self.entrants.learned else ALSO: judged,
            BEGINNING: origin.beginning,
            TUNED: origin.tuned,
            CHOSEN: origin.chosen_on(log),
            BEST: None if best is None else best.combination,
            BEST_SAME: None if same is None else same.combination,
            **(also or {}),
        }
        rows = {role: comparison.contenders[one.label] for role, one in those.items() if one is not None}
        # Waits and bounds are those of the classic chosen on training days; where there is none, of the best that is.
        reference = next(role for role in (CHOSEN, BEST, LEARNED, ALSO) if role in rows)
        objective = origin.objective(comparison.metric, log)
        held = hold_against(rows, comparison.block, objective, reference, seed=comparison.seed)
        return LogReport(judged.label, comparison.block, objective, reference, held, part_of=comparison)

    def is_shown_beside(self, judged: Combination) -> bool:
        """Returns whether a policy has its row in the tables of one that began as it, and needs none of its own."""
        return any(self.entrants.origin(one).tuned == judged for one in self.entrants.learned)

    def role(self, combination: Combination) -> str:
        """Returns what a row is."""
        origins = self.entrants.origins.values()
        for role, members in (
            (LEARNED, self.entrants.learned),
            (ALSO, self.entrants.also),
            (BEGINNING, [origin.beginning for origin in origins]),
            (TUNED, [origin.tuned for origin in origins]),
        ):
            if combination in members:
                return role
        best = self.best(combination.settings.estimate)
        if best is not None and best.combination == combination:
            return BEST if combination.settings.estimate == REQUESTED else BEST_SAME
        return CHOSEN if combination in [one.chosen_on(self.comparison.log) for one in origins] else CLASSIC

    def rows(self) -> list[dict[str, Any]]:
        """Returns one row a combination, the best first: what a comparison tells, its role, and the wait's ratio."""
        return [
            row | {"role": self.role(one.combination), "mean_wait_ratio": one.wait_ratio}
            for row, one in zip(combination_rows(self.comparison), self.comparison.scored, strict=True)
        ]

    def to_json(self) -> dict[str, Any]:
        """Returns what ``shunter evaluate --json`` prints."""
        result, best = self.comparison.to_json(), self.best()
        combinations = [old | row for old, row in zip(result["combinations"], self.rows(), strict=True)]
        return {
            "judged": [
                {"label": one.name, "rows": [one.row_object(role) for role in one.contenders]} for one in self.standings
            ],
            **result,
            "combinations": combinations,
            "next_step": self.next_step.text,
            "best_classic": None if best is None else best.combination.label,
            "verdict": [finding.to_json() for finding in self.findings()],
            "warnings": list(self.warnings),
        }

    def shown(self, classics: int) -> tuple[Scored, ...]:
        """Returns what a table has room for: everybody who is judged, the best classics, the best of each estimate."""
        left = classics
        kept = []
        for one in self.comparison.scored:
            # The best of each estimate is shown in any case, and counts among the best.
            plain = self.role(one.combination) == CLASSIC
            is_classic = one.combination in self.entrants.classics
            if not plain or left > 0:
                kept.append(one)
            left -= is_classic
        return tuple(kept)

    def findings(self) -> list[Finding]:
        """Returns what it comes to: every policy that is judged, against where it began first."""
        found = []
        for judged, one in zip(self.entrants.judged, self.standings, strict=True):
            told = one.findings(next(iter(one.contenders)), judged.label, JUDGED_AGAINST)
            found += [replace(finding, workload=self.comparison.workload.name) for finding in told]
        return found


def _best(comparison: Comparison, entrants: Entrants, estimate: str) -> Scored | None:
    for one in comparison.scored:
        if one.combination in entrants.classics and one.combination.settings.estimate == estimate:
            return one
    return None


def settings_warnings(entrants: Entrants) -> list[str]:
    """Returns a warning for each learned policy that does not work under the conditions of the classics."""
    warnings = []
    first, *others = entrants.learned
    for name in ("placement", "missing_request", "reserve_by", "max_wait_s"):
        shared = getattr(first.settings, name)
        for other in others:
            if (own := getattr(other.settings, name)) != shared:
                what = f"{name} {own}, and {first.label} and all classics with {shared}"
                warnings.append(f"{other.label} runs with {what}; evaluate it alone")
    for other in others:
        if (metric := trained_for(other)) != trained_for(first):
            what = f"{metric}, and {first.label} for {trained_for(first)}"
            warnings.append(f"{other.label} was trained for {what}; evaluate it alone")
    return warnings


def find_entrants(
    checkpoints: Sequence[str],
    against: str | Sequence[str] = ALL,
    also: Sequence[str] = (),
    **settings: Any,  # noqa: ANN401 - the settings by name, each with a type of its own
) -> Entrants:
    """Returns who takes part in an evaluation.

    Args:
        checkpoints: Folders of runs or of checkpoints. Whether jobs are killed at their requests is as it was in
            training, unless the settings say it.
        against: The classics: ``all``, ``none``, or some, such as ``["fcfs/easy", "f2/easy"]``; with requested times,
            and with what each of the checkpoints sees.
        also: Other policies that are judged like the checkpoints; a file brings its estimate, if it has one.
        settings: What all share; a placement is the folder of a policy that chooses hosts.

    Raises:
        InputError: The first name or number that is wrong.
    """
    # Comparing a policy that learned with killed jobs to classics without would flatter one of them.
    killed = any(resolve_checkpoint(one).settings.kill_at_request for one in checkpoints)
    settings["kill_at_request"] = settings.get("kill_at_request", False) or killed
    # Checkpoints bring their placement, unless one that is learned is asked for.
    common = settings | {"placements": [settings.pop("placement", None)]}
    learned = tuple(
        # A run may be called like a classic, a path is not.
        replace(one, label=one.settings.policy)
        for one in combine(checkpoints, **common).possible
    )
    # Classics work under the conditions of the first checkpoint; where others differ, a warning says so.
    shared = learned[0].scheduler
    estimates = list(dict.fromkeys([REQUESTED, *(one.settings.estimate for one in learned)]))
    if against == NONE:
        rivals: tuple[Combination, ...] = ()
    elif against == ALL:
        rivals = classics(shared, estimates)
    else:
        texts = [against] if isinstance(against, str) else against
        rivals = tuple(dict.fromkeys(one for text in texts for one in combine_like(text, shared, estimates)))
    taken = {one.label for one in (*learned, *rivals)}
    others: list[Combination] = []
    for text in also:
        one = _also(text, shared)
        if find_same(one, others) is not None:
            continue
        # Files of one name in several folders: their whole paths tell them apart.
        others.append(replace(one, label=text) if one.label in taken and one not in rivals else one)
        taken.add(one.label)
    origins: dict[Combination, Origin] = {}
    for one in (*learned, *others):
        # Several runs may have begun as one file, or as files of one name.
        known = [origin.tuned for origin in origins.values() if origin.tuned is not None]
        origins[one] = origin_of(one, rivals, **common).beside([*others, *known])
    return Entrants(learned, tuple(others), rivals, origins)


def _also(text: str, shared: Scheduler) -> Combination:
    if is_checkpoint(text):
        raise InputError(f"--also {text}: this is a folder; name checkpoints without --also")
    return with_own_estimate(text, shared)


def run_evaluation(
    contest: Contest, log: Log, entrants: Entrants, *, strict: bool = False, progress: Progress | None = None
) -> Evaluation:
    """Compares all entrants on windows of a log, and judges those who are to be judged.

    Args:
        contest: By what they are compared, and where.
        log: The log and its cluster.
        entrants: Who takes part.
        strict: Whether a job that can never fit is an error.
        progress: Called after each combination with how many are done, and of how many.
    """
    comparison = contest.run(log, Combinations(entrants.all, ()), strict=strict, progress=progress)
    judged = Judged.of(log.workload, parse_part(contest.part))
    warnings: list[str | None] = []
    for one in entrants.learned:
        training = read_record(one.settings.policy).get("training")
        facts = training if isinstance(training, dict) else {}
        warnings.append(part_warning(one.settings.policy, facts, judged))
    warnings += settings_warnings(entrants)
    told = tuple(warning for warning in warnings if warning is not None)
    return replace(Evaluation.of(comparison, entrants, contest.seed), warnings=told)


def evaluate(
    checkpoints: str | Sequence[str],
    workload: str | Path | Workload | Log,
    cluster: str | int | Cluster | None = None,
    *,
    against: str | Sequence[str] = ALL,
    also: Sequence[str] = (),
    strict: bool = False,
    progress: Progress | None = None,
    **terms: Any,  # noqa: ANN401 - the fields of Contest, and settings by name
) -> Evaluation:
    """Judges learned policies on later days of a log, against the best classic in hindsight.

    Args:
        checkpoints: Folders of runs, whose best checkpoints are taken, or of checkpoints.
        workload: A file, a generator, or what was read before.
        cluster: A number of cores, a preset, a file, or a cluster; None: the one that the workload tells of.
        against: The classics: ``all``, ``none``, or some, such as ``["fcfs/easy", "f2/easy"]``.
        also: Other policies that are judged like the checkpoints, such as what `shunter.tune` wrote.
        strict: Whether a job that can never fit is an error.
        progress: Called after each combination with how many are done, and of how many.
        terms: As in `shunter.compare`; by default the part of the log is ``0.7:1``, and the metric the one that the
            first checkpoint was trained for.

    Raises:
        InputError: A name or a number is wrong, or not one job can ever fit.
    """
    contest, settings = split_terms(terms, part=LATER, metric=TRAINED)
    folders = [checkpoints] if isinstance(checkpoints, str) else checkpoints
    entrants = find_entrants(folders, against, also, **settings)
    contest = entrants.judged_in(contest)
    contest.check(entrants.all)
    return run_evaluation(contest, read_log(workload, cluster), entrants, strict=strict, progress=progress)


def newest_checkpoint(runs: Path = RUNS) -> str:
    """Returns the run that chooses jobs whose checkpoint was written last.

    Raises:
        InputError: There is none, or a checkpoint cannot be read.
    """
    folders = [folder for folder in runs.iterdir() if folder.is_dir()] if runs.is_dir() else []
    found = {
        folder: file
        for folder in folders
        if (file := checkpoint_file(str(folder))) is not None
        and read_record(str(folder))["options"].get("kind", PICK_JOB) in CHOOSING_JOBS
    }
    if not found:
        raise InputError(
            f"no checkpoint is named, and there is none under {runs}/; name one, or train with 'shunter train'"
        )
    # By the time of the checkpoint: the folder's own changes with any file in it.
    return str(max(found, key=lambda folder: found[folder].stat().st_mtime_ns))
