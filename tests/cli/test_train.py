"""``shunter train``: what it writes and prints, how it goes on, and what it refuses."""

from __future__ import annotations

import csv
import json
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from shunter.agents.algorithms import PpoOptions
from shunter.agents.learned_policy import load_policy
from shunter.agents.native_ppo import NativePpo
from shunter.agents.ppo import Ppo
from shunter.agents.training.best import NearMiss
from shunter.agents.training.request import TrainRequest
from shunter.agents.training.trainer import Progress, TrainingOutcome
from shunter.cli.train_screen import BarWords
from shunter.envs.pick_job import PickJobOptions
from shunter.files import read_toml
from shunter.report.training import kept_words
from tests.agents.small_training import EDA, FARM
from tests.agents.untrained import write_host_policy
from tests.cli.conftest import Command

LUBLIN = "generate:lublin?seed=3&jobs=600&cores=64&load=1.1&requests=factor"
OTHER = "generate:lublin?seed=5&jobs=600&cores=32&load=1&requests=factor"
SHORT = (
    "--windows", 12, "--validation-windows", 4, "--length", 24, "--num-envs", 4, "--rollout-steps", 16,
    "--minibatch", 32, "--epochs", 1, "--steps", 128, "--eval-every", 64, "--save-every", 64,
    "--report-windows", 6, "--report-length", 30,
)  # fmt: skip
TRAIN = ("train", "--workload", LUBLIN, *SHORT, "--window", 8, "--hidden", "8")
HOSTS = (
    "train", "--env", "pick-host", *SHORT, "--num-hosts", 3, "--episode-length", 10, "--max-jobs-per-step", 9,
)  # fmt: skip
TUNED = '[policy]\nkind = "linear"\nestimate = 1.0\ncores = 0.5\n\n[estimate]\nkind = "last-two"\n'


pytestmark = pytest.mark.usefixtures("few_classics")


def weights(out: Path, name: str = "last") -> bytes:
    return (out / name / "policy.safetensors").read_bytes()


def steps(out: Path) -> list[int]:
    with (out / "progress.csv").open(newline="") as file:
        return [int(row["steps"]) for row in csv.DictReader(file)]


def test_nodes_that_fail_are_recorded_and_learned_on(shunter: Command, out: Path) -> None:
    failing = ("--mtbf", "6h", "--mttr", "10m", "--failed-progress", "kept")
    shunter(*TRAIN, *failing, "--out", out, "--json").json()
    options = json.loads((out / "last" / "policy.json").read_text())["options"]
    told = {name: options[name] for name in ("mtbf_s", "mttr_s", "failed_progress")}
    assert told == {"mtbf_s": 21_600.0, "mttr_s": 600.0, "failed_progress": "kept"}
    simulated = ("simulate", "--workload", LUBLIN, "--policy", out, *failing, "--json")
    assert shunter(*simulated).json()["metrics"]["failures"] > 0
    assert "is not given; give both or none" in shunter(*TRAIN, "--mtbf", "4d", "--out", out / "other").error()


@pytest.mark.parametrize("network", ["kernel", "attention", "mlp"])
def test_policies_that_see_the_past_and_may_stop_jobs(shunter: Command, out: Path, network: str) -> None:
    shown = ("--history", 2, "--history-interval", "30m", "--stops", 3, "--min-run", "5m", "--preemption-overhead", 60)
    shunter(*TRAIN, *shown, "--network", network, "--out", out, "--json").json()
    about = json.loads((out / "last" / "policy.json").read_text())
    told = {name: about["options"][name] for name in ("history", "history_interval_s", "stops", "min_run_s")}
    assert told == {"history": 2, "history_interval_s": 1800.0, "stops": 3, "min_run_s": 300.0}
    assert (about["layout"]["history"], about["layout"]["stops"]) == (2, 3)
    simulated = shunter("simulate", "--workload", LUBLIN, "--policy", out, "--min-run", "5m", "--json").json()
    assert simulated["metrics"]["completion_rate"] == 1.0


