"""Trainings on machines that do not share the disk: what they read goes there, and the folder of the run comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

import shunter
from shunter.studies.study import run_study
from shunter.studies.study_file import read_study
from tests.agents.untrained import write_policy
from tests.comparison.elsewhere import ElsewhereEngine
from tests.studies.small import STUDY, InlineEngine, write_study

LOG = "generate:lublin?seed=3&jobs=400&cores=64&load=1.1"


def test_a_run_comes_back_from_a_machine_that_has_no_file_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    jobs = shunter.read_workload(LOG).jobs.select("submit_s", "run_s", "requested_s", "tasks", "user")
    jobs.write_csv(work / "log.csv")
    (work / "order.toml").write_text('[policy]\nkind = "hybrid"\naging = 0.5\n')
    text = STUDY.replace(f'"{LOG}"', '{ workload = "log.csv", cluster = "64" }').replace("seeds = 2", "seeds = 1")
    text += '[variants.one]\nenvironment.order = "order.toml"\n'
    study = read_study(write_study(work, text), Path("here"))
    here = run_study(study, on=InlineEngine())
    assert not here.failed, here.failed

    engine = ElsewhereEngine(work)
    there = run_study(read_study(work / "study.toml", Path("there")), on=engine)
    assert engine.tasks == 1
    assert not there.failed, [one.error for one in there.failed]
    ours, theirs = (one.runs[0][1].task.folder for one in (here, there))
    assert theirs.name == ours.name
    for name in ("best/policy.safetensors", "last/policy.safetensors", "config.toml"):
        # A study names files by their whole paths, which mean nothing elsewhere.
        expected = (ours / name).read_bytes().replace(f"{work}/".encode(), b"").replace(b"here/", b"there/")
        assert (theirs / name).read_bytes() == expected
    assert sorted(one.name for one in theirs.iterdir()) == sorted(one.name for one in ours.iterdir())
    assert not list(theirs.parent.glob(".*")), "nothing is left beside it"
    # What has come back is done, like any other run.
    run_study(read_study(work / "study.toml", Path("there")), on=engine)
    assert engine.tasks == 1


def test_a_beginning_goes_with_its_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    init = write_policy(work / "begin" / "best", window=8)
    text = STUDY.replace("seeds = 2", "seeds = 1").replace("training = {", f'training = {{ init = "{init}",')
    study = read_study(write_study(work, text.replace("network.hidden = [8]\n", "")), work / "there")
    report = run_study(study, on=ElsewhereEngine(work))
    assert not report.failed, [one.error for one in report.failed]
    assert (report.runs[0][1].task.folder / "best" / "policy.json").is_file()
