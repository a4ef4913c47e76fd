"""One way to schedule from texts: what a policy implies, settings of GPU clusters, and what is said of mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from shunter import InputError, Policy, QueueView
from shunter.model.cluster import Cluster
from shunter.model.workload import Workload
from shunter.policies.catalog import ESTIMATE_CODES, ESTIMATES, KNOWN_POLICIES, PLACEMENTS
from shunter.policies.native import resolve_estimate, resolve_native
from shunter.policies.scheduler import resolve_placement, resolve_scheduler
from tests.simulation.placers import FirstFit, write_placers

LOG = Workload.from_frame(pl.DataFrame({"submit_s": [0.0], "run_s": [1.0]}), name="one")


class Named(Policy):
    """A policy of the user's own, whatever it is called."""

    def __init__(self, name: str) -> None:
        self.name = name

    def score(self, queue: QueueView) -> NDArray[np.float64]:
        return queue.submit_s


def test_the_numbers_of_the_core() -> None:
    codes = {name: KNOWN_POLICIES[name].code for name in ("qssf", "srtf", "las", "srsf", "gittins")}
    assert codes == {"qssf": 25, "srtf": 26, "las": 27, "srsf": 28, "gittins": 29}
    assert ESTIMATE_CODES["history"] == list(ESTIMATES).index("history") == 5
    assert list(PLACEMENTS)[6:] == [
        *("fastest", "slowest-that-fits", "tiered-defrag", "tiered-balance", "tiered-lex", "fgd", "topology"),
        *("milp", "milp-full"),
    ]


