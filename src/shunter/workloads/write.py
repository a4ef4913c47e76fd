"""Workloads to files: CSV and Parquet keep every column, SWF what it has fields for."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shunter.errors import InputError
from shunter.workloads.parquet_table import CLUSTER_KEY

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
    buffer = io.BytesIO()
    if name.endswith(".parquet"):
        metadata = None if workload.cluster_spec is None else {CLUSTER_KEY: workload.cluster_spec}
        workload.jobs.write_parquet(buffer, metadata=metadata)
    elif ".swf" in name:
        from shunter.workloads.swf_write import to_swf

        text, lost = to_swf(workload)
        buffer.write(text)
    else:
        workload.jobs.write_csv(buffer)
        if workload.cluster_spec is not None:
            lost = [f"the cluster: give --cluster {workload.cluster_spec}"]
    # Without a time stamp, the same jobs give the same bytes.
    content = gzip.compress(buffer.getvalue(), mtime=0) if name.endswith(".gz") else buffer.getvalue()
    try:
        path.write_bytes(content)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be written ({error}); check the folder and its permissions") from None
    return lost


def check_ending(path: Path) -> None:
    """Raises an error for a name that does not tell what to write."""
    if not path.name.lower().endswith(ENDINGS):
        raise InputError(f"{path}: cannot tell what to write; end the name in {', '.join(ENDINGS)}")
