"""An operation beside Slurm or LSF: its status, the end of its audit, and its latest reading."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from shunter.errors import InputError
from shunter.execution.deciding import queue_scheduler
from shunter.execution.operating.audit import latest_audit_lines
from shunter.execution.operating.foreseeing import latest_picture, read_status
from shunter.model.state import State
from shunter.service.live.controls import what_if_panel
from shunter.service.live.moment import Moment, Piece, bars_of, lanes_of
from shunter.service.live.panels import (
    Column,
    Fact,
    Line,
    Panel,
    bars,
    facts,
    gantt,
    lines,
    log,
    node_map,
    table,
)
from shunter.service.live.seldom import Seldom
from shunter.service.live.sources import Panels
from shunter.service.live.what_if import Offer
from shunter.service.refusals import RefusedError
from shunter.simulation.eta import check_scheduler

if TYPE_CHECKING:
    from shunter.execution.operating.folder import OperationFolder
    from shunter.policies.scheduler import Scheduler

TAIL_BYTES: Final = 2_000_000
"""So much of the end of the audit is looked at."""
MOST_LISTED: Final = 60
MOST_PIECES: Final = 3000
"""So many of the latest runs are remembered for the chart."""
MOST_EVENTS: Final = 60
DISAGREES: Final = 0.2
"""From this share of pairs on that are ordered unlike the site's, it is worth a look."""


class OperationSource:
    """One folder of an operation."""

    kind = "operation"
    period_s = 2.0

    def __init__(self, name: str, folder: OperationFolder, policies: Mapping[str, Scheduler]) -> None:
        self.name = name
        self._folder = folder
        self._policies = policies
        self._seen: OrderedDict[tuple[str, int, float], Piece] = OrderedDict()
        """Who ran where, as far as it was seen while somebody looked."""
        self._moment: Moment | None = None
        self._drawn: Seldom[Panels] = Seldom(self._draw)

    def read(self) -> Panels:
        """Returns what the operation does."""
        status = read_status(self._folder)
        told = latest_audit_lines(self._folder.audit, TAIL_BYTES)
        cycles = [line for line in told if line.get("kind") is None and "candidates" in line]
        self._look(status, cycles)
        digest = "" if self._moment is None else (self._moment.now_s, len(self._moment.state.workload))
        drawn = self._drawn.value(digest, status["time_s"]) or {}
        return {
            "facts": self._facts(status),
            "reasons": bars("Why jobs wait", status.get("waiting_for", {}), "jobs", "In the words of the scheduler."),
            **drawn,
            "decision": _decision(cycles, self._moment),
            "found": _found(status),
            "disagreement": _disagreement(cycles),
            "log": _events(told, status),
        }

    def ask(self, question: Mapping[str, Any]) -> Panels:
        """Returns what would become of those that wait."""
        moment = self._moment
        if moment is None:
            raise RefusedError(400, "there is no reading of which this could be asked")
        return self._offer(moment).answer(question, moment.state, moment.scheduler)

    def _look(self, status: Mapping[str, Any], cycles: Sequence[Mapping[str, Any]]) -> None:
        """Takes over the latest reading, if it is kept."""
        try:
            picture = latest_picture(self._folder, status, cycles)
            scheduler = check_scheduler(queue_scheduler(status["site_words"]))
        except InputError:
            # Nobody waits or runs, or readings are not kept: all else is still to see.
            self._moment = None
            return
        if self._moment is not None and picture.snapshot.now_ms == self._moment.state.snapshot.now_ms:
            return
        state = State(picture.workload, picture.cluster, picture.snapshot, status["site_words"])
        self._moment = Moment(state, scheduler)
        self._remember(self._moment)

    def _remember(self, moment: Moment) -> None:
        """Remembers who runs; whoever ran before and does not any more has ended since."""
        running = {(one.job, one.node, one.start_s): one for one in moment.pieces()}
        for key, piece in self._seen.items():
            if piece.state == "running" and key not in running:
                ended = Piece(piece.node, piece.cores, piece.start_s, moment.now_s, "ended", piece.job, piece.note)
                self._seen[key] = ended
        self._seen.update(running)
        while len(self._seen) > MOST_PIECES:
            self._seen.popitem(last=False)

    def _draw(self) -> Panels:
        """Returns what rests on the latest reading."""
        moment = self._moment
        if moment is None:
            return {}
        nodes, cluster = moment.nodes(), moment.state.cluster
        order = moment.decision.order or moment.waiting
        known = [piece for piece in self._seen.values() if piece.node < len(cluster.nodes)]
        lead = "Below the line those that wait, with the interval in which the site's own policy would start each."
        return {
            "nodes": node_map("Nodes", nodes),
            "gantt": gantt("Past, now and next", lanes_of(cluster), bars_of(cluster, known), moment.line(order), lead),
            "what-if": what_if_panel(
                self._offer(moment).controls, "Those that wait now, with more nodes or under another policy."
            ),
        }

    def _offer(self, moment: Moment) -> Offer:
        nodes = moment.state.cluster.nodes
        if len(nodes) == 1:
            return Offer(self._policies, round(4 * nodes[0].cores), "cores")
        return Offer(self._policies, max(4, len(nodes)), "nodes")

    def _facts(self, status: Mapping[str, Any]) -> Panel:
        process = self._folder.process()
        is_up, stood_in, share = bool(status["up"]), status["fallbacks"], status.get("disagreement") or 0.0
        mode = "switched off" if status["is_switched_off"] else f"allowed: {status['allowed_mode']}"
        changed = f"{status['changes']:,} made, {status['undone']:,} undone"
        said: list[tuple[str, Any, str, str, bool]] = [
            ("Scheduler", status["scheduler"], "text", "answers" if is_up else "does not answer", not is_up),
            ("Process", process or "none works here", "text", "", process is None),
            ("Latest reading", status.get("read_s"), "since", "", False),
            ("Mode", status["mode_word"], "text", mode, False),
            ("Policy", status["policy"], "text", status["policy_sha256"][:12], False),
            ("May start", status.get("candidates", 0), "number", "", False),
            ("Run", status.get("running", 0), "number", "", False),
            ("Oldest wait", status.get("oldest_wait_s"), "seconds", "", False),
            ("Ordered unlike the site", share, "share", "of pairs of jobs", share > DISAGREES),
            ("Decisions", status["decisions"], "number", f"stood in for: {stood_in:,}", stood_in > 0),
            ("Put first by the guard", status["guard_hits"], "number", "they had waited too long", False),
            ("Changed now", status["held"], "number", changed, False),
        ]
        found = [
            Fact(label, value, format, note, "bad" if is_bad else "") for label, value, format, note, is_bad in said
        ]
        return facts("Now", found)


