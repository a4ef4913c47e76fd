"""The JSON Schema of a state, for programs that write one: every field that `shunter.model.state` reads."""

from __future__ import annotations

import math
from typing import Any, Final

import polars as pl

from shunter.model.state import COUNTS, SCHEMA, STATES
from shunter.model.workload import COLUMNS, EXTRA_COLUMNS, SUBMIT_LIMIT_S

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_TYPES: Final = {pl.Float64: "number", pl.Int64: "integer", pl.String: "string", pl.Boolean: "boolean"}
_TIME: Final = {"type": "number", "minimum": -SUBMIT_LIMIT_S, "maximum": SUBMIT_LIMIT_S}
_COUNT: Final = {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}
_PAIRS: Final = {
    "type": "array",
    "items": {"type": "array", "items": _COUNT, "minItems": 2, "maxItems": 2},
}
_OF_JOB: Final[dict[str, dict[str, Any]]] = {
    "state": {"enum": list(STATES), "description": "What the job does."},
    "start_s": {**_TIME, "description": "Its latest start, if it runs or has ended."},
    "end_s": {**_TIME, "description": "Its end, if it has ended."},
    "eligible_s": {**_TIME, "description": "Since when it may run, if that is not its submit time."},
    "placed": {**_PAIRS, "description": "A pair of node (from 0) and tasks there, for each node of a running job."},
    "devices": {**_PAIRS, "description": "A pair of GPU (from 0, through all nodes) and thousandths of it."},
    "reserved_s": {**_TIME, "description": "When its reservation begins. Shunter's own."},
    "done_s": {**_TIME, "description": "Work of earlier runs that it has kept. Shunter's own."},
    "limit_s": {**_TIME, "description": "How long its reservations last. Shunter's own."},
    "start_number": {**_COUNT, "description": "The number of its latest start. Shunter's own."},
}


def state_schema() -> dict[str, Any]:
    """Returns the schema as a JSON object. What it refuses, `State.from_json` refuses too.

    A state that it allows may still be refused: a schema cannot say that a running job is on nodes that there are.
    """
    columns = {name: _column(name) for name in (*COLUMNS, *EXTRA_COLUMNS) if name != "logged_wait_s"}
    job = {
        "type": "object",
        "properties": {**columns, **_OF_JOB},
        "required": ["submit_s", "state"],
        "additionalProperties": False,
    }
    stop = {
        "type": "object",
        "properties": {"job": _COUNT, "start_s": _TIME, "end_s": _TIME, "by_failure": {"type": "boolean"}},
        "required": ["job"],
    }
    top: dict[str, Any] = {
        "schema": {"const": SCHEMA},
        "now_s": {**_TIME, "description": "The time; all times are seconds of one clock."},
        "cluster": {
            "type": "string",
            "description": "A number of cores, a preset, or the text of a cluster file (TOML); to a service, also the "
            "name of a cluster that it was started with.",
        },
        "settings": {"type": "object", "description": "How the site schedules, by the names of settings."},
        "jobs": {"type": "array", "items": job, "description": "Every job that is known."},
        "down": {"type": "array", "items": _COUNT, "description": "The numbers of nodes that are down."},
        "stops": {"type": "array", "items": stop, "description": "Runs that did not end their jobs."},
        "committed": {"type": "object", "properties": {"job": _COUNT, "start_s": _TIME}},
    }
    return {
        "$schema": _DIALECT,
        "$id": f"urn:{SCHEMA.replace('/', ':')}",
        "title": "What a scheduler knows at an instant",
        "type": "object",
        "properties": top,
        "required": ["schema", "now_s", "cluster", "jobs"],
        "additionalProperties": False,
    }


def _column(name: str) -> dict[str, Any]:
    """Returns what a column of the table of jobs may hold."""
    if name == "job_id":
        return {"type": ["integer", "string"]}
    known = COLUMNS.get(name)
    if name in COUNTS:
        return {"type": ["integer", "null"], "minimum": 0}
    if known is None:
        return {"type": [_TYPES[EXTRA_COLUMNS[name]], "null"]}
    kind = _TYPES[known.dtype]
    bounds = {} if kind == "string" else {"minimum": known.low, "maximum": known.high}
    finite = {word: bound for word, bound in bounds.items() if bound is not None and math.isfinite(bound)}
    return {"type": kind if known.required else [kind, "null"], **finite}
