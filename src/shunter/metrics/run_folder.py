"""Run folders: what a simulation leaves behind, complete enough to be run again."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, Final

from shunter.errors import InputError
from shunter.files import LOCK, Writer, csv_writer, file_meant, locked, parse_json, write_file
from shunter.model.locality import NO_SLOWDOWN
from shunter.model.ruled_jobs import clocked_rules
from shunter.model.site import rules_text
from shunter.parquet import read_parquet

if TYPE_CHECKING:
    import polars as pl

    from shunter.model.cluster import Cluster
    from shunter.model.schedule import Schedule
    from shunter.model.workload import Workload

MANIFEST = "manifest.json"
METRICS = "metrics.json"
SCHEDULE = "schedule.parquet"
SCHEDULE_CSV = "schedule.csv"
SCHEDULE_JSONL = "schedule.jsonl"
STOPS = "stops.parquet"
CALIBRATION = "calibration.json"
"""What the folder of a calibration holds instead."""
RUN_FILES = (SCHEDULE, SCHEDULE_CSV, SCHEDULE_JSONL, STOPS, METRICS, MANIFEST)
"""What the folder of a run holds, the stops only if a job was stopped; the manifest is written last."""
RECORDED = {"policy": "policy", "estimate": "estimate", "placement": "placement", "failures": "failures file"}
"""The settings that may come from files, of which the manifest has a record each, and what errors call them."""


def to_json_text(value: object) -> str:
    """Returns JSON for people and programs; a NaN would be an error, for it is not JSON."""
    return json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False)


def build_manifest(
    schedule: Schedule, given: dict[str, Any], resolved: dict[str, Any], files: Mapping[str, Path]
) -> dict[str, Any]:
    """Returns everything that is needed to run a simulation again and to see whether it is the same.

    Args:
        schedule: what happened.
        given: the options that the user gave.
        resolved: all options, with what stood in for those not given.
        files: the files that the settings come from, by the names in `RECORDED`.
    """
    return provenance(schedule.workload, schedule.cluster, given, resolved) | {
        **{name: file_record(files[name]) if name in files else None for name in RECORDED},
        "jobs": len(schedule),
        "schedule_sha256": schedule.content_sha256,
    }


def provenance(workload: Workload, cluster: Cluster, given: dict[str, Any], resolved: dict[str, Any]) -> dict[str, Any]:
    """Returns what every manifest holds: the options, what they were used on, and by which versions."""
    # Looking up the version reads the package's metadata, which takes longer than all imports of this module.
    from shunter import __version__

    return {
        "shunter": __version__,
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "arguments": {"given": given, "resolved": resolved},
        "seed": resolved["seed"],
        "workload": {
            "name": workload.name,
            "path": absolute_path(resolved["workload"]),
            "sha256": workload.content_sha256,
            # From when f1 to f4 count, also in a part of the log.
            "begins_s": workload.log.jobs["submit_s"][0],
        },
        "cluster": {
            "name": cluster.name,
            "spec": resolved["cluster"],
            "path": absolute_path(resolved["cluster"]),
            "sha256": cluster.content_sha256,
            "mix": cluster.mix,
            **({"kinds": asdict(cluster.kinds)} if cluster.kinds else {}),
            **({"rules": rules_text(clocked_rules(workload, cluster))} if cluster.rules else {}),
            **({"slowdown": cluster.slowdown} if cluster.slowdown != NO_SLOWDOWN else {}),
            "nodes": [asdict(node) for node in cluster.nodes],
        },
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": _package_versions(),
    }


def file_record(path: Path) -> dict[str, str]:
    """Returns where a file is, and its hash."""
    return {"path": str(path.resolve()), "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}


def absolute_path(spec: str | None) -> str | None:
    """Returns where the file is that a specification names; None if it names none."""
    return str(Path(spec).resolve()) if spec is not None and os.path.isfile(spec) else None


def _package_versions() -> dict[str, str]:
    import numpy
    import polars

    return {"numpy": numpy.__version__, "polars": polars.__version__}


def check_output_folder(folder: Path, force: bool, files: Sequence[str] = RUN_FILES) -> None:
    """Raises an error if these files cannot be written there; nothing is created."""
    try:
        _check_folder(folder, force, files)
    except OSError as error:
        raise InputError(f"--out {folder}: cannot be used ({error.strerror}); give another folder") from error


def _check_folder(folder: Path, force: bool, files: Sequence[str]) -> None:
    if folder.is_dir():
        _check_overwriting(folder, force, files)
        nearest = folder
    elif folder.exists() or folder.is_symlink():
        raise InputError(f"--out {folder}: this is a file; give the name of a folder")
    else:
        # The folder is made later; whether it can be is a question to the nearest folder that is there.
        nearest = next((parent for parent in folder.absolute().parents if parent.exists()), Path("/"))
    if not (nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)):
        raise InputError(f"--out {folder}: {nearest} cannot be written to; give another folder")


def _check_overwriting(folder: Path, force: bool, files: Sequence[str]) -> None:
    """Raises an error if a folder holds anything but a run, whole or not, that may be overwritten."""
    # What a killed process has left is removed when the run is written.
    held = {file_meant(path.name) for path in folder.iterdir() if path.name != LOCK}
    if not held:
        return
    # A run whose writing was cut short has no manifest, but nothing else than a run's files either.
    if not (folder / MANIFEST).is_file() and held - set(files):
        raise InputError(f"--out {folder}: the folder is not empty, and no run (no {MANIFEST} in it); give another")
    if not force:
        raise InputError(f"--out {folder}: the folder is not empty; give another, or --force to overwrite the run")


def write_run(folder: Path, schedule: Schedule, result: dict[str, Any], manifest: dict[str, Any]) -> None:
    """Writes the files of a run: those of `RUN_FILES`."""
    from shunter.model.schedule_frame import stops_frame

    frame = schedule.to_frame()
    writers: dict[str, Writer] = {
        SCHEDULE: frame.write_parquet,
        SCHEDULE_CSV: csv_writer(csv_frame(frame, len(schedule.cluster.nodes))),
        SCHEDULE_JSONL: frame.write_ndjson,
        METRICS: _json_writer(result),
    }
    if schedule.stops is not None and len(schedule.stops):
        writers[STOPS] = stops_frame(schedule, schedule.stops).write_parquet
    write_folder(folder, writers, manifest)


def write_folder(folder: Path, writers: Mapping[str, Writer], manifest: dict[str, Any]) -> None:
    """Writes files by name and a manifest; it comes last, so that a folder that has one is complete.

    Raises:
        InputError: The folder cannot be written, or another process is writing to it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {folder}: cannot be created ({error.strerror}); give another folder") from error
    with locked(folder):
        # What an overwritten run has left here would be taken for this one's.
        for name in (MANIFEST, STOPS):
            (folder / name).unlink(missing_ok=True)
        for name, write in writers.items():
            write_file(folder / name, write)
        write_file(folder / MANIFEST, _json_writer(manifest))


