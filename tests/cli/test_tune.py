"""``shunter tune``: what it prints and writes, and that what it writes is a policy like any other."""

from __future__ import annotations

import math
from inspect import signature
from pathlib import Path

import numpy as np
import pytest

from shunter.cli.tune import tune
from shunter.comparison import bench as window_runs
from shunter.comparison import combinations
from shunter.files import read_toml
from shunter.simulation.windows import WindowResults, WindowRunner
from shunter.tuning.request import TuneRequest
from shunter.tuning.weights import Plan
from tests.cli.conftest import Command

LUBLIN = "generate:lublin?seed=3&jobs=500&cores=64&load=1.1&requests=factor"
OTHER = "generate:lublin?seed=5&jobs=400&cores=32&load=1&requests=factor"
QUICK = ("--windows", 4, "--length", 40, "--generations", 3, "--population", 6, "--report-windows", 4)
SMALL = ("tune", "--workload", LUBLIN, *QUICK)


GOOD, BAD = ("fcfs", "sjf", "saf", "f2"), ("laf", "ljf")
"""Classics that a short search does not beat, and some that it does under the same rule."""
EASY = ("--dispatch", "easy")


@pytest.fixture(autouse=True)
def few_classics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four classics are quicker than all."""
    monkeypatch.setattr(combinations, "CLASSICS", BAD)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "tuned.toml"


def test_defaults_are_those_of_a_plan() -> None:
    given = {name: parameter.default for name, parameter in signature(tune).parameters.items()}
    plan = Plan()
    for name in ("windows", "length", "generations", "population", "seed"):
        assert given[name] == getattr(plan, name)
    # Half of the length, whatever that is.
    assert (given["warmup"], plan.warmup, TuneRequest.of().plan.warmup) == (None, 512, 512)
    assert TuneRequest.of(length=300).plan.warmup == 150
    assert TuneRequest.of(warmup=0).plan.warmup == 0
    assert plan.train == (0.0, given["train"])


def test_json_is_one_object(shunter: Command, out: Path) -> None:
    result = shunter(*SMALL, *EASY, "--bound", "mean-wait=1.1", "--out", out, "--json").json()
    assert (result["file"], result["kind"], result["estimate"]) == (str(out), "linear", "posterior")
    assert (result["objective"], result["bounds"]) == (
        "mean_bounded_slowdown",
        [{"metric": "mean_wait_s", "factor": 1.1}],
    )
    training = result["training"]
    # Of the four windows two are searched and one is held back; one lies on both sides of the border.
    assert (training["train"], training["simulations"], len(training["costs"])) == ([0.0, 0.6], 2 * (3 * 6 + 4), 4)
    held_back = training["held_back"]
    assert (training["warmup"], held_back["windows"], held_back["are_held_back"]) == (20, 1, True)
    (log,) = result["logs"]
    assert (log["jobs"], log["windows"], log["cluster"]) == (500, 4, "64")
    assert log["interval_note"].startswith("the windows lie in 3 blocks: below 5 no interval is given")
    roles = ["baseline", "chosen", "best", "chosen-same-estimate", "best-same-estimate", "beginning", "tuned"]
    assert [row["role"] for row in log["rows"]] == roles
    assert log["rows"][0]["label"] == "fcfs/easy"
    assert log["rows"][-1]["label"] == "tuned.toml/easy"
    assert result["pooled"] is None
    against = [finding["against"] for finding in result["verdict"]]
    assert against == [
        "beginning", "chosen", "chosen-same-estimate", "best", "best-same-estimate", "baseline", "mean_wait_s",
    ]  # fmt: skip


def test_tables_for_people(shunter: Command, out: Path) -> None:
    answer = shunter(*SMALL, "--bound", "mean-wait=0.01", "--out", out)
    assert (answer.code, answer.err) == (0, "")
    assert "linear tuned for mean_bounded_slowdown, mean_wait_s at most 0.01 times" in answer.out
    words = "3 generations of 6 candidates, each in up to 16 of 4 windows of 40 jobs after 20 to warm up, seed 0"
    assert words in answer.out
    assert "later days, 0.7:1 of the log: 4 windows of 40 jobs, after 20 to warm up, in 3 blocks" in answer.out
    assert "the windows lie in 3 blocks: below 5 no interval is given" in answer.out
    assert "cannot be judged: ratio" in answer.out
    assert "(no interval: fewer than 5 blocks)" in answer.out
    assert "best in hindsight" in answer.out
    assert "the bound on mean_wait_s, at most 0.01 times that of" in answer.out
    assert "does NOT hold" in answer.out
    assert f"written: {out}" in answer.out


def test_the_report_is_what_the_file_does(shunter: Command, out: Path) -> None:
    """`compare` takes the same windows by the same seed."""
    tuned = shunter(*SMALL, "--seed", 2, "--out", out, "--json").json()["logs"][0]
    compare = (
        "compare",
        "--workload",
        LUBLIN,
        "--windows",
        4,
        "--length",
        40,
        "--warmup",
        20,
        "--part",
        "0.7:1",
        "--seed",
        2,
        "--json",
    )
    again = shunter(*compare, "--policy", f"{out},saf", "--estimate", out).json()
    assert again["windows"]["first"] == tuned["first"]
    own = next(row for row in again["combinations"] if row["policy"] == str(out))
    for name in ("geometric_mean", "mean", "mean_wait_s", "max_wait_s", "core_utilization"):
        assert own[name] == pytest.approx(tuned["rows"][-1][name])
    site = shunter(*compare, "--policy", "fcfs").json()["combinations"][0]
    assert site["geometric_mean"] == pytest.approx(tuned["rows"][0]["geometric_mean"])


def test_the_file_is_a_policy_like_any_other(shunter: Command, out: Path) -> None:
    result = shunter(*SMALL, "--out", out, "--json").json()
    simulate = ("simulate", "--workload", LUBLIN, "--estimate", out, "--json", "--policy")
    with_spec = shunter(*simulate, result["policy"], "--dispatch", result["dispatch"]).json()
    assert shunter(*simulate, out).json()["metrics"] == with_spec["metrics"]
    what_if = shunter(
        "what-if", "--workload", LUBLIN, "--policy", "sjf", "--change", f"policy={out},estimate={out}", "--json"
    )
    assert what_if.json()["cases"][0]["metrics"] == shunter(*simulate, out).json()["metrics"]


def test_what_the_file_tells_people(shunter: Command, out: Path) -> None:
    asked = ("--bound", "p95-wait=2", "--seed", 3, "--max-wait", 9000)
    result = shunter(*SMALL, *EASY, *asked, "--out", out, "--json").json()
    file = read_toml(out)
    assert set(file) == {"policy", "settings", "estimate", "tuned"}
    assert file["settings"] == {"dispatch": "easy", "max_wait_s": 9000.0}
    assert file["policy"] == {"kind": result["kind"], **result["parameters"], "size_by": "cores"}
    facts = file["tuned"]
    assert (facts["objective"], facts["bounds"]) == ("mean_bounded_slowdown", ["p95_wait_s=2"])
    assert (facts["dispatch"], facts["estimate"], facts["max_wait_s"]) == ("easy", "posterior", 9000.0)
    assert (facts["seed"], facts["generations"], facts["population"], facts["train"]) == (3, 3, 6, [0.0, 0.6])
    assert (facts["simulations"], facts["cost"]) == (
        result["training"]["simulations"], result["training"]["costs"][-1],
    )  # fmt: skip
    (log,) = facts["logs"]
    assert (log["name"], log["sha256"]) == (LUBLIN, result["logs"][0]["workload_sha256"])
    chosen = next(row["label"] for row in result["logs"][0]["rows"] if row["role"] == "chosen")
    assert log["chosen"] == chosen


def test_tuning_sees_training_days_and_the_report_later_ones(
    shunter: Command, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, int]] = []

    class Spy(WindowRunner):
        def run(self, settings: object, first: object, length: int, threads: int = 1) -> WindowResults:
            begins = np.asarray(first)
            seen.append((int(begins.min()), int(begins.max()) + length - 1))
            return super().run(settings, first, length, threads)  # type: ignore[arg-type]

    monkeypatch.setattr(window_runs, "WindowRunner", Spy)
    shunter(*SMALL, "--out", out, "--json").json()
    later = next(place for place, (begin, _) in enumerate(seen) if begin >= 350)
    assert all(end < 300 for _, end in seen[:later])
    assert all(begin >= 350 for begin, _ in seen[later:])


@pytest.mark.slow
def test_several_logs(shunter: Command, out: Path, tmp_path: Path) -> None:
    plot = tmp_path / "tuned.png"
    options = ("--workload", OTHER, "--cluster", 64, "--cluster", 40, "--out", out, "--plot", plot)
    result = shunter(*SMALL, *options, "--json").json()
    assert [log["cluster"] for log in result["logs"]] == ["64", "40"]
    assert [row["role"] for row in result["pooled"]][-1] == "tuned"
    assert result["pooled"][-1]["against"]["tuned"]["ratio"] == 1.0
    assert [log["name"] for log in read_toml(out)["tuned"]["logs"]] == [LUBLIN, OTHER]
    assert plot.read_bytes().startswith(b"\x89PNG")
    answer = shunter(*SMALL, *options, "--force")
    assert "all 2 logs together: mean_bounded_slowdown, each log counting the same" in answer.out
    assert f"written: {plot}" in answer.out


def test_slurms_weights_without_estimates(shunter: Command, out: Path, tmp_path: Path) -> None:
    site = tmp_path / "site.toml"
    site.write_text('[policy]\nkind = "multifactor"\nage = 500\n')
    options = ("--kind", "multifactor", "--estimate", "requested", "--baseline", site, "--objective", "p95-wait")
    result = shunter(*SMALL, *options, "--dispatch", "strict", "--out", out, "--json").json()
    assert set(result["parameters"]) >= {"age", "size", "fair_share", "favor_small", "max_age_s", "half_life_s"}
    rows = result["logs"][0]["rows"]
    assert [(row["role"], row["label"]) for row in rows if row["role"] in ("baseline", "tuned")] == [
        ("baseline", "site.toml/easy"),
        ("tuned", "tuned.toml/strict"),
    ]
    assert len(rows) == 5
    assert read_toml(out)["estimate"] == {"kind": "requested"}
    other = shunter(*SMALL, "--site", f"{site}/3", "--out", out, "--force", "--json").json()
    assert other["logs"][0]["rows"][0]["label"] == "site.toml/3"


def test_the_same_seed_gives_the_same_weights(shunter: Command, out: Path, tmp_path: Path) -> None:
    second = tmp_path / "second.toml"
    for path in (out, second):
        shunter(*SMALL, "--seed", 5, "--out", path, "--json").json()
    first, again = read_toml(out), read_toml(second)
    assert (first["policy"], first["estimate"]) == (again["policy"], again["estimate"])


def test_a_score_that_is_not_better_gives_way_to_the_classic(
    shunter: Command, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is that classic then, with its rule and its estimate, and the words say so."""
    monkeypatch.setattr(combinations, "CLASSICS", GOOD)
    result = shunter(*SMALL, "--out", out, "--json").json()
    held_back = result["training"]["held_back"]
    assert result["keeps_classic"] is held_back["keeps_classic"] is True
    assert held_back["cost"] >= 0
    policy, dispatch = result["training"]["classic"].split("/")
    assert policy in GOOD
    assert (result["kind"], result["dispatch"]) == (policy, dispatch)
    file = read_toml(out)
    assert (file["policy"]["kind"], file["settings"]) == (policy, {"dispatch": dispatch})
    assert file["estimate"]["kind"] == result["estimate"]
    assert file["tuned"]["keeps_classic"] is True
    assert out.read_text().startswith("# A classic: 'shunter tune' found no score that was better")
    simulate = ("simulate", "--workload", LUBLIN, "--estimate", out, "--json")
    named = shunter(*simulate, "--policy", policy, "--dispatch", dispatch).json()
    assert shunter(*simulate, "--policy", out).json()["metrics"] == named["metrics"]
    answer = shunter(*SMALL, "--out", out, "--force")
    assert "keep the classic: in 1 held-back training window the tuned score's mean_bounded_slowdown is" in answer.out
    assert "the best classic in the windows searched" in answer.out
    assert ", the best on all training days" in answer.out