def test_json_is_one_object(shunter: Command, out: Path) -> None:
    result = shunter(*TRAIN, "--out", out, "--json").json()
    assert json.loads((out / "result.json").read_text()) == result
    assert (result["run"], result["objective"], result["resumed"]) == (str(out), "mean_bounded_slowdown", False)
    assert (result["outcome"]["reason"], result["outcome"]["steps"]) == ("steps", 128)
    assert [part["part"] for part in result["parts"]] == ["validation", "report"]
    (log,) = result["parts"][1]["logs"]
    assert (log["name"], log["windows"], log["blocks"]) == (LUBLIN, 6, 6)
    roles = ["learned", "beginning", "chosen", "best", "best-same-estimate", "baseline"]
    assert [row["role"] for row in log["rows"]] == roles
    assert [log["rows"][2]["label"]] == result["chosen"]
    for contrast in log["rows"][0]["against"].values():
        assert contrast["ratio_low"] <= contrast["ratio"] <= contrast["ratio_high"]
    assert [one["against"] for one in result["parts"][1]["verdict"]] == roles[1:]
    assert result["config"]["ppo"]["num_envs"] == 4


def test_what_cannot_be_trained_is_told_in_one_line_and_leaves_no_folder(shunter: Command, out: Path) -> None:
    other = out.with_name("other")
    shunter(*TRAIN, "--out", out)
    wrong = (("--init", out, "--window", 9), "window 8 instead of 9"), (("--reward", "fame"), "unknown reward 'fame'")
    for options, words in wrong:
        assert words in shunter(*TRAIN, *options, "--out", other).error()
        assert not other.exists()


def test_tables_for_people(shunter: Command, out: Path) -> None:
    answer = shunter(*TRAIN, "--bound", "mean-wait=1.1", "--out", out)
    assert (answer.code, answer.err) == (0, "")
    assert "pick-job · kernel network · for mean_bounded_slowdown, mean_wait_s at most 1.1 times" in answer.out
    assert "128 steps in" in answer.out
    assert "best on validation at step" in answer.out
    assert "validation, on which the best policy was chosen: 4 windows in 2 blocks" in answer.out
    assert "report, never looked at before: 6 windows in 6 blocks" in answer.out
    assert "report, never looked at before" in answer.out.partition("validation, on which")[0]
    assert "the learned policy and the beginning (initial) " in answer.out
    assert "longest" in answer.out
    assert f"written: {out}; its policy: {out / 'best'}" in answer.out


@pytest.mark.slow
def test_it_ends_with_what_to_do(shunter: Command, out: Path) -> None:
    answer = shunter(*TRAIN, "--margin-se", 1000, "--out", out)
    step = next(line for line in answer.out.split("\n") if line.startswith("What to do: "))
    assert step.startswith("What to do: keep the ")
    said = f"he learned policy ({out}) did the same as its beginning in every window: training found nothing better"
    assert said in step
    result = shunter(*TRAIN, "--margin-se", 1000, "--out", out, "--force", "--json").json()
    assert result["next_steps"] == [step]
    two = shunter(*TRAIN, "--workload", OTHER, "--margin-se", 1000, "--out", out, "--force", "--json").json()
    assert [one.partition(": What to do: ")[0] for one in two["next_steps"]] == [LUBLIN, OTHER]
    hosts = shunter(*HOSTS, "--margin-se", 1000, "--out", out, "--force").out
    assert "What to do: keep " in hosts


def test_where_no_placement_matters_a_line_says_so(shunter: Command, out: Path, tmp_path: Path) -> None:
    nodes = tmp_path / "nodes.toml"
    nodes.write_text("[[nodes]]\ncount = 4\ncores = 16\n")
    answer = shunter("train", LUBLIN, "--cluster", nodes, "--env", "pick-host", *SHORT, "--out", out)
    assert answer.code == 0
    assert f"{LUBLIN}: it does not matter where jobs run, for all tasks ask for the same: " in answer.err
    assert "nothing can be learned about waits" in answer.err
    assert "it does not matter where jobs run" not in shunter(*HOSTS, "--out", out, "--force").err


