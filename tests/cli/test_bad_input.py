"""Bad input: exit code 2, one line on standard error that names file, line, field, value and remedy, no traceback."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.cli.conftest import SWF_HEADER, Command, swf_line, write_log

GOOD = swf_line(1, 8, 100, 4)


def simulate_error(shunter: Command, path: Path, *options: object) -> str:
    return shunter("simulate", "--workload", path, "--cluster", 8, *options).error()


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        pytest.param("2 10 -1 50 4 -1\n", ["18"], id="truncated"),
        pytest.param("2 10 -1 fifty 4 -1 -1 4 -1 -1 1 3 1 -1 1 -1 -1 -1\n", ["run", "fifty"], id="word"),
        pytest.param(swf_line(2, 10, 10**30, 4), ["run", "1e30|1" + "0" * 30 + "|1e+30"], id="absurd-run"),
        pytest.param(
            swf_line(2, 10, 50, 10**12), ["processors", "1" + "0" * 12 + "|1e12|1e+12"], id="absurd-processors"
        ),
        pytest.param(swf_line(2, 10**15, 50, 4), ["submit", "1" + "0" * 15 + "|1e15|1e+15"], id="absurd-submit"),
        pytest.param(swf_line(2, "nan", 50, 4), ["submit", "nan"], id="nan"),
        pytest.param(swf_line(2, 10, -5, 4), ["run", "-5"], id="negative-run"),
        pytest.param(swf_line(2, 10, 50, 0), ["processors", "is 0"], id="zero-processors"),
    ],
)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_a_bad_line_is_named(shunter: Command, tmp_path: Path, line: str, parts: list[str], packed: bool) -> None:
    text = SWF_HEADER + GOOD + line + swf_line(3, 20, 50, 4)
    path = tmp_path / ("log.swf.gz" if packed else "log.swf")
    path.write_bytes(gzip.compress(text.encode(), mtime=0) if packed else text.encode())
    message = simulate_error(shunter, path)
    assert f"{path}:3" in message
    for part in parts:
        assert any(choice in message for choice in part.split("|")), message


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        pytest.param(swf_line(2, 10, -1, 4), ["run", "-1"], id="unknown-run"),
        pytest.param(swf_line(2, 5, 50, 4), ["submit", "5"], id="unsorted"),
    ],
)
def test_repairs_are_counted_and_errors_with_strict(
    shunter: Command, tmp_path: Path, line: str, parts: list[str]
) -> None:
    path = write_log(tmp_path / "log.swf", [GOOD, line, swf_line(3, 20, 50, 4)])
    ledger = shunter("simulate", "--workload", path, "--cluster", 8, "--json").json()["ledger"]
    repairs = [entry for entry in ledger if "line 3" in entry["example"] or ":3" in entry["example"]]
    assert [entry["count"] for entry in repairs] == [1]
    message = simulate_error(shunter, path, "--strict")
    assert f"{path}:3" in message
    for part in parts:
        assert part in message


@pytest.mark.parametrize(
    ("row", "parts"),
    [
        pytest.param("2,10,fifty,4", ["run_s", "fifty"], id="word"),
        pytest.param("2,10,-50,4", ["run_s", "-50"], id="negative-run"),
        pytest.param("2,10,50,0", ["tasks", "0"], id="zero-tasks"),
        pytest.param("2,10,50,99999999999", ["tasks", "99999999999"], id="absurd"),
        pytest.param("2,inf,50,4", ["submit_s", "inf"], id="infinite"),
    ],
)
def test_a_bad_cell_of_a_table_is_named(shunter: Command, tmp_path: Path, row: str, parts: list[str]) -> None:
    path = tmp_path / "log.csv"
    path.write_text(f"job_id,submit_s,run_s,tasks\n1,0,100,4\n{row}\n")
    message = simulate_error(shunter, path)
    assert f"{path}:3" in message
    for part in parts:
        assert part in message


def test_a_job_larger_than_the_cluster(shunter: Command, tmp_path: Path) -> None:
    path = write_log(tmp_path / "log.swf", [GOOD, swf_line(2, 10, 50, 64), swf_line(3, 20, 50, 4)])
    result = shunter("simulate", "--workload", path, "--json").json()
    assert (result["jobs"], result["rejected"]) == (3, 1)
    message = simulate_error(shunter, path, "--strict", "--missing-request", "60")
    assert "job 2 asks for 64 tasks of 1 core; the cluster has 8 cores; give a larger cluster" in message


def test_no_job_fits(shunter: Command, log: Path) -> None:
    message = shunter("simulate", "--workload", log, "--cluster", 1).error()
    assert "none of the 4 jobs can ever fit: job 1 asks for 4 tasks of 1 core; the cluster has 1 core" in message


def test_files_that_are_no_logs(shunter: Command, tmp_path: Path) -> None:
    empty, binary, only_header = tmp_path / "empty.swf", tmp_path / "binary.swf", tmp_path / "header.swf"
    empty.touch()
    binary.write_bytes(bytes(range(256)) * 8)
    only_header.write_text(SWF_HEADER)
    broken = tmp_path / "broken.swf.gz"
    broken.write_bytes(gzip.compress(GOOD.encode() * 100)[:40])
    for path in (empty, binary, only_header, broken, tmp_path, tmp_path / "missing.swf", tmp_path / "a\nb.swf"):
        assert simulate_error(shunter, path).startswith(" ".join(str(path).split("\n")))


def test_a_format_that_is_unknown(shunter: Command, log: Path) -> None:
    assert "swg" in simulate_error(shunter, log, "--format", "swg")


def test_no_cluster_anywhere(shunter: Command, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("submit_s,run_s\n0,100\n")
    message = shunter("simulate", "--workload", path).error()
    assert "log.csv: does not tell how many cores its machine had; give --cluster" in message


@pytest.mark.parametrize("cluster", ["-5", "0", "2.5", "nan", "1e99", "no-such-preset", "missing.toml", ""])
def test_a_bad_cluster(shunter: Command, log: Path, cluster: str) -> None:
    assert cluster in shunter("simulate", "--workload", log, "--cluster", cluster).error()


@pytest.mark.parametrize(
    ("option", "value", "parts"),
    [
        ("--policy", "sfj", ["unknown policy 'sfj'", "did you mean 'sjf'"]),
        ("--dispatch", "eazy", ["unknown dispatch 'eazy'", "did you mean 'easy'"]),
        ("--dispatch", "-1", ["unknown dispatch '-1'", "or a number"]),
        ("--placement", "packed", ["unknown placement 'packed'", "did you mean 'pack'"]),
        ("--estimate", "perfekt", ["did you mean 'perfect'"]),
        ("--reserve-by", "request", ["did you mean 'requested'"]),
        ("--start", "-1", ["--start is -1", "0 or more"]),
        ("--start", "4", ["the window starts at job 4, but the workload has 4;"]),
        ("--start", "one", ["--start", "'one' is not a whole number"]),
        ("--length", "0", ["--length is 0", "1 or more"]),
        ("--length", "9", ["9", "4 jobs"]),
        ("--max-wait", "-3", ["--max-wait (max_wait_s) is -3"]),
        ("--max-wait", "nan", ["--max-wait (max_wait_s) is nan"]),
        ("--max-wait", "soon", ["--max-wait", "'soon' is not a time"]),
        ("--missing-request", "never", ["--missing-request (missing_request) is 'never'", "run-time"]),
        ("--missing-request", "-1", ["--missing-request (missing_request) is '-1'"]),
        ("--missing-request", "inf", ["--missing-request (missing_request) is 'inf'"]),
        ("--scan-depth", "0", ["--scan-depth (scan_depth) is 0"]),
        ("--seed", "-1", ["--seed (seed) is -1"]),
        ("--seed", str(2**64), [f"--seed (seed) is {2**64}"]),
        ("--colour", "blue", ["--colour"]),
        ("--plot", "figure.gif", ["--plot figure.gif", "unknown suffix '.gif'", ".png, .svg or .pdf"]),
        ("--workload", "", ["--workload", "it is empty; give a name"]),
        ("--out", "", ["--out", "it is empty; give a name"]),
        ("--plot", " ", ["--plot", "it is empty; give a name"]),
        ("--plot", "figure", ["--plot figure", "unknown suffix ''"]),
        ("--plot", "no/such/folder/figure.png", ["no folder no/such/folder"]),
    ],
)
def test_a_bad_option(shunter: Command, log: Path, option: str, value: str, parts: list[str]) -> None:
    message = shunter("simulate", "--workload", log, option, value).error()
    for part in parts:
        assert part in message


def test_options_are_checked_before_the_workload_is_read(shunter: Command, tmp_path: Path) -> None:
    missing = tmp_path / "missing.swf"
    for option, value in [("--policy", "sfj"), ("--cluster", "-5"), ("--plot", "a.gif"), ("--max-wait", "nan")]:
        assert str(missing) not in shunter("simulate", "--workload", missing, option, value).error()


def test_the_workload_is_required(shunter: Command) -> None:
    assert "no job log is given" in shunter("simulate").error()
    assert "'simulat'" in shunter("simulat").error()


def test_an_output_folder_that_is_in_use(shunter: Command, log: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert shunter("simulate", "--workload", log, "--out", out).code == 0
    before = (out / "manifest.json").read_bytes()
    message = shunter("simulate", "--workload", log, "--policy", "sjf", "--out", out).error()
    assert message == f"--out {out}: the folder is not empty; give another, or --force to overwrite the run"
    assert (out / "manifest.json").read_bytes() == before
    assert shunter("simulate", "--workload", log, "--policy", "sjf", "--out", out, "--force").code == 0
    assert (out / "manifest.json").read_bytes() != before


def test_an_output_that_is_a_file(shunter: Command, log: Path, tmp_path: Path) -> None:
    for out in (log, log / "below"):
        message = shunter("simulate", "--workload", log, "--out", out).error()
        assert message.startswith(f"--out {out}: ")
    folder = tmp_path / "figure.png"
    folder.mkdir()
    assert "this is a folder" in shunter("simulate", "--workload", log, "--plot", folder).error()


def test_an_output_folder_that_holds_something_else_is_never_overwritten(
    shunter: Command, log: Path, tmp_path: Path
) -> None:
    out = tmp_path / "notes"
    out.mkdir()
    (out / "schedule.csv").write_text("my own")
    (out / "notes.txt").write_text("mine too")
    message = shunter("simulate", "--workload", log, "--out", out, "--force").error()
    assert message == f"--out {out}: the folder is not empty, and no run (no manifest.json in it); give another"
    assert (out / "schedule.csv").read_text() == "my own"


def test_a_run_that_was_cut_short_can_be_overwritten(shunter: Command, log: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert shunter("simulate", "--workload", log, "--out", out).code == 0
    (out / "manifest.json").unlink()
    assert "--force" in shunter("simulate", "--workload", log, "--out", out).error()
    assert shunter("simulate", "--workload", log, "--out", out, "--force").code == 0


def test_no_output_overwrites_an_input(
    shunter: Command, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    table, cluster = b"submit_s,run_s\n0,10\n", b"[[nodes]]\ncores = 8\n"
    (tmp_path / "jobs.png").write_bytes(table)
    (tmp_path / "link.png").symlink_to("jobs.png")
    (tmp_path / "nodes.svg").write_bytes(cluster)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "schedule.csv").write_bytes(table)
    (tmp_path / "run" / "manifest.json").touch()
    jobs = ("--workload", "jobs.png", "--format", "csv", "--cluster")
    for plot in ("jobs.png", "link.png", tmp_path / "jobs.png"):
        message = shunter("simulate", *jobs, 8, "--plot", plot).error()
        assert message == "--plot would overwrite the workload jobs.png; give another place"
    message = shunter("simulate", "--workload", log, "--cluster", "nodes.svg", "--plot", "nodes.svg").error()
    assert message == "--plot would overwrite the cluster nodes.svg; give another place"
    run = ("--workload", "run/schedule.csv", "--cluster", 8, "--out", "run", "--force")
    message = shunter("simulate", *run).error()
    assert message == "--out would overwrite the workload run/schedule.csv; give another place"
    assert (tmp_path / "jobs.png").read_bytes() == (tmp_path / "run" / "schedule.csv").read_bytes() == table
    assert (tmp_path / "nodes.svg").read_bytes() == cluster


def test_a_folder_that_cannot_be_created(shunter: Command, log: Path, tmp_path: Path) -> None:
    out = tmp_path / ("n" * 300)
    message = shunter("simulate", "--workload", log, "--out", out).error()
    assert message == f"--out {out}: cannot be used (File name too long); give another folder"
    plot = tmp_path / ("n" * 300 + ".png")
    message = shunter("simulate", "--workload", log, "--plot", plot).error()
    assert message.startswith(f"cannot write {plot}: File name too long")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no /proc here")
def test_a_folder_below_one_that_takes_none(shunter: Command, log: Path) -> None:
    message = shunter("simulate", "--workload", log, "--out", "/proc/shunter").error()
    assert message.startswith("--out /proc/shunter: ")
    assert message.endswith("; give another folder")


def test_options_that_mean_nothing_without_others(shunter: Command, log: Path) -> None:
    assert "--force is given without --out" in shunter("simulate", "--workload", log, "--force").error()
    spec = "generate:lublin?jobs=5"
    message = shunter("simulate", "--workload", spec, "--format", "swf").error()
    assert f"--format (format) is 'swf', but {spec} is a generator; leave it out" in message


def test_the_only_job_does_not_fit(shunter: Command, tmp_path: Path) -> None:
    path = write_log(tmp_path / "log.swf", [GOOD])
    message = shunter("simulate", "--workload", path, "--cluster", 1).error()
    assert message.startswith("log.swf: the only job can never fit: job 1 asks for 4 tasks")


@pytest.mark.parametrize("value", ["abc", "-5", "0", "9" * 30])
def test_a_header_that_tells_no_possible_number_of_cores(shunter: Command, tmp_path: Path, value: str) -> None:
    path = tmp_path / "log.swf"
    path.write_text(f"; MaxProcs: {value}\n{GOOD}")
    message = shunter("simulate", "--workload", path).error()
    expected = f'log.swf: its header says "MaxProcs: {value}", which is no number of cores from 1 to 1,000,000,000; '
    assert message.startswith(expected + "give --cluster")
    assert shunter("simulate", "--workload", path, "--cluster", 8).code == 0
