"""Tables of the local queue: its jobs, and all that is known of one."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.markup import escape
from rich.table import Table

from shunter.errors import visible
from shunter.report.terminal import Console

NAME_WIDTH: Final = 16
MOST_ROWS: Final = 50
"""So many jobs of a run are shown; its files have all."""
LEAST_WIDTH: Final = 12
"""Of a command, however narrow the terminal is."""
COLORS: Final = {"running": "green", "failed": "red", "lost": "red", "held": "yellow", "cancelled": "yellow"}


def print_jobs(jobs: Sequence[Mapping[str, Any]], counts: Mapping[str, int]) -> None:
    """Prints a line for each job, and how many there are in each state."""
    console = Console()
    if jobs:
        console.print(_table(jobs, console.width))
    told = ", ".join(f"{count:,} {state}" for state, count in counts.items() if count)
    console.print(told or "There are no jobs.", highlight=False)


def print_ran(jobs: Sequence[Mapping[str, Any]], told: Mapping[str, Any], said: Mapping[int, str]) -> None:
    """Prints what became of jobs that were run in the foreground.

    Args:
        jobs: Those of the last episode.
        told: What all of them come to.
        said: What jobs that failed have printed last.
    """
    console = Console()
    if jobs:
        console.print(_table(jobs[:MOST_ROWS], console.width))
    if len(jobs) > MOST_ROWS:
        console.print(f"… and {len(jobs) - MOST_ROWS:,} more", highlight=False)
    for job, line in said.items():
        if line:
            console.print(escape(visible(f"job {job} printed last: {line}")), highlight=False, soft_wrap=True)
    console.print(f"{told['succeeded']:,} of {told['jobs']:,} jobs succeeded", highlight=False)
    if told["started"]:
        waits = f"{duration_text(told['mean_queue_wait_s'])}, the longest {duration_text(told['max_queue_wait_s'])}"
        console.print(f"Mean wait {waits}", highlight=False)
    if told["makespan_s"] is not None:
        ran = duration_text(told["mean_duration_s"])
        console.print(f"Mean run {ran}; all done after {duration_text(told['makespan_s'])}", highlight=False)


def print_choice(kept: Mapping[str, Any]) -> None:
    """Prints who chose a job of a queue, who else could have been chosen, and what earlier decisions said of it."""
    console = Console()

    def line(text: str) -> None:
        console.print(escape(visible(text)), highlight=False, soft_wrap=True)

    chosen = kept["chosen_by"]
    if chosen is not None:
        among = f"decision {chosen['id']}, {_clock(chosen['time_s'])}, {chosen['waiting']} waiting"
        line(f"{kept['chosen_because'].capitalize()} ({among}, {chosen['running']} running).")
        if chosen["failure"]:
            line(f"The policy failed, and fcfs decided: {chosen['failure']}")
        others = [str(job) for job in chosen["starts"] if job != kept["job_id"]]
        if others:
            line(f"Started with it: {', '.join(others)}")
        for job, why in chosen["reasons"].items():
            if int(job) != kept["job_id"]:
                line(f"Passed over: job {job}, {why or 'its turn had not come'}")
    for place in kept["places_in_line"]:
        line(f"Before, from decision {place['decision']} on, number {place['place']} in line: {place['reason']}")


def _table(jobs: Sequence[Mapping[str, Any]], width: int) -> Table:
    """Returns a table with a line for each job; on a narrow terminal commands are cut, and nothing else."""
    rows = [
        (
            str(job["id"]),
            job["state"],
            _one_line(job["name"])[:NAME_WIDTH],
            str(job["cores"]),
            _waited(job),
            _ran(job),
            _exit(job),
        )
        for job in jobs
    ]
    names = ("job", "state", "name", "cores", "waited", "ran", "exit")
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    room = max(LEAST_WIDTH, width - sum(widths) - 2 * len(widths))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in (*names, "command"):
        table.add_column(name, justify="right" if name in ("job", "cores", "waited", "ran") else "left", no_wrap=True)
    for job, (number, state, *cells) in zip(jobs, rows, strict=True):
        colored = f"[{COLORS.get(state, 'default')}]{state}[/]"
        table.add_row(number, colored, *map(escape, cells), escape(_command(job, room)))
    return table


def print_job(job: Mapping[str, Any]) -> None:
    """Prints all that is known of a job."""
    console = Console()

    def line(name: str, value: object) -> None:
        if value not in (None, "", []):
            console.print(f"{name:<10} {escape(str(value))}", highlight=False, soft_wrap=True)

    line("Job", f"{job['id']} {job['name']}".strip())
    line("State", f"{job['state']}{', ' + _exit(job) if _exit(job) else ''}")
    line("Command", _command(job, None))
    line("Folder", job["folder"])
    memory = f", {job['memory_mb']:,} MB" if job["memory_mb"] else ""
    limit = "" if job["time_s"] is None else f", at most {duration_text(job['time_s'])}"
    gpus = f", {job['gpus']} GPUs" if job["gpus"] else ""
    line("Asks for", f"{job['cores']} core{'' if job['cores'] == 1 else 's'}{memory}{gpus}{limit}")
    line("Group", f"{job['group']}, priority {job['priority']}")
    line("Submitted", _clock(job["submit_s"]))
    line("Started", job["start_s"] and f"{_clock(job['start_s'])}, having waited {_waited(job)}")
    line("Ended", job["end_s"] and f"{_clock(job['end_s'])}, having run {_ran(job) or 'no time'}")
    if job["cpu_s"] is not None:
        line("Used", f"{job['cpu_s']:.2f} s of processor time, {job['most_memory_mb']:,.0f} MB at most")
    line("Waits", job["waits_because"])
    line("Error", job["error"])
    chosen = job["chosen_by"]
    if chosen is not None:
        others = ", ".join(map(str, chosen["line"][:5]))
        behind = f"; behind it stood {others}" if others else ""
        line("Chosen", f"{job['reason']}: decision {chosen['id']} among {chosen['waiting']} jobs{behind}")
        line("", chosen["failure"] and f"the policy failed, and fcfs decided: {chosen['failure']}")
    if len(job["tried"]) > 1:
        ends = (one["state"] if one["code"] is None else f"code {one['code']}" for one in job["tried"])
        line("Attempts", ", ".join(ends))
    for event in job["events"]:
        line("Event", f"{_clock(event['time_s'])} {event['what']}")
    line("Output", job["output"])


def duration_text(seconds: float) -> str:
    """Returns a time as people read it: ``850 ms``, ``12 s``, ``2 h 05 min``."""
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = int(seconds // 60)
    return f"{minutes} min {int(seconds % 60):02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def _command(job: Mapping[str, Any], most: int | None) -> str:
    words = job["command"]
    # What was written for the shell is shown as it was written.
    text = words[2] if words[:2] == ["/bin/sh", "-c"] and len(words) == 3 else shlex.join(words)
    if most is None:
        return text
    text = _one_line(text)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _one_line(text: str) -> str:
    """Returns a text as it stands in a cell of a table."""
    return text.replace("\n", "\\n").replace("\t", " ")


def _clock(time_s: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(time_s))


def _waited(job: Mapping[str, Any]) -> str:
    until = job["start_s"] or job["end_s"] or time.time()
    return duration_text(max(0.0, until - job["submit_s"]))


def _ran(job: Mapping[str, Any]) -> str:
    if job["start_s"] is None:
        return ""
    return duration_text(max(0.0, (job["end_s"] or time.time()) - job["start_s"]))


def _exit(job: Mapping[str, Any]) -> str:
    if job["cause"] in ("time-limit", "memory"):
        return f"{job['cause'].replace('-', ' ')} exceeded"
    if job["signal"] is not None:
        return f"signal {job['signal']}"
    return "" if job["code"] is None else f"code {job['code']}"
