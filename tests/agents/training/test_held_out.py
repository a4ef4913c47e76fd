"""What a training came to: the right policies on the right windows, and their ratios."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shunter.agents.training.held_out import report_parts
from shunter.agents.training.setup import Site
from shunter.comparison import combinations
from shunter.comparison.bench import Bench
from shunter.comparison.combinations import Combination, combine
from shunter.comparison.comparison import compare_combinations
from shunter.comparison.marks import TRUE_TIMES
from shunter.comparison.report import IDENTICAL
from shunter.comparison.roles import BASELINE, BEGINNING, BEST_SAME, CHOSEN, LEARNED, TUNED
from shunter.comparison.roles import BEST as BEST_CLASSIC
from shunter.envs.pick_job import PickJobOptions
from shunter.envs.sources import Use
from shunter.policies.checkpoint import BEST, INITIAL
from shunter.policies.scheduler import Scheduler
from shunter.simulation.windows import WindowResults
from tests.agents.small_training import HOSTS, LUBLIN, small_site
from tests.agents.untrained import waiting, write_host_policy, write_policy

CHOSEN_CLASSIC = combine(["sjf"], ["easy"], ["first-fit"]).possible[0]


@pytest.fixture(autouse=True)
def few_classics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(combinations, "CLASSICS", ("fcfs", "sjf", "saf"))


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
    assert (group.name, list(group.contenders), len(group.block)) == (
        LUBLIN, [LEARNED, BEGINNING, CHOSEN, BEST_CLASSIC, BASELINE], 6,
    )  # fmt: skip
    assert list(validation.report.logs[0].contenders) == [LEARNED, BEGINNING, CHOSEN, BASELINE]
    trials = here.trials(here.report_episodes, Use.REPORT)
    options = here.config.environment
    assert isinstance(options, PickJobOptions)
    schedulers = {BASELINE: here.source.usual().scheduler, CHOSEN: CHOSEN_CLASSIC.scheduler, LEARNED: options.scheduler}
    for role, each in schedulers.items():
        (expected,) = trials.of_schedulers([each], ["mean_bounded_slowdown", "max_wait_s"])
        for name, values in expected.items():
            np.testing.assert_allclose(group.contenders[role].metrics[name], values, err_msg=f"{role} {name}")
    waits = [group.contenders[role].metrics["mean_wait_s"].mean() for role in (LEARNED, BEGINNING)]
    assert waits[0] < waits[1]


def test_each_policy_is_measured_once_and_the_share_that_is_done_is_told(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chosen classic and the baseline are among the classics, too."""
    ran: list[tuple[Bench, str]] = []
    simulate = Bench.run

    def noted(bench: Bench, scheduler: Scheduler) -> tuple[WindowResults, ...]:
        ran.append((bench, str(scheduler.settings)))
        return simulate(bench, scheduler)

    monkeypatch.setattr(Bench, "run", noted)
    told: list[tuple[int, int]] = []
    here = site()
    chosen = next(one for one in here.source.rivals() if one.label == "sjf/easy")
    report_parts(here, [chosen], run, lambda done, total: told.append((done, total)))
    # On validation the chosen one and the baseline; on later days three classics under four rules.
    assert len(ran) == len(set(ran)) == 2 + 3 * 4
    # The two checkpoints, the chosen one and the baseline on both; and all classics.
    assert told == [(done, 4 + 4 + 12) for done in range(1, 21)]


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
    assert {row["role"]: [bound["holds"] for bound in row["bounds"]] for row in told} == {
        role: [role not in broken] for role in rows
    }


def test_the_learned_policy_is_held_against_where_it_began_first(run: Path) -> None:
    _, report = report_parts(site(reward={"bounds": {"wait": 1.5}, "scale": "fcfs/easy"}), [CHOSEN_CLASSIC], run)
    found = report.findings()
    assert [one.against for one in found] == [BEGINNING, CHOSEN, BEST_CLASSIC, BASELINE, "mean_wait_s"]
    assert found[0].sentence.startswith("the learned policy against the beginning (initial) cannot be judged: ratio ")
    assert {one.workload for one in found} == {LUBLIN}
    assert f"the classic chosen on training days ({CHOSEN_CLASSIC.label})" in found[1].sentence
    assert found[-1].result == "holds"
    assert report.to_json()["verdict"] == [one.to_json() for one in found]


def test_a_policy_that_has_learned_nothing_is_called_identical(run: Path) -> None:
    """And not a ratio of 1: with the beginning, and with the classic whose order both have."""
    shutil.rmtree(run / INITIAL)
    shutil.copytree(run / BEST, run / INITIAL)
    saf = combine(["saf"], ["easy"], ["first-fit"]).possible[0]
    _, report = report_parts(site(), [saf], run)
    found = {one.against: one for one in report.findings()}
    names = {BEGINNING: "the beginning (initial)", CHOSEN: "the classic chosen on training days (saf/easy)"}
    for role, label in names.items():
        assert found[role].result == IDENTICAL
        assert found[role].sentence == f"the learned policy and {label} are identical: the same in every window"
    assert found[BASELINE].result != IDENTICAL
    learned = report.to_json()["logs"][0]["rows"][0]
    assert [learned["against"][role]["identical"] for role in (BEGINNING, BASELINE)] == [True, False]


