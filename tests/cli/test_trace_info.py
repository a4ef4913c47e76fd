"""``shunter trace info``: what it prints, draws and refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from shunter import __version__
from tests.cli.conftest import Command, swf_line, write_log


def flat(text: str) -> str:
    """Returns a table's text without its lines."""
    return " ".join("".join(" " if sign in "│┃" else sign for sign in text).split())


def test_json(shunter: Command, log: Path) -> None:
    result = shunter("trace", "info", log, "--json").json()
    assert (result["workload"], result["format"], result["version"]) == ("log.swf", "swf", __version__)
    assert (result["jobs"], result["span_s"]) == (4, 20)
    # 400 + 240 + 400 + 60 core-seconds on 8 cores.
    assert (result["cluster"], result["offered_load"]) == ({"name": "8", "cores": 8, "gpus": 0}, 1100 / 160)
    assert result["percentiles"]["run_s"]["p50"] == 50
    assert result["percentiles"]["requested_s"]["count"] == 3
    assert result["percentiles"]["logged_wait_s"] is None
    assert result["users"] == {"count": 1, "largest": "3", "largest_share": 1}
    assert (result["statuses"], result["absent"]) == (
        {"completed": 1},
        ["waits", "memory", "partitions", "priorities"],
    )
    assert result["ledger"] == []


def test_another_cluster(shunter: Command, log: Path) -> None:
    result = shunter("trace", "info", log, "--cluster", 16, "--json").json()
    assert (result["cluster"]["cores"], result["offered_load"]) == (16, 1100 / 320)


def test_tables(shunter: Command, log: Path) -> None:
    answer = shunter("trace", "info", log)
    assert (answer.code, answer.err) == (0, "")
    assert max(map(len, answer.out.splitlines())) <= 80
    text = flat(answer.out)
    assert text.startswith("log.swf (swf): 4 jobs on 8 cores: offered load 687.5 %")
    assert "first arrival (counted from the log's time 0) 0 s" in text
    assert "most jobs in one second 2" in text
    assert "jobs that run longer than requested 0" in text
    assert "told of 4 3 3 4" in text
    assert "50 % 50.0 s 50.0 s 10.0 s 4" in text
    assert "max 1.67 min 3.33 min 10.0 s 8" in text
    assert "4 50.0 % 58.2 %" in text
    assert "users 1 3 100.0 %" in text
    assert "completed 100.0 %" in text
    assert "not told: waits, memory, partitions, priorities" in text
    assert "not told of all jobs: requested times (25 % of the jobs)" in text
    assert "ledger" not in text


def test_arrivals_are_a_line_of_blocks(shunter: Command, tmp_path: Path) -> None:
    lines = [swf_line(job, submit, 1, 1) for job, submit in enumerate([0] * 16 + [30] + [60] * 8)]
    out = shunter("trace", "info", write_log(tmp_path / "log.swf", lines)).out
    assert f"arrivals |█{' ' * 29}▁{' ' * 28}▄|" in out
    assert "each column is 1.00 s, the highest 16 jobs" in out


def test_all_at_one_time(shunter: Command, tmp_path: Path) -> None:
    path = write_log(tmp_path / "log.swf", [swf_line(job, 5, 1, 1) for job in range(3)])
    text = flat(shunter("trace", "info", path).out)
    assert "arrivals: all at one time" in text
    assert "on 8 cores: offered load unknown" in text


def test_a_log_of_gpus_without_a_machine(shunter: Command, tmp_path: Path) -> None:
    path = tmp_path / "gpus.csv"
    path.write_text("submit_s,run_s,tasks,gpus_per_task,memory_mb_per_task\n0,60,1,1,512\n10,60,4,1,4096\n")
    text = flat(shunter("trace", "info", path).out)
    assert "the log does not tell its machine; give --cluster to see the offered load" in text
    assert "jobs of at most one GPU 50.0 %" in text
    assert "run between time arrivals cores GPUs memory" in text
    assert "max 1.00 min 10.0 s 4 4 16.0 GB" in text
    assert "5 % 1.00 min 10.0 s 1 1 512 MB" in text
    assert "GPU-hours" in text


def test_several_files_are_one_log(shunter: Command, tmp_path: Path) -> None:
    for name, submit in (("a", 0), ("b", 100)):
        write_log(tmp_path / f"{name}.swf", [swf_line(submit + 1, submit, 10, 1)])
    result = shunter("trace", "info", tmp_path / "a.swf", tmp_path / "b.swf", "--json").json()
    assert (result["workload"], result["jobs"], result["span_s"]) == ("a.swf and 1 more", 2, 100)
    pattern = shunter("trace", "info", tmp_path / "*.swf", "--json").json()
    assert pattern == result


def test_a_generator_and_its_machine(shunter: Command) -> None:
    result = shunter("trace", "info", "generate:bursty-gpu?jobs=50", "--json").json()
    assert (result["format"], result["jobs"], result["sizes_of"], result["cluster"]["gpus"]) == (None, 50, "gpus", 64)


def test_repairs_and_other_statuses_are_told(shunter: Command, tmp_path: Path) -> None:
    path = write_log(tmp_path / "log.swf", [swf_line(1, 0, 10, 1), swf_line(2, 0, 0, 1), swf_line(3, 5, 10, 1)])
    answer = shunter("trace", "info", path, "--only", "completed")
    assert "run time 0 s: job dropped 1 line 3: run time 0" in flat(answer.out)
    assert "run time 0" in shunter("trace", "info", path, "--strict").error()
    assert 'no job has the status "failed"' in shunter("trace", "info", path, "--only", "failed").error()


def test_names_that_look_like_markup(shunter: Command, tmp_path: Path) -> None:
    path = tmp_path / "[bold]x.csv"
    path.write_text("submit_s,run_s,user,status\n0,60,[red]ann,[/b]\n")
    out = shunter("trace", "info", path).out
    assert "[bold]x.csv (csv): 1 job\n" in out
    assert "[red]ann" in out
    assert "[/b]" in out


@pytest.mark.every(3)
@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_plot(shunter: Command, log: Path, tmp_path: Path, suffix: str) -> None:
    plot = tmp_path / f"log{suffix}"
    answer = shunter("trace", "info", log, "--plot", plot)
    assert answer.out.endswith(f"written: {plot}\n")
    magic = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}
    assert plot.read_bytes().startswith(magic[suffix])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--plot", "log.gif"], "unknown suffix '.gif'"),
        (["--cluster", "nowhere.toml"], "nowhere.toml: no such cluster file"),
        (["--cluster", "0"], "expected a whole number of cores"),
        (["--format", "swff"], "unknown format 'swff'; did you mean 'swf'?"),
    ],
)
def test_bad_options(shunter: Command, log: Path, options: list[str], message: str) -> None:
    assert message in shunter("trace", "info", log, *options).error()


def test_what_cannot_be_read(shunter: Command, tmp_path: Path) -> None:
    assert "nothing.swf" in shunter("trace", "info", tmp_path / "nothing.swf").error()
    assert "no log is given; name a file" in shunter("trace", "info").error()


def test_no_log_is_overwritten(shunter: Command, tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.png", [swf_line(1, 0, 10, 1)])
    assert "--plot would overwrite the log" in shunter("trace", "info", log, "--plot", log).error()


def test_help(shunter: Command) -> None:
    answer = shunter("trace", "info", "--help")
    assert (answer.code, answer.err) == (0, "")
    assert "shunter trace info log.swf.gz" in answer.out