def test_what_the_core_is_told() -> None:
    def parameters(policy: str) -> list[float]:
        told: list[float] = resolve_native(policy).for_core(LOG, Cluster.pool(4)).parameters.tolist()
        return told

    assert parameters("las") == []
    assert parameters("las?first_s=3600") == [3600.0, 36_000.0]
    assert parameters("las?first_s=5&second_s=7.5") == [5.0, 7.5]
    assert parameters("las?second_s=inf") == [3600.0]
    assert parameters("qssf") == parameters("srsf") == parameters("srtf?outlived=ends") == []
    assert parameters("srtf") == parameters("srtf?outlived=doubles") == [1.0]
    assert parameters("gittins?decay=0.5&bins=7") == [7.0, 30.0, 3.0, 0.5, 0.999, 4.0]
    history = resolve_estimate("history")
    assert (history.code, history.parameters.tolist(), history.is_learned) == (5, [], True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("las?first_s=0", "first_s is 0; expected a positive number"),
        ("las?first_s=inf", "first_s is inf; expected a positive number"),
        ("las?second_s=3600", "second_s is 3600; expected more than first_s, which is 3600"),
        ("las?second_s=-inf", "second_s is -inf; expected more than first_s, which is 3600"),
        ("las?third_s=1", "policy 'las' has no parameter 'third_s'; it knows first_s, second_s"),
        ("srtf?first_s=1", "policy 'srtf' has no parameter 'first_s'; it knows outlived"),
        ("srsf?first_s=1", "policy 'srsf' has no parameter 'first_s'; it has none"),
        ("srtf?outlived=1", "outlived '1'; the known ones are ends, doubles"),
        ("gittins?bins=1", "bins is 1; expected a whole number from 2 to 64"),
        ("gittins?bins=2.5", "bins is 2.5; expected a whole number from 2 to 64"),
        ("gittins?decay=1.5", "decay is 1.5; expected a number from 0 to 1"),
        ("gittins?shrinkage=0", "shrinkage is 0; expected a number from 1e-06 to 1e+09"),
        ("gittins?shortest_s=inf", "shortest_s is inf; expected a finite number"),
        ("gittins?bins=64", "64 bins from 30 s on, each 3 times as long, reach beyond 1e+09 s; take fewer, or"),
    ],
)
def test_wrong_parameters_of_policies_that_stop_jobs(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        resolve_native(text)
    assert message in str(caught.value)


def test_who_tells_no_user_is_counted() -> None:
    expected = {"user": "no user: history goes by the jobs of the same size, or by all"}
    assert resolve_estimate("history").stand_ins() == expected
    assert resolve_estimate("posterior").stand_ins() == resolve_estimate("requested").stand_ins() == {}
    assert resolve_native("qssf").stand_ins() == {}, "it sees users only through its estimate"


@pytest.mark.parametrize("policy", ["srtf", "las", "las?first_s=10", "srsf", "gittins"])
def test_policies_that_stop_jobs_are_greedy(policy: str) -> None:
    assert resolve_scheduler(policy=policy).dispatch.text == "greedy"
    assert resolve_scheduler(policy=policy, dispatch="greedy").settings.dispatch == "greedy"
    kind = policy.partition("?")[0]
    what = f"policy '{kind}' starts whatever fits, and stops others for it, but dispatch is 'easy'; use 'greedy' with"
    with pytest.raises(InputError, match=what):
        resolve_scheduler(policy=policy, dispatch="easy")


def test_qssf_goes_by_history_unless_an_estimate_is_named(tmp_path: Path) -> None:
    file = tmp_path / "site.toml"
    file.write_text('[policy]\nkind = "qssf"\n')
    for policy in ("qssf", str(file)):
        scheduler = resolve_scheduler(policy=policy)
        assert (scheduler.settings.estimate, scheduler.settings.dispatch) == ("history", "easy")
        assert scheduler.estimate.kind == "history"
        assert resolve_scheduler(policy=policy, estimate="requested").settings.estimate == "requested"
    assert resolve_scheduler(policy="sjf").settings.estimate == "requested"
    assert resolve_scheduler(policy=Named("qssf")).settings.estimate == "requested"


def test_placements_by_name_with_parameters_or_from_a_file(tmp_path: Path) -> None:
    for name in PLACEMENTS:
        assert resolve_scheduler(placement=name).settings.placement == name
    assert resolve_scheduler(placement="milp?alpha=2").settings.placement == "milp?alpha=2"
    text = f"{write_placers(tmp_path)}:LastFit"
    scheduler = resolve_scheduler(placement=text)
    assert (scheduler.settings.placement, scheduler.files) == (text, {"placement": tmp_path / "my.py"})


@pytest.mark.parametrize(
    ("placement", "message"),
    [
        ("fasted", "unknown placement 'fasted'; did you mean 'fastest'? The known ones are first-fit, "),
        ("pack?alpha=2", "placement 'pack?alpha=2': 'pack' has no parameters; leave out what follows the name"),
        ("milpp?alpha=2", "unknown placement 'milpp'; did you mean 'milp'?"),
        ("gone.py", "placement 'gone.py': there is no such file; expected FILE.py or FILE.py:CLASS"),
    ],
)
def test_wrong_placements(placement: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        resolve_scheduler(placement=placement)
    assert message in str(caught.value)


def test_jobs_that_are_stopped_and_nodes_that_fail(tmp_path: Path) -> None:
    plain = resolve_scheduler().settings
    assert (plain.preemption_overhead_s, plain.preempted_progress, plain.min_run_s) == (0.0, "kept", 0.0)
    assert (plain.failures, plain.mtbf_s, plain.mttr_s, plain.failed_progress) == (None, None, None, "lost")
    asked: dict[str, Any] = {
        **{"preemption_overhead_s": 30.0, "preempted_progress": "lost", "min_run_s": 300.0},
        **{"mtbf_s": 1e6, "mttr_s": 3600.0, "failed_progress": "kept"},
    }
    settings = resolve_scheduler(policy="fcfs", failures=[(5, "n1", "down")], **asked).settings
    assert {name: getattr(settings, name) for name in asked} == asked
    assert settings.failures == ((5.0, "n1", "down"),)
    assert len({settings, plain}) == 2, "settings can be told apart, and stand in sets"
    file = tmp_path / "failures.csv"
    file.write_text("time_s,node,event\n5,n1,down\n")
    scheduler = resolve_scheduler(failures=str(file))
    assert (scheduler.settings.failures, scheduler.files) == (str(file), {"failures": file})


WRONG: list[tuple[dict[str, Any], str]] = [
    (
        {"preemption_overhead_s": -1},
        "--preemption-overhead (preemption_overhead_s) is -1; expected a number from 0 to 1000000000",
    ),
    ({"preemption_overhead_s": float("nan")}, "(preemption_overhead_s) is nan; expected a number from 0 to"),
    ({"min_run_s": 2e9}, "--min-run (min_run_s) is 2000000000.0; expected a number from 0 to 1000000000"),
    ({"preempted_progress": "keep"}, "unknown --preempted-progress (preempted_progress) 'keep'; did you mean 'kept'?"),
    ({"failed_progress": "none"}, "unknown --failed-progress (failed_progress) 'none'; the known ones are kept, lost"),
    ({"mtbf_s": 5.0}, "--mtbf (mtbf_s) is 5, but --mttr (mttr_s) is not given; give both"),
    ({"mttr_s": 5.0}, "--mttr (mttr_s) is 5, but --mtbf (mtbf_s) is not given; give both"),
    ({"mtbf_s": 0.0, "mttr_s": 5.0}, "--mtbf (mtbf_s) is 0.0; expected a number from 0.001 to 1000000000"),
    ({"mtbf_s": 5.0, "mttr_s": float("inf")}, "--mttr (mttr_s) is inf; expected a number from 0.001 to"),
    ({"failures": [(1.0, "n", "broken")]}, "failures: event 1: unknown event 'broken'"),
    ({"failures": "gone.csv"}, "gone.csv: no such failures file; check the path"),
]


@pytest.mark.parametrize(("given", "message"), WRONG, ids=[message[:30] for _, message in WRONG])
def test_wrong_numbers_and_words(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        resolve_scheduler(**given)
    assert message in str(caught.value)


# ---- what a policy implies, however it is given ----


def given_as(kind: str, how: str, folder: Path) -> str:
    """Returns a policy as its name, with a question mark, or in a file."""
    file = folder / "site.toml"
    file.write_text(f'[policy]\nkind = "{kind}"\n')
    return {"name": kind, "query": f"{kind}?", "file": str(file)}[how]


@pytest.mark.parametrize("how", ["name", "query", "file"])
def test_the_policy_that_never_waits_is_greedy(tmp_path: Path, how: str) -> None:
    policy = given_as("random-feasible", how, tmp_path)
    assert resolve_scheduler(policy=policy).dispatch.text == "greedy"
    assert resolve_scheduler(policy=policy, dispatch="greedy").settings.dispatch == "greedy"
    with pytest.raises(InputError, match="policy 'random-feasible' never waits, but dispatch is 'easy'; use 'greedy'"):
        resolve_scheduler(policy=policy, dispatch="easy")


@pytest.mark.parametrize("how", ["name", "query", "file"])
def test_the_policy_that_places_first_fit(tmp_path: Path, how: str) -> None:
    policy = given_as("first-available", how, tmp_path)
    assert resolve_scheduler(policy=policy).settings.placement == "first-fit"
    for same in ("first-fit", resolve_placement("first-fit")):
        assert resolve_scheduler(policy=policy, placement=same).settings.placement == "first-fit"
    for other, name in (("pack", "pack"), (resolve_placement("pack"), "pack"), (FirstFit(), FirstFit.name)):
        with pytest.raises(
            InputError, match=f"policy 'first-available' places first-fit, but placement is '{name}'; use policy 'fcfs'"
        ):
            resolve_scheduler(policy=policy, placement=other)


def test_other_policies_are_easy() -> None:
    assert resolve_scheduler(policy="fair-share").settings.dispatch == "easy"
    assert resolve_scheduler(policy=Named("random-feasible")).settings.dispatch == "easy"
    assert resolve_scheduler(policy="fair-share", dispatch=3).settings.dispatch == "3"


def test_a_placer_that_is_handed_over_is_the_one_that_is_asked() -> None:
    placer = FirstFit()
    scheduler = resolve_scheduler(placement=placer)
    assert scheduler.settings.placement == "python-first-fit"
    assert scheduler.placement.make_placer is not None
    assert scheduler.placement.make_placer() is placer


def test_what_is_put_in_the_place_of_something_is_looked_up() -> None:
    changed = resolve_scheduler(seed=3).changed(policy="sjf", dispatch="2", estimate="noisy?sigma=0.5", scan_depth=7)
    assert changed == resolve_scheduler(policy="sjf", dispatch=2, estimate="noisy?sigma=0.5", scan_depth=7, seed=3)
    assert (changed.policy.text, changed.dispatch.reservations, changed.estimate.kind) == ("sjf", 2, "noisy")
    for wrong in ({"policy": "sfj"}, {"dispatch": "eazy"}, {"estimate": "noisi"}):
        with pytest.raises(InputError, match="unknown"):
            changed.changed(**wrong)


def test_a_setting_that_there_is_none() -> None:
    with pytest.raises(InputError, match="unknown setting 'sead'; did you mean 'seed'"):
        resolve_scheduler(sead=3)


def test_the_file_of_a_policy_brings_a_rule_and_a_guard(tmp_path: Path) -> None:
    """For those who ask for nothing else."""
    file = tmp_path / "kept.toml"
    file.write_text('[policy]\nkind = "saf"\n\n[settings]\ndispatch = "conservative"\nmax_wait_s = 3600\n')
    brought = resolve_scheduler(policy=str(file)).settings
    assert (brought.dispatch, brought.max_wait_s) == ("conservative", 3600.0)
    asked = resolve_scheduler(policy=str(file), dispatch="strict", max_wait_s=60.0).settings
    assert (asked.dispatch, asked.max_wait_s) == ("strict", 60.0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ('[settings]\ndispach = "easy"', "[settings]: unknown setting 'dispach'; did you mean 'dispatch'"),
        ("[settings]\ndispatch = 3", "[settings]: dispatch is 3; expected text"),
        ('[settings]\ndispatch = "eazy"', "unknown dispatch 'eazy'"),
        ("[settings]\nmax_wait_s = -1", "--max-wait (max_wait_s) is -1.0"),
        ("settings = 3", "[settings] is no section"),
    ],
)
def test_settings_of_a_file_that_cannot_be(tmp_path: Path, settings: str, message: str) -> None:
    file = tmp_path / "kept.toml"
    policy = '[policy]\nkind = "saf"\n'
    file.write_text(settings + "\n" + policy if settings.startswith("settings") else policy + settings + "\n")
    with pytest.raises(InputError) as raised:
        resolve_scheduler(policy=str(file))
    assert message in str(raised.value)
