"""Where a policy that is judged comes from: what it began as, the classic that its training days chose, its bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shunter.comparison.combinations import Combination, combine, combine_like
from shunter.comparison.contest import Contest
from shunter.comparison.objective import Objective, parse_objective
from shunter.errors import InputError
from shunter.files import read_toml
from shunter.metrics.table import METRICS
from shunter.policies.checkpoint import INITIAL, POLICY_FILE, Checkpoint, read_record
from shunter.policies.native import REQUESTED, spec_file
from shunter.policies.scheduler import split_text

if TYPE_CHECKING:
    from shunter.model.log import Log
    from shunter.model.settings import Settings
    from shunter.policies.scheduler import Scheduler


@dataclass(frozen=True)
class Origin:
    """Where one policy comes from, as far as it says."""

    beginning: Combination | None = None
    """What its training began with."""
    tuned: Combination | None = None
    """The tuned file that its window is sorted by, and that its training began as."""
    chosen: Mapping[str, Combination] | None = None
    """By the content of a log: the classic that its training days would choose. None: nothing is known."""
    bounds: tuple[str, ...] = ()
    """What it was asked to keep relative to that classic, as ``mean_wait_s=1.1``."""

    @property
    def combinations(self) -> tuple[Combination, ...]:
        """All that have to be run to judge the policy by where it comes from."""
        found = (self.beginning, self.tuned, *(self.chosen or {}).values())
        return tuple(one for one in found if one is not None)

    def beside(self, others: Sequence[Combination]) -> Origin:
        """Returns the same, with a tuned file that takes part anyway run once, and every name used once."""
        if self.tuned is None:
            return self
        same = find_same(self.tuned, others)
        if same is None and self.tuned.label in {one.label for one in others}:
            same = replace(self.tuned, label=self.tuned.settings.policy)
        return self if same is None else replace(self, tuned=same)

    def chosen_on(self, log: Log) -> Combination | None:
        """Returns the classic that the training days of a log would choose; None if it was not trained on the log."""
        return (self.chosen or {}).get(log.workload.content_sha256)

    def objective(self, metric: str, log: Log) -> Objective:
        """Returns what the policy is judged by on a log: a metric, and its bounds where they mean something."""
        if self.chosen_on(log) is None:
            return Objective(metric)
        try:
            return parse_objective(metric, self.bounds)
        except InputError:
            # A record that somebody has edited; there is no bound that could be told.
            return Objective(metric)


def trained_for(one: Combination) -> str:
    """Returns the metric by which the checkpoints of a learned policy were chosen; the usual one if nobody tells."""
    training = read_record(one.settings.policy).get("training")
    metric = training.get("objective") if isinstance(training, dict) else None
    return metric if metric in METRICS else Contest.metric


def find_same(one: Combination, others: Sequence[Combination]) -> Combination | None:
    """Returns which of others is the same policy under the same rule, also if read from a copy of its file."""
    own = _content(one)
    return next((other for other in others if _content(other) == own), None)


def _content(one: Combination) -> tuple[Settings, list[str | dict[str, Any]]]:
    """Returns a combination's settings, with what its files hold in the place of their names."""
    files = [(text, spec_file(text)) for text in (one.settings.policy, one.settings.estimate)]
    held = [text if path is None else read_toml(path) for text, path in files]
    return replace(one.settings, policy="", estimate=""), held


def origin_of(one: Combination, classics: tuple[Combination, ...], **common: Any) -> Origin:  # noqa: ANN401 - settings
    """Returns where a policy comes from: a checkpoint by its record and its run's folder, a file by its own facts.

    Args:
        one: The policy.
        classics: The classics that are run anyway; none: no classic is added to them.
        common: The settings that all share.
    """
    policy = one.scheduler.policy
    if isinstance(policy, Checkpoint):
        training = read_record(policy.text).get("training")
        facts: Mapping[str, Any] = training if isinstance(training, dict) else {}
        chosen = _paired(facts.get("logs"), facts.get("chosen"))
        order = policy.order.file
        # A window that is sorted by a file is sorted by what was tuned: training began as it.
        tuned = None if order is None else with_own_estimate(str(order), one.scheduler)
        return Origin(_beginning(policy, **common), tuned, _found(chosen, one, classics), _bounds(facts))
    file = spec_file(one.settings.policy)
    facts = read_toml(file).get("tuned", {}) if file is not None else {}
    if not isinstance(facts, dict):
        return Origin()
    logs = facts.get("logs")
    chosen = _paired(logs, [log.get("chosen") if isinstance(log, dict) else None for log in logs or ()])
    return Origin(None, None, _found(chosen, one, classics), _bounds(facts))


def with_own_estimate(text: str, shared: Scheduler) -> Combination:
    """Returns a policy, also with a rule (``tuned.toml/easy``); a file brings its estimate, if it has one."""
    policy, _ = split_text(text)
    # What tune writes holds the prior that its weights were tuned with.
    file = spec_file(policy)
    estimate = policy if file is not None and "estimate" in read_toml(file) else REQUESTED
    return combine_like(text, shared, [estimate])[0]


def _beginning(checkpoint: Checkpoint, **common: Any) -> Combination | None:  # noqa: ANN401 - settings
    """Returns the policy that the run of a checkpoint began with; None: it is not there, or is the checkpoint."""
    folder = checkpoint.folder.parent / INITIAL
    if checkpoint.folder == folder or not (folder / POLICY_FILE).is_file():
        return None
    (one,) = combine([str(folder)], **common).possible
    return replace(one, label=one.settings.policy)


def _paired(logs: object, labels: object) -> dict[str, str]:
    """Returns which classic was chosen on each log, by its content; what cannot be read is left out."""
    if not (isinstance(logs, list) and isinstance(labels, list)):
        return {}
    pairs = zip(logs, labels, strict=False)
    return {str(log.get("sha256")): label for log, label in pairs if isinstance(log, dict) and isinstance(label, str)}


def _found(
    chosen: Mapping[str, str], judged: Combination, classics: tuple[Combination, ...]
) -> dict[str, Combination] | None:
    """Returns the chosen classics as combinations: those that are run anyway, or new ones."""
    if not classics:
        return None
    by_scheduler = {one.scheduler: one for one in classics}
    found: dict[str, Combination] = {}
    for sha256, label in chosen.items():
        try:
            own = combine_like(label, judged.scheduler)[0]
        except InputError:
            # Of another version, or edited by hand: then nobody is called the chosen one.
            continue
        # Labels name the estimate where there are several.
        named = any(one.label.endswith(f"/{REQUESTED}") for one in classics)
        own = replace(own, label=f"{own.label}/{REQUESTED}") if named else own
        found[sha256] = by_scheduler.get(own.scheduler, own)
    return found


def _bounds(facts: Mapping[str, Any]) -> tuple[str, ...]:
    bounds = facts.get("bounds")
    return tuple(str(one) for one in bounds) if isinstance(bounds, list) else ()
