"""``shunter trace estimate``: what it prints, writes and refuses."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

import pytest

from shunter import __version__
from shunter.policies.native import resolve_estimate
from tests.cli.conftest import Command, write_log
from tests.support import trace


def line(job: int, run: int, request: int) -> str:
    """Returns one line of a SWF log by user 3; each job ends before the next comes."""
    return f"{job} {1000 * job} 0 {run} 4 -1 -1 4 {request} -1 1 3 1 -1 1 -1 -1 -1\n"


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """Returns a log of ten jobs that ask for 400 s and run for 100 s and 200 s by turns."""
    return write_log(tmp_path / "history.swf", [line(job, 200 if job % 2 else 100, 400) for job in range(10)])


def test_json(shunter: Command, history: Path) -> None:
    result = shunter("trace", "estimate", "--workload", history, "--json").json()
    assert (result["workload"], result["version"], result["seed"]) == ("history.swf", __version__, 0)
    assert (result["train"], result["training_jobs"], result["later_jobs"]) == (0.6, 6, 4)
    assert [each["estimate"] for each in result["estimates"]] == ["requested", "last-two", "posterior", "fitted"]
    requested, last_two = result["estimates"][:2]
    assert requested["estimated_from"] == {"request": 4}
    assert requested["quality"]["mean_absolute_log_error"] == pytest.approx((math.log(4) + math.log(2)) / 2)
    assert requested["quality"]["wrong_order_rate"] == 0.5
    assert last_two["quality"]["log_bias"] == pytest.approx((math.log(1.5) + math.log(0.75)) / 2)
    assert last_two["quality"]["deciles"][0]["median_ratio"] == 1
    assert (result["notes"], result["ledger"]) == ([], [])
    assert len(result["prior"]["mean_run_s"]) == 24


def test_tables(shunter: Command, history: Path) -> None:
    answer = shunter("trace", "estimate", "--workload", history)
    assert (answer.code, answer.err) == (0, "")
    assert max(map(len, answer.out.splitlines())) <= 100
    text = " ".join(answer.out.replace("│", " ").split())
    assert "'fitted' is the posterior with a prior fitted on the first 6 jobs" in text
    assert "requested 4 1.04 1.10 +1.04 50 % 100 % 0 % 50.0 %" in text
    assert "last-two – 4" in text
    assert "run times by the estimate 'fitted', and their ratios to it" in text


def test_other_estimates_and_another_part(shunter: Command, history: Path, tmp_path: Path) -> None:
    prior = tmp_path / "prior.toml"
    first = shunter("trace", "estimate", "--workload", history, "--train", 0.5, "--save", prior, "--json").json()
    names = f"perfect,noisy?sigma=0,{prior}"
    result = shunter("trace", "estimate", "--workload", history, "--train", 0.5, "--estimate", names, "--json").json()
    assert [each["estimate"] for each in result["estimates"]] == ["perfect", "noisy?sigma=0", str(prior), "fitted"]
    perfect, noisy, loaded, fitted = (each["quality"] for each in result["estimates"])
    assert (result["training_jobs"], perfect["jobs"]) == (5, 5)
    assert perfect["root_mean_square_log_error"] == noisy["root_mean_square_log_error"] == 0
    assert perfect["wrong_order_rate"] == 0
    # What was saved is what was measured.
    assert loaded == fitted == first["estimates"][-1]["quality"]


def test_the_file_says_where_it_comes_from(shunter: Command, history: Path, tmp_path: Path) -> None:
    prior = tmp_path / "prior.toml"
    answer = shunter("trace", "estimate", "--workload", history, "--save", prior)
    assert f"written: {prior}" in answer.out
    comments = "".join(text for text in prior.read_text().splitlines(keepends=True) if text.startswith("# "))
    assert "on the first 6 of 10 jobs of history.swf" in comments
    result = shunter("trace", "estimate", "--workload", history, "--json").json()
    assert f"sha256 {result['workload_sha256']}" in comments
    assert list(resolve_estimate(str(prior)).prior.mean_run_s) == result["prior"]["mean_run_s"]
    simulated = shunter("simulate", "--workload", history, "--policy", "sjf", "--estimate", prior, "--json").json()
    assert simulated["estimated_from"] == {"learned": 9, "prior": 1}


def test_a_file_is_overwritten_only_by_force(shunter: Command, history: Path, tmp_path: Path) -> None:
    prior = tmp_path / "prior.toml"
    prior.write_text("mine")
    command = ("trace", "estimate", "--workload", history, "--save", prior)
    assert "the file exists; give another name, or --force to overwrite it" in shunter(*command).error()
    assert prior.read_text() == "mine"
    assert shunter(*command, "--force").code == 0
    assert "[estimate]" in prior.read_text()
    overwriting = (*command, "--force", "--estimate", f"requested,{prior}")
    assert f"--save would overwrite the estimate {prior} {prior}" in shunter(*overwriting).error()


@pytest.mark.every(3)
@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_plot(shunter: Command, history: Path, tmp_path: Path, suffix: str) -> None:
    plot = tmp_path / f"estimates{suffix}"
    answer = shunter("trace", "estimate", "--workload", history, "--plot", plot)
    assert f"written: {plot}" in answer.out
    magic = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}
    assert plot.read_bytes().startswith(magic[suffix])


def test_a_log_without_users_and_requests(shunter: Command, tmp_path: Path) -> None:
    path = tmp_path / "bare.csv"
    path.write_text("submit_s,run_s\n" + "".join(f"{job},{10 + job}\n" for job in range(10)))
    command = ("trace", "estimate", "--workload", path)
    result = shunter(*command, "--json").json()
    assert [each["quality"] for each in result["estimates"]] == [None] * 4
    assert [each["estimated_from"] for each in result["estimates"]] == [{"stand-in": 4}] * 4
    answer = shunter(*command)
    assert "there is nothing to measure" in " ".join(answer.out.split())
    assert "|err|" not in answer.out
    assert "a prior fitted on it would never be used" in shunter(*command, "--save", tmp_path / "p.toml").error()
    assert "there is nothing to draw" in shunter(*command, "--plot", tmp_path / "p.png").error()
    assert [entry.name for entry in tmp_path.iterdir()] == ["bare.csv"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--train", "1"], "--train (train) is 1; expected a part of the jobs, above 0 and below 1"),
        (["--train", "much"], "'much' is not a number"),
        (["--train", "0.01"], "0.01 of its 10 jobs are 0; there must be jobs to fit on"),
        (["--estimate", "requested,,posterior"], "expected names with single commas between them"),
        (["--estimate", "requestd"], "unknown estimate 'requestd'; did you mean 'requested'?"),
        (["--estimate", "nowhere.toml"], "nowhere.toml: no such file"),
        (["--seed", "-1"], "--seed (seed) is -1"),
        (["--force"], "--force is given without --save"),
        (["--save", "prior.txt"], "--save prior.txt: give a name that ends in .toml"),
        (["--save", "nowhere/prior.toml"], "there is no folder nowhere; create it first"),
        (["--plot", "estimates.gif"], "unknown suffix '.gif'"),
        (["--workload", "nothing.swf"], "nothing.swf"),
    ],
)
def test_bad_options(shunter: Command, history: Path, options: list[str], message: str) -> None:
    given = [] if "--workload" in options else ["--workload", history]
    assert message in shunter("trace", "estimate", *given, *options).error()


def test_a_folder_is_no_file(shunter: Command, history: Path, tmp_path: Path) -> None:
    (tmp_path / "folder.toml").mkdir()
    command = ("trace", "estimate", "--workload", history, "--save", tmp_path / "folder.toml")
    assert "this is a folder; give the name of a file" in shunter(*command).error()


@pytest.mark.parametrize("arguments", [["trace"], ["trace", "--help"], ["trace", "estimate", "-h"]])
def test_help(shunter: Command, arguments: list[str]) -> None:
    answer = shunter(*arguments)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("Usage: shunter trace")
    assert "shunter trace info log.swf.gz" in answer.out or "shunter trace estimate log.swf.gz" in answer.out


def test_errors_of_the_group_are_one_line(shunter: Command) -> None:
    assert "unknown verb of trace 'estimates'; did you mean 'estimate'?" in shunter("trace", "estimates").error()
    assert "no log is given; name a file" in shunter("trace", "estimate").error()


def test_a_real_log(shunter: Command) -> None:
    """The requests of KTH's SP2 once more, read line by line."""
    path = trace("swf/KTH-SP2-1996-2.1-cln.swf.gz")
    result = shunter("trace", "estimate", "--workload", path, "--json").json()
    requested, _, generic, fitted = result["estimates"]
    errors = []
    with gzip.open(path, "rt", encoding="latin-1") as file:
        rows = [text.split() for text in file if text.strip() and not text.startswith(";")]
    rows = sorted((row for row in rows if float(row[3]) > 0), key=lambda row: float(row[1]))
    for row in rows[round(0.6 * len(rows)) :]:
        errors.append(math.log(max(float(row[8]), 10) / max(float(row[3]), 10)))
    assert requested["quality"]["jobs"] == len(errors) == 11_197
    assert requested["quality"]["log_bias"] == pytest.approx(sum(errors) / len(errors))
    assert requested["quality"]["mean_absolute_log_error"] == pytest.approx(sum(map(abs, errors)) / len(errors))
    # What has been learned of users puts jobs in a better order than what they ask for.
    for learned in (generic, fitted):
        assert learned["quality"]["wrong_order_rate"] < 0.85 * requested["quality"]["wrong_order_rate"]
        assert sum(learned["estimated_from"].values()) == 11_197
