"""A Slurm that hangs, restarts or talks nonsense: the breaker opens, nothing is lost, and it goes on afterwards."""

from __future__ import annotations

import shutil
import signal
import time
from pathlib import Path

import pytest

from shunter.execution.operating.neighbor import Knob
from shunter.execution.operating.operation import Operation
from shunter.execution.slurm.neighbor import Slurm
from shunter.execution.slurm.programs import Programs
from tests.execution.operating.beside import Beside
from tests.execution.slurm.real_slurm import RealSlurm

pytestmark = pytest.mark.slow


def test_a_controller_that_hangs_opens_the_breaker_and_is_found_again(slurm: RealSlurm, beside: Beside) -> None:
    nine, one = slurm.crowd(9, 1)
    beside.neighbor = Slurm(Programs(timeout_s=0.5))
    operation = beside.make(most_failures=2, probe_s=0.2, slow_s=0.1, most_period_s=8.0, period_s=1.0)
    operation.cycle()
    assert slurm.line() == [one, nine]
    held = len(operation._journal)
    slurm.signal_controller(signal.SIGSTOP)
    try:
        for _ in range(3):
            operation.cycle()
        told = beside.status()
        assert told["scheduler_breaker_open"]
        assert told["up"] == 0
        assert told["failed_reads"] == 2
        assert "did not answer" in told["last_failed_read"]
        assert told["held"] == held, "what is held is not forgotten"
    finally:
        slurm.signal_controller(signal.SIGCONT)
    time.sleep(0.2)
    slurm.wait(lambda: _recovers(beside, operation), "a cycle that works")
    assert not beside.status()["scheduler_breaker_open"]
    assert slurm.line() == [one, nine]
    assert beside.undo() == held


def _recovers(beside: Beside, operation: Operation) -> bool:
    operation.cycle()
    return bool(beside.status()["up"])


def test_a_controller_that_restarts_keeps_what_is_held_and_undone(slurm: RealSlurm, beside: Beside) -> None:
    nine, one = slurm.crowd(9, 1)
    operation = beside.make(probe_s=0.1, most_failures=1)
    operation.cycle()
    slurm.stop_controller()
    operation.cycle()
    assert beside.status()["failed_reads"] == 1
    slurm.start_controller()
    slurm.wait(lambda: _recovers(beside, operation), "a cycle that works")
    assert slurm.line() == [one, nine]
    assert beside.undo() == 1
    assert set(slurm.site_factors().values()) == {0}


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """Slurm's programs, which talk nonsense while a file is there."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in ("squeue", "sinfo", "sprio", "scontrol"):
        text = f"#!/bin/sh\n[ -e {folder}/nonsense.{name} ] && {{ cat {folder}/nonsense.{name}; exit 0; }}\n"
        (folder / name).write_text(f'{text}exec {shutil.which(name)} "$@"\n')
        (folder / name).chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("program", "nonsense"),
    [
        ("squeue", "{"),
        ("squeue", '{"jobs": [{"job_id": "12; rm -rf /"}]}'),
        ("squeue", '{"jobs": 7}'),
        ("sinfo", '{"nodes": []}'),
        ("sinfo", '{"sinfo": []}'),
        ("sprio", "slurm_load_jobs error\n"),
    ],
)
def test_nonsense_changes_nothing_and_is_counted(
    slurm: RealSlurm, beside: Beside, programs: Path, program: str, nonsense: str
) -> None:
    beside.neighbor = Slurm(Programs(str(programs)))
    slurm.submit("--hold")
    operation = beside.make()
    operation.cycle()
    (programs / f"nonsense.{program}").write_text(nonsense)
    before = slurm.all_jobs()
    operation.cycle()
    assert operation.tally.failed_reads == 1
    assert slurm.all_jobs() == before
    (programs / f"nonsense.{program}").unlink()
    operation.cycle()
    assert beside.status()["up"] == 1


def test_an_answer_without_jobs_makes_nothing_forgotten(slurm: RealSlurm, beside: Beside, programs: Path) -> None:
    nine, one = slurm.crowd(9, 1)
    beside.neighbor = Slurm(Programs(str(programs)))
    operation = beside.make()
    operation.cycle()
    assert slurm.line() == [one, nine]
    (programs / "nonsense.squeue").write_text('{"jobs": []}')
    operation.cycle()
    assert beside.undo() == 0
    (programs / "nonsense.squeue").unlink()
    assert beside.undo() == 1
    assert set(slurm.site_factors().values()) == {0}
    slurm.clear()
    operation = beside.make("observe")
    operation.cycle()
    assert operation._journal.all == [], "a job that has ended is not looked after any more"


def test_without_json_the_same_is_read_from_text(slurm: RealSlurm, beside: Beside, programs: Path) -> None:
    slurm.crowd(9, 1)
    slurm.submit("--gres=gpu:a100:1", "--time=2", "--partition=main,small")
    slurm.submit("--hold")
    array = slurm.submit("--array=1-4%2", "--nice=3")
    slurm.wait(lambda: "Unknown" not in slurm.field(array, "EligibleTime"), "the array to be eligible")
    by_json = Slurm(Programs()).read(with_knobs=True)
    text = '#!/bin/sh\ncase "$*" in *--json*) echo "unrecognized option" >&2; exit 1;; esac\n'
    for name in ("squeue", "sinfo"):
        (programs / name).write_text(f'{text}exec {shutil.which(name)} "$@"\n')
    beside.neighbor = Slurm(Programs(str(programs)))
    by_text = beside.neighbor.read(with_knobs=True)
    assert by_text.nodes == by_json.nodes
    same = ["address", "array", "state", "barrier", "requested_s", "cores", "gpus", "gpu_type", "partitions", "user"]
    same += ["priority", "nice", "site_factor", "allocation", "submit_s"]
    of_text = {job.id: [getattr(job, name) for name in same] for job in by_text.jobs if job.state != "ended"}
    of_json = {job.id: [getattr(job, name) for name in same] for job in by_json.jobs if job.state != "ended"}
    assert of_text == of_json
    # Whether an administrator has left a comment is not told there: none is written over.
    job = next(job for job in by_text.jobs if job.state == "pending" and not job.barrier)
    assert beside.neighbor.commands(job, Knob.SITE_FACTOR, 5, "shunter")[0][-1] == "SiteFactor=5"


def test_a_refused_site_factor_makes_nice_the_knob(slurm: RealSlurm, beside: Beside, programs: Path) -> None:
    nine, one = slurm.crowd(9, 1)
    refuse = 'case "$*" in *SiteFactor*) echo "Access/permission denied for job" >&2; exit 1;; esac'
    (programs / "scontrol").write_text(f'#!/bin/sh\n{refuse}\nexec {shutil.which("scontrol")} "$@"\n')
    beside.neighbor = Slurm(Programs(str(programs)))
    operation = beside.make()
    operation.cycle()
    assert slurm.line() == [nine, one]
    assert operation.tally.failed_changes == 1
    operation.cycle()
    assert slurm.line() == [one, nine]
    assert int(slurm.field(one, "Nice")) < 0
    beside.undo()
    assert slurm.field(one, "Nice") == "0"