def test_marks_are_explained_below_the_tables(shunter: Command, out: Path) -> None:
    answer = shunter(*TRAIN, "--estimate", "perfect", "--out", out)
    report, _, validation = answer.out.partition("validation, on which")
    for part in (report, validation):
        assert "best †" in part
        assert "† sees true run times, which no scheduler knows\n" in part
    assert "; but it sees true run times, which no scheduler knows" in " ".join(answer.out.split())


def test_the_run_folder(shunter: Command, out: Path) -> None:
    shunter(*TRAIN, "--out", out)
    assert {path.name for path in out.iterdir()} == {
        "best", "classics.json", "config.toml", "initial", "last", "progress.csv", "result.json", "tensorboard",
    }  # fmt: skip
    assert steps(out) == [0, 64, 128]
    answer = shunter("compare", "--workload", LUBLIN, "--policy", f"fcfs,{out}", "--windows", 2, "--length", 30)
    assert "run/easy" in answer.out


def test_the_saved_configuration_is_the_same_training(shunter: Command, out: Path, tmp_path: Path) -> None:
    shunter(*TRAIN, "--seed", 4, "--out", out)
    again = tmp_path / "again"
    assert shunter("train", "--config", out / "config.toml", "--out", again).code == 0
    assert (again / "config.toml").read_text() == (out / "config.toml").read_text()
    assert weights(again) == weights(out)
    other = tmp_path / "other"
    shunter("train", "--config", out / "config.toml", "--seed", 5, "--out", other)
    assert read_toml(other / "config.toml")["training"]["seed"] == 5
    assert weights(other) != weights(out)


def test_the_report_is_part_of_the_configuration(shunter: Command, out: Path, tmp_path: Path) -> None:
    shunter(*TRAIN, "--report", "0.75:0.95", "--out", out)
    assert read_toml(out / "config.toml")["report"] == {"part": [0.75, 0.95], "windows": 6, "length": 30}
    again = tmp_path / "again"
    first = shunter("train", "--config", out / "config.toml", "--out", again, "--report-windows", 3, "--json").json()
    assert first["config"]["report"] == {"part": [0.75, 0.95], "windows": 3, "length": 30}
    assert first["parts"][1]["logs"][0]["windows"] == 3


