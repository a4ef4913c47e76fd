"""Learned policies that choose hosts, as the reference simulator asks them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np

from shunter.envs.network import NativeNetwork
from tests.reference.task_by_task import CHOOSERS


def known_to_reference(folder: str) -> str:
    """Lets the reference simulator place by a checkpoint that chooses hosts, and returns its folder."""
    about = json.loads((Path(folder) / "policy.json").read_text())
    weights, _ = NativeNetwork.load(Path(folder)).get()

    @cache
    def network(hosts: int) -> NativeNetwork:
        layout = about["layout"] | {"num_hosts": hosts}
        opened = NativeNetwork.open({"layout": layout, "network": about["network"]})
        opened.set(weights)
        return opened

    def choose(observation: list[float], mask: list[bool]) -> int:
        logits, _ = network(len(mask)).evaluate(np.array([observation], np.float32), np.array([mask]))
        return int(logits[0].argmax())

    CHOOSERS[folder] = choose
    return folder
