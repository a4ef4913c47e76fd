"""Placements by what a user writes: a name, a name with parameters, or a file in Python."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shunter.errors import InputError
from shunter.policies.catalog import EXTERNAL, PLACEMENT_CODES
from shunter.policies.own import Placer, Request
from shunter.policies.placements.milp import MilpPlacer
from shunter.policies.scheduler import resolve_placement
from tests.policies.placements.scenes import make_scene

WIDEST = """
from shunter.policies.own import Placer

class Widest(Placer):
    name = "mine"

    def place(self, scene):
        node = int(scene.capacity.argmax())
        return [(node, scene.request.tasks)] if scene.capacity[node] >= scene.request.tasks else None
"""


def placer_of(text: str) -> Placer:
    """Returns the placer that a text asks for."""
    placement = resolve_placement(text)
    assert placement.make_placer is not None
    assert (placement.text, placement.code) == (text, EXTERNAL)
    return placement.make_placer()


def test_parameters_have_defaults() -> None:
    said = placer_of("milp?alpha=1&beta=0.1&gamma=0.1&k=5&time_limit_s=1")
    assert vars(placer_of("milp")) == vars(said) != vars(placer_of("milp?time_limit_s=0.5"))


def test_names_make_placers() -> None:
    for name in ("milp", "milp-full", "milp-full?alpha=-1&gamma=0"):
        placer = placer_of(name)
        assert isinstance(placer, MilpPlacer)
        assert placer.name == name.partition("?")[0]
    for name in ("pack", "tiered-defrag"):
        placement = resolve_placement(name)
        assert (placement.make_placer, placement.code) == (None, PLACEMENT_CODES[name])


def test_each_simulation_has_a_placer_of_its_own() -> None:
    assert placer_of("milp") is not placer_of("milp")
    make_placer = resolve_placement("milp").make_placer
    assert make_placer is not None
    assert make_placer() is not make_placer()


def test_parameters_reach_the_objective() -> None:
    scene = make_scene([8, 4], Request(4, 0, 0, 1000))
    together, apart = placer_of("milp-full"), placer_of("milp-full?alpha=-1&beta=0")
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
        resolve_placement(text)


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(WIDEST + WIDEST.replace("Widest", "Other").replace("mine", "other"))
    with pytest.raises(InputError, match=re.escape("defines 2 placements (Widest, Other); name one")):
        resolve_placement(str(path))
    assert resolve_placement(f"{path}:Other").file == path
    placer = placer_of(f"{path}:Other")
    assert placer.name == "other"
    assert placer.place(make_scene([2, 5], Request(4, 0, 0, 1000))) == [(1, 4)]
    assert placer.place(make_scene([2, 3], Request(4, 0, 0, 1000))) is None
    assert placer.ledger() == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "defines 0 placements (none); derive one from shunter.Placer"),
        ("1 / 0", ".py:1: ZeroDivisionError"),
        (WIDEST.replace("def place", "def put"), "the placement cannot be made without arguments"),
    ],
)
def test_a_file_without_a_placement_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text)
    with pytest.raises(InputError, match=re.escape(message)):
        placer_of(str(path))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=re.escape("there is no such file; expected FILE.py or FILE.py:CLASS")):
        resolve_placement(str(tmp_path / "none.py"))
