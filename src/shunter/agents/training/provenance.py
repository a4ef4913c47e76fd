"""Where a policy comes from: on which days it was trained and chosen, and what it began from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shunter import __version__
from shunter.agents.training.checkpoint_files import ALGORITHM, POLICY, read_part
from shunter.agents.training.config import FILE_KEYS
from shunter.comparison.seen_days import CHOSEN, DAYS, TRAINED, TUNED, UNKNOWN, Judged, are_days, places
from shunter.errors import InputError
from shunter.files import read_toml
from shunter.policies.checkpoint import LAST, checkpoint_folder, read_record
from shunter.policies.native import spec_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from shunter.agents.training.config import TrainConfig
    from shunter.agents.training.setup import Site
    from shunter.comparison.combinations import Combination
    from shunter.model.log import Log


ENGINE: Final = "engine"
"""What computed a training: ``native`` or ``torch``."""
IMITATED, AGREEMENT = "imitated", "agreement"
"""Whom the network had learned to imitate before, and in which part of its last decisions it did the same."""


def own_days(log: Log, part: tuple[float, float], use: str) -> dict[str, Any]:
    """Returns what is remembered of some days of a log."""
    days = Judged.of(log.workload, part)
    first, last = places(part, days.jobs)
    return {
        "log": days.log,
        "sha256": days.sha256,
        "jobs": days.jobs,
        "use": use,
        "part": list(part),
        "first_job": first,
        "last_job": last,
        "first_submit_s": days.submit_s[0],
        "last_submit_s": days.submit_s[1],
    }


def training_days(config: TrainConfig, logs: tuple[Log, ...]) -> list[dict[str, Any]]:
    """Returns the days of a training: those that it learns from, and those that the best policy is chosen on."""
    parts = ((TRAINED, config.episodes.bounds), (CHOSEN, config.validation.bounds))
    return [own_days(log, part, use) for use, part in parts for log in logs]


def ancestor_days(config: TrainConfig) -> list[dict[str, Any]]:
    """Returns the days of what a training begins from: of a checkpoint, and of tuned files.

    Raises:
        InputError: It cannot be read.
    """
    init, sections = config.training.init, config.sections()
    found = [] if init is None or spec_file(init) is not None else _checkpoint_days(init)
    names = {str(sections[section].get(key)) for section, key in FILE_KEYS}
    for path in sorted(path for name in names if (path := spec_file(name)) is not None):
        found += _tuned_days(path)
    # A tuned file that a checkpoint began from is an ancestor of both.
    return list({repr({**day, "by": None}): day for day in reversed(found)}.values())[::-1]


def _tuned_days(path: Path) -> list[dict[str, Any]]:
    """Returns the days that 'shunter tune' wrote down; a file written by hand has none."""
    tuned = read_toml(path).get("tuned", {})
    try:
        # The section is for people, who may have changed it.
        return [_tuned_day(log, tuned["train"]) | {"by": path.name} for log in tuned.get("logs", [])]
    except (AttributeError, KeyError, TypeError):
        return [{"use": UNKNOWN, "by": path.name}]


def _tuned_day(log: Mapping[str, Any], part: Sequence[float]) -> dict[str, Any]:
    first, last = places(part, log["jobs"])
    days = {"log": log["name"], "sha256": log["sha256"], "jobs": log["jobs"], "use": TUNED, "part": list(part)}
    return days | {"first_job": first, "last_job": last}


def _checkpoint_days(name: str) -> list[dict[str, Any]]:
    training = read_record(name).get("training")
    days = training.get(DAYS) if isinstance(training, dict) else None
    if not are_days(days):
        return [{"use": UNKNOWN, "by": name}]
    return [{**day, "by": day.get("by", name)} for day in days]


def _recorded(folder: Path) -> Mapping[str, Any]:
    """Returns what the last checkpoint of a run tells of its training."""
    told: Mapping[str, Any] = read_part(checkpoint_folder(str(folder / LAST)), POLICY).facts["training"]
    return told


def recorded_days(site: Site, folder: Path) -> list[dict[str, Any]]:
    """Returns the days that the last checkpoint of a run remembers: what it began from may be gone.

    Raises:
        InputError: The run had other logs.
    """
    training = _recorded(folder)
    before = training.get("logs", [])
    if [log["sha256"] for log in before] != [log.workload.content_sha256 for log in site.logs]:
        theirs = ", ".join(f"{log['name']} ({log['jobs']} jobs)" for log in before)
        ours = ", ".join(f"{log.workload.name} ({len(log.workload)} jobs)" for log in site.logs)
        raise InputError(
            f"{folder}: was trained on {theirs}, which is not what {ours} holds; give the same logs to --resume, or "
            "train anew"
        )
    days = training.get(DAYS)
    return days if are_days(days) else training_days(site.config, site.logs)


def recorded_beginning(folder: Path) -> str | None:
    """Returns what the run in a folder began as, in the words of whoever began it; None: from nothing."""
    init = _recorded(folder).get("init")
    return init if isinstance(init, str) else None


def recorded_engine(folder: Path) -> str:
    """Returns what computed the run in a folder; before checkpoints said so, it was PyTorch."""
    return str(_recorded(folder).get(ENGINE, "torch"))


def recorded_steps(folder: Path) -> int:
    """Returns how many steps a run that goes on has seen."""
    return int(_recorded(folder).get("steps", 0))


def recorded_imitation(folder: Path) -> dict[str, Any]:
    """Returns what a run that goes on has learned by imitation before it began."""
    told = _recorded(folder)
    return {name: told[name] for name in (IMITATED, AGREEMENT) if name in told}


def facts(site: Site, chosen: Sequence[Combination]) -> dict[str, Any]:
    """Returns what a checkpoint tells people of where its policy comes from."""
    config = site.config
    found: dict[str, Any] = {
        ALGORITHM: config.training.algorithm,
        "objective": site.objective.metric,
        "bounds": [f"{bound.metric}={bound.factor:g}" for bound in site.objective.bounds],
        "chosen": [one.label for one in chosen],
        "init": site.begun_as,
        "seed": config.training.seed,
        "version": __version__,
    }
    if site.logs:
        found |= {
            "logs": [
                {
                    "name": log.workload.name,
                    "sha256": log.workload.content_sha256,
                    "jobs": len(log.workload),
                    "cluster": log.cluster.name,
                    "words": log.words,
                }
                for log in site.logs
            ],
            "train": list(config.episodes.bounds),
            "validation": list(config.validation.bounds),
        }
    return found
