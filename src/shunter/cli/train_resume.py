"""What may be given beside ``--resume``: a run that goes on stays the training that it was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shunter.cli.train_options import FLAGS
from shunter.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from shunter.agents.config import TrainConfig
    from shunter.cli.train_arguments import Sections

MAY_CHANGE: Final = {
    "data": {"workload"},
    "report": {"part", "windows", "length"},
    "training": {"steps", "eval_every", "save_every", "patience", "threshold", "margin_se", "threads", "device"},
}
"""What a run may have otherwise when it goes on, by section. Of logs only names may change: contents are checked."""


def check_changes(before: TrainConfig, after: TrainConfig, folder: Path) -> None:
    """Raises an error for the first option that a run cannot have otherwise from now on.

    Args:
        before: As the run was.
        after: As it is wanted.
        folder: Of the run.
    """
    old, new = before.sections(), after.sections()
    for section, table in new.items():
        for key, value in table.items():
            was = old[section].get(key)
            if value != was and key not in MAY_CHANGE.get(section, ()):
                raise InputError(
                    f"{_option(section, key)} is {_text(value)}, but the run in {folder} has {_text(was)}, which stays "
                    "as it is with --resume; leave it out, or train anew in another folder"
                )


def without_copied(changes: Sections, before: TrainConfig) -> Sections:
    """Returns the changes without files of which the run has a copy: the same command can be given again.

    Raises:
        InputError: A file cannot be read.
    """
    from shunter.agents.config import FILE_KEYS
    from shunter.policies.specs import read_toml, spec_file

    sections = before.sections()
    left = {name: dict(table) for name, table in changes.items()}
    for section, key in FILE_KEYS:
        given, copied = (spec_file(str(those.get(section, {}).get(key))) for those in (changes, sections))
        if given is not None and copied is not None and read_toml(given) == read_toml(copied):
            del left[section][key]
    return left


def _option(section: str, key: str) -> str:
    """Returns by which option a key is given."""
    flags = (flag.name for flag in FLAGS if f"{section}.{key}" in flag.keys)
    name = next(flags, None)
    return f"--set {section}.{key}" if name is None else f"--{name.replace('_', '-')}"


def _text(value: Any) -> str:  # noqa: ANN401 - whatever a key holds
    return value if isinstance(value, str) else repr(value)
