"""Studies small enough for a test, and an engine that runs in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from shunter.engines.base import Done, Failed, Result, Task, Told, Value
from shunter.engines.local import Held
from shunter.errors import ShunterError

STUDY = """
[study]
name = "small"
seeds = 2
steps = 128
preset = "quick"

[logs]
busy = "generate:lublin?seed=3&jobs=400&cores=64&load=1.1"

[common]
environment.window = 8
episodes = { length = 24, windows = 12 }
validation = { length = 24, windows = 4 }
report = { windows = 4, length = 24 }
network.hidden = [8]
ppo = { num_envs = 4, rollout_steps = 16, minibatch = 32, epochs = 1 }
training = { engine = "native", eval_every = 64, save_every = 64, margin_se = 0.0 }
"""
VARIANTS = """
[variants.slow]
ppo.learning_rate = 1e-4

[variants.fast]
ppo.learning_rate = 1e-2
"""


def write_study(folder: Path, text: str = STUDY + VARIANTS) -> Path:
    """Writes a study file."""
    path = folder / "study.toml"
    path.write_text(text)
    return path


class InlineEngine:
    """Runs tasks one after the other in this process, and remembers them."""

    workers = 1
    is_here = True

    def __init__(self) -> None:
        """Has run nothing."""
        self.tasks: list[object] = []

    def share(self, value: Value, send: Callable[[Value], Value] | None = None) -> Held[Value]:
        """Returns what stands for something large."""
        return Held("0", value)

    def map(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        told: Told[Result] | None = None,
        *,
        alone: bool = True,
    ) -> list[Done[Result] | Failed]:
        """Runs a function on each task."""
        outcomes: list[Done[Result] | Failed] = []
        for place, task in enumerate(tasks):
            self.tasks.append(task)
            try:
                outcome: Done[Result] | Failed = Done(function(task))
            except ShunterError as error:
                outcome = Failed(str(error))
            outcomes.append(outcome)
            if told is not None:
                told(place, outcome)
        return outcomes
