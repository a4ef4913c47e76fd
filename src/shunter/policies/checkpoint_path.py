"""A learned policy in the place of a policy's name: ``runs/first``, or ``runs/first/best``.

Nothing here loads a network: what a checkpoint is, and what it asks of a simulation, is told by its ``policy.json``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shunter.errors import InputError
from shunter.policies.names import POLICIES

if TYPE_CHECKING:
    from shunter.envs.options import PickJobOptions
    from shunter.model.schedule import Settings

POLICY_FILE: Final = "policy.json"
"""Says what a checkpoint is, and has the hash of its weights."""
BEST, LAST = "best", "last"
"""The checkpoints of a run, by their folders."""
ASIDE: Final = ".old"
"""The end of a folder's name under which an interrupted write may have left a checkpoint."""

BROUGHT: Final = {
    "dispatch": None,
    "placement": "first-fit",
    "estimate": "requested",
    "missing_request": "run-time",
    "reserve_by": "requested",
    "scan_depth": 1000,
}
"""The settings that a checkpoint brings, with the values that nobody has to have asked for."""


def is_checkpoint(spec: str) -> bool:
    """Returns whether a policy's name is that of a folder, or of a checkpoint's file; a policy of ours comes first."""
    if spec in POLICIES or not spec:
        return False
    return Path(spec).name == POLICY_FILE or os.path.isdir(spec)


def checkpoint_file(spec: str) -> Path | None:
    """Returns the ``policy.json`` that a name means: in its folder, or of a run's best checkpoint, else of its last.

    None: the name means none, or there is none.
    """
    if not is_checkpoint(spec):
        return None
    path = Path(spec)
    folder = path.parent if path.name == POLICY_FILE else path
    for place in (folder, folder / BEST, folder / LAST):
        for found in (place / POLICY_FILE, Path(f"{place}{ASIDE}") / POLICY_FILE):
            if found.is_file():
                return found
    return None


def checkpoint_folder(spec: str) -> Path:
    """Returns the folder of the checkpoint that a policy's name means.

    Raises:
        InputError: There is none.
    """
    file = checkpoint_file(spec)
    if file is None:
        what = f"no {POLICY_FILE} in it, nor in its {BEST}/ or {LAST}/"
        raise InputError(f"{spec}: no checkpoint here ({what}); give the folder of a run that 'shunter train' wrote")
    return file.parent


def checkpoint_label(spec: str) -> str:
    """Returns what tables call a checkpoint: its run's name, with ``:last`` behind it if it is not the best."""
    folder = checkpoint_folder(spec).resolve()
    name, run = folder.name.removesuffix(ASIDE), folder.parent
    if name == BEST:
        return run.name
    return f"{run.name}:{name}" if any((run / other).is_dir() for other in (BEST, LAST)) else name


def read_record(spec: str) -> dict[str, Any]:
    """Returns what ``policy.json`` says, with the files that it names beside itself where they are.

    Raises:
        InputError: There is no checkpoint, or it cannot be read.
    """
    path = checkpoint_folder(spec) / POLICY_FILE
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); give a whole checkpoint") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is not JSON ({error}); take another copy") from None
    if not isinstance(content, dict) or not isinstance(content.get("options"), dict):
        raise InputError(f"{path}: has no 'options'; give a checkpoint that 'shunter train' has written")
    return content | {"options": located(content["options"], path.parent)}


def located(options: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Returns the options of a checkpoint; an order or an estimate from a file in its folder has its path."""
    found = dict(options)
    for name in ("order", "estimate"):
        value = found.get(name)
        if isinstance(value, str) and value.endswith(".toml") and (folder / value).is_file():
            found[name] = str(folder / value)
    return found


def checkpoint_options(spec: str) -> PickJobOptions:
    """Returns in which environment a checkpoint decides.

    Raises:
        InputError: There is no checkpoint, it cannot be read, or it does not choose jobs.
    """
    from shunter.envs.options import PickJobOptions, environment_from

    where = checkpoint_folder(spec) / POLICY_FILE
    options = environment_from(read_record(spec)["options"], f"{where}: options")
    if not isinstance(options, PickJobOptions):
        what = "chooses a host for each job (pick-host)"
        raise InputError(f"{where}: this policy {what}; give one that chooses jobs (pick-job)")
    return options


def checkpoint_order(spec: str) -> str:
    """Returns the policy that sorts what a checkpoint chooses from; a name that means no checkpoint is its own."""
    # A policy of the user's own may be called like some folder.
    return spec if checkpoint_file(spec) is None else checkpoint_options(spec).order


def checkpoint_settings(spec: str, given: Mapping[str, Any]) -> Settings:
    """Returns the settings under which a checkpoint decides.

    Args:
        spec: What the user called it.
        given: What else the user asked for, as in `check_settings`. What a checkpoint brings itself
            must not contradict it. Whether jobs are killed and the seed are not a policy's business, and a starvation
            guard may be added.

    Raises:
        InputError: The checkpoint cannot be used, or does not do what was asked for.
    """
    from shunter.policies.settings import check_settings

    own = asdict(checkpoint_options(spec).settings())
    for name, default in BROUGHT.items():
        if given[name] not in (None, default):
            _check_same(spec, name, given[name], own[name])
    for name in ("failures", "mtbf_s"):
        if given[name] is not None:
            option = name.removesuffix("_s")
            raise InputError(f"policy {spec!r} was trained on nodes that do not fail; leave --{option} ({name}) out")
    own |= {name: given[name] for name in ("kill_at_request", "seed")}
    if given["max_wait_s"] is not None:
        own["max_wait_s"] = given["max_wait_s"]
    return replace(check_settings(**own), policy=spec)


def check_given(spec: str, given: Mapping[str, Any]) -> None:
    """Raises an error for what a user asked for by name and a checkpoint brings otherwise, a default or not.

    Args:
        spec: What the user called it.
        given: The settings among `BROUGHT` that were asked for.
    """
    own = asdict(checkpoint_options(spec).settings())
    for name, value in given.items():
        _check_same(spec, name, value, own[name])


def _check_same(spec: str, name: str, given: object, own: object) -> None:
    if not _same(given, own):
        option = name.replace("_", "-")
        raise InputError(
            f"policy {spec!r} was trained with {option} {own}, but {option} is {given}; leave --{option} ({name}) out"
        )


def _same(given: object, own: object) -> bool:
    """Returns whether two words mean the same: ``3600`` and ``3600.0`` do."""
    try:
        return float(str(given)) == float(str(own))
    except ValueError:
        return given == own
