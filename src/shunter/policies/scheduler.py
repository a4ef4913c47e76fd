"""From texts to one way to schedule: every text is read once here, and everybody downstream takes the object.

`resolve` reads a policy's text alone. `resolve_scheduler` puts a policy together with its dispatch rule, placement,
estimate and all other settings, and checks that they go together.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from shunter.checks import check_name
from shunter.errors import InputError
from shunter.extras import MILP, need
from shunter.model.settings import AUTO, SETTING_NAMES, Settings
from shunter.native import Handle
from shunter.policies.catalog import (
    DISPATCH_CODES,
    DISPATCHES,
    EXTERNAL,
    GIVEN,
    LEARNED,
    MOST_RESERVATIONS,
    PLACEMENT_CODES,
    PLACEMENTS,
    POLICIES,
    PYTHON_PLACEMENTS,
    RESERVING,
    SYNONYMS,
    KnownPolicy,
)
from shunter.policies.checkpoint import (
    BROUGHT,
    Checkpoint,
    is_checkpoint,
    open_network,
    resolve_checkpoint,
    resolve_host_checkpoint,
)
from shunter.policies.native import Estimate, NativePolicy, read_spec, resolve_estimate, resolve_native, spec_file
from shunter.policies.own import Placer, Policy, PythonPolicy, load_class, load_python_policy, make, python_path
from shunter.policies.pairs import ANY, EFT, SCORE, Pairs, pairs_of_file, resolve_pairs
from shunter.policies.trust import trusting, words_of_a_file

AnyPolicy = NativePolicy | PythonPolicy | Checkpoint
"""A policy that the core runs, one of the user's own in Python, or a learned one."""

EASY: Final = "easy"
"""The dispatch rule of those who name none."""
FIRST_FIT: Final = "first-fit"
"""The placement of those who name none."""
MOST_WAITING: Final = 32
"""How many waiting jobs the core tells a placement of, at most."""
_MILP: Final = {"alpha": 1.0, "beta": 0.1, "gamma": 0.1, "k": 5.0, "time_limit_s": 1.0}
"""The parameters of placements by a solver, with their defaults."""


@dataclass(frozen=True)
class Dispatch:
    """What happens when the next job does not fit."""

    text: str
    code: int
    """The core's number for the rule."""
    reservations: int
    """How many jobs hold reservations, where the rule has any number of them."""


@dataclass(frozen=True)
class Placement:
    """Which nodes a job gets: by a rule of the core's, by a learned policy, or by a `Placer` in Python."""

    text: str
    """What the user wrote, or the name of a placer that was handed over."""
    make_placer: Callable[[], Placer] | None = None
    """Makes the placer, where the rule lives in Python: each simulation has its own."""
    code: int = EXTERNAL
    """The core's number."""
    checkpoint: Checkpoint | None = None
    """The learned policy that places, if one does."""
    # Read once: whoever simulates with it later has the same weights, though the run goes on and writes others.
    network: Handle | None = field(default=None, compare=False, repr=False)
    """Its network."""

    @property
    def file(self) -> Path | None:
        """The file that it comes from, if it does: Python, or what says what a checkpoint is."""
        return python_path(self.text) if self.checkpoint is None else self.checkpoint.file

    @property
    def label(self) -> str:
        """What tables call it: of a learned one, its run's name."""
        return self.text if self.checkpoint is None else self.checkpoint.label