def _decision(cycles: Sequence[Mapping[str, Any]], moment: Moment | None) -> Panel:
    """Returns the latest decision beside the site's own order."""
    columns = [Column("Place", "number"), Column("Place of the site", "number"), Column("Job"), Column("Asks for"),
               Column("Time asked", "seconds"), Column("Has waited", "seconds"),
               Column("What was decided")]  # fmt: skip
    decided = [line for line in cycles if line.get("order")]
    if not decided:
        return table("The latest decision", columns, [], "Nothing has been decided yet.")
    line = decided[-1]
    own = {job: place for place, job in enumerate(line["candidates"], start=1)}
    notes = {} if moment is None else {str(job): moment.note(row) for row, job in enumerate(moment.rows["job_id"])}
    rows = []
    for place, job in enumerate(line["order"][:MOST_LISTED], start=1):
        _, asked_s, cores, waited_s = _score(line, str(job))
        note = notes.get(str(job)) or (f"{cores:g} cores" if cores else "")
        rows.append([place, own.get(job), str(job), note, asked_s, waited_s, _verdict(line, str(job))])
    lead = f"Decided by {line['decided_by']} in {line['latency_ms']:.1f} ms. "
    lead += f"{100 * line.get('disagreement', 0.0):.0f} % of pairs stand the other way round than with the site."
    masked = [
        [None, None, str(job), notes.get(str(job), ""), None, None, f"not decided on: {why}"]
        for job, why in line["masked"].items()
        if str(job) not in map(str, line["order"])
    ]
    hidden = max(0, len(line["order"]) - MOST_LISTED) + max(0, len(masked) - MOST_LISTED)
    return table("The latest decision", columns, [*rows, *masked[:MOST_LISTED]], lead, more=hidden)


