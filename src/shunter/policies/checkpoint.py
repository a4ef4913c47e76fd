"""A learned policy in the place of a policy's name: ``runs/first``, or ``runs/first/best``.

Nothing here loads a network: what a checkpoint is, and what it brings to a simulation, is told by its ``policy.json``.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shunter.checks import check_name, typed
from shunter.errors import InputError
from shunter.model.cluster import GENERATE
from shunter.model.settings import CORES_ALONE, Settings
from shunter.native import Handle, lib, opened
from shunter.policies.catalog import CHOOSING_JOBS, PICK_HOST, PICK_JOB, PICK_JOB_AND_TYPE, PICK_JOB_MODES, POLICIES
from shunter.policies.native import of_before, resolve_native
from shunter.policies.own import python_path

if TYPE_CHECKING:
    from shunter.policies.native import NativePolicy

POLICY_FILE: Final = "policy.json"
"""Says what a checkpoint is, and has the hash of its weights."""
WEIGHTS_FILE: Final = "policy.safetensors"
"""Has the weights of the network."""
BEST, LAST, INITIAL = "best", "last", "initial"
"""The checkpoints of a run, by their folders: the best, the latest, and the policy that it began with."""
OWN_HASH: Final = "json_sha256"
"""The key of ``policy.json`` with its own hash: that of its bytes with zeros in the place of the hash."""
FILE_HASHES: Final = "files"
"""The key of ``policy.json`` with the hashes of the files beside it that it names."""
ASIDE: Final = ".old"
"""The end of a folder's name under which an interrupted write may have left a checkpoint."""

BROUGHT: Final = ("dispatch", "placement", "estimate", "missing_request", "reserve_by", "size_by", "scan_depth")
"""The settings that a checkpoint brings; asking for another value is an error."""


@dataclass(frozen=True)
class Checkpoint:
    """What the header of a checkpoint says."""

    text: str
    """What the user wrote."""
    folder: Path
    """The checkpoint's own folder, whatever was named."""
    record: Mapping[str, Any]
    """What ``policy.json`` holds; the files that its options name have their paths."""
    order: NativePolicy
    """The policy that sorts what it chooses from."""
    settings: Settings
    """The settings under which it was trained; the policy is the order."""

    @property
    def file(self) -> Path:
        """The file that says what it is."""
        return self.folder / POLICY_FILE

    @property
    def label(self) -> str:
        """What tables call it: its run's name, with ``:last`` behind it if it is not the best."""
        folder = self.folder.resolve()
        name, run = folder.name.removesuffix(ASIDE), folder.parent
        if name == BEST:
            return run.name
        return f"{run.name}:{name}" if any((run / other).is_dir() for other in (BEST, LAST)) else name


def is_checkpoint(text: str) -> bool:
    """Returns whether a text names a folder or a checkpoint's file, and is not a policy's name."""
    if text in POLICIES or not text:
        return False
    return Path(text).name == POLICY_FILE or os.path.isdir(text)


def checkpoint_file(text: str) -> Path | None:
    """Returns the ``policy.json`` that a text means: in its folder, or of a run's best checkpoint, else of its last.

    None: the text means none, or there is none.
    """
    if not is_checkpoint(text):
        return None
    path = Path(text)
    folder = path.parent if path.name == POLICY_FILE else path
    # A folder that is written anew is first moved aside; if that was interrupted, the one aside is whole.
    for place in (folder, folder / BEST, folder / LAST):
        for found in (place / POLICY_FILE, Path(f"{place}{ASIDE}") / POLICY_FILE):
            if found.is_file():
                return found
    return None


def checkpoint_folder(text: str) -> Path:
    """Returns the folder of the checkpoint that a text means.

    Raises:
        InputError: There is none.
    """
    file = checkpoint_file(text)
    if file is None:
        what = f"no {POLICY_FILE} in it, nor in its {BEST}/ or {LAST}/"
        raise InputError(f"{text}: no checkpoint here ({what}); give the folder of a run that 'shunter train' wrote")
    return file.parent


def read_record(text: str) -> dict[str, Any]:
    """Returns what ``policy.json`` says, with the files that it names beside itself where they are.

    Raises:
        InputError: There is no checkpoint, or it cannot be read.
    """
    path = checkpoint_folder(text) / POLICY_FILE
    content = read_untouched(path)
    check_files(path.parent, content, path.name)
    if not isinstance(content.get("options"), dict):
        raise InputError(f"{path}: has no 'options'; give a checkpoint that 'shunter train' has written")
    # A checkpoint that does not say what sizes are counted in is of a version that counted cores.
    options = {"size_by": CORES_ALONE} if content["options"].get("kind", PICK_JOB) == PICK_JOB else {}
    options |= located(content["options"], path.parent)
    if "size_by" not in content["options"] and isinstance(options.get("order"), str):
        options["order"] = of_before(options["order"])
    return content | {"options": options}


def trained_on(text: str) -> list[str]:
    """Returns what names the log of a checkpoint on a command line; one that is not there now has a stand-in.

    Raises:
        InputError: There is no checkpoint, or it cannot be read.
    """
    training = read_record(text).get("training")
    logs = training.get("logs") if isinstance(training, dict) else None
    first = logs[0] if isinstance(logs, list) and logs else None
    words = first.get("words") if isinstance(first, dict) else None
    if not (isinstance(words, list) and words and all(isinstance(word, str) for word in words)):
        return ["log.swf.gz"]
    return words if words[0].startswith(GENERATE) or os.path.exists(words[0]) else ["log.swf.gz"]