@dataclass(frozen=True)
class Scheduler:
    """One way to schedule: a policy with its dispatch rule, placement and estimate, and all other settings."""

    settings: Settings
    """What it was resolved from, in words; the dispatch rule, the placement and the estimate are always named."""
    # The settings name what these were resolved from, so two schedulers are equal when their settings are.
    policy: AnyPolicy = field(compare=False, repr=False)
    dispatch: Dispatch = field(compare=False, repr=False)
    placement: Placement = field(compare=False, repr=False)
    estimate: Estimate = field(compare=False, repr=False)
    pairs: Pairs = field(default=Pairs(), compare=False, repr=False)

    @property
    def size_by(self) -> str:
        """What sizes are counted in: as the settings say, or else as the policy's file does."""
        order = self.policy.order
        brought = None if order is None else order.spec.size_by
        return brought or AUTO if self.settings.size_by == AUTO else self.settings.size_by

    @property
    def files(self) -> dict[str, Path]:
        """The files that it comes from, by the setting that names them."""
        found = {"policy": self.policy.file, "estimate": self.estimate.file, "placement": self.placement.file}
        if isinstance(self.settings.failures, str):
            found["failures"] = Path(self.settings.failures)
        return {name: path for name, path in found.items() if path is not None}

    def placed_by(self, placement: Placement) -> Scheduler:
        """Returns the same way to schedule with another placement."""
        return replace(self, settings=replace(self.settings, placement=placement.text), placement=placement)

    def changed(
        self,
        *,
        policy: str | AnyPolicy | None = None,
        dispatch: str | None = None,
        estimate: str | Estimate | None = None,
        **words: Any,  # noqa: ANN401 - the other settings
    ) -> Scheduler:
        """Returns the same way to schedule with something else in its place; whether they go together is not checked.

        Raises:
            InputError: A text is wrong by itself.
        """
        found: dict[str, Any] = {}
        if policy is not None:
            found["policy"] = resolve(policy)
        if dispatch is not None:
            found["dispatch"] = resolve_dispatch(dispatch)
        if estimate is not None:
            found["estimate"] = resolve_estimate(estimate)
        if "pairs" in words:
            found["pairs"] = resolve_pairs(words["pairs"])
        # The words follow the objects: a manifest is written from the words, and the core is told of the objects.
        words |= {name: one.text for name, one in found.items()}
        return replace(self, settings=replace(self.settings, **words), **found)


def resolve(given: str | Policy | AnyPolicy, *, hosts: bool = False) -> AnyPolicy:
    """Returns the policy that a text means, or that an object of the user's own is.

    Args:
        given: A name, also with parameters (``hybrid?aging=0.5``), a TOML file, a Python file (``my.py``,
            ``my.py:Class``), the folder of a run or a checkpoint, or a `Policy`. What is resolved already is returned.
        hosts: Whether a checkpoint that chooses hosts will do: a decision can be asked of it. In simulations it is a
            placement.

    Raises:
        InputError: There is no such policy, or it cannot be read.
    """
    if isinstance(given, Policy):
        return PythonPolicy(given.name, given)
    if isinstance(given, NativePolicy | PythonPolicy | Checkpoint):
        return given
    if not isinstance(given, str):
        expected = "a name, a file, the folder of a run, or an object of a class derived from shunter.Policy"
        raise InputError(f"policy is {given!r}; expected {expected}")
    # A policy's name comes first: a folder that happens to be called like it changes nothing.
    if given in POLICIES:
        return resolve_native(given)
    if is_checkpoint(given):
        return resolve_checkpoint(given, hosts=hosts)
    if python_path(given):
        return load_python_policy(given)
    # Without this, a run that is not there would be told that it is an unknown name, with all known ones listed.
    if "/" in given.partition("?")[0] and spec_file(given) is None:
        expected = "the folder of a run or a checkpoint, FILE.toml or FILE.py"
        raise InputError(f"policy {given!r}: there is no such folder or file; expected a name, {expected}")
    return resolve_native(given)


def names_native(text: str) -> bool:
    """Returns whether a text can only mean a policy that the core runs: no Python file, and no folder."""
    return not (is_checkpoint(text) or python_path(text))


def resolve_dispatch(text: str) -> Dispatch:
    """Returns the dispatch rule that a name, or a number of reservations, means.

    Raises:
        InputError: There is no such rule.
    """
    if text.isascii() and text.isdigit():
        if int(text) > MOST_RESERVATIONS:
            raise InputError(f"dispatch {text} is too deep; expected 0 to {MOST_RESERVATIONS}, or 'conservative'")
        return Dispatch(text, RESERVING, int(text))
    check_name("dispatch", text, DISPATCHES, also=", or a number of reservations", synonyms=SYNONYMS)
    return Dispatch(text, *DISPATCH_CODES[text])


