"""``shunter evaluate``: what it prints and writes."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import polars as pl
import pytest

from shunter import read_workload
from tests.agents.untrained import LUBLIN, write_host_policy, write_policy
from tests.cli.conftest import Command

TUNED = '[policy]\nkind = "linear"\nestimate = 1.0\ncores = 0.5\n\n[estimate]\nkind = "last-two"\n'


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two runs under ``runs/`` of the current folder: one is sjf with perfect estimates, the newer one fcfs."""
    monkeypatch.chdir(tmp_path)
    write_policy(tmp_path / "runs" / "short" / "best", order="sjf", estimate="perfect")
    older = tmp_path / "runs" / "short" / "best" / "policy.json"
    os.utime(older, (1, 1))
    day = {"log": LUBLIN, "sha256": read_workload(LUBLIN).content_sha256}
    days = [day | {"use": "trained", "part": [0.0, 0.6]}, day | {"use": "chosen", "part": [0.6, 0.7]}]
    write_policy(tmp_path / "runs" / "plain" / "last", order="fcfs", training={"days": days})
    return tmp_path / "runs"


SMALL = ("--workload", LUBLIN, "--windows", 6, "--length", 25, "--threads", 1)
FEW = ("--against", "fcfs/easy,sjf/easy,f2/greedy")


def test_json_is_one_object(shunter: Command, runs: Path) -> None:
    result = shunter("evaluate", "runs/short", "runs/plain/last", *SMALL, *FEW, "--json").json()
    rows = {row["label"]: row for row in result["combinations"]}
    words = [("fcfs", "easy"), ("sjf", "easy"), ("f2", "greedy")]
    classics = {f"{policy}/{rule}/{estimate}" for policy, rule in words for estimate in ("requested", "perfect")}
    assert set(rows) == {"runs/short", "runs/plain/last", *classics}
    assert rows["runs/short"]["role"] == "learned"
    assert rows["runs/short"]["geometric_mean"] == rows["sjf/easy/perfect"]["geometric_mean"]
    assert rows["runs/plain/last"]["mean_wait_ratio"] == rows["fcfs/easy/requested"]["mean_wait_ratio"]
    best = min(
        (row for label, row in rows.items() if label.endswith("/requested")), key=lambda row: row["geometric_mean"]
    )
    assert result["best_classic"] == result["baseline"] == best["label"]
    assert best["role"] == "best"
    assert (result["part"], result["windows"]["count"], result["metric"]) == ("0.7:1", 6, "mean_bounded_slowdown")
    assert min(result["windows"]["first"]) >= 0.7 * 600
    assert [(one["label"], one["against"]) for one in result["verdict"]] == [
        ("runs/short", "best"),
        ("runs/short", "best-same-estimate"),
        ("runs/plain/last", "best"),
    ]
    assert result["warnings"] == [
        "runs/short does not say what it was trained on; make sure that it was not on this part of the log"
    ]


def test_against_all(shunter: Command, runs: Path) -> None:
    options = ("--workload", LUBLIN, "--windows", 5, "--length", 15, "--threads", 1)
    result = shunter("evaluate", "runs/plain", *options, "--json").json()
    rules = {row["label"].partition("/")[2] for row in result["combinations"] if row["role"] != "learned"}
    assert rules == {"strict", "greedy", "easy", "conservative"}
    assert len(result["combinations"]) > 80


def test_the_newest_run_is_taken_and_named(shunter: Command, runs: Path) -> None:
    answer = shunter("evaluate", *SMALL, *FEW)
    assert (answer.code, answer.err) == (0, "")
    assert "the newest run: runs/plain" in answer.out
    assert "6 windows of 25 jobs, in 6 blocks of 0.7:1 of the log, seed 0" in answer.out
    assert "best in hindsight" in answer.out
    assert "runs/plain and the best classic" in answer.out or "runs/plain is " in answer.out
    assert "warning" not in answer.out


def test_tables_show_the_best_classics(shunter: Command, runs: Path) -> None:
    answer = shunter("evaluate", "runs/short", *SMALL, *FEW, "--top", 1, "--part", "0.5:1")
    assert "the newest run" not in answer.out
    assert "best, same estimate" in answer.out
    assert "not shown (--top): 4 classics" in answer.out
    assert "runs/short" in answer.out


def test_it_ends_with_what_to_do(shunter: Command, runs: Path) -> None:
    columns = ("submit_s", "run_s", "requested_s", "tasks", "cores_per_task")
    Path("log.csv").write_text(read_workload(LUBLIN).jobs.select(columns).write_csv())
    small = ("--cluster", 64, "--windows", 12, "--length", 60, "--warmup", 60, "--part", "0:1")
    write_policy(runs / "good" / "best", order="sjf")
    answer = shunter("evaluate", "runs/good", "log.csv", *small, "--against", "ljf/easy")
    sentence, command = answer.out.rstrip().split("\n")[-2:]
    rival = "the best classic in hindsight"
    assert sentence.startswith("What to do: try the learned policy (runs/good). The learned policy is better than ")
    assert f"{rival} (ljf/easy): ratio 0." in sentence
    assert command == "  to simulate it: shunter simulate log.csv --cluster 64 --policy runs/good"
    # The command can be pasted.
    assert shunter(*command.partition("shunter ")[2].split()).code == 0
    result = shunter("evaluate", "runs/good", "log.csv", *small, "--against", "sjf/easy", "--json").json()
    assert result["next_step"].startswith(f"What to do: keep {rival} (sjf/easy). ")


