"""Limits and reservations of a cluster file on the command line."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Command

NODES = "[[nodes]]\ncores = 4\n"


def test_a_run_is_explained_from_its_folder(shunter: Command, tmp_path: Path) -> None:
    log, site, out = tmp_path / "log.csv", tmp_path / "site.toml", tmp_path / "run"
    log.write_text("job_id,submit_s,run_s,user\n1,0,10,ann\n2,0,10,ann\n")
    site.write_text(f"{NODES}[[limits]]\nper = 'user'\nrunning_jobs = 1\n")
    assert shunter("simulate", log, "--cluster", site, "--out", out).code == 0
    answer = shunter("explain", out, "2", "--json")
    told = json.loads(answer.out)
    assert told["limited"] == "a limit of user ann (running_jobs 1)"
    assert told["phases"][0]["reason"] == "limit"
    assert "it waits for a limit of user ann (running_jobs 1)" in told["conclusion"]


def test_a_clock_from_the_header_of_the_log(shunter: Command, tmp_path: Path) -> None:
    """Second 0 is a Monday, 7:59:50 by Stockholm's standard time: from 8:00 on nobody may start for a minute."""
    log, site, out = tmp_path / "log.swf", tmp_path / "site.toml", tmp_path / "run"
    header = "; UnixStartTime: 843461990\n; TimeZoneString: Europe/Stockholm\n; MaxProcs: 4\n"
    log.write_text(f"{header}1 15 0 5 1 -1 -1 1 5 -1 1 1 1 1 1 -1 -1 -1\n")
    site.write_text(f"{NODES}[[limits]]\nrunning_jobs = 0\ndays = 'mon'\nfrom_time = '08:00'\nto_time = '08:01'\n")
    assert shunter("simulate", log, "--cluster", site, "--out", out).code == 0
    told = json.loads(shunter("explain", out, "1", "--json").out)
    assert told["waited_s"] == 55
    assert told["limited"] == "a limit of all jobs (running_jobs 0 from 08:00 to 08:01 on mon)"


def test_a_mistake_is_one_line(shunter: Command, tmp_path: Path) -> None:
    log, site = tmp_path / "log.csv", tmp_path / "site.toml"
    log.write_text("job_id,submit_s,run_s\n1,100,10\n")
    site.write_text(f"{NODES}[[reservations]]\nstart = 1\nduration_s = 5\n")
    answer = shunter("simulate", log, "--cluster", site)
    assert answer.code == 2
    assert f"{site}:3: [[reservations]] 1: lies in the past: it ends 94 s before the log's first job" in answer.err
    assert answer.err.count("\n") == 1