def split_text(text: str) -> tuple[str, str | None]:
    """Returns the policy and the dispatch rule that ``f2/easy`` names; None where it names no rule.

    Raises:
        InputError: What follows a policy's name is neither a rule nor the rest of a path.
    """
    policy, slash, dispatch = text.rpartition("/")
    # A number is a rule too: so many reservations.
    if slash and (dispatch in DISPATCHES or dispatch.isdecimal()):
        return policy, dispatch
    if slash and policy.partition("?")[0] in POLICIES and not Path(text).exists():
        resolve_dispatch(dispatch)
    # The slash is one of a file's name.
    return text, None


def resolve_placement(given: str | Placer | Placement) -> Placement:
    """Returns the placement that a text means, checked, or that a placer of the user's own is.

    What is resolved already is returned.

    Raises:
        InputError: The name or a parameter is wrong, or the file does not define just one placement.
    """
    if isinstance(given, Placement):
        return given
    if isinstance(given, Placer):
        return Placement(given.name, lambda: given)
    if not isinstance(given, str):
        expected = "a name, the folder of a run, FILE.py, or an object of a class derived from shunter.Placer"
        raise InputError(f"placement is {given!r}; expected {expected}")
    if given in PLACEMENT_CODES:
        return Placement(given, code=PLACEMENT_CODES[given])
    if python_path(given):
        kind = load_class(given, Placer, "placement", "placements")  # type: ignore[type-abstract]
        return Placement(given, lambda: make(kind, given, "placement"))
    if is_checkpoint(given):
        checkpoint = resolve_host_checkpoint(given)
        return Placement(given, code=LEARNED, checkpoint=checkpoint, network=open_network(checkpoint))
    name = given.partition("?")[0]
    if "/" in name:
        expected = "the folder of a run that chooses hosts (pick-host), or FILE.py"
        raise InputError(f"placement {given!r}: there is no such folder or file; expected a name, {expected}")
    also = ", the folder of a run that chooses hosts, or a file FILE.py with a placement of your own"
    check_name("placement", name, PLACEMENTS, also=also, synonyms=SYNONYMS)
    if name in PYTHON_PLACEMENTS:
        need(MILP, f"placement {name}")
        return Placement(given, _milp(given))
    raise InputError(f"placement {given!r}: {name!r} has no parameters; leave out what follows the name")


def _milp(text: str) -> Callable[[], Placer]:
    """Returns what makes a placement by a solver, whose parameters have been checked."""
    from shunter.policies.placements.milp import MilpPlacer
    from shunter.policies.placements.scene_objective import Weights

    known = {name: PLACEMENTS[name] for name in PYTHON_PLACEMENTS}
    spec = read_spec("placement", text, known, dict.fromkeys(PYTHON_PLACEMENTS, _MILP))

    # A solver keeps a state of its own, so each simulation makes one. One is made at once, and thrown away, to tell
    # mistakes in its parameters before anything is read.
    def placer() -> Placer:
        given = spec.parameters
        if not (given["k"].is_integer() and 0 <= given["k"] <= MOST_WAITING):
            raise InputError(f"k is {given['k']:g}; expected a whole number from 0 to {MOST_WAITING}")
        weights = Weights(given["alpha"], given["beta"], given["gamma"], int(given["k"]))
        return MilpPlacer(full=spec.kind == "milp-full", weights=weights, time_limit_s=given["time_limit_s"])

    try:
        placer()
    except InputError as error:
        raise InputError(f"{spec.where}: {error}") from None
    return placer


