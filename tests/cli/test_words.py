"""What people type: the log by its place, -o, times, loads in percent, other words for a rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command, swf_line, write_log


def plain(result: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in result.items() if name not in ("simulated_in_s", "seconds", "cases", "base")}


@pytest.mark.parametrize(
    "verb",
    [
        ["simulate"],
        ["calibrate"],
        ["compare", "--policy", "fcfs,sjf", "--windows", "2", "--length", "2"],
        ["what-if", "--change", "cores=+100%"],
    ],
    ids=lambda verb: verb[0],
)
def test_the_log_by_its_place(shunter: Command, log: Path, verb: list[str]) -> None:
    if verb == ["calibrate"]:
        write_log(
            log, [f"{job} {submit} 5 100 8 -1 -1 8 200 -1 1 3 1 -1 1 -1 -1 -1\n" for job, submit in ((1, 0), (2, 9))]
        )
    by_option = shunter(*verb, "--workload", log, "--json").json()
    for words in ([*verb, log], [verb[0], log, *verb[1:]]):
        assert plain(shunter(*words, "--json").json()) == plain(by_option)
    message = shunter(*verb, log, "--workload", log).error()
    assert message == f"the log is given twice, as {log} and with --workload; give it once"
    message = shunter(*verb).error()
    help, example = f"'shunter {verb[0]} --help'", f"shunter {verb[0]} log.swf.gz"
    assert message == f"no job log is given (see {help}); name one, as in: {example}"


def test_the_manifest_says_workload_wherever_it_stood(shunter: Command, log: Path, tmp_path: Path) -> None:
    import json

    assert shunter("simulate", log, "-o", tmp_path / "run").code == 0
    given = json.loads((tmp_path / "run" / "manifest.json").read_text())["arguments"]["given"]
    assert given == {"workload": str(log), "out": str(tmp_path / "run")}


@pytest.mark.parametrize(
    "verb", ["simulate", "compare", "calibrate", "what-if", "tune", "train", "inspect", "replay", "envs export"]
)
def test_the_help_shows_file_as_an_argument(shunter: Command, verb: str) -> None:
    text = shunter(*verb.split(), "--help").out
    usage = text.partition("\n\n")[0]
    assert "FILE" in usage, usage
    assert "The same as FILE" in " ".join(text.split())


@pytest.mark.parametrize(
    "verb", ["simulate", "compare", "calibrate", "tune", "train", "study", "evaluate", "plot", "envs export",
             "trace convert", "trace slice", "trace scale", "trace split", "trace generate", "trace anonymize",
             "trace cluster", "trace estimate"]
)  # fmt: skip
def test_dash_o_and_out_wherever_something_is_written(shunter: Command, verb: str) -> None:
    text = shunter(*verb.split(), "--help").out
    assert any("-o" in line and "--out" in line for line in text.splitlines()), text


def test_several_logs_by_their_place(shunter: Command, tmp_path: Path) -> None:
    message = shunter("simulate", "a.swf", "b.swf").error()
    assert "b.swf" in message
    assert message.endswith("see 'shunter simulate --help'")
    # Of tune there may be several; the first is looked for first.
    message = shunter("tune", tmp_path / "a.swf", tmp_path / "b.swf", "-o", tmp_path / "x.toml").error()
    assert message.startswith(str(tmp_path / "a.swf"))


def test_the_log_among_checkpoints(shunter: Command, log: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    message = shunter("evaluate", tmp_path / "run", log).error()
    assert message.startswith(f"{tmp_path / 'run'}: no checkpoint here")
    assert shunter("evaluate", tmp_path / "run").error() == message
    assert shunter("evaluate", log, "generate:lublin?jobs=5").error().startswith("several logs are given")
    assert shunter("evaluate", "tuned.toml", log).error().endswith("name a policy with --also tuned.toml")


def test_times_on_the_command_line(shunter: Command, log: Path) -> None:
    words = ["--max-wait", "1m30s", "--missing-request", "2m", "--preemption-overhead", "10s", "--min-run", "1m"]
    spelled = shunter("simulate", log, "--policy", "las", *words, "--json").json()
    words = ["--max-wait", "90", "--missing-request", "120", "--preemption-overhead", "10", "--min-run", "60"]
    assert plain(spelled) == plain(shunter("simulate", log, "--policy", "las", *words, "--json").json())
    message = shunter("simulate", log, "--max-wait", "soon").error()
    assert "'soon' is not a time; write 90m, 36h, 1d, 2h30m, or a number of seconds" in message
    assert message.endswith("see 'shunter simulate --help'")


def test_a_load_in_percent(shunter: Command, log: Path) -> None:
    spelled = shunter("simulate", log, "--load", "90%", "--json").json()
    assert plain(spelled) == plain(shunter("simulate", log, "--load", "0.9", "--json").json())
    changed = shunter("what-if", log, "--change", "load=90%", "--json").json()["cases"][0]
    assert changed["notes"] == shunter("what-if", log, "--change", "load=0.9", "--json").json()["cases"][0]["notes"]
    message = shunter("simulate", log, "--load", "90").error()
    assert message == "--load (load) is 90; expected 0.001 to 10; did you mean 0.9, which is 90%?"
    assert "'much' is not a load; write 0.9 or 90%" in shunter("simulate", log, "--load", "much").error()


def test_statuses_in_any_case_of_letters(shunter: Command, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("submit_s,run_s,status\n0,10,completed\n1,10,failed\n2,10,OOM\n")
    for given, jobs in (("COMPLETED", 1), ("Completed,FAILED", 2), ("oom", 1)):
        assert shunter("simulate", path, "--cluster", 8, "--only", given, "--json").json()["jobs"] == jobs
    assert 'no job has the status "TIMEOUT"' in shunter("simulate", path, "--cluster", 8, "--only", "TIMEOUT").error()


@pytest.mark.parametrize(
    ("option", "given", "meant"),
    [
        ("--dispatch", "backfill", "easy"),
        ("--dispatch", "Backfilling", "easy"),
        ("--policy", "shortest", "sjf"),
        ("--policy", "shortest_job_first", "sjf"),
        ("--policy", "fairshare", "fair-share"),
        ("--policy", "sfj", "sjf"),
        ("--estimate", "oracle", "perfect"),
        ("--placement", "bestfit", "best-fit"),
    ],
)
def test_other_words_are_suggested(shunter: Command, log: Path, option: str, given: str, meant: str) -> None:
    message = shunter("simulate", log, option, given).error()
    assert f"did you mean {meant!r}?" in message


@pytest.mark.parametrize("option", ["--policy", "--dispatch", "--placement", "--estimate", "--cluster"])
def test_nothing_far_fetched_is_suggested(shunter: Command, log: Path, option: str) -> None:
    message = shunter("simulate", log, option, "nope").error()
    assert "'nope'" in message
    assert "did you mean" not in message


@pytest.mark.parametrize(
    ("words", "meant"),
    [(["simulat"], "simulate"), (["whatif"], "what-if"), (["trace", "inof"], "info"), (["envs", "exprot"], "export")],
)
def test_mistyped_verbs(shunter: Command, words: list[str], meant: str) -> None:
    message = shunter(*words).error()
    assert f"did you mean {meant!r}?" in message.lower()
    assert "?;" not in message


def test_errors_name_the_help_of_the_verb(shunter: Command, log: Path) -> None:
    assert shunter("simulate", log, "--polcy", "sjf").error().endswith("see 'shunter simulate --help'")
    assert shunter("trace", "convert", log, "--nope").error().endswith("see 'shunter trace convert --help'")
    assert shunter("tune", log).error().endswith("see 'shunter tune --help'")


def test_a_cluster_that_is_missing_or_a_folder(
    shunter: Command, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in (".", str(tmp_path)):
        message = shunter("simulate", log, "--cluster", folder).error()
        assert message == f"{folder}: is a directory; name a TOML file in it"
    table = tmp_path / "log.csv"
    table.write_text("submit_s,run_s\n0,10\n")
    message = shunter("simulate", table).error()
    assert "give --cluster with a number of cores, a preset or a TOML file" in message
    # As the user named it, so that the command can be pasted.
    assert message.endswith(f"; to make one: shunter trace cluster {table} --infer -o cluster.toml")
    spaced = tmp_path / "my logs" / "log.csv"
    spaced.parent.mkdir()
    spaced.write_text("came,run_s,status\n0,10,completed\n")
    message = shunter("simulate", "my logs/log.csv", "--map", "submit_s=came", "--only", "completed").error()
    mapped = "'my logs/log.csv' --map submit_s=came"
    assert message.endswith(f"; to make one: shunter trace cluster {mapped} --infer -o cluster.toml")
    assert "'shunter trace cluster' makes one" in shunter("simulate", table, "--cluster", "no-such").error()


def test_a_log_of_an_option_with_nothing(shunter: Command, tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.swf", [swf_line(1, 0, 10, 1)])
    assert "it is empty; give a name" in shunter("simulate", "").error()
    assert shunter("simulate", log).code == 0


def test_a_wrong_option_of_a_training_is_called_by_its_name(shunter: Command, tmp_path: Path) -> None:
    words = ("train", "generate:lublin?jobs=500", "-o", tmp_path / "run")
    assert shunter(*words, "--steps", 0).error().startswith("--steps is 0; expected a whole number from 1 to")
    assert shunter(*words, "--set", "ppo.clip=-1").error().startswith("--set ppo.clip is -1")


def test_a_run_that_is_not_there_cannot_be_resumed(shunter: Command, tmp_path: Path) -> None:
    message = shunter("train", "--resume", "-o", tmp_path / "none", "--length", 9).error()
    assert message == f"{tmp_path / 'none'}: there is no run to resume; check --out, or give a log to begin one"


def test_long_work_tells_of_itself_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import time

    from shunter.cli import outputs

    monkeypatch.setattr(outputs, "LINES_AFTER_S", (0.05, 0.1))
    with outputs.step("simulating") as progress:
        progress(1, 4)
        time.sleep(0.4)
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["simulating: 25 % (0:00 min)"] * 2


def test_an_old_core_is_told_in_one_line() -> None:
    from shunter.errors import ShunterError
    from shunter.native import core_numbers

    with pytest.raises(
        ShunterError, match="the compiled core is older than this code; build it again with 'make install'"
    ):
        core_numbers("OfTomorrow")
    with pytest.raises(ShunterError, match="older than this code"):
        core_numbers("Policy")["of-tomorrow"]


def test_a_snapshot_that_is_a_list() -> None:
    from shunter.errors import InputError
    from shunter.model.snapshot import Snapshot

    with pytest.raises(InputError, match="snapshot: is a list; expected an object with the fields of a snapshot"):
        Snapshot.from_json("[]")