def _score(line: Mapping[str, Any], job: str) -> tuple[Any, Any, Any, Any]:
    """Returns what the policy was told of a job: its place, its request, its cores, and how long it has waited."""
    found = line.get("scores", {}).get(job)
    if isinstance(found, Mapping):
        found = list(found.values())
    if not isinstance(found, list) or len(found) != 4:
        return None, None, None, None
    place, asked_s, cores, waited_s = found
    return place, asked_s, cores, waited_s


def _verdict(line: Mapping[str, Any], job: str) -> str:
    said = []
    if job in line["chosen"]:
        said.append(f"would start on {', '.join(line['chosen'][job][:4]) or 'free nodes'}")
    elif job in line.get("reasons", {}):
        said.append(str(line["reasons"][job]))
    if job in map(str, line.get("guarded", [])):
        said.append("put first: it has waited too long")
    if job in line["masked"]:
        said.append(f"not changed: {line['masked'][job]}")
    return "; ".join(said)


def _disagreement(cycles: Sequence[Mapping[str, Any]]) -> Panel:
    known = [line for line in cycles if "disagreement" in line]
    curve = Line(
        "pairs ordered unlike the site",
        [line["time_s"] for line in known],
        [100 * line["disagreement"] for line in known],
    )
    return lines(
        "Disagreement with the site", [curve], ("clock", "% of pairs"), "How far the policy and the site differ."
    )


def _found(status: Mapping[str, Any]) -> Panel:
    """Returns what was found out beside the cycles: start times that were predicted, and what was gained."""
    eta, looked = status.get("eta") or {}, status.get("counterfactual") or {}
    found = []
    if eta.get("over"):
        found += [
            Fact("Started inside its 80 % interval", eta["inside"], "share", note=f"of {eta['over']:,} predictions"),
            Fact("Error of the median", eta["median_error_s"], "seconds", note="in the median"),
            Fact("Width of the interval", eta["median_width_s"], "seconds", note="in the median"),
        ]
    elif eta:
        found.append(Fact("Predictions", eta.get("open", 0), "number", note="open; none has come true yet"))
    if looked.get("jobs"):
        found += [
            Fact("Mean wait, really", looked["real"]["mean_wait_s"], "seconds", note=f"of {looked['jobs']:,} jobs"),
            Fact("the site, simulated", looked["site"]["mean_wait_s"], "seconds"),
            Fact("the policy, simulated", looked["other"]["mean_wait_s"], "seconds"),
        ]
    said = [*(looked.get("lines") or [])[-1:], *(eta.get("lines") or [])[-2:-1]]
    lead = " ".join(f"{one[:1].upper()}{one[1:]}." for one in said)
    return facts("Do start times hold, and what would the policy have gained?", found, lead or "Nothing is known yet.")


def _events(told: Sequence[Mapping[str, Any]], status: Mapping[str, Any]) -> Panel:
    """Returns where somebody stood in, whom the guard put first, and what was changed."""
    found = []
    for line in told:
        when = line["time_s"]
        if line.get("fallback"):
            found.append((when, "fallback", f"{line.get('decided_by', 'nobody')} stood in: {line['fallback']}"))
        if line.get("guarded"):
            found.append((when, "guard", f"put first: jobs {', '.join(map(str, line['guarded'][:8]))}"))
        changes = [*line.get("changes", []), *line.get("undone", [])]
        if changes:
            found.append((when, "change", f"{line.get('applied', 0)} of {len(changes)} changes were made"))
        if line.get("lines"):
            found.append((when, str(line["kind"]), line["lines"][-1]))
    for name in ("configuration_trouble", "last_failed_read", "last_fallback", "last_failed_side_work"):
        if status.get(name):
            found.append((status["time_s"], "trouble", str(status[name])))
    return log(
        "What has happened", found[::-1][:MOST_EVENTS], "Who stood in, whom the guard put first, and what was changed."
    )
