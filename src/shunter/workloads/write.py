"""Workloads to files: CSV and Parquet keep every column, SWF what it has fields for."""

from __future__ import annotations

import gzip
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, cast

from shunter.errors import InputError
from shunter.files import Writer, write_file
from shunter.workloads.formats.parquet_table import CLUSTER_KEY

if TYPE_CHECKING:
    from shunter.model.workload import Workload

ENDINGS: Final = (".csv", ".csv.gz", ".parquet", ".swf", ".swf.gz")
"""How the names of files end that can be written."""


def write_table(workload: Workload, path: str | Path) -> list[str]:
    """Writes a workload's jobs; reading a ``.csv``, ``.csv.gz`` or ``.parquet`` file gives the same jobs.

    Returns:
        What the format cannot carry, a line each.

    Raises:
        InputError: The name has another ending, or the file cannot be written.
    """
    path = Path(path)
    check_ending(path)
    name = path.name.lower()
    lost: list[str] = []
    content: Writer
    if name.endswith(".parquet"):
        metadata = None if workload.cluster_spec is None else {CLUSTER_KEY: workload.cluster_spec}
        content = partial(workload.jobs.write_parquet, metadata=metadata)
    elif name.endswith((".swf", ".swf.gz")):
        from shunter.workloads.swf_write import to_swf

        text, lost = to_swf(workload)
        content = partial(_write_bytes, text)
    else:
        content = workload.jobs.write_csv
        if workload.cluster_spec is not None:
            lost = [f"the cluster: give --cluster {workload.cluster_spec}"]
    write_file(path, partial(_packed, content) if name.endswith(".gz") else content)
    return lost


def _write_bytes(text: bytes, file: BinaryIO) -> None:
    file.write(text)


def _packed(content: Writer, file: BinaryIO) -> None:
    # Without a time stamp and a name, the same jobs give the same bytes.
    with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
        content(cast("BinaryIO", packed))


def check_ending(path: Path) -> None:
    """Raises an error for a name that does not tell what to write."""
    if not path.name.lower().endswith(ENDINGS):
        raise InputError(f"{path}: cannot tell what to write; end the name in {', '.join(ENDINGS)}")