@pytest.mark.parametrize(("objective", "sign"), [("mean_bounded_slowdown", 1), ("core_utilization", -1)])
def test_costs_are_told_as_ratios(shunter: Command, out: Path, objective: str, sign: int) -> None:
    """Whatever was compared with what, a reader finds how many times it is; of a utilization, more is better."""
    options = (*SMALL, *EASY, "--objective", objective, "--out", out)
    result = shunter(*options, "--json").json()
    answer = " ".join(shunter(*options, "--force").out.split())
    first, last = (math.exp(sign * result["training"]["costs"][place]) for place in (0, -1))
    assert f"in the windows searched the tuned score's {objective} is {last:.3g} times that of " in answer
    assert f"; where the search began it was {first:.3g} times" in answer
    held_back = math.exp(sign * result["training"]["held_back"]["cost"])
    assert f"held-back training window the tuned score's {objective} is {held_back:.3g} times that of " in answer


def test_a_kept_classic_has_its_own_parameters(shunter: Command, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """f2 counts from the log's beginning unless told otherwise, and the file says so in the same word."""
    monkeypatch.setattr(combinations, "CLASSICS", ("f2",))
    result = shunter(*SMALL, "--bound", "mean-wait=1", "--seed", 1, "--out", out, "--json").json()
    assert (result["keeps_classic"], result["kind"], result["parameters"]) == (True, "f2", {"origin": "log"})
    simulate = ("simulate", "--workload", LUBLIN, "--estimate", out, "--json")
    named = shunter(*simulate, "--policy", result["policy"], "--dispatch", result["dispatch"]).json()
    assert shunter(*simulate, "--policy", out).json()["metrics"] == named["metrics"]


def test_a_better_score_is_written(shunter: Command, out: Path) -> None:
    result = shunter(*SMALL, *EASY, "--out", out, "--json").json()
    assert (result["keeps_classic"], result["kind"]) == (False, "linear")
    assert result["training"]["held_back"]["cost"] < 0
    assert (
        "the best classic in the windows searched: the score is written"
        in shunter(*SMALL, *EASY, "--out", out, "--force").out
    )


def test_a_score_that_breaks_a_bound_on_held_back_days_is_not_written(shunter: Command, out: Path) -> None:
    """Better or not: the classic keeps a bound that is relative to it."""
    result = shunter(*SMALL, "--bound", "utilization=1.5", "--bound", "mean-wait=1", "--out", out, "--json").json()
    held_back = result["training"]["held_back"]
    assert (held_back["broken"], held_back["classic_broken"]) != (0.0, 0.0)
    expected = (held_back["broken"], held_back["cost"]) >= (held_back["classic_broken"], 0.0)
    assert result["keeps_classic"] is expected


def test_training_days_choose_the_estimate_unless_one_is_named(
    shunter: Command, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every user asks for the same; one needs a minute and the other ten, which only their past tells."""
    monkeypatch.setattr(combinations, "CLASSICS", ("fcfs", "sjf"))
    log, is_short = tmp_path / "log.csv", [(job * job) % 7 < 3 for job in range(500)]
    lines = [f"{100 * job},{60 if short else 600},3600,1,u{short}\n" for job, short in enumerate(is_short)]
    log.write_text("submit_s,run_s,requested_s,cores_per_task,user\n" + "".join(lines))
    options = ("tune", "--workload", log, "--cluster", 2, *QUICK, "--out", out, "--json")
    result = shunter(*options).json()
    assert result["estimates_tried"] == ["requested", "last-two", "posterior"]
    assert result["estimate"] in ("last-two", "posterior")
    assert read_toml(out)["estimate"]["kind"] == result["estimate"]
    named = shunter(*options, "--estimate", "requested", "--force").json()
    assert (named["estimates_tried"], named["estimate"]) == (["requested"], "requested")


def test_what_is_left_out_is_told(shunter: Command, out: Path, tmp_path: Path) -> None:
    """An estimate that the log does not support, policies and rules that are not tried, windows without room."""
    log = tmp_path / "log.csv"
    lines = [f"{30 * job},{40 + job % 90},{100 + job % 7},2\n" for job in range(300)]
    log.write_text("submit_s,run_s,requested_s,cores_per_task\n" + "".join(lines))
    options = ("tune", "--workload", log, "--cluster", 4, *QUICK, "--windows", 999, "--out", out)
    result = shunter(*options, "--json").json()
    assert result["estimates_tried"] == ["requested", "posterior"]
    for line in (
        "estimate last-two: a log names no users",
        "policy srtf, las, srsf, gittins: stops running jobs",
        "dispatch committed, committed-backfill: near the best on none of the public logs",
    ):
        assert line in result["left_out"]
    assert any("999 windows of --train were asked for; the log has room for " in line for line in result["left_out"])
    assert "left out: estimate last-two: a log names no users" in shunter(*options, "--force").out


def test_what_a_limit_on_waits_costs(shunter: Command, out: Path) -> None:
    """Several values are a question: they are tried on what was found, which carries none of them."""
    options = (*SMALL, "--max-wait", "off,50000,10m", "--out", out)
    result = shunter(*options, "--json").json()
    rows = result["logs"][0]["max_wait"]
    assert [row["max_wait_s"] for row in rows] == [None, 50000.0, 600.0]
    assert (result["max_wait_s"], "max_wait_s" in read_toml(out)["settings"]) == (None, False)
    tuned = result["logs"][0]["rows"][-1]
    assert [rows[0][name] for name in ("geometric_mean", "mean", "mean_wait_s", "longest_wait_s")] == [
        tuned[name] for name in ("geometric_mean", "mean", "mean_wait_s", "max_wait_s")
    ]
    compare = ("compare", "--workload", LUBLIN, "--windows", 4, "--length", 40, "--warmup", 20, "--part", "0.7:1")
    for row in rows[1:]:
        guarded = shunter(
            *compare, "--policy", out, "--estimate", out, "--max-wait", row["max_wait_s"], "--json"
        ).json()["combinations"][0]
        assert row["geometric_mean"] == pytest.approx(guarded["geometric_mean"])
        assert row["longest_wait_s"] == guarded["max_wait_s"]
    assert len({row["geometric_mean"] for row in rows}) > 1
    out_text = shunter(*options, "--force").out
    assert "what --max-wait costs on later days" in out_text
    assert "off (the file's)" in out_text


def test_one_limit_is_a_wish_that_the_file_carries(shunter: Command, out: Path) -> None:
    result = shunter(*SMALL, "--max-wait", 600, "--out", out, "--json").json()
    values = [row["max_wait_s"] for row in result["logs"][0]["max_wait"]]
    assert values == [None, 604800.0, 259200.0, 86400.0, 43200.0, 600.0]
    simulate = ("simulate", "--workload", LUBLIN, "--estimate", out, "--policy", out, "--json")
    assert shunter(*simulate).json()["metrics"] == shunter(*simulate, "--max-wait", 600).json()["metrics"]
    assert shunter(*simulate).json()["metrics"] != shunter(*simulate, "--max-wait", 10**8).json()["metrics"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--objective", "slownes"), "unknown objective 'slownes'; did you mean"),
        (("--bound", "mean-wait"), "--bound is 'mean-wait'; expected a metric and a positive factor"),
        (("--bound", "mean-wait=-1"), "--bound is 'mean-wait=-1'"),
        (("--bound", "wate=1"), "unknown bound 'wate'"),
        (("--kind", "neural"), "unknown kind 'neural'; the known ones are linear"),
        (("--baseline", "fcsf/easy"), "unknown policy 'fcsf'"),
        (("--site", "missing.toml/easy"), "missing.toml: no such file"),
        (("--dispatch", "eazy"), "unknown dispatch 'eazy'"),
        (("--estimate", "guess"), "unknown estimate 'guess'"),
        (("--train", "1"), "--train is 1; expected a part of the log above 0 and below 1"),
        (("--train", "0.8"), "--report is '0.7:1'; expected two rising fractions of the log behind the training days"),
        (("--report", "0.9"), "--report is '0.9'; expected two fractions of the log such as 0.7:1"),
        (("--report", "0.9:0.8"), "--report is '0.9:0.8'"),
        (("--report-windows", "0"), "--report-windows is 0; expected 1 or more"),
        (("--population", "2"), "--population is 2; expected 4 to 10000000"),
        (("--generations", "0"), "--generations is 0; expected 1 to 10000000"),
        (("--threads", "0"), "--threads is 0; expected 1 to 10000000"),
        (("--length", "0"), "--length is 0; expected 1 to 10000000"),
        (
            ("--length", "200", "--warmup", "0"),
            f"{LUBLIN} has 500, its part 0.7:1 (--report) 150; give a shorter window, as in --length 50",
        ),
        (("--length", "301", "--warmup", "0"), f"{LUBLIN} has 500, its part 0:0.6 (--train) 300; give"),
        (
            ("--length", "201"),
            "its part 0:0.6 (--train) 300, and 200 of them have 100 jobs (--warmup) before them; give",
        ),
        (("--max-wait", "1d,soon"), "'soon' is not a time"),
        (("--max-wait", "-1"), "--max-wait (max_wait_s) is -1.0"),
        (("--max-wait", "60,,90"), "--max-wait is '60,,90'; expected names with single commas between them"),
        (("--cluster", "64", "--cluster", "32"), "--cluster is given 2 times for 1 logs; give one for each"),
        (("--cluster", "1", "--strict"), "jobs can never fit on 1; give a larger cluster, or leave --strict out"),
        (("--objective", "memory_utilization"), "memory_utilization has no meaning in the training windows"),
        (("--plot", "tuned.gif"), "--plot tuned.gif: unknown suffix '.gif'"),
    ],
)
def test_errors_are_one_line_and_nothing_is_written(
    shunter: Command, out: Path, options: tuple[str, ...], message: str
) -> None:
    assert message in shunter(*SMALL, *options, "--out", out).error()
    assert not out.exists()


def test_a_file_is_overwritten_only_when_asked_to(shunter: Command, out: Path) -> None:
    out.write_text("mine")
    assert "the file exists; give another name, or --force to overwrite it" in shunter(*SMALL, "--out", out).error()
    assert out.read_text() == "mine"
    shunter(*SMALL, "--out", out, "--force", "--json").json()
    assert out.read_text() != "mine"


def test_outputs_that_cannot_be(shunter: Command, tmp_path: Path) -> None:
    assert (
        "give a name that ends in .toml, by which --policy knows a file"
        in shunter(*SMALL, "--out", tmp_path / "tuned.json").error()
    )
    assert "there is no folder" in shunter(*SMALL, "--out", tmp_path / "none" / "tuned.toml").error()
    site = tmp_path / "site.toml"
    site.write_text('[policy]\nkind = "multifactor"\n')
    assert "--out would overwrite the file of" in shunter(*SMALL, "--site", site, "--out", site, "--force").error()
    assert "Missing option '--out'" in shunter(*SMALL).error()


def test_a_policy_that_knows_run_times_is_marked(shunter: Command, out: Path) -> None:
    """And so is everybody who sees what it sees; the others are not."""
    options = (*SMALL, "--estimate", "perfect", "--out", out.with_suffix(".toml"))
    answer = shunter(*options)
    assert "† sees true run times, which no scheduler knows" in answer.out
    (log,) = shunter(*options, "--force", "--json").json()["logs"]
    marks = {row["role"]: row["marks"] for row in log["rows"]}
    assert marks["tuned"] == marks["best-same-estimate"] == ["true-run-times"]
    assert marks["baseline"] == marks["best"] == []
