"""Checkpoints: folders of weights (safetensors) and facts (JSON), always whole, and never code."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import safetensors
import safetensors.numpy

from shunter.agents.networks import NetworkOptions
from shunter.checks import from_table, to_table
from shunter.envs.kinds import environment_from, environment_table
from shunter.envs.layout import Layout, check_features, feature_names
from shunter.envs.network import LAYERS
from shunter.envs.sources import EnvironmentOptions
from shunter.errors import InputError
from shunter.files import names_of_copies
from shunter.policies.checkpoint import ASIDE, FILE_HASHES, OWN_HASH, POLICY_FILE, read_untouched
from shunter.policies.native import spec_file
from shunter.policies.trust import words_of_a_file

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORMAT: Final = 1
POLICY: Final = "policy"
"""``policy.safetensors`` and ``policy.json``: what is needed to decide."""
TRAINING: Final = "training"
"""``training.safetensors`` and ``training.json``: what is needed to go on training."""
NETWORK: Final = "network."
"""What the names of the network's weights begin with."""
NORMALIZER: Final = "value_normalizer."
"""What the names of the count, mean and variance of returns begin with: the units of the values."""
ALGORITHM: Final = "algorithm"
"""The fact of a policy that names what it was learned by."""
MAY_BE_FILES: Final = ("order", "estimate")
"""The options of an environment that may be TOML files."""

Tensors = dict[str, "NDArray[Any]"]
"""Arrays by name, as a file has them. PyTorch's are copied from and to them by `shunter.agents.common.tensors`."""


@dataclass(frozen=True)
class PolicyRecord:
    """What a policy is, without its weights."""

    layout: Layout
    options: EnvironmentOptions
    network: NetworkOptions
    training: Mapping[str, Any] = field(default_factory=dict)
    """Facts for people: where the policy comes from."""
    layers: Mapping[str, Any] | None = None
    """Of a network of the user's own: its layers, if the core can read it; see `shunter.agents.networks.layers`."""

    @property
    def files(self) -> dict[str, str]:
        """The files that the options name, and what their copies in a checkpoint are called."""
        table = environment_table(self.options)
        texts = [table[key] for key in MAY_BE_FILES if key in table and spec_file(table[key]) is not None]
        names = names_of_copies(Path(text) for text in texts)
        return {text: names[Path(text)] for text in texts}

    def to_json(self) -> dict[str, Any]:
        """Returns the content of ``policy.json``, which names files by their copies beside it."""
        options = environment_table(self.options)
        copies = {key: self.files.get(options[key], options[key]) for key in MAY_BE_FILES if key in options}
        return {
            "kind": self.layout.kind,
            "layout": to_table(self.layout),
            "features": feature_names(self.layout),
            "options": options | copies,
            # Should the usual sizes ever change, this network keeps its own.
            "network": to_table(replace(self.network, hidden=self.network.layers_hidden)),
            **({LAYERS: dict(self.layers)} if self.layers else {}),
            "training": dict(self.training),
        }

    @staticmethod
    def from_json(content: Mapping[str, Any], where: str) -> PolicyRecord:
        """Returns the record that ``policy.json`` describes; the files that it names have been located.

        Raises:
            InputError: It is not one that this version understands.
        """
        for key in ("layout", "options", "network"):
            if key not in content:
                raise InputError(f"{where}: has no {key!r}; give a checkpoint that 'shunter train' has written")
        layout = from_table(Layout, content["layout"], f"{where}: layout")
        if "features" in content:
            check_features(content["features"], layout, where)
        with words_of_a_file():
            options = environment_from(content["options"], f"{where}: options")
        return PolicyRecord(
            layout,
            options,
            from_table(NetworkOptions, content["network"], f"{where}: network"),
            content.get("training", {}),
            content.get(LAYERS),
        )


@dataclass(frozen=True)
class Part:
    """A pair of files: tensors, and what is said of them."""

    tensors: Tensors
    facts: Mapping[str, Any]


