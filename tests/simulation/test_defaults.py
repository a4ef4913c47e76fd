"""One default for each setting, wherever it can be left out: in Python, in checks, on the command line."""

from __future__ import annotations

from dataclasses import fields
from inspect import Parameter, signature

from shunter.cli.arguments import RunArguments
from shunter.cli.simulate import simulate as simulate_command
from shunter.policies.scheduler import resolve_scheduler
from shunter.simulation import simulate

SETTINGS = set(signature(resolve_scheduler).parameters) - {"own_policy", "own_placement"}


def test_the_defaults_agree() -> None:
    expected = {name: signature(resolve_scheduler).parameters[name].default for name in SETTINGS}
    assert Parameter.empty not in expected.values()
    assert {name: signature(simulate).parameters[name].default for name in SETTINGS} == expected
    assert {field.name: field.default for field in fields(RunArguments) if field.name in SETTINGS} == expected
    # Options do not say the unit.
    options = signature(simulate_command).parameters
    assert {name: options[name.removesuffix("_s")].default for name in SETTINGS} == expected
