"""One training for each of several seeds: how much of a result is luck."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shunter.agents.training.curves import SEED_FOLDER
from shunter.agents.training.request import CONFIG_FILE, TrainRequest, check_run_folder
from shunter.agents.training.setup import Site
from shunter.engines.choice import LOCAL, check_on
from shunter.errors import InputError
from shunter.files import write_file
from shunter.metrics.run_folder import to_json_text
from shunter.policies.trust import trusting
from shunter.studies.aggregates import Estimate, mean
from shunter.studies.runs import HELD_AGAINST, Record, Told, run_all, training_engine
from shunter.studies.training_task import RunTask, with_threads

if TYPE_CHECKING:
    from shunter.engines.base import Engine

SEEDS_FILE: Final = "seeds.json"
MOST_SEEDS: Final = 10_000


def seed_folder(folder: Path, seed: int) -> Path:
    """Returns the folder of the run of a seed."""
    return folder / f"{SEED_FOLDER}{seed}"


@dataclass(frozen=True)
class SeedsReport:
    """What a training came to with several seeds."""

    folder: Path
    records: dict[int, Record]
    """By seed."""

    def over_seeds(self, against: str) -> Estimate | None:
        """Returns the geometric mean of the ratio over the seeds that ended; None: there is none.

        Args:
            against: The role of what learned policies are held against.
        """
        scores = [one.score(against) for one in self.records.values()]
        known = [score for score in scores if score is not None]
        return mean(known).exp() if known else None

    @property
    def failed(self) -> dict[int, Record]:
        """The seeds whose training did not end."""
        return {seed: one for seed, one in self.records.items() if one.result is None}

    @property
    def notes(self) -> list[str]:
        """What the trainings told, each thing once."""
        return list(dict.fromkeys(note for one in self.records.values() for note in one.notes))

    def to_json(self) -> dict[str, Any]:
        """Returns the report as a plain object."""
        over = {role: self.over_seeds(role) for role in HELD_AGAINST}
        first = next((one.result for one in self.records.values() if one.result is not None), None)
        return {
            "folder": str(self.folder),
            "objective": None if first is None else first["objective"],
            "seeds": [{"seed": seed, **one.to_json()} for seed, one in self.records.items()],
            "over_seeds": {role: None if one is None else one.to_json() for role, one in over.items()},
            "notes": self.notes,
        }


def train_seeds(
    request: TrainRequest,
    seeds: Sequence[int],
    *,
    trust: bool = False,
    on: str | Engine = LOCAL,
    told: Told | None = None,
) -> SeedsReport:
    """Trains once for each seed, each in a folder of its own, and says what they come to together.

    Each run is the one that ``shunter train --seed K`` gives. A seed that fails does not stop the others.

    Args:
        request: The training; its folder gets a folder for each seed.
        seeds: Different numbers.
        trust: Run Python files that a training file or a checkpoint names.
        on: Where trainings run: ``local``, in processes of this machine, as many as the training has threads;
            ``ray``, in as many workers; or the address of a Ray cluster, on one core each.
        told: Hears of each run that ends.

    Raises:
        InputError: What can be known before the first training is wrong.
    """
    request.check()
    check_on(on)
    folder = request.folder()
    with trusting(trust):
        requests = [_of_seed(request, folder, seed) for seed in seeds]
        threads = _check(requests, folder)
        left = sum(not one.is_done(one.folder()) for one in requests)
        with training_engine(on, threads, left) as (engine, each):
            tasks = [
                RunTask(f"seed {seed}", with_threads(one, each), trust)
                for seed, one in zip(seeds, requests, strict=True)
            ]
            records = run_all(tasks, engine, told)
    report = SeedsReport(folder, dict(zip(seeds, records, strict=True)))
    text = to_json_text(report.to_json())
    folder.mkdir(parents=True, exist_ok=True)
    write_file(folder / SEEDS_FILE, lambda file: file.write(text.encode()))
    return report


def _of_seed(request: TrainRequest, folder: Path, seed: int) -> TrainRequest:
    training = request.changes.get("training", {})
    if "seed" in training:
        raise InputError(f"--seed {training['seed']} is given with --seeds, which has all seeds; leave it out")
    changes = {**request.changes, "training": {**training, "seed": seed}}
    return replace(request, out=seed_folder(folder, seed), changes=changes)


def _check(requests: Sequence[TrainRequest], folder: Path) -> int:
    """Checks what would be wrong with every seed, and returns how many threads there are."""
    if (folder / CONFIG_FILE).is_file():
        raise InputError(f"--out {folder}: holds the run of one seed; give another folder for --seeds")
    for one in requests:
        if not one.is_resumed(one.folder()):
            check_run_folder(one.folder(), one.force or one.resume)
    configs = [one.resolved(one.folder()).config for one in requests]
    # Read here once: what is wrong with the log is one line, and not one for each seed.
    with requests[0].naming_options():
        Site.of(configs[0]).check()
    return configs[0].training.threads


def parse_seeds(text: str) -> list[int]:
    """Returns the seeds that a text means: ``5`` for 0 to 4, ``0,1,7`` for these.

    Raises:
        InputError: It means none.
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and len(part) < 19 for part in parts if part) or not any(parts):
        raise InputError(f"--seeds is {text!r}; expected how many (5), or which (0,1,7)")
    numbers = [int(part) for part in parts if part]
    return check_seeds(numbers[0] if len(parts) == 1 else numbers, "--seeds")


def check_seeds(seeds: int | Sequence[int], name: str) -> list[int]:
    """Returns seeds that are given by their number, 0 being the first, or one by one.

    Raises:
        InputError: There are none, too many, or one stands twice.
    """
    several = list(range(min(seeds, MOST_SEEDS + 1))) if isinstance(seeds, int) else list(seeds)
    if not 1 <= len(several) <= MOST_SEEDS:
        raise InputError(f"{name} is {seeds!r}; expected 1 to {MOST_SEEDS:,} seeds")
    if len(set(several)) < len(several):
        raise InputError(f"{name} is {seeds!r}; expected each seed once")
    return several
