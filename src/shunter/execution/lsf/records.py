"""What LSF's programs print, as records of named cells: JSON, columns with a sign between, or columns of blanks."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from shunter.execution.operating.site import SiteError

BETWEEN: Final = "^"
"""What stands between the cells of bjobs where it does not answer as JSON."""
JSON_FIELDS: Final = (
    "jobid jobindex stat user queue job_name proj_name nreq_slot min_req_proc run_time submit_time start_time"
    " specified_start_time finish_time exec_host alloc_slot gpu_num gpu_alloc mem runtimelimit combined_resreq"
    " effective_resreq ask_hosts job_priority pend_reason"
)
TEXT_FIELDS: Final = (
    "jobid stat user queue proj_name slots min_req_proc run_time submit_time start_time specified_start_time"
    " finish_time exec_host mem runtimelimit effective_resreq job_priority pend_reason job_name"
)
"""What versions before JSON tell. The name is last, for only users' own words can hold the sign between cells."""
HOST_FIELDS: Final = "HOST_NAME STATUS MAX NJOBS RUN SSUSP USUSP RSV"
QUEUE_FIELDS: Final = "queue_name priority status max njobs pend run"
_SAME: Final = {"PRIO": "PRIORITY", "ID": "JOBID"}
"""Other names of columns."""

Record = dict[str, str]
"""Cells by the names of their columns, in capitals."""


def job_arguments(*, has_json: bool) -> list[str]:
    """Returns how bjobs is told what to print."""
    if has_json:
        return ["-o", JSON_FIELDS, "-json"]
    return ["-o", f"{TEXT_FIELDS} delimiter='{BETWEEN}'"]


def job_records(answer: bytes) -> list[Record]:
    """Returns the jobs that ``bjobs -o`` tells of, whatever the form; none where there are none.

    Raises:
        SiteError: It is no such answer.
    """
    text = answer.decode(errors="replace")
    if not text.strip() or re.match(r"No (unfinished |pending )?job found", text.strip()):
        return []
    return _json_records(text, "bjobs", "JOBID") if _is_json(text) else _cells(text)


def host_records(answer: bytes) -> list[Record]:
    """Returns the hosts that bhosts tells of.

    Raises:
        SiteError: It is no such answer.
    """
    return _records(answer, "bhosts", "HOST_NAME", ("STATUS", "MAX", "NJOBS"))


def queue_records(answer: bytes) -> list[Record]:
    """Returns the queues that bqueues tells of.

    Raises:
        SiteError: It is no such answer.
    """
    return _records(answer, "bqueues", "QUEUE_NAME", ("STATUS",))


def _records(answer: bytes, program: str, key: str, needed: Sequence[str]) -> list[Record]:
    text = answer.decode(errors="replace")
    found = _json_records(text, program, key) if _is_json(text) else _columns(text, program, key)
    for record in found:
        missing = [name for name in needed if name not in record]
        if missing:
            raise SiteError(f"{program} does not tell {', '.join(missing)} of {record[key][:40]!r}")
    if not found:
        raise SiteError(f"{program} tells of nothing")
    return found


def _is_json(text: str) -> bool:
    return text.lstrip().startswith(("{", "["))


def _json_records(text: str, program: str, key: str) -> list[Record]:
    try:
        told: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SiteError(f"{program} printed no JSON ({str(error)[:100]})") from None
    rows = told.get("RECORDS") if isinstance(told, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise SiteError(f"{program} -json tells of no RECORDS")
    found = [{_name(name): _text(value) for name, value in row.items()} for row in rows]
    # A job that has gone meanwhile is told by its error alone.
    found = [record for record in found if "ERROR" not in record]
    if not all(record.get(key, "").strip() for record in found):
        raise SiteError(f"{program} -json tells of a record without {key}")
    return found


def _cells(text: str) -> list[Record]:
    """Returns the rows of bjobs with our sign between cells, below their names; any fields will do."""
    lines = text.splitlines()
    names = [_name(cell) for cell in lines[0].split(BETWEEN)]
    if "JOBID" not in names or "STAT" not in names:
        raise SiteError(f"bjobs printed {lines[0][:80]!r}; expected names of columns, JOBID^STAT^ and others")
    found = []
    for line in filter(None, lines[1:]):
        cells = [cell.strip() for cell in line.split(BETWEEN, len(names) - 1)]
        if len(cells) != len(names):
            raise SiteError(f"bjobs printed {line[:80]!r}; expected {len(names)} cells")
        found.append(dict(zip(names, ("" if cell == "-" else cell for cell in cells), strict=True)))
    return found


def _columns(text: str, program: str, key: str) -> list[Record]:
    """Returns the rows of a table whose columns are separated by blanks."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    if not lines or _name(lines[0][0]) != key:
        raise SiteError(f"{program} printed {text[:80]!r}; expected a table that begins with {key}")
    names = [_name(cell) for cell in lines[0]]
    if any(len(cells) != len(names) for cells in lines[1:]):
        wrong = next(cells for cells in lines[1:] if len(cells) != len(names))
        raise SiteError(f"{program} printed {' '.join(wrong)[:80]!r}; expected {len(names)} columns")
    return [dict(zip(names, cells, strict=True)) for cells in lines[1:]]


@lru_cache(maxsize=256)
def _name(cell: str) -> str:
    name = cell.strip().upper().replace("/", "_")
    return _SAME.get(name, name)


def _text(value: Any) -> str:  # noqa: ANN401 - whatever stands there
    # LSF writes all values as texts; a dash is nothing where a version writes one.
    text = value if isinstance(value, str) else "" if value is None else str(value)
    return "" if text.strip() == "-" else text
