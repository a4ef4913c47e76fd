"""Wrong arguments of the public functions: each raises an `InputError` that names what was given."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

import shunter

LOG = "generate:lublin?seed=42&jobs=60&cores=16&load=0.9"


class Mine(shunter.Policy):
    """A policy of one's own, given as a class by mistake."""

    def score(self, queue: shunter.QueueView) -> NDArray[np.float64]:
        """First come, first served."""
        return queue.submit_s


MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    "no policy": (lambda: shunter.simulate(LOG, policy=None), "policy is None; expected a name"),
    "a list of policies": (lambda: shunter.simulate(LOG, policy=["sjf"]), r"policy is \['sjf'\]; expected"),
    "a class": (lambda: shunter.simulate(LOG, policy=Mine), "policy is .*Mine.*; expected .* an object"),
    "no placement in a list": (lambda: shunter.simulate(LOG, placement=[]), r"placement is \[\]; expected"),
    "a number for an estimate": (lambda: shunter.simulate(LOG, estimate=3), "estimate is 3; expected"),
    "no workload": (lambda: shunter.simulate(None), "workload is None; expected"),  # type: ignore[arg-type]
    "no policies": (lambda: shunter.compare(LOG, policy=[]), "policy is empty; name at least one"),
    "no dispatch rules": (lambda: shunter.compare(LOG, dispatch=[]), "dispatch is empty"),
    "no changes": (lambda: shunter.what_if(LOG, changes=[]), "changes is empty"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_argument_is_one_clear_line(mistake: str) -> None:
    call, message = MISTAKES[mistake]
    with pytest.raises(shunter.InputError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_every_function_takes_a_file_or_a_generator_and_knows_its_cluster() -> None:
    schedule = shunter.simulate(LOG, policy="sjf")
    same = shunter.simulate(shunter.read_workload(LOG), shunter.read_cluster(16), policy="sjf")
    assert schedule.to_frame().equals(same.to_frame())
    found = shunter.what_if(LOG, 16, changes="cores=+25%")
    assert [case.name for case in found.cases] == ["base", "cores=+25%"]
