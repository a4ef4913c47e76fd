"""The combinations that a comparison goes through: policy × dispatch × placement × estimate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from shunter.errors import InputError
from shunter.policies.checkpoint_path import checkpoint_label, is_checkpoint
from shunter.policies.names import POLICIES
from shunter.policies.policy_file import policy_path, python_path
from shunter.policies.settings import check_settings
from shunter.policies.specs import spec_file

if TYPE_CHECKING:
    from shunter.model.schedule import Settings

ALL = "all"
_NOT_ALL = ("fifo", "first-available", "linear", "qssf", "srtf", "las")
CLASSICS = tuple(name for name in POLICIES if name not in _NOT_ALL)
"""What ``--policy all`` means: every policy of Shunter's but second names, the score whose weights are searched, and
those for clusters of GPUs."""


@dataclass(frozen=True)
class Combination:
    """One way to schedule, with checked settings."""

    label: str
    """What tables and figures call it, and what ``--baseline`` takes: ``f2/easy``."""
    settings: Settings

    @property
    def files(self) -> dict[str, Path]:
        """The files that its settings come from, by what the user gave."""
        policy, estimate, placement = self.settings.policy, self.settings.estimate, self.settings.placement
        found = {
            placement: python_path(placement),
            policy: policy_path(policy) or spec_file(policy),
            estimate: spec_file(estimate),
        }
        if isinstance(self.settings.failures, str):
            found[self.settings.failures] = Path(self.settings.failures)
        return {given: path for given, path in found.items() if path is not None}


@dataclass(frozen=True)
class Combinations:
    """All that were asked for."""

    possible: tuple[Combination, ...]
    skipped: tuple[str, ...]
    """Why others cannot be, one line a policy."""


def combine(
    policies: Sequence[str],
    dispatches: Sequence[str | None] = (None,),
    placements: Sequence[str | None] = (None,),
    estimates: Sequence[str | None] = (None,),
    **common: Any,  # noqa: ANN401
) -> Combinations:
    """Returns every combination that is possible; one that contradicts itself is skipped, and its reason told.

    Args:
        policies: As in `shunter.simulation.simulate`; ``all`` means each of `CLASSICS`. A learned one brings its rule,
            placement and estimate, and is there once.
        dispatches: What happens when the next job does not fit; None for the policy's default.
        placements: Which nodes a job gets; None for the default.
        estimates: The run times that the policies see; None for the policy's default.
        common: The settings that all share, as in `shunter.simulation.simulate`.

    Raises:
        InputError: A name or a number is wrong, or no combination is possible.
    """
    policies = _distinct([name for policy in policies for name in (CLASSICS if policy == ALL else (policy,))])
    lists = (policies, _distinct(dispatches), _distinct(placements), _distinct(estimates))
    _check_each(*lists, common)
    possible: dict[Settings, Combination] = {}
    skipped: dict[str, str] = {}
    shown = _shown(policies, _policy_name)
    shown_estimates = _shown([name for name in lists[3] if name is not None], _estimate_name)
    for policy, dispatch, placement, estimate in product(*lists):
        given = {"policy": policy, "dispatch": dispatch, "placement": placement, "estimate": estimate}
        try:
            settings = check_settings(**given, **common)
        except InputError as error:
            skipped.setdefault(policy, str(error))
            continue
        words = [shown[policy], settings.dispatch]
        words += [settings.placement] if len(lists[2]) > 1 else []
        own = settings.estimate
        words += [shown_estimates.get(own, _estimate_name(own))] if len(lists[3]) > 1 else []
        possible[settings] = Combination("/".join(words), settings)
    if not possible:
        raise InputError(next(iter(skipped.values())))
    return Combinations(tuple(possible.values()), tuple(skipped.values()))


def find_baseline(combinations: Sequence[Combination], label: str | None) -> Combination:
    """Returns the combination of this label, or the first that begins with it; by default the first of all.

    Raises:
        InputError: There is none.
    """
    if label is None:
        return combinations[0]
    for combination in combinations:
        if combination.label == label or combination.label.startswith(f"{label}/"):
            return combination
    known = [combination.label for combination in combinations]
    raise InputError(f"--baseline {label!r} is not among what is compared; it has {', '.join(known)}")


def _distinct(names: Sequence[Any]) -> list[Any]:
    """Returns the names without repetitions, in their order."""
    return list(dict.fromkeys(names))


def _check_each(
    policies: Sequence[str],
    dispatches: Sequence[str | None],
    placements: Sequence[str | None],
    estimates: Sequence[str | None],
    common: dict[str, Any],
) -> None:
    """Raises an error for a word that is wrong by itself: such a one is a mistake, not a combination to skip."""
    for policy in policies:
        check_settings(policy=policy, **common)
    for dispatch in dispatches:
        check_settings(dispatch=dispatch, **common)
    for placement in placements:
        check_settings(placement=placement, **common)
    for estimate in estimates:
        check_settings(estimate=estimate, **common)


def _policy_name(policy: str) -> str:
    """Returns what labels call a policy: a file by its name alone, a checkpoint by its run's."""
    return checkpoint_label(policy) if is_checkpoint(policy) else PurePath(policy).name


def _estimate_name(estimate: str) -> str:
    return PurePath(estimate).name


def _shown(names: Sequence[str], name_of: Callable[[str], str]) -> dict[str, str]:
    """Returns what labels call each: by its short name, unless two have the same."""
    short = {name: name_of(name) for name in names}
    counts = list(short.values())
    return {name: shown if counts.count(shown) == 1 else name for name, shown in short.items()}
