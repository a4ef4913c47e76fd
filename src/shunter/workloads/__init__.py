"""Workloads: job logs in several formats, and generators, all of which give a `Workload`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shunter.errors import InputError

if TYPE_CHECKING:
    from shunter.model.workload import Workload
    from shunter.workloads.source import Source

FORMATS: Final[dict[str, str]] = {
    "swf": "Standard Workload Format of the Parallel Workloads Archive, plain or gzip",
    "csv": "a table with a header line, plain or gzip",
    "parquet": "a table",
}
"""The formats of files, with a line on each."""

GENERATE: Final = "generate:"
"""How the spec of a generator starts: ``generate:lublin?seed=42&jobs=10000&cores=256&load=0.9``."""

_PARQUET_MAGIC = b"PAR1"


def read_workload(spec: str | Path, *, format: str | None = None, strict: bool = False) -> Workload:
    """Reads a job log, or generates a workload.

    Args:
        spec: A file, or a generator's spec that starts with ``generate:``.
        format: One of `FORMATS`; by default what the file's name and its first bytes say.
        strict: Whether a repair is an error instead.

    Raises:
        InputError: The file or the spec has a mistake, named with its place and a remedy.
    """
    if isinstance(spec, str) and spec.startswith(GENERATE):
        from shunter.workloads.generate import generate

        if format is not None:
            raise InputError(f"--format (format) is {format!r}, but {spec} is a generator; leave the format out")
        return generate(spec.removeprefix(GENERATE))
    if format is not None and format not in FORMATS:
        raise InputError(f'format "{format}" is unknown; expected one of {", ".join(FORMATS)}')
    from shunter.workloads.source import load

    source = load(spec)
    format = format or _detect(source)
    return replace(_read(source, format, strict), format=format)


def _read(source: Source, format_name: str, strict: bool) -> Workload:
    if format_name == "swf":
        from shunter.workloads.swf import read_swf

        return read_swf(source, strict=strict)
    from shunter.workloads.table import read_csv, read_parquet

    return (read_csv if format_name == "csv" else read_parquet)(source, strict=strict)


def _detect(source: Source) -> str:
    suffixes = [suffix.lower().removeprefix(".") for suffix in source.path.suffixes]
    if suffixes and suffixes[-1] == "gz":
        suffixes.pop()
    if suffixes and suffixes[-1] in FORMATS:
        return suffixes[-1]
    if source.data.startswith(_PARQUET_MAGIC):
        return "parquet"
    raise InputError(f"{source.where}: the name does not tell the format; pass --format {'|'.join(FORMATS)}")