def test_the_best_in_hindsight_is_the_best_of_all_classics_in_these_windows(run: Path) -> None:
    here = site(environment={"window": 200, "estimate": "perfect"})
    _, report = report_parts(here, [CHOSEN_CLASSIC], run)
    ((log, windows),) = here.source.groups(here.report_episodes)[0].parts
    rows = report.report.logs[0].contenders
    for role, estimate in ((BEST_CLASSIC, "requested"), (BEST_SAME, "perfect")):
        every = combine(["all"], ["strict", "greedy", "easy", "conservative"], ["first-fit"], [estimate]).possible
        best = compare_combinations(log, every, windows).scored[0]
        assert rows[role].summary.geometric_mean == best.summary.geometric_mean


def test_a_tuned_file_that_it_began_as_has_a_row_under_its_own_rule(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "tuned.toml"
    file.write_text('[policy]\nkind = "saf"\n\n[settings]\ndispatch = "conservative"\n\n[estimate]\nkind = "perfect"\n')
    here = site(environment={"window": 200, "order": str(file)})
    _, report = report_parts(here, [CHOSEN_CLASSIC], run)
    trials = here.trials(here.report_episodes, Use.REPORT)
    expected = combine(["saf"], ["conservative"], ["first-fit"], ["perfect"]).possible[0]
    (values,) = trials.of_schedulers([expected.scheduler], ["mean_bounded_slowdown"])
    row = report.report.logs[0].contenders[TUNED]
    assert row.label == "tuned.toml/conservative"
    np.testing.assert_array_equal(row.metrics["mean_bounded_slowdown"], values["mean_bounded_slowdown"])


def test_several_logs_have_a_ratio_over_all(run: Path) -> None:
    both = site(data={"workload": [LUBLIN, LUBLIN.replace("seed=3", "seed=4")]})
    _, report = report_parts(both, [CHOSEN_CLASSIC] * 2, run)
    ratios = [group.contenders[LEARNED].against[CHOSEN].ratio for group in report.report.logs]
    assert len(set(ratios)) == 2
    told = report.to_json()["pooled"][0]
    assert told["role"] == LEARNED
    assert told["against"][CHOSEN]["ratio"] == pytest.approx(
        np.exp(np.mean(np.log(np.array(ratios, dtype=np.float64))))
    )


def test_the_usual_sees_what_the_environment_lets_it_see() -> None:
    usual = site(environment={"max_wait_s": 500.0, "estimate": "perfect", "order": "f2"}).source.usual()
    settings = usual.settings
    assert usual.label == "fcfs/easy"
    assert (settings.policy, settings.dispatch, settings.estimate) == ("fcfs", "easy", "requested")
    assert settings.max_wait_s == 500.0


def test_rows_carry_the_marks_that_compare_gives_them(run: Path) -> None:
    write_policy(run / BEST, order="fcfs", window=200, estimate="perfect")
    here = site(environment={"window": 200, "estimate": "perfect"})
    for part in report_parts(here, [CHOSEN_CLASSIC], run):
        (group,) = part.report.logs
        roles = {role for role, one in group.contenders.items() if one.marks == (TRUE_TIMES,)}
        # The beginning and the classics see requested times; what is learned may look at all that it is shown.
        assert roles == {LEARNED} | ({BEST_SAME} if part.part == "report" else set())
        assert group.shown_label(LEARNED) == "best †"
        assert part.to_json()["logs"][0]["rows"][0]["marks"] == ["true-run-times"]
    learned = combine([str(run / BEST)], [None], ["first-fit"]).possible[0]
    ((log, windows),) = here.source.groups(here.report_episodes)[0].parts
    (judged,) = compare_combinations(log, [learned], windows).scored
    assert judged.marks == (TRUE_TIMES,)


def test_where_no_job_has_a_request_every_row_sees_run_times_or_plans_by_them(run: Path) -> None:
    untold = site(data={"workload": [LUBLIN.replace("&requests=factor", "")]})
    _, report = report_parts(untold, [CHOSEN_CLASSIC], run)
    (group,) = report.report.logs
    shown = {role: group.shown_label(role) for role in (LEARNED, BEST_CLASSIC, BASELINE)}
    assert shown == {LEARNED: "best †§", BEST_CLASSIC: "sjf/strict †", BASELINE: "fcfs/easy §"}


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
    # Drawn jobs have no requests, but whoever chooses hosts looks at no run times.
    assert not any(one.marks for one in group.contenders.values())
