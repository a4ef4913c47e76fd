"""What each stage came to, kept in the folder of an advice: a stage is done again only if what it rests on changes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from shunter.errors import InputError
from shunter.files import LOCK, file_meant, parse_json, write_file
from shunter.metrics.run_folder import to_json_text

STAGES: Final = (
    *("log", "cluster", "calibration", "estimates", "comparison", "tuning", "training", "choice", "later", "advice"),
)
"""The stages in their order. Each is a file ``NAME.json``: what it rests on, what it came to, and a hash of that."""
FILES: Final = (
    *(f"{name}.json" for name in STAGES),
    *(
        "cluster.toml",
        "site-policy.toml",
        "tuned.toml",
        "advised.toml",
        "operate.toml",
        "first-days.parquet",
        "report.html",
    ),
    *("learned", "runs", ".training"),
)
"""All that the folder holds."""
_TIMES: Final = ("seconds", "elapsed_s", "created")
"""How long something took, or when it was: no part of what came out."""

Object = dict[str, Any]


def digest(value: object) -> str:
    """Returns a hash of a plain object."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, allow_nan=False).encode()).hexdigest()


def _result_digest(content: Object) -> str | None:
    """Returns the hash of a result that is kept; None if there is none that could have been written."""
    try:
        return digest(content["result"]) if isinstance(content.get("result"), dict) else None
    except ValueError:  # Python reads NaN, which no result has.
        return None


def file_digest(path: Path) -> str | None:
    """Returns a hash of a file, or of all files of a folder with their names; None if it is not there."""
    if path.is_dir():
        inside = sorted(one for one in path.rglob("*") if one.is_file())
        return digest([[one.relative_to(path).as_posix(), file_digest(one)] for one in inside])
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def timeless(value: Any) -> Any:  # noqa: ANN401 - a plain object
    """Returns a plain object without how long its parts took: the same work gives the same result."""
    if isinstance(value, dict):
        return {name: timeless(one) for name, one in value.items() if name not in _TIMES}
    return [timeless(one) for one in value] if isinstance(value, list | tuple) else value


@dataclass
class Kept:
    """The folder of an advice, and which stages have been taken from it."""

    folder: Path
    fresh: bool = False
    """Whether nothing that is there counts."""
    results: dict[str, Object] = field(default_factory=dict)
    """By stage, in this run."""
    reused: list[str] = field(default_factory=list)
    """The stages that an earlier run had done."""

    def path(self, name: str) -> Path:
        """Returns where something of the folder is."""
        return self.folder / name

    def check(self) -> None:
        """Raises an error if the folder holds anything but an advice, before anything is written there."""
        try:
            held = {file_meant(path.name) for path in self.folder.iterdir()} if self.folder.exists() else set()
        except OSError as error:
            raise InputError(f"--out {self.folder}: cannot be used ({error.strerror}); give another folder") from None
        if others := sorted(held - {*FILES, LOCK}):
            raise InputError(
                f"--out {self.folder}: holds {others[0]}, which is no part of an advice; give another folder"
            )

    def stage(
        self,
        name: str,
        inputs: Object,
        make: Callable[[], Object],
        *,
        rests_on: Sequence[str] = (),
        files: Sequence[str] = (),
    ) -> Object:
        """Returns what a stage came to: what is kept if it rests on the same, or else what is made now, and kept.

        Args:
            name: One of `STAGES`.
            inputs: What it rests on besides other stages, as a plain object.
            make: Does the work.
            rests_on: The stages whose results it uses.
            files: The names of what it writes to the folder; where one is changed or gone, the stage is done again.
        """
        key = self.key(name, inputs, rests_on)
        content = self._read(name)
        if content is not None and content.get("key") == key and content.get("files") == self._digests(files):
            self.reused.append(name)
            self.results[name] = content["result"]
            return self.results[name]
        # As it is read again: a tuple is a list from the first run on.
        result = json.loads(to_json_text(timeless(make())))
        content = {
            "key": key,
            "result": result,
            "sha256": digest(result),
            "files": self._digests(files),
        }
        write_file(self.path(f"{name}.json"), lambda file: file.write((to_json_text(content) + "\n").encode()))
        self.results[name] = result
        return self.results[name]

    def key(self, name: str, inputs: Object, rests_on: Sequence[str] = ()) -> str:
        """Returns what tells a stage from one that rests on something else."""
        from shunter import __version__

        below = {one: digest(self.results[one]) for one in rests_on}
        return digest({"stage": name, "version": __version__, "inputs": inputs, "below": below})

    def _read(self, name: str) -> Object | None:
        """Returns what is kept of a stage; what is damaged counts as nothing, for doing it again is right."""
        if self.fresh:
            return None
        try:
            content = json.loads(self.path(f"{name}.json").read_bytes())
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(content, dict):
            return None
        return content if content.get("sha256") == _result_digest(content) else None

    def _digests(self, files: Sequence[str]) -> Object:
        return {name: file_digest(self.path(name)) for name in files}


def read_stages(folder: Path) -> dict[str, Object]:
    """Returns what all stages of an advice came to, by name; those that were not reached are left out.

    Raises:
        InputError: The folder holds no advice that has ended, or a file is damaged.
    """
    found: dict[str, Object] = {}
    for name in STAGES:
        path = folder / f"{name}.json"
        if path.is_file():
            content = parse_json(path.read_bytes(), str(path))
            if not isinstance(content, dict) or content.get("sha256") is None:
                raise InputError(f"{path}: holds no result of 'shunter advise'; run it again")
            if content["sha256"] != _result_digest(content):
                raise InputError(f"{path}: was changed or is damaged; run 'shunter advise' again, which mends it")
            found[name] = content["result"]
    if STAGES[-1] not in found:
        raise InputError(f"{folder}: holds no advice that has ended; give a folder of 'shunter advise --out'")
    return found
