"""Times as people write them: 36h, 2h30m, 1d; in settings, options, TOML files, generators and Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shunter.checks import seconds_of
from shunter.comparison.changes import parse_change
from shunter.envs import PickJobOptions
from shunter.envs.kinds import environment_from
from shunter.errors import InputError
from shunter.policies.scheduler import resolve, resolve_scheduler
from shunter.workloads import read_workload


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90.0), ("1.5", 1.5), ("1e3", 1000.0), ("45s", 45.0), ("90m", 5400.0), ("90min", 5400.0),
        ("36h", 129_600.0), ("1d", 86_400.0), ("2w", 1_209_600.0), ("2h30m", 9000.0), ("1d12h", 129_600.0),
        ("1.5h", 5400.0),
        (" 36H ", 129_600.0), ("1w1d1h1m1s", 694_861.0),
    ],
)  # fmt: skip
def test_what_a_text_means(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "h", "36 hours", "30m2h", "2hh", "1d-2h", "-36h", "1:30", "36x", "1h 30"])
def test_what_is_no_time(text: str) -> None:
    assert seconds_of(text) is None


def test_every_setting_that_is_a_time_takes_one_from_python() -> None:
    words: dict[str, Any] = {
        "max_wait_s": "36h",
        "preemption_overhead_s": "30s",
        "min_run_s": "5m",
        "mtbf_s": "30d",
        "mttr_s": "2h",
    }
    settings = resolve_scheduler(missing_request="12h", **words).settings
    assert settings.max_wait_s == 129_600.0
    assert (settings.preemption_overhead_s, settings.min_run_s) == (30.0, 300.0)
    assert (settings.mtbf_s, settings.mttr_s) == (2_592_000.0, 7200.0)
    assert settings.missing_request == "43200"
    # The same as with plain numbers, so that manifests do not depend on the spelling.
    assert settings == resolve_scheduler(**settings.words()).settings


def test_a_wrong_time_is_told_by_its_option_with_examples() -> None:
    with pytest.raises(InputError, match=r"--max-wait \(max_wait_s\) is 'soon'; expected a time such as 90m, 36h, 1d"):
        resolve_scheduler(max_wait_s="soon")
    with pytest.raises(InputError, match=r"--missing-request .* is 'soon'; expected 'run-time', a time such as 12h"):
        resolve_scheduler(missing_request="soon")
    with pytest.raises(InputError, match=r"--max-wait \(max_wait_s\) is .*; expected a number from 0 to 1000000000"):
        resolve_scheduler(max_wait_s="20000w")


def test_a_time_in_the_parameters_of_a_policy(tmp_path: Path) -> None:
    plain = resolve("las?first_s=1800&second_s=36000")
    assert resolve("las?first_s=30m&second_s=10h").spec.parameters == plain.spec.parameters  # type: ignore[union-attr]
    file = tmp_path / "las.toml"
    file.write_text('[policy]\nkind = "las"\nfirst_s = "30m"\nsecond_s = "10h"\n')
    assert resolve(str(file)).spec.parameters == plain.spec.parameters  # type: ignore[union-attr]
    with pytest.raises(InputError, match="first_s is 'long'; expected a time"):
        resolve("las?first_s=long")


def test_a_time_in_a_training_file_and_in_an_environment() -> None:
    read = environment_from({"kind": "pick-job", "max_wait_s": "36h"}, "config.toml: [environment]")
    assert read == PickJobOptions(max_wait_s="36h") == PickJobOptions(max_wait_s=129_600.0)  # type: ignore[arg-type]
    none = environment_from({"max_wait_s": "none"}, "config.toml: [environment]")
    assert isinstance(none, PickJobOptions)
    assert none.max_wait_s is None
    with pytest.raises(InputError, match=r"config.toml: \[environment\]: max_wait_s is 'soon'; expected a time"):
        environment_from({"max_wait_s": "soon"}, "config.toml: [environment]")


def test_a_time_in_a_generator() -> None:
    spec = "generate:poisson?jobs=20&mean_run_s={}&mean_gap_s={}"
    assert read_workload(spec.format("1h", "15m")).jobs.equals(read_workload(spec.format("3600", "900")).jobs)


def test_a_time_in_a_change() -> None:
    assert parse_change("max-wait=36h,missing-request=12h").settings == {
        "max_wait_s": 129_600.0,
        "missing_request": "43200",
    }
    with pytest.raises(InputError, match="--change limit=soon: expected a time such as 36h"):
        parse_change("limit=soon")