def write_checkpoint(folder: Path, parts: Mapping[str, Part], files: Mapping[str, str] | None = None) -> None:
    """Writes a checkpoint in place of the one that is there.

    All is written to a new folder, which is then renamed: whenever the power fails, there is a whole checkpoint, the
    old one or the new one.

    Args:
        folder: Such as ``runs/first/last``.
        parts: By name: `POLICY`, and `TRAINING` where training is to go on from here.
        files: Files that are copied into it, and what they are called there.

    Raises:
        InputError: The folder cannot be written.
    """
    fresh, old = folder.with_name(f"{folder.name}.new"), _old(folder)
    try:
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        copies = {copy: Path(source).read_bytes() for source, copy in (files or {}).items()}
        hashes = {copy: hashlib.sha256(data).hexdigest() for copy, data in copies.items()}
        for name, part in parts.items():
            _write_part(fresh, name, part, {FILE_HASHES: hashes} if name == POLICY else {})
        for copy, data in copies.items():
            _write(fresh / copy, data)
        # What is renamed must be on disk: a rename may be written before the contents.
        _sync(fresh)
        if folder.exists():
            shutil.rmtree(old, ignore_errors=True)
            # A folder that is not empty cannot be replaced in one step. Between the two renames the old one is beside
            # its place, where find_checkpoint looks too.
            folder.rename(old)
        fresh.rename(folder)
        _sync(folder.parent)
        shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"cannot write {folder}: {error.filename}: {reason}; make room, or mend the path") from error


def _write_part(folder: Path, name: str, part: Part, hashes: Mapping[str, Any]) -> None:
    # A number by itself has no dimension, which numpy.ascontiguousarray would give it.
    weights = safetensors.numpy.save({key: np.asarray(value, order="C") for key, value in part.tensors.items()})
    blank = "0" * 64
    told = {"format": FORMAT, OWN_HASH: blank, "sha256": hashlib.sha256(weights).hexdigest(), **hashes}
    text = (json.dumps(told | dict(part.facts), indent=2, ensure_ascii=False) + "\n").encode()
    _write(folder / f"{name}.safetensors", weights)
    _write(folder / f"{name}.json", text.replace(blank.encode(), hashlib.sha256(text).hexdigest().encode(), 1))


def _write(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync(folder: Path) -> None:
    """Has the names in a folder written, which on some systems cannot be asked for."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _old(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}{ASIDE}")


def find_checkpoint(folder: Path) -> Path | None:
    """Returns where the checkpoint of this name is: an interrupted write may have left it aside; None: nowhere."""
    for place in (folder, _old(folder)):
        if (place / POLICY_FILE).is_file():
            return place
    return None


def read_part(folder: Path, name: str) -> Part:
    """Returns one pair of files of a checkpoint.

    Raises:
        InputError: A file is missing, cut short, changed, or of another kind.
    """
    about, weights = folder / f"{name}.json", folder / f"{name}.safetensors"
    facts = _read_facts(about)
    try:
        data = weights.read_bytes()
        tensors = safetensors.numpy.load(data)
    except OSError as error:
        raise InputError(f"{weights}: cannot be read ({error.strerror}); give a whole checkpoint") from None
    except (safetensors.SafetensorError, ValueError, KeyError) as error:
        raise InputError(
            f"{weights}: is not a safetensors file, or is cut short ({error}); take another copy"
        ) from None
    # A checkpoint put together from two runs would load without a word, and decide nonsense.
    if facts.pop("sha256", None) != hashlib.sha256(data).hexdigest():
        raise InputError(
            f"{weights}: is not the file that {about.name} was written with, or is cut short; take both from one "
            "checkpoint"
        )
    return Part(tensors, facts)


def _read_facts(path: Path) -> dict[str, Any]:
    content = read_untouched(path)
    found = content.get("format")
    if found != FORMAT:
        raise InputError(f"{path}: has format {found!r}; this version of Shunter reads format {FORMAT}")
    return content


def network_weights(tensors: Tensors) -> Tensors:
    """Returns the weights of a network that a checkpoint has among its tensors, by the network's names for them."""
    return {name.removeprefix(NETWORK): value for name, value in tensors.items() if name.startswith(NETWORK)}


def named_weights(weights: Tensors) -> Tensors:
    """Returns weights under the names that a checkpoint has them."""
    return {f"{NETWORK}{name}": value for name, value in weights.items()}


def check_weights(weights: Tensors, shapes: Mapping[str, tuple[int, ...]], where: str) -> None:
    """Raises an error if weights are those of another network.

    Args:
        weights: By the network's names for them.
        shapes: Those that the network has.
        where: The checkpoint, for the error message.
    """
    for name in sorted(weights.keys() | shapes.keys()):
        given = weights[name].shape if name in weights else None
        if given != shapes.get(name):
            what = f"{name} has the shape {given}, expected {shapes.get(name)}"
            raise InputError(f"{where}: are the weights of another network: {what}; build the network as it was")


def check_layout(found: Layout, wanted: Layout, where: str) -> None:
    """Raises an error if a policy was made for other observations."""
    if found != wanted:
        theirs, ours = to_table(found), to_table(wanted)
        which = [f"{key} {theirs[key]!r} instead of {ours[key]!r}" for key in theirs if theirs[key] != ours[key]]
        raise InputError(f"{where}: was made for other observations: {', '.join(which)}; use the same [environment]")
