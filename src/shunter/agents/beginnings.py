"""Where a training begins: from nothing, as a tuned policy, or from a checkpoint."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shunter.agents.checkpoint import POLICY, check_layout, load_network, network_tensors, read_part
from shunter.agents.config import environment_table
from shunter.agents.learned_policy import load_policy
from shunter.agents.tables import to_table
from shunter.envs.options import PickHostOptions
from shunter.errors import InputError
from shunter.results import write_file
from shunter.simulate.checkpoint_path import checkpoint_folder
from shunter.simulate.specs import read_toml, spec_file

if TYPE_CHECKING:
    from shunter.agents.checkpoint import PolicyRecord, Tensors
    from shunter.agents.config import TrainConfig
    from shunter.agents.networks import Network

TUNED_FILE: Final = "tuned.toml"
"""The copy of the tuned policy in the folder of a run that began as it."""
ORDER_TEMPERATURE: Final = 16.0
"""How sharply a network that begins as an order prefers what comes first, unless the user says otherwise."""


def beginning_changes(init: str) -> dict[str, dict[str, Any]]:
    """Returns what a beginning asks of the configuration, by section and key.

    A tuned policy brings its order and its estimate, a checkpoint its environment and its network.

    Args:
        init: The file of a tuned policy, or the folder of a checkpoint or of a run.

    Raises:
        InputError: There is none, or it cannot be read.
    """
    path = spec_file(init)
    if path is not None:
        sections = read_toml(path)
        if "policy" not in sections:
            raise InputError(f"--init {init}: has no section [policy]; give a file that 'shunter tune' has written")
        return {"environment": {"order": init, **({"estimate": init} if "estimate" in sections else {})}}
    if not os.path.isdir(init):
        raise InputError(f"--init {init}: there is no such folder; give FILE.toml, or the folder of a checkpoint")
    record = load_policy(init).record
    return {"environment": environment_table(record.options), "network": to_table(record.network)}


def settled(config: TrainConfig, folder: Path) -> TrainConfig:
    """Returns the configuration of a run that begins as a tuned policy with that policy's copy in the run's folder.

    Others are returned as they are.

    Raises:
        InputError: There is no order to begin as, or the file cannot be copied.
    """
    init, options = config.training.init, config.environment
    path = None if init is None else spec_file(init)
    if path is None:
        return config
    if isinstance(options, PickHostOptions):
        raise InputError(f"--init {init}: pick-host has no order to begin as; give a checkpoint, or leave it out")
    copy = str((folder / TUNED_FILE).resolve())
    text = path.read_bytes()
    folder.mkdir(parents=True, exist_ok=True)
    write_file(Path(copy), lambda file: file.write(text))
    own: dict[str, Any] = {name: copy for name in ("order", "estimate") if getattr(options, name) == init}
    temperature = config.network.order_temperature
    network = replace(config.network, order_temperature=ORDER_TEMPERATURE if temperature is None else temperature)
    return replace(config, environment=replace(options, **own), network=network)


def load_beginning(network: Network, record: PolicyRecord, init: str | None) -> Tensors:
    """Gives a network the weights of a checkpoint, if that is where training begins; returns all that it holds.

    Raises:
        InputError: The checkpoint cannot be read, or is of another network.
    """
    if init is None or spec_file(init) is not None:
        return {}
    policy = load_policy(init)
    check_layout(policy.layout, record.layout, init)
    load_network(network, network_tensors(policy.network), init)
    return read_part(checkpoint_folder(init), POLICY).tensors
