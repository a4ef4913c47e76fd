"""A state that stands alone: the jobs, the cluster and what is known at an instant, as one JSON file.

A `Snapshot` speaks of jobs by their place in a table that somebody else has. Here the table is part of it, so that
another program can write down what its scheduler knows: version 1 of ``shunter.state``, described in docs/eta.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Final

import numpy as np
import polars as pl

from shunter.checks import check_name, number, whole
from shunter.errors import InputError
from shunter.files import parse_json
from shunter.model.cluster import Cluster, is_cores, preset_names
from shunter.model.cluster_file import cluster_from_toml, cluster_toml
from shunter.model.conditions import CONDITION_COLUMNS
from shunter.model.schedule import Phase
from shunter.model.snapshot import NO_TIME, UNKNOWN, Snapshot
from shunter.model.workload import COLUMNS, EXTRA_COLUMNS, SUBMIT_LIMIT_S, Workload

SCHEMA: Final = "shunter.state/1"
"""What the file is, and its version."""
STATES: Final = {phase.name.lower(): phase for phase in Phase if phase is not Phase.FUTURE}
"""The states of jobs by name."""
_TOP: Final = ("schema", "now_s", "cluster", "settings", "jobs", "down", "stops", "committed")
_COLUMNS: Final = (*COLUMNS, *CONDITION_COLUMNS, *(name for name in EXTRA_COLUMNS if name not in CONDITION_COLUMNS))
_OF_STATE: Final = (
    *("state", "start_s", "end_s", "eligible_s", "reserved_s", "done_s", "limit_s", "start_number"),
    *("placed", "devices"),
)
_TIMES: Final = ("submit_s", "start_s", "end_s")
_NUMBERS: Final = frozenset(
    name
    for name, dtype in {**{name: one.dtype for name, one in COLUMNS.items()}, **EXTRA_COLUMNS}.items()
    if dtype in (pl.Int64, pl.Float64) and name != "job_id"
)
"""The columns that hold numbers. A table of text may spell them as it likes, JSON has numbers."""
COUNTS: Final = ("nodes", "attempts")
"""Those that are never negative, and that the table does not check."""
_LISTS: Final = ("placed", "devices")
_OF_JOB: Final = frozenset((*_COLUMNS, *_OF_STATE))
_MILLI: Final = 1000
_MOST: Final = 2**31 - 1


@dataclass(frozen=True)
class State:
    """What is known at an instant, and of whom; nothing of jobs to come, no run time of a job that has not ended."""

    workload: Workload
    """The jobs that have been submitted."""
    cluster: Cluster
    snapshot: Snapshot
    settings: Mapping[str, Any] = field(default_factory=dict)
    """How the site schedules, by the names of settings; what is left out is usual."""

    def to_json(self) -> str:
        """Returns the state as a JSON object, for `from_json`."""
        shot = self.snapshot
        rows = self.workload.jobs.select(name for name in self.workload.jobs.columns if name in _COLUMNS).to_dicts()
        jobs = []
        for place, row in enumerate(rows):
            phase = Phase(int(shot.phase[place]))
            told = {name: value for name, value in row.items() if value is not None and name != "logged_wait_s"}
            # How long a job runs that has not ended, nobody knows.
            if phase not in (Phase.COMPLETED, Phase.KILLED, Phase.FAILED):
                del told["run_s"]
            jobs.append(told | self._told(place, phase))
        stops = zip(shot.stop_job, shot.stop_start_ms, shot.stop_end_ms, shot.stop_by_failure, strict=True)
        content = {
            "schema": SCHEMA,
            "now_s": shot.now_ms / _MILLI,
            "cluster": cluster_toml(self.cluster, in_order=True),
            "settings": dict(self.settings),
            "jobs": jobs,
            "down": np.flatnonzero(shot.down).tolist(),
            "stops": [
                {"job": int(job), "start_s": start / _MILLI, "end_s": end / _MILLI, "by_failure": bool(failed)}
                for job, start, end, failed in stops
            ],
        }
        if shot.committed_job != UNKNOWN:
            content["committed"] = {"job": shot.committed_job, "start_s": shot.committed_ms / _MILLI}
        return json.dumps(content)

    def _told(self, place: int, phase: Phase) -> dict[str, Any]:
        """Returns what the snapshot says of one job; what it does not say is left out."""
        shot = self.snapshot
        has_run = phase in (Phase.RUNNING, Phase.COMPLETED, Phase.KILLED, Phase.FAILED)
        ended = phase in (Phase.COMPLETED, Phase.KILLED, Phase.FAILED, Phase.CANCELLED)
        nodes = slice(shot.node_offsets[place], shot.node_offsets[place + 1])
        devices = slice(shot.device_offsets[place], shot.device_offsets[place + 1])
        eligible_ms = NO_TIME if shot.eligible_ms is None else int(shot.eligible_ms[place])
        told = {
            "state": phase.name.lower(),
            "start_s": int(shot.start_ms[place]) / _MILLI if has_run else None,
            "end_s": int(shot.end_ms[place]) / _MILLI if ended else None,
            "eligible_s": None if eligible_ms == NO_TIME else eligible_ms / _MILLI,
            "reserved_s": None if shot.reserved_ms[place] == NO_TIME else int(shot.reserved_ms[place]) / _MILLI,
            "done_s": int(shot.done_ms[place]) / _MILLI or None,
            "limit_s": None if shot.limit_ms[place] == UNKNOWN else int(shot.limit_ms[place]) / _MILLI,
            "start_number": None if shot.start_number[place] == UNKNOWN else int(shot.start_number[place]),
            "placed": np.column_stack((shot.nodes[nodes], shot.tasks[nodes])).tolist() or None,
            "devices": np.column_stack((shot.devices[devices], shot.millis[devices])).tolist() or None,
        }
        return {name: value for name, value in told.items() if value is not None}

    @classmethod
    def from_json(cls, text: str, where: str = "state") -> State:
        """Returns the state in a JSON object; whether such a state is possible is checked when it is loaded.

        Raises:
            InputError: It is no such object; the message begins with `where`.
        """
        return cls.from_content(parse_json(text, where), where)

    @classmethod
    def from_content(cls, content: object, where: str, clusters: Mapping[str, Cluster] | None = None) -> State:
        """Returns the state that a parsed JSON object holds. No file is read, whatever the object says.

        Args:
            content: The object.
            where: Begins every error.
            clusters: Further clusters that the object may name.

        Raises:
            InputError: It is no such object.
        """
        if not isinstance(content, dict) or "schema" not in content:
            raise InputError(f'{where}: is no state of a queue; expected an object with "schema": "{SCHEMA}"')
        if content["schema"] != SCHEMA:
            raise InputError(f"{where}: schema is {content['schema']!r}; this version reads {SCHEMA!r}")
        for name in content:
            check_name("field", name, _TOP, where=f"{where}: ")
        jobs = content.get("jobs")
        if not isinstance(jobs, list) or not all(isinstance(job, dict) for job in jobs):
            raise InputError(f"{where}: jobs is not a list of objects; give one for each job that is known")
        settings = content.get("settings", {})
        if not isinstance(settings, dict):
            raise InputError(f"{where}: settings is not an object; give settings by name, or leave it out")
        now_s = number(f"{where}: now_s", content.get("now_s"), -SUBMIT_LIMIT_S, SUBMIT_LIMIT_S)
        cluster = _cluster(content.get("cluster"), where, clusters or {})
        reader = _Reader(jobs, where)
        return cls(reader.workload(now_s), cluster, reader.snapshot(content, now_s, len(cluster.nodes)), settings)


def _cluster(given: object, where: str, known: Mapping[str, Cluster]) -> Cluster:
    if not isinstance(given, str):
        raise InputError(f"{where}: cluster is not text; give a number of cores, a preset, or the text of a TOML file")
    if given in known:
        return known[given]
    if "\n" in given or "=" in given:
        return cluster_from_toml(given, f"{where}: cluster", "state", reads_files=False)
    # A state may come from a stranger: a path in it is never opened.
    if not is_cores(given):
        also = "; or give a number of cores, or the text of a TOML file"
        check_name("cluster", given, (*known, *preset_names()), also=also, where=f"{where}: ")
    return Cluster.parse(given)


class _Reader:
    """Reads the jobs of a state, in the order of their submit times."""

    def __init__(self, jobs: Sequence[dict[str, Any]], where: str) -> None:
        self._where = where
        for place, job in enumerate(jobs):
            for name in job.keys() - _OF_JOB:
                check_name("field", name, (*_COLUMNS, *_OF_STATE), where=f"{where}: job {place + 1}: ")
            check_name("state", job.get("state", ""), STATES, where=f"{where}: job {place + 1}: ")
            for name in _TIMES:
                if name == "submit_s" or job.get(name) is not None:
                    number(f"{where}: job {place + 1}: {name}", job.get(name), -SUBMIT_LIMIT_S, SUBMIT_LIMIT_S)
            for name, value in job.items():
                if name in _NUMBERS and value is not None and (isinstance(value, bool) or not isinstance(value, Real)):
                    raise InputError(f"{where}: job {place + 1}: {name} is {value!r}; expected a number")
                if name in COUNTS and value is not None:
                    number(f"{where}: job {place + 1}: {name}", value, 0)
                if isinstance(value, list | dict) and name not in _LISTS:
                    raise InputError(f"{where}: job {place + 1}: {name} is a list or an object; give one value")
        # The table sorts jobs by their submit times, and keeps the order of those of one time.
        self.order = sorted(range(len(jobs)), key=lambda place: float(jobs[place]["submit_s"]))
        self._jobs = [jobs[place] for place in self.order]

    def workload(self, now_s: float) -> Workload:
        """Returns the table of jobs."""
        rows = []
        for job in self._jobs:
            row = {name: value for name, value in job.items() if name in _COLUMNS}
            if job.get("start_s") is not None and job.get("end_s") is not None and "run_s" not in row:
                row["run_s"] = max(0.0, float(job["end_s"]) - float(job["start_s"]))
            # How long a job runs that has not ended does not matter, but must be a number.
            rows.append({"run_s": max(0.0, now_s - float(job.get("start_s") or now_s)), **row})
        try:
            # No row says which columns there are.
            frame = pl.DataFrame(rows or {"submit_s": [], "run_s": []}, infer_schema_length=None)
        except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
            raise InputError(f"{self._where}: jobs: a field has values of several kinds ({error})") from None
        return Workload.from_frame(
            frame, name=self._where, may_be_empty=True, locate=lambda row: f"{self._where}: job {row + 1}"
        )

    def snapshot(self, content: Mapping[str, Any], now_s: float, node_count: int) -> Snapshot:
        """Returns what is known of the jobs."""
        count, where = len(self._jobs), self._where
        placed, devices = (self._pairs(name) for name in ("placed", "devices"))
        down = np.zeros(node_count, np.uint8)
        for node in self._list(content, "down"):
            down[whole(f"{where}: down", node, 0, node_count - 1)] = 1
        row_of = {place: row for row, place in enumerate(self.order)}
        stops = [self._fields(stop, "stops") for stop in self._list(content, "stops")]
        jobs = [row_of[whole(f"{where}: stops: job", stop.get("job"), 0, count - 1)] for stop in stops]
        committed = self._fields(content.get("committed", {}), "committed")
        return Snapshot(
            now_ms=round(now_s * _MILLI),
            phase=np.array([STATES[job["state"]] for job in self._jobs], np.uint8),
            start_ms=self._times("start_s", 0),
            end_ms=self._times("end_s", 0),
            node_offsets=_offsets(placed),
            nodes=np.array([pair[0] for pairs in placed for pair in pairs], np.int32),
            tasks=np.array([pair[1] for pairs in placed for pair in pairs], np.int32),
            device_offsets=_offsets(devices),
            devices=np.array([pair[0] for pairs in devices for pair in pairs], np.int32),
            millis=np.array([pair[1] for pairs in devices for pair in pairs], np.int32),
            down=down,
            reserved_ms=self._times("reserved_s", NO_TIME),
            done_ms=self._times("done_s", 0),
            limit_ms=self._times("limit_s", UNKNOWN),
            start_number=np.array([self._start_number(job) for job in self._jobs], np.int64),
            stop_job=np.array(jobs, np.uint32),
            stop_start_ms=np.array([self._time(stop, "start_s", 0) for stop in stops], np.int64),
            stop_end_ms=np.array([self._time(stop, "end_s", 0) for stop in stops], np.int64),
            stop_by_failure=np.array([stop.get("by_failure") is True for stop in stops], np.uint8),
            committed_job=row_of[whole(f"{where}: committed: job", committed.get("job"), 0, count - 1)]
            if committed
            else UNKNOWN,
            committed_ms=self._time(committed, "start_s", 0),
            eligible_ms=self._times("eligible_s", NO_TIME),
        )

    def _times(self, name: str, missing: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        return np.array([self._time(job, name, missing) for job in self._jobs], np.int64)

    def _time(self, fields: Mapping[str, Any], name: str, missing: int) -> int:
        value = fields.get(name)
        if value is None:
            return missing
        return round(number(f"{self._where}: {name}", value, -SUBMIT_LIMIT_S, SUBMIT_LIMIT_S) * _MILLI)

    def _start_number(self, job: Mapping[str, Any]) -> int:
        value = job.get("start_number")
        return UNKNOWN if value is None else whole(f"{self._where}: start_number", value, 0, _MOST)

    def _pairs(self, name: str) -> list[list[tuple[int, int]]]:
        """Returns two whole numbers for each node or device of each job."""
        found = []
        for job in self._jobs:
            pairs = self._list(job, name)
            if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
                raise InputError(f"{self._where}: {name} is not a list of pairs of whole numbers")
            what = f"{self._where}: {name}"
            found.append([(whole(what, pair[0], 0, _MOST), whole(what, pair[1], 0, _MOST)) for pair in pairs])
        return found

    def _list(self, fields: Mapping[str, Any], name: str) -> list[Any]:
        value = fields.get(name, [])
        if not isinstance(value, list):
            raise InputError(f"{self._where}: {name} is not a list")
        return value

    def _fields(self, value: object, name: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise InputError(f"{self._where}: {name} is not an object")
        return value


def _offsets(lists: Sequence[Sequence[object]]) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.concatenate(([0], np.cumsum([len(one) for one in lists]))).astype(np.int64)