def test_options_go_over_the_file_and_the_file_over_the_preset(out: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[ppo]\ngamma = 0.5\nclip = 0.3\n")
    arguments = TrainRequest({"ppo": {"gamma": 0.25}}, preset="quick", config=file)
    config = arguments.resolved(out).config
    assert isinstance(config.algorithm, PpoOptions)
    assert (config.algorithm.gamma, config.algorithm.clip, config.algorithm.num_envs) == (0.25, 0.3, 128)


def test_the_preset_follows_the_environment(out: Path, tmp_path: Path) -> None:
    file = tmp_path / "hosts.toml"
    file.write_text('[environment]\nkind = "pick-host"\n')
    for arguments in (TrainRequest({"environment": {"kind": "pick-host"}}), TrainRequest({}, config=file)):
        assert arguments.resolved(out).config.network.kind == "hosts"
    assert TrainRequest({}).resolved(out).config.network.kind == "kernel"
    checkpoint = write_host_policy(tmp_path / "policy")
    begun = TrainRequest({"training": {"init": checkpoint}}).resolved(out).config
    assert (begun.network.kind, begun.reward.weights, begun.training.init) == ("hosts", {"wait": 1.0}, checkpoint)


def test_what_a_beginning_brings_goes_under_the_file(out: Path, tmp_path: Path) -> None:
    tuned, file = tmp_path / "found.toml", tmp_path / "mine.toml"
    tuned.write_text(TUNED)
    file.write_text('[environment]\nestimate = "perfect"\n')
    resolved = TrainRequest({"training": {"init": str(tuned)}}, config=file).resolved(out)
    assert isinstance(resolved.config.environment, PickJobOptions)
    assert (resolved.config.environment.order, resolved.config.environment.estimate) == (str(tuned), "perfect")
    (note,) = resolved.notes
    assert note.endswith("asked for was 'perfect', which stands")
    flag = TrainRequest({"training": {"init": str(tuned)}, "environment": {"estimate": "requested"}}, config=file)
    config = flag.resolved(out).config
    assert isinstance(config.environment, PickJobOptions)
    assert config.environment.estimate == "requested"


@pytest.mark.parametrize(("engine", "learner"), [("native", NativePpo), ("torch", Ppo)])
def test_interrupted_and_resumed(
    engine: str,
    learner: type[NativePpo | Ppo],
    shunter: Command,
    out: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = tmp_path / "whole"
    shunter(*TRAIN, "--engine", engine, "--out", whole)
    update = learner.update

    def interrupted(self: NativePpo | Ppo) -> dict[str, float]:
        os.kill(os.getpid(), signal.SIGINT)
        return update(self)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(learner, "update", interrupted)
        answer = shunter(*TRAIN, "--engine", engine, "--out", out)
    assert answer.code == 130
    assert f"saved: {out}; to go on: shunter train --resume --out {out}" in answer.out
    assert "in the report" not in answer.out
    assert steps(out) == [0, 64]
    resumed = shunter("train", "--resume", "--out", out, "--json").json()
    assert (resumed["resumed"], resumed["outcome"]["steps"]) == (True, 128)
    assert steps(out) == [0, 64, 128]
    assert weights(out) == weights(whole)


def test_a_run_is_not_overwritten_unasked(shunter: Command, out: Path) -> None:
    shunter(*TRAIN, "--seed", 1, "--out", out)
    before = weights(out)
    error = shunter(*TRAIN, "--out", out).error()
    assert error.endswith("the folder holds a run; give another, --resume to go on with it, or --force to overwrite it")
    assert weights(out) == before
    (out / "notes.txt").write_text("mine")
    assert shunter(*TRAIN, "--out", out, "--force").code == 0
    assert weights(out) != before
    assert steps(out) == [0, 64, 128]
    assert (out / "notes.txt").read_text() == "mine"


def test_a_folder_of_something_else_is_left_alone(shunter: Command, out: Path) -> None:
    out.mkdir()
    (out / "thesis.tex").write_text("mine")
    for force in ((), ("--force",)):
        assert "is not empty, and no run (no config.toml)" in shunter(*TRAIN, "--out", out, *force).error()
    assert [path.name for path in out.iterdir()] == ["thesis.tex"]


def test_without_a_name_runs_are_numbered(shunter: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = [shunter(*TRAIN, "--steps", 1, "--json").json()["run"] for _ in range(2)]
    assert names == ["runs/pick-job-1", "runs/pick-job-2"]


def test_overwritten_by_its_own_configuration(shunter: Command, out: Path, tmp_path: Path) -> None:
    """What it names lies in the folder that is cleared."""
    tuned = tmp_path / "found.toml"
    tuned.write_text(TUNED)
    shunter(*TRAIN, "--init", tuned, "--out", out)
    before = weights(out)
    assert shunter("train", "--config", out / "config.toml", "--out", out, "--force").code == 0
    assert (weights(out), (out / "files" / "found.toml").read_text()) == (before, TUNED)
    error = shunter(*TRAIN, "--init", out / "best", "--out", out, "--force").error()
    assert f"--init {out / 'best'} lies in --out {out}, which is to be overwritten" in error
    assert weights(out) == before
    assert shunter(*TRAIN, "--out", out, "--force").code == 0
    assert not (out / "files").exists(), "nobody names it any more"


def test_begun_as_a_tuned_policy(shunter: Command, out: Path, tmp_path: Path) -> None:
    tuned = tmp_path / "found.toml"
    tuned.write_text(TUNED)
    result = shunter(*TRAIN, "--init", tuned, "--out", out, "--window", 200, "--json").json()
    copy = out / "files" / "found.toml"
    assert result["config"]["environment"]["order"] == str(copy)
    rows = {row["role"]: row["label"] for row in result["parts"][1]["logs"][0]["rows"]}
    assert rows["tuned"].startswith("found.toml/")
    tuned.unlink()
    measured = [
        shunter("compare", "--workload", LUBLIN, "--windows", 3, "--length", 60, "--json", *policy).json()
        for policy in (
            ("--policy", out / "initial"),
            ("--policy", copy, "--estimate", copy),
        )
    ]
    initial, order = (one["combinations"][0]["geometric_mean"] for one in measured)
    assert initial == pytest.approx(order)
    written = read_toml(out / "config.toml")
    assert (written["environment"]["order"], written["training"]["init"]) == ("files/found.toml",) * 2
    # The title names the file as the user did, not the copy; also when the run goes on.
    begun = f"begun as {tuned} ·"
    assert begun in shunter("train", "--resume", "--out", out).out
    assert load_policy(out / "best").record.training["init"] == str(tuned)
    moved = out.rename(tmp_path / "moved")
    assert shunter("simulate", "--workload", LUBLIN, "--policy", moved / "best", "--length", 50, "--json").json()
    small = ("--workload", LUBLIN, "--windows", 2, "--length", 30, "--against", "fcfs/easy")
    assert shunter("evaluate", moved, *small, "--json").json()["warnings"] == []
    assert shunter("train", "--resume", "--out", moved, "--steps", 192, "--json").json()["outcome"]["steps"] == 192


def test_fine_tuned_from_a_checkpoint(shunter: Command, out: Path, tmp_path: Path) -> None:
    shunter(*TRAIN, "--out", out)
    second = tmp_path / "second"
    result = shunter("train", "--workload", OTHER, *SHORT, "--init", out, "--out", second, "--json").json()
    assert (result["config"]["environment"]["window"], result["config"]["network"]["hidden"]) == (8, [8])
    source, begun = load_policy(out / "best").network.state_dict(), load_policy(second / "initial").network.state_dict()
    assert all(torch.equal(begun[name], weight) for name, weight in source.items())
    assert weights(second) != weights(out)


def test_days_of_what_it_began_from_are_not_new(shunter: Command, out: Path, tmp_path: Path) -> None:
    shunter(*TRAIN, "--train", "0.5:0.8", "--validation", "0.8:0.9", "--report", "0.9:1", "--out", out)
    second = tmp_path / "second"
    answer = shunter("train", "--workload", LUBLIN, *SHORT, "--init", out, "--out", second)
    words = f"0.7:1 of the log overlaps with 0.5:0.8, on which {out}, from which it began, was trained"
    assert f"the report: {words}; the figures flatter it" in answer.err
    small = ("--workload", LUBLIN, "--windows", 2, "--length", 30, "--against", "fcfs/easy")
    found = shunter("evaluate", second, *small, "--json").json()["warnings"]
    assert found == [f"{second}: {words}; the figures flatter it"]
    assert shunter("evaluate", second, *small, "--part", "0.9:1", "--json").json()["warnings"] == []


def test_stand_ins_are_told(shunter: Command, out: Path) -> None:
    log = "generate:lublin?seed=3&jobs=600&cores=64&load=1.1"
    options = ("train", "--workload", log, *SHORT, "--window", 8, "--out", out)
    answer = shunter(*options)
    assert "no requested time: the run time stands in" in answer.out
    result = shunter(*options, "--force", "--json").json()
    (one,) = result["ledgers"]
    assert (one["log"], one["ledger"][0]["rule"]) == (log, "no requested time: the run time stands in")


def test_a_reward_that_is_no_metric_is_told(shunter: Command, out: Path) -> None:
    answer = shunter(*TRAIN, "--reward", "balance", "--out", out)
    assert answer.err.startswith("rewarded is balance, which is no metric of windows: classics and checkpoints are")
    assert "for mean_bounded_slowdown" in answer.out


def test_why_the_beginning_was_kept(shunter: Command, out: Path) -> None:
    """A learning rate of next to nothing learns nothing."""
    answer = shunter(*TRAIN, "--lr", "1e-12", "--out", out)
    assert "best on validation at step 0" in answer.out
    assert "the beginning was kept: no later policy was better on validation" in answer.out


@pytest.mark.parametrize(
    ("near", "words"),
    [
        (
            NearMiss(64, 0.0123, 0.0456),
            "in the logarithm of the metric, which is not more than 2 × its standard error of 0.0456",
        ),
        (
            NearMiss(64, 0.0123, None),
            "at step 64 it was better by 0.0123 in the logarithm of the metric, and one validation window",
        ),
    ],
)
def test_why_it_was_kept_in_words(near: NearMiss, words: str) -> None:
    assert words in kept_words(TrainingOutcome("steps", 128, 0.1, 0, 1.0, near), 2.0)


def test_a_beginning_that_breaks_a_bound_is_told_so() -> None:
    outcome = TrainingOutcome("steps", 128, 0.1, 0, 1.0, best_broken=0.2)
    assert "it breaks a bound on validation, and no later policy breaks it less" in kept_words(outcome, 2.0, True)
    kept = replace(outcome, best_broken=0.0)
    assert "no later policy was better on validation and within the bounds" in kept_words(kept, 2.0, True)


def test_several_logs(shunter: Command, out: Path) -> None:
    answer = shunter(*TRAIN, "--workload", OTHER, "--out", out)
    assert answer.code == 0
    assert "over 2 logs, each counting the same:\nthe learned policy" in answer.out


def test_hosts(shunter: Command, out: Path) -> None:
    result = shunter(*HOSTS, "--out", out, "--json").json()
    (group,) = result["parts"][1]["logs"]
    assert (result["objective"], group["windows"], group["rows"][-1]["label"]) == ("mean_wait_s", 6, "first-fit")


def test_hosts_on_a_log(shunter: Command, out: Path) -> None:
    site = (EDA, "--cluster", FARM)
    result = shunter("train", *site, "--env", "pick-host", *SHORT, "--hidden", "8", "--out", out, "--json").json()
    (group,) = result["parts"][1]["logs"]
    assert (group["name"], group["windows"]) == (EDA, 6)
    assert result["config"]["environment"]["num_hosts"] == 6
    # What was learned is a placement at once.
    rows = shunter("compare", *site, "--windows", 3, "--length", 60, "--placement", f"best-fit,{out}", "--json")
    assert {row["placement"] for row in rows.json()["combinations"]} == {"best-fit", str(out)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--env", "pick-host", "--num-hosts", "0"), "--num-hosts is 0; expected a whole number from 1 to 65536"),
        (
            ("--env", "pick-host", "--host-cores", "8:4"),
            "--host-cores is (8, 4); expected two whole numbers, the smaller",
        ),
        (("--env", "pick-host", "--job-cores", "1:20"), "--job-cores goes up to 20, --host-cores down to 16"),
        (("--env", "pick-host", "--job-memory", "much"), "'much' is not a whole number"),
        (("--env", "pick-host", EDA, "--num-hosts", "5"), "--num-hosts is given with a log, which has its own jobs"),
        (
            ("--env", "pick-host", "--mode", "reserve"),
            "--mode is an option of pick-job, but pick-host is to be trained",
        ),
        (
            (EDA, "--job-cores", "1:2"),
            "--job-cores is an option of pick-host, but pick-job is to be trained; leave it out",
        ),
        (("--env", "pick-host", "--cluster", "64"), "pick-host draws its own hosts and jobs; leave --cluster out"),
    ],
)
def test_mistakes_with_hosts_are_one_line(shunter: Command, options: tuple[str, ...], message: str) -> None:
    assert message in shunter("train", *options).error()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "no log to learn from; give --workload LOG"),
        (("--workload", LUBLIN, "--length", 500), "a window has 500 jobs (--length), but"),
        (("--workload", LUBLIN, "--preset", "quik"), "unknown preset 'quik'; did you mean 'quick'?"),
        (("--workload", LUBLIN, "--env", "pick"), "unknown environment 'pick'"),
        (("--workload", LUBLIN, "--mode", "reserv"), "unknown --mode 'reserv'; did you mean"),
        (("--workload", LUBLIN, "--network", "hosts"), "--network is 'hosts', which does not fit pick-job"),
        (("--workload", LUBLIN, "--network", "kernl"), "unknown --network 'kernl'; did you mean 'kernel'?"),
        (("--workload", LUBLIN, "--order", "sjff"), "unknown --order 'sjff'; did you mean 'sjf'?"),
        (("--workload", LUBLIN, "--train", "0.5:0.4"), "--train is 0.5:0.4; expected two rising fractions"),
        (("--workload", LUBLIN, "--steps", "0"), "steps is 0; expected a whole number from 1"),
        (("--workload", LUBLIN, "--set", "ppo.klip=1"), "[ppo]: unknown key 'klip'; did you mean 'clip'?"),
        (("--workload", LUBLIN, "--report", "0.65:1"), "--report is 0.65:1, --validation 0.6:0.7; expected parts"),
        (("--workload", LUBLIN, "--report", "x"), "--report is 'x'; expected two fractions"),
        (("--workload", LUBLIN, "--report-windows", "0"), "--report-windows is 0; expected a whole number from 1"),
        (("--workload", LUBLIN, "--lr", "fast"), "'fast' is not a number"),
        (("--workload", LUBLIN, "--init", "nowhere"), "--init nowhere: there is no such folder"),
        (("--workload", LUBLIN, "--device", "cuda"), "--device is 'cuda', but PyTorch sees no graphics card"),
        (("--resume",), "--resume is given without --out; name the run"),
        (("--force",), "--force is given without --out"),
        (("--resume", "--force", "--out", "here"), "give one of them"),
        (("--config", "nowhere.toml"), "nowhere.toml: no such file"),
    ],
)
def test_mistakes_are_one_line(
    shunter: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[Any, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in shunter("train", "--length", 24, *options).error()
    assert list(tmp_path.iterdir()) == []


def test_words_beside_the_bar() -> None:
    words = BarWords("f2/easy")
    figures = {"steps_per_s": 12345.6, "return": -1.25, "validation/ratio": 1.0}
    first = words(Progress(64, 128, figures, 0.0, 1.0))
    assert first == "12,346 steps/s · return -1.25 · validation 1.000 × f2/easy"
    assert "return -1.25 · validation 1.000" in words(Progress(128, 128, {"steps_per_s": 1.0}, -0.5, 2.0))
    assert BarWords("f2/easy")(Progress(64, 128, {"steps_per_s": 5.0}, None, 1.0)) == "5 steps/s"


def test_a_training_that_ends_before_it_learns_says_so(tmp_path: Path) -> None:
    changes: dict[str, dict[str, Any]] = {
        "training": {"algorithm": "d3qn", "steps": 4096},
        "d3qn": {"learn_after": 4096},
    }
    assert TrainRequest(changes).resolved(tmp_path / "out").notes == (
        "nothing will be learned: learning begins after 4,096 steps (--learn-after), and 4,096 are played",
    )
    changes["d3qn"]["learn_after"] = 4095
    assert TrainRequest(changes).resolved(tmp_path / "out").notes == ()
