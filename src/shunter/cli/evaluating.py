"""One evaluation: find the checkpoints, choose windows that they have not seen, run them and the classics there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shunter.cli.comparing import LISTS, Compared, WindowArguments, run_comparison
from shunter.cli.options import listed_names
from shunter.errors import InputError

if TYPE_CHECKING:
    from shunter.comparison.combinations import Combination, Combinations
    from shunter.comparison.evaluation import Entrants, Evaluation
    from shunter.policies.scheduler import Scheduler

RUNS: Final = Path("runs")
"""Where runs are looked for if no checkpoint is named."""
ALL, NONE = "all", "none"
"""Words that ``--against`` takes besides lists."""


@dataclass(frozen=True)
class EvaluateArguments(WindowArguments):
    """The options of ``shunter evaluate`` that decide its result."""

    checkpoints: tuple[str, ...]
    against: str
    also: tuple[str, ...]

    @cached_property
    def entrants(self) -> Entrants:
        """Who takes part; an error for the first name or number that is wrong."""
        from shunter.comparison.combinations import combine
        from shunter.comparison.evaluation import Entrants

        learned = tuple(
            # A run may be called like a classic, a path is not.
            replace(one, label=one.settings.policy)
            for one in combine(self.checkpoints, **self.common()).possible
        )
        shared = learned[0].scheduler
        also = tuple(_also(text, shared) for text in self.also)
        estimates = [one.settings.estimate for one in learned]
        return Entrants(learned, also, _classics(self.against, shared, estimates))

    def combinations(self) -> Combinations:
        """Returns everybody."""
        from shunter.comparison.combinations import Combinations

        return Combinations(self.entrants.all, ())

    def common(self) -> dict[str, Any]:
        """Returns the settings that all share; whether jobs are killed is as it was in training, if nothing is said."""
        from shunter.policies.checkpoint import resolve_checkpoint

        common = super().common()
        killed = any(resolve_checkpoint(one).settings.kill_at_request for one in self.checkpoints)
        return common | {"kill_at_request": common["kill_at_request"] or killed}


@dataclass(frozen=True)
class Evaluated(Compared):
    """What was evaluated, and what came out."""

    evaluation: Evaluation
    warnings: tuple[str, ...]

    def rows(self) -> list[dict[str, Any]]:
        """Returns one row a combination, the best first, with its role."""
        return self.evaluation.rows()

    def result(self) -> dict[str, Any]:
        """Returns what ``--json`` prints."""
        result = super().result()
        best = self.evaluation.best()
        combinations = [old | row for old, row in zip(result["combinations"], self.rows(), strict=True)]
        return result | {
            "combinations": combinations,
            "best_classic": None if best is None else best.combination.label,
            "verdict": [finding.to_json() for finding in self.evaluation.findings()],
            "warnings": list(self.warnings),
        }


def newest_checkpoint(runs: Path = RUNS) -> str:
    """Returns the run whose checkpoint was written last.

    Raises:
        InputError: There is none.
    """
    from shunter.policies.checkpoint import checkpoint_file

    folders = [folder for folder in runs.iterdir() if folder.is_dir()] if runs.is_dir() else []
    found = {folder: file for folder in folders if (file := checkpoint_file(str(folder))) is not None}
    if not found:
        raise InputError(
            f"no checkpoint is named, and there is none under {runs}/; name one, or train with 'shunter train'"
        )
    return str(max(found, key=lambda folder: found[folder].stat().st_mtime_ns))


def run_evaluation(arguments: EvaluateArguments, combinations: Combinations) -> Evaluated:
    """Reads, chooses windows, simulates and compares."""
    from shunter.comparison.evaluation import Evaluation

    compared = run_comparison(arguments, combinations)
    evaluation = Evaluation.of(compared.comparison, arguments.entrants, arguments.shared.seed)
    return Evaluated(
        arguments=arguments,
        inputs=compared.inputs,
        skipped=compared.skipped,
        comparison=evaluation.comparison,
        seconds=compared.seconds,
        evaluation=evaluation,
        warnings=tuple(_warnings(arguments, compared)),
    )


def _warnings(arguments: EvaluateArguments, compared: Compared) -> list[str]:
    """Returns what a reader must know of the checkpoints."""
    from shunter.comparison.evaluation import settings_warnings
    from shunter.comparison.seen_days import Judged, part_warning
    from shunter.model.windows import parse_part
    from shunter.policies.checkpoint import read_record

    judged = Judged.of(compared.inputs.workload, parse_part(arguments.part))
    found: list[str | None] = []
    for checkpoint in arguments.checkpoints:
        training = read_record(checkpoint).get("training")
        facts = training if isinstance(training, dict) else {}
        found.append(part_warning(checkpoint, facts, judged))
    found += settings_warnings(arguments.entrants)
    return [warning for warning in found if warning is not None]


def _classics(against: str, shared: Scheduler, estimates: Sequence[str]) -> tuple[Combination, ...]:
    """Returns the classics: with requested times, and with what each of the checkpoints sees."""
    from shunter.comparison.classics import classics
    from shunter.policies.estimates import REQUESTED

    seen = list(dict.fromkeys([REQUESTED, *estimates]))
    if against == NONE:
        return ()
    if against == ALL:
        return classics(shared, seen)
    found = [one for text in listed_names("against", against) for one in _combined(text, shared, seen)]
    return tuple(dict.fromkeys(found))


def _also(text: str, shared: Scheduler) -> Combination:
    """Returns a policy beside the checkpoints; a file brings its estimate, if it has one."""
    from shunter.policies.checkpoint import is_checkpoint
    from shunter.policies.estimates import REQUESTED
    from shunter.policies.specs import read_toml, spec_file

    if is_checkpoint(text):
        raise InputError(f"--also {text}: this is a folder; name checkpoints without --also")
    policy = text if spec_file(text) is not None else text.rpartition("/")[0]
    file = spec_file(policy)
    estimate = policy if file is not None and "estimate" in read_toml(file) else REQUESTED
    return _combined(text, shared, [estimate])[0]


def _combined(text: str, shared: Scheduler, estimates: Sequence[str]) -> tuple[Combination, ...]:
    """Returns what ``f2/easy`` means with each of the estimates; the rest is as in the settings."""
    from shunter.comparison.combinations import combine
    from shunter.envs.options import reference_policy

    policy, dispatch = reference_policy(text)
    words = shared.settings.words()
    for name in LISTS:
        del words[name]
    return combine([policy.text], [dispatch], [shared.settings.placement], estimates, **words).possible
