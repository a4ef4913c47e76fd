"""Python files that a file names, and not the user: a manifest, a checkpoint, a training file. None is run unasked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shunter as package
from shunter.errors import InputError
from shunter.model.state import State
from tests.agents.untrained import edit_policy, write_policy
from tests.cli.conftest import Command

LOG = "generate:lublin?seed=3&jobs=60&cores=8&load=1.1"
MARK = "from pathlib import Path\nPath(__file__).with_name('was-run').touch()\n"
PLACER = (
    MARK
    + """
from shunter import Placer

class Own(Placer):
    def place(self, scene):
        for node, room in enumerate(scene.capacity):
            if room >= scene.request.tasks:
                return [(node, scene.request.tasks)]
        return None
"""
)
POLICY = (
    MARK
    + """
from shunter import Policy

class Own(Policy):
    moves = False
    def score(self, queue):
        return queue.estimate_s
"""
)


class Stranger:
    """A Python file that leaves a mark where it is run."""

    def __init__(self, folder: Path, text: str) -> None:
        self.file = folder / "theirs.py"
        self.file.write_text(text)
        self.mark = folder / "was-run"

    def was_run(self) -> bool:
        """Returns whether it has been run since the last time."""
        found = self.mark.exists()
        self.mark.unlink(missing_ok=True)
        return found


@pytest.fixture
def placer(tmp_path: Path) -> Stranger:
    return Stranger(tmp_path, PLACER)


@pytest.fixture
def checkpoint(tmp_path: Path, placer: Stranger) -> Path:
    """Returns the folder of a run whose policy.json names a placement in Python."""
    run = tmp_path / "run"
    write_policy(run / "best", order="fcfs")
    edit_policy(run / "best", lambda about: about["options"].update(placement=str(placer.file)))
    return run


@pytest.mark.parametrize("option", ["--policy", "--placement"])
def test_a_manifest(shunter: Command, tmp_path: Path, option: str) -> None:
    stranger = Stranger(tmp_path, POLICY if option == "--policy" else PLACER)
    run = tmp_path / "run"
    assert shunter("simulate", LOG, option, stranger.file, "-o", run).code == 0
    assert stranger.was_run(), "typed on the command line"
    what = option.removeprefix("--")
    message = shunter("replay", run).error()
    assert message.startswith(f"{run / 'manifest.json'}: names {stranger.file} as its {what}, which is Python")
    assert message.endswith("look at it, and give --trust (trust=True) if you trust it")
    assert not stranger.was_run()
    assert shunter("replay", run, "--trust", "--json").json()["same"]
    assert stranger.was_run()


@pytest.mark.parametrize(
    "words",
    [
        ["simulate", LOG, "--policy", "{run}"],
        ["compare", LOG, "--policy", "fcfs,{run}", "--windows", "2", "--length", "10"],
        ["what-if", LOG, "--change", "policy={run}"],
        ["evaluate", "{run}", LOG, "--windows", "2", "--length", "10", "--part", "0:1", "--against", "fcfs/easy"],
        ["inspect", "{run}", LOG, "--windows", "2", "--length", "10"],
        ["train", LOG, "--init", "{run}", "--preset", "quick", "-o", "{new}"],
    ],
    ids=lambda words: words[0],
)
def test_a_checkpoint(shunter: Command, tmp_path: Path, checkpoint: Path, placer: Stranger, words: list[str]) -> None:
    given = [word.format(run=checkpoint, new=tmp_path / "new") for word in words]
    message = shunter(*given).error()
    assert f"names {placer.file} as its placement" in message
    assert "--trust" in message
    assert not placer.was_run()
    if words[0] not in ("train", "inspect"):
        assert shunter(*given, "--trust").code == 0
        assert placer.was_run()


def test_a_training_file(shunter: Command, tmp_path: Path, placer: Stranger) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f'[data]\nworkload = ["{LOG}"]\n[environment]\nplacement = "{placer.file}"\n')
    message = shunter("train", "--config", config, "-o", tmp_path / "new").error()
    assert f"names {placer.file} as its placement" in message
    assert not placer.was_run()


def test_a_state_cannot_trust_itself(shunter: Command, tmp_path: Path, checkpoint: Path, placer: Stranger) -> None:
    file = tmp_path / "state.json"
    settings = {"policy": str(checkpoint), "trust": True}
    state = {"schema": "shunter.state/1", "now_s": 5, "cluster": "8", "settings": settings, "jobs": []}
    file.write_text(json.dumps(state))
    assert shunter("eta", "--snapshot", file).error().startswith(f"{file}: settings: unknown setting 'trust'")
    assert not placer.was_run()


def test_the_keyword_of_python(checkpoint: Path, placer: Stranger) -> None:
    with pytest.raises(InputError, match="trust=True"):
        package.simulate(LOG, policy=str(checkpoint))
    with pytest.raises(InputError, match="trust=True"):
        package.load_policy(checkpoint)
    assert not placer.was_run()
    package.simulate(LOG, policy=str(checkpoint), trust=True)
    assert placer.was_run()


@pytest.mark.parametrize("setting", ["policy", "placement"])
def test_a_state(shunter: Command, tmp_path: Path, setting: str) -> None:
    stranger = Stranger(tmp_path, POLICY if setting == "policy" else PLACER)
    job = {"submit_s": 0, "state": "waiting", "requested_s": 9, "tasks": 2}
    state = {"schema": "shunter.state/1", "now_s": 5, "cluster": "8", "jobs": [job]}
    file = tmp_path / "state.json"
    file.write_text(json.dumps({**state, "settings": {setting: str(stranger.file)}}))
    message = shunter("eta", "--snapshot", file).error()
    assert message.startswith(f"{file}: the state's settings: names {stranger.file} as its {setting}, which is Python")
    assert not stranger.was_run()
    with pytest.raises(InputError, match="futures run in the core"):
        package.eta(State.from_json(file.read_text()), trust=True)
    assert stranger.was_run()
    # Futures run in the core: it is read, and then refused for what it is.
    assert "futures run in the core" in shunter("eta", "--snapshot", file, "--trust").error()
    assert stranger.was_run()
    # What the user asks for goes over it, and what the user names is the user's.
    assert shunter("eta", "--snapshot", file, f"--{setting}", "fcfs" if setting == "policy" else "best-fit").code == 0
    assert not stranger.was_run()
    assert "futures run in the core" in shunter("eta", "--snapshot", file, f"--{setting}", stranger.file).error()
