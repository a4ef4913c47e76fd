"""Training from Python: what ``shunter train`` does, by a function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shunter.errors import InputError

if TYPE_CHECKING:
    from shunter.cli.training import Training

Sections = Mapping[str, Mapping[str, Any]]
Names = str | Path | Sequence[str | Path]


def train(
    workload: Names | None = None,
    *,
    cluster: str | Path | Sequence[str | Path] | None = None,
    env: str | None = None,
    out: str | Path | None = None,
    steps: int | None = None,
    seed: int | None = None,
    init: str | Path | None = None,
    preset: str | None = None,
    config: str | Path | Sections | None = None,
    resume: bool = False,
    force: bool = False,
) -> Training:
    """Trains a policy on the first days of a log, and judges it on later days, as ``shunter train`` does.

    Args:
        workload: A log or a generator, or several; None: as the configuration has it, or pick-host.
        cluster: One for each log; None: what each log tells.
        env: ``pick-job`` (the default) or ``pick-host``.
        out: The folder of the run; None: a new one in ``runs``.
        steps: How many decisions to train for.
        seed: For everything random but the choice of windows.
        init: A tuned policy or a checkpoint to begin from.
        preset: What the configuration starts from.
        config: A training file, or its sections: ``{"ppo": {"clip": 0.1}}``. They go over the preset, and the arguments
            above go over them.
        resume: Go on with the run in `out`.
        force: Overwrite the run in `out`.

    Returns:
        The run: ``folder``, ``outcome`` (steps, best validation, why it ended), ``parts`` (the policy beside the
        classics, on validation and on later days) and ``result()``, all of it for JSON. `shunter.load_policy` takes
        the folder.

    Raises:
        InputError: A value is wrong, a file cannot be read, or the folder cannot be used.
    """
    from shunter.cli.train_arguments import TrainArguments
    from shunter.cli.training import run_training

    sections = config if isinstance(config, Mapping) else {}
    changes = _checked(sections)
    for section, key, value in (
        ("data", "workload", _names("workload", workload)),
        ("data", "cluster", _names("cluster", cluster)),
        ("environment", "kind", env),
        ("training", "steps", steps),
        ("training", "seed", seed),
        ("training", "init", None if init is None else str(init)),
    ):
        if value is not None:
            changes.setdefault(section, {})[key] = value
    return run_training(
        TrainArguments(
            changes=changes,
            preset=preset,
            config=None if config is None or isinstance(config, Mapping) else Path(config),
            out=None if out is None else Path(out),
            resume=resume,
            force=force,
        )
    )


def _checked(sections: Sections) -> dict[str, dict[str, Any]]:
    """Returns a copy of the sections."""
    for name, table in sections.items():
        if not isinstance(table, Mapping):
            raise InputError(f"config[{name!r}] is {table!r}; expected a section, as in {{'ppo': {{'clip': 0.1}}}}")
    return {name: dict(table) for name, table in sections.items()}


def _names(name: str, given: Names | None) -> list[str] | None:
    """Returns one or several names as texts."""
    if given is None:
        return None
    several = [given] if isinstance(given, str | Path) else given
    if not isinstance(several, Sequence) or not all(isinstance(one, str | Path) for one in several):
        raise InputError(f"{name} is {type(given).__name__}; expected a file, what generates one, or a list of these")
    return [str(one) for one in several]
