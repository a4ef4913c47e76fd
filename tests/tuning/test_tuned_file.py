"""The file of a tuned policy: what is written is what is read."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from shunter.files import read_toml
from shunter.model.log import Log
from shunter.model.workload import Workload
from shunter.policies.native import resolve_estimate, resolve_native
from shunter.policies.prior import GENERIC_PRIOR, fit_prior, save_prior
from shunter.policies.scheduler import resolve_scheduler
from shunter.simulation import simulate
from shunter.tuning.tuned_file import estimate_section, section, tuned_text, write_tuned
from shunter.tuning.weights import Tuned
from tests.tuning.small import small_log

TRAIN = (0.0, 0.6)
PARAMETERS = {
    "linear": {"estimate": 1.0, "size": 0.1 + 0.2, "wait": 1 / 3, "hold_share": 1e-17, "reserve_below": math.inf},
    "multifactor": {"age": 1e3 / 7, "size": 2 / 3, "favor_small": 1.0, "half_life_s": 1e16 / 3},
}


def tuned(kind: str, parameters: dict[str, float]) -> Tuned:
    return Tuned(kind, parameters, resolve_scheduler(), (), np.zeros(2), simulations=0)


def written(path: Path, kind: str, parameters: dict[str, float], estimate: str, log: Log) -> Path:
    facts: dict[str, Any] = {
        "objective": "mean_wait_s",
        "bounds": ["a=1", "b=2"],
        "kill_at_request": False,
        "cost": -1 / 3,
        "seed": 7,
    }
    logs: list[dict[str, Any]] = [{"name": 'odd "name" \\ μ \x7f\n', "jobs": 600}, {"name": "second", "jobs": 1}]
    section = estimate_section(estimate, [log], TRAIN)
    spec = resolve_native(tuned(kind, parameters).spec).spec
    write_tuned(path, tuned_text(spec, {"dispatch": "easy"}, section, facts, logs, ["what this is"], "cores"))
    return path


@pytest.mark.parametrize("kind", PARAMETERS)
def test_the_file_gives_the_same_schedule_as_the_spec(kind: str, tmp_path: Path) -> None:
    log = small_log()
    found = tuned(kind, PARAMETERS[kind])
    path = written(tmp_path / "tuned.toml", kind, PARAMETERS[kind], "posterior", log)
    assert resolve_native(str(path)).spec.parameters == resolve_native(found.spec).spec.parameters
    prior = tmp_path / "prior.toml"
    save_prior(fit_prior(log.workload, TRAIN), prior)
    hashes = {
        simulate(log.workload, log.cluster, policy=policy, estimate=estimate).content_sha256
        for policy, estimate in ((found.spec, str(prior)), (str(path), str(path)))
    }
    assert len(hashes) == 1
    other = simulate(log.workload, log.cluster, policy="fcfs").content_sha256
    assert other not in hashes


def test_what_is_for_people_is_there_and_is_read_by_nobody(tmp_path: Path) -> None:
    path = written(tmp_path / "tuned.toml", "linear", PARAMETERS["linear"], "requested", small_log())
    assert path.read_text().startswith("# what this is\n\n[policy]\n")
    facts = read_toml(path)["tuned"]
    assert (facts["bounds"], facts["kill_at_request"], facts["cost"], facts["seed"]) == (
        ["a=1", "b=2"],
        False,
        -1 / 3,
        7,
    )
    assert [log["name"] for log in facts["logs"]] == ['odd "name" \\ μ \x7f\n', "second"]
    assert resolve_native(str(path)).spec.tables == {}


def test_an_estimate_without_a_prior(tmp_path: Path) -> None:
    path = tmp_path / "noisy.toml"
    path.write_text(estimate_section("noisy?sigma=0.3", [], TRAIN))
    spec = resolve_estimate(str(path)).spec
    assert (spec.kind, spec.parameters) == ("noisy", {"sigma": 0.3})
    assert estimate_section("requested", [], TRAIN) == '[estimate]\nkind = "requested"\n'


def test_the_prior_is_fitted_on_training_days_alone() -> None:
    log = small_log()
    later = pl.int_range(pl.len()) >= 360
    jobs = log.workload.jobs.with_columns(pl.when(later).then(pl.lit(1.0)).otherwise("run_s").alias("run_s"))
    changed = Log(replace(log.workload, jobs=jobs), log.cluster)
    assert estimate_section("posterior", [log], TRAIN) == estimate_section("posterior", [changed], TRAIN)
    assert estimate_section("posterior", [log], (0.0, 0.7)) != estimate_section("posterior", [changed], (0.0, 0.7))


def test_strengths_that_are_given_stay(tmp_path: Path) -> None:
    log = small_log()
    path = tmp_path / "estimate.toml"
    path.write_text(estimate_section("posterior?decay=0.5", [log], TRAIN))
    prior = resolve_estimate(str(path)).prior
    assert prior == replace(fit_prior(log.workload, TRAIN), decay=0.5)
    assert prior.user_decay == GENERIC_PRIOR.user_decay


def test_a_prior_from_a_file_is_taken_as_it_is(tmp_path: Path) -> None:
    given = replace(GENERIC_PRIOR, user_strength=3.0)
    save_prior(given, tmp_path / "given.toml")
    (tmp_path / "again.toml").write_text(estimate_section(str(tmp_path / "given.toml"), [small_log()], TRAIN))
    assert resolve_estimate(str(tmp_path / "again.toml")).prior == given


def test_one_prior_for_several_logs_in_which_each_training_job_counts_once(tmp_path: Path) -> None:
    """Of ten jobs of each log six are for training: 100 s in one log, 400 s in the other, all asking for 1,000 s."""
    logs = [Log(_jobs([run_s] * 6 + [9.0] * 4), small_log().cluster) for run_s in (100.0, 400.0)]
    (tmp_path / "pooled.toml").write_text(estimate_section("posterior", logs, TRAIN))
    pooled = resolve_estimate(str(tmp_path / "pooled.toml")).prior
    # The generic prior counts as ten jobs more; requests of 512 s to 1,023 s are the tenth bin.
    generic = GENERIC_PRIOR.mean_run_s[9]
    assert pooled.mean_run_s[9] == pytest.approx((10 * generic + 6 * 100 + 6 * 400) / 22)
    assert pooled.mean_run_s[8] == GENERIC_PRIOR.mean_run_s[8]


def _jobs(run_s: list[float]) -> Workload:
    count = len(run_s)
    columns = {"submit_s": [float(place) for place in range(count)], "run_s": run_s, "requested_s": [1000.0] * count}
    return Workload.from_frame(pl.DataFrame(columns), name="ten")


def test_a_section() -> None:
    values: dict[str, Any] = {
        "text": 'a "b"',
        "whole": 3,
        "number": 0.5,
        "endless": math.inf,
        "yes": True,
        "list": ["x"],
        "none": [],
    }
    expected = 'text = "a \\"b\\""\nwhole = 3\nnumber = 0.5\nendless = inf\nyes = true\nlist = ["x"]\nnone = []\n'
    assert section("part", values) == f"[part]\n{expected}"