def test_marks_stand_in_the_tables_of_what_is_judged(shunter: Command, runs: Path) -> None:
    """Where those who are judged against each other share a mark that other classics do not have."""
    untold = LUBLIN.replace("&requests=factor", "")
    options = ("evaluate", "runs/short", untold, "--windows", 6, "--length", 25, "--against", "sjf/easy,fcfs/greedy")
    answer = shunter(*options)
    judged, _, everybody = answer.out.partition("over the windows, best")
    for part in (judged, everybody):
        assert "runs/short †§" in part
        assert "sjf/easy/requested †§" in part
    assert "; but it sees true run times, which no scheduler knows" in judged
    result = shunter(*options, "--json").json()
    assert result["shared_marks"] == []
    assert [row["marks"] for row in result["judged"][0]["rows"]] == [["true-run-times", "true-plans"]] * 3
    assert {tuple(one["marks"]) for one in result["verdict"]} == {("true-run-times", "true-plans")}


def test_without_a_log_the_example_can_be_pasted(shunter: Command, runs: Path) -> None:
    said = "no job log is given (see 'shunter evaluate --help'); name one, as in: "
    assert shunter("evaluate", "runs/short", "runs/plain").error() == (
        f"{said}shunter evaluate runs/short runs/plain log.swf.gz"
    )
    log = {"name": LUBLIN, "words": [LUBLIN, "--cluster", "64"]}
    write_policy(runs / "known" / "best", training={"logs": [log]})
    message = shunter("evaluate", "runs/known").error()
    words = shlex.split(message.removeprefix(said))
    assert words == ["shunter", "evaluate", "runs/known", LUBLIN, "--cluster", "64"]
    assert shunter(*words[1:], "--windows", 2, "--length", 25, "--against", "fcfs/easy").code == 0
    # What chooses hosts is judged by another verb.
    write_host_policy(runs / "hosts" / "best")
    assert shunter("evaluate", "runs/hosts").error() == (
        f"{said}shunter compare log.swf.gz --placement best-fit,runs/hosts"
    )


def test_a_file_that_the_run_began_as_is_shown_once(shunter: Command, runs: Path) -> None:
    Path("tuned.toml").write_text(TUNED)
    for run in ("first", "second"):
        write_policy(runs / run / "best", order="tuned.toml", estimate="tuned.toml")
    options = (*SMALL, "--against", "fcfs/easy")
    answer = shunter("evaluate", "runs/first", *options, "--also", "tuned.toml")
    judged, _, everybody = answer.out.partition("over the windows, best")
    # Its row in the tables of the run says all; a table of its own would say it again.
    assert "also judged to it" not in judged
    assert everybody.count("│ tuned.toml/easy") == 2
    for more in ((), ("--also", "tuned.toml"), ("--also", "./tuned.toml", "--also", "tuned.toml/easy")):
        result = shunter("evaluate", "runs/first", "runs/second", *options, *more, "--json").json()
        labels = [row["label"] for row in result["combinations"]]
        assert [label for label in labels if label.startswith("tuned.toml") or "./tuned" in label] == [
            "tuned.toml/easy"
        ]
        assert [[row["label"] for row in one["rows"] if row["role"] == "tuned"] for one in result["judged"][:2]] == (
            [["tuned.toml/easy"]] * 2
        )


def test_another_file_of_its_name_or_another_rule_is_told_from_it(shunter: Command, runs: Path) -> None:
    """What a run began as is never replaced by something that only looks like it."""
    Path("tuned.toml").write_text(TUNED)
    write_policy(runs / "first" / "best", order="tuned.toml", estimate="tuned.toml")
    Path("tuned.toml").write_text(TUNED.replace("0.5", "0.7"))
    write_policy(runs / "second" / "best", order="tuned.toml", estimate="tuned.toml")
    options = (*SMALL, "--against", "fcfs/easy", "--json")
    result = shunter("evaluate", "runs/first", "runs/second", *options).json()
    labels = [row["label"] for row in result["combinations"]]
    assert len(set(labels)) == len(labels)
    own = [row["label"] for one in result["judged"] for row in one["rows"] if row["role"] == "tuned"]
    assert own == ["tuned.toml/easy", "runs/second/best/tuned.toml"]
    result = shunter("evaluate", "runs/second", *options, "--also", "tuned.toml/conservative").json()
    own = [row["label"] for one in result["judged"] for row in one["rows"] if row["role"] == "tuned"]
    assert own == ["tuned.toml/easy"]
    assert "tuned.toml/conservative" in {row["label"] for row in result["combinations"]}


