"""The combinations that a comparison goes through: policy × dispatch × placement × estimate × types of GPUs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from shunter.comparison.marks import RESTART_S, stops_for_free
from shunter.errors import InputError
from shunter.policies.catalog import POLICIES
from shunter.policies.checkpoint import POLICY_FILE, read_record
from shunter.policies.native import REQUESTED, resolve_estimate
from shunter.policies.pairs import resolve_pairs
from shunter.policies.scheduler import (
    EASY,
    Scheduler,
    resolve,
    resolve_dispatch,
    resolve_placement,
    resolve_scheduler,
    split_text,
)

if TYPE_CHECKING:
    from shunter.model.settings import Settings
    from shunter.policies.native import Estimate
    from shunter.policies.scheduler import AnyPolicy

ALL = "all"
NOT_ALL = {
    "fifo": "a second name of fcfs",
    "first-available": "fcfs under a placement of its own",
    "linear": "'shunter tune' searches its weights",
    "pairs": "'shunter tune' searches its weights",
    "qssf": "saf with the estimate history",
    "srtf": "stops running jobs",
    "las": "stops running jobs",
    "srsf": "stops running jobs",
    "gittins": "stops running jobs",
}
"""The policies that ``--policy all`` leaves out, and why."""
CLASSICS = tuple(name for name in POLICIES if name not in NOT_ALL)
"""What ``--policy all`` means."""
WITH_COST = f"/overhead={RESTART_S:g}"
"""What follows the label of a combination that was added to show what restarts cost."""
COPIES_OF_BEFORE = ("order.toml", "estimate.toml")
"""What earlier versions called the copies of files in a checkpoint, whatever the files were called."""


@dataclass(frozen=True)
class Combination:
    """One way to schedule, with what tables call it."""

    label: str
    """What tables and figures call it, and what ``--baseline`` takes: ``f2/easy``."""
    scheduler: Scheduler

    @property
    def settings(self) -> Settings:
        """What it was resolved from, in words."""
        return self.scheduler.settings

    @property
    def files(self) -> dict[str, Path]:
        """The files that it comes from, by what the user gave."""
        return {str(getattr(self.settings, name)): path for name, path in self.scheduler.files.items()}


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
    pairings: Sequence[str | None] = (None,),
    **common: Any,  # noqa: ANN401
) -> Combinations:
    """Returns every combination that is possible; one that contradicts itself is skipped, and its reason told.

    Args:
        policies: As in `shunter.simulation.simulate`; ``all`` means each of `CLASSICS`. A learned one brings its rule,
            placement and estimate, and is there once.
        dispatches: What happens when the next job does not fit; None for the policy's default.
        placements: Which nodes a job gets; None for the default.
        estimates: The run times that the policies see; None for the policy's default.
        pairings: Which types of GPUs a job takes, as ``pairs``; None for what goes with the policy, and what all share.
        common: The settings that all share, as in `shunter.simulation.simulate`.

    Raises:
        InputError: A name or a number is wrong, or no combination is possible.
    """
    named = {"policy": policies, "dispatch": dispatches, "placement": placements, "estimate": estimates}
    named |= {"pairs": pairings}
    for what, given in named.items():
        if not given:
            raise InputError(f"{what} is empty; name at least one")
    names = _distinct([name for policy in policies for name in (CLASSICS if policy == ALL else (policy,))])
    # Each word is resolved once, by itself: one that is wrong is a mistake, not a combination to skip.
    found = {name: resolve(name) for name in names}
    for one in found.values():
        resolve_scheduler(policy=one, **common)
    rules, places = _distinct(dispatches), {name: name and resolve_placement(name) for name in _distinct(placements)}
    for rule in rules:
        resolve_dispatch(EASY if rule is None else rule)
    seen = {name: name and resolve_estimate(name) for name in _distinct(estimates)}
    types = {name: {} if name is None else {"pairs": resolve_pairs(name).text} for name in _distinct(pairings)}
    possible: dict[Settings, Combination] = {}
    skipped: dict[str, str] = {}
    # Labels name what differs; titles of tables say what all have in common.
    shown = {
        "policy": _shown({name: _label(policy) for name, policy in found.items()}),
        "placement": _shown({name: place.label for name, place in places.items() if place}),
        "estimate": _shown({name: _label(estimate) for name, estimate in seen.items() if estimate}),
        # Prices are long; two files of them are told apart by their names.
        "pairs": _shown({name: PurePath(name).name.partition("?")[0] for name in types if name}),
    }
    several = {name for name, some in (("placement", places), ("estimate", seen), ("pairs", types)) if len(some) > 1}
    for policy, dispatch, placement, estimate, pairing in product(names, rules, places, seen, types):
        words = {"dispatch": dispatch, "placement": places[placement], "estimate": seen[estimate]}
        try:
            # Each word is right by itself: what fails now is a pair that contradicts itself, such as las under easy.
            scheduler = resolve_scheduler(policy=found[policy], **words, **(common | types[pairing]))
        except InputError as error:
            skipped.setdefault(policy, str(error))
            continue
        label = "/".join(_parts(scheduler, policy, pairing, shown, several))
        # By its settings: asked for twice under two names, a combination is run once.
        possible[scheduler.settings] = Combination(label, scheduler)
    if not possible:
        raise InputError(next(iter(skipped.values())))
    labels = {name: [one.label for one in possible.values() if one.settings.policy == name] for name in skipped}
    return Combinations(tuple(possible.values()), tuple(_told(skipped[name], labels[name]) for name in skipped))


def _parts(
    scheduler: Scheduler,
    policy: str,
    pairing: str | None,
    shown: Mapping[str, Mapping[str, str]],
    several: Collection[str],
) -> Iterator[str]:
    """Yields the parts of a label: the policy, its rule, and what else there are several of."""
    settings, own = scheduler.settings, scheduler.estimate
    yield shown["policy"][policy]
    yield settings.dispatch
    if "placement" in several:
        yield shown["placement"].get(settings.placement, settings.placement)
    if "estimate" in several:
        yield shown["estimate"].get(own.text, _label(own))
    if "pairs" in several and pairing is not None:
        yield shown["pairs"][pairing]


def _told(reason: str, labels: Sequence[str]) -> str:
    """Returns why a policy is not combined with something, and how it takes part nevertheless, if it does."""
    if not labels:
        return reason
    # What is compared is a list: the advice for a single run, to leave an option out, would change it for all others.
    what = reason.rpartition("; ")[0] or reason
    more = f" and {len(labels) - 1} more" if len(labels) > 1 else ""
    return f"{what}; it takes part as {labels[0]}{more}"


def with_costs(combinations: Sequence[Combination]) -> tuple[Combination, ...]:
    """Returns the combinations, and beside each that stops jobs for free the same with a cost for each restart."""
    every: list[Combination] = []
    for one in combinations:
        every.append(one)
        if stops_for_free(one.scheduler):
            costly = one.scheduler.changed(preemption_overhead_s=RESTART_S)
            every.append(Combination(f"{one.label}{WITH_COST}", costly))
    return tuple(every)


def combine_like(
    text: str, scheduler: Scheduler, estimates: Sequence[str | None] = (REQUESTED,)
) -> tuple[Combination, ...]:
    """Returns what ``f2/easy`` means with each of the estimates; all other settings are as in a scheduler.

    Raises:
        InputError: The policy or the dispatch rule is unknown, or they do not go together.
    """
    policy, dispatch = split_text(text)
    words = scheduler.settings.words()
    for name in ("policy", "dispatch", "estimate"):
        del words[name]
    return combine([policy], [dispatch], [words.pop("placement")], estimates, **words).possible


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


def _label(one: AnyPolicy | Estimate) -> str:
    """Returns what tables call a policy or an estimate; a copy in a checkpoint goes by the name of its original."""
    file = one.file
    # Copies keep the names of their originals, but in checkpoints of earlier versions.
    if file is None or file.name not in COPIES_OF_BEFORE or not (file.parent / POLICY_FILE).is_file():
        return one.label
    training = read_record(str(file.parent)).get("training")
    began = training.get("init") if isinstance(training, dict) else None
    if isinstance(began, str) and began.endswith(".toml"):
        return PurePath(began).name
    return f"{file.resolve().parent.parent.name}:{one.label}"


def _shown(labels: Mapping[str, str]) -> dict[str, str]:
    """Returns what labels call each text: by its short name, unless two have the same."""
    counts = list(labels.values())
    return {text: label if counts.count(label) == 1 else text for text, label in labels.items()}
