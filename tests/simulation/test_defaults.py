"""One default for each setting, wherever it can be left out: in Python, in checks, on the command line."""

from __future__ import annotations

from inspect import signature

import polars as pl

from shunter import Cluster, Workload
from shunter.cli.running import DEFAULT_WORDS, RunArguments
from shunter.cli.simulate import simulate as simulate_command
from shunter.model.settings import SETTING_NAMES, Settings
from shunter.policies.scheduler import resolve_scheduler
from shunter.simulation import simulate


def test_the_defaults_agree() -> None:
    expected = DEFAULT_WORDS
    assert list(expected) == list(SETTING_NAMES)
    assert RunArguments("log.swf").words == expected
    # Options do not say the unit.
    options = signature(simulate_command).parameters
    assert {name: options[name.removesuffix("_s")].default for name in expected} == expected
    # What is left open depends on the policy.
    left_open = {name for name, value in expected.items() if value is None and getattr(Settings(), name) is not None}
    assert left_open == {"dispatch", "placement", "estimate"}
    named = {name: one.default for name, one in signature(resolve_scheduler).parameters.items() if name in expected}
    assert named == {name: expected[name] for name in ("policy", *sorted(left_open))}
    assert resolve_scheduler().settings == resolve_scheduler(**expected).settings == Settings()
    log = Workload.from_frame(pl.DataFrame({"submit_s": [0.0], "run_s": [1.0]}), name="one")
    assert simulate(log, Cluster.pool(1)).settings == Settings()
