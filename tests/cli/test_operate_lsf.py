"""``shunter operate lsf`` as operators use it, beside an emulated LSF."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.execution.lsf.emulation import EmulatedLsf


@pytest.fixture
def lsf(tmp_path: Path) -> EmulatedLsf:
    """An LSF in which three jobs wait."""
    emulated = EmulatedLsf(tmp_path)
    emulated.crowd(9, 1, 5)
    return emulated


@pytest.fixture
def operate(tmp_path: Path, lsf: EmulatedLsf, shunter: Command) -> Command:
    """The command line of an operation beside it."""
    config = tmp_path / "operate.toml"
    # Where other tests keep the machine busy, a decision may take longer than usual.
    config.write_text(f'programs = "{lsf.programs}"\ndeadline_s = 30.0\n')

    def run(verb: str, *words: object) -> object:
        more = ("--config", config) if verb == "lsf" else ()
        return shunter("operate", verb, "--state", tmp_path / "state", *more, *words)

    return run  # type: ignore[return-value]


@pytest.mark.slow
def test_observing_nudging_undoing_and_replaying(
    operate: Command, lsf: EmulatedLsf, tmp_path: Path, shunter: Command
) -> None:
    seen = operate("lsf", "--policy", "sjf", "--once")
    assert seen.code == 0, seen.err
    assert "lsf has 102, 103, 104; sjf has 103, 104, 102 (67% of pairs the other way round)" in seen.out
    assert lsf.changes() == []
    dry = operate("lsf", "--policy", "sjf", "--once", "--mode", "nudge", "--dry-run")
    commands = [line for line in dry.out.splitlines() if line.startswith(str(lsf.programs))]
    assert commands
    assert lsf.changes() == []
    assert operate("lsf", "--policy", "sjf", "--once", "--mode", "nudge").code == 0
    assert [f"{lsf.programs}/{line}" for line in lsf.changes()] == commands, "what a dry run tells is what is run"
    assert lsf.line() == [103, 104, 102]
    status = operate("status", "--json").json()
    assert status["scheduler"] == "lsf"
    assert status["held"] == len(commands)
    assert "bjobs" in operate("status").out
    assert operate("undo").out == f"Undone: {len(commands)} change{'' if len(commands) == 1 else 's'}\n"
    assert lsf.line() == [102, 103, 104]
    again = shunter("operate", "replay", tmp_path / "state" / "audit.jsonl", "--policy", "sjf", "--json")
    assert again.json()["decisions"] == 3
    assert again.json()["same_first"] == 1.0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("lsf", "--mode", "enforce"), "add --i-understand"),
        (("lsf", "--mode", "enforce", "--i-understand"), "mode enforce needs an allow-list"),
        (("lsf", "--mode", "advise"), "mode"),
        (("lsf", "--policy", "nobody", "--once"), "nobody"),
    ],
)
def test_mistakes_are_told_in_one_line(operate: Command, words: tuple[str, ...], said: str) -> None:
    answer = operate(words[0], *words[1:])
    assert answer.code == 2
    assert said in answer.err
    assert answer.err.count("\n") == 1


def test_a_folder_of_slurm_is_refused_for_lsf(operate: Command, tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "held.jsonl").write_text('{"op": "head", "scheduler": "slurm", "programs": ""}\n')
    assert "was written beside slurm" in operate("lsf", "--once").err


def test_the_usual_folder_is_the_one_that_there_is(
    shunter: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg"))
    assert "operate-slurm: there is no such folder" in shunter("operate", "status").err
    (tmp_path / "xdg" / "shunter" / "operate-lsf").mkdir(parents=True)
    assert "operate-lsf/status.json: cannot be read" in shunter("operate", "status").err
    (tmp_path / "xdg" / "shunter" / "operate-slurm").mkdir()
    assert "name one with --state" in shunter("operate", "undo").err