def _json_writer(value: object) -> Writer:
    return lambda file: file.write((to_json_text(value) + "\n").encode())


def csv_frame(frame: pl.DataFrame, node_count: int) -> pl.DataFrame:
    """Returns the schedule with its nodes as text: ``n3:4;n5:2``, or the name alone on a cluster of one node."""
    import polars as pl

    # CSV has no lists.
    node = pl.element().struct.field("node")
    count = pl.element().struct.field("tasks").cast(pl.String)
    text = node if node_count == 1 else node + ":" + count
    return frame.with_columns(pl.col("nodes").list.eval(text).list.join(";"))


def read_manifest(folder: Path) -> dict[str, Any]:
    """Returns the manifest of a run folder, or raises an error that says what is wrong with it."""
    path = folder / MANIFEST
    if not path.is_file():
        raise InputError(f"{folder}: no {MANIFEST} here; give a folder that 'shunter simulate --out' has written")
    manifest = parse_json(path.read_bytes(), str(path))
    for keys, kinds in _NEEDED.items():
        _check_entry(manifest, keys.split("."), kinds, path)
    for name in RECORDED:
        # The record of a file: there is none where a setting does not come from one.
        if isinstance(manifest.get(name), dict):
            _check_entry(manifest, [name, "path"], (str,), path)
        elif manifest.get(name) is not None:
            raise InputError(f"{path}: {name} is {manifest[name]!r}; expected the record of a file; take another copy")
    return dict(manifest)


_NEEDED: Final[dict[str, tuple[type, ...]]] = {
    "workload.sha256": (str,),
    "workload.path": (str, NoneType),
    "cluster.sha256": (str,),
    "cluster.path": (str, NoneType),
    "schedule_sha256": (str,),
    "arguments.resolved": (dict,),
}
"""What every reader of a manifest relies on, with the types that it may have."""


def _check_entry(manifest: object, keys: Sequence[str], kinds: tuple[type, ...], path: Path) -> None:
    """Raises an error if a manifest has no entry of one of these types; one that may be None may be missing."""
    value = manifest
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    if not isinstance(value, kinds):
        what = f"{'.'.join(keys)} is missing" if value is None else f"{'.'.join(keys)} is {value!r}"
        raise InputError(f"{path}: {what}; expected a manifest of 'shunter simulate --out': take another copy")


def read_schedule(folder: Path) -> pl.DataFrame:
    """Returns the rows of a run folder."""
    return _read_table(folder / SCHEDULE)


def read_stops(folder: Path) -> pl.DataFrame | None:
    """Returns the stops of a run folder, one a row; None if no job was stopped."""
    path = folder / STOPS
    return _read_table(path) if path.exists() else None


def _read_table(path: Path) -> pl.DataFrame:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); take another copy") from None
    return read_parquet(content, str(path))[0]
