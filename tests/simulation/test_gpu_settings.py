"""The settings of GPU clusters: placements, policies that stop jobs, failures, and what is said of mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from shunter.policies.native_estimate import CODES as ESTIMATE_CODES
from shunter.policies.native_estimate import estimate_stand_ins, native_estimate
from shunter.policies.native_policy import CODES, native_policy, policy_spec, stand_ins

from shunter import InputError
from shunter.model.workload import Workload
from shunter.policies.catalog import ESTIMATES, PLACEMENTS, POLICIES
from shunter.policies.scheduler import resolve_scheduler

LOG = Workload.from_frame(pl.DataFrame({"submit_s": [0.0], "run_s": [1.0]}), name="one")


def test_the_numbers_of_the_core() -> None:
    assert {name: CODES[name] for name in ("qssf", "srtf", "las")} == {"qssf": 25, "srtf": 26, "las": 27}
    assert set(POLICIES) - {"priority"} == set(CODES)
    assert ESTIMATE_CODES["history"] == list(ESTIMATES).index("history") == 5
    assert list(PLACEMENTS)[6:] == [
        *("fastest", "slowest-that-fits", "tiered-defrag", "tiered-balance", "tiered-lex", "fgd", "topology"),
        *("milp", "milp-full"),
    ]


def test_what_the_core_is_told() -> None:
    assert native_policy("las", LOG).parameters.tolist() == [3600.0, 36_000.0]
    assert native_policy("las?first_s=5&second_s=7.5", LOG).parameters.tolist() == [5.0, 7.5]
    assert native_policy("las?second_s=inf", LOG).parameters.tolist() == [3600.0]
    for name in ("qssf", "srtf"):
        assert native_policy(name, LOG).parameters.tolist() == []
    history = native_estimate("history")
    assert (history.code, history.parameters.tolist(), history.is_learned) == (5, [], True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("las?first_s=0", "first_s is 0; expected a positive number"),
        ("las?first_s=inf", "first_s is inf; expected a positive number"),
        ("las?second_s=3600", "second_s is 3600; expected more than first_s, which is 3600"),
        ("las?second_s=-inf", "second_s is -inf; expected more than first_s, which is 3600"),
        ("las?third_s=1", "policy 'las' has no parameter 'third_s'; it knows first_s, second_s"),
        ("srtf?first_s=1", "policy 'srtf' has no parameter 'first_s'; it has none"),
    ],
)
def test_wrong_thresholds(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        policy_spec(text)
    assert message in str(caught.value)


def test_who_tells_no_user_is_counted() -> None:
    assert estimate_stand_ins("history") == {"user": "no user: history goes by the jobs of the same size, or by all"}
    assert estimate_stand_ins("posterior") == estimate_stand_ins("requested") == {}
    assert stand_ins("qssf") == {}, "it sees users only through its estimate"


@pytest.mark.parametrize("policy", ["srtf", "las", "las?first_s=10"])
def test_policies_that_stop_jobs_are_greedy(policy: str) -> None:
    assert resolve_scheduler(policy=policy).dispatch == "greedy"
    assert resolve_scheduler(policy=policy, dispatch="greedy").dispatch == "greedy"
    kind = policy.partition("?")[0]
    what = f"policy '{kind}' starts whatever fits, and stops others for it, but dispatch is 'easy'; use 'greedy' with"
    with pytest.raises(InputError, match=what):
        resolve_scheduler(policy=policy, dispatch="easy")


def test_qssf_goes_by_history_unless_an_estimate_is_named(tmp_path: Path) -> None:
    file = tmp_path / "site.toml"
    file.write_text('[policy]\nkind = "qssf"\n')
    for policy in ("qssf", str(file)):
        settings = resolve_scheduler(policy=policy)
        assert (settings.estimate, settings.dispatch) == ("history", "easy")
        assert resolve_scheduler(policy=policy, estimate="requested").estimate == "requested"
    assert resolve_scheduler(policy="sjf").estimate == "requested"
    assert resolve_scheduler(policy="qssf", own_policy=True).estimate == "requested"


def test_placements_by_name_with_parameters_or_from_a_file(tmp_path: Path) -> None:
    for name in PLACEMENTS:
        assert resolve_scheduler(placement=name).placement == name
    assert resolve_scheduler(placement="milp?alpha=2").placement == "milp?alpha=2"
    file = tmp_path / "my.py"
    file.write_text("")
    for text in (str(file), f"{file}:Mine"):
        assert resolve_scheduler(placement=text).placement == text


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
    plain = resolve_scheduler()
    assert (plain.preemption_overhead_s, plain.preempted_progress, plain.min_run_s) == (0.0, "kept", 0.0)
    assert (plain.failures, plain.mtbf_s, plain.mttr_s, plain.failed_progress) == (None, None, None, "lost")
    asked: dict[str, Any] = {
        **{"preemption_overhead_s": 30.0, "preempted_progress": "lost", "min_run_s": 300.0},
        **{"mtbf_s": 1e6, "mttr_s": 3600.0, "failed_progress": "kept"},
    }
    settings = resolve_scheduler(policy="fcfs", failures=[(5, "n1", "down")], **asked)
    assert {name: getattr(settings, name) for name in asked} == asked
    assert settings.failures == ((5.0, "n1", "down"),)
    assert len({settings, plain}) == 2, "settings can be told apart, and stand in sets"
    file = tmp_path / "failures.csv"
    file.write_text("time_s,node,event\n5,n1,down\n")
    assert resolve_scheduler(failures=str(file)).failures == str(file)


WRONG: list[tuple[dict[str, Any], str]] = [
    (
        {"preemption_overhead_s": -1},
        "--preemption-overhead (preemption_overhead_s) is -1; expected 0 to 1000000000 sec",
    ),
    ({"preemption_overhead_s": float("nan")}, "(preemption_overhead_s) is nan; expected 0 to"),
    ({"min_run_s": 2e9}, "--min-run (min_run_s) is 2000000000.0; expected 0 to 1000000000 seconds"),
    ({"preempted_progress": "keep"}, "unknown preempted-progress 'keep'; did you mean 'kept'?"),
    ({"failed_progress": "none"}, "unknown failed-progress 'none'; The known ones are kept, lost"),
    ({"mtbf_s": 5.0}, "--mtbf (mtbf_s) is 5, but --mttr (mttr_s) is not given; give both"),
    ({"mttr_s": 5.0}, "--mttr (mttr_s) is 5, but --mtbf (mtbf_s) is not given; give both"),
    ({"mtbf_s": 0.0, "mttr_s": 5.0}, "--mtbf (mtbf_s) is 0.0; expected 0.001 to 1000000000 seconds"),
    ({"mtbf_s": 5.0, "mttr_s": float("inf")}, "--mttr (mttr_s) is inf; expected 0.001 to"),
    ({"failures": [(1.0, "n", "broken")]}, 'failures: event 1: event is "broken"; expected down or up'),
    ({"failures": "gone.csv"}, "gone.csv: no such failures file; check the path"),
]


@pytest.mark.parametrize(("given", "message"), WRONG, ids=[message[:30] for _, message in WRONG])
def test_wrong_numbers_and_words(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        resolve_scheduler(**given)
    assert message in str(caught.value)
