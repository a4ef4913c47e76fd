"""What a training came to: the right policies on the right windows, and their ratios."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shunter.agents.training.held_out import ROWS, report_parts
from shunter.agents.training.setup import INITIAL, Site
from shunter.comparison.combinations import Combination, combine
from shunter.comparison.roles import BASELINE, BEGINNING, CHOSEN, LEARNED
from shunter.envs.pick_job import PickJobOptions
from shunter.envs.sources import Use
from shunter.policies.checkpoint import BEST
from tests.agents.small_training import HOSTS, LUBLIN, small_site
from tests.agents.untrained import waiting, write_host_policy, write_policy

CHOSEN_CLASSIC = combine(["sjf"], ["easy"], ["first-fit"]).possible[0]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Returns a run that began by waiting, and has learned to be smallest area first."""
    write_policy(tmp_path / INITIAL, order="saf", window=200, change=waiting)
    write_policy(tmp_path / BEST, order="saf", window=200)
    return tmp_path


def site(**sections: dict[str, Any]) -> Site:
    return small_site(**{"environment": {"window": 200}, "report": {"length": 100, "windows": 6}, **sections})


def test_each_row_is_what_its_policy_does(run: Path) -> None:
    here = site()
    validation, report = report_parts(here, [CHOSEN_CLASSIC], run)
    assert (validation.part, report.part) == ("validation", "report")
    (group,) = report.report.logs
    assert (group.name, list(group.contenders), len(group.block)) == (LUBLIN, list(ROWS), 6)
    trials = here.trials(here.config.report_episodes, Use.REPORT)
    options = here.config.environment
    assert isinstance(options, PickJobOptions)
    schedulers = {BASELINE: here.source.usual().scheduler, CHOSEN: CHOSEN_CLASSIC.scheduler, LEARNED: options.scheduler}
    for role, each in schedulers.items():
        (expected,) = trials.of_schedulers([each], ["mean_bounded_slowdown", "max_wait_s"])
        for name, values in expected.items():
            np.testing.assert_allclose(group.contenders[role].metrics[name], values, err_msg=f"{role} {name}")
    waits = [group.contenders[role].metrics["mean_wait_s"].mean() for role in (LEARNED, BEGINNING)]
    assert waits[0] < waits[1]


def test_ratios_are_to_the_classic_chosen_in_training(run: Path) -> None:
    _, report = report_parts(site(), [CHOSEN_CLASSIC], run)
    rows = report.report.logs[0].contenders
    own, base = (rows[role].metrics["mean_bounded_slowdown"] for role in (LEARNED, CHOSEN))
    assert rows[LEARNED].against[CHOSEN].ratio == pytest.approx(np.exp(np.log(own / base).mean()))
    assert rows[CHOSEN].against[CHOSEN].ratio == pytest.approx(1.0)
    assert rows[CHOSEN].wait_ratio == pytest.approx(1.0)
    waits = [rows[role].metrics["mean_wait_s"].mean() for role in (BEGINNING, CHOSEN)]
    assert rows[BEGINNING].wait_ratio == pytest.approx(waits[0] / waits[1], rel=1e-3)
    assert report.to_json()["pooled"] is None


def test_a_broken_bound_is_named(run: Path) -> None:
    bounded = site(reward={"bounds": {"wait": 1.5}, "scale": "fcfs/easy"})
    _, report = report_parts(bounded, [CHOSEN_CLASSIC], run)
    rows = report.report.logs[0].contenders
    broken = [role for role, row in rows.items() if row.wait_ratio > 1.5]
    assert BEGINNING in broken
    assert LEARNED not in broken
    told = report.to_json()["logs"][0]["rows"]
    assert {row["role"]: row["broken_bounds"] for row in told} == {
        role: ["mean_wait_s"] if role in broken else [] for role in ROWS
    }


def test_sentences_name_the_log_and_both_policies(run: Path) -> None:
    _, report = report_parts(site(reward={"bounds": {"wait": 1.5}, "scale": "fcfs/easy"}), [CHOSEN_CLASSIC], run)
    against, bound = report.sentences()
    assert against.startswith(f"{LUBLIN}: the learned policy ")
    assert f"the classic chosen on training days ({CHOSEN_CLASSIC.label})" in against
    assert bound.startswith(f"{LUBLIN}: the bound on mean_wait_s, ")
    assert " holds: " in bound


def test_several_logs_have_a_ratio_over_all(run: Path) -> None:
    both = site(data={"workload": [LUBLIN, LUBLIN.replace("seed=3", "seed=4")]})
    _, report = report_parts(both, [CHOSEN_CLASSIC] * 2, run)
    ratios = [group.contenders[LEARNED].against[CHOSEN].ratio for group in report.report.logs]
    assert len(set(ratios)) == 2
    told = report.to_json()["pooled"]["ratio"]
    assert told == pytest.approx(np.exp(np.mean(np.log(np.array(ratios, dtype=np.float64)))))


def test_the_usual_sees_what_the_environment_lets_it_see() -> None:
    usual = site(environment={"max_wait_s": 500.0, "estimate": "perfect", "order": "f2"}).source.usual()
    settings = usual.settings
    assert usual.label == "fcfs/easy"
    assert (settings.policy, settings.dispatch, settings.estimate) == ("fcfs", "easy", "requested")
    assert settings.max_wait_s == 500.0


def test_hosts(tmp_path: Path) -> None:
    write_host_policy(tmp_path / INITIAL)
    shutil.copytree(tmp_path / INITIAL, tmp_path / BEST)
    changed = small_site(HOSTS, environment={"num_hosts": 4})
    best_fit: Combination = changed.choose()[0]
    _, report = report_parts(changed, [best_fit], tmp_path)
    (group,) = report.report.logs
    assert [group.contenders[role].label for role in (BASELINE, CHOSEN)] == ["first-fit", best_fit.label]
    for metric in ("mean_wait_s", "max_wait_s"):
        np.testing.assert_array_equal(
            group.contenders[LEARNED].metrics[metric], group.contenders[BEGINNING].metrics[metric]
        )