def resolve_scheduler(
    *,
    policy: str | Policy | AnyPolicy = "fcfs",
    dispatch: str | int | None = None,
    placement: str | Placer | Placement | None = None,
    estimate: str | Estimate | None = None,
    asked: Collection[str] = (),
    hosts: bool = False,
    trust: bool = False,
    **words: Any,  # noqa: ANN401 - the fields of Settings
) -> Scheduler:
    """Returns one way to schedule, checked.

    Args:
        policy: The order of the queue, as in `resolve`.
        dispatch: What happens when the next job does not fit: a name, or a number of reservations.
        placement: Which nodes a job gets: a name, also with parameters, the folder of a run that chooses hosts, a
            Python file, or a `Placer`.
        estimate: The run time that the policy may see: a name, also with parameters, or a TOML file.
        asked: The settings that the user named, where a default that was asked for by name must be told from one that
            was not: a checkpoint refuses what it does not do.
        hosts: Whether a checkpoint that chooses hosts will do, as in `resolve`.
        trust: Whether a Python file is run that a checkpoint names.
        words: The other fields of `shunter.model.settings.Settings`.

    Raises:
        InputError: A text is wrong, a number is out of range, or two of them contradict each other.
    """
    # A field that Settings does not have would be a TypeError, which is no message for a user.
    for name in words:
        check_name("setting", name, SETTING_NAMES)
    found = resolve(policy, hosts=hosts)
    # A policy's file may bring a rule and a guard: what is asked for goes before both.
    brought = found.spec.settings if isinstance(found, NativePolicy) else {}
    if dispatch is None:
        dispatch = brought.get("dispatch")
    if words.get("max_wait_s") is None and "max_wait_s" in brought:
        words["max_wait_s"] = brought["max_wait_s"]
    given = Settings(**words).checked()
    if isinstance(found, Checkpoint):
        hosts_by = _learned_placement(placement)
        asked_place = None if hosts_by else _text(placement)
        open_words = {"dispatch": _text(dispatch), "placement": asked_place, "estimate": _text(estimate)}
        with trusting(trust):
            learned = _learned(found, given, open_words, asked)
        return learned if hosts_by is None else learned.placed_by(hosts_by)
    known = KnownPolicy("a policy of the user's own", GIVEN)
    if isinstance(found, NativePolicy):
        known = found.known
        _check_goes_with(found.kind, known, _text(dispatch), _text(placement))
    # The policy's own rule and estimate come before the usual defaults, and after what was asked for.
    rule = resolve_dispatch(str(known.dispatch or EASY if dispatch is None else dispatch))
    where = resolve_placement(FIRST_FIT if placement is None else placement)
    seen = resolve_estimate(known.estimate if estimate is None else estimate)
    pairs = _pairs(given.pairs, found, rule, asked_any="pairs" in asked)
    named = replace(given, policy=found.text, dispatch=rule.text, placement=where.text, estimate=seen.text)
    return Scheduler(replace(named, pairs=pairs.text), found, rule, where, seen, pairs)


def _pairs(text: str, policy: AnyPolicy, rule: Dispatch, *, asked_any: bool) -> Pairs:
    """Returns which types jobs take: as is asked for, or else as the policy's file says; checked with the rest."""
    file = policy.file if isinstance(policy, NativePolicy) else None
    brought = pairs_of_file(file) if file is not None and text == ANY and not asked_any else None
    pairs = resolve_pairs(text) if brought is None else brought
    native = policy if isinstance(policy, NativePolicy) else None
    over_pairs = native is not None and native.kind == "pairs"
    if over_pairs and (rule.code != RESERVING or rule.reservations > 1):
        raise InputError(f"policy 'pairs' goes with dispatch 'greedy' or 'easy', but dispatch is {rule.text!r}")
    if pairs.kind != EFT:
        # Other policies have no score over pairs: what one says of types is nothing to them.
        others = Pairs() if pairs.kind == SCORE else pairs
        return replace(pairs, kind=SCORE) if over_pairs else others
    if native is not None and (over_pairs or native.known.preempts):
        what = "chooses types itself" if over_pairs else "stops running jobs"
        raise InputError(f"policy {native.kind!r} {what}, but --pairs (pairs) is 'eft'; leave one of them out")
    if rule.text not in ("strict", "greedy", "easy", "0", "1"):
        known = "dispatch 'strict', 'greedy' or 'easy'"
        raise InputError(f"--pairs (pairs) is 'eft', which goes with {known}, but dispatch is {rule.text!r}")
    return pairs


