"""What makes a run the one it is: a hash by which a study knows what it has done already."""

from __future__ import annotations

import hashlib
import json
import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shunter.policies.checkpoint import checkpoint_folder

if TYPE_CHECKING:
    from shunter.agents.training.config import TrainConfig

KEY_LENGTH: Final = 10


def run_key(config: TrainConfig) -> str:
    """Returns a short hash of all that a run's result depends on.

    Files count by what they hold, and not by where they are. The number of threads does not count.

    Raises:
        InputError: The checkpoint to begin from cannot be read.
    """
    sections = config.sections()
    del sections["training"]["threads"]
    init = sections["training"]["init"]
    if os.path.isdir(init):
        sections["training"]["init"] = _content(checkpoint_folder(init))
    text = json.dumps(_by_content(sections), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:KEY_LENGTH]


def _by_content(value: Any) -> Any:  # noqa: ANN401 - whatever a key holds
    """Returns a value in which the names of files are hashes of their contents."""
    if isinstance(value, dict):
        return {key: _by_content(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_by_content(each) for each in value]
    # A word such as saf is a name, whatever lies in the folder in which one works.
    if not isinstance(value, str) or not ("." in value or os.sep in value):
        return value
    return _content(Path(value)) if os.path.exists(value) else value


def _content(path: Path) -> str:
    """Returns a hash of a file, or of all files in a folder."""
    files = sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]
    hashes = [f"{one.relative_to(path)} {_of_file(one, one.stat().st_mtime_ns)}" for one in files]
    return f"sha256:{hashlib.sha256(repr(hashes).encode()).hexdigest()}"


@cache
def _of_file(path: Path, changed_ns: int) -> str:
    """Returns the hash of a file as it was at a time; a study asks for that of the same log for every run."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        # In pieces: logs may be larger than memory.
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()
