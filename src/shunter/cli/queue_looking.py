"""``shunter queue list``, ``show``, ``logs``, ``wait`` and ``export``: looking at jobs, changing nothing."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated, Any, Final

from shunter.cli.commands import EXIT_DIFFERENT
from shunter.cli.parsing import Argument, Exit, Option, echo
from shunter.cli.queue_options import GroupOption, JsonOption, QueueOption, ask_daemon, echo_json, parse_ids
from shunter.errors import InputError, visible
from shunter.execution.local.folder import queue_folder
from shunter.execution.local.outputs import read_output
from shunter.execution.local.spec import OVER, STATES

LOOK_S: Final = 0.2
"""How often a file is looked at that is followed."""
JobArgument = Annotated[int, Argument(metavar="JOB", show_default=False, help="The job's id.")]
TailOption = Annotated[
    int | None, Option("--lines", "-n", metavar="N", show_default="all", help="Only the last N lines.")
]


def list_(
    all: Annotated[bool, Option("--all", "-A", help="Also jobs that are over.")] = False,
    state: Annotated[
        list[str] | None,
        Option("--state", "-s", metavar="STATE", show_default="queued, held, running", help="Only these."),
    ] = None,
    group: GroupOption = None,
    most: Annotated[int, Option("--most", "-n", metavar="N", help="At most so many: the latest.")] = 100,
    queue: QueueOption = None,
    json: JsonOption = False,
) -> None:
    """List jobs: those that are not over, or all.

    For instance:

        shunter queue list

        shunter queue list --all --state failed --state lost
    """
    states = state or (list(STATES) if all else None)
    answer = ask_daemon(queue, "list", states=states, group=group, most=most)
    if json:
        echo_json(answer)
        return
    from shunter.report.queue import print_jobs

    print_jobs(answer["jobs"], answer["counts"])


def show(job: JobArgument, queue: QueueOption = None, json: JsonOption = False) -> None:
    """Show all that is known of a job: what it asks for, why it waits or who chose it, and how its runs ended.

    For instance:

        shunter queue show 12
    """
    told = ask_daemon(queue, "show", job=job)
    if json:
        echo_json(told)
        return
    from shunter.report.queue import print_job

    print_job(told)


def logs(
    job: JobArgument,
    follow: Annotated[bool, Option("--follow", "-f", help="Go on until the job is over.")] = False,
    lines: TailOption = None,
    queue: QueueOption = None,
) -> None:
    """Print what a job has printed, on standard output and standard error alike.

    For instance:

        shunter queue logs 12 -f
    """
    path = Path(ask_daemon(queue, "show", job=job)["output"])
    place = _print_from(path, 0, lines)
    while follow:
        is_over = ask_daemon(queue, "show", job=job)["state"] in OVER
        # What was printed before the end was seen is printed too.
        place = _print_from(path, place, None)
        if is_over:
            return
        time.sleep(LOOK_S)


def follow(job: JobArgument, lines: TailOption = None, queue: QueueOption = None) -> None:
    """Print what a job prints until it is over: the same as 'logs -f'.

    For instance:

        shunter queue follow 12
    """
    logs(job, follow=True, lines=lines, queue=queue)


def _print_from(path: Path, place: int, lines: int | None) -> int:
    """Prints a file from a place on; returns where it ended."""
    try:
        content, dropped = read_output(path, place)
    except FileNotFoundError:
        return place
    if dropped:
        echo(f"({dropped:,} bytes before this were dropped: the output is too long)", err=True)
    shown = content
    if lines is not None:
        shown = b"".join(content.splitlines(keepends=True)[-lines:]) if lines else b""
    sys.stdout.buffer.write(shown)
    sys.stdout.buffer.flush()
    return place + dropped + len(content)


def wait(
    jobs: Annotated[
        list[str] | None,
        Argument(metavar="JOB...", show_default="all that are not over", help="Ids: 12 or 20-29."),
    ] = None,
    queue: QueueOption = None,
    json: JsonOption = False,
) -> None:
    """Wait until jobs are over. The exit code is 0 if all of them succeeded, and 1 otherwise.

    For instance:

        shunter queue wait 12 && echo done
    """
    ended: list[dict[str, Any]] = ask_daemon(queue, "wait", jobs=parse_ids(jobs) if jobs else None)["jobs"]
    failed = [one for one in ended if one["state"] != "done"]
    if json:
        echo_json({"jobs": ended})
    else:
        for one in failed[:20]:
            echo(f"job {one['id']}: {one['state']}{_how(one)}")
        echo(f"{len(ended) - len(failed):,} of {len(ended):,} jobs succeeded")
    if failed:
        raise Exit(EXIT_DIFFERENT)


def _how(ended: dict[str, Any]) -> str:
    """Returns how a job ended that did not succeed."""
    if ended["cause"] in ("time-limit", "memory"):
        return f", {ended['cause'].replace('-', ' ')} exceeded"
    if ended["signal"] is not None:
        return f", signal {ended['signal']}"
    if ended["code"] is not None:
        return f", exit code {ended['code']}"
    return visible(f" ({ended['error']})") if ended["error"] else ""


def export(
    out: Annotated[str, Argument(metavar="FILE", show_default=False, help="A .csv or .parquet file to write.")],
    force: Annotated[bool, Option("--force", help="Overwrite the file if it is there.")] = False,
    queue: QueueOption = None,
    json: JsonOption = False,
) -> None:
    """Write the jobs that have run as a log: compare, tune and train read it. The daemon need not run.

    For instance:

        shunter queue export history.csv

        shunter compare history.csv --cluster 8 --policy fcfs,sjf
    """
    from shunter.execution.local.history import write_history

    path = Path(out)
    if path.exists() and not force:
        raise InputError(f"{path}: the file exists; give another name, or --force to overwrite it")
    told = write_history(queue_folder(queue), path)
    if json:
        echo_json(told)
        return
    echo(visible(f"Wrote {told['jobs']:,} jobs to {path}"))
    echo(visible(f"Next: shunter compare {path} --cluster {told['cluster']} --policy fcfs,sjf,f1"))
