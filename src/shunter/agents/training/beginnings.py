"""Where a training begins: from nothing, as a tuned policy, or from a checkpoint."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from shunter.agents.algorithms import ALGORITHMS
from shunter.agents.learned_policy import load_policy
from shunter.agents.networks.weights import give_weights
from shunter.agents.training.checkpoint_files import (
    ALGORITHM,
    POLICY,
    check_layout,
    read_part,
)
from shunter.agents.training.config import FILE_KEYS, config_from
from shunter.checks import to_table
from shunter.envs.kinds import environment_table
from shunter.errors import InputError
from shunter.files import names_of_copies, read_toml, write_file
from shunter.policies.catalog import PICK_HOST, PICK_JOB
from shunter.policies.checkpoint import checkpoint_folder
from shunter.policies.native import resolve_native, spec_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shunter.agents.networks.base import Network
    from shunter.agents.training.checkpoint_files import Tensors
    from shunter.agents.training.config import TrainConfig, TrainingOptions
    from shunter.envs.layout import Layout
    from shunter.envs.network import NativeNetwork

COPIES: Final = "files"
"""Where in the folder of a run the copies are of files that it names. A folder of their own: they keep their names."""
ORDER_TEMPERATURE: Final = 16.0
"""How sharply a network that begins as an order prefers what comes first, unless the user says otherwise."""


def beginning_changes(init: str, kind: str = PICK_JOB) -> dict[str, dict[str, Any]]:
    """Returns what a beginning asks of the configuration, by section and key.

    A tuned policy brings its order and its estimate, a checkpoint its environment and its network.

    Args:
        init: The file of a tuned policy, or the folder of a checkpoint or of a run.
        kind: What is decided, where the beginning does not say.

    Raises:
        InputError: There is none, or it cannot be read.
    """
    path = spec_file(init)
    if path is not None:
        if kind == PICK_HOST:
            raise InputError(f"--init {init}: pick-host has no order to begin as; give a checkpoint, or leave it out")
        sections = read_toml(path)
        if "policy" not in sections:
            raise InputError(f"--init {init}: has no section [policy]; give a file that 'shunter tune' has written")
        brought = {"order": init} | ({"estimate": init} if "estimate" in sections else {})
        # The guard that a tuned file carries holds for what is learned from it, too.
        guard_s = resolve_native(init).spec.settings.get("max_wait_s")
        return {"environment": brought | ({} if guard_s is None else {"max_wait_s": guard_s})}
    if not os.path.isdir(init):
        what = "is a file, but no .toml" if os.path.exists(init) else "there is no such folder"
        raise InputError(f"--init {init}: {what}; give FILE.toml, or the folder of a checkpoint")
    record = load_policy(init).record
    return {"environment": environment_table(record.options), "network": to_table(record.network)}


@dataclass(frozen=True)
class Copies:
    """The TOML files that a training names, for the folder of its run."""

    names: dict[Path, str]
    """What each is called there."""
    contents: dict[str, bytes]
    """By what they are called there."""

    @staticmethod
    def of(config: TrainConfig) -> Copies:
        """Reads them.

        Raises:
            InputError: One cannot be read.
        """
        sections = config.sections()
        paths = (spec_file(str(sections[section].get(key))) for section, key in FILE_KEYS)
        # One file may be order and estimate and beginning at once; it is copied once.
        names = names_of_copies(path for path in paths if path is not None)
        return Copies(names, {copy: _content(path) for path, copy in names.items()})

    def settle(self, config: TrainConfig, folder: Path) -> TrainConfig:
        """Writes them, and returns the configuration that names them there: the folder can be moved.

        A run that begins as a tuned policy prefers what comes first in its order, unless the user says otherwise.

        Raises:
            InputError: The folder cannot be written.
        """
        copies = folder / COPIES
        (copies if self.contents else folder).mkdir(parents=True, exist_ok=True)
        for copy, content in self.contents.items():
            write_file(copies / copy, partial(_write, content))
        sections = config.sections()
        for section, key in FILE_KEYS:
            copy_or_none = self.names.get(Path(str(sections[section].get(key))))
            if copy_or_none is not None:
                sections[section][key] = str(copies / copy_or_none)
        # Without it the network would begin with random weights, and the tuned order would only sort the window.
        if spec_file(str(config.training.init)) in self.names and config.network.order_temperature is None:
            sections["network"]["order_temperature"] = ORDER_TEMPERATURE
        return config_from(sections, str(folder))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); check the path") from None


def _write(content: bytes, file: IO[bytes]) -> None:
    file.write(content)


def beginning_notes(config: TrainConfig, brought: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Returns a line for each thing that a beginning brings and that a file or an option has otherwise."""
    sections, init = config.sections(), str(config.training.init)
    own = config.environment.scheduler.settings.dispatch
    # A classic that tuning kept may go with another rule than a network decides by.
    rule = resolve_native(init).spec.settings.get("dispatch", own) if spec_file(init) is not None else own
    notes = [] if rule == own else [f"--init {init} goes with {rule}; what is learned decides as {own} does"]
    return notes + [
        f"--init {config.training.init} brings [{section}] {key} {value!r}; asked for was {sections[section][key]!r}, "
        "which stands"
        for section, table in brought.items()
        for key, value in table.items()
        if key in sections[section] and sections[section][key] != value
    ]


def load_beginning(network: Network | NativeNetwork, layout: Layout, training: TrainingOptions) -> Tensors:
    """Gives a network the weights of a checkpoint, if that is where training begins; returns all that it holds.

    Raises:
        InputError: The checkpoint cannot be read, or is of another network or of an algorithm that learns other things.
    """
    init = training.init
    if init is None or spec_file(init) is not None:
        return {}
    policy = load_policy(init)
    _check_learner(init, policy.record.training.get(ALGORITHM), training.algorithm)
    # One encoder for every host: its weights do not know how many there are.
    any_number = policy.record.network.kind == "hosts"
    found = replace(policy.layout, num_hosts=layout.num_hosts) if any_number else policy.layout
    check_layout(found, layout, init)
    give_weights(network, policy.weights, init)
    return read_part(checkpoint_folder(init), POLICY).tensors


def _check_learner(init: str, earlier: str | None, algorithm: str) -> None:
    """Raises an error if the scores of a checkpoint do not mean what those of the algorithm mean."""
    # Earlier versions did not write it down, and others may have algorithms of their own.
    if earlier not in ALGORITHMS or ALGORITHMS[earlier].learns_values == ALGORITHMS[algorithm].learns_values:
        return
    alike = [name for name, kind in ALGORITHMS.items() if kind.learns_values == ALGORITHMS[earlier].learns_values]
    meaning = ("which actions are preferred", "what actions are worth")
    before, after = meaning[ALGORITHMS[earlier].learns_values], meaning[ALGORITHMS[algorithm].learns_values]
    raise InputError(
        f"--init {init}: was learned by {earlier}, whose network tells {before}; that of {algorithm} tells {after}; "
        f"take --algorithm {' or '.join(alike)}, or a checkpoint of {algorithm}"
    )
