"""``shunter tune``: what it prints and writes, and that what it writes is a policy like any other."""

from __future__ import annotations

from inspect import signature
from pathlib import Path

import numpy as np
import pytest

from shunter.cli.tune import tune
from shunter.comparison import bench as window_runs
from shunter.comparison import combinations
from shunter.files import read_toml
from shunter.simulation.windows import WindowResults, WindowRunner
from shunter.tuning.weights import Plan
from tests.cli.conftest import Command

LUBLIN = "generate:lublin?seed=3&jobs=500&cores=64&load=1.1&requests=factor"
OTHER = "generate:lublin?seed=5&jobs=400&cores=32&load=1&requests=factor"
QUICK = ("--windows", 4, "--length", 40, "--generations", 3, "--population", 6, "--report-windows", 4)
SMALL = ("tune", "--workload", LUBLIN, *QUICK)


@pytest.fixture(autouse=True)
def few_classics(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four classics are as good as all, and quicker."""
    monkeypatch.setattr(combinations, "CLASSICS", ("fcfs", "sjf", "saf", "f2"))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "tuned.toml"


def test_defaults_are_those_of_a_plan() -> None:
    given = {name: parameter.default for name, parameter in signature(tune).parameters.items()}
    plan = Plan()
    for name in ("windows", "length", "warmup", "generations", "population", "seed"):
        assert given[name] == getattr(plan, name)
    assert plan.train == (0.0, given["train"])


def test_json_is_one_object(shunter: Command, out: Path) -> None:
    result = shunter(*SMALL, "--bound", "mean-wait=1.1", "--out", out, "--json").json()
    assert (result["file"], result["kind"], result["estimate"]) == (str(out), "linear", "posterior")
    assert (result["objective"], result["bounds"]) == (
        "mean_bounded_slowdown",
        [{"metric": "mean_wait_s", "factor": 1.1}],
    )
    training = result["training"]
    assert (training["train"], training["simulations"], len(training["costs"])) == ([0.0, 0.6], 4 * (3 * 6 + 4), 4)
    (log,) = result["logs"]
    assert (log["jobs"], log["windows"], log["cluster"]) == (500, 4, "64")
    assert log["interval_note"].startswith("the windows lie in 3 blocks: below 5 no interval is given")
    roles = ["baseline", "chosen", "best", "chosen-same-estimate", "best-same-estimate", "tuned"]
    assert [row["role"] for row in log["rows"]] == roles
    assert log["rows"][0]["label"] == "fcfs/easy"
    assert log["rows"][-1]["label"] == "tuned.toml/easy"
    assert result["pooled"] is None
    against = [finding["against"] for finding in result["verdict"]]
    assert against == ["best", "best-same-estimate", "chosen", "baseline", "mean_wait_s"]


def test_tables_for_people(shunter: Command, out: Path) -> None:
    answer = shunter(*SMALL, "--bound", "mean-wait=0.01", "--out", out)
    assert (answer.code, answer.err) == (0, "")
    assert "linear tuned for mean_bounded_slowdown, mean_wait_s at most 0.01 times" in answer.out
    assert "3 generations of 6 candidates, each in 4 of 4 windows of 40 jobs, seed 0" in answer.out
    assert "later days, 0.7:1 of the log: 4 windows of 40 jobs, in 3 blocks" in answer.out
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
    spec = shunter(*SMALL, "--out", out, "--json").json()["policy"]
    simulate = ("simulate", "--workload", LUBLIN, "--estimate", out, "--json", "--policy")
    assert shunter(*simulate, out).json()["metrics"] == shunter(*simulate, spec).json()["metrics"]
    what_if = shunter(
        "what-if", "--workload", LUBLIN, "--policy", "sjf", "--change", f"policy={out},estimate={out}", "--json"
    )
    assert what_if.json()["cases"][0]["metrics"] == shunter(*simulate, out).json()["metrics"]


def test_what_the_file_tells_people(shunter: Command, out: Path) -> None:
    result = shunter(*SMALL, "--bound", "p95-wait=2", "--seed", 3, "--max-wait", 9000, "--out", out, "--json").json()
    file = read_toml(out)
    assert set(file) == {"policy", "estimate", "tuned"}
    assert file["policy"] == {"kind": "linear", **result["parameters"]}
    facts = file["tuned"]
    assert (facts["objective"], facts["bounds"]) == ("mean_bounded_slowdown", ["p95_wait_s=2"])
    assert (facts["dispatch"], facts["estimate"], facts["max_wait_s"]) == ("easy", "posterior", 9000.0)
    assert (facts["seed"], facts["generations"], facts["population"], facts["train"]) == (3, 3, 6, [0.0, 0.6])
    assert (facts["simulations"], facts["cost"]) == (88, result["training"]["costs"][-1])
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
    options = ("--kind", "multifactor", "--estimate", "requested", "--site", site, "--objective", "p95-wait")
    result = shunter(*SMALL, *options, "--dispatch", "strict", "--out", out, "--json").json()
    assert set(result["parameters"]) == {"age", "size", "fair_share", "favor_small", "max_age_s", "half_life_s"}
    rows = result["logs"][0]["rows"]
    assert [(row["role"], row["label"]) for row in rows if row["role"] in ("baseline", "tuned")] == [
        ("baseline", "site.toml/easy"),
        ("tuned", "tuned.toml/strict"),
    ]
    assert len(rows) == 4
    assert read_toml(out)["estimate"] == {"kind": "requested"}
    other = shunter(*SMALL, "--site", f"{site}/3", "--out", out, "--force", "--json").json()
    assert other["logs"][0]["rows"][0]["label"] == "site.toml/3"


def test_the_same_seed_gives_the_same_weights(shunter: Command, out: Path, tmp_path: Path) -> None:
    second = tmp_path / "second.toml"
    for path in (out, second):
        shunter(*SMALL, "--seed", 5, "--out", path, "--json").json()
    first, again = read_toml(out), read_toml(second)
    assert (first["policy"], first["estimate"]) == (again["policy"], again["estimate"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--objective", "slownes"), "unknown objective 'slownes'; did you mean"),
        (("--bound", "mean-wait"), "--bound is 'mean-wait'; expected a metric and a positive factor"),
        (("--bound", "mean-wait=-1"), "--bound is 'mean-wait=-1'"),
        (("--bound", "wate=1"), "unknown bound 'wate'"),
        (("--kind", "neural"), "unknown kind 'neural'; the known ones are linear"),
        (("--site", "fcsf/easy"), "unknown policy 'fcsf'"),
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
            ("--length", "200"),
            f"{LUBLIN} has 500, its part 0.7:1 (--report) 150; give a shorter window, or a longer log",
        ),
        (("--length", "301"), f"{LUBLIN} has 500, its part 0:0.6 (--train) 300; give"),
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
