"""Where networks compute."""

from __future__ import annotations

import pytest
import torch

from shunter.agents.training.setup import choose_device
from shunter.errors import InputError


@pytest.mark.parametrize(("available", "device"), [(False, "cpu"), (True, "cuda")])
def test_auto_takes_the_graphics_card_if_there_is_one(
    monkeypatch: pytest.MonkeyPatch, available: bool, device: str
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: available)
    assert choose_device("auto") == device
    assert choose_device("cpu") == "cpu"


def test_a_graphics_card_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match="sees no graphics card"):
        choose_device("cuda")
