"""The tables of ``shunter explain``: where the job ran, what it waited for, and who kept it waiting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.markup import escape
from rich.table import Table

from shunter.metrics.explanation import AHEAD, Explanation, largest
from shunter.metrics.explanation_text import amount, clock, conclusion, duration, named_nodes, quantity, size
from shunter.metrics.labels import counted, percent
from shunter.metrics.occupancy import RESOURCES
from shunter.metrics.wait_sweep import DOWN, LIMIT, LOCALITY, ORDER, REFUSED, RESERVED, SCATTERED
from shunter.report.terminal import Console

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from shunter.metrics.explanation import WaitPhase

REASONS = {
    ORDER: "there was room: the order or a reservation",
    DOWN: "nodes down",
    SCATTERED: "enough free, but not together",
    LOCALITY: "enough free, but too far apart",
    REFUSED: "only types of GPUs that it refused",
    LIMIT: "a limit of the site",
    RESERVED: "enough free, but reserved before it would have ended",
}


def print_explanation(explanation: Explanation, top: int) -> None:
    """Prints the conclusion, and the tables behind it."""
    console = Console()
    console.print(conclusion(explanation), markup=False, highlight=False, soft_wrap=True)
    if explanation.record.rows["outcome"][explanation.row] != "rejected":
        console.print(_facts(explanation), markup=False, highlight=False, soft_wrap=True)
    if len(explanation.stays) > 1:
        console.print(_stays(explanation))
    if explanation.waits:
        console.print(_phases(explanation))
        if explanation.blockers:
            console.print(_blockers(explanation, top))
        console.print(_queue(explanation), markup=False, highlight=False, soft_wrap=True)


def _facts(explanation: Explanation) -> str:
    record, row = explanation.record, explanation.row
    lines = [f"needs {size(record, row)}; may use {counted(len(record.usable(row)), 'node')}"]
    lines[0] += f"; submitted at {clock(record.submit_ms[row])}"
    lines[0] += f" ({record.policy}, {record.dispatch}, {record.placement})"
    if len(explanation.stays) == 1:
        (stay,) = explanation.stays
        lines.append(
            f"ran from {clock(stay.start_ms)} to {clock(stay.end_ms)} on {named_nodes(stay.nodes)}: {stay.ended}"
        )
    return "\n".join(lines)


def _stays(explanation: Explanation) -> Table:
    table = Table("ran from", "to", "on", "and then", title="where it ran", title_justify="left")
    for stay in explanation.stays:
        table.add_row(clock(stay.start_ms), clock(stay.end_ms), escape(named_nodes(stay.nodes)), stay.ended)
    return table


def _phases(explanation: Explanation) -> Table:
    table = Table("since its submit", "waited", "for", title="what it waited for", title_justify="left")
    table.add_column("most free", justify="right")
    table.add_column("tasks that fitted", justify="right")
    for phase in explanation.phases:
        # "100 % of this time" would only be noise.
        share = "" if phase.share > 0.995 else f" ({percent(phase.share)} of this time)"
        table.add_row(
            _since(explanation, phase.from_ms),
            _lasted(phase),
            REASONS.get(phase.reason, f"not enough {phase.reason}") + share,
            _free(explanation, phase),
            f"{phase.room} of {explanation.shape.tasks}",
        )
    return table


def _lasted(phase: WaitPhase) -> str:
    waited, whole_ms = duration(phase.waited_ms), phase.until_ms - phase.from_ms
    # It ran in between.
    return f"{waited} of {duration(whole_ms)}" if phase.waited_ms < whole_ms else waited


def _free(explanation: Explanation, phase: WaitPhase) -> str:
    needed = explanation.shape.total
    # Where no resource was short, cores are told of, or GPUs for a job that needs no cores.
    number = RESOURCES.index(phase.reason) if phase.reason in RESOURCES else int(not needed[0])
    return f"{quantity(phase.free[number], number)}, needs {amount(needed[number], number)}" if needed[number] else "–"


def _blockers(explanation: Explanation, top: int) -> Table:
    record, blockers = explanation.record, explanation.blockers
    more = f" (the first {top} of {len(blockers):,})" if len(blockers) > top else ""
    table = Table("job", "size", "how", title=f"who kept it waiting{more}", title_justify="left")
    for name in ("share", "since", "until"):
        table.add_column(name, justify="right")
    for blocker in blockers[:top]:
        held = "held what it needs" + (", left last" if blocker.let_go else "")
        table.add_row(
            escape(str(record.rows["job_id"][blocker.row])),
            size(record, blocker.row),
            "ahead of it" if blocker.how == AHEAD else held,
            percent(blocker.share),
            _since(explanation, blocker.since_ms),
            _since(explanation, blocker.until_ms),
        )
    return table


def _queue(explanation: Explanation) -> str:
    def told(rows: NDArray[np.int64]) -> str:
        most = largest(explanation.record, rows)
        if most is None:
            return ""
        return f" (the largest: job {explanation.record.rows['job_id'][most]}, {size(explanation.record, most)})"

    in_front, passed_by = explanation.in_front, explanation.passed_by
    return (
        f"while it waited, {counted(len(in_front), 'job')} submitted earlier started{told(in_front)},\n"
        f"and {counted(len(passed_by), 'job')} submitted later passed it by{told(passed_by)}"
    )


def _since(explanation: Explanation, time_ms: float) -> str:
    """Returns a time as seen from the submit: ``+35 min``, ``−2 h``, ``0``."""
    apart = time_ms - float(explanation.record.submit_ms[explanation.row])
    return f"{'+' if apart > 0 else '−'}{duration(abs(apart))}" if apart else "0"