def read_untouched(path: Path) -> dict[str, Any]:
    """Returns what a JSON file of a checkpoint says, having seen that it is as it was written.

    Raises:
        InputError: It cannot be read, or was changed. Files of earlier versions do not tell.
    """
    try:
        data = path.read_bytes()
        content = json.loads(data)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); give a whole checkpoint") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is not JSON ({error}); take another copy") from None
    if not isinstance(content, dict):
        raise InputError(f"{path}: is no JSON object; give a checkpoint that 'shunter train' has written")
    told = content.pop(OWN_HASH, None)
    # Options decide as much as weights do: a digit that changed would change what the policy does without a word.
    if isinstance(told, str) and told != own_hash(data, told):
        raise InputError(f"{path}: was changed after it was written; take another copy")
    return content


def own_hash(data: bytes, told: str) -> str:
    """Returns the hash of a text that tells its own; zeros stand in for the place where it first does."""
    return hashlib.sha256(data.replace(told.encode(), b"0" * len(told), 1)).hexdigest()


def check_files(folder: Path, content: Mapping[str, Any], about: str) -> None:
    """Raises an error if a file in a folder is not the one that a checkpoint was written with.

    Args:
        folder: Where copies of the files are.
        content: What the checkpoint says.
        about: What errors call the file that says so.
    """
    hashes = content.get(FILE_HASHES)
    for name, told in hashes.items() if isinstance(hashes, dict) else ():
        # Whatever else a damaged or hostile file names is not looked at.
        if "/" in name or "\\" in name:
            raise InputError(f"{folder / about}: names the file {name!r}, which is not beside it; take another copy")
        path = folder / name
        try:
            # To read a pipe may never end.
            found = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror}); give a whole checkpoint") from None
        if found is None:
            raise InputError(f"{path}: there is no such file, but {about} names it; give a whole checkpoint")
        if found != told:
            raise InputError(f"{path}: is not the file that {about} was written with; take both from one checkpoint")


def located(options: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Returns the options of a checkpoint; an order or an estimate from a file in its folder has its path."""
    found = dict(options)
    for name in ("order", "estimate"):
        value = found.get(name)
        # A run folder may be moved to another machine: the files beside the header move with it, absolute paths do not.
        # A name without a folder is always that of a copy: another file of this name, wherever the user is, is not it.
        if isinstance(value, str) and value.endswith(".toml"):
            beside = folder / value
            found[name] = str(beside) if beside.is_file() or Path(value).name == value else value
    return found


def resolve_checkpoint(text: str, *, hosts: bool = False) -> Checkpoint:
    """Returns what a checkpoint is and brings.

    Args:
        text: Its folder, or that of its run.
        hosts: Whether one that chooses hosts will do, too: a decision can be asked of it.

    Raises:
        InputError: There is no checkpoint, it cannot be read, or it does not choose jobs.
    """
    folder, record = checkpoint_folder(text), read_record(text)
    options, where = record["options"], folder / POLICY_FILE
    kind = options.get("kind", PICK_JOB)
    if kind == PICK_HOST and not hosts:
        raise InputError(
            f"{where}: this policy chooses hosts (pick-host), not jobs; give it as --placement (placement); to judge "
            f"it: shunter compare LOG --placement best-fit,{text}"
        )
    if kind not in (*CHOOSING_JOBS, PICK_HOST):
        raise InputError(f"{where}: this policy is of the kind {kind!r}; give one that chooses jobs (pick-job)")
    try:
        # Who chooses hosts takes the jobs as they come, and lets nobody pass.
        settings = Settings(policy="fcfs", dispatch="strict") if kind == PICK_HOST else _settings(options)
        return Checkpoint(text, folder, record, _order(settings.policy), settings.checked())
    except InputError as error:
        raise InputError(f"{where}: options: {error}") from None


def resolve_host_checkpoint(text: str) -> Checkpoint:
    """Returns what a checkpoint is that chooses hosts, and so can place jobs.

    Args:
        text: Its folder, or that of its run.

    Raises:
        InputError: There is no checkpoint, it cannot be read, or it does not choose hosts.
    """
    found = resolve_checkpoint(text, hosts=True)
    if found.record["options"].get("kind", PICK_JOB) != PICK_HOST:
        raise InputError(f"{found.file}: this policy chooses jobs, not hosts; give it as --policy")
    return found


def open_network(checkpoint: Checkpoint) -> Handle:
    """Returns the network of a checkpoint, which the core has read.

    Raises:
        InputError: It is damaged, or its network is not one of the core's.
    """
    path = str(checkpoint.folder).encode()
    return opened(lib.shunter_policy_load, path, len(path))


def _order(text: str) -> NativePolicy:
    """Returns the policy that sorts what a checkpoint chooses from."""
    if is_checkpoint(text) or python_path(text):
        raise InputError(f"order is {text!r}; expected a policy of Shunter's own, or a TOML file")
    return resolve_native(text)


def _settings(options: Mapping[str, Any]) -> Settings:
    """Returns the settings that the options of an environment stand for."""
    if options.get("kind", PICK_JOB) == PICK_JOB_AND_TYPE:
        dispatch = "greedy"
    else:
        mode = check_name("mode", typed(options.get("mode", "reserve"), str, "mode"), PICK_JOB_MODES)
        dispatch = PICK_JOB_MODES[mode]
    order = typed(options.get("order", "fcfs"), str, "order")
    hints = {
        "placement": str | None,
        "estimate": str,
        "missing_request": str | float,
        "reserve_by": str,
        "size_by": str,
        "kill_at_request": bool,
        "max_wait_s": float | None,
        "scan_depth": int,
        "seed": int,
    }
    given = {name: typed(options[name], hint, name) for name, hint in hints.items() if name in options}
    # None stands for what Settings has as default; only a placement and a guard may be None.
    named = {name: value for name, value in given.items() if value is not None}
    return Settings(**named | {"policy": order, "dispatch": dispatch})
