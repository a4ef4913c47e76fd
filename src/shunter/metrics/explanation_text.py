"""The answer of an explanation in one sentence, and as an object for programs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from shunter.metrics.explanation import AHEAD, Blocker, Explanation, largest
from shunter.metrics.holds import hopeless
from shunter.metrics.labels import counted
from shunter.metrics.occupancy import RESOURCES
from shunter.metrics.wait_sweep import DOWN, LIMIT, LOCALITY, ORDER, REFUSED, RESERVED, SCATTERED

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from shunter.metrics.explanation import WaitPhase
    from shunter.metrics.record import Record

MILLI = 1000
UNITS_MS = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000))
WORTH_SAYING = 0.05
"""A second reason is told if it held for more than this part of the wait."""


def conclusion(explanation: Explanation) -> str:
    """Returns in one sentence why the job started when and where it did."""
    record, row = explanation.record, explanation.row
    job = f"Job {record.rows['job_id'][row]}"
    if record.rows["outcome"][row] == "rejected":
        return f"{job} never ran: it was rejected, for it {record.rows['reason'][row]}."
    if not explanation.waits:
        return f"{job} {_at_once(explanation)}{_held(explanation)}."
    lasted: Counter[str] = Counter()
    for moment in explanation.moments:
        lasted[moment.reason] += int(moment.until_ms - moment.from_ms)
    # Over all moments, not phases: those have joined short reasons with longer ones.
    (main, _), *others = lasted.most_common()
    text = f"{job} {_waited(explanation)} because {_because(explanation, main)}"
    if not explanation.has_started_last:
        text += "; it never started again" if explanation.stays else f"; it {_left(explanation) or 'never started'}"
    for reason, time_ms in others[:1]:
        if time_ms > WORTH_SAYING * explanation.waited_ms:
            text += f"; for {duration(time_ms)} of it, {_shortly(reason)}"
    return text + _held(explanation) + "."


def _at_once(explanation: Explanation) -> str:
    submitted = clock(explanation.record.submit_ms[explanation.row])
    if left := _left(explanation):
        return left
    if not explanation.stays:
        never = "it never could run" if explanation.holds else "nothing more happened"
        return f"never started: {never} after it was submitted at {submitted}"
    where = named_nodes(explanation.stays[0].nodes)
    if explanation.holds:
        text = (
            f"did not wait for nodes: it started when it could, at {clock(explanation.stays[0].start_ms)}, on {where}"
        )
    else:
        # One that follows another may be submitted earlier than in the log.
        text = f"did not wait: it started when it was submitted, at {clock(explanation.stays[0].start_ms)}, on {where}"
    if explanation.stops:
        text += f"; it was stopped {_times(explanation.stops)}, and went on at once"
    return text


def _left(explanation: Explanation) -> str:
    """Returns how a job left before it had started; empty if it did not."""
    record, row = explanation.record, explanation.row
    if record.rows["outcome"][row] != "cancelled":
        return ""
    why = hopeless(record, row) if explanation.holds and not explanation.waits else ""
    return f"left at {clock(record.rows['end_s'][row] * MILLI)} before it had started" + (f", for {why}" if why else "")


def _held(explanation: Explanation) -> str:
    """Returns for how long it might not run, and why; empty if it always might."""
    if not explanation.holds:
        return ""
    parts = [f"{duration(hold.until_ms - hold.from_ms)}, for it {hold.reason}" for hold in explanation.holds]
    return f"; {'before that ' if explanation.waits else ''}it could not run for {', then for '.join(parts)}"


def _waited(explanation: Explanation) -> str:
    """Returns how long it waited, and which part of that before it was ever stopped."""
    waited = f"waited {duration(explanation.waited_ms)}"
    if not explanation.stops:
        return waited
    first_ms = explanation.stays[0].start_ms - explanation.record.eligible_ms[explanation.row]
    before = f"{duration(first_ms)} of it" if first_ms else "none of it"
    return f"was stopped {_times(explanation.stops)} and {waited} in all, {before} before its first start,"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _because(explanation: Explanation, reason: str) -> str:
    until = _until(explanation, reason)
    place, tasks = _place(explanation), explanation.shape.tasks
    told = [moment for moment in explanation.moments if moment.reason == reason]
    room = max(moment.room for moment in told)
    if reason == ORDER:
        return _order(explanation)
    if reason == LOCALITY:
        enough = f"what was free of {place} was enough, but too far apart"
        return f"it waits for {explanation.waits_for}: {enough}{until}"
    if reason == REFUSED:
        return f"it {explanation.refused}{until}"
    if reason == LIMIT:
        return f"it waits for {explanation.limited}"
    if reason == RESERVED:
        return f"nodes of {place} are reserved {explanation.reserved} before it would have ended"
    if reason == DOWN:
        return f"nodes of {place} on which jobs had failed were not in use again{until}"
    if reason == SCATTERED:
        fitted = f"at most {room} of its {counted(tasks, 'task')} had room" if tasks > 1 else "no node had room for it"
        return f"what was free of {place} would have been enough, but was scattered: {fitted}{until}"
    number = RESOURCES.index(reason)
    free = amount(max(moment.free[number] for moment in told), number)
    needed = quantity(explanation.shape.total[number], number)
    if explanation.shape.exclusive:
        place = f"it needs nodes for itself, and those of {place} that nobody used"
    return f"{place} had at most {free} of the {needed} that it needs free{until}"


def _shortly(reason: str) -> str:
    texts = {
        ORDER: "there was room, but the order or a reservation held it back",
        DOWN: "nodes were down",
        SCATTERED: "enough was free, but scattered over nodes",
        LOCALITY: "enough was free, but too far apart",
        REFUSED: "only types of GPUs that it refused were free",
        LIMIT: "a limit of the site kept it from starting",
        RESERVED: "what was free was reserved before it would have ended",
    }
    return texts.get(reason) or f"not enough {reason} {'was' if reason == 'memory' else 'were'} free"


def _order(explanation: Explanation) -> str:
    record = explanation.record
    rule = f"the order ({record.policy}, {record.dispatch})"
    ahead = [blocker for blocker in explanation.blockers if blocker.how == AHEAD and blocker.share > 0]
    if not ahead:
        if record.may_fail:
            return f"{rule} or a reservation held it back, or nodes were down: what runs shows room for it"
        return f"{rule} or a reservation held it back, though there was room for it"
    # Those that started before the job did are surely before it; only if there are none, the others are named.
    ahead = [blocker for blocker in ahead if blocker.until_ms <= explanation.waits[-1][1]] or ahead
    many = counted(len({blocker.row for blocker in ahead}), "job")
    last = max(ahead, key=lambda blocker: (blocker.until_ms, blocker.share))
    started = "started" if record.rows["start_s"][last.row] is not None else "left the queue"
    name, went = record.rows["job_id"][last.row], f"{started} at {clock(last.until_ms)}"
    last_one = f"the last of them, job {name}, {went}" if len(ahead) > 1 else f"job {name}, which {went}"
    return f"{rule} held it back for {many} ahead of it, though there was room for it ({last_one})"


def _until(explanation: Explanation, reason: str) -> str:
    """Returns until when something lacked: who left at the moment of the last start, or nothing."""
    left = [blocker for blocker in explanation.blockers if blocker.let_go]
    # If the last wait ended for another reason, whoever left then has nothing to do with this one.
    if not left or not explanation.has_started_last or explanation.moments[-1].reason != reason:
        return ""
    first = max(left, key=lambda blocker: blocker.share)
    rows = explanation.record.rows
    end_s = rows["end_s"][first.row]
    # The blocker's own end, or only the end of a segment: then it was stopped.
    ended = end_s is not None and round(end_s * MILLI) == round(first.until_ms)
    which = ", the last time" if len(explanation.waits) > 1 else ""
    went = f"{'ended' if ended else 'was stopped'} at {clock(first.until_ms)}"
    return f"{which} until job {rows['job_id'][first.row]} {went}"


def _place(explanation: Explanation) -> str:
    record = explanation.record
    names = record.partitions(explanation.row)
    place = f"its partition{'s' if len(names) > 1 else ''} {' or '.join(names)}" if names else "the cluster"
    one_type = explanation.shape.each[0] > 0 and not record.cluster.mix and len(record.cluster.gpu_types) > 1
    return f"{place} (of any one type of GPU)" if one_type else place


def amount(value: float, resource: int) -> str:
    """Returns an amount of a resource, without its unit where it is counted: ``6``, ``0.5``, ``2,048 MB``."""
    return f"{value:,.15g} MB" if resource == 2 else f"{value / MILLI:,.15g}"


def quantity(value: float, resource: int) -> str:
    """Returns an amount of a resource with its unit: ``8 GPUs``, ``1 core``, ``2,048 MB``."""
    unit = ("GPU", "core", "")[resource]
    return f"{amount(value, resource)} {unit}{'' if value == MILLI else 's'}" if unit else amount(value, resource)


def size(record: Record, row: int) -> str:
    """Returns what a job has in all: ``2 tasks, 8 GPUs, 32 cores``."""
    tasks = int(record.tasks[row])
    amounts = [tasks * int(each[row]) for each in (record.milli_gpus, record.milli_cores)]
    parts = [quantity(value, number) for number, value in enumerate(amounts) if value]
    return ", ".join([counted(tasks, "task")] * (tasks > 1) + parts) or counted(tasks, "task")


def named_nodes(nodes: dict[str, int], most: int = 4) -> str:
    """Returns nodes with their tasks: ``n3 (4 tasks), n5 (2 tasks)``; of many only the first."""
    names = [name if len(nodes) == 1 else f"{name} ({counted(tasks, 'task')})" for name, tasks in nodes.items()]
    more = [f"{len(names) - most} more"] if len(names) > most else []
    return ", ".join(names[:most] + more)


def clock(time_ms: float) -> str:
    """Returns a time of the log: ``7,800 s``."""
    return f"{time_ms / MILLI:,.15g} s"


def duration(time_ms: float) -> str:
    """Returns a length of time in its two largest units: ``2 h 10 min``."""
    if time_ms < 59_500:
        return f"{time_ms / MILLI:.3g} s"
    place = next(number for number, (_, size) in enumerate(UNITS_MS[:-1]) if time_ms >= size or number == 2)
    (unit, size_ms), (next_unit, next_ms) = UNITS_MS[place : place + 2]
    # Rounding to the smaller unit first keeps "60 min" out.
    parts, per = round(time_ms / next_ms), size_ms // next_ms
    return f"{parts // per:,} {unit}" + (f" {parts % per} {next_unit}" if parts % per else "")


def explanation_object(explanation: Explanation, top: int) -> dict[str, Any]:
    """Returns everything as a plain object, with the first `top` blockers; times are the log's seconds."""
    record, row = explanation.record, explanation.row
    rows = record.rows
    gpus, cores, memory_mb = explanation.shape.total
    return {
        "job_id": rows["job_id"][row],
        "conclusion": conclusion(explanation),
        "submit_s": record.submit_ms[row] / MILLI,
        "waited_s": explanation.waited_ms / MILLI,
        "held": [
            {"from_s": hold.from_ms / MILLI, "until_s": hold.until_ms / MILLI, "reason": hold.reason}
            for hold in explanation.holds
        ],
        "waits": [{"from_s": begin / MILLI, "until_s": until / MILLI} for begin, until in explanation.waits],
        "outcome": rows["outcome"][row],
        "reason": rows["reason"][row],
        "needs": {
            "tasks": explanation.shape.tasks,
            "gpus": gpus / MILLI,
            "cores": cores / MILLI,
            "memory_mb": memory_mb,
            "partition": rows["partition"][row],
            "usable_nodes": len(record.usable(row)),
        },
        "policy": record.policy,
        "dispatch": record.dispatch,
        "placement": record.placement,
        "ran": [
            {"start_s": stay.start_ms / MILLI, "end_s": stay.end_ms / MILLI, "nodes": stay.nodes, "ended": stay.ended}
            for stay in explanation.stays
        ],
        "phases": [_phase_object(phase) for phase in explanation.phases],
        "blockers": [_blocker_object(record, blocker) for blocker in explanation.blockers[:top]],
        "blockers_in_all": len(explanation.blockers),
        "refused": explanation.refused or None,
        "limited": explanation.limited or None,
        "reserved": explanation.reserved or None,
        "passed_by": _group(record, explanation.passed_by),
        "in_front": _group(record, explanation.in_front),
    }


def _phase_object(phase: WaitPhase) -> dict[str, Any]:
    return {
        "from_s": phase.from_ms / MILLI,
        "until_s": phase.until_ms / MILLI,
        "waited_s": phase.waited_ms / MILLI,
        "reason": phase.reason,
        "share": phase.share,
        "most_tasks_that_fit": phase.room,
        "most_free_gpus": phase.free[0] / MILLI,
        "most_free_cores": phase.free[1] / MILLI,
    }


def _blocker_object(record: Record, blocker: Blocker) -> dict[str, Any]:
    row = blocker.row
    return {
        "job_id": record.rows["job_id"][row],
        "how": blocker.how,
        "share": blocker.share,
        "tasks": int(record.tasks[row]),
        "gpus": int(record.tasks[row] * record.milli_gpus[row]) / MILLI,
        "cores": int(record.tasks[row] * record.milli_cores[row]) / MILLI,
        "since_s": blocker.since_ms / MILLI,
        "until_s": blocker.until_ms / MILLI,
        "let_go": blocker.let_go,
    }


def _group(record: Record, rows: NDArray[np.int64]) -> dict[str, Any]:
    most = largest(record, rows)
    return {"count": len(rows), "largest": None if most is None else record.rows["job_id"][most]}
