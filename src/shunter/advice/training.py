"""Training a network on the first days, from what was tuned there. PyTorch is imported with this module alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Final

from shunter.advice.searching import LEARNED_FOLDER, TUNED_FILE
from shunter.advice.site import CLUSTER_FILE
from shunter.agents.training.request import TrainRequest
from shunter.agents.training.train import Watcher, run_request
from shunter.agents.training.validation import METRICS as REWARDS
from shunter.errors import InputError
from shunter.files import parse_json, write_file
from shunter.metrics.run_folder import to_json_text
from shunter.workloads.write import write_table

if TYPE_CHECKING:
    from pathlib import Path

    from shunter.advice.kept import Kept, Object
    from shunter.advice.request import AdviseRequest
    from shunter.advice.site import Site
    from shunter.agents.training.trainer import Progress as TrainerProgress
    from shunter.comparison.classics import Progress
    from shunter.comparison.combinations import Combination

FIRST_DAYS_FILE: Final = "first-days.parquet"
"""The jobs before the later days: all that a training can see."""
TRAINING_MARKER: Final = ".training"
"""The file that says for which stage a training was begun."""
EPISODE, VALIDATED = 512, 1024
"""How many jobs an episode has, and a window in which the best of a training is found."""
SMALL_NETWORK: Final = "quick"
"""The preset that networks are trained by."""
WAIT_WEIGHT: Final = 0.4
"""What waiting counts for beside the objective in the reward: without it, long jobs are held back for ever."""


class _Watching(Watcher):
    """Shows how far a training is, and writes down what was told when it began: one that goes on tells other things."""

    def __init__(self, marker: Path, key: str, progress: Progress) -> None:
        self._marker = marker
        self._progress = progress
        self.is_begun, self.notes = False, []
        if marker.is_file():
            content = parse_json(marker.read_bytes(), str(marker))
            self.is_begun = isinstance(content, dict) and content.get("key") == key
            self.notes = list(content["notes"]) if self.is_begun else []
        self._told: dict[str, Any] = {"key": key, "notes": self.notes}

    def begin(self) -> None:
        """Writes down that the training begins."""
        text = to_json_text(self._told)
        write_file(self._marker, lambda file: file.write(text.encode()))

    def note(self, text: str) -> None:
        """Keeps a note of the beginning."""
        if not self.is_begun:
            self.notes.append(text)
            self.begin()

    def training(self, chosen: Sequence[Combination]) -> AbstractContextManager[Callable[[TrainerProgress], None]]:
        """Tells after each update how many steps are done."""
        return nullcontext(lambda now: self._progress(now.steps, now.total_steps))


def training_stage(request: AdviseRequest, site: Site, kept: Kept, key: str, progress: Progress) -> Object:
    """Trains a network on the first days, from what was tuned on; it goes on where an earlier run was cut short.

    Args:
        request: What is asked for.
        site: What is advised on.
        kept: The folder.
        key: Of this stage: a training that was begun for another one begins anew.
        progress: Called with how many steps are done, and of how many.
    """
    folder = kept.path(LEARNED_FOLDER)
    if kept.fresh:
        kept.path(TRAINING_MARKER).unlink(missing_ok=True)
    watcher = _Watching(kept.path(TRAINING_MARKER), key, progress)
    is_begun = watcher.is_begun
    write_table(site.early.workload, kept.path(FIRST_DAYS_FILE))
    watcher.begin()
    asked = TrainRequest(
        changes=_sections(request, site, kept), preset=SMALL_NETWORK, out=folder, resume=is_begun, force=not is_begun
    )
    if is_begun and asked.has_run(folder):
        # A run goes on by its own file.
        asked = TrainRequest(changes={}, out=folder, resume=True)
    try:
        training = run_request(asked, watcher, judge=False)
    except InputError as error:
        return {"skipped": f"nothing could be trained from what was tuned: {error}"}
    if training.is_interrupted:
        raise KeyboardInterrupt
    outcome = training.outcome
    return {
        "skipped": None,
        "chosen": [one.label for one in training.chosen],
        "steps": outcome.steps,
        "best_steps": outcome.best_steps,
        "best": outcome.best,
        "reason": outcome.reason,
        "notes": watcher.notes,
    }


def _sections(request: AdviseRequest, site: Site, kept: Kept) -> dict[str, dict[str, Any]]:
    """Returns what the training file says beside its preset."""
    days, objective = site.days, request.objective
    by_metric = {metric: name for name, metric in REWARDS.items()}
    reward = by_metric.get(objective.metric, "bounded_slowdown")
    bounds = {by_metric[one.metric]: one.factor for one in objective.bounds if one.metric in by_metric}
    weights = {reward: 1.0} | ({"wait": WAIT_WEIGHT} if reward != "wait" else {})
    return {
        "data": {
            "workload": [str(kept.path(FIRST_DAYS_FILE))],
            "cluster": [str(kept.path(CLUSTER_FILE))],
        },
        "episodes": {"part": list(days.learned_from), "length": min(days.window, EPISODE)},
        # Longer than episodes: whoever lets somebody wait for ever must be seen to.
        "validation": {
            "part": [days.learned_from[1], days.first[1]],
            "length": min(days.window, VALIDATED),
            "warmup": days.warmup,
            "windows": 16,
        },
        "report": {"part": list(days.choosing), "length": min(days.window, EPISODE)},
        "reward": {"reward": weights, "bounds": bounds or {"wait": 1.1}},
        "training": {
            "steps": request.effort.steps,
            "seed": request.seed,
            "threads": request.threads,
            "init": str(kept.path(TUNED_FILE)),
        },
    }
