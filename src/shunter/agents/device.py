"""Where networks compute."""

from __future__ import annotations

import torch

from shunter.errors import InputError


def choose_device(name: str) -> torch.device:
    """Returns the device of a name: ``cpu``, ``cuda``, or ``auto`` for the graphics card if there is one.

    Raises:
        InputError: There is no such device here.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name == "cuda" and not torch.cuda.is_available():
        raise InputError("[training] device is 'cuda', but PyTorch sees no graphics card; take cpu or auto")
    return torch.device(name)
