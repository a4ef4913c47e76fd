"""Workloads of the simulator Batsim: JSON with jobs, and with profiles that say what a job does while it runs."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import polars as pl

from shunter.model.workload import TASKS_LIMIT
from shunter.workloads.text.json_text import encodable, read_elements, read_members, read_value
from shunter.workloads.text.log import build_workload
from shunter.workloads.text.records import ODD
from shunter.workloads.text.repairs import Repairs

if TYPE_CHECKING:
    from shunter.model.workload import Workload
    from shunter.workloads.formats import Reading
    from shunter.workloads.text.source import Source

ON_PLATFORM: Final = "run time depends on the platform, which is not in the file: job dropped"
NO_PROFILE: Final = "its profile is not in the file: job dropped"
CUT: Final = "runs longer than its walltime: ended there"

_DELAYS: Final = ("delay", "DelayProfile")
_SEQUENCES: Final = ("composed", "SequentialCompositionProfile")
_COMPUTATIONS: Final = ("parallel_homogeneous", "msg_par_hg", "ParallelTaskHomogeneousProfile")
_FASTEST_FLOPS: Final = 1e15
"""No machine computes so many operations a second on one resource."""
_WHOLE_LIMIT: Final = 2**53
_DEPTH: Final = 50
"""How deeply sequences may be nested."""
_SCHEMA: Final[dict[str, type[pl.DataType]]] = {
    "job_id": pl.String,
    "submit_s": pl.Float64,
    "run_s": pl.Float64,
    "requested_s": pl.Float64,
    "tasks": pl.Int64,
    "user": pl.String,
    "status": pl.String,
}


class _Profile(NamedTuple):
    """What is known of a profile."""

    least_s: float
    """How long it takes at least."""
    is_exact: bool
    """Whether it takes exactly that long, whatever the machine is."""
    kind: str
    fails: bool


def recognizes(source: Source) -> bool:
    """Returns whether the text is an object with jobs, submission times and profiles."""
    text = source.head.lstrip()
    if not text.startswith(b"{"):
        return False
    # Jobs or profiles may be so long that the others begin behind the part that is looked at.
    has_jobs = re.search(rb'"jobs"\s*:\s*\[', text) is not None and b'"subtime"' in text and b'"res"' in text
    return has_jobs or (re.search(rb'"profiles"\s*:\s*\{', text) is not None and b'"nb_res"' in text)


def read(sources: Sequence[Source], reading: Reading) -> Workload:
    """Reads workloads; all files of a log are about one machine.

    Raises:
        InputError: A file is no such workload, or no job is left.
    """
    repairs = Repairs(sources, reading.strict)
    frames = [_jobs(source, repairs) for source in sources]
    told = [_number(read_value(source, "nb_res")) for source in sources]
    machines = sorted({int(size) for size in told if size is not None and 1 <= size <= TASKS_LIMIT})
    if len(machines) == 1:
        return build_workload(frames, repairs, cluster_spec=str(machines[0]))
    sizes = ", ".join(map(str, machines))
    note = f"its files tell of machines of different sizes (nb_res {sizes})" if machines else "it has no nb_res"
    return build_workload(frames, repairs, cluster_note=note)


def _jobs(source: Source, repairs: Repairs) -> pl.DataFrame:
    profiles = _Profiles(source)
    rows, lines = [], []
    for line, job in read_elements(source, "jobs"):
        place = repairs.place(source, line)
        row = _row(job, profiles, repairs, place)
        if row is not None:
            rows.append(row)
            lines.append(line)
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row").with_columns(repairs.places(source, lines))


def _row(job: Mapping[str, Any], profiles: _Profiles, repairs: Repairs, place: int) -> tuple[object, ...] | None:
    """Returns the columns of `_SCHEMA`, or None for a job that is dropped."""
    job_id, size, submit_s = _text(job.get("id")), _number(job.get("res")), _number(job.get("subtime"))
    if job_id is None or submit_s is None or size is None or size % 1 or abs(size) > _WHOLE_LIMIT:
        repairs.skip(
            place, f"job {encodable(str(job.get('id'))[:40])} has no id, no subtime, or no whole number as res"
        )
        return None
    profile = profiles.get(str(job.get("profile")))
    if profile is None:
        repairs.record(NO_PROFILE, 1, place, f"profile {encodable(str(job.get('profile'))[:40])}")
        return None
    walltime_s = _number(job.get("walltime"))
    if walltime_s is None and job.get("walltime") is not None:
        repairs.record(ODD, 1, place, f"walltime {encodable(str(job['walltime'])[:40])}")
    # Batsim writes -1 for no walltime.
    walltime_s = walltime_s if walltime_s is not None and walltime_s > 0 else None
    is_cut = walltime_s is not None and profile.least_s > walltime_s
    if not profile.is_exact and not is_cut:
        repairs.record(ON_PLATFORM, 1, place, f"job {job_id}, profile of type {profile.kind}")
        return None
    if is_cut:
        repairs.tell(CUT, 1, place, f"job {job_id}")
    status = "timeout" if is_cut else "failed" if profile.fails else "completed"
    return job_id, submit_s, walltime_s if is_cut else profile.least_s, walltime_s, int(size), _user(job), status


def _user(job: Mapping[str, Any]) -> str | None:
    return next((_text(job[key]) for key in ("user", "user_id") if key in job), None)


class _Profiles:
    """How long each profile takes."""

    def __init__(self, source: Source) -> None:
        self._told = {name: value for _, name, value in read_members(source, "profiles") if isinstance(value, dict)}
        self._known: dict[str, _Profile] = {}

    def get(self, name: str, depth: int = _DEPTH) -> _Profile | None:
        """Returns what is known of a profile, or None if the file has no profile of this name."""
        if name not in self._told or not depth:
            return None
        if name not in self._known:
            kind, fails = encodable(str(self._told[name].get("type"))[:40]), bool(_number(self._told[name].get("ret")))
            # Stands here until the profile is worked out: a sequence that contains itself never ends.
            self._known[name] = _Profile(0.0, is_exact=False, kind=kind, fails=fails)
            least_s, is_exact, depends_on = self._duration(kind, self._told[name], depth)
            self._known[name] = _Profile(least_s, is_exact, depends_on, fails)
        return self._known[name]

    def _duration(self, kind: str, profile: Mapping[str, Any], depth: int) -> tuple[float, bool, str]:
        """Returns how long a profile takes at least, whether exactly that long, and the type that this depends on."""
        delay_s, flops, names = _number(profile.get("delay")), _number(profile.get("cpu")), profile.get("seq")
        if kind in _DELAYS and delay_s is not None:
            return max(delay_s, 0.0), True, kind
        if kind in _COMPUTATIONS and flops is not None:
            return max(flops, 0.0) / _FASTEST_FLOPS, False, kind
        if kind not in _SEQUENCES or not isinstance(names, list):
            return 0.0, False, kind
        parts = [self.get(str(name), depth - 1) for name in names]
        known = [part for part in parts if part is not None]
        repeat = _number(profile.get("repeat", profile.get("nb", 1)))
        if len(known) < len(parts) or repeat is None:
            return 0.0, False, kind
        inexact = next((part.kind for part in known if not part.is_exact), None)
        return max(repeat * sum(part.least_s for part in known), 0.0), inexact is None, inexact or kind


def _number(value: object) -> float | None:
    """Returns a finite number, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    # An int may have more digits than a float can hold.
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _text(value: object) -> str | None:
    return encodable(str(value)) if isinstance(value, str | int) and not isinstance(value, bool) else None