def _learned_placement(given: str | Placer | Placement | None) -> Placement | None:
    """Returns the learned policy that places jobs, if that is what is asked for.

    One policy was trained to choose jobs and one to choose hosts: they go together, whatever the first one was trained
    with.
    """
    # A folder may be called like a placement, which comes first.
    if isinstance(given, str) and given not in PLACEMENTS and is_checkpoint(given):
        return resolve_placement(given)
    return given if isinstance(given, Placement) and given.checkpoint is not None else None


def _text(given: str | int | Placer | Placement | Estimate | None) -> str | None:
    """Returns what the user wrote, or the name of what was handed over; None if nothing was asked for."""
    if isinstance(given, Placement | Estimate):
        return given.text
    if isinstance(given, Placer):
        return given.name
    return None if given is None else str(given)


def _check_goes_with(policy: str, known: KnownPolicy, dispatch: str | None, placement: str | None) -> None:
    """Raises an error where a policy goes with one dispatch rule or placement alone, and another is asked for."""
    if known.dispatch is not None and dispatch not in (None, known.dispatch):
        what = f"policy {policy!r} {known.why}, but dispatch is {dispatch!r}"
        raise InputError(f"{what}; use {known.dispatch!r} with it")
    if known.placement is not None and placement not in (None, known.placement):
        what = f"policy {policy!r} places {known.placement}, but placement is {placement!r}"
        raise InputError(f"{what}; use policy 'fcfs' with it")


def _learned(
    checkpoint: Checkpoint, given: Settings, open_words: Mapping[str, object], asked: Collection[str]
) -> Scheduler:
    """Returns the way to schedule that a checkpoint brings.

    What it brings must not contradict what was asked for. Whether jobs are killed, which nodes fail, what stops
    cost and the seed are not a policy's business, and a starvation guard may be added.
    """
    if given.pairs != ANY:
        what = f"policy {checkpoint.text!r} is learned, and takes any type of GPU"
        raise InputError(f"{what}, but --pairs (pairs) is {given.pairs!r}; leave it out")
    try:
        with words_of_a_file():
            scheduler = resolve_scheduler(**checkpoint.settings.words() | {"policy": checkpoint.order})
    except InputError as error:
        raise InputError(f"{checkpoint.file}: options: {error}") from None
    own, plain = scheduler.settings, Settings()
    # One that leaves open what sizes are counted in takes what is asked for.
    brought = [name for name in BROUGHT if name != "size_by" or own.size_by != AUTO]
    for name in brought:
        value = open_words.get(name, getattr(given, name))
        # The usual default counts as not asked for, unless it was asked for by name.
        unsaid = (None,) if name == "dispatch" else (None, getattr(plain, name))
        if value is not None and (name in asked or value not in unsaid):
            _check_same(checkpoint.text, name, value, getattr(own, name))
    if given.failures is not None:
        what = f"policy {checkpoint.text!r} is learned, and decides where failures are drawn, not where they are given"
        raise InputError(f"{what}; give --mtbf and --mttr in the place of --failures (failures)")
    settings = replace(
        own,
        policy=checkpoint.text,
        kill_at_request=given.kill_at_request,
        seed=given.seed,
        mtbf_s=given.mtbf_s,
        mttr_s=given.mttr_s,
        failed_progress=given.failed_progress,
        preemption_overhead_s=given.preemption_overhead_s,
        preemption_overhead_per_gb_s=given.preemption_overhead_per_gb_s,
        preempted_progress=given.preempted_progress,
        min_run_s=given.min_run_s,
        size_by=given.size_by if own.size_by == AUTO else own.size_by,
        max_wait_s=own.max_wait_s if given.max_wait_s is None else given.max_wait_s,
    )
    return replace(scheduler, settings=settings, policy=checkpoint)


def _check_same(text: str, name: str, given: object, own: object) -> None:
    if not _same(given, own):
        option = name.replace("_", "-")
        what = f"policy {text!r} was trained with {option} {own}, but {option} is {given}"
        raise InputError(f"{what}; leave --{option} ({name}) out")


def _same(given: object, own: object) -> bool:
    """Returns whether two words mean the same: ``3600`` and ``3600.0`` do."""
    try:
        return float(str(given)) == float(str(own))
    except ValueError:
        return given == own