def test_days_that_it_was_trained_on_are_told(shunter: Command, runs: Path) -> None:
    answer = shunter("evaluate", "runs/plain", *SMALL, *FEW, "--part", "0.3:1")
    words = "0.3:1 of the log overlaps with 0:0.6, on which it was trained; the figures flatter it"
    assert f"warning: runs/plain: {words}" in answer.out


def test_without_classics(shunter: Command, runs: Path) -> None:
    result = shunter("evaluate", "runs/short", "runs/plain", *SMALL, "--against", "none", "--json").json()
    assert (result["baseline"], result["best_classic"], result["verdict"]) == ("runs/short", None, [])
    assert {row["label"] for row in result["combinations"]} == {"runs/short", "runs/plain"}


def test_a_tuned_file_beside_it(shunter: Command, runs: Path) -> None:
    Path("tuned.toml").write_text(TUNED)
    options = ("--against", "fcfs/easy", "--also", "tuned.toml", "--also", "saf/greedy", "--json")
    result = shunter("evaluate", "runs/plain", *SMALL, *options).json()
    rows = {row["label"]: row for row in result["combinations"]}
    assert (rows["tuned.toml/easy"]["role"], rows["tuned.toml/easy"]["estimate"]) == ("also", "tuned.toml")
    assert (rows["saf/greedy"]["role"], rows["saf/greedy"]["estimate"]) == ("also", "requested")
    assert [one["label"] for one in result["verdict"]] == ["runs/plain", "tuned.toml/easy", "saf/greedy"]


def test_killing_is_as_it_was_in_training(shunter: Command, runs: Path) -> None:
    write_policy(runs / "killer" / "best", kill_at_request=True)
    lines = [f"{10 * job},100,20,2\n" for job in range(60)]
    Path("log.csv").write_text("submit_s,run_s,requested_s,cores_per_task\n" + "".join(lines))
    small = ("--workload", "log.csv", "--cluster", 4, "--windows", 2, "--length", 10)
    rates = []
    for run in ("runs/killer", "runs/plain"):
        shunter("evaluate", run, *small, "--against", "fcfs/easy", "--out", run.replace("/", "-"))
        rates.append(set(pl.read_parquet(f"{run.replace('/', '-')}/windows.parquet")["completion_rate"]))
    assert rates == [{0.0}, {1.0}]


def test_folder_and_figure(shunter: Command, runs: Path) -> None:
    answer = shunter("evaluate", "runs/plain", *SMALL, *FEW, "--out", "judged", "--plot", "judged/figure.png")
    assert (answer.code, answer.err) == (0, "")
    frame = pl.read_parquet("judged/comparison.parquet")
    assert frame.height == 4
    assert set(frame["role"]) == {"learned", "best", "classic"}
    assert "mean_wait_ratio" in frame.columns
    assert pl.read_csv("judged/windows.csv").height == 4 * 6
    assert Path("judged/figure.png").stat().st_size > 10_000
    manifest = json.loads(Path("judged/manifest.json").read_text())
    assert list(manifest["files"]) == ["runs/plain"]
    assert manifest["files"]["runs/plain"]["path"].endswith("runs/plain/last/policy.json")
    assert manifest["arguments"]["resolved"]["checkpoints"] == ["runs/plain"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("runs/gone",), "runs/gone: no checkpoint here"),
        (("sjf",), "sjf: no checkpoint here"),
        (("runs",), "runs: no checkpoint here"),
        (("runs/plain", "--against", "fcfs,,sjf"), "--against is 'fcfs,,sjf'"),
        (("runs/plain", "--against", "fsfc/easy"), "unknown policy 'fsfc'"),
        (("runs/plain", "--also", "gone.toml"), "gone.toml: no such file"),
        (("runs/plain", "--also", "runs/short"), "--also runs/short: this is a folder; name checkpoints without"),
        (("runs/plain", "--top", 0), "--top is 0; expected 1 or more"),
        (("runs/plain", "--length", 500), "a window has 500 jobs (--length)"),
        (("runs/plain", "--metric", "speed"), "unknown metric 'speed'"),
        (("runs/plain", "--missing-request", "60"), "was trained with missing-request run-time"),
        (("runs/plain", "--out", "runs/plain"), "--out runs/plain: the folder is not empty"),
        (("runs/plain", "--plot", "gone/figure.png"), "--plot gone/figure.png: there is no folder gone"),
    ],
)
def test_errors(shunter: Command, runs: Path, arguments: tuple[object, ...], message: str) -> None:
    assert message in shunter("evaluate", *SMALL, *arguments).error()


def test_without_any_run(shunter: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    message = "no checkpoint is named, and there is none under runs/"
    assert message in shunter("evaluate", *SMALL).error()
    (tmp_path / "runs" / "empty").mkdir(parents=True)
    assert message in shunter("evaluate", *SMALL).error()


def test_a_policy_that_chooses_hosts(shunter: Command, tmp_path: Path) -> None:
    assert "(pick-host)" in shunter("evaluate", write_host_policy(tmp_path / "best"), *SMALL).error()


def test_help_has_examples(shunter: Command) -> None:
    answer = shunter("evaluate", "--help")
    assert answer.code == 0
    assert "shunter evaluate runs/first runs/second log.swf.gz" in answer.out
