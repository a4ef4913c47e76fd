"""A service: what was loaded at the start by name, what was posted since, and what is answered from it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from shunter.checks import check_name, from_table
from shunter.errors import InputError
from shunter.metrics.explanation import explain
from shunter.metrics.explanation_text import explanation_object
from shunter.metrics.record import Record
from shunter.model.schedule import Phase
from shunter.policies.catalog import POLICIES
from shunter.service.answers import WORDS, line, rule_names
from shunter.service.metrics import Metrics
from shunter.service.policies import LoadedPolicy, Watch, load_policy
from shunter.service.readers import read_snapshot
from shunter.service.referee import Referee
from shunter.service.refusals import RefusedError
from shunter.service.requests import NEW, SNAPSHOT, WHERE, DecideRequest, EtaRequest, ExplainRequest, read_request
from shunter.service.snapshots import Held, SnapshotStore
from shunter.service.work import Work
from shunter.simulation.asked_job import AskedJob
from shunter.simulation.decision import REASONS
from shunter.simulation.eta import check_scheduler, eta_of, state_at, time_of
from shunter.simulation.foresight import Foresight
from shunter.simulation.run import simulate

if TYPE_CHECKING:
    from shunter.model.cluster import Cluster
    from shunter.model.log import Log
    from shunter.service.limits import Limits

Content = Mapping[str, Any]
KEPT: Final = 8
"""So many simulated logs are kept for explanations."""


@dataclass(frozen=True)
class Loaded:
    """What a service is started with, by name. No request names anything else."""

    policies: Mapping[str, Mapping[str, Any]]
    """The settings of each policy."""
    clusters: Mapping[str, Cluster] = field(default_factory=dict)
    logs: Mapping[str, Log] = field(default_factory=dict)


class Service:
    """Answers requests. Only `store`, the metrics and which policy is at work change with time."""

    def __init__(self, loaded: Loaded, limits: Limits) -> None:
        """Reads the policies.

        Raises:
            InputError: One cannot be used.
        """
        self.limits = limits
        self.metrics = Metrics()
        self.store = SnapshotStore(limits.snapshots)
        self.work = Work(limits)
        self.clusters = loaded.clusters
        self.logs = loaded.logs
        self._stand_in = load_policy(limits.fallback, {"policy": check_name("fallback", limits.fallback, POLICIES)})
        self.referees = {
            name: Referee(load_policy(name, words), self._stand_in, limits, self.metrics)
            for name, words in loaded.policies.items()
        }
        self.trouble: dict[str, str] = {}
        """Why a policy could not be read anew, by name."""
        self._watch = Watch(self._changed, self._same, self._failed)
        self._records: OrderedDict[tuple[str, str], Record] = OrderedDict()
        self._simulating = threading.Lock()
        self.metrics.watch("snapshots", "Snapshots that are kept.", lambda: len(self.store))
        self.metrics.watch("under_way", "Long requests that run or wait.", lambda: self.work.under_way)
        self.metrics.watch("breakers_open", "Policies that are not asked.", self._open_breakers)

    def look_at_files(self) -> None:
        """Reads policies anew whose files have changed."""
        self._watch.look([referee.policy for referee in self.referees.values()])

    def _changed(self, policy: LoadedPolicy) -> None:
        self.referees[policy.name].change(policy)
        self.trouble.pop(policy.name, None)
        self.metrics.reloaded(policy.name, is_good=True)

    def _same(self, name: str) -> None:
        self.trouble.pop(name, None)

    def _failed(self, name: str, why: str) -> None:
        self.trouble[name] = why
        self.metrics.reloaded(name, is_good=False)

    def _open_breakers(self) -> int:
        return sum(referee.breaker.is_open for referee in self.referees.values())

    def referee(self, name: str) -> Referee:
        """Returns who decides by a policy; an empty name means the only one there is.

        Raises:
            RefusedError: There is none of this name.
        """
        if not name and len(self.referees) == 1:
            return next(iter(self.referees.values()))
        found = self.referees.get(name)
        if found is None:
            raise RefusedError(404, f"there is no policy {name[:80]!r}; there are: {', '.join(self.referees)}")
        return found

    def hold(self, content: object) -> Held:
        """Returns a snapshot that is ready to be decided on, having tried that once.

        Raises:
            InputError: It is none, or contradicts itself.
        """
        held = read_snapshot(content, self.clusters)
        if held.ids:
            self._stand_in.decider.decide(held)
        return held

    def held(self, content: Content) -> Held:
        """Returns the snapshot that a request names or brings.

        Raises:
            InputError: It brings none.
            RefusedError: There is none of the name.
        """
        given = content.get(SNAPSHOT)
        if given is None:
            raise InputError(f"{WHERE}: {SNAPSHOT} is missing; give the name of a posted one, or the snapshot itself")
        return self.store.get(given) if isinstance(given, str) else self.hold(given)

    def decide(self, content: Content) -> dict[str, Any]:
        """Returns what a policy decides."""
        asked = read_request(DecideRequest, content, SNAPSHOT)
        referee = self.referee(asked.policy)
        return referee.answer(self.held(content))

    def decide_quickly(self, content: Content) -> dict[str, Any] | None:
        """Returns what a policy decides on a posted snapshot, if that takes next to no time; None: ask `decide`."""
        given = content.get(SNAPSHOT)
        if not isinstance(given, str):
            return None
        asked = read_request(DecideRequest, content, SNAPSHOT)
        return self.referee(asked.policy).answer_quickly(self.store.get(given))

    def eta(self, content: Content) -> dict[str, Any]:
        """Returns when those that wait start, and when a job would that is not submitted yet."""
        asked = read_request(EtaRequest, content, SNAPSHOT, NEW)
        if asked.futures > self.limits.futures:
            raise InputError(
                f"{WHERE}: futures is {asked.futures}; this service simulates {self.limits.futures} at most"
            )
        new = None if content.get(NEW) is None else from_table(AskedJob, content[NEW], f"{WHERE}: {NEW}")
        scheduler = check_scheduler(self.referee(asked.policy).policy.scheduler)
        if asked.log:
            log = self._log_alone(asked.log, content)
            job = None if asked.job is None else _known_job(log, asked.job)
            state = state_at(log.workload, log.cluster, scheduler, time_of(log.workload, asked.at_s, job))
        elif asked.at_s is not None or asked.job is not None:
            raise InputError(f"{WHERE}: at_s and job go with a log; a snapshot is of one time")
        else:
            state = self.held(content).state
        foresight = Foresight(futures=asked.futures, seed=asked.seed, horizon_days=asked.horizon_days)
        return eta_of(state, scheduler, new=new, foresight=foresight, threads=1).to_json()

    def explain(self, content: Content) -> dict[str, Any]:
        """Returns why a job waits, or waited."""
        asked = read_request(ExplainRequest, content, SNAPSHOT)
        referee = self.referee(asked.policy)
        if asked.log:
            job = _known_job(self._log_alone(asked.log, content), asked.job)
            record = self._record(asked.log, referee.policy)
            return explanation_object(explain(record, record.find(job)), asked.top)
        return self._explain_now(self.held(content), asked.job, referee)

    def _explain_now(self, held: Held, job: int | str, referee: Referee) -> dict[str, Any]:
        if job in held.masked:
            return {"job_id": job, "state": "waiting", "reason": "masked", "because": held.masked[job]}
        row = held.row_of(job)
        phase = Phase(int(held.state.snapshot.phase[row]))
        told: dict[str, Any] = {"job_id": held.ids[row], "state": phase.name.lower()}
        if phase != Phase.WAITING:
            return told
        ruling, first = referee.rule(held), referee.guarded(held)
        told |= {"policy": referee.policy.name, "by": ruling.by, "fallback": ruling.fallback or None}
        if ruling.decided is None:
            return told
        arrays, order = ruling.decided.arrays, line(ruling.decided, held, first)
        told |= {"place": order.index(row) + 1, "of": len(order), "guarded": row in first}
        told["starts"] = row in arrays.starts
        place = arrays.places([row])[0]
        told["nodes"] = [held.node_names[node] for node in place.nodes]
        for other, reason, blocker, _ in arrays.waits:
            if other == row:
                behind = None if blocker < 0 else held.ids[blocker]
                told |= {"reason": WORDS[reason], "because": REASONS[reason].value, "behind": behind}
                told["rule"] = rule_names(ruling.decided, held).get(row)
                told["reserved_s"] = arrays.reserved_s(row)
        return told

    def _log(self, name: str) -> Log:
        if name not in self.logs:
            raise RefusedError(404, f"there is no log {name[:80]!r}; there are: {', '.join(self.logs) or 'none'}")
        return self.logs[name]

    def _log_alone(self, name: str, content: Content) -> Log:
        """Returns the log that a request names, which must not bring a snapshot too."""
        if content.get(SNAPSHOT) is not None:
            raise InputError(f"{WHERE}: both {SNAPSHOT} and log are given; give one")
        return self._log(name)

    def _record(self, name: str, policy: LoadedPolicy) -> Record:
        """Returns the record of a log under a policy, simulated when it is first asked for."""
        log, key = self._log(name), (name, policy.sha256)
        # One at a time: two who ask for the same need one simulation.
        with self._simulating:
            if key not in self._records:
                self._records[key] = Record.of(simulate(log, scheduler=policy.scheduler))
                while len(self._records) > KEPT:
                    self._records.popitem(last=False)
            self._records.move_to_end(key)
            return self._records[key]

    def described(self) -> dict[str, Any]:
        """Returns what there is, by name."""
        policies = [
            {
                **referee.policy.described(),
                "breaker_open": referee.breaker.is_open,
                "reload_trouble": self.trouble.get(name),
            }
            for name, referee in self.referees.items()
        ]
        return {
            "policies": policies,
            "fallback": self._stand_in.name,
            "clusters": list(self.clusters),
            "logs": list(self.logs),
        }

    def close(self) -> None:
        """Begins nothing new."""
        self.work.close()


def _known_job(log: Log, job: int | str) -> str:
    """Returns the id of a job as text.

    Raises:
        RefusedError: The log has none of this id.
    """
    text = str(job).strip()
    if log.workload.jobs["job_id"].cast(pl.String).index_of(text) is None:
        raise RefusedError(404, f"the log has no job {text[:80]!r}; check its id")
    return text
