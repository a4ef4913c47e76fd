"""How a snapshot may be written: Shunter's own JSON, or what a scheduler's programs print.

`READERS` has a function for each format. A format of another scheduler is one more line.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from shunter.checks import check_name, number
from shunter.errors import InputError
from shunter.execution.lsf.reading import Texts, site_of
from shunter.execution.operating.ended_jobs import EndedJobs
from shunter.execution.operating.picture import picture_of
from shunter.execution.operating.site import Site, SiteError, SiteJob, SiteNode
from shunter.execution.slurm.json_reading import jobs_of_json, nodes_of_json
from shunter.execution.slurm.text_reading import jobs_of_text, nodes_of_text
from shunter.model.fitting import can_ever_fit
from shunter.model.schedule import Phase
from shunter.model.state import State
from shunter.model.workload import SUBMIT_LIMIT_S
from shunter.service.snapshots import Held, JobId

if TYPE_CHECKING:
    from shunter.model.cluster import Cluster

WHERE: Final = "snapshot"
"""What errors call it."""
FORMAT: Final = "format"
STATE: Final = "shunter"
"""The format of those that name none."""

UNFIT: Final = "it would not fit though all jobs had ended"
"""Why nothing is decided on a job that is larger than what there is."""

_LSF_TEXTS: Final = {
    "bjobs": "jobs",
    "bhosts": "hosts",
    "bqueues": "queues",
    "bqueues_long": "long_queues",
    "lshosts": "lists",
    "lshosts_gpu": "gpus",
    "bmgroup": "groups",
    "bjobs_aps": "aps",
}
"""What requests call LSF's answers, and what a reading does."""

_SLURM: Final = (("squeue", "sinfo"), ("memory_shared",))
"""What requests must hold of Slurm, and what else they may."""

Content = Mapping[str, Any]
Reader = Callable[[Content, Mapping[str, "Cluster"]], Held]
"""Returns what an object holds; clusters are those that it may name."""


def read_snapshot(content: object, clusters: Mapping[str, Cluster]) -> Held:
    """Returns what a parsed snapshot holds. No text of it reaches a file or a policy.

    Raises:
        InputError: It is none.
    """
    if not isinstance(content, Mapping):
        raise InputError(f"{WHERE}: is no object; give a state or what a scheduler's programs print, or a name")
    format = content.get(FORMAT, STATE)
    reader = READERS[check_name(FORMAT, format if isinstance(format, str) else "", READERS, where=f"{WHERE}: ")]
    try:
        return reader({name: value for name, value in content.items() if name != FORMAT}, clusters)
    except SiteError as error:
        raise InputError(f"{WHERE}: {error}") from None


def _state(content: Content, clusters: Mapping[str, Cluster]) -> Held:
    # Its settings name a policy: those of requests are not looked at.
    state = replace(State.from_content(dict(content), WHERE, clusters), settings={})
    # One job that can never run does not spoil all others.
    phase = state.snapshot.phase.copy()
    unfit = np.flatnonzero((phase == Phase.WAITING) & ~can_ever_fit(state.workload.jobs, state.cluster))
    phase[unfit] = Phase.REJECTED
    ids = state.workload.jobs["job_id"].gather(unfit).to_list()
    return Held(replace(state, snapshot=replace(state.snapshot, phase=phase)), masked=dict.fromkeys(ids, UNFIT))


def _slurm_json(content: Content, clusters: Mapping[str, Cluster]) -> Held:
    now_s = _checked(content, *_SLURM)
    answers = [content[name] for name in ("squeue", "sinfo")]
    if not all(isinstance(answer, dict) for answer in answers):
        raise InputError(f"{WHERE}: squeue and sinfo are the objects that the programs print with --json")
    return _of_site(content, now_s, jobs_of_json(answers[0], now_s), nodes_of_json(answers[1]))


def _slurm_text(content: Content, clusters: Mapping[str, Cluster]) -> Held:
    now_s = _checked(content, *_SLURM)
    answers = [content[name] for name in ("squeue", "sinfo")]
    if not all(isinstance(answer, str) for answer in answers):
        raise InputError(f"{WHERE}: squeue and sinfo are texts (docs/serving.md says how to print them)")
    return _of_site(content, now_s, jobs_of_text(answers[0].encode(), now_s), nodes_of_text(answers[1].encode()))


def _lsf(content: Content, clusters: Mapping[str, Cluster]) -> Held:
    now_s = _checked(content, ("bjobs", "bhosts"), tuple(_LSF_TEXTS)[2:])
    texts = {_LSF_TEXTS[name]: _printed(name, content[name]) for name in _LSF_TEXTS if name in content}
    return _held(site_of(Texts(**texts), now_s))


def _printed(name: str, answer: object) -> bytes:
    """Returns what a program printed, given as text or, of JSON, as the object itself."""
    if isinstance(answer, str):
        return answer.encode()
    if isinstance(answer, dict):
        return json.dumps(answer).encode()
    raise InputError(f"{WHERE}: {name} is neither a text nor an object; send what the program prints")


def _checked(content: Content, needed: tuple[str, ...], others: tuple[str, ...]) -> float:
    """Returns the time of a reading, having checked its keys."""
    for name in content:
        check_name("field", name, (*needed, *others, "now_s"), where=f"{WHERE}: ")
    for name in needed:
        if name not in content:
            raise InputError(f"{WHERE}: {name} is missing; send what both programs print")
    if not isinstance(content.get("memory_shared", True), bool):
        raise InputError(f"{WHERE}: memory_shared is {content['memory_shared']!r}; expected true or false")
    return number(f"{WHERE}: now_s", content.get("now_s", time.time()), 0, SUBMIT_LIMIT_S, unit="seconds since 1970")


def _of_site(content: Content, now_s: float, jobs: list[SiteJob], nodes: list[SiteNode]) -> Held:
    if not nodes:
        raise InputError(f"{WHERE}: sinfo tells of no nodes")
    return _held(Site(now_s, tuple(jobs), tuple(nodes), is_memory_shared=bool(content.get("memory_shared", True))))


def _held(site: Site) -> Held:
    picture = picture_of(site, EndedJobs(None).see(site))
    row_of = {row.job.id: place for place, row in enumerate(picture.rows)}
    masked: dict[JobId, str] = {job.id: job.barrier for job in site.pending if job.barrier}
    masked |= dict.fromkeys(picture.unfit, UNFIT)
    own = [row_of[job.id] for job in site.candidates if job.id not in masked]
    return Held(State(picture.workload, picture.cluster, picture.snapshot), own, masked)


READERS: Final[dict[str, Reader]] = {STATE: _state, "slurm": _slurm_json, "slurm-text": _slurm_text, "lsf": _lsf}
"""By the name of the format."""
