"""Placements in Python by what a user writes: a name with parameters, or a file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.policies.placements.milp import MilpPlacer
from shunter.policies.placements.placer import Request
from shunter.policies.placements.specs import make_placer, placement_spec
from tests.policies.placements.scenes import make_scene

WIDEST = """
from shunter.policies.placements.placer import Placer

class Widest(Placer):
    name = "mine"

    def place(self, scene):
        node = int(scene.capacity.argmax())
        return [(node, scene.request.tasks)] if scene.capacity[node] >= scene.request.tasks else None
"""


def test_parameters_have_defaults() -> None:
    assert placement_spec("milp").parameters == {"alpha": 1, "beta": 0.1, "gamma": 0.1, "k": 5, "time_limit_s": 1}
    assert placement_spec("milp-full?k=2&time_limit_s=0.5").parameters["time_limit_s"] == 0.5


def test_names_make_placers() -> None:
    for name in ("milp", "milp-full", "milp-full?alpha=-1&gamma=0"):
        placer = make_placer(name)
        assert isinstance(placer, MilpPlacer)
        assert placer.name == name.partition("?")[0]
    assert make_placer("pack") is None
    assert make_placer("tiered-defrag") is None


def test_parameters_reach_the_objective() -> None:
    scene = make_scene([8, 4], Request(4, 0, 0, 1000))
    together, apart = make_placer("milp-full"), make_placer("milp-full?alpha=-1&beta=0")
    assert together is not None
    assert apart is not None
    assert together.place(scene) == [(1, 4)]
    assert apart.place(scene) != [(1, 4)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("milp?delta=1", "placement 'milp' has no parameter 'delta'; it knows alpha, beta, gamma, k, time_limit_s"),
        ("milp?alpha=x", "placement 'milp?alpha=x': alpha is 'x'; expected a number"),
        ("milp?alpha=inf", "placement 'milp?alpha=inf': alpha is inf; expected a finite number"),
        ("milp?gamma=-1", "placement 'milp?gamma=-1': gamma is -1; expected a finite number, 0 or more"),
        ("milp?k=2.5", "placement 'milp?k=2.5': k is 2.5; expected a whole number"),
        ("milp?k=inf", "k is inf; expected a whole number"),
        ("milp?k=-1", "k is -1; expected a whole number"),
        ("milp-full?time_limit_s=-1", "time_limit_s is -1; expected 0 or more"),
    ],
)
def test_wrong_parameters_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        make_placer(text)


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(WIDEST + WIDEST.replace("Widest", "Other").replace("mine", "other"))
    with pytest.raises(InputError, match=re.escape("defines 2 placements (Widest, Other); name one")):
        make_placer(str(path))
    placer = make_placer(f"{path}:Other")
    assert placer is not None
    assert placer.name == "other"
    assert placer.place(make_scene([2, 5], Request(4, 0, 0, 1000))) == [(1, 4)]
    assert placer.place(make_scene([2, 3], Request(4, 0, 0, 1000))) is None
    assert placer.ledger() == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "defines 0 placements (none); derive one from shunter.Placer"),
        ("1 / 0", "fails when it is run: ZeroDivisionError"),
        (WIDEST.replace("def place", "def put"), "the placement cannot be made without arguments"),
    ],
)
def test_a_file_without_a_placement_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text)
    with pytest.raises(InputError, match=re.escape(message)):
        make_placer(str(path))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=re.escape("there is no such file; expected FILE.py or FILE.py:CLASS")):
        make_placer(str(tmp_path / "none.py"))
