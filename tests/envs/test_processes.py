"""Environments in other processes, forked and spawned: they work, or are refused with one line; none hangs."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import sys
import gymnasium
import numpy as np
import shunter.envs
from gymnasium.vector import AsyncVectorEnv

LOG = "generate:lublin?seed=1&jobs=200&cores=64&load=1.2"
KEYWORDS = {
    "shunter/PickJob-v0": {"workload": LOG, "length": 20, "window": 8, "warmup": 4, "estimate": "posterior"},
    "shunter/PickHost-v0": {"num_hosts": 3, "episode_length": 5, "episodes": 8},
}

def make(id, **more):
    return lambda: gymnasium.make(id, **KEYWORDS[id] | more)

def play(id, context):
    with_async = AsyncVectorEnv([make(id)] * 2, context=context)
    observations, infos = with_async.reset(seed=7)
    seen = [observations.copy()]
    for _ in range(30):
        actions = np.array([int(mask.argmax()) for mask in infos["action_mask"]])
        observations, _, _, _, infos = with_async.step(actions)
        seen.append(observations.copy())
    with_async.close()
    return np.array(seen)

def alone(id):
    seen = []
    for seed in (7, 8):
        env = make(id)()
        observation, info = env.reset(seed=seed)
        rows = [observation]
        for _ in range(30):
            observation, _, ended, cut, info = env.step(int(info["action_mask"].argmax()))
            rows.append(observation)
            if ended or cut:
                break
        seen.append(np.array(rows))
    return seen

if __name__ == "__main__":
    id, context = sys.argv[1:3]
    if context == "refused":
        import os
        from shunter.errors import InputError
        make(id)()
        child = os.fork()
        if child == 0:
            try:
                make(id, window=7)() if "PickJob" in id else make(id, num_hosts=4)()
            except InputError as error:
                print(error, flush=True)
                os._exit(3)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        sys.exit(os.waitstatus_to_exitcode(status))
    seen = play(id, context)
    for place, rows in enumerate(alone(id)):
        assert np.array_equal(seen[: len(rows) - 1, place], rows[:-1])
    print("same")
"""
IDS = ("shunter/PickJob-v0", "shunter/PickHost-v0")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")


def run(tmp_path: object, *words: str) -> subprocess.CompletedProcess[str]:
    file = f"{tmp_path}/playing.py"
    with open(file, "w") as script:
        script.write(SCRIPT)
    # What hangs is an error: a minute is many times what it takes.
    return subprocess.run([sys.executable, file, *words], capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.every(4)
@pytest.mark.parametrize("context", ["fork", "spawn"])
@pytest.mark.parametrize("id", IDS)
def test_gymnasiums_asynchronous_vector(tmp_path: object, id: str, context: str) -> None:
    played = run(tmp_path, id, context)
    assert (played.returncode, played.stdout) == (0, "same\n"), played.stderr


@pytest.mark.parametrize("id", IDS)
def test_one_that_was_not_made_before_the_fork_is_refused_with_one_line(tmp_path: object, id: str) -> None:
    played = run(tmp_path, id, "refused")
    assert played.returncode == 3, played.stderr
    assert "made in a forked process" in played.stdout
    assert "context='spawn'" in played.stdout
